//! The arguments as typed. What they mean is resolved in the commands.

mod browser;
mod expertise;
mod files;
mod global;
mod groups;
mod headings;
mod live;
mod plan;
mod review;
mod run;
mod serving;
mod stores;
mod syncing;
mod trusting;
pub(crate) mod words;
mod work;
mod workers;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use conductor_core::confinement::hosts::HostRule;
use conductor_core::plan::{Network, Priority};
use conductor_core::values::units::Millis;

pub(crate) use browser::*;
pub(crate) use expertise::*;
pub(crate) use files::*;
pub(crate) use global::*;
pub(crate) use groups::*;
pub(crate) use live::*;
pub(crate) use plan::*;
pub(crate) use review::*;
pub(crate) use run::*;
pub(crate) use serving::*;
pub(crate) use stores::*;
pub(crate) use syncing::*;
pub(crate) use trusting::*;
pub(crate) use work::*;
pub(crate) use workers::*;

/// Runs many coding agents in parallel, and can prove what it did.
#[derive(Debug, Parser)]
#[command(name = "conductor", version, about, max_term_width = 100, propagate_version = false)]
pub(crate) struct Arguments {
    /// Print the overview as JSON; each command has its own --json
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) global: Global,
    /// Without a command, an overview is printed
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Arguments {
    /// The whole command line as clap knows it.
    pub(crate) fn described() -> clap::Command {
        headings::under_headings(Arguments::command())
    }

    /// What was typed, the program's name first.
    pub(crate) fn read(mut words: Vec<OsString>) -> Result<Arguments, clap::Error> {
        let mut directories = words::take_directories(&mut words);
        let mut command = Arguments::described();
        let mut matches = command.try_get_matches_from_mut(words::with_numbers(words))?;
        let mut arguments =
            Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
        if arguments.json && arguments.command.is_some() {
            let message = "--json belongs after the command's name";
            return Err(command.error(clap::error::ErrorKind::ArgumentConflict, message));
        }
        directories.append(&mut arguments.global.directories);
        arguments.global.directories = directories;
        Ok(arguments)
    }
}

/// As each of them takes a server that it starts itself.
const ADD_TO_AGENTS: &str = "\
To add it to an agent with a skill beside it: conductor setup AGENT. Or by hand, once, in the repository:
  claude mcp add conductor -- conductor mcp
  codex mcp add conductor -- conductor mcp
  gemini mcp add conductor conductor mcp
  opencode mcp add conductor -- conductor mcp

Tools: plan, validate, start, status, wait, logs, diff, report, answer, retry, resume, cancel";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the tasks of a file, or resume an unfinished run
    Run(Box<Run>),
    /// Have an agent turn your description into a task file, without running it
    Plan(Box<Plan>),
    /// Plan from your description, then run the plan
    Orchestrate(Box<Orchestrate>),
    /// See a whole run in a minute, free: a stand-in plays the model
    Demo(Demo),
    #[command(hide = true)]
    DemoAgent(DemoAgent),
    #[command(hide = true)]
    CloudSession,
    #[command(hide = true)]
    Reaper(Reaper),
    /// Check a task file and show every error in it
    Validate(Validate),
    /// Show the dependency graph of a task file
    Graph(Graph),
    /// Detect, plan and run groups of tasks
    #[command(subcommand)]
    Group(Group),
    /// Make a task file from another tool's issues
    #[command(subcommand)]
    Import(Import),
    /// Estimate a run's time and cost without starting anything
    Rehearse(Rehearse),
    /// Explain what happens to a task and why, or what a code means
    Explain(Explain),
    /// Show what a task has changed, as a patch
    Diff(Diff),
    /// Show what a run is doing: which tasks run, which wait and why, which come next
    Status(Status),
    /// Watch and steer a run in the whole terminal; without an active run, show the board
    Tui(Tui),
    /// Bring back the view of a run that goes on in the background
    Attach(Attach),
    /// Take a live run over from its process, such as with a newer version of this program
    Handover(Handover),
    /// Show the output of a task's agent or command
    Logs(Logs),
    /// Print the events of a run, one per line
    Events(Events),
    /// Wait for a run to end, and exit with its exit code
    Wait(Wait),
    /// Pause a run: start no new tasks, let running ones finish
    Pause(OfRun),
    /// Resume a paused run
    Resume(OfRun),
    /// Cancel a task, a group or the whole run
    Cancel(Cancel),
    /// Change how many tasks a run does at once
    Parallel(Parallel),
    /// Change a run's caps; raising a cap lets a run that is stopping for it continue
    Cap(Cap),
    /// List runs, show one, or remove old ones
    Runs(RunsOrList),
    /// Report on a run, as a web page, Markdown or JSON
    Report(Report),
    /// Show what runs have used and cost
    Cost(Cost),
    /// Show the price of each model, and where it comes from
    Prices(Prices),
    /// List workspaces and kept work, resolve conflicts, clean up
    #[command(subcommand)]
    Worktree(Worktree),
    /// Save the position of a branch, and roll back to it
    #[command(subcommand)]
    Checkpoint(Checkpoint),
    /// Answer a task's agent, send it a message, or retry, skip, cancel or reprioritise a task
    #[command(subcommand)]
    Task(Task),
    /// Show and edit what the project has taught its agents
    #[command(subcommand)]
    Expertise(Expertise),
    /// Review work that waits for approval before it lands (`land: approve`)
    Review(Review),
    /// List the agents, and test them
    #[command(subcommand)]
    Agents(Agents),
    /// Give an agent Conductor's skill and tools, so that it can plan, start and watch runs itself
    Setup(Setup),
    /// Serve Conductor as tools to an agent or editor, over the Model Context Protocol
    #[command(after_help = ADD_TO_AGENTS)]
    Mcp,
    /// Serve Conductor over HTTP: REST, WebSocket, for programs, pages and colleagues
    Serve(Serve),
    /// Open the page of the running server in a browser, logged in: the inbox, a run or a task
    Open(Open),
    /// List, add or remove projects: repositories and their task files, by name
    #[command(subcommand)]
    Project(Project),
    /// List, add or remove webhooks: programs elsewhere that are notified of a project's runs
    #[command(subcommand)]
    Webhook(Webhook),
    /// List, add or change the users of the server
    #[command(subcommand)]
    User(User),
    /// List, make or revoke access tokens of the server
    #[command(subcommand)]
    Token(Token),
    /// Show what this repository's config and plugins would run, and trust it
    Trust(Trust),
    /// Move the logs of runs to the store that machines share, or back
    #[command(subcommand)]
    Store(Store),
    /// Work for the runs of another machine: orders come over a queue, code over git
    Worker(Worker),
    /// Enrol, list, drain or revoke workers on other machines
    #[command(subcommand)]
    Workers(Workers),
    /// List, add, write or test plugins: agents, notifiers, importers, verifiers
    #[command(subcommand)]
    Plugin(Plugin),
    /// Watch and set up agents that work behind a web page
    #[command(subcommand)]
    Browser(Browser),
    /// Push and pull runs, sessions and expertise: carry them to your other machines
    #[command(subcommand)]
    Sync(Sync),
    /// Show every setting, and where its value comes from
    #[command(subcommand)]
    Config(Config),
    /// Write a first task file and config that fit the project
    Init(Init),
    /// Check that everything a run needs is there and works
    Doctor(Doctor),
    /// Make task files from templates
    #[command(subcommand)]
    Template(Template),
    /// Print the completion script for a shell
    Completions(Completions),
    /// Print the manual page, or write one for every command
    Man(Man),
    /// Print the JSON Schema of task files, for editors
    Schema(Schema),
    /// Print the version
    Version(Version),
}

