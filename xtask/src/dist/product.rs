//! What is made: its name, version and target, and which packages are in it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::Result;
use crate::steps::{cargo, root};

/// The package with the binary, as it is published.
pub(crate) const PACKAGE: &str = "conductor-agents";

/// The binary.
pub(crate) const PROGRAM: &str = "conductor";

pub(super) struct Product {
    pub(super) version: String,
    pub(super) target: String,
    /// In seconds: the time that everything is said to have been made at.
    pub(super) epoch: u64,
    pub(super) target_directory: PathBuf,
    /// Of all packages that are linked into the program, as `cargo metadata` has them.
    pub(super) packages: Vec<Value>,
    /// What each of them depends on, as `cargo metadata` has it.
    pub(super) nodes: Vec<Value>,
}

impl Product {
    pub(super) fn read(target: Option<&str>) -> Result<Product> {
        let target = target.map_or_else(host, |target| Ok(target.to_owned()))?;
        let metadata = metadata(&target)?;
        let linked = linked(&target)?;
        let all = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
        let is_linked =
            |package: &&Value| linked.contains(&(text(&package["name"]), text(&package["version"])));
        let mut packages: Vec<Value> = all.iter().filter(is_linked).cloned().collect();
        packages.sort_by_key(|package| (text(&package["name"]), text(&package["version"])));
        let own = packages.iter().find(|package| package["name"] == PACKAGE);
        let version = text(&own.ok_or("the package with the program is missing")?["version"]);
        let nodes = metadata["resolve"]["nodes"].as_array().cloned().unwrap_or_default();
        let target_directory = PathBuf::from(text(&metadata["target_directory"]));
        Ok(Product { version, target, epoch: epoch()?, target_directory, packages, nodes })
    }

    /// Of the archive and the folder in it.
    pub(super) fn full_name(&self) -> String {
        format!("{PACKAGE}-{}-{}", self.version, self.target)
    }

    pub(super) fn is_gnu(&self) -> bool {
        self.target.ends_with("-linux-gnu")
    }

    /// The first part of the target: what Debian and others call the architecture is made of it.
    pub(super) fn architecture(&self) -> &str {
        self.target.split('-').next().unwrap_or(&self.target)
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn host() -> Result<String> {
    let said = said(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not say which system this is")?.to_owned())
}

/// `SOURCE_DATE_EPOCH` as the reproducible builds project has it, else when the last commit was made.
fn epoch() -> Result<u64> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return given
            .parse()
            .map_err(|_| format!("SOURCE_DATE_EPOCH is not a number of seconds: {given}").into());
    }
    let commit = said(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()));
    let seconds = commit.ok().and_then(|seconds| seconds.trim().parse().ok());
    Ok(seconds
        .ok_or("this is no git checkout: set SOURCE_DATE_EPOCH to the time of the release, in seconds")?)
}

fn metadata(target: &str) -> Result<Value> {
    let words = ["metadata", "--format-version", "1", "--locked", "--filter-platform", target];
    Ok(serde_json::from_str(&said(&mut cargo(&words))?)?)
}

/// Name and version of every package whose code is in the program: not those that only build it.
fn linked(target: &str) -> Result<BTreeSet<(String, String)>> {
    let words = ["tree", "--locked", "-p", PACKAGE, "-e", "normal,no-proc-macro", "--target", target];
    let said = said(cargo(&words).args(["--prefix", "none", "--no-dedupe", "--format", "{p}"]))?;
    Ok(said.lines().filter_map(package_of_line).collect())
}

/// `name v1.2.3 (where it is from)`.
fn package_of_line(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    Some((name.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

/// What a program says where it succeeds.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("cannot start {program}: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program}: {}: {}", output.status, why.trim()).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_a_tree() {
        let read = |line| package_of_line(line).map(|(name, version)| format!("{name} {version}"));
        assert_eq!(read("serde v1.0.228").as_deref(), Some("serde 1.0.228"));
        assert_eq!(read("conductor-core v0.2.0 (/src/crates/core)").as_deref(), Some("conductor-core 0.2.0"));
        assert_eq!(read(""), None);
    }
}
