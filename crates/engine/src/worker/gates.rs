//! Gates: the commands that verify a project, found by its files, and the proof that they test anything at all.
//!
//! Nothing is run here, and nothing below a directory is looked at but its folder of tests: where a repository holds
//! several projects, only its owner knows which commands are meant.

mod measures;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use measures::{coverage, linters};

/// In a `verify:` list this stands for what is found.
pub const AUTO: &str = "auto";

/// More of a file is not read: no project describes itself in more.
const ENOUGH: u64 = 1024 * 1024;

/// How many files of tests are looked into, to tell how they are written.
const A_FEW: usize = 20;

#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`verify: auto` found nothing to run in {}; it looks for Cargo.toml, package.json with a test script, pytest or \
     unittest tests, go.mod, pom.xml, build.gradle, a Gemfile with rspec, mix.exs, a .NET project, deno.json and a \
     Makefile with a test target. Name the commands in `verify:` instead",
    directory.display()
)]
pub struct NothingDetected {
    pub directory: PathBuf,
}

/// The list with `auto` replaced by what verifies the project in the directory. No command is in it twice.
pub fn expand(verify: &[String], directory: &Path) -> Result<Vec<String>, NothingDetected> {
    let mut commands: Vec<String> = Vec::new();
    for command in verify {
        let meant = match command.trim() == AUTO {
            true => detect(directory),
            false => vec![command.clone()],
        };
        if meant.is_empty() {
            return Err(NothingDetected { directory: directory.to_owned() });
        }
        for command in meant {
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    Ok(commands)
}

/// Commands that verify the project in a directory: one for each way of testing it is set up for.
pub fn detect(directory: &Path) -> Vec<String> {
    const WAYS: [fn(&Project) -> Option<String>; 10] =
        [cargo, javascript, python, go, maven, gradle, ruby, elixir, dotnet, deno];
    let project = Project::open(directory);
    let found: Vec<String> = WAYS.iter().filter_map(|way| way(&project)).collect();
    match found.is_empty() {
        true => make(&project).into_iter().collect(),
        false => found,
    }
}

/// A directory and the names in it.
struct Project {
    directory: PathBuf,
    names: BTreeSet<String>,
}

impl Project {
    fn open(directory: &Path) -> Project {
        Project { directory: directory.to_owned(), names: names(directory) }
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn has_one_of(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// What a file says; nothing where there is none.
    fn read(&self, name: &str) -> String {
        match self.has(name) {
            true => read(&self.directory.join(name)),
            false => String::new(),
        }
    }
}

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The beginning of a file. A pipe would never end, a device never stop.
fn read(path: &Path) -> String {
    let mut text = Vec::new();
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        let _ = file.take(ENOUGH).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn command(words: &str) -> Option<String> {
    Some(words.to_owned())
}

fn cargo(project: &Project) -> Option<String> {
    if !project.has("Cargo.toml") {
        return None;
    }
    let text = project.read("Cargo.toml");
    let is_workspace = |line: &str| line.starts_with("[workspace]") || line.starts_with("[workspace.");
    match text.lines().any(|line| is_workspace(line.trim_start())) {
        true => command("cargo test --workspace"),
        false => command("cargo test"),
    }
}

/// What `npm init` writes as a test only says that there is none.
fn javascript(project: &Project) -> Option<String> {
    let package: serde_json::Value = serde_json::from_str(&project.read("package.json")).ok()?;
    let test = package["scripts"]["test"].as_str()?.trim();
    if test.is_empty() || test.contains("no test specified") {
        return None;
    }
    // A lock file says what is used, the field only what is wished for.
    let by_lock = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
    ];
    let locked = by_lock.iter().find(|(lock, _)| project.has(lock)).map(|(_, manager)| *manager);
    let wished = package["packageManager"].as_str().and_then(|text| text.split('@').next());
    match locked.or(wished) {
        Some("pnpm") => command("pnpm test"),
        Some("yarn") => command("yarn test"),
        // Bare `bun test` is bun's own test runner, whatever the script says.
        Some("bun") => command("bun run test"),
        _ => command("npm test"),
    }
}

fn python(project: &Project) -> Option<String> {
    const PYTEST: &str = "python3 -m pytest";
    let settings = ["pyproject.toml", "tox.ini", "setup.cfg"];
    let has_pytest = project.has_one_of(&["pytest.ini", "conftest.py"])
        || settings.iter().any(|name| project.read(name).contains("pytest"));
    if has_pytest {
        return command(PYTEST);
    }
    let (folder, tests) = python_tests(project)?;
    let texts: Vec<String> = tests.iter().take(A_FEW).map(|path| read(path)).collect();
    let any = |word: &str| texts.iter().any(|text| text.contains(word));
    if any("pytest") || !any("unittest") {
        return command(PYTEST);
    }
    match folder {
        "" => command("python3 -m unittest discover"),
        // A package's tests may import each other by its name, which only its top folder gives them.
        _ if project.directory.join(folder).join("__init__.py").is_file() => {
            Some(format!("python3 -m unittest discover -s {folder} -t ."))
        }
        _ => Some(format!("python3 -m unittest discover -s {folder}")),
    }
}

/// Where the tests are, and the files they are in.
fn python_tests(project: &Project) -> Option<(&'static str, Vec<PathBuf>)> {
    let is_test = |name: &String| name.starts_with("test_") && name.ends_with(".py");
    ["tests", "test", ""].into_iter().find_map(|folder| {
        let directory = project.directory.join(folder);
        let tests: Vec<_> = names(&directory).into_iter().filter(is_test).collect();
        (!tests.is_empty()).then(|| (folder, tests.iter().map(|name| directory.join(name)).collect()))
    })
}

fn go(project: &Project) -> Option<String> {
    project.has("go.mod").then(|| "go test ./...".to_owned())
}

fn maven(project: &Project) -> Option<String> {
    match (project.has("pom.xml"), project.has("mvnw")) {
        (false, _) => None,
        (true, true) => command("./mvnw -q test"),
        (true, false) => command("mvn -q test"),
    }
}

fn gradle(project: &Project) -> Option<String> {
    let files = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
    match (project.has_one_of(&files), project.has("gradlew")) {
        (false, _) => None,
        (true, true) => command("./gradlew test"),
        (true, false) => command("gradle test"),
    }
}

fn ruby(project: &Project) -> Option<String> {
    project.read("Gemfile").contains("rspec").then(|| "bundle exec rspec".to_owned())
}

fn elixir(project: &Project) -> Option<String> {
    project.has("mix.exs").then(|| "mix test".to_owned())
}

fn dotnet(project: &Project) -> Option<String> {
    let is_project =
        |name: &String| [".sln", ".slnx", ".csproj", ".fsproj"].iter().any(|end| name.ends_with(end));
    project.names.iter().any(is_project).then(|| "dotnet test".to_owned())
}

fn deno(project: &Project) -> Option<String> {
    project.has_one_of(&["deno.json", "deno.jsonc"]).then(|| "deno test".to_owned())
}

/// Only where nothing else is found: a Makefile mostly calls what the others would.
fn make(project: &Project) -> Option<String> {
    let used = ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|name| project.has(name))?;
    project.read(used).lines().any(makes_test).then(|| "make test".to_owned())
}

/// `test:` and `check test: build`, but neither `test := x` nor a line of a recipe.
fn makes_test(line: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else { return false };
    let is_rule = !line.starts_with([' ', '\t', '#']) && !rest.trim_start_matches(':').starts_with('=');
    is_rule && targets.split_whitespace().any(|target| target == "test")
}

/// Put at the top of a file, it is understood by no language that has brackets, and by none of their readers that mend
/// what they can: it closes what was never opened and opens what is never closed. No conflict marker: some skip those.
const NONSENSE: &str = ")]} this gate is being proved {{{{((((";

/// What a first line has to be for a file to be of no use, by the file's ending; nothing for what is no source file.
fn wound(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    if name.ends_with(".d.ts") {
        // Types alone: no run would miss them.
        return None;
    }
    match name.rsplit_once('.')?.1 {
        // To a shell, nonsense is one failed line among others.
        "sh" | "bash" | "zsh" | "ksh" | "fish" | "ps1" => Some("exit 97"),
        // What is outside of the tag is only text.
        "php" => Some("<?php )]} this gate is being proved {{{{(((("),
        // Some of their readers drop what they do not understand; then it fails when it runs.
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => {
            Some("throw new Error('this gate is being proved'); )]} {{{{((((")
        }
        "rs" | "py" | "go" | "java" | "kt" | "kts" | "scala" | "groovy" | "clj" | "rb" | "c" | "h" | "cc"
        | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "m" | "mm" | "cs" | "fs" | "swift" | "ex" | "exs"
        | "erl" | "hs" | "ml" | "lua" | "pl" | "pm" | "r" | "R" | "jl" | "dart" | "zig" | "nim" | "cr" => {
            Some(NONSENSE)
        }
        _ => None,
    }
}

/// Which of the files a task touched to damage, so that a gate that tests its work must fail: the first source file, but
/// no test and no settings where there is another. Nothing where none of them is source.
pub fn weak_spot(touched: &[String]) -> Option<&str> {
    let sources = || touched.iter().map(String::as_str).filter(|path| wound(path).is_some());
    sources().find(|path| !is_aside(path)).or_else(|| sources().next())
}

/// Tests and settings: damaged, they could make a gate fail that tests nothing of the work.
fn is_aside(path: &str) -> bool {
    const FOLDERS: [&str; 7] = ["test", "tests", "spec", "specs", "__tests__", "testdata", "e2e"];
    const ENDINGS: [&str; 10] =
        ["_test", "_tests", "_spec", "-test", "-spec", ".test", ".spec", "Test", "Tests", "Spec"];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let is_test = folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || ["test", "tests", "conftest"].contains(&stem)
        || stem.starts_with("test_")
        || ENDINGS.iter().any(|ending| stem.ends_with(ending));
    is_test || name.starts_with('.') || stem.ends_with(".config")
}

/// Damages a source file so that no compiler, import or run gets past its first lines. For a copy that is thrown away
/// afterwards: nothing is kept of what it was. Only the file of this name changes, not one it is linked to.
pub fn damage(file: &Path) -> io::Result<()> {
    let refuse =
        |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", file.display()));
    let found = fs::symlink_metadata(file)?;
    if !found.is_file() {
        return Err(refuse("not a file"));
    }
    let name = file.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let wound = wound(&name).ok_or_else(|| refuse("not a source file"))?;
    let damaged = damaged(&fs::read(file)?, wound);
    let aside = file.with_file_name(format!(".{name}.{:x}", fastrand::u64(..)));
    let replaced = write(&aside, &damaged, found.permissions()).and_then(|()| fs::rename(&aside, file));
    if replaced.is_err() {
        let _ = fs::remove_file(&aside);
    }
    replaced
}

fn write(path: &Path, content: &[u8], permissions: Permissions) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.set_permissions(permissions)
}

/// The line that says who runs a script stays the first: it is to fail as what it is.
fn damaged(text: &[u8], wound: &str) -> Vec<u8> {
    let head = match text.starts_with(b"#!") {
        true => text.iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| at + 1),
        false => 0,
    };
    let (first, rest) = text.split_at(head);
    let gap: &[u8] = if first.is_empty() || first.ends_with(b"\n") { b"" } else { b"\n" };
    [first, gap, wound.as_bytes(), b"\n", rest].concat()
}

#[cfg(test)]
mod tests;
