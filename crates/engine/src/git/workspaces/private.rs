//! Git directories of a workspace's own: they read the objects of one of the user's and write none there.
//!
//! What `git clone --shared` would leave, without a remote to push to. Whatever an attempt configures or commits in one
//! stays in it until its work is taken out.

use std::fs;
use std::path::Path;

use super::{WorkspaceError, file};
use crate::git::Shadow;

/// What is to be in one.
pub(super) struct Private<'a> {
    /// Whose objects it reads.
    pub(super) of: &'a Path,
    /// A commit, or `ref: ` and a branch.
    pub(super) head: String,
    /// As lines of a `packed-refs` file.
    pub(super) refs: String,
    /// In whose name, and with which filters, git works there.
    pub(super) shadow: &'a Shadow,
}

impl Private<'_> {
    /// Makes it at a place where nothing is.
    pub(super) fn make(&self, git: &Path) -> Result<(), WorkspaceError> {
        // Hooks could be made where the folder is missing; nothing is written to one that is there.
        for folder in ["objects/info", "refs", "info", "hooks"] {
            let path = git.join(folder);
            fs::create_dir_all(&path).map_err(|source| file(&path, source))?;
        }
        let mut alternates = self.of.join("objects").into_os_string().into_encoded_bytes();
        alternates.push(b'\n');
        let shallow = fs::read(self.of.join("shallow")).unwrap_or_default();
        for (name, text) in [
            ("objects/info/alternates", alternates),
            ("config", self.config()),
            ("info/attributes", self.shadow.own_attributes()),
            ("HEAD", format!("{}\n", self.head).into_bytes()),
            ("packed-refs", self.refs.clone().into_bytes()),
            ("shallow", shallow),
        ] {
            let path = git.join(name);
            if !text.is_empty() {
                fs::write(&path, text).map_err(|source| file(&path, source))?;
            }
        }
        self.shadow.give_keys(git).map_err(|source| file(git, source))
    }

    fn config(&self) -> Vec<u8> {
        let (name, email) = self.shadow.identity();
        let mut text = format!(
            "[core]\n{}\tfilemode = true\n\tbare = false\n{}[user]\n\tname = {}\n\temail = {}\n{}",
            self.shadow.format(),
            self.shadow.extensions(),
            quoted(name),
            quoted(email),
            self.shadow.lfs_settings()
        )
        .into_bytes();
        text.extend(self.shadow.content_settings());
        text
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}
