//! The programs our commands need, and how a bare machine gets them.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::steps::{answers, cargo, openly, quietly, root};

/// A program of the operating system, and the Debian package it comes in.
pub(crate) struct Program {
    name: &'static str,
    package: &'static str,
}

const fn program(name: &'static str, package: &'static str) -> Program {
    Program { name, package }
}

/// What tests start. (A C compiler is needed too, but without one this program is not even built.)
pub(crate) const FOR_TESTS: [Program; 20] = [
    program("git", "git"),
    program("git-lfs", "git-lfs"),
    program("git-crypt", "git-crypt"),
    program("sqlite3", "sqlite3"),
    program("faketime", "faketime"),
    program("unshare", "util-linux"),
    program("bwrap", "bubblewrap"),
    program("tmux", "tmux"),
    program("prometheus", "prometheus"),
    program("promtool", "prometheus"),
    program("curl", "curl"),
    program("jq", "jq"),
    program("openssl", "openssl"),
    program("pg_ctlcluster", "postgresql"),
    program("redis-server", "redis-server"),
    program("rabbitmq-server", "rabbitmq-server"),
    program("setpriv", "util-linux"),
    program("npm", "npm"),
    program("chromium", "chromium"),
    program("python3", "python3-venv"),
];

/// What Conductor is measured against.
pub(crate) const FOR_BENCH: [Program; 3] =
    [program("make", "make"), program("ninja", "ninja-build"), program("parallel", "parallel")];

/// What the checklist of a release starts: data of earlier versions is brought into a database by its own shell.
pub(crate) const FOR_RELEASE: [Program; 2] = [program("git", "git"), program("sqlite3", "sqlite3")];

/// What a package is installed with and looked at.
pub(crate) const FOR_DIST_CHECK: [Program; 4] = [
    program("debootstrap", "debootstrap"),
    program("lintian", "lintian"),
    program("chromium", "chromium"),
    program("sqlite3", "sqlite3"),
];

/// Installs the missing ones where that is ours to do, else says what to do.
pub(crate) fn provide(programs: &[Program]) -> Result {
    let missing = missing(programs);
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.iter().map(|program| program.package).collect::<Vec<_>>().join(" ");
    if !nix::unistd::geteuid().is_root() || !on_path("apt-get") {
        let names = missing.iter().map(|program| program.name).collect::<Vec<_>>().join(", ");
        return Err(format!("missing: {names}; on Debian: sudo apt-get install {packages}").into());
    }
    openly(&mut apt(&["update", "-q"]))?;
    openly(apt(&["install", "-q", "-y", "--no-install-recommends"]).args(packages.split(' ')))
}

/// Cargo's own tools: components that come with the compiler, and programs built from source.
pub(crate) fn provide_cargo_tools() -> Result {
    for component in ["fmt", "clippy"] {
        if !answers(&mut cargo(&[component, "--version"])) {
            return Err(format!("cargo {component} is missing; rustup component add rustfmt clippy").into());
        }
    }
    for tool in ["nextest", "deny"] {
        provide_from_source(tool)?;
    }
    Ok(())
}

/// What puts the list of dependencies into a program.
pub(crate) fn provide_auditable() -> Result {
    provide_from_source("auditable")
}

/// What compares the API of a library with what is published of it.
pub(crate) fn provide_semver_checks() -> Result {
    provide_from_source("semver-checks")
}

fn provide_from_source(tool: &str) -> Result {
    match answers(&mut cargo(&[tool, "--version"])) {
        true => Ok(()),
        false => openly(&mut cargo(&["install", "--quiet", "--locked", &format!("cargo-{tool}")])),
    }
}

/// Which version of Schemathesis the tests of the API use; it is read there too.
const SCHEMATHESIS: &str = "crates/cli/tests/e2e/server/schemathesis.txt";

/// Installs it into a folder of its own below `target`, once for each version.
pub(crate) fn provide_schemathesis() -> Result {
    let pinned = root().join(SCHEMATHESIS);
    let version = std::fs::read_to_string(&pinned)?.trim().replace("==", "-");
    let place = root().join("target/tools").join(version);
    let is_there = || answers(Command::new(place.join("bin/schemathesis")).arg("--version"));
    if is_there() {
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(&place);
    let mut pip = Command::new(place.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&pinned);
    let installed =
        quietly(Command::new("python3").args(["-m", "venv"]).arg(&place)).and_then(|()| quietly(&mut pip));
    match installed {
        Ok(()) if is_there() => Ok(()),
        failed => {
            let _ = std::fs::remove_dir_all(&place);
            let why = failed.err().map_or_else(|| "it does not start".to_owned(), |error| error.to_string());
            let remedy = "it takes python3 with venv (on Debian: python3-venv) and a connection to PyPI";
            Err(format!("Schemathesis could not be installed: {why}; {remedy}").into())
        }
    }
}

pub(crate) fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| is_program(&directory.join(name)))
}

fn missing(programs: &[Program]) -> Vec<&Program> {
    programs.iter().filter(|program| !on_path(program.name)).collect()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn apt(args: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    command
}
