//! Work that a filter of the user's git is in the way of: it is kept without the files under that filter, which stay in
//! their folder. As they are there they must not be stored.

use std::fs;

use conductor_core::run::event::Change;

use super::layout::Folder;
use super::names::branch_word;
use super::run_repo::RunRepo;
use super::{Rescued, WorkspaceError, WorkspaceRequest};

impl RunRepo {
    /// As `rescue`. The folder is not used again where not all of it could be kept.
    pub(super) fn rescue_or_part(
        &self,
        request: &WorkspaceRequest,
        folder: &Folder,
    ) -> Result<Option<Rescued>, WorkspaceError> {
        let mut filters: Vec<String> = Vec::new();
        let mut done = self.rescue(request, folder);
        while let Err(WorkspaceError::Git(error)) = &done
            && error.is_of_filters()
        {
            let more: Vec<String> =
                self.shadow.filters_of(error).into_iter().filter(|name| !filters.contains(name)).collect();
            if more.is_empty() {
                break;
            }
            filters.extend(more);
            done = self.rescue_but(&filters, request, folder);
        }
        if let (Ok(_), false) = (&done, filters.is_empty()) {
            self.tell_left(&filters, request, folder);
        }
        done
    }

    fn rescue_but(
        &self,
        filters: &[String],
        request: &WorkspaceRequest,
        folder: &Folder,
    ) -> Result<Option<Rescued>, WorkspaceError> {
        let Ok(base) = fs::read_to_string(&folder.base) else { return Ok(None) };
        self.forget_written(&folder.index);
        self.disk
            .take(|| self.shadow.add_but(filters.iter().map(String::as_str), &folder.tree, &folder.index))?;
        let tree = self.shadow.tree_of(&folder.tree, &folder.index)?;
        if tree == self.tree_of_commit(&base)? {
            return Ok(None);
        }
        let commit = self.shadow.commit(&tree, &[&base], &request.message(&self.run))?;
        let touched = self.shadow.touched(&base, &commit)?;
        let word = branch_word(request.task.as_str());
        let name = self.keep_commit(&format!("{word}/{}", request.attempt), &commit)?;
        let stacked = !request.stack.is_empty();
        Ok(Some(Rescued { name, change: Change { touched, stacked, ..Change::new(&base, commit) } }))
    }

    fn tell_left(&self, filters: &[String], request: &WorkspaceRequest, folder: &Folder) {
        let changed = |name: &String| self.shadow.changed_under(name, &folder.tree, &folder.index);
        let left: Vec<String> = filters.iter().filter_map(|name| changed(name).ok()).flatten().collect();
        self.notice(format!(
            "{} of {} cannot be stored without the filter {} and stays in its workspace",
            left.join(", "),
            request.task,
            filters.join(", ")
        ));
    }
}
