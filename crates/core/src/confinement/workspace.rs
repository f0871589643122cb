//! The folder a task works in, and the git directories that belong to it.

use super::paths::{OF_A_MODULE, OF_THE_CHECKOUT, OF_THE_WORKTREE};
use super::{Access, Found, GitPlace, is_within, trimmed};
use crate::plan::Sandbox;

impl Found<'_> {
    pub(super) fn workspace(&mut self, sandbox: Option<&Sandbox>) {
        let around = self.around;
        let tree = &around.tree;
        self.repository();
        self.add(tree.clone(), Access::Write);
        if is_within(&around.state, tree) {
            self.add(around.state.clone(), Access::Hidden);
        }
        let beside = around.modules.iter().filter(|module| !is_within(module, tree));
        for own in around.temporary.iter().chain(beside) {
            self.add(own.clone(), Access::Write);
        }
        let (read, write) = sandbox.map_or((&[][..], &[][..]), |own| (&own.read, &own.write));
        let is_given = |path: &str| write.iter().any(|given| self.meant(given) == path);
        let kept: Vec<String> = self.kept().into_iter().filter(|path| !is_given(path)).collect();
        // A folder that something lies over could still be moved away as a whole, unless it is such a place itself.
        let mut folders: Vec<&str> = kept.iter().flat_map(|path| folders_above(path, tree)).collect();
        folders.sort_unstable();
        folders.dedup();
        folders.into_iter().for_each(|folder| self.add(folder, Access::Write));
        kept.iter().for_each(|path| self.add(path.clone(), self.as_kept(path)));
        if matches!(around.git, GitPlace::Worktree { .. } | GitPlace::Pointed) {
            self.add(format!("{tree}/.git"), Access::Read);
        }
        for path in read {
            self.add(self.meant(path), Access::Read);
        }
        for path in write {
            self.add(self.meant(path), Access::Write);
        }
    }

    /// What is reached of a repository that the folder is not.
    fn repository(&mut self) {
        let around = self.around;
        match &around.git {
            GitPlace::Clone { of } => self.add(format!("{of}/objects"), Access::Read),
            GitPlace::Worktree { common, own } => {
                self.add(common.clone(), Access::Write);
                self.add(format!("{common}/worktrees"), Access::Fresh);
                // Each has a configuration with addresses of its own.
                self.add(format!("{common}/modules"), Access::Fresh);
                self.add(own.clone(), Access::Write);
                for part in OF_THE_CHECKOUT {
                    self.add(format!("{common}/{part}"), kind_of(part));
                }
                for part in OF_THE_WORKTREE {
                    self.add(format!("{own}/{part}"), Access::Read);
                }
            }
            GitPlace::None | GitPlace::Inside | GitPlace::Pointed => return,
        }
        around.lent.iter().for_each(|objects| self.add(objects.clone(), Access::Read));
    }

    /// What stays as it is of what is written: agents and git start programs by it.
    fn kept(&self) -> Vec<String> {
        let around = self.around;
        let mut kept: Vec<String> =
            around.present.iter().map(|path| format!("{}/{path}", around.tree)).collect();
        kept.extend(parts_of(&around.modules, &OF_A_MODULE));
        kept.extend(parts_of(&around.worktrees, &OF_THE_WORKTREE));
        kept
    }

    /// The user's own configuration has the user's sign-ins; what we have made has none.
    fn as_kept(&self, path: &str) -> Access {
        let is_users =
            self.around.git == GitPlace::Inside && path.starts_with(&format!("{}/.git/", self.around.tree));
        if is_users { kind_of(path) } else { Access::Read }
    }

    /// A path as the user writes it.
    fn meant(&self, path: &str) -> String {
        match (path.strip_prefix("~/"), path.starts_with('/')) {
            (Some(rest), _) => format!("{}/{}", self.home, trimmed(rest)),
            (None, true) => trimmed(path).to_owned(),
            (None, false) => format!("{}/{}", self.around.tree, trimmed(path)),
        }
    }
}

fn parts_of<'p>(folders: &'p [String], parts: &'p [&str]) -> impl Iterator<Item = String> + 'p {
    folders.iter().flat_map(|folder| parts.iter().map(move |part| format!("{folder}/{part}")))
}

/// How a part of the user's git directory is shown.
fn kind_of(part: &str) -> Access {
    match part.rsplit('/').next() {
        Some("config" | "config.worktree") => Access::Settings,
        _ => Access::Read,
    }
}

/// Those between a path and the tree it is in, without either.
fn folders_above<'p>(path: &'p str, tree: &str) -> Vec<&'p str> {
    let above = std::iter::successors(path.rsplit_once('/'), |(folder, _)| folder.rsplit_once('/'));
    above
        .map(|(folder, _)| folder)
        .take_while(|folder| folder.len() > tree.len() && is_within(folder, tree))
        .collect()
}
