//! A patch in the user's pager.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use conductor_engine::process::transcript;

use crate::commands::diff::painted;
use crate::console;
use crate::error::CliError;

/// Returns when the user has left the pager. Without one the patch is printed.
pub(super) fn show(patch: &[u8]) -> Result<(), CliError> {
    let text = painted(&transcript::shown(patch));
    let text = console::clean(&text);
    if io::stdout().is_terminal() && page(&text).is_ok() {
        return Ok(());
    }
    Ok(console::answer(&text)?)
}

fn page(text: &str) -> io::Result<()> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let pager = set("CONDUCTOR_PAGER").or_else(|| set("PAGER")).unwrap_or_else(|| "less".to_owned());
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped());
    if set("LESS").is_none() {
        // Colours as they are; no pager for what fits the screen.
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A pager that is left early does not read the rest.
        let _ = stdin.write_all(text.as_bytes());
    }
    match child.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("'{pager}' failed"))),
    }
}
