//! Agent CLIs from npm, each version once, in a cache that tests share.
//!
//! A test must be able to tell «cannot be had here» from «does not work», so what fails here is `Unavailable` and
//! says why. Then the test is skipped with a message, or fails if `CONDUCTOR_AGENTS_REQUIRED` is set.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Agent;

/// Where the cache is, if not under `target/`.
const CACHE: &str = "CONDUCTOR_AGENTS_CACHE";

/// Longer than a download takes, shorter than a test may.
const PATIENCE: Duration = Duration::from_secs(180);

/// After a failure npm is not tried again for so long: a suite of many tests must not wait for each of them.
const REMEMBERED: Duration = Duration::from_secs(600);

/// Set where a test without its agent is a failure.
const REQUIRED: &str = "CONDUCTOR_AGENTS_REQUIRED";

const STEP: Duration = Duration::from_millis(50);

/// Why there are no agents to test with.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    #[error("npm cannot be started ({0})")]
    NoNpm(io::Error),
    #[error("npm could not install {package}: {said}")]
    NotInstalled { package: String, said: String },
    #[error("{said} (that was a moment ago, and is not tried again yet)")]
    Lately { said: String },
    #[error("{package} was installed, but `{program} --version` says {said:?}")]
    Broken { package: String, program: String, said: String },
    #[error("another process is installing {package} and has not finished in time")]
    Busy { package: String },
    #[error("the cache {} cannot be used: {source}", path.display())]
    Cache { path: PathBuf, source: io::Error },
}

/// Installs packages in these versions unless they are there, and gives a folder with all their programs.
pub fn install(packages: &[(&str, &str)]) -> Result<PathBuf, Unavailable> {
    let cache = cache();
    let mut installed = BTreeSet::new();
    for (name, version) in packages {
        installed.insert(Package { name, version, place: cache.join(label(name, version)) });
    }
    for package in &installed {
        package.provide()?;
    }
    gather(&cache, &installed).map_err(|source| Unavailable::Cache { path: cache, source })
}

/// The folder with an agent's program; or None, and a word on stderr that the test is skipped and why.
///
/// # Panics
/// If the agent cannot be had and the environment says that it must be there.
pub fn or_skip(agent: Agent) -> Option<PathBuf> {
    let why = match install(&[agent.pin()]) {
        Ok(folder) => return Some(folder),
        Err(why) => why,
    };
    let required = std::env::var_os(REQUIRED).is_some_and(|value| !value.is_empty());
    assert!(!required, "{} is required: {why}", agent.program());
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("\n*** SKIPPED {test}: {why} ***\n");
    None
}

fn cache() -> PathBuf {
    if let Some(set) = std::env::var_os(CACHE) {
        return PathBuf::from(set);
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    // Tests run in the folder of their package, so a relative target is not to be trusted.
    let target = target.filter(|path| path.is_absolute());
    target.unwrap_or_else(|| workspace.unwrap_or(Path::new("")).join("target")).join("agents")
}

/// A file name: `@a/b` in version 1 is `a-b@1`.
fn label(name: &str, version: &str) -> String {
    format!("{}@{version}", name.trim_start_matches('@').replace('/', "-"))
}

/// One package in one version, with a folder of its own: nothing that is installed later touches it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    place: PathBuf,
}

