//! Merges: in memory, where no folder is touched, and laid out in a folder with the conflicts marked.

use std::fs;
use std::path::Path;

use conductor_core::schedule::Side;

use super::Shadow;
use crate::git::{GitError, finished, run, said};

/// What merging two commits in memory came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    Clean {
        tree: String,
    },
    /// The files that both sides changed, what git said of them, and the tree with the conflicts marked in
    /// it.
    Conflict {
        tree: String,
        files: Vec<String>,
        messages: String,
    },
}

impl Shadow {
    /// Merges in memory: no folder is touched and nothing is moved. Where a side is favoured, it wins what
    /// both changed.
    pub fn merge(&self, ours: &str, theirs: &str, favour: Option<Side>) -> Result<Merge, GitError> {
        self.merge_from(None, ours, theirs, favour)
    }

    /// As `merge`, with a given merge base where git would find another.
    pub fn merge_from(
        &self,
        base: Option<&str>,
        ours: &str,
        theirs: &str,
        favour: Option<Side>,
    ) -> Result<Merge, GitError> {
        let mut command = self.command();
        command.args(["merge-tree", "--write-tree", "-z", "--name-only", "--messages"]);
        command.args(favour.map(|side| match side {
            Side::Ours => "-Xours",
            Side::Theirs => "-Xtheirs",
        }));
        command.args(base.map(|base| format!("--merge-base={base}"))).args([ours, theirs]);
        let done = run(&mut command, &[])?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        match done.status.code() {
            Some(0) => Ok(Merge::Clean { tree: text.split('\0').next().unwrap_or_default().to_owned() }),
            Some(1) => match favour {
                None => Ok(conflict(&text)),
                Some(Side::Ours) => self.decided(conflict(&text), ours),
                Some(Side::Theirs) => self.decided(conflict(&text), theirs),
            },
            code => Err(GitError::Failed {
                what: "merge-tree".into(),
                code,
                said: String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            }),
        }
    }

    /// Puts a merge into a folder as git itself would leave it: files with marks where both sides changed
    /// them, and an index that knows which these are. The marks call the sides by these names. Gives the tree
    /// that was put there.
    pub fn lay_out_merge(
        &self,
        ours: (&str, &str),
        theirs: (&str, &str),
        folder: &Path,
        index: &Path,
    ) -> Result<String, GitError> {
        let mut ask = self.command();
        ask.args(["merge-tree", "--write-tree", "-z", "--no-messages", ours.0, theirs.0]);
        let done = self.named(&[ours, theirs], || run(&mut ask, &[]))?;
        if !matches!(done.status.code(), Some(0 | 1)) {
            finished(&done, &ask)?;
        }
        let mut parts = done.stdout.split(|&byte| byte == 0).filter(|part| !part.is_empty());
        let tree = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        let mut files = self.in_tree(folder, index);
        files.args(["read-tree", "--reset", "-u", &tree]);
        self.filtered_well(files)?;
        let mut stages = self.in_tree(folder, index);
        stages.args(["update-index", "-z", "--index-info"]);
        said(stages, &unmerged(&tree, parts))?;
        Ok(tree)
    }

    /// Commits have names here while something is done: git puts into marks what it was given.
    fn named<T>(
        &self,
        names: &[(&str, &str)],
        work: impl FnOnce() -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let path = |name: &str| self.directory.join("refs/heads").join(name);
        for (name, commit) in names {
            let path = path(name);
            let write = || {
                fs::create_dir_all(path.parent().unwrap_or(&path))?;
                fs::write(&path, format!("{commit}\n"))
            };
            write().map_err(|source| GitError::File { path: path.clone(), source })?;
        }
        let done = work();
        for (name, _) in names {
            let _ = fs::remove_file(path(name));
        }
        done
    }
}

/// `<tree> NUL (<file> NUL)* NUL` and then, for each message, `<count> NUL (<path> NUL)* <type> NUL <message>
/// NUL`.
fn conflict(text: &str) -> Merge {
    let mut parts = text.split('\0');
    let tree = parts.next().unwrap_or_default().to_owned();
    let files: Vec<String> = parts.by_ref().take_while(|part| !part.is_empty()).map(str::to_owned).collect();
    let mut messages = String::new();
    while let Some(count) = parts.next().and_then(|count| count.parse::<usize>().ok()) {
        let kind = parts.by_ref().nth(count).unwrap_or_default();
        let message = parts.next().unwrap_or_default();
        if kind.starts_with("CONFLICT") {
            messages.push_str(message);
        }
    }
    Merge::Conflict { tree, files, messages: messages.trim_end().to_owned() }
}

/// `<mode> <object> <stage> TAB <file>` for each side of each conflict, as an index takes it: a file's one
/// entry has to go before those of its sides come.
fn unmerged<'p>(tree: &str, sides: impl Iterator<Item = &'p [u8]>) -> Vec<u8> {
    let gone = format!("0 {}\t", "0".repeat(tree.len())).into_bytes();
    let mut lines: Vec<u8> = Vec::new();
    let mut last: Option<&[u8]> = None;
    for side in sides {
        let name = side.splitn(2, |&byte| byte == b'\t').nth(1).unwrap_or_default();
        if last != Some(name) {
            lines.extend([&gone, name, b"\0"].concat());
            last = Some(name);
        }
        lines.extend([side, b"\0"].concat());
    }
    lines
}