/// The most tasks that can be wanted at once.
const MOST_AT_ONCE: u32 = 100_000;

/// How many tasks are wanted at once.
fn at_once(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if (1..=MOST_AT_ONCE).contains(&number) => Ok(number),
        _ => Err(format!("expected a number from 1 to {MOST_AT_ONCE}")),
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err("expected an amount above 0, such as 2.50".to_owned()),
    }
}

/// By name or by number, as in a task file.
fn priority(text: &str) -> Result<Priority, String> {
    Priority::named(text).ok_or_else(|| format!("expected one of {}, or 0 to 4", Priority::NAMES.join(", ")))
}

fn repository(text: &str) -> Result<String, String> {
    match conductor_core::file::is_repository(text) {
        true => Ok(text.to_owned()),
        false => Err("expected an owner, / and a name, as in github.com/owner/name".to_owned()),
    }
}

fn network(text: &str) -> Result<Network, String> {
    let hosts: Vec<String> = text.split(',').map(|host| host.trim().to_owned()).collect();
    match text {
        "full" => Ok(Network::Full),
        "off" => Ok(Network::Off),
        _ => match hosts.iter().find(|host| HostRule::parse(host).is_none()) {
            None => Ok(Network::Allow(hosts)),
            Some(wrong) => {
                Err(format!("expected full, off, or hosts such as crates.io,*.npmjs.org; '{wrong}' is none"))
            }
        },
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected a name, = and a value, such as target=src/parser".to_owned()),
    }
}

pub(crate) fn duration(text: &str) -> Result<Millis, String> {
    conductor_core::file::parse_duration(text).map_err(|error| error.to_string())
}

/// What a run may take at most.
fn some_time(text: &str) -> Result<Millis, String> {
    match duration(text)? {
        Millis(0) => Err("expected a time above 0, such as 90m".to_owned()),
        time => Ok(time),
    }
}

/// As a duration, and days.
fn days(text: &str) -> Result<Millis, String> {
    match text.strip_suffix('d').map(str::parse::<u64>) {
        Some(Ok(days)) => Ok(Millis::from_secs(days.saturating_mul(24 * 60 * 60))),
        Some(Err(_)) => Err("expected a time such as 30d or 12h".to_owned()),
        None => duration(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whose answers are no data: scripts, manual pages, a schema that is JSON by itself, a server, a view and a show.
    const WITHOUT_JSON: [&str; 13] = [
        "completions",
        "man",
        "schema",
        "mcp",
        "demo",
        "tui",
        "attach",
        "worker",
        "help",
        // A file, pictures, and windows of the user's.
        "expertise export",
        "browser learn",
        "browser peek",
        "browser attach",
    ];

    /// The names of commands without `--json`, with everything above them.
    fn without_json(command: &clap::Command, path: &str) -> Vec<String> {
        let below: Vec<&clap::Command> = command.get_subcommands().filter(|one| !one.is_hide_set()).collect();
        if below.is_empty() {
            let has_it = command.get_arguments().any(|arg| arg.get_long() == Some("json"));
            return if has_it { Vec::new() } else { vec![path.to_owned()] };
        }
        let each = below.into_iter().flat_map(|one| without_json(one, &format!("{path} {}", one.get_name())));
        each.collect()
    }

    #[test]
    fn every_command_that_answers_has_json() {
        let found = without_json(&Arguments::command(), "");
        let found: Vec<&str> =
            found.iter().map(|path| path.trim()).filter(|path| !WITHOUT_JSON.contains(path)).collect();
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn what_clap_knows_is_in_order() {
        Arguments::described().debug_assert();
    }
}
