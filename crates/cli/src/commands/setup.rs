//! `conductor setup`: our skill and our tools in an agent's own configuration, so that it can plan, start and watch runs by
//! itself. Everything is shown before it is written, and can be taken back.

mod edits;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::answer_either;
use crate::args::{self, SetupAgent};
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::{difference, writing};
use edits::Edit;

const SCHEMA: &str = "conductor.setup/1";

/// What is put in each agent's folder of skills.
const SKILL: &str = include_str!("setup/SKILL.md");

pub(crate) fn run(args: &args::Setup) -> Result<Exit, CliError> {
    let edits = edits_of(args.agent)?;
    let name = args.agent.name();
    let mut changes = Vec::new();
    for edit in &edits {
        let before = edit.read()?;
        let after =
            if args.remove { edit.taken_back(before.as_deref())? } else { edit.made(before.as_deref())? };
        if before != after {
            changes.push((edit, before, after));
        }
    }
    let paths: Vec<&Path> = changes.iter().map(|(edit, _, _)| edit.path()).collect();
    let value = json!({ "agent": name, "files": paths, "removed": args.remove });
    if changes.is_empty() {
        let words = match args.remove {
            true => format!("{name} has nothing of conductor"),
            false => format!("{name} has conductor's skill and tools already"),
        };
        answer_either(args.json, &words, SCHEMA, value)?;
        return Ok(Exit::Done);
    }
    for (edit, before, after) in &changes {
        let lines =
            difference::lines(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
        console::ask(format!("{}:\n{lines}", edit.path().display()));
    }
    agreed(args.yes)?;
    for (edit, _, after) in &changes {
        edit.write(after.as_deref())?;
    }
    let words = match args.remove {
        true => format!("removed conductor's skill and tools from {name}"),
        false => format!(
            "{name} has conductor's skill and tools now; start {name} anew for it to find them\nto take it back: conductor setup {name} --remove"
        ),
    };
    answer_either(args.json, &words, SCHEMA, value)?;
    Ok(Exit::Done)
}

fn agreed(unasked: bool) -> Result<(), CliError> {
    if unasked {
        return Ok(());
    }
    if !writing::attended() {
        let message = "these files are yours, and there is no terminal to ask on; nothing was written";
        return Err(CliError::new(Exit::Asked, message).help("to write them without being asked: --yes"));
    }
    match writing::ask(&mut io::stdin().lock(), "Write it? [y/N] ")?.to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CliError::new(Exit::Cancelled, "nothing was written")),
    }
}

impl SetupAgent {
    fn name(self) -> &'static str {
        match self {
            SetupAgent::Claude => "claude",
            SetupAgent::Codex => "codex",
            SetupAgent::Gemini => "gemini",
            SetupAgent::Opencode => "opencode",
        }
    }
}

/// How this program is started: by its name, where that leads here.
fn program() -> Result<String, CliError> {
    let own = std::env::current_exe()?;
    let name = "conductor";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    let same = first.and_then(|first| first.canonicalize().ok()) == own.canonicalize().ok();
    Ok(if same { name.to_owned() } else { own.display().to_string() })
}

fn folder(variable: &str, below_home: &str) -> Result<PathBuf, CliError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = if variable.is_empty() { None } else { set(variable) };
    own.or_else(|| set("HOME").map(|home| home.join(below_home))).ok_or_else(|| {
        CliError::new(Exit::Unexpected, "HOME is not set, so there is no configuration to write to")
    })
}

/// Where each agent looks for tools and skills.
fn edits_of(agent: SetupAgent) -> Result<Vec<Edit>, CliError> {
    let program = program()?;
    let skill =
        |folder: &Path| Edit::File { path: folder.join("skills/conductor/SKILL.md"), text: SKILL.to_owned() };
    let json = |path: PathBuf, section: &'static str, value: Value| Edit::Json { path, section, value };
    Ok(match agent {
        SetupAgent::Claude => {
            let own = folder("CLAUDE_CONFIG_DIR", ".claude")?;
            // It keeps this file beside its folder, or in it where the folder is chosen by the variable.
            let file = match std::env::var_os("CLAUDE_CONFIG_DIR").is_some_and(|set| !set.is_empty()) {
                true => own.join(".claude.json"),
                false => own.with_file_name(".claude.json"),
            };
            let server = json!({ "type": "stdio", "command": program, "args": ["mcp"], "env": {} });
            vec![json(file, "mcpServers", server), skill(&own)]
        }
        SetupAgent::Codex => {
            let own = folder("CODEX_HOME", ".codex")?;
            let command = Value::from(program).to_string();
            let text = format!("[mcp_servers.conductor]\ncommand = {command}\nargs = [\"mcp\"]\n");
            vec![Edit::Block { path: own.join("config.toml"), text }, skill(&own)]
        }
        SetupAgent::Gemini => {
            let own = folder("", ".gemini")?;
            let server = json!({ "command": program, "args": ["mcp"] });
            vec![json(own.join("settings.json"), "mcpServers", server), skill(&own)]
        }
        SetupAgent::Opencode => {
            let own = folder("XDG_CONFIG_HOME", ".config")?.join("opencode");
            let commented = own.join("opencode.jsonc");
            let file = if commented.is_file() { commented } else { own.join("opencode.json") };
            let server = json!({ "type": "local", "command": [program, "mcp"], "enabled": true });
            vec![json(file, "mcp", server), skill(&own)]
        }
    })
}
