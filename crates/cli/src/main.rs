//! The command line. Each command is a file of its name under `commands/`; this is the table of contents.

// Printing macros panic where standard output or standard error cannot be written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod archive;
mod args;
mod commands;
mod complete;
mod console;
mod end_block;
mod error;
mod external;
mod globals;
mod logging;
mod mistyped;
mod output;
mod panics;
mod progress;
mod settings;
mod templates;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap_complete::CompleteEnv;

use args::{Arguments, Command};
use error::{CliError, Exit};
use settings::variables;

fn main() -> ExitCode {
    panics::guarded(command).into()
}

fn command() -> Exit {
    let started = Instant::now();
    let words: Vec<OsString> = std::env::args_os().collect();
    if commands::shim::is_meant(&words) {
        return commands::shim::run(Path::new(&words[2]));
    }
    if completed(&words) {
        return Exit::Done;
    }
    if commands::sandbox_inner::is_meant(&words) {
        let error = commands::sandbox_inner::run(&words);
        error.show();
        return error.exit;
    }
    commands::sandbox_inner::announce();
    args::words::color(&words).into_iter().for_each(globals::color);
    let done = match Arguments::read(words.clone()) {
        Ok(arguments) => globals::apply(&arguments.global).and_then(|()| carried_out(arguments)),
        Err(other) => explained(&other, &words),
    };
    let mut exit = done.unwrap_or_else(|error| {
        error.show();
        error.exit
    });
    if let Some(error) = console::lost().map(CliError::from) {
        error.show();
        exit = if exit == Exit::Done { error.exit } else { exit };
    }
    globals::tell_exit(exit, started);
    exit
}

/// Help and the version are answers; anything else is what is wrong with the command line.
fn explained(other: &clap::Error, words: &[OsString]) -> Result<Exit, CliError> {
    if let Some(ended) = external::command(other, words) {
        return ended;
    }
    if let Some(error) = mistyped::command(other, words) {
        return Err(error);
    }
    let text = format!("{}\n", other.render().ansi().to_string().trim_end());
    if other.use_stderr() {
        console::ask(text);
        return Ok(Exit::Usage);
    }
    console::answer(&text)?;
    Ok(Exit::Done)
}

fn carried_out(arguments: Arguments) -> Result<Exit, CliError> {
    let Some(command) = arguments.command else { return commands::overview::run(arguments.json) };
    match command {
        Command::Run(run) => commands::run::run(&run),
        Command::Plan(plan) => commands::plan::run(&plan),
        Command::Orchestrate(orchestrate) => commands::orchestrate::run(&orchestrate),
        Command::Demo(demo) => commands::demo::run(&demo),
        Command::Reaper(reaper) => commands::reaper::run(&reaper),
        Command::CloudSession => commands::cloud_session::run(),
        Command::DemoAgent(agent) => commands::demo::player::run(&agent),
        Command::Validate(validate) => commands::validate::run(&validate),
        Command::Graph(graph) => commands::graph::run(&graph),
        Command::Group(group) => commands::group::run(&group),
        Command::Import(import) => commands::import::run(&import),
        Command::Rehearse(rehearse) => commands::rehearse::run(&rehearse),
        Command::Explain(explain) => commands::explain::run(&explain),
        Command::Diff(diff) => commands::diff::run(&diff),
        Command::Status(status) => commands::status::run(&status),
        Command::Tui(tui) => commands::tui::run(&tui),
        Command::Attach(attach) => commands::attach::run(&attach),
        Command::Handover(handover) => commands::handover::run(&handover),
        Command::Logs(logs) => commands::logs::run(&logs),
        Command::Events(events) => commands::events::run(&events),
        Command::Wait(wait) => commands::wait::run(&wait),
        Command::Pause(of) => commands::steer::pause(&of),
        Command::Resume(of) => commands::steer::resume(&of),
        Command::Cancel(cancel) => commands::steer::cancel(&cancel),
        Command::Cap(cap) => commands::cap::run(&cap),
        Command::Parallel(parallel) => commands::steer::parallel(&parallel),
        Command::Runs(runs) => commands::runs::run(&runs),
        Command::Report(report) => commands::report::run(&report),
        Command::Cost(cost) => commands::cost::run(&cost),
        Command::Prices(prices) => commands::prices::run(&prices),
        Command::Serve(serve) => commands::serve::run(&serve),
        Command::Open(open) => commands::open::run(&open),
        Command::Project(project) => commands::project::run(&project),
        Command::Webhook(webhook) => commands::webhook::run(&webhook),
        Command::User(user) => commands::user::run(&user),
        Command::Token(token) => commands::user::token(&token),
        Command::Worktree(worktree) => commands::worktree::run(&worktree),
        Command::Checkpoint(checkpoint) => commands::checkpoint::run(&checkpoint),
        Command::Task(task) => commands::task::run(&task),
        Command::Expertise(expertise) => commands::expertise::run(&expertise),
        Command::Review(review) => commands::review::run(&review),
        Command::Agents(agents) => commands::agents::run(&agents),
        Command::Setup(setup) => commands::setup::run(&setup),
        Command::Mcp => commands::mcp::run(),
        Command::Plugin(plugin) => commands::plugin::run(&plugin),
        Command::Trust(trust) => commands::trust::run(&trust),
        Command::Store(store) => commands::store::run(&store),
        Command::Worker(worker) => commands::worker::run(&worker),
        Command::Workers(workers) => commands::workers::run(&workers),
        Command::Browser(browser) => commands::browser::run(&browser),
        Command::Sync(sync) => commands::sync::run(&sync),
        Command::Config(config) => commands::config::run(&config),
        Command::Init(init) => commands::init::run(&init),
        Command::Doctor(doctor) => commands::doctor::run(&doctor),
        Command::Template(template) => commands::template::run(&template),
        Command::Completions(completions) => commands::completions::run(&completions),
        Command::Man(man) => commands::man::run(&man),
        Command::Schema(schema) => commands::schema::run(&schema),
        Command::Version(version) => commands::version::run(&version),
    }
}

/// Answers a shell, where one asks.
fn completed(words: &[OsString]) -> bool {
    if std::env::var_os(variables::COMPLETE).is_none_or(|shell| shell.is_empty() || shell == "0") {
        return false;
    }
    console::be_silent();
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(Arguments::described).var(variables::COMPLETE);
    // A shell has no use for an error.
    asked.try_complete(words.iter().cloned(), here.as_deref()).unwrap_or(true)
}
