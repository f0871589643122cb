//! Files by which git can be made to do something else, looked for where they can appear: hooks, the configuration of
//! worktrees and submodules, and refs that put one object in another's place.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::changes::Kind;
use super::configured::configs_below;

/// Below a git directory: each names an object by its file name, and another by its content.
const REPLACE: &str = "refs/replace";
const PACKED: &str = "packed-refs";

/// Where they can appear.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) common: PathBuf,
    /// The folder that `core.hooksPath` names.
    pub(super) hooks: Option<PathBuf>,
}

impl Places {
    /// Those that are there.
    pub(super) fn found(&self) -> Vec<(PathBuf, Kind)> {
        let modules = configs_below(&self.common.join("modules"), 0);
        let of_modules = modules.iter().filter_map(|config| Some(config.parent()?.join("hooks")));
        let folders = [self.common.join("hooks")].into_iter().chain(self.hooks.clone()).chain(of_modules);
        let is_sample = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "sample");
        let hooks = folders.flat_map(|folder| below(&folder)).filter(|path| !is_sample(path));
        let hooks = hooks.map(|path| (path, Kind::Other));
        let own = below(&self.common.join("worktrees")).into_iter().map(|path| path.join("config.worktree"));
        let own = own.filter(|path| fs::symlink_metadata(path).is_ok()).map(|path| (path, Kind::Config));
        let of_modules = modules.iter().cloned().map(|path| (path, Kind::Config));
        hooks.chain(own).chain(of_modules).collect()
    }

    /// What is touched when an object is replaced.
    pub(super) fn of_replacements(&self) -> Vec<PathBuf> {
        let mut paths = below(&self.common.join(REPLACE));
        paths.push(self.common.join(PACKED));
        paths
    }

    /// Which objects are replaced by which others, by their full names.
    pub(super) fn replaced(&self) -> BTreeMap<String, String> {
        let packed = fs::read_to_string(self.common.join(PACKED)).unwrap_or_default();
        let packed = packed.lines().filter_map(|line| line.split_once(' '));
        let packed = packed.filter_map(|(to, name)| Some((name.strip_prefix(REPLACE)?, to)));
        let mut all: BTreeMap<String, String> =
            packed.map(|(name, to)| (name.trim_start_matches('/').to_owned(), to.to_owned())).collect();
        // A loose ref counts before a packed one.
        for path in below(&self.common.join(REPLACE)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            all.insert(name, fs::read_to_string(&path).unwrap_or_default().trim().to_owned());
        }
        all
    }
}

/// As it is kept: a line for each.
pub(super) fn written(replaced: &BTreeMap<String, String>) -> Vec<u8> {
    replaced.iter().flat_map(|(name, to)| format!("{name} {to}\n").into_bytes()).collect()
}

pub(super) fn read(text: &str) -> BTreeMap<String, String> {
    text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
