//! Whether the real browser and the real MCP server can be had here.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::agents::install;

const PACKAGE: (&str, &str) = ("@playwright/mcp", "0.0.83");
const CHROMIUM: &str = "/usr/bin/chromium";

/// Lays the MCP server into a state directory, as Conductor would install it there. False, and a word on stderr, where
/// it or the browser cannot be had.
///
/// # Panics
/// With `CI=true`, where nothing may be left out.
pub fn or_skip(home: &Path) -> bool {
    let why = match provide(home) {
        Ok(()) => return true,
        Err(why) => why,
    };
    assert!(std::env::var("CI").is_ok_and(|ci| ci == "true").eq(&false), "the browser is required: {why}");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("\n*** SKIPPED {test}: {why} ***\n");
    false
}

fn provide(home: &Path) -> Result<(), String> {
    if !Path::new(CHROMIUM).exists() {
        return Err(format!("{CHROMIUM} is not there (on Debian: apt-get install chromium)"));
    }
    let bin = install(&[PACKAGE]).map_err(|why| why.to_string())?;
    let program = bin.join("playwright-mcp").canonicalize().map_err(|error| error.to_string())?;
    let modules = program.ancestors().find(|path| path.ends_with("node_modules")).map(Path::to_owned);
    let modules: PathBuf = modules.ok_or("its folder has another form")?;
    let place = home.join("tools").join(format!("playwright-mcp-{}", PACKAGE.1));
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    let link = place.join("node_modules");
    if link.exists() { Ok(()) } else { symlink(modules, link).map_err(|error| error.to_string()) }
}
