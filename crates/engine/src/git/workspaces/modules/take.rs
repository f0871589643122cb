//! How what an attempt left in a folder and its submodules is taken down.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::{fs, io};

use super::super::run_repo::{RunRepo, is_name};
use super::super::{WorkspaceError, file};
use super::{Ground, Note, Pin, Start, Taken, git_of, is_empty, word};
use crate::git::{Added, Link, Shadow, head_of};
use crate::host::shortage::Passing as _;

/// How many levels of repositories within repositories, made by an agent, are looked for.
const NESTED: usize = 8;

impl RunRepo {
    /// All the files in a folder; changes in submodules become commits there. A repository that the agent
    /// made there is taken as files, its `.git` put aside: a link would name a commit that only it has.
    pub(in crate::git::workspaces) fn take(
        &self,
        ground: &Ground,
        message: &str,
    ) -> Result<Taken, WorkspaceError> {
        let mut known = self.forget_written(&ground.index);
        let (mut pins, moved) = self.take_modules(ground, message)?;
        if moved {
            known = None;
        }
        for _ in 0..NESTED {
            let Added { nothing, nested } = ground.shadow.add_all(&ground.tree, &ground.index)?;
            if !nothing {
                known = None;
            }
            if nested.is_empty() {
                break;
            }
            let (mut moved, mut aside) = (Vec::new(), Vec::new());
            for path in nested {
                match ground.known(Path::new(&path)) {
                    None => aside.push(path),
                    Some(known) => {
                        let commit = self.take_module(ground, Path::new(&path), known, message, &mut pins)?;
                        moved.push(Link { path: path.into(), commit });
                    }
                }
            }
            self.put_aside(ground, &aside)?;
            ground.shadow.set_links(&moved, &ground.tree, &ground.index)?;
        }
        for own in ground.own.iter().filter(|own| own.is_absolute() && own.is_file()) {
            if ground.shadow.add_tracked(own, &ground.tree, &ground.index)? {
                known = None;
            }
        }
        let tree = match known {
            Some(tree) => tree,
            None => ground.shadow.tree_of(&ground.tree, &ground.index)?,
        };
        self.note_written(&ground.index, &tree);
        Ok(Taken { tree, pins })
    }

    fn put_aside(&self, ground: &Ground, nested: &[String]) -> Result<(), WorkspaceError> {
        let aside = self.layout.state.join("nested");
        for path in nested {
            let git = ground.tree.join(path).join(".git");
            fs::create_dir_all(&aside).map_err(|source| file(&aside, source))?;
            let there = aside.join(format!("{:x}.git", fastrand::u64(..)));
            let (shown, kept) = (ground.shown(Path::new(path)), there.display());
            let added = ground.added(Path::new(path));
            if let Some(history) = &added {
                move_all(history, &there).map_err(|source| file(history, source))?;
                fs::remove_file(&git).map_err(|source| file(&git, source))?;
                self.notice(format!(
                    "{shown} was added as a submodule; its files land as ordinary files, though .gitmodules may name it; \
                     its history is kept beside the run, in {kept}"
                ));
            } else {
                move_all(&git, &there).map_err(|source| file(&git, source))?;
                self.notice(format!(
                    "{shown} was a repository of its own; its history is kept beside the run, in {kept}"
                ));
            }
        }
        Ok(ground.shadow.forget(nested, &ground.tree, &ground.index)?)
    }

