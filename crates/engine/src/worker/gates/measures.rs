//! Tools that measure a project, found by its files and by whether they are there at all.

use std::path::Path;

use super::{Project, cargo, go, javascript, python};
use crate::process::on_path;

/// The command that tells how much of the project in a directory is tested.
pub fn coverage(directory: &Path) -> Option<String> {
    coverage_by(directory, &on_path)
}

/// Commands that look for what is wrong in the project in a directory.
pub fn linters(directory: &Path) -> Vec<String> {
    linters_by(directory, &on_path)
}

/// Whether a program is installed.
type Installed<'a> = &'a dyn Fn(&str) -> bool;
type Way = fn(&Project, Installed<'_>) -> Option<String>;

pub(super) fn coverage_by(directory: &Path, has: Installed<'_>) -> Option<String> {
    const WAYS: [Way; 4] = [rust_coverage, js_coverage, py_coverage, go_coverage];
    let project = Project::open(directory);
    WAYS.iter().find_map(|way| way(&project, has))
}

pub(super) fn linters_by(directory: &Path, has: Installed<'_>) -> Vec<String> {
    const WAYS: [Way; 4] = [clippy, eslint, py_lint, go_lint];
    let project = Project::open(directory);
    WAYS.iter().filter_map(|way| way(&project, has)).collect()
}

/// A tool that was installed beside the project.
fn has_local(project: &Project, tool: &str) -> bool {
    project.directory.join("node_modules/.bin").join(tool).exists()
}

fn rust_coverage(project: &Project, has: Installed<'_>) -> Option<String> {
    let test = cargo(project).filter(|_| has("cargo-llvm-cov"))?;
    let scope = test.strip_prefix("cargo test").unwrap_or_default();
    Some(format!("cargo llvm-cov{scope} --json --summary-only"))
}

fn js_coverage(project: &Project, _: Installed<'_>) -> Option<String> {
    let test = javascript(project)?;
    let around = ["c8", "nyc"].into_iter().find(|tool| has_local(project, tool));
    let around = around.map(|tool| format!("node_modules/.bin/{tool} --reporter=text-summary {test}"));
    let jest = || "node_modules/.bin/jest --coverage --coverageReporters=text-summary".to_owned();
    around.or_else(|| has_local(project, "jest").then(jest))
}

fn py_coverage(project: &Project, has: Installed<'_>) -> Option<String> {
    let test = python(project).filter(|_| has("coverage"))?;
    let module = test.strip_prefix("python3 -m ")?;
    Some(format!("coverage run -m {module}; coverage report"))
}

fn go_coverage(project: &Project, has: Installed<'_>) -> Option<String> {
    go(project).filter(|_| has("go"))?;
    let profile = "\"${TMPDIR:-/tmp}/conductor-cover.out\"";
    Some(format!("go test -coverprofile={profile} ./... && go tool cover -func={profile}"))
}

fn clippy(project: &Project, has: Installed<'_>) -> Option<String> {
    let is_there = project.has("Cargo.toml") && has("cargo-clippy");
    is_there.then(|| "cargo clippy --all-targets --message-format short".to_owned())
}

fn eslint(project: &Project, _: Installed<'_>) -> Option<String> {
    let is_config = |name: &String| name.starts_with("eslint.config.") || name.starts_with(".eslintrc");
    let is_set_up = project.names.iter().any(is_config) && has_local(project, "eslint");
    is_set_up.then(|| "node_modules/.bin/eslint -f json .".to_owned())
}

fn py_lint(project: &Project, has: Installed<'_>) -> Option<String> {
    let mentions = |word: &str| {
        ["pyproject.toml", "setup.cfg", "tox.ini"].iter().any(|name| project.read(name).contains(word))
    };
    if (project.has_one_of(&["ruff.toml", ".ruff.toml"]) || mentions("ruff")) && has("ruff") {
        return Some("ruff check --output-format concise".to_owned());
    }
    let flake8 = (project.has(".flake8") || mentions("flake8")) && has("flake8");
    flake8.then(|| "flake8".to_owned())
}

fn go_lint(project: &Project, has: Installed<'_>) -> Option<String> {
    go(project)?;
    let is_config = |name: &String| name.starts_with(".golangci.");
    match project.names.iter().any(is_config) && has("golangci-lint") {
        true => Some("golangci-lint run".to_owned()),
        false => has("go").then(|| "go vet ./...".to_owned()),
    }
}
