//! `conductor browser`: agents behind a web page, and what is known of the page.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use conductor_browser::driver::{DriveError, Driver};
use conductor_browser::learning::{self, Probed};
use conductor_browser::picture;
use conductor_browser::records::{self, Record, Request};
use conductor_browser::selectors::{Found, Overrides};
use conductor_browser::server::{self, Host, ServerError};
use conductor_browser::settings::Settings;
use conductor_core::plan::Plan;
use serde_json::{Value, json};

use super::{answer, answer_json, talk};
use crate::args;
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::settings::browser;

/// A session looks for requests every half second, and a picture takes a moment.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run(asked: &args::Browser) -> Result<Exit, CliError> {
    match asked {
        args::Browser::Probe(args) => probe(args.json),
        args::Browser::Learn(args) => learn(args),
        args::Browser::List(args) => list(args.json),
        args::Browser::Peek(args) => peek(args),
        args::Browser::Attach(args) => attach(&args.task),
        args::Browser::Host(args) => {
            let mut settings = browser::settings()?;
            settings.headless |= args.headless;
            server::serve(&settings, &browser::places()?)?;
            Ok(Exit::Done)
        }
    }
}

/// The browser that the sessions of a run share; nothing where no task needs one, or where the user has one. What the config
/// says of it here is kept in the run's folder.
pub(crate) fn provide(plan: &Plan, headless: bool, run: &Path) -> Result<Option<Host>, CliError> {
    let idle = |why: &str| {
        if headless {
            talk(format!("--headless has no effect: {why}"));
        }
        Ok(None)
    };
    if !browser::is_wanted(plan) {
        return idle("no task works in a browser");
    }
    let settings = browser::settings()?;
    let settings = Settings { headless: headless || settings.headless, ..settings };
    browser::keep(&settings, run)?;
    if settings.storage_state.is_some() && !settings.isolated {
        talk("auth.storage_state has no effect without `browser: { isolated: true }`".to_owned());
    }
    if settings.server_url.is_some() {
        return idle("the browser of mcp.server_url is not ours");
    }
    let mut program = Command::new(std::env::current_exe()?);
    program.args(["browser", "host"]).args(headless.then_some("--headless"));
    Ok(Some(Host::provide(&browser::places()?, program)?))
}

fn driver(title: &str) -> Result<Driver, CliError> {
    let tell = |words: &str| talk(words);
    Ok(Driver::new(browser::settings()?, browser::places()?, (title, title), tell)?)
}

fn probe(as_json: bool) -> Result<Exit, CliError> {
    let mut driver = driver("browser probe")?;
    let view = driver.start_page()?;
    let probed = learning::probe(driver.selectors(), &view);
    driver.let_go();
    let is_whole = probed.iter().all(|one| matches!(one.found, Found::One(_)));
    let exit = if is_whole { Exit::Done } else { Exit::AgentMissing };
    if as_json {
        let controls: Vec<Value> =
            probed.iter().map(|one| json!({ "control": one.control, "found": count(&one.found) })).collect();
        answer_json(
            &json!({ "schema": "conductor.browser-probe/1", "url": view.url, "controls": controls }),
        )?;
        return Ok(exit);
    }
    let row = |one: &Probed| {
        let told = match one.found {
            Found::One(_) => "found".to_owned(),
            Found::Several(count) => format!("{count} elements could be it"),
            Found::Missing => "missing".to_owned(),
        };
        [one.control.clone(), told]
    };
    answer(&columns(["CONTROL", "ON THE PAGE"], probed.iter().map(row).collect()))?;
    if !is_whole {
        talk("`conductor browser learn CONTROL` teaches it: you click the control once".to_owned());
    }
    Ok(exit)
}

fn count(found: &Found) -> usize {
    match found {
        Found::One(_) => 1,
        Found::Several(count) => *count,
        Found::Missing => 0,
    }
}

