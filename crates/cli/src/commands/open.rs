//! `conductor open`: the page of a server that runs, in a browser, by a code that is good once.

use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use conductor_engine::host::home::Home;
use conductor_server::access::codes::Codes;
use conductor_server::access::note::Note;
use serde_json::json;

use super::{answer, answer_json, block_on, talk};
use crate::archive::Archive;
use crate::args;
use crate::error::{CliError, Exit};

/// A server on this machine answers within this, or it is not there.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &args::Open) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let note = Note::read(&home).filter(|note| is_there(note.bound)).ok_or_else(none_runs)?;
    let paths = paths(args)?;
    let codes = Codes::of(&home);
    let mut pages = Vec::with_capacity(paths.len());
    for path in paths {
        let code = codes.issue_for_owner().map_err(|error| {
            CliError::new(Exit::Unexpected, format!("no login code could be written: {error}"))
        })?;
        pages.push((Codes::address(&note.page, &code, &path), path));
    }
    match (args.json, args.print) {
        (true, _) => {
            let pages: Vec<_> = pages.iter().map(|(url, path)| json!({ "path": path, "url": url })).collect();
            answer_json(&json!({ "schema": "conductor.open/1", "pages": pages }))?;
        }
        (false, true) => {
            answer(&pages.iter().map(|(url, _)| format!("{url}\n")).collect::<String>())?;
        }
        (false, false) => pages.iter().for_each(|(url, _)| browser(url)),
    }
    Ok(Exit::Done)
}

/// A note outlives a server that was killed.
fn is_there(bound: SocketAddr) -> bool {
    TcpStream::connect_timeout(&bound, PATIENCE).is_ok()
}

fn none_runs() -> CliError {
    CliError::new(Exit::NothingToDo, "no server is running for this state directory")
        .help("start one and open its page: conductor serve --open")
}

/// Where on the page what was named is shown.
fn paths(args: &args::Open) -> Result<Vec<String>, CliError> {
    if args.what.is_empty() {
        let run = args.run.as_deref();
        let named = |run| block_on(async { Ok(Archive::open().await?.named(run)?.id) });
        return Ok(vec![
            run.map(named).transpose()?.map_or_else(|| "/".to_owned(), |run| of_run(run.as_str())),
        ]);
    }
    block_on(async {
        let archive = Archive::open().await?;
        let mut paths = Vec::with_capacity(args.what.len());
        for word in &args.what {
            let named = match &args.run {
                Some(_) => None,
                None => archive.named(word).ok(),
            };
            paths.push(match named {
                Some(run) => of_run(run.id.as_str()),
                None => {
                    let found = archive.task(args.run.as_deref(), word, |_, _| true).await?;
                    format!("{}/tasks/{}", of_run(found.found.stored.id.as_str()), found.task().id)
                }
            });
        }
        Ok(paths)
    })
}

fn of_run(run: &str) -> String {
    format!("/runs/{run}")
}

/// With whatever opens pages here. The address holds a code that is good once, so it is printed where nothing does.
pub(super) fn browser(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = Command::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !opened.is_ok_and(|status| status.success()) {
        talk(format!("no browser could be started; open this within a minute: {url}"));
    }
}
