//! Text that git marked as a conflict, in what differs between two commits.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use conductor_core::schedule::conflict_markers;

use super::index::Index;
use super::{GitError, Shadow, bytes};
use crate::host::copies;

/// A file in whose difference a mark came or went.
struct Candidate {
    path: Vec<u8>,
    old: String,
    new: String,
}

impl Shadow {
    /// The files of `to` in which there is a conflict that was not in `from`, nor in the same file of one of these other
    /// commits; where one was laid out to be solved, a part of it is enough. Binary files have none.
    pub fn marked(
        &self,
        from: &str,
        to: &str,
        others: &[&str],
        laid_out: bool,
    ) -> Result<Vec<String>, GitError> {
        let candidates = self.candidates(from, to)?;
        let mut olds = Vec::new();
        for candidate in &candidates {
            olds.push(self.content(&candidate.old)?);
        }
        let mut marked = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            let new = self.content(&candidate.new)?;
            let path = String::from_utf8_lossy(&candidate.path).into_owned();
            // A file that another commit does not have tells nothing.
            let elsewhere = others.iter().filter_map(|commit| self.blob(commit, &path).ok());
            let before: Vec<Vec<u8>> = elsewhere.chain([olds[at].clone()]).collect();
            if conflict_markers::is_new(&new, &before, &olds)
                || (laid_out && conflict_markers::is_left_over(&new, &before))
            {
                marked.push(path);
            }
        }
        Ok(marked)
    }

    fn candidates(&self, from: &str, to: &str) -> Result<Vec<Candidate>, GitError> {
        let mut command = self.command();
        command.args(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-textconv"]);
        command.args(["--no-ext-diff", "-G^(<<<<<<<|>>>>>>>)", from, to]);
        let raw = bytes(command)?;
        let mut parts = raw.split(|&byte| byte == 0).filter(|part| !part.is_empty());
        let mut found = Vec::new();
        while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
            let about = String::from_utf8_lossy(about);
            let words: Vec<&str> = about.split(' ').collect();
            if let [_, _, old, new, _] = words.as_slice() {
                found.push(Candidate { path: path.to_vec(), old: (*old).into(), new: (*new).into() });
            }
        }
        Ok(found)
    }

    /// What an object holds; nothing where a file is not there, which git writes as zeros.
    fn content(&self, object: &str) -> Result<Vec<u8>, GitError> {
        if object.bytes().all(|byte| byte == b'0') {
            return Ok(Vec::new());
        }
        let mut command = self.command();
        command.args(["cat-file", "blob", object]);
        bytes(command)
    }

    /// The files that an index has in several versions, for a merge has not been brought to its end. The index is not ours:
    /// what cannot be read tells nothing.
    pub fn unmerged(&self, tree: &Path, index: &Path) -> Vec<String> {
        let Some(bytes) = own_bytes(index) else { return Vec::new() };
        let known = match Index::of(bytes, self.sha256) {
            Some(read) => read.unmerged(),
            None => self.asked(tree, index),
        };
        known.into_iter().collect()
    }

    /// As git itself reads formats that we do not.
    fn asked(&self, tree: &Path, index: &Path) -> BTreeSet<String> {
        let mut command = self.in_tree(tree, index);
        command.args(["ls-files", "--unmerged", "-z"]);
        let listed = bytes(command).unwrap_or_default();
        let name = |entry: &[u8]| {
            let tab = entry.iter().position(|&byte| byte == b'\t')?;
            Some(String::from_utf8_lossy(&entry[tab + 1..]).into_owned())
        };
        listed.split(|&byte| byte == 0).filter_map(name).collect()
    }
}

/// A file's bytes. Whatever else stands in its place is not waited for.
fn own_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut file = copies::open(path).ok()?;
    let mut bytes = Vec::new();
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    (is_file && file.read_to_end(&mut bytes).is_ok()).then_some(bytes)
}
