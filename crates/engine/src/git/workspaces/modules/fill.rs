//! How the folder of a submodule is filled for an attempt.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::super::private::Private;
use super::super::run_repo::RunRepo;
use super::super::{WorkspaceError, file};
use super::{Ground, Note, Start, is_empty};
use crate::git::{Link, Module};

/// Deeper than submodules are nested in practice.
const DEEPEST: usize = 8;

impl RunRepo {
    /// Fills the folders of submodules in a checkout that was just made. `commit` is what was checked out; where other
    /// files were laid out upon it, their tree.
    pub(in crate::git::workspaces) fn fill_modules(
        &self,
        ground: &Ground,
        commit: &str,
        laid: Option<&str>,
    ) -> Result<(), WorkspaceError> {
        let links = ground.shadow.links(&ground.index)?;
        if links.is_empty() {
            return Ok(());
        }
        let paths: Vec<&Path> = links.iter().map(|link| link.path.as_path()).collect();
        let wanted = match laid {
            None => links.clone(),
            Some(tree) => ground.shadow.links_at(tree, &paths)?,
        };
        let names = ground.shadow.module_names(laid.unwrap_or(commit));
        fs::create_dir_all(&ground.notes).map_err(|source| file(&ground.notes, source))?;
        for link in &wanted {
            let module = names.get(&link.path).and_then(|name| Module::find(&ground.homes, name));
            let recorded = links.iter().find(|known| known.path == link.path).unwrap_or(link);
            self.fill_module(ground, link, &recorded.commit, module)?;
        }
        Ok(())
    }

    fn fill_module(
        &self,
        ground: &Ground,
        link: &Link,
        recorded: &str,
        module: Option<Module>,
    ) -> Result<(), WorkspaceError> {
        let (place, note) = (ground.tree.join(&link.path), ground.note(&link.path));
        self.throw_away(&note.git)?;
        note.clear();
        ground.make_folder(&link.path).map_err(|source| file(&place, source))?;
        self.take_git_away(&place)?;
        let Some(module) = module.filter(|_| ground.level < DEEPEST) else {
            return self.leave_empty(ground, link, "is not initialised here");
        };
        let inner = ground.inner(&link.path, &note, &module);
        if let Err(error) = self.check_out(&inner.shadow, &link.commit, &inner.tree, &inner.index) {
            return match inner.shadow.tree_of_commit(&link.commit) {
                Ok(_) => Err(error),
                Err(_) => self.leave_empty(ground, link, "has not been brought to its commit here"),
            };
        }
        self.fill_modules(&inner, &link.commit, None)?;
        give_git(&inner, &note, &module, &link.commit)?;
        let (started_at, recorded, path) = (link.commit.clone(), recorded.to_owned(), link.path.clone());
        note.write(&Start { started_at, recorded, path, module })
    }

    fn take_git_away(&self, place: &Path) -> Result<(), WorkspaceError> {
        let git = place.join(".git");
        match fs::symlink_metadata(&git) {
            Err(_) => Ok(()),
            Ok(found) if found.is_dir() => self.throw_away(&git),
            Ok(_) => fs::remove_file(&git).map_err(|source| file(&git, source)),
        }
    }

    fn leave_empty(&self, ground: &Ground, link: &Link, why: &str) -> Result<(), WorkspaceError> {
        let shown = ground.shown(&link.path);
        self.notice_once(format!(
            "the submodule {shown} {why} and is an empty folder to the tasks; `git submodule update --init` fills it"
        ));
        let place = ground.tree.join(&link.path);
        if is_empty(&place) {
            return Ok(());
        }
        self.throw_away(&place)?;
        fs::create_dir(&place).map_err(|source| file(&place, source))
    }

    /// Takes what a last attempt left out of the way of files that are to be laid out.
    pub(in crate::git::workspaces) fn empty_modules(&self, ground: &Ground) -> Result<(), WorkspaceError> {
        for Link { path, .. } in ground.shadow.links(&ground.index)? {
            if ground.is_folder(&path) {
                self.throw_away(&ground.tree.join(path))?;
            }
        }
        Ok(())
    }
}

/// A git directory for the attempt, and the way to it.
fn give_git(inner: &Ground, note: &Note, module: &Module, commit: &str) -> Result<(), WorkspaceError> {
    // Its branches and tags are a convenience.
    let refs = module.packed_refs().unwrap_or_default();
    Private { of: &module.git, head: commit.to_owned(), refs, shadow: &inner.shadow }.make(&note.git)?;
    let index = note.git.join("index");
    fs::copy(&note.index, &index).map_err(|source| file(&index, source))?;
    let pointer = [b"gitdir: ", note.git.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(inner.tree.join(".git"), pointer).map_err(|source| file(&inner.tree, source))
}
