//! The command line of the MCP server.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::ServerError;
use crate::settings::{Places, Settings};

const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge"];

/// A server of one session's own: its browser keeps nothing on the disk.
pub(super) fn alone(settings: &Settings, places: &Places, program: &Path) -> Result<Command, ServerError> {
    let mut command = common(settings, places, program)?;
    if !is_attached(settings) {
        command.arg("--isolated");
    }
    Ok(command)
}

/// A server for all sessions: tabs of one browser that share its sign-in, or a context for each.
pub(super) fn shared(
    settings: &Settings,
    places: &Places,
    program: &Path,
    profile: &Path,
) -> Result<Command, ServerError> {
    let mut command = common(settings, places, program)?;
    command.args(["--port", "0", "--host", "localhost", "--idle-timeout", "0"]);
    match (settings.isolated, is_attached(settings)) {
        (true, false) => command.arg("--isolated"),
        (_, true) => command.arg("--shared-browser-context"),
        (false, false) => command.arg("--shared-browser-context").arg("--user-data-dir").arg(profile),
    };
    Ok(command)
}

/// Whether the browser is one of the user's that runs already.
pub(super) fn is_attached(settings: &Settings) -> bool {
    settings.cdp_endpoint.is_some() || settings.extension
}

fn common(settings: &Settings, places: &Places, program: &Path) -> Result<Command, ServerError> {
    let work = places.folder().join("work");
    Places::make(&work).map_err(ServerError::files(&work))?;
    let mut command = Command::new("node");
    command.arg(program).current_dir(&work);
    // Answers carry no page of their own: it is asked for where it is needed, and nothing is written to the disk.
    command
        .args(["--snapshot-mode", "none", "--codegen", "none", "--timeout-settle", "100", "--output-dir"])
        .arg(work.join("out"));
    // A server that hears nothing for a while must not close the page: the process that asks may be stopped.
    command.env("PLAYWRIGHT_MCP_PING_TIMEOUT_MS", "0");
    if let Some(endpoint) = &settings.cdp_endpoint {
        command.args(["--cdp-endpoint", endpoint]);
    } else if settings.extension {
        command.arg("--extension");
    } else {
        command.arg("--executable-path").arg(find_browser(settings)?);
        if settings.headless {
            command.arg("--headless");
        }
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
    }
    if let (true, Some(state)) = (settings.isolated, &settings.storage_state) {
        command.arg("--storage-state").arg(state);
    }
    Ok(command)
}

/// The browser's program. None is ever downloaded.
pub fn find_browser(settings: &Settings) -> Result<PathBuf, ServerError> {
    if let Some(named) = &settings.executable {
        return if named.is_file() { Ok(named.clone()) } else { Err(ServerError::NotThere(named.clone())) };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut programs = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.find(|program| program.is_file()).ok_or(ServerError::NoBrowser)
}