impl Package<'_> {
    fn provide(&self) -> Result<(), Unavailable> {
        if self.is_ready() {
            return Ok(());
        }
        let at_place = |source| Unavailable::Cache { path: self.place.clone(), source };
        fs::create_dir_all(&self.place).map_err(at_place)?;
        let _lock = self.lock()?;
        if self.is_ready() {
            return Ok(());
        }
        if let Some(said) = self.failed_lately() {
            return Err(Unavailable::Lately { said });
        }
        let done = self.fetch().and_then(|()| self.prove());
        match &done {
            Ok(()) => fs::write(self.place.join("ready"), self.version).map_err(at_place)?,
            Err(why) => fs::write(self.place.join("failed"), why.to_string()).map_err(at_place)?,
        }
        done
    }

    fn is_ready(&self) -> bool {
        self.place.join("ready").is_file()
            && self.manifest().is_some_and(|json| json["version"] == self.version)
    }

    fn title(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    fn lock(&self) -> Result<File, Unavailable> {
        let path = self.place.join("lock");
        let fault = |source| Unavailable::Cache { path: path.clone(), source };
        let file = File::create(&path).map_err(fault)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(source)) => return Err(fault(source)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(Unavailable::Busy { package: self.title() });
                }
                Err(TryLockError::WouldBlock) => sleep(STEP),
            }
        }
    }

    fn failed_lately(&self) -> Option<String> {
        let path = self.place.join("failed");
        let age = path.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
        if age < REMEMBERED { fs::read_to_string(path).ok() } else { None }
    }

    fn fetch(&self) -> Result<(), Unavailable> {
        let said = self.place.join("npm.log");
        let at_place = |source| Unavailable::Cache { path: said.clone(), source };
        let output = File::create(&said).map_err(at_place)?;
        let mut command = Command::new("npm");
        command.args(["install", "--no-audit", "--no-fund", "--save-exact", "--fetch-retries=1", "--prefix"]);
        command.arg(&self.place).arg(self.title()).current_dir(&self.place).stdin(Stdio::null());
        command.stdout(output.try_clone().map_err(at_place)?).stderr(output);
        let mut child = command.spawn().map_err(Unavailable::NoNpm)?;
        match end(&mut child, PATIENCE).map_err(at_place)? {
            Some(status) if status.success() => Ok(()),
            Some(_) => Err(self.not_installed(last_lines(&said))),
            None => Err(self.not_installed(format!("it took longer than {} s", PATIENCE.as_secs()))),
        }
    }

    fn not_installed(&self, said: String) -> Unavailable {
        Unavailable::NotInstalled { package: self.title(), said }
    }

    /// Starts each of its programs once: a package can be there and lack the binary of this machine.
    fn prove(&self) -> Result<(), Unavailable> {
        let home = self.place.join("home");
        fs::create_dir_all(&home).map_err(|source| Unavailable::Cache { path: home.clone(), source })?;
        for program in self.programs() {
            let mut command = Command::new(self.bin().join(&program));
            command.arg("--version").env_clear().env("HOME", &home).stdin(Stdio::null());
            command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
            let said = match command.output() {
                Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
                Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
                Err(error) => error.to_string(),
            };
            if !said.contains(self.version) {
                return Err(Unavailable::Broken { package: self.title(), program, said });
            }
        }
        Ok(())
    }

    fn bin(&self) -> PathBuf {
        self.place.join("node_modules/.bin")
    }

    fn manifest(&self) -> Option<Value> {
        let path = self.place.join("node_modules").join(self.name).join("package.json");
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    }

    fn programs(&self) -> Vec<String> {
        let manifest = self.manifest().unwrap_or_default();
        match &manifest["bin"] {
            Value::Object(programs) => programs.keys().cloned().collect(),
            Value::String(_) => self.name.rsplit('/').next().map(str::to_owned).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// One folder with the programs of all packages. Made aside and moved into place, for others may be making it too.
fn gather(cache: &Path, packages: &BTreeSet<Package<'_>>) -> io::Result<PathBuf> {
    let labels: Vec<String> = packages.iter().map(|package| label(package.name, package.version)).collect();
    let folder = cache.join("bin").join(labels.join("+"));
    if folder.is_dir() {
        return Ok(folder);
    }
    let aside = cache.join("bin").join(format!("{}.new", std::process::id()));
    fs::create_dir_all(&aside)?;
    for package in packages {
        for program in package.programs() {
            let link = aside.join(&program);
            if !link.is_symlink() {
                symlink(package.bin().canonicalize()?.join(&program), link)?;
            }
        }
    }
    match fs::rename(&aside, &folder) {
        Err(_) if folder.is_dir() => fs::remove_dir_all(&aside)?,
        moved => moved?,
    }
    Ok(folder)
}

/// Waits for a child, and kills it when it takes too long.
fn end(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(STEP);
    }
}

fn last_lines(path: &Path) -> String {
    const LINES: usize = 5;
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(place: &Path) -> Package<'static> {
        Package { name: "@a/b", version: "1.2.3", place: place.to_owned() }
    }

    /// A package as npm leaves it, whose program says which version it is.
    fn pretend(place: &Path, version: &str) {
        use std::os::unix::fs::PermissionsExt;
        let folder = place.join("node_modules/@a/b");
        let bin = place.join("node_modules/.bin");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&bin).unwrap();
        let manifest = format!(r#"{{"version": "{version}", "bin": {{"b": "b.sh"}}}}"#);
        fs::write(folder.join("package.json"), manifest).unwrap();
        fs::write(bin.join("b"), format!("#!/bin/sh\necho b {version}\n")).unwrap();
        fs::set_permissions(bin.join("b"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn labels_are_file_names() {
        assert_eq!(label("@openai/codex", "0.1.0"), "openai-codex@0.1.0");
        assert_eq!(label("opencode-ai", "1.0.0"), "opencode-ai@1.0.0");
    }

    #[test]
    fn a_package_is_ready_only_in_the_version_asked_for() {
        let place = tempfile::tempdir().unwrap();
        let package = package(place.path());
        assert!(!package.is_ready());
        pretend(place.path(), "1.2.3");
        assert!(!package.is_ready(), "its program was not tried yet");
        fs::write(place.path().join("ready"), "").unwrap();
        assert!(package.is_ready());
        pretend(place.path(), "1.2.4");
        assert!(!package.is_ready());
    }

    #[test]
    fn a_program_proves_itself_by_its_version() {
        let place = tempfile::tempdir().unwrap();
        pretend(place.path(), "1.2.3");
        package(place.path()).prove().unwrap();
        pretend(place.path(), "9.9.9");
        let why = package(place.path()).prove().unwrap_err().to_string();
        assert!(why.contains("@a/b@1.2.3") && why.contains("b 9.9.9"), "{why}");
    }

    #[test]
    fn a_failure_is_remembered_for_a_while() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("failed"), "no network").unwrap();
        let why = package(place.path()).provide().unwrap_err();
        assert!(matches!(&why, Unavailable::Lately { said } if said == "no network"), "{why}");
    }

    #[test]
    fn programs_of_many_packages_are_in_one_folder() {
        let cache = tempfile::tempdir().unwrap();
        let place = cache.path().join("one");
        pretend(&place, "1.2.3");
        let packages = BTreeSet::from([package(&place)]);
        let folder = gather(cache.path(), &packages).unwrap();
        assert_eq!(gather(cache.path(), &packages).unwrap(), folder);
        assert!(fs::read_to_string(folder.join("b")).unwrap().contains("1.2.3"));
    }

    #[test]
    fn a_child_that_does_not_end_is_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(end(&mut child, Duration::from_millis(100)).unwrap().is_none());
        let mut child = Command::new("true").spawn().unwrap();
        assert!(end(&mut child, PATIENCE).unwrap().is_some_and(|status| status.success()));
    }
}
