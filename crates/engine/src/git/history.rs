//! What two commits have in common, and what differs between them, file by file.

use conductor_core::divergence::Entries;

use super::{GitError, Shadow, bytes, output};

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
}
