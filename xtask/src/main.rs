//! `cargo xtask …`: the developers' and CI's commands, in one place.
//!
//! It knows how to call the tools, never what they check.

mod bench;
mod book;
mod dist;
mod docs;
mod release;
mod steps;
mod test;
mod tidy;
mod tools;
mod web;

use std::process::ExitCode;

/// What went wrong, in words for the developer who typed the command.
pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
usage: cargo xtask test [-- FILTER]   everything that must hold before a merge; FILTER goes to nextest
       cargo xtask docs               writes docs/commands from the program's help
       cargo xtask tidy               cycles, unnamed modules, unclear words and what is too long
       cargo xtask web                builds the page into web/dist; the next build of the program has it in it
       cargo xtask dist [OPTIONS]     what users install: archive, Debian package, checksums; `dist --help` has the options
       cargo xtask release --dry-run  the checklist of a release; publishes nothing
       cargo xtask soak               the faults at full size: 200 kills, 1,000 grandchildren, 10 GB of output
       cargo xtask soak faults        only the random faults, for twenty minutes
       cargo xtask soak money         only the random bills: 200 runs of the real agents
       cargo xtask soak cloud         only agents in the cloud: 200 kills, and 20 sessions in one browser
       cargo xtask soak api           only the API: hundreds of made-up requests to each operation
       cargo xtask bench [--quick]    Conductor beside make, ninja, parallel and bare git; writes docs/BENCHMARKS.md
       cargo xtask bench --git        workspaces and merging alone, only printed; both need 10 GB of room for a while
       cargo xtask bench --agents     listening to agents alone, only printed
       cargo xtask bench --single     single commands and being looked at alone, only printed
       cargo xtask bench --confinement  starts by each tier and the proxy alone, only printed
       cargo xtask bench --expertise  the choice of items and learning alone, only printed
       cargo xtask bench --screen     the full-screen view alone, only printed
       cargo xtask bench --shims      starts by way of a shim, its memory and the taking hold of fifty agents alone, only printed
       cargo xtask bench --worktrees  300 worktrees of 30,000 files alone, only printed; needs 40 GB, BENCH_DIR says where
       cargo xtask bench --workers    orders over Redis and RabbitMQ and events to PostgreSQL alone, only printed";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test::run(&[]),
        ["test", "--", filter @ ..] => test::run(filter),
        ["docs"] => docs::run(),
        ["tidy"] => tidy::run(),
        ["web"] => web::run(),
        ["dist", words @ ..] => dist::run(words),
        ["release", words @ ..] => release::run(words),
        ["soak"] => test::soak(),
        ["soak", "faults"] => test::soak_faults(),
        ["soak", "money"] => test::soak_money(),
        ["soak", "cloud"] => test::soak_cloud(),
        ["soak", "api"] => test::soak_api(),
        ["bench", options @ ..] if options.iter().all(|option| bench::OPTIONS.contains(option)) => {
            bench::run(options)
        }
        [bench::MEASURE, options @ ..] => bench::measure(options),
        [bench::PEAK, program @ ..] => bench::print_peak(program),
        [bench::AGENT] => bench::play_agent(),
        [bench::CONFINED, folder] => bench::print_landlock(folder),
        [bench::CORE, load, tasks] => bench::print_core(load, tasks),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
