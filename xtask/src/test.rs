//! `cargo xtask test`: everything that must hold before a merge, cheapest first.

mod quickstart;

use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::docs;
use crate::steps::{cargo, is_ci, openly, quietly, step};
use crate::{tidy, tools, web};

pub(crate) fn run(filter: &[&str]) -> Result {
    step("tools", || {
        tools::provide(&tools::FOR_TESTS)?;
        tools::provide_cargo_tools()
    })?;
    // First: the program has it in it.
    step("page", || {
        web::build()?;
        web::check()
    })?;
    step("format", || quietly(&mut cargo(&["fmt", "--all", "--check"])))?;
    step("tidy", tidy::run)?;
    step("lints", || {
        // Of what is left out by default, too; only the crates with such parts are looked at twice.
        for more in [&[][..], &["--all-features"]] {
            let words =
                [&["clippy", "--workspace", "--all-targets", "--locked"], more, &["--", "-D", "warnings"]];
            quietly(&mut cargo(&words.concat()))?;
        }
        Ok(())
    })?;
    step("dependencies", dependencies)?;
    step("docs", docs::check)?;
    step("examples", || quietly(&mut cargo(&["test", "--workspace", "--locked", "--doc"])))?;
    step("tests", || openly(nextest().args(["-E", IN_REACH]).args(filter)))?;
    step("page in a browser", web::test)?;
    step("features", || openly(with_features().args(filter)))?;
    step("quickstart", quickstart::run)
}

/// The real agent CLIs are fetched and run through Conductor with every test. What each of them does by itself is the
/// soak's, and so is what takes one of them a minute.
const IN_REACH: &str = "not (package(conductor-testkit) & binary(real)) & not test(/_slowly$/) \
                        | test(claude::) | test(=which_agents_are_here)";

/// The suite runs the program as it is built by default. The tests of its optional parts, and of what they share code with,
/// run on a build that has them all: only crates that have such parts are compiled again.
fn with_features() -> Command {
    const OWN: &str = "test(traces::) | test(oidc::) | test(features::) | test(server::access::) | test(server::page::) \
                       | test(shared_store::) | test(dispatch::broker::) | test(other_machines::) | test(real_brokers::)";
    const FEATURES: &str = "conductor-agents/oidc,conductor-agents/otel,conductor-agents/postgres,\
                            conductor-agents/redis,conductor-agents/rabbitmq";
    let mut command = places(cargo(&["nextest", "run", "--locked", "--no-fail-fast", "--no-tests=pass"]));
    command.args(["--profile", profile(), "-p", "conductor-agents", "-p", "conductor-agents-server"]);
    command.args(["-p", "conductor-agents-engine", "--features", FEATURES, "-E", OWN]);
    // What a fresh checkout offers is seen with a program that has no page in it.
    command.env("CONDUCTOR_WITHOUT_PAGE", "1");
    command
}

/// What the test suite does in small, in the size users are promised.
pub(crate) fn soak() -> Result {
    step("tools", || tools::provide(&tools::FOR_TESTS))?;
    let mut command = nextest();
    let large = "package(conductor-agents) & (test(killed_at_random) | test(without_power_at_random) | test(killed_again_and_again) | test(handed_over_again_and_again) | test(dies_while_it_takes) | test(agents::) | test(huge_file) | test(/_slowly$/) | test(rehearsed_))";
    command.args(["-E", large, "-E", "package(conductor-testkit) & binary(real)"]);
    command.env("CONDUCTOR_CRASH_POINTS", "200").env("CONDUCTOR_GRANDCHILDREN", "1000");
    command.env("CONDUCTOR_REHEARSED_GRAPHS", "20").env("CONDUCTOR_OUTLIVING_KILLS", "200");
    command.env("CONDUCTOR_HANDOVERS", "50").env("CONDUCTOR_HANDOVER_KILLS", "50");
    command.env("CONDUCTOR_FLOOD_BYTES", "10000000000").env("CONDUCTOR_HUGE_MIB", "2048");
    step("soak", || openly(&mut command))?;
    step("faults", faults)?;
    step("money", money)?;
    step("cloud", cloud)?;
    soak_api()
}

/// Sessions elsewhere: killed at every step, 200 times in all, and many of them in one browser.
pub(crate) fn soak_cloud() -> Result {
    step("tools", || tools::provide(&tools::FOR_TESTS))?;
    step("cloud", cloud)
}

fn cloud() -> Result {
    let mut command = nextest();
    command.args(["-E", "package(conductor-agents) & test(/submitted_once$/)", "--no-capture"]);
    command.args(["-E", "package(conductor-agents-browser) & test(/_slowly$/)"]);
    openly(command.env("CONDUCTOR_CLOUD_KILLS", "150").env("CONDUCTOR_BROWSER_KILLS", "51"))
}

/// Hundreds of made-up requests to each operation of the API, other ones each time.
pub(crate) fn soak_api() -> Result {
    step("tools", || {
        tools::provide(&tools::FOR_TESTS)?;
        tools::provide_schemathesis()
    })?;
    let mut command = nextest();
    command.args(["-E", "package(conductor-agents) & test(server::openapi::)"]);
    step("api", || openly(command.env("CONDUCTOR_API_EXAMPLES", "300")))
}

/// Random faults for twenty minutes, in a home that fills with runs and in every odd repository.
pub(crate) fn soak_faults() -> Result {
    step("tools", || tools::provide(&tools::FOR_TESTS))?;
    step("faults", faults)
}

/// Agents that delegate, are refused, killed and capped: what is shown is held against what was billed.
pub(crate) fn soak_money() -> Result {
    step("tools", || tools::provide(&tools::FOR_TESTS))?;
    step("money", money)
}

fn money() -> Result {
    let mut command = nextest();
    command.args(["-E", "package(conductor-agents) & test(random_money)", "--no-capture"]);
    openly(command.env("CONDUCTOR_MONEY_RUNS", "200"))
}

fn faults() -> Result {
    let mut command = nextest();
    command.args(["-E", "package(conductor-agents) & test(random_faults)"]);
    openly(command.env("CONDUCTOR_FAULT_SECONDS", "1200"))
}

/// Known vulnerabilities are looked up only where their database is, for it comes from the network.
fn dependencies() -> Result {
    quietly(&mut cargo(&["fetch", "--locked", "--quiet"]))?;
    quietly(&mut cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]))?;
    if !has_advisories() {
        eprintln!("   advisories: not checked, no database here (`cargo deny fetch` gets it)");
        return Ok(());
    }
    eprintln!("   advisories: checked against the database of this machine");
    quietly(&mut cargo(&["deny", "--offline", "check", "advisories"]))
}

/// A fetch that failed leaves a folder without a database.
pub(crate) fn has_advisories() -> bool {
    let folder = cargo_home().and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    folder.into_iter().flatten().flatten().any(|entry| entry.path().join(".git").exists())
}

fn nextest() -> Command {
    places(cargo(&["nextest", "run", "--workspace", "--locked", "--no-fail-fast", "--profile", profile()]))
}

/// How many places tests share in CI, and how many each takes, is told in `.config/nextest.toml`.
fn places(mut command: Command) -> Command {
    if is_ci() {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        command.args(["--test-threads", &(2 * cores).to_string()]);
    }
    command
}

fn profile() -> &'static str {
    if is_ci() { "ci" } else { "default" }
}

pub(crate) fn cargo_home() -> Option<PathBuf> {
    home_of("CARGO_HOME", ".cargo")
}

fn home_of(variable: &str, directory: &str) -> Option<PathBuf> {
    let set = std::env::var_os(variable).map(PathBuf::from);
    set.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(directory)))
}
