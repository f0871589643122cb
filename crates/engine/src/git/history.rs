//! What two commits have in common, and what differs between them, file by file.

use conductor_core::schedule::divergence::Entries;

use super::{GitError, Shadow, bytes, output, with_input};

/// A commit, and the files it touched.
type Touching = (String, Vec<Vec<u8>>);

impl Shadow {
    /// Every last commit two have in common; several where each was merged into the other.
    pub fn merge_bases(&self, one: &str, other: &str) -> Result<Vec<String>, GitError> {
        let mut command = self.command();
        command.args(["merge-base", "--all", one, other]);
        match output(command) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(GitError::Failed { code: Some(1), .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The files that differ, as they are in `to`.
    pub fn differing(&self, from: &str, to: &str) -> Result<Entries, GitError> {
        let mut command = self.command();
        command.args(["diff-tree", "-r", "-z", "--raw", "--no-renames", from, to]);
        let raw = bytes(command)?;
        let mut parts = raw.split(|&byte| byte == 0).filter(|part| !part.is_empty());
        let mut entries = Entries::new();
        while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
            // `:<mode> <mode> <object> <object> <letter>`
            let about = String::from_utf8_lossy(about);
            let mut words = about.split(' ');
            if let (Some(mode), Some(object)) = (words.nth(1), words.nth(1)) {
                entries.insert(path.to_vec(), format!("{mode} {object}"));
            }
        }
        Ok(entries)
    }

    /// All files of a tree.
    pub fn entries(&self, tree: &str) -> Result<Entries, GitError> {
        let mut command = self.command();
        command.args(["ls-tree", "-r", "-z", "--full-tree", tree]);
        let listed = bytes(command)?;
        let entry = |line: &[u8]| {
            // `<mode> <type> <object> TAB <file>`
            let tab = line.iter().position(|&byte| byte == b'\t')?;
            let about = String::from_utf8_lossy(&line[..tab]);
            let mut words = about.split(' ');
            let (mode, object) = (words.next()?, words.nth(1)?);
            Some((line[tab + 1..].to_vec(), format!("{mode} {object}")))
        };
        Ok(listed.split(|&byte| byte == 0).filter_map(entry).collect())
    }

    /// How many commits of one history another does not have.
    pub fn count_since(&self, other: &str, commit: &str) -> Result<usize, GitError> {
        let mut command = self.command();
        command.args(["rev-list", "--count", commit, &format!("^{other}")]);
        Ok(output(command)?.parse().unwrap_or(0))
    }

    /// A commit and those before it, following first parents, at most so many.
    pub fn first_parents(&self, commit: &str, most: usize) -> Result<Vec<String>, GitError> {
        let mut command = self.command();
        command.args(["rev-list", "--first-parent", &format!("--max-count={most}"), commit]);
        Ok(output(command)?.lines().map(str::to_owned).collect())
    }

    /// The same commits with the files in which each differs from its first parent.
    pub fn first_parent_changes(&self, commit: &str, most: usize) -> Result<Vec<Touching>, GitError> {
        let mut command = self.command();
        command.args(["log", "--first-parent", "--diff-merges=first-parent", "--no-show-signature"]);
        command.args(["--name-only", "--no-renames", "--no-ext-diff", "-z", "--format=%x01%H"]);
        command.args([&format!("--max-count={most}"), commit]);
        let text = bytes(command)?;
        let mut changes: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
        for part in text.split(|&byte| byte == 0) {
            // Names follow a line break after the commit's own line.
            let part = part.strip_prefix(b"\n").unwrap_or(part);
            match (part.strip_prefix(b"\x01"), changes.last_mut()) {
                (Some(commit), _) => {
                    changes.push((String::from_utf8_lossy(commit).trim().to_owned(), Vec::new()));
                }
                (None, Some((_, files))) if !part.is_empty() => files.push(part.to_vec()),
                _ => {}
            }
        }
        Ok(changes)
    }

    /// What each of these names, one after the other: an object, or nothing.
    pub fn objects(&self, names: &[String]) -> Result<Vec<Option<String>>, GitError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = self.command();
        command.args(["cat-file", "--batch-check=%(objectname)", "-z"]);
        let answer = with_input(command, names.join("\0").as_bytes())?;
        let object = |line: &str| line.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| line.to_owned());
        Ok(answer.lines().map(object).collect())
    }
}
