//! `conductor demo`: a whole run on a throw-away project, with a stand-in for the model, so that it is free.
//!
//! The run is `conductor run`, started by us in an environment in which agents find the stand-in and nothing else.

pub(crate) mod player;
mod seen;
mod stage;

use std::ffi::OsString;
use std::fs;
use std::io::IsTerminal as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use conductor_core::run::Run;
use conductor_engine::host::home::Home;
use conductor_engine::stores;
use conductor_standin::StandIn;
use conductor_standin::agents::{Agent, Lodging};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

use super::{answer, block_on};
use crate::args;
use crate::error::{CliError, Exit};
use crate::globals;

const BUILTIN: &str = "builtin";

/// What is typed in the demonstration.
const RUN: [&str; 5] = ["run", "tasks.yaml", "--parallel", "3", "--stats"];

/// Of the caller's own variables, what is about the terminal.
const TERMINAL: [&str; 8] =
    ["TERM", "COLORTERM", "NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LANG", "LC_ALL", "LC_CTYPE"];

pub(crate) fn run(args: &args::Demo) -> Result<Exit, CliError> {
    let cast = Cast::choose(args.agent.as_deref())?;
    let ground = Ground::new()?;
    stage::set(&ground.repository(), cast.name())?;
    let stand_in = StandIn::start_blocking().map_err(|error| {
        CliError::new(Exit::Unexpected, format!("no port on 127.0.0.1 can be had: {error}"))
    })?;
    stage::cast(&stand_in);
    let environment = ground.furnish(&cast, &stand_in)?;
    answer(&opening(&cast))?;
    let status = block_on(perform(ground.command(environment, args.keep)?))?;
    let told = block_on(ground.seen())?;
    answer(&closing(&cast, &told, &ground, args.keep || !status.success()))?;
    ground.leave(args.keep || !status.success());
    Ok(exit(status))
}

/// Who plays the agent.
enum Cast {
    Real { agent: Agent, bin: PathBuf },
    Builtin,
}

impl Cast {
    /// The one that is asked for; else the first that is installed; else our own.
    fn choose(asked: Option<&str>) -> Result<Cast, CliError> {
        let Some(name) = asked else {
            return Ok(Agent::ALL.into_iter().find_map(Cast::installed).unwrap_or(Cast::Builtin));
        };
        if name == BUILTIN {
            return Ok(Cast::Builtin);
        }
        let agent = Agent::ALL.into_iter().find(|agent| agent.program() == name).ok_or_else(|| {
            CliError::new(Exit::Usage, format!("'{name}' is not an agent the demonstration knows"))
                .help("there are claude, codex, gemini, opencode and builtin")
        })?;
        Cast::installed(agent).ok_or_else(|| {
            CliError::new(Exit::AgentMissing, format!("{name} is not on PATH"))
                .help("install it, or see the demonstration with --agent builtin")
        })
    }

    fn installed(agent: Agent) -> Option<Cast> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let bin = std::env::split_paths(&path).find(|folder| folder.join(agent.program()).is_file())?;
        Some(Cast::Real { agent, bin })
    }

    fn name(&self) -> &'static str {
        match self {
            Cast::Real { agent, .. } => agent.program(),
            Cast::Builtin => BUILTIN,
        }
    }
}