fn learn(args: &args::BrowserLearn) -> Result<Exit, CliError> {
    let mut driver = driver("browser learn")?;
    let known = driver.selectors().clone();
    if !known.controls.contains_key(&args.control) {
        let names: Vec<&str> = known.controls.keys().map(String::as_str).collect();
        let error = CliError::new(Exit::Usage, format!("there is no control '{}'", args.control));
        return Err(error.help(format!("the controls are {}", names.join(", "))));
    }
    driver.start_page()?;
    talk(format!("click the control '{}' in the browser's window, within {} s", args.control, args.timeout));
    let pattern = driver.point(Duration::from_secs(args.timeout));
    driver.let_go();
    let Some(pattern) = pattern? else {
        return Err(CliError::new(Exit::Asked, "nothing was clicked in time".to_owned()));
    };
    let path = browser::places()?.selectors();
    let mut overrides = Overrides::read(&path).map_err(DriveError::from)?.unwrap_or_default();
    overrides.learn(&known, &args.control, pattern.clone());
    let text =
        serde_json::to_string_pretty(&overrides).map_err(|error| CliError::new(Exit::Unexpected, error))?;
    records::write_whole(&path, format!("{text}\n").as_bytes())?;
    let (role, name) = (pattern.role.unwrap_or_default(), pattern.name.unwrap_or_default());
    answer(&format!(
        "'{}' is the {role} \"{name}\" from now on; it is in {}\n",
        args.control,
        path.display()
    ))?;
    Ok(Exit::Done)
}

fn list(as_json: bool) -> Result<Exit, CliError> {
    let sessions = records::all(&browser::places()?);
    if as_json {
        let told = |one: &Record| json!({ "task": one.title, "mark": one.mark, "state": one.state, "url": one.url, "pid": one.pid });
        let sessions: Vec<Value> = sessions.iter().map(told).collect();
        answer_json(&json!({ "schema": "conductor.browser-sessions/1", "sessions": sessions }))?;
        return Ok(Exit::Done);
    }
    if sessions.is_empty() {
        answer("no session is driven in a browser right now\n")?;
        return Ok(Exit::Done);
    }
    let row = |one: &Record| {
        [one.mark.clone(), one.state.clone(), one.url.clone().unwrap_or_else(|| "-".to_owned())]
    };
    answer(&columns(["SESSION", "STATE", "ADDRESS"], sessions.iter().map(row).collect()))?;
    Ok(Exit::Done)
}

fn peek(args: &args::BrowserPeek) -> Result<Exit, CliError> {
    let picture = ask(&args.task, Request::Picture)?;
    let named = || PathBuf::from(format!("{}.png", args.task.replace('/', "-")));
    let path = args.output.clone().unwrap_or_else(named);
    std::fs::write(&path, &picture).map_err(|error| {
        CliError::new(Exit::Unexpected, format!("cannot write {}: {error}", path.display()))
    })?;
    let text = picture::as_text(&picture, usize::from(args.columns));
    answer(&text.map_err(|error| CliError::new(Exit::Unexpected, error))?)?;
    talk(format!("the picture is in {}", path.display()));
    Ok(Exit::Done)
}

fn attach(task: &str) -> Result<Exit, CliError> {
    ask(task, Request::Front)?;
    answer("its tab is in front\n")?;
    Ok(Exit::Done)
}

fn ask(task: &str, request: Request) -> Result<Vec<u8>, CliError> {
    let places = browser::places()?;
    let sessions = records::all(&places);
    let fits = |one: &&Record| {
        let is_part = one.mark.split('/').any(|part| part == task);
        is_part || one.mark.contains(task) || one.url.as_deref().is_some_and(|url| url.contains(task))
    };
    let Some(record) = sessions.iter().find(fits) else {
        let error = CliError::new(Exit::Usage, format!("no session in a browser is of '{task}'"));
        return Err(error.help("`conductor browser list` lists them"));
    };
    let answered = records::ask(&places, record, request, PATIENCE)?;
    answered.ok_or_else(|| {
        let message = format!(
            "the session is busy and did not answer within {} s: {}",
            PATIENCE.as_secs(),
            record.state
        );
        CliError::new(Exit::StillRunning, message)
    })
}

impl From<DriveError> for CliError {
    fn from(error: DriveError) -> CliError {
        let exit = match &error {
            DriveError::NotSignedIn(_) | DriveError::StillChecked(_) => Exit::Asked,
            DriveError::Selectors(_) => Exit::InvalidFile,
            DriveError::Files { .. } => Exit::Unexpected,
            _ => Exit::AgentMissing,
        };
        CliError::new(exit, error)
    }
}

impl From<ServerError> for CliError {
    fn from(error: ServerError) -> CliError {
        CliError::new(Exit::AgentMissing, error)
    }
}
