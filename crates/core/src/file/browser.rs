//! Sections of config files about the browser in which agents of the cloud are driven: `mcp`, `auth` and `browser`.

use crate::values::units::Millis;

use super::decode::{count, flag, text, time_limit};
use super::diagnostic::Report;
use super::fields::Fields;
use super::keys::{AUTH, BROWSER, MAX_RETRIES, MCP, Table};
use super::tree::Node;

/// What a config says of the browser; what it does not say is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Browser {
    pub server_url: Option<String>,
    pub timeout: Option<Millis>,
    pub max_retries: Option<u32>,
    pub auth_timeout: Option<Millis>,
    pub auth_check_interval: Option<Millis>,
    pub storage_state: Option<String>,
    pub site: Option<String>,
    pub executable: Option<String>,
    pub cdp_endpoint: Option<String>,
    pub headless: Option<bool>,
    pub isolated: Option<bool>,
    pub extension: Option<bool>,
    pub look: Option<Millis>,
    pub provisioning_timeout: Option<Millis>,
}

impl Browser {
    /// What this one says, and where it says nothing, what the weaker one does.
    pub fn over(self, weaker: &Browser) -> Browser {
        let weaker = weaker.clone();
        Browser {
            server_url: self.server_url.or(weaker.server_url),
            timeout: self.timeout.or(weaker.timeout),
            max_retries: self.max_retries.or(weaker.max_retries),
            auth_timeout: self.auth_timeout.or(weaker.auth_timeout),
            auth_check_interval: self.auth_check_interval.or(weaker.auth_check_interval),
            storage_state: self.storage_state.or(weaker.storage_state),
            site: self.site.or(weaker.site),
            executable: self.executable.or(weaker.executable),
            cdp_endpoint: self.cdp_endpoint.or(weaker.cdp_endpoint),
            headless: self.headless.or(weaker.headless),
            isolated: self.isolated.or(weaker.isolated),
            extension: self.extension.or(weaker.extension),
            look: self.look.or(weaker.look),
            provisioning_timeout: self.provisioning_timeout.or(weaker.provisioning_timeout),
        }
    }

    pub(super) fn read(r: &mut Report<'_>, fields: &mut Fields<'_>) -> Browser {
        let mut browser = Browser::default();
        section(r, fields, "mcp", MCP, |r, fields| {
            browser.server_url = fields.get(r, "server_url", text);
            browser.timeout = fields.get(r, "timeout", time_limit);
            browser.max_retries = fields.get(r, "max_retries", count(0..=MAX_RETRIES));
        });
        section(r, fields, "auth", AUTH, |r, fields| {
            browser.auth_timeout = fields.get(r, "timeout", time_limit);
            browser.auth_check_interval = fields.get(r, "check_interval", time_limit);
            browser.storage_state = fields.get(r, "storage_state", text);
        });
        section(r, fields, "browser", BROWSER, |r, fields| {
            browser.site = fields.get(r, "site", text);
            browser.executable = fields.get(r, "executable", text);
            browser.cdp_endpoint = fields.get(r, "cdp_endpoint", text);
            browser.headless = fields.get(r, "headless", flag);
            browser.isolated = fields.get(r, "isolated", flag);
            browser.extension = fields.get(r, "extension", flag);
            browser.look = fields.get(r, "look", time_limit);
            browser.provisioning_timeout = fields.get(r, "provisioning_timeout", time_limit);
        });
        browser
    }
}

pub(super) fn section(
    r: &mut Report<'_>,
    fields: &mut Fields<'_>,
    name: &'static str,
    table: Table,
    read: impl FnOnce(&mut Report<'_>, &mut Fields<'_>),
) {
    fields.get(r, name, |r: &mut Report<'_>, _: &str, node: &Node| {
        let mut own = Fields::of(r, name, table, node)?;
        read(r, &mut own);
        own.finish(r, |_| false);
        Some(())
    });
}
