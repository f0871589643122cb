//! The same value for a kernel that can only add: a rule opens a folder and all below it, and nothing closes a part of that
//! again. So a folder of which something is to stay out of reach is not opened itself, only what else is in it.

use serde::{Deserialize, Serialize};

use super::{Access, Confinement, Mount, is_within};

/// One rule: what is opened, with all below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub path: String,
    pub writes: bool,
}

impl Confinement {
    /// `children` names what is in a folder, links left out: where they lead is opened by itself or not at all.
    ///
    /// A folder to write stays whole, for new files are made in it, and then what is only to be read in it is written, too.
    /// One exception is a folder of which a part is another's (the git directory that worktrees share).
    pub fn grants(&self, children: &dyn Fn(&str) -> Vec<String>) -> Vec<Grant> {
        let mut grants = Vec::new();
        for (number, mount) in self.mounts.iter().enumerate() {
            let writes = match mount.access {
                Access::Read | Access::Settings => false,
                Access::Write | Access::Make => true,
                Access::Copy | Access::Fresh | Access::Hidden => continue,
            };
            let later = &self.mounts[number + 1..];
            let is_taken = |over: &Mount| {
                let narrows = match over.access {
                    Access::Fresh | Access::Hidden => true,
                    Access::Read | Access::Settings => writes,
                    Access::Write | Access::Make | Access::Copy => false,
                };
                narrows && is_within(&mount.path, &over.path)
            };
            if later.iter().any(is_taken) {
                continue;
            }
            let below: Vec<&Mount> = later
                .iter()
                .filter(|over| over.path != mount.path && is_within(&over.path, &mount.path))
                .collect();
            let is_anothers = below.iter().any(|over| over.access == Access::Fresh);
            let kept: Vec<&str> = below
                .iter()
                .filter(|over| match over.access {
                    Access::Fresh | Access::Hidden => !writes || is_anothers,
                    Access::Read | Access::Settings => writes && is_anothers,
                    Access::Write | Access::Make | Access::Copy => false,
                })
                .map(|over| over.path.as_str())
                .collect();
            open(&mount.path, writes, &kept, children, &mut grants);
        }
        grants
    }
}

/// All of a folder but what is kept back.
fn open(
    path: &str,
    writes: bool,
    kept: &[&str],
    children: &dyn Fn(&str) -> Vec<String>,
    grants: &mut Vec<Grant>,
) {
    if kept.contains(&path) {
        return;
    }
    if !kept.iter().any(|kept| is_within(kept, path)) {
        grants.push(Grant { path: path.to_owned(), writes });
        return;
    }
    for child in children(path) {
        open(&format!("{}/{child}", path.trim_end_matches('/')), writes, kept, children, grants);
    }
}
