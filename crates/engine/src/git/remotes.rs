//! The remotes of the user's repository, and the commit by which it is known everywhere.

use std::path::Path;

use super::{GitError, Repository, deaf, output};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    /// Everything it is fetched from or pushed to, after what is configured in place of addresses; paths are absolute.
    pub addresses: Vec<String>,
}

/// Of the repository a directory is in; none outside of any.
pub fn remotes(directory: &Path) -> Result<Vec<Remote>, GitError> {
    let Ok(common) = Repository::common_of(directory) else { return Ok(Vec::new()) };
    let ask = |args: &[&str]| {
        let mut command = deaf(directory);
        command.args(args);
        output(command)
    };
    let root = common.parent().unwrap_or(&common);
    let absolute = |address: &str| {
        let is_path = !address.contains(':') && !address.starts_with('/');
        if is_path { root.join(address).display().to_string() } else { address.to_owned() }
    };
    let mut found = Vec::new();
    for name in ask(&["remote"])?.lines() {
        let mut addresses = Vec::new();
        for args in [
            &["remote", "get-url", "--all", "--", name][..],
            &["remote", "get-url", "--push", "--all", "--", name],
        ] {
            // A remote may have no address; then there is nothing to compare.
            addresses.extend(ask(args).unwrap_or_default().lines().map(absolute));
        }
        addresses.sort();
        addresses.dedup();
        found.push(Remote { name: name.to_owned(), addresses });
    }
    Ok(found)
}

impl Repository {
    /// The first commit of what is checked out; of several, the one whose name sorts first. A clone that was cut short does
    /// not have it.
    pub fn first_commit(&self) -> Result<Option<String>, GitError> {
        if self.common.join("shallow").exists() {
            return Ok(None);
        }
        let mut command = self.command();
        command.args(["rev-list", "--max-parents=0", "HEAD"]);
        Ok(output(command)?.lines().map(str::to_owned).min())
    }

    /// Which of these commits are not here.
    pub fn lacking<'a>(&self, commits: impl IntoIterator<Item = &'a str>) -> Result<Vec<&'a str>, GitError> {
        let mut lacking = Vec::new();
        for commit in commits {
            let mut command = self.command();
            command.args(["cat-file", "-e", &format!("{commit}^{{tree}}")]);
            match output(command) {
                Ok(_) => {}
                Err(GitError::Failed { .. }) => lacking.push(commit),
                Err(error) => return Err(error),
            }
        }
        Ok(lacking)
    }
}
