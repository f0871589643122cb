//! Whether the package does for a user what the README says: installed into a new Debian system, used there, and removed.
//!
//! Needs root, debootstrap, and the mirror that apt is configured with; that is why no test does it.

mod root;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::product::{PACKAGE, Product, said};
use crate::Result;
use crate::steps::{openly, quietly, root as checkout, step};
use crate::tools;
use root::{Root, USER};
use terminal::Terminal;

/// What users are promised.
const INSTALLED_AND_SHOWN: Duration = Duration::from_secs(60);
const VERSION: Duration = Duration::from_millis(10);
const SIZE: u64 = 45_000_000;

/// How often the shortest command is timed; the middle one counts.
const TIMED: usize = 21;

const TASKS: &str = "tasks: [{ id: build-it, run: echo built }, { id: test-it, run: echo tested }]\n";

pub(super) fn run(product: &Product, out: &Path) -> Result {
    let package = package(out)?;
    step("tools for the check", || tools::provide(&tools::FOR_DIST_CHECK))?;
    step("lintian", || openly(Command::new("lintian").args(["--fail-on", "error"]).arg(&package)))?;
    let base = product.target_directory.join("dist-root");
    let mut system = None;
    step("a new Debian system", || {
        system = Some(Root::make(&base)?);
        Ok(())
    })?;
    let system = system.ok_or("there is no system")?;
    let before = system.files()?;
    step("installed, and the demo seen", || install_and_show(&system, &package))?;
    step("as large and as quick as promised", || measure(&system))?;
    step("manual", || manual(&system))?;
    let run = first_run(&system)?;
    step("completions", || completions(&system, &run))?;
    step("data of version 0.1", || earlier_data(&system))?;
    step("page", || page(&system))?;
    step("removed", || removed(&system, &before))
}

fn package(out: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(out)?.flatten().map(|entry| entry.path());
    let found = files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "deb"));
    Ok(found.ok_or("there is no Debian package for this target, so nothing to install")?)
}

/// From a system without anything to the end of a demonstration.
fn install_and_show(system: &Root, package: &Path) -> Result {
    fs::copy(package, system.path("package.deb"))?;
    quietly(&mut system.as_root("apt-get update -q"))?;
    let begun = Instant::now();
    let install = "apt-get install -q -y --no-install-recommends /package.deb";
    quietly(&mut system.as_root(install))?;
    let shown = said(&mut system.as_user("conductor demo --agent builtin 2>&1"))?;
    let took = begun.elapsed();
    expect(&shown, "completed: 6 of 6 completed")?;
    eprintln!("   installed and shown in {:.1} s", took.as_secs_f64());
    fs::remove_file(system.path("package.deb"))?;
    within("from the package to the end of the demo", took, INSTALLED_AND_SHOWN)
}

fn measure(system: &Root) -> Result {
    let program = system.path("usr/bin/conductor");
    let size = fs::metadata(&program)?.len();
    eprintln!("   {:.1} MB", size as f64 / 1e6);
    if size > SIZE {
        return Err(format!("the program has {size} bytes; at most {SIZE}").into());
    }
    let mut times = Vec::new();
    for _ in 0..TIMED {
        let begun = Instant::now();
        said(Command::new(&program).arg("version"))?;
        times.push(begun.elapsed());
    }
    times.sort();
    let middle = times[TIMED / 2];
    eprintln!("   conductor version: {:.1} ms", middle.as_secs_f64() * 1e3);
    within("conductor version", middle, VERSION)
}

fn within(what: &str, took: Duration, limit: Duration) -> Result {
    match took <= limit {
        true => Ok(()),
        false => Err(format!("{what} took {took:.1?}; at most {limit:.1?}").into()),
    }
}

fn manual(system: &Root) -> Result {
    quietly(
        &mut system.as_root("apt-get install -q -y --no-install-recommends man-db bash-completion zsh fish"),
    )?;
    expect(&said(&mut system.as_user("man -P cat conductor"))?, "Runs many AI coding agents")?;
    expect(&said(&mut system.as_user("man -P cat conductor-run"))?, "--parallel")
}