/// The folder in which everything happens.
struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new() -> Result<Ground, CliError> {
        let folder = tempfile::Builder::new().prefix("conductor-demo-").tempdir()?;
        for name in ["home", "bin", "memory"] {
            fs::create_dir(folder.path().join(name))?;
        }
        Ok(Ground { folder })
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("shop")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The whole environment of the run, without the user's keys and settings.
    fn furnish(&self, cast: &Cast, stand_in: &StandIn) -> Result<Vec<(OsString, OsString)>, CliError> {
        let (home, own) = (self.folder.path().join("home"), self.folder.path().join("bin"));
        let url = stand_in.root_url();
        let lodging = |bin| Lodging { bin, home: &home, base_url: &url, retries: 1 };
        let found = match cast {
            Cast::Real { agent, bin } => lodging(bin).furnish(*agent)?,
            Cast::Builtin => {
                self.install_player(&own, stand_in)?;
                lodging(&own).bare()?
            }
        };
        let terminal = TERMINAL.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        let mut environment: Vec<(OsString, OsString)> = terminal.collect();
        environment.extend(found.into_iter().map(|(name, value)| (name.into(), value)));
        environment.push(("CONDUCTOR_HOME".into(), self.state().into()));
        // It plays a script of ours, in a folder and a home that were made for it.
        environment.push(("CONDUCTOR_SANDBOX".into(), "off".into()));
        Ok(environment)
    }

    /// An agent is a program on the PATH; ours is this one, by another name.
    fn install_player(&self, bin: &Path, stand_in: &StandIn) -> Result<(), CliError> {
        let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
        let (us, memory) = (std::env::current_exe()?, self.folder.path().join("memory"));
        let text =
            format!("#!/bin/sh\nexec {} demo-agent {} {}\n", quoted(&us), stand_in.address, quoted(&memory));
        let program = bin.join(format!("conductor-agent-{BUILTIN}"));
        fs::write(&program, text)?;
        Ok(fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?)
    }

    fn command(&self, environment: Vec<(OsString, OsString)>, kept: bool) -> Result<Command, CliError> {
        let mut command = Command::new(std::env::current_exe()?);
        if !kept {
            command.arg(RUN[0]).arg("--throw-away").args(&RUN[1..]);
        } else {
            command.args(RUN);
        }
        command.args(globals::handed_on()).current_dir(self.repository()).env_clear().envs(environment);
        Ok(command)
    }

    /// What the log and the transcripts of the run tell.
    async fn seen(&self) -> Result<Seen, CliError> {
        let home = Home::at(self.state())?;
        let store = stores::open_to_look(&home).await?;
        let Some(stored) = store.runs().await?.into_iter().next() else { return Ok(Seen::default()) };
        let records = store.load(&stored.id, 0).await?;
        let run = Run::replay(&records).map_err(|error| CliError::new(Exit::Unexpected, error))?;
        let sights = seen::sights(&run, &records, &home.run(&stored.id));
        Ok(Seen { run: Some(stored.id.to_string()), sights })
    }

    fn leave(self, keep: bool) {
        if keep {
            let _ = self.folder.keep();
        }
    }
}

#[derive(Default)]
struct Seen {
    run: Option<String>,
    sights: Vec<seen::Sight>,
}

/// Runs it to its end. Ctrl-C reaches it by the terminal it shares with us; other signals are handed on.
async fn perform(mut command: Command) -> Result<ExitStatus, CliError> {
    let (mut interrupted, mut terminated) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut child: Child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let hand_on = |signal| {
        let _ = kill_process(pid, signal);
    };
    let mut ended = tokio::task::spawn_blocking(move || child.wait());
    loop {
        tokio::select! {
            status = &mut ended => return Ok(status.map_err(|error| CliError::new(Exit::Unexpected, error))??),
            _ = interrupted.recv() => if !std::io::stdin().is_terminal() { hand_on(Signal::INT) },
            _ = terminated.recv() => hand_on(Signal::TERM),
        }
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(0), _) => Exit::Done,
        (Some(70), _) => Exit::Internal,
        (Some(100), _) => Exit::TaskFailed,
        (Some(101), _) => Exit::ConflictLeft,
        (Some(130), _) => Exit::Interrupted,
        (Some(143), _) | (_, Some(_)) => Exit::Terminated,
        _ => Exit::Unexpected,
    }
}

fn opening(cast: &Cast) -> String {
    let agent = match cast {
        Cast::Real { agent, .. } => format!("your own {}", agent.program()),
        Cast::Builtin => "a small one that comes with Conductor".to_owned(),
    };
    format!(
        "A shop's till that does not work yet, in a git repository of its own, and five\n\
         prompts to make it work, three at a time. The agent is {agent}.\n\
         The model behind it is a stand-in on this machine that plays a script:\n\
         no account, no network, nothing is billed.\n\n\
         \x1b[1m$ conductor {}\x1b[0m",
        RUN.join(" ")
    )
}

fn closing(cast: &Cast, told: &Seen, ground: &Ground, kept: bool) -> String {
    let mut lines = Vec::new();
    if !told.sights.is_empty() {
        lines.push("\n\x1b[1mWhat went wrong on the way, and was noticed:\x1b[0m".to_owned());
        lines.extend(told.sights.iter().map(|sight| format!("  {:<8} {}", sight.task, sight.words)));
    }
    let agent = match cast {
        Cast::Real { agent, .. } => agent.program(),
        Cast::Builtin => "Processes",
    };
    lines.push(format!(
        "\nOnly the model was a stand-in; nothing was billed. {agent}, git, worktrees,\n\
         checks, merges and the log were those of every `conductor run`.\n"
    ));
    let folder = ground.folder.path().display();
    match (&told.run, kept) {
        (Some(run), true) => {
            lines.push(format!("kept   cd {}", ground.repository().display()));
            lines.push(format!("       export CONDUCTOR_HOME={}", ground.state().display()));
            lines.push(format!("       git log --stat conductor/{run}"));
            lines.push("       conductor diff vat".to_owned());
        }
        (None, true) => lines.push(format!("kept   {folder}")),
        (_, false) => lines.push(format!("gone   {folder}   (--keep leaves it to be looked at)")),
    }
    lines.push("next   conductor run tasks.yaml --parallel 3   (with a task file of your own)".to_owned());
    lines.join("\n")
}
