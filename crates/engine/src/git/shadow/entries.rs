//! What a commit has at a path.

use super::Shadow;
use crate::git::{GitError, bytes};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    mode: String,
    /// Of a file's content.
    pub bytes: u64,
}

impl Entry {
    /// Neither a link, a folder nor a commit of another repository.
    pub fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }

    /// Whether it may be executed.
    pub fn runs(&self) -> bool {
        self.mode == "100755"
    }
}

impl Shadow {
    /// What a tree or commit has at a path, if anything.
    pub fn entry(&self, tree: &str, path: &str) -> Result<Option<Entry>, GitError> {
        let mut command = self.command();
        command.args(["--literal-pathspecs", "ls-tree", "-z", "-l", "--full-tree", tree, "--", path]);
        let said = String::from_utf8_lossy(&bytes(command)?).into_owned();
        // `<mode> <kind> <object> <size or -> TAB <path> NUL`
        let entry = said.split('\0').find_map(|line| {
            let (about, name) = line.split_once('\t')?;
            let mut parts = about.split_whitespace();
            let (mode, size) = (parts.next()?, parts.nth(2)?);
            (name == path).then(|| Entry { mode: mode.to_owned(), bytes: size.parse().unwrap_or(0) })
        });
        Ok(entry)
    }
}
