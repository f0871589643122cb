//! The agents that can do tasks, and what can be found out about them without a prompt, at no cost and
//! without reading credentials.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_core::plan::Plan;
use conductor_core::plan::cloud::CLOUD;
use serde::Serialize;

use super::{Abilities, Caller, agent};
use crate::host::redact;
use crate::plugins;
use crate::process;

/// How long a program may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// One of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    pub name: String,
    pub kind: Kind,
    pub program: String,
    /// Where it is installed.
    pub path: Option<PathBuf>,
    /// What it says itself.
    pub version: Option<String>,
    pub login: Login,
    /// The variable or file that tells of the login.
    pub login_by: Option<String>,
    pub abilities: Abilities,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    BuiltIn,
    Plugin,
    /// Of the task file.
    Template,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Login {
    Yes,
    No,
    Unknown,
}

/// Where an agent's login shows.
struct BuiltIn {
    name: &'static str,
    variables: &'static [&'static str],
    /// A variable that names its folder, where that is below the home directory otherwise, and the file in it.
    file: (&'static str, &'static str, &'static str),
    /// Without any of these it is not logged in.
    certain: bool,
}

const BUILT_IN: [BuiltIn; 4] = [
    BuiltIn {
        name: "claude",
        variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        file: ("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json"),
        // It may keep its credentials in the system's own place for them.
        certain: cfg!(target_os = "linux"),
    },
    BuiltIn {
        name: "codex",
        variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
        file: ("CODEX_HOME", ".codex", "auth.json"),
        certain: true,
    },
    BuiltIn {
        name: "gemini",
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
        file: ("", ".gemini", "oauth_creds.json"),
        certain: true,
    },
    BuiltIn {
        name: "opencode",
        variables: &["OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
        file: ("", ".local/share/opencode", "auth.json"),
        // It has providers that want no login.
        certain: false,
    },
];

/// What an agent can be called where a plan is carried out; nothing is started for it.
pub fn known_names(plan: &Plan) -> Vec<String> {
    let own = plan.agents.keys().cloned();
    let built_in = BUILT_IN.iter().map(|known| known.name).chain([CLOUD]).map(str::to_owned);
    let mut names: Vec<String> = own.chain(built_in).chain(plugins()).chain(["shell".to_owned()]).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// The built-in agents, those on the `PATH`, and those a plan brings along. Each is asked for its version, all at once.
pub fn roster(plan: &Plan) -> Vec<Entry> {
    let caller = Caller::new(std::env::vars_os());
    let mut entries: Vec<Entry> =
        plan.agents.keys().filter_map(|name| entry(plan, name, Kind::Template)).collect();
    let taken = |name: &str, entries: &[Entry]| entries.iter().any(|entry| entry.name == name);
    for known in &BUILT_IN {
        if !taken(known.name, &entries) {
            let found = entry(plan, known.name, Kind::BuiltIn).map(|entry| logged_in(entry, known, &caller));
            entries.extend(found);
        }
    }
    for name in plugins() {
        if !taken(&name, &entries) {
            entries.extend(entry(plan, &name, Kind::Plugin));
        }
    }
    std::thread::scope(|scope| {
        for entry in entries.iter_mut().filter(|entry| entry.kind == Kind::BuiltIn) {
            let caller = &caller;
            scope.spawn(move || entry.version = entry.path.as_deref().and_then(|path| version(path, caller)));
        }
    });
    entries
}

fn entry(plan: &Plan, name: &str, kind: Kind) -> Option<Entry> {
    let abilities = agent(plan, name).ok()?.abilities();
    let program = match (kind, plan.agents.get(name)) {
        (Kind::Template, Some(program)) => program.command.first()?.clone(),
        (Kind::Plugin, _) => {
            plugins::find_unlocked(plugins::Kind::Agent, name).ok()?.path.display().to_string()
        }
        _ => name.to_owned(),
    };
    Some(Entry {
        name: name.to_owned(),
        kind,
        path: match kind {
            Kind::Plugin => Some(PathBuf::from(&program)),
            _ => process::installed(&program),
        },
        program,
        version: None,
        login: Login::Unknown,
        login_by: None,
        abilities,
    })
}

fn logged_in(entry: Entry, known: &BuiltIn, caller: &Caller) -> Entry {
    let set =
        |name: &str| caller.variable(name).filter(|(_, value)| !value.is_empty()).map(|(_, value)| value);
    let (variable, folder, file) = known.file;
    let folder =
        set(variable).map(PathBuf::from).or_else(|| set("HOME").map(|home| PathBuf::from(home).join(folder)));
    let file = folder.map(|folder| folder.join(file)).filter(|file| file.is_file());
    let variable = known.variables.iter().find(|name| set(name).is_some());
    let by = variable.map(|name| (*name).to_owned()).or(file.map(|file| file.display().to_string()));
    let login = match (&by, known.certain) {
        (Some(_), _) => Login::Yes,
        (None, true) => Login::No,
        (None, false) => Login::Unknown,
    };
    Entry { login, login_by: by, ..entry }
}

/// The first line it answers with. It gets no keys for that.
fn version(program: &Path, caller: &Caller) -> Option<String> {
    let mut command = std::process::Command::new(program);
    command.arg("--version").env_clear().envs(caller.passed.iter());
    let said = process::answer(&mut command, PATIENCE)?;
    let text = crate::process::transcript::shown(&said);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(|line| redact::known().cut(line, 60))
}

/// Names of the plugins that may be started.
fn plugins() -> BTreeSet<String> {
    let all = plugins::all().unwrap_or_default().into_iter();
    let ready = all.filter(|(found, standing)| {
        found.kind == plugins::Kind::Agent && *standing == plugins::Standing::Ready
    });
    ready.map(|(found, _)| found.name).collect()
}