    /// Brings the commits that the index has of submodules up to what is in their folders. Whether that changed it.
    fn take_modules(&self, ground: &Ground, message: &str) -> Result<(Vec<Pin>, bool), WorkspaceError> {
        let (mut pins, mut moved, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for link in ground.shadow.links(&ground.index)? {
            if !ground.is_folder(&link.path) || ground.is_plain_now(&link.path) {
                gone.push(link.path);
                continue;
            }
            match ground.known(&link.path) {
                None => self.keep_stray(ground, &link, message)?,
                Some(known) => {
                    let commit = self.take_module(ground, &link.path, known, message, &mut pins)?;
                    if commit != link.commit {
                        moved.push(Link { path: link.path, commit });
                    }
                }
            }
        }
        ground.shadow.set_links(&moved, &ground.tree, &ground.index)?;
        ground.shadow.forget(&gone, &ground.tree, &ground.index)?;
        Ok((pins, !moved.is_empty() || !gone.is_empty()))
    }

    /// The commit in the user's submodule that holds all an attempt did in it.
    fn take_module(
        &self,
        ground: &Ground,
        path: &Path,
        (note, start): (Note, Start),
        message: &str,
        pins: &mut Vec<Pin>,
    ) -> Result<String, WorkspaceError> {
        let inner = ground.inner(path, &note, &start.module);
        let head = self.module_head(&inner, &note, &start)?;
        self.take_contents(&inner.shadow, &note.git)?;
        let mut commit = head;
        // One whose checkout was taken away is still what it was.
        if !is_empty(&inner.tree) {
            let taken = self.take(&inner, message)?;
            pins.extend(taken.pins);
            if taken.tree != inner.shadow.tree_of_commit(&commit)? {
                commit = committed(&inner.shadow, &note, &taken.tree, &commit, message)?;
            }
        }
        if commit != start.recorded {
            pins.push(Pin { path: inner.below, module: start.module, commit: commit.clone() });
        }
        Ok(commit)
    }

    /// What an attempt has checked out in a submodule, with all its history there. It need not build on where the attempt
    /// began: another version is as good an end of its work as a next one.
    fn module_head(&self, inner: &Ground, note: &Note, start: &Start) -> Result<String, WorkspaceError> {
        let head = head_of(&note.git).filter(|head| *head != start.started_at && is_name(head));
        let Some(head) = head else { return Ok(start.started_at.clone()) };
        match inner.shadow.take(&note.git.join("objects"), &start.started_at, &head) {
            Ok(()) => Ok(head),
            Err(error) if error.shortage().is_some() => Err(error.into()),
            Err(_) => {
                let shown = inner.below.display();
                self.notice(format!("the commits made in {shown} are not whole; only its files are kept"));
                Ok(start.started_at.clone())
            }
        }
    }

    /// What an attempt did in a submodule that it filled by itself. The user has no git directory for it to go to, so its
    /// files are kept where rescued work is. Nothing is, where they are just what was recorded.
    fn keep_stray(&self, ground: &Ground, link: &Link, message: &str) -> Result<(), WorkspaceError> {
        let place = ground.tree.join(&link.path);
        if is_empty(&place) {
            return Ok(());
        }
        let index = ground.note(&link.path).index;
        let _ = fs::remove_file(&index);
        self.shadow.add_all(&place, &index)?;
        let tree = self.shadow.tree_of(&place, &index)?;
        let _ = fs::remove_file(&index);
        let objects = git_of(&place).unwrap_or_else(|| place.clone()).join("objects");
        if self.shadow.tree_with(&objects, &link.commit).as_ref() == Some(&tree) {
            return Ok(());
        }
        let commit = self.shadow.commit(&tree, &[], message)?;
        let name = format!("submodule-{}/{}", word(&link.path), &tree[..12.min(tree.len())]);
        let kept = self.keep_commit(&name, &commit)?;
        let shown = ground.shown(&link.path);
        self.notice_once(format!(
            "{shown} was not initialised when the run began; what was done there is not merged but kept as {kept}"
        ));
        Ok(())
    }
}

/// Also to another file system.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy_all(from, to)?;
            match fs::symlink_metadata(from)?.is_dir() {
                true => fs::remove_dir_all(from),
                false => fs::remove_file(from),
            }
        }
        moved => moved,
    }
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?.file_type();
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if !kind.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Files that were taken already give the same commit when they are taken again: with another commit, the
/// tree that links to it would change too.
fn committed(
    shadow: &Shadow,
    note: &Note,
    tree: &str,
    head: &str,
    message: &str,
) -> Result<String, WorkspaceError> {
    let key = format!("{head} {tree} ");
    let last = fs::read_to_string(&note.last).unwrap_or_default();
    if let Some(commit) = last.strip_prefix(&key) {
        return Ok(commit.to_owned());
    }
    let commit = shadow.commit(tree, &[head], message)?;
    fs::write(&note.last, format!("{key}{commit}")).map_err(|source| file(&note.last, source))?;
    Ok(commit)
}
