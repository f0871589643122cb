//! Submodules, as far as git knows them: their names by their paths, and the git directories their history is in.
//!
//! Such a directory is the user's: commits are added to it and refs of ours are set, nothing else. How a workspace gets
//! the files of one is not known here.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::index::Link;
use super::{GitError, Shadow, bytes, deaf, output, with_input};

/// A submodule's git directory, as the user has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Module {
    pub git: PathBuf,
}

impl Module {
    /// The first of these folders of modules that has it; nothing where it was never initialised. A name that
    /// leads out of the folder is never found.
    pub fn find(homes: &[PathBuf], name: &str) -> Option<Module> {
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let is_one = |git: &PathBuf| git.join("objects").is_dir() && git.join("HEAD").exists();
        let found = homes.iter().map(|home| home.join(name)).find(is_one);
        found.filter(|_| inside && !name.is_empty()).map(|git| Module { git })
    }

    /// Its checkout may be elsewhere or nowhere, so none is named.
    fn command(&self) -> Command {
        let mut command = deaf(&self.git);
        command.env("GIT_DIR", &self.git).env("GIT_WORK_TREE", &self.git);
        command
    }

    /// As lines of a `packed-refs` file.
    pub fn packed_refs(&self) -> Result<String, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(objectname) %(refname)"]);
        let refs = output(command)?;
        Ok(if refs.is_empty() { refs } else { refs + "\n" })
    }

    /// Keeps a commit from being swept away.
    pub fn set_ref(&self, name: &str, commit: &str) -> Result<(), GitError> {
        let mut command = self.command();
        command.args(["update-ref", "--no-deref", "-m", "conductor", name, commit]);
        output(command).map(drop)
    }
}

impl Shadow {
    /// What `.gitmodules` of a tree or commit calls the submodules at its paths. One that cannot be read names none.
    pub fn module_names(&self, tree: &str) -> HashMap<PathBuf, String> {
        let mut command = self.command();
        command.args(["config", "-z", "--blob", &format!("{tree}:.gitmodules")]);
        names(command)
    }

    /// The same, of a folder as it is now.
    pub fn module_names_in(&self, folder: &Path) -> HashMap<PathBuf, String> {
        let mut command = self.command();
        command.args(["config", "-z", "--file"]).arg(folder.join(".gitmodules"));
        names(command)
    }

    /// Sets the commits that an index has of other repositories.
    pub fn set_links(&self, links: &[Link], tree: &Path, index: &Path) -> Result<(), GitError> {
        if links.is_empty() {
            return Ok(());
        }
        let mut command = self.in_tree(tree, index);
        command.args(["update-index", "-z", "--index-info"]);
        let mut lines = Vec::new();
        for Link { path, commit } in links {
            lines.extend(format!("160000 {commit}\t").bytes());
            lines.extend(path.as_os_str().as_bytes());
            lines.push(0);
        }
        with_input(command, &lines).map(drop)
    }

    /// The commits of other repositories that a tree has at these paths.
    pub fn links_at(&self, tree: &str, paths: &[&Path]) -> Result<Vec<Link>, GitError> {
        let mut command = self.command();
        command.args(["ls-tree", "-z", tree, "--"]).args(paths);
        let link = |line: &[u8]| {
            let tab = line.iter().position(|&byte| byte == b'\t')?;
            let commit = std::str::from_utf8(&line[..tab]).ok()?.strip_prefix("160000 commit ")?.to_owned();
            Some(Link { path: PathBuf::from(OsStr::from_bytes(&line[tab + 1..])), commit })
        };
        Ok(bytes(command)?.split(|&byte| byte == 0).filter_map(link).collect())
    }

    /// The tree of a commit that may be in another object store; nothing where it is in neither.
    pub fn tree_with(&self, objects: &Path, commit: &str) -> Option<String> {
        let mut command = self.with_objects(objects);
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        command.arg(format!("{commit}^{{tree}}"));
        output(command).ok()
    }
}

/// `submodule.<name>.path LF <path> NUL` for each.
fn names(mut command: Command) -> HashMap<PathBuf, String> {
    command.args(["--get-regexp", r"^submodule\..*\.path$"]);
    let text = bytes(command).unwrap_or_default();
    let name = |entry: &[u8]| {
        let end = entry.iter().position(|&byte| byte == b'\n')?;
        let key = std::str::from_utf8(&entry[..end]).ok()?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        let path = Path::new(OsStr::from_bytes(&entry[end + 1..]));
        // As trees have it: without a slash at its end.
        Some((path.components().collect(), name.to_owned()))
    };
    text.split(|&byte| byte == 0).filter_map(name).collect()
}
