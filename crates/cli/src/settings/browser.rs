//! The browser for agents of the cloud, as the config says it.

use std::path::{Path, PathBuf};

use conductor_browser::records;
use conductor_browser::settings::{Places, Settings};
use conductor_core::file::Browser;
use conductor_core::plan::{Plan, Transport};
use conductor_core::values::units::Millis;
use conductor_engine::host::home::Home;

use super::config;
use crate::error::{CliError, Exit};

/// The config of here, the strongest first, with the program's defaults below it.
pub(crate) fn settings() -> Result<Settings, CliError> {
    let configs = config::good()?;
    let layers = configs.iter().filter_map(|config| config.layer.as_ref());
    let said = layers.rev().fold(Browser::default(), |weaker, layer| layer.browser().clone().over(&weaker));
    Ok(filled(said))
}

/// Where a run keeps what its drivers go by, in its own folder.
const OF_RUN: &str = "browser.json";

/// Keeps the settings for the drivers of a run: each of them works in a workspace of its own, where the user's config may be
/// another one, or an agent's.
pub(crate) fn keep(settings: &Settings, run: &Path) -> Result<(), CliError> {
    let bytes = serde_json::to_vec(settings).map_err(|error| CliError::new(Exit::Unexpected, error))?;
    Ok(records::write_whole(&run.join(OF_RUN), &bytes)?)
}

/// The settings that a run keeps for its drivers; the config of here where it keeps none, as on another machine.
pub(crate) fn of_run(run: &Path) -> Result<Settings, CliError> {
    let path = run.join(OF_RUN);
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            CliError::new(Exit::Unexpected, format!("cannot read {}: {error}", path.display()))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => settings(),
        Err(error) => Err(error.into()),
    }
}

fn filled(said: Browser) -> Settings {
    let built_in = Settings::default();
    let seconds = |said: Option<Millis>, built_in: f64| said.map_or(built_in, |time| time.0 as f64 / 1000.0);
    Settings {
        site: said.site.map_or(built_in.site, |site| site.trim_end_matches('/').to_owned()),
        server_url: said.server_url,
        timeout: seconds(said.timeout, built_in.timeout),
        max_retries: said.max_retries.unwrap_or(built_in.max_retries),
        auth_timeout: seconds(said.auth_timeout, built_in.auth_timeout),
        auth_check_interval: seconds(said.auth_check_interval, built_in.auth_check_interval),
        headless: said.headless.unwrap_or_default(),
        isolated: said.isolated.unwrap_or_default(),
        storage_state: said.storage_state.map(PathBuf::from),
        cdp_endpoint: said.cdp_endpoint,
        extension: said.extension.unwrap_or_default(),
        executable: said.executable.map(PathBuf::from),
        keep_tabs: false,
        look: seconds(said.look, built_in.look),
        provisioning_timeout: seconds(said.provisioning_timeout, built_in.provisioning_timeout),
    }
}

pub(crate) fn places() -> Result<Places, CliError> {
    Ok(Places::in_home(Home::open()?.root()))
}

/// Whether any task of a plan is done in a browser.
pub(crate) fn is_wanted(plan: &Plan) -> bool {
    let is_browser = |transport: Option<Transport>| transport == Some(Transport::Browser);
    plan.tasks.iter().any(|task| {
        task.is_for_cloud() && task.cloud.as_deref().is_some_and(|cloud| is_browser(cloud.transport))
    })
}
