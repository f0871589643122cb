//! Submodules in workspaces. Each has its files at the commit its workspace starts from, and a git directory of its own
//! (`fill`); what is done in it becomes commits in the user's submodule, and the workspace's tree points at them (`take`).
//!
//! A submodule the user has not initialised stays an empty folder: nothing is fetched. How a folder is brought to a
//! commit, and how commits are taken out of a git directory, is not known here. A submodule in a submodule is the same
//! once more, a level deeper.

mod fill;
mod take;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::layout::Folder;
use super::names::branch_word;
use super::run_repo::RunRepo;
use super::{WorkspaceError, file};
use crate::git::{Module, Shadow};

/// A checkout with submodules in it: a workspace, or a submodule of one.
pub(super) struct Ground {
    shadow: Shadow,
    /// Where the git directories of its submodules may be, by their names.
    homes: Vec<PathBuf>,
    tree: PathBuf,
    index: PathBuf,
    /// Those of its own git: as it is now, and with the work that was laid out in it to be mended.
    own: Vec<PathBuf>,
    /// Where we keep what we know of its submodules.
    notes: PathBuf,
    /// Where in the workspace it is, and how many levels down.
    below: PathBuf,
    level: usize,
}

/// A commit that is to be kept in a submodule of the user's.
pub(super) struct Pin {
    /// Where in the workspace the submodule is.
    path: PathBuf,
    module: Module,
    commit: String,
}

/// All that is in a folder: its tree, and the commits of submodules that this needs.
pub(super) struct Taken {
    pub(super) tree: String,
    pub(super) pins: Vec<Pin>,
}

/// What we keep of one submodule in one workspace.
struct Note {
    /// the attempt's git directory.
    git: PathBuf,
    /// Our own index of its files.
    index: PathBuf,
    start: PathBuf,
    /// What was taken out of it last.
    last: PathBuf,
    deeper: PathBuf,
}

/// Where an attempt began in a submodule.
struct Start {
    /// What its files were brought to.
    started_at: String,
    /// What the workspace's own commit says, which is another where work goes back to be mended.
    recorded: String,
    /// Where it was then, in the checkout it is a part of.
    path: PathBuf,
    module: Module,
}

impl Note {
    fn new(notes: &Path, word: &str) -> Note {
        let at = |kind: &str| notes.join(format!("{word}.{kind}"));
        let (git, index, start, last) = (at("git"), at("index"), at("start"), at("last"));
        Note { git, index, start, last, deeper: at("modules") }
    }

    /// Forgets the last attempt.
    fn clear(&self) {
        for path in [&self.start, &self.last] {
            let _ = fs::remove_file(path);
        }
    }

    /// Nothing where the submodule is not one of those we filled.
    fn read(&self) -> Option<Start> {
        let text = fs::read(&self.start).ok()?;
        let mut parts = text.split(|&byte| byte == 0).map(|part| OsString::from_vec(part.to_vec()));
        Some(Start {
            started_at: parts.next()?.into_string().ok()?,
            recorded: parts.next()?.into_string().ok()?,
            path: parts.next()?.into(),
            module: Module { git: parts.next()?.into() },
        })
    }

    fn write(&self, start: &Start) -> Result<(), WorkspaceError> {
        let Start { started_at, recorded, path, module } = start;
        let (path, git) = (path.as_os_str().as_bytes(), module.git.as_os_str().as_bytes());
        let text = [started_at.as_bytes(), recorded.as_bytes(), path, git].join(&0);
        fs::write(&self.start, text).map_err(|source| file(&self.start, source))
    }
}

impl Ground {
    fn note(&self, path: &Path) -> Note {
        Note::new(&self.notes, &word(path))
    }

    /// Our note of the submodule at a path; of one that the agent moved there, if `.gitmodules` says so too.
    fn known(&self, path: &Path) -> Option<(Note, Start)> {
        let note = self.note(path);
        if let Some(start) = note.read() {
            return Some((note, start));
        }
        // Git writes the way to it anew when it moves a submodule.
        let git = git_of(&self.tree.join(path))?.canonicalize().ok()?;
        let ours = git.parent() == Some(&self.notes.canonicalize().ok()?);
        let word = git.file_stem().filter(|_| ours)?.to_str()?;
        let note = Note::new(&self.notes, word);
        let start = note.read()?;
        (!self.is_folder(&start.path) && self.is_named(path)).then_some((note, start))
    }