/// In a repository of the user's; the name of its run.
fn first_run(system: &Root) -> Result<String> {
    system.write("work/tasks.yaml", TASKS)?;
    let made = "cd work && git init -q && git add . && git -c user.name=u -c user.email=u@localhost commit -qm first \
                && conductor run tasks.yaml -q > .git/said 2>&1 && conductor runs list --json";
    let listed: serde_json::Value = serde_json::from_str(&said(&mut system.as_user(made))?)?;
    let run = listed["runs"][0]["run"].as_str().or(listed["runs"][0]["id"].as_str());
    Ok(run.ok_or_else(|| format!("the run has no name: {listed}"))?.to_owned())
}

/// The user presses the tab key, in real shells.
fn completions(system: &Root, run: &str) -> Result {
    system.write(".bashrc", "PS1='$ '\n. /usr/share/bash-completion/bash_completion\n")?;
    system.write(".zshrc", "PS1='$ '\nautoload -Uz compinit && compinit -u\n")?;
    system.write(
        ".config/fish/config.fish",
        "function fish_prompt; echo -n '$ '; end\nset -g fish_greeting\n",
    )?;
    for shell in ["bash", "zsh", "fish"] {
        for (typed, completed) in [
            ("conductor reh".to_owned(), "conductor rehearse".to_owned()),
            ("conductor logs build".to_owned(), "conductor logs build-it".to_owned()),
            (format!("conductor status {}", &run[..4]), format!("conductor status {run}")),
        ] {
            let terminal = Terminal::open(&system.as_user(&format!("cd work && exec {shell} -i")))?;
            terminal.expect("$")?;
            terminal.type_and_complete(&typed)?;
            terminal.expect(&completed).map_err(|error| format!("{shell}: {error}"))?;
        }
        eprintln!("   {shell}: commands, tasks and runs");
    }
    Ok(())
}

/// What version 0.1 left is read by this one.
fn earlier_data(system: &Root) -> Result {
    let fixture = checkout().join("crates/cli/tests/fixtures/version-before/home");
    quietly(Command::new("cp").arg("-R").arg(fixture).arg(system.home().join("earlier")))?;
    quietly(&mut system.as_root(&format!("chown -R {USER}: /home/{USER}/earlier")))?;
    let listed = said(&mut system.as_user("CONDUCTOR_HOME=$HOME/earlier conductor runs list"))?;
    ["completed  3/3", "failed     1/3"].iter().try_for_each(|words| expect(&listed, words))?;
    expect(
        &said(&mut system.as_user("CONDUCTOR_HOME=$HOME/earlier conductor doctor --machine || true"))?,
        "database",
    )
}

/// In a real browser: the page that is built in, not a word of how to build one.
fn page(system: &Root) -> Result {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut serving = system.as_user(&format!("exec conductor serve --bind 127.0.0.1:{port}")).spawn()?;
    let seen = (|| {
        let end = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > end {
                return Err("the server does not answer within 20 s".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let folder = tempfile::tempdir()?;
        let mut chromium = Command::new("chromium");
        chromium.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=10000",
            "--dump-dom",
        ]);
        chromium.arg(format!("--user-data-dir={}", folder.path().display()));
        said(chromium.arg(format!("http://127.0.0.1:{port}/")))
    })();
    let _ = serving.kill();
    let _ = serving.wait();
    let seen: String = seen?;
    if seen.contains("built without its page") {
        return Err("the program has no page".into());
    }
    expect(&seen, "Log in to Conductor")
}

/// The system is as it was before, and the user's data is still there.
fn removed(system: &Root, before: &root::Listing) -> Result {
    quietly(&mut system.as_root(&format!("apt-get purge -q -y {PACKAGE}")))?;
    let left: Vec<String> = system
        .files()?
        .into_iter()
        .filter(|path| !before.contains(path) && path.contains("conductor") && !path.starts_with("home/"))
        .filter(|path| !path.starts_with("var/log/") && !path.starts_with("var/cache/"))
        .collect();
    if !left.is_empty() {
        return Err(format!("left behind: {}", left.join(", ")).into());
    }
    match system.home().join(".conductor/conductor.db").is_file() {
        true => Ok(()),
        false => Err("the user's runs are gone".into()),
    }
}

fn expect(text: &str, words: &str) -> Result {
    match text.contains(words) {
        true => Ok(()),
        false => Err(format!("'{words}' was to be there, and is not:\n{text}").into()),
    }
}
