//! The MCP server's program, from npm, in exactly one version, once for the state directory.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::ServerError;
use crate::settings::Places;

pub const PACKAGE: &str = "@playwright/mcp";
/// Its answers are read as text, so another version is another program.
pub const VERSION: &str = "0.0.83";

fn folder(places: &Places) -> PathBuf {
    places.tools().join(format!("playwright-mcp-{VERSION}"))
}

/// The program, if it is there in this version.
pub fn installed(places: &Places) -> Option<PathBuf> {
    let package = folder(places).join("node_modules").join(PACKAGE);
    let manifest = fs::read_to_string(package.join("package.json")).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).ok()?;
    let program = package.join("cli.js");
    (manifest["version"] == VERSION && program.is_file()).then_some(program)
}

/// Installs it unless it is there, and says so.
pub fn install(places: &Places) -> Result<PathBuf, ServerError> {
    if let Some(program) = installed(places) {
        return Ok(program);
    }
    let folder = folder(places);
    Places::make(&folder).map_err(ServerError::files(&folder))?;
    let lock = folder.join("lock");
    let lock =
        File::create(&lock).and_then(|file| file.lock().map(|()| file)).map_err(ServerError::files(lock))?;
    if let Some(program) = installed(places) {
        return Ok(program);
    }
    eprintln!("installing {PACKAGE} {VERSION} with npm into {}", folder.display());
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--no-audit",
        "--no-fund",
        "--save-exact",
        "--fetch-retries=1",
        "--ignore-scripts",
        "--prefix",
    ]);
    npm.arg(&folder).arg(format!("{PACKAGE}@{VERSION}")).current_dir(&folder).stdin(Stdio::null());
    let output = npm.output().map_err(ServerError::NoNpm)?;
    drop(lock);
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    let failed = || ServerError::NotInstalled(last.to_owned());
    if !output.status.success() {
        return Err(failed());
    }
    installed(places).ok_or_else(failed)
}