    fn inner(&self, path: &Path, note: &Note, module: &Module) -> Ground {
        Ground {
            shadow: self.shadow.beside(&module.git),
            homes: vec![module.git.join("modules")],
            tree: self.tree.join(path),
            index: note.index.clone(),
            own: vec![note.git.join("index")],
            notes: note.deeper.clone(),
            below: self.below.join(path),
            level: self.level + 1,
        }
    }

    fn shown(&self, path: &Path) -> String {
        self.below.join(path).display().to_string()
    }

    /// Whether a path leads to a folder and through nothing but folders: nothing is read or written through a link.
    fn is_folder(&self, path: &Path) -> bool {
        let mut step = self.tree.clone();
        path.components().all(|part| {
            step.push(part);
            fs::symlink_metadata(&step).is_ok_and(|found| found.is_dir())
        })
    }

    /// Makes it so.
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut step = self.tree.clone();
        for part in path.components() {
            step.push(part);
            match fs::symlink_metadata(&step) {
                Ok(found) if found.is_dir() => continue,
                Ok(_) => fs::remove_file(&step)?,
                Err(_) => {}
            }
            fs::create_dir(&step)?;
        }
        Ok(())
    }

    /// Whether a submodule was made a part of the repository that it was in: its files are there, but neither git nor
    /// `.gitmodules` knows of it any more.
    fn is_plain_now(&self, path: &Path) -> bool {
        let place = self.tree.join(path);
        fs::symlink_metadata(place.join(".git")).is_err() && !is_empty(&place) && !self.is_named(path)
    }

    /// The git directory of a submodule that the agent added: it is in that of the workspace, and would go with it.
    fn added(&self, path: &Path) -> Option<PathBuf> {
        let own = git_of(&self.tree)?.join("modules").canonicalize().ok()?;
        let git = git_of(&self.tree.join(path))?.canonicalize().ok()?;
        git.starts_with(own).then_some(git)
    }

    fn is_named(&self, path: &Path) -> bool {
        let names = self.tree.join(".gitmodules");
        fs::symlink_metadata(names).is_ok_and(|found| found.is_file())
            && self.shadow.module_names_in(&self.tree).contains_key(path)
    }
}

fn word(path: &Path) -> String {
    branch_word(&path.to_string_lossy())
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The git directory a folder says is its own.
fn git_of(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    match fs::symlink_metadata(&git).ok()? {
        found if found.is_dir() => Some(git),
        found if found.is_file() => {
            let text = fs::read(&git).ok()?;
            let path = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
            Some(folder.join(OsString::from_vec(path.to_vec())))
        }
        _ => None,
    }
}

impl RunRepo {
    pub(super) fn ground(&self, folder: &Folder) -> Ground {
        // A linked worktree of the user's has submodules of its own.
        let own = git_of(&self.repository.root).unwrap_or_else(|| self.repository.common.clone());
        Ground {
            shadow: self.shadow.clone(),
            homes: [own, self.repository.common.clone()].map(|git| git.join("modules")).into(),
            tree: folder.tree.clone(),
            index: folder.index.clone(),
            own: vec![folder.git.join("index"), folder.given()],
            notes: folder.modules.clone(),
            below: PathBuf::new(),
            level: 0,
        }
    }

    /// Says that there is more to bring home than the repository's own branch.
    pub(super) fn tell(&self, pins: &[Pin]) {
        for Pin { path, .. } in pins {
            self.notice_once(format!(
                "there are new commits in the submodule {}; `git submodule update` brings your checkout of it along \
                 once they are merged",
                path.display()
            ));
        }
    }

    /// Keeps commits in the user's submodules from being swept away.
    pub(super) fn pin(&self, pins: &[Pin], name: &str) -> Result<(), WorkspaceError> {
        for pin in pins {
            pin.module.set_ref(name, &pin.commit)?;
        }
        Ok(())
    }
}
