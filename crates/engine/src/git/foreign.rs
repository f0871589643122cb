//! Git directories that an agent can write to: read as files and objects, never with their settings.

use std::io::Read;
use std::path::{Component, Path};
use std::process::Command;

use super::{GitError, Shadow, said, with_input};
use crate::host::copies;

/// No repository has that many bytes of refs; more is not read.
const LONGEST: u64 = 64 << 20;

/// The commit that is checked out there, as its files say.
pub fn head_of(git: &Path) -> Option<String> {
    let head = head_text(git)?;
    match head.strip_prefix("ref: ") {
        None => Some(head),
        Some(name) => ref_of(git, name),
    }
}

/// A commit's name, or `ref: ` and a branch's.
pub fn head_text(git: &Path) -> Option<String> {
    text(&git.join("HEAD")).map(|head| head.trim().to_owned())
}

/// The commit a branch is at there, as its files say.
pub fn ref_of(git: &Path, name: &str) -> Option<String> {
    let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if !inside || !name.starts_with("refs/") {
        return None;
    }
    if let Some(text) = text(&git.join(name)) {
        return Some(text.trim().to_owned());
    }
    let packed = text(&git.join("packed-refs"))?;
    let found = packed.lines().filter_map(|line| line.split_once(' ')).find(|(_, known)| *known == name);
    found.map(|(commit, _)| commit.to_owned())
}

/// A file's text. Whatever else stands in its place is not waited for.
fn text(path: &Path) -> Option<String> {
    let file = copies::open(path).ok()?;
    let mut text = String::new();
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    (is_file && file.take(LONGEST).read_to_string(&mut text).is_ok()).then_some(text)
}

impl Shadow {
    /// Takes all of a commit's history out of a foreign object store that a commit of ours does not have.
    pub fn take(&self, objects: &Path, base: &str, head: &str) -> Result<(), GitError> {
        let foreign = |args: &[&str]| {
            let mut command = self.with_objects(objects);
            command.args(args);
            command
        };
        let wanted = with_input(
            foreign(&["rev-list", "--objects", "--stdin"]),
            format!("{head}\n^{base}\n").as_bytes(),
        )?;
        let names: String = wanted
            .lines()
            .filter_map(|line| line.split(' ').next())
            .map(|name| format!("{name}\n"))
            .collect();
        let pack = said(foreign(&["pack-objects", "--stdout", "--quiet"]), names.as_bytes())?;
        let mut command = self.command();
        command.args(["unpack-objects", "-q", "--strict"]);
        said(command, &pack).map(drop)
    }

    /// A command that sees what is in another object store too.
    pub(super) fn with_objects(&self, objects: &Path) -> Command {
        let mut command = self.command();
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        command
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    #[test]
    fn a_head_is_read_wherever_its_branch_is_kept_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let head = |text: &str| {
            fs::write(dir.path().join("HEAD"), text).unwrap();
            head_of(dir.path())
        };
        fs::create_dir_all(dir.path().join("refs/heads")).unwrap();
        fs::write(dir.path().join("refs/heads/loose"), format!("{ONE}\n")).unwrap();
        fs::write(dir.path().join("outside"), format!("{ONE}\n")).unwrap();
        fs::write(dir.path().join("packed-refs"), format!("# pack-refs with: peeled\n{TWO} refs/heads/p\n"))
            .unwrap();
        assert_eq!(head(&format!("{ONE}\n")).as_deref(), Some(ONE));
        assert_eq!(head("ref: refs/heads/loose\n").as_deref(), Some(ONE));
        assert_eq!(head("ref: refs/heads/p\n").as_deref(), Some(TWO));
        for nothing in ["ref: refs/heads/none\n", "ref: refs/../outside\n", "ref: outside\n", "ref: /\n"] {
            assert_eq!(head(nothing), None, "{nothing}");
        }
        fs::remove_file(dir.path().join("HEAD")).unwrap();
        assert_eq!(head_of(dir.path()), None);
        let made = Command::new("mkfifo").arg(dir.path().join("HEAD")).status().unwrap();
        assert!(made.success());
        assert_eq!(head_of(dir.path()), None, "a pipe without a writer");
    }
}
