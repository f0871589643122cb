//! Where runs are pushed to, as the config says it, with the built-in values below it.

use std::path::PathBuf;

use conductor_core::file::SyncKeys;
use conductor_engine::host::home::Home;
use conductor_engine::sync::Settings;

use super::config::{self, Config};
use crate::error::{CliError, Exit};

/// What is configured here: the remote, and everything else.
pub(crate) struct Configured {
    pub(crate) remote: Option<String>,
    pub(crate) settings: Settings,
}

/// For commands that push and pull: what is wrong with a config ends them.
pub(crate) fn configured(home: &Home) -> Result<Configured, CliError> {
    filled(home, &config::good()?)
}

/// For a run that is taken up: a config that does not count adds nothing.
pub(crate) fn for_a_run(home: &Home) -> Result<Settings, CliError> {
    Ok(filled(home, &config::read()?)?.settings)
}

fn filled(home: &Home, configs: &[Config]) -> Result<Configured, CliError> {
    let layers = configs.iter().filter_map(|config| config.layer.as_ref());
    let said = layers.rev().fold(SyncKeys::default(), |weaker, layer| layer.sync().clone().over(&weaker));
    let identity = match said.identity {
        Some(path) => in_home(&path)?,
        None => home.root().join("sync.key"),
    };
    let settings = Settings {
        recipients: said.recipients.unwrap_or_default(),
        identity,
        transcripts: said.transcripts.unwrap_or_default(),
        code_remote: said.code_remote.unwrap_or_default(),
        plain: false,
    };
    Ok(Configured { remote: said.remote, settings })
}

/// `~` is the user's home. Where a relative path would lead depends on where one is, which a config does not know.
fn in_home(path: &str) -> Result<PathBuf, CliError> {
    let of_home = path.strip_prefix("~/").zip(std::env::var_os("HOME"));
    let path = of_home.map_or_else(|| PathBuf::from(path), |(rest, home)| PathBuf::from(home).join(rest));
    match path.is_absolute() {
        true => Ok(path),
        false => {
            let message = format!("sync.identity is {}, which is no whole path", path.display());
            Err(CliError::new(Exit::InvalidFile, message).help("begin it with / or ~/"))
        }
    }
}
