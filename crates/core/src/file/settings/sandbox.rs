//! `sandbox` and `network`: how a task's processes are confined.

use super::{Fields, Network, Node, Report, Sandbox, choice, shown, text, texts};
use crate::confinement::hosts::HostRule;
use crate::file::decode::each;
use crate::file::keys::{NETWORK, SANDBOX};
use crate::plan::SandboxMode;

const MODES: &[(&str, SandboxMode)] =
    &[("require", SandboxMode::Require), ("prefer", SandboxMode::Prefer), ("off", SandboxMode::Off)];

/// One word, or a mapping that says more.
pub(super) fn read(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Sandbox> {
    if node.entries().is_none() {
        return choice(MODES)(r, what, node).map(Sandbox::of);
    }
    let mut fields = Fields::of(r, "sandbox", SANDBOX, node)?;
    let mode = fields.need(r, "mode", choice(MODES));
    let read = fields.get(r, "read", texts).unwrap_or_default();
    let write = fields.get(r, "write", texts).unwrap_or_default();
    fields.finish(r, |_| false);
    Some(Sandbox { mode: mode?, read, write })
}

pub(super) fn network(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Network> {
    if node.entries().is_none() {
        let is_off = choice(&[("full", false), ("off", true)])(r, what, node)?;
        return Some(if is_off { Network::Off } else { Network::Full });
    }
    let mut fields = Fields::of(r, "network", NETWORK, node)?;
    let hosts = fields.need(r, "allow", hosts);
    fields.finish(r, |_| false);
    // An empty list allows nothing.
    Some(match hosts? {
        hosts if hosts.is_empty() => Network::Off,
        hosts => Network::Allow(hosts),
    })
}

fn hosts(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    each(r, what, node, "a host or a list of hosts", |r, what, node| {
        let host = text(r, what, node)?;
        if HostRule::parse(&host).is_none() {
            r.error("bad-host", node.span, format!("{} is not a host", shown(&host)))
                .help("write a name (crates.io), a name and all below it (*.crates.io), or one with a port (localhost:5432)");
            return None;
        }
        Some(host)
    })
}
