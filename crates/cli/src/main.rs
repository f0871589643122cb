//! The command line. Each command is a file of its name under `commands/`; this is the table of contents.

mod archive;
mod args;
mod commands;
mod diagnostics;
mod end_block;
mod fault;
mod progress;
mod table;
mod width;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ended = match arguments.command {
        Command::Run(run) => commands::run::run(&run),
        Command::Demo(demo) => commands::demo::run(&demo),
        Command::DemoAgent(agent) => commands::demo::player::run(&agent),
        Command::Validate(validate) => commands::validate::run(&validate),
        Command::Graph(graph) => commands::graph::run(&graph),
        Command::Explain(explain) => commands::explain::run(&explain),
        Command::Diff(diff) => commands::diff::run(&diff),
        Command::Cost(cost) => commands::cost::run(&cost),
        Command::Prices(prices) => commands::prices::run(&prices),
        Command::Worktree(worktree) => commands::worktree::run(&worktree),
        Command::Checkpoint(checkpoint) => commands::checkpoint::run(&checkpoint),
        Command::Task(task) => commands::task::run(&task),
        Command::Agents(agents) => commands::agents::run(&agents),
        Command::Schema => commands::schema::run(),
        Command::Version(version) => commands::version::run(&version),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(fault) => {
            fault.show();
            fault.exit.into()
        }
    }
}
