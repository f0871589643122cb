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

/// What version 0.1 left is read by this one, and goes on.
fn earlier_data(system: &Root) -> Result {
    let fixture = checkout().join("crates/cli/tests/fixtures/version-before");
    for (from, to) in [("home", "earlier"), ("work", "earlier-work")] {
        quietly(Command::new("cp").arg("-R").arg(fixture.join(from)).arg(system.home().join(to)))?;
    }
    let place = format!("/home/{USER}/earlier-work");
    let moved = format!("UPDATE runs SET directory = '{place}', source = replace(source, 'WORK', '{place}')");
    quietly(Command::new("sqlite3").arg(system.home().join("earlier/conductor.db")).arg(moved))?;
    quietly(&mut system.as_root(&format!("chown -R {USER}: /home/{USER}/earlier {place}")))?;
    let by = |script: &str| {
        let script = format!("cd earlier-work && export CONDUCTOR_HOME=$HOME/earlier && {script}");
        said(&mut system.as_user(&script))
    };
    let listed = by("conductor runs list")?;
    let runs = ["completed  3/3", "failed     1/3", "left       1/3"];
    runs.iter().try_for_each(|words| expect(&listed, words))?;
    let exit = by("conductor doctor --machine --json > found.json; echo $?")?;
    looked_after(&by("cat found.json")?, &exit)?;
    // The killed one waits for this file.
    let resumed = by(&format!("touch go && conductor run --resume {LEFT} 2>&1"))?;
    expect(&resumed, "3 of 3 completed")?;
    expect(&by(&format!("conductor logs last --run {LEFT}"))?, "last")?;
    let listed = by("conductor runs list")?;
    match listed.contains("left ") {
        false => Ok(()),
        true => Err(format!("a run that was resumed to its end is still left:\n{listed}").into()),
    }
}

/// The run of the fixture that was killed.
const LEFT: &str = "ffys5y59";

/// The database is whole, and the exit code says whether there is any problem: Debian 12's git may be one, for it is older than
/// what runs ask for.
fn looked_after(found: &str, exit: &str) -> Result {
    let found: serde_json::Value = serde_json::from_str(found)?;
    let findings = found["findings"].as_array().ok_or("doctor has found nothing")?;
    let database = findings.iter().find(|finding| finding["check"] == "database");
    let is_whole = database.is_some_and(|finding| {
        finding["level"] == "ok" && finding["told"].as_str().is_some_and(|told| told.contains("3 runs"))
    });
    let wanted = if findings.iter().any(|finding| finding["level"] == "problem") { "1" } else { "0" };
    match is_whole && exit.trim() == wanted {
        true => Ok(()),
        false => Err(format!("doctor ended with {} and said:\n{found:#}", exit.trim()).into()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_doctor_says_of_earlier_data_has_to_fit_its_exit_code() {
        let said = |database: &str, git: &str| {
            format!(
                r#"{{"findings":[{{"check":"git","level":"{git}","told":"2.39"}},
                    {{"check":"database","level":"{database}","told":"whole, 3 runs"}}]}}"#
            )
        };
        assert!(looked_after(&said("ok", "ok"), "0\n").is_ok());
        assert!(looked_after(&said("ok", "problem"), "1\n").is_ok());
        for (database, git, exit) in [("problem", "ok", "1"), ("ok", "problem", "0"), ("ok", "ok", "70")] {
            assert!(looked_after(&said(database, git), exit).is_err(), "{database} {git} {exit}");
        }
        assert!(looked_after("{}", "0").is_err());
    }
}
