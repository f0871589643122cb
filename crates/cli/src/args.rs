//! The arguments as typed. What they mean is resolved in the commands.

mod files;
mod global;
mod groups;
mod headings;
mod live;
mod plan;
mod run;
pub(crate) mod words;
mod work;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use conductor_core::units::Millis;

pub(crate) use files::*;
pub(crate) use global::*;
pub(crate) use groups::*;
pub(crate) use live::*;
pub(crate) use plan::*;
pub(crate) use run::*;
pub(crate) use work::*;

/// Runs many coding agents in parallel, and can prove what it did.
#[derive(Debug, Parser)]
#[command(name = "conductor", version, about, max_term_width = 100, propagate_version = false)]
pub(crate) struct Arguments {
    /// Where things stand here, as JSON; a command has a --json of its own
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) global: Global,
    /// Without one, where things stand here is told
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
To add it to an agent, once, in the repository:
  claude mcp add conductor -- conductor mcp
  codex mcp add conductor -- conductor mcp
  gemini mcp add conductor conductor mcp
  opencode mcp add conductor -- conductor mcp

Tools: plan, validate, start, status, wait, logs, diff, report, answer, retry, resume, cancel";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the tasks of a file, or take up a run that was left
    Run(Box<Run>),
    /// Have an agent plan what you describe, and write it as a task file; runs nothing
    Plan(Box<Plan>),
    /// Plan what you describe, then run it
    Orchestrate(Box<Orchestrate>),
    /// See a whole run in a minute, free: a stand-in plays the model
    Demo(Demo),
    #[command(hide = true)]
    DemoAgent(DemoAgent),
    #[command(hide = true)]
    Keeper(Keeper),
    /// Check a task file and show everything that is wrong with it
    Validate(Validate),
    /// Show the graph of a task file
    Graph(Graph),
    /// See which tasks belong together, and put tasks in groups
    #[command(subcommand)]
    Group(Group),
    /// Make a task file from what another tool knows
    #[command(subcommand)]
    Import(Import),
    /// Tell how long a run will take and what it will cost, with how many at once; starts nothing
    Rehearse(Rehearse),
    /// Tell what will be done with a task and why, or what a code means
    Explain(Explain),
    /// Show what a task has changed, as a patch
    Diff(Diff),
    /// Show what a run is doing: what is at work, what waits and on what, what comes next
    Status(Status),
    /// Show what a task's agent or command said
    Logs(Logs),
    /// Print what happened in a run, one event a line
    Events(Events),
    /// Wait for a run to end, and exit as it does
    Wait(Wait),
    /// Start nothing new in a run until it is resumed; what is at work goes on
    Pause(OfRun),
    /// Go on with a run that was paused
    Resume(OfRun),
    /// Stop a task, a group of tasks or everything, and do not do it
    Cancel(Cancel),
    /// Change how many tasks of a run are at work at once
    Parallel(Parallel),
    /// List the runs there were, look at one, and take old ones away
    #[command(subcommand)]
    Runs(Runs),
    /// Report on a run: a page to send on, Markdown or JSON
    Report(Report),
    /// Show what runs have used and cost
    Cost(Cost),
    /// Show what models are taken to cost, and who says so
    Prices(Prices),
    /// Look at workspaces and kept work, bring in what did not merge, clear up
    #[command(subcommand)]
    Worktree(Worktree),
    /// Remember where a branch is, and set it back
    #[command(subcommand)]
    Checkpoint(Checkpoint),
    /// Answer what a task's agent asks, tell it something, have it done again or not at all
    #[command(subcommand)]
    Task(Task),
    /// See which agents there are, and put them to the test
    #[command(subcommand)]
    Agents(Agents),
    /// Serve Conductor as tools to an agent or editor, over the Model Context Protocol
    #[command(after_help = ADD_TO_AGENTS)]
    Mcp,
    /// See every setting that counts, and who says so
    #[command(subcommand)]
    Config(Config),
    /// Write a task file and a config to begin with, by what the project is
    Init(Init),
    /// Look whether everything a run needs is there and in order
    Doctor(Doctor),
    /// Make task files from templates
    #[command(subcommand)]
    Template(Template),
    /// Print what a shell needs to complete our commands
    Completions(Completions),
    /// Print the manual page, or write all of them
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

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected a name, = and a value, such as target=src/parser".to_owned()),
    }
}

fn duration(text: &str) -> Result<Millis, String> {
    conductor_core::spec::parse_duration(text).map_err(|error| error.to_string())
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

    /// Whose answers are no data: scripts, manual pages, a schema that is JSON by itself, a server and a show.
    const WITHOUT_JSON: [&str; 6] = ["completions", "man", "schema", "mcp", "demo", "help"];

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
