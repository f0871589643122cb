//! What may break a rule, and why.

use std::path::{Path, PathBuf};

use super::Finding;

struct Allowed {
    path: &'static str,
    /// What the finding begins with.
    what: &'static str,
    why: &'static str,
}

const ALLOWED: &[Allowed] = &[
    Allowed {
        path: "crates/core/src/file/keys.rs",
        what: "",
        why: "the table of all keys of a task file, a line or two each",
    },
    Allowed {
        path: "crates/cli/src/commands/explain/codes.rs",
        what: "`of_class`",
        why: "the table of what each class of failure means, a text each",
    },
];

/// Takes out what is allowed. What is allowed and not found any more is a finding itself.
pub(super) fn sift(mut findings: Vec<Finding>) -> Vec<Finding> {
    let unused: Vec<&Allowed> =
        ALLOWED.iter().filter(|allowed| !findings.iter().any(|finding| allowed.covers(finding))).collect();
    findings.retain(|finding| !ALLOWED.iter().any(|allowed| allowed.covers(finding)));
    findings.extend(unused.into_iter().map(|Allowed { path, what, why }| Finding {
        path: PathBuf::from("xtask/src/tidy/allowed.rs"),
        line: 1,
        what: format!("{path} is allowed to have \"{what}\" ({why}), and has it no more"),
    }));
    findings
}

impl Allowed {
    fn covers(&self, finding: &Finding) -> bool {
        finding.path == Path::new(self.path) && finding.what.starts_with(self.what)
    }
}
