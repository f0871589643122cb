//! `verify: ["plugin:NAME"]`: a check that is done by a verifier. It is asked by a process of our own inside of the attempt, so
//! that whatever the plugin does stays there and ends with it; what it found is left in a file.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::plan::Task;
use conductor_core::run::event::{Failure, FailureClass, Finding};

use super::{Order, Worker};
use crate::agents;
use crate::git::workspaces::Workspace;
use crate::host::access;
use crate::plugins::{self, Kind};
use crate::process::Launch;

/// What such a check begins with.
pub const PREFIX: &str = "plugin:";

/// So many findings are kept with the run; all of them are in the transcript.
const KEPT: usize = 200;

/// A file of findings that is larger was not written by us.
const LARGEST: u64 = 64 << 20;

/// The verifier that a check names, and what it is told beside.
pub fn named(check: &str) -> Option<(&str, Vec<String>)> {
    let mut words = check.trim().strip_prefix(PREFIX)?.split_whitespace();
    let name = words.next().unwrap_or_default();
    Some((name, words.map(str::to_owned).collect()))
}

impl Worker {
    /// How to start the process that asks a verifier.
    pub(super) fn verifier_launch(
        &self,
        order: &Order,
        task: &Task,
        (name, arguments): (&str, Vec<String>),
        workspace: &Workspace,
    ) -> Result<Launch, Failure> {
        let unstartable = |why: String| Failure::new(FailureClass::Unstartable, why);
        plugins::find(Kind::Verifier, name).map_err(|error| unstartable(error.to_string()))?;
        let (program, root, accepted) = plugins::asking()
            .ok_or_else(|| unstartable("this program has no way to ask a verifier".to_owned()))?;
        let file = self.findings_file(order);
        let _ = std::fs::remove_file(&file);
        let folder = file.parent().map_or(Ok(()), access::create_dir_all);
        folder.map_err(|error| unstartable(format!("cannot write {}: {error}", file.display())))?;
        let mut launch = agents::command("", task, workspace, &self.caller);
        let fixed = ["plugin", "verify", "--task", task.id.as_str(), "--findings"].map(OsString::from);
        launch.args = fixed
            .into_iter()
            .chain([file.into(), "--root".into(), root.into(), name.into(), "--".into()])
            .collect();
        launch.args.extend(arguments.into_iter().map(OsString::from));
        launch.program = program.into();
        let env = Arc::make_mut(&mut launch.env);
        env.extend(self.caller.for_plugins());
        env.insert("CONDUCTOR_HOME".into(), self.context.home.clone().into());
        env.insert("CONDUCTOR_TRUST".into(), accepted.join(",").into());
        Ok(launch)
    }

    fn findings_file(&self, order: &Order) -> PathBuf {
        self.context.output.join("findings").join(format!("{}.{}.json", order.task, order.attempt))
    }

    /// What the verifier that was just asked has found. Secrets are removed from it.
    pub(super) fn findings(&self, order: &Order, task: &Task) -> Vec<Finding> {
        let mut text = Vec::new();
        let read =
            File::open(self.findings_file(order)).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
        let found: Vec<Finding> =
            read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let redactor = self.caller.redactor(&order.plan, task);
        let clean = |finding: Finding| Finding { message: redactor.string(finding.message), ..finding };
        found.into_iter().take(KEPT).map(clean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_names_a_verifier_is_told_from_a_command() {
        assert_eq!(
            named("plugin:licences --strict a"),
            Some(("licences", vec!["--strict".to_owned(), "a".to_owned()]))
        );
        assert_eq!(named(" plugin:x "), Some(("x", Vec::new())));
        assert_eq!(named("plugin:"), Some(("", Vec::new())));
        assert_eq!(named("echo plugin:x"), None);
    }
}
