//! The page of a program that still lies in its checkout's `target`: built there once, where none was built in.

use std::path::Path;
use std::process::{Command, Stdio};

use conductor_server::page::{self, Page};

use super::talk;
use crate::error::{CliError, Exit};
use crate::output::writing;

/// What is served. Where there is no page, one is built if that was asked for, here or on the terminal.
pub(crate) fn found(program: &Path, build: bool) -> Result<Page, CliError> {
    let page = Page::find(program);
    if page != Page::Placeholder {
        return Ok(page);
    }
    let checkout = page::checkout(program);
    match checkout {
        Some(checkout) if build || wanted() => {
            make(&checkout.join("web"))?;
            Ok(Page::find(program))
        }
        None if build => {
            Err(CliError::new(Exit::Usage, "there is no source beside this program to build its page from")
                .help("in Conductor's source: cargo xtask web, then build or install it again"))
        }
        _ => Ok(page),
    }
}

fn wanted() -> bool {
    let question = "This program was built without its page. Build it now with npm? [y/N] ";
    let answer = writing::attended().then(|| writing::ask(&mut std::io::stdin().lock(), question));
    answer.is_some_and(|answer| {
        answer.is_ok_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes"))
    })
}

/// Nothing of what it fetches runs while it is fetched.
fn make(web: &Path) -> Result<(), CliError> {
    for words in [&["ci", "--ignore-scripts", "--no-audit", "--no-fund"][..], &["run", "build"]] {
        talk(format!("npm {}", words.join(" ")));
        let mut npm = Command::new("npm");
        // What the server answers is on its standard output; npm's words are for the user.
        npm.args(words).current_dir(web).stdin(Stdio::null()).stdout(std::io::stderr());
        match npm.status() {
            Ok(status) if status.success() => {}
            Ok(status) => {
                return Err(CliError::new(
                    Exit::Unexpected,
                    format!("npm {} ended with {status}", words.join(" ")),
                )
                .help("the API works without the page: start it without --build-page"));
            }
            Err(error) => {
                return Err(CliError::new(Exit::Unexpected, format!("npm cannot be started: {error}"))
                    .help("the page needs node 20 or newer with npm; the API works without"));
            }
        }
    }
    Ok(())
}
