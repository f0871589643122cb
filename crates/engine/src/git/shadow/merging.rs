//! Merges: in memory, where no folder is touched, and laid out in a folder with the conflicts marked.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use conductor_core::schedule::Side;

use super::Shadow;
use crate::git::{GitError, bytes, finished, output, run, said};

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
                Some(Side::Ours) => self.decided(conflict(&text), ours, theirs),
                Some(Side::Theirs) => self.decided(conflict(&text), theirs, ours),
            },
            code => Err(GitError::Failed {
                what: "merge-tree".into(),
                code,
                said: String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            }),
        }
    }

    /// A merge that failed, where a commit's side is to win. Git decides by itself what both changed within a file. What
    /// else is left, such as a file that one changed and the other deleted, or a submodule, is as the winner has it. Not
    /// decided is what git has put aside under a name of its own: a file where the other side has a folder.
    fn decided(&self, merge: Merge, winner: &str, loser: &str) -> Result<Merge, GitError> {
        let Merge::Conflict { tree, files, .. } = &merge else { return Ok(merge) };
        let (won, lost) = (self.held_at(winner, files)?, self.held_at(loser, files)?);
        let merged = self.held_at(tree, files)?;
        let gone = format!("0 {}", "0".repeat(tree.len()));
        let mut lines = Vec::new();
        for path in files {
            let is_known = won.contains_key(path) || lost.contains_key(path) || !merged.contains_key(path);
            let held = won.get(path).unwrap_or(&gone);
            // What is no text was not read as it is.
            if !is_known || held.starts_with("040000 ") || path.contains(char::REPLACEMENT_CHARACTER) {
                return Ok(merge);
            }
            lines.extend(format!("{held}\t{path}\0").bytes());
        }
        let index = self.directory.join(format!("{:x}.index", fastrand::u64(..)));
        let decided = self.tree_but(tree, &lines, &index);
        let _ = fs::remove_file(index);
        Ok(Merge::Clean { tree: decided? })
    }

    /// The tree with these entries in place of its own.
    fn tree_but(&self, tree: &str, entries: &[u8], index: &Path) -> Result<String, GitError> {
        let mut read = self.in_tree(&self.directory, index);
        read.args(["read-tree", tree]);
        output(read)?;
        let mut put = self.in_tree(&self.directory, index);
        put.args(["update-index", "-z", "--index-info"]);
        said(put, entries)?;
        self.tree_of(&self.directory, index)
    }

    /// Mode and object of what a tree or commit has at these paths.
    fn held_at(&self, tree: &str, paths: &[String]) -> Result<HashMap<String, String>, GitError> {
        let mut command = self.command();
        command.args(["--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--"]).args(paths);
        let entries = String::from_utf8_lossy(&bytes(command)?).into_owned();
        // `<mode> <kind> <object> TAB <path> NUL`
        let held = |entry: &str| {
            let (about, path) = entry.split_once('\t')?;
            let mut parts = about.split(' ');
            let (mode, object) = (parts.next()?, parts.nth(1)?);
            Some((path.to_owned(), format!("{mode} {object}")))
        };
        Ok(entries.split('\0').filter_map(held).collect())
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
