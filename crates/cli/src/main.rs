//! The command line. Each command is a file of its name under `commands/`; this is the table of contents.

mod args;
mod commands;
mod diagnostics;
mod end_block;
mod fault;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ended = match arguments.command {
        Command::Run(run) => commands::run::run(&run),
        Command::Validate(validate) => commands::validate::run(&validate),
        Command::Graph(graph) => commands::graph::run(&graph),
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
