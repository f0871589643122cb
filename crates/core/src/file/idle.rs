//! Keys that are known and change nothing: told with their places, for the user counts on them.

use std::collections::HashSet;

use super::diagnostic::{Diagnostic, Report};
use super::source::{Source, Span};
use super::tree::{Entry, Node, Value};
use crate::plan::cloud::CLOUD as CLOUD_AGENT;
use crate::plan::{Cloud, OnConflict, Plan, Task};
use crate::values::ids::TaskId;

/// What is said of work in the cloud: of no effect where no task is for an agent there.
const CLOUD: [&str; 4] = ["repository", "pr_strategy", "auto_pr_timeout", "cloud"];

/// A section of config files about a screen that is not there.
const SECTIONS: [&str; 1] = ["ui"];

/// Whether a setting of a config file has no effect. What is for the cloud may be for a task of any file.
pub(super) fn is_idle(key: &str) -> bool {
    SECTIONS.contains(&key)
}

/// A setting, and whether it is one of an agent in the cloud, or of all tasks where one of them is for such an agent.
type Placed<'n> = (&'n Entry, bool);

/// What stands in a whole file, and what came of it.
pub(super) struct OfFile<'n> {
    root: &'n Node,
    plan: &'n Plan,
    in_cloud: HashSet<&'n str>,
}

impl<'n> OfFile<'n> {
    pub(super) fn new(root: &'n Node, plan: &'n Plan) -> OfFile<'n> {
        let in_cloud = plan.tasks.iter().filter(|task| task.is_for_cloud());
        let in_cloud = in_cloud.map(|task| task.entrant_of().unwrap_or(&task.id).as_str()).collect();
        OfFile { root, plan, in_cloud }
    }

    fn section(&self, name: &str) -> Option<&'n Node> {
        entry(self.root, |key| key == name).map(|(_, node)| node)
    }

    fn tasks(&self) -> &'n [Node] {
        match (&self.root.value, self.section("tasks").map(|node| &node.value)) {
            (Value::Seq(tasks), _) | (_, Some(Value::Seq(tasks))) => tasks,
            _ => &[],
        }
    }

    fn config(&self) -> &'n [Entry] {
        self.section("config").and_then(Node::entries).unwrap_or_default()
    }

    /// The settings of its `config` count for all of its tasks, a task's own for that task.
    pub(super) fn settings(&self, source: &Source) -> Vec<Placed<'n>> {
        let config = self.config().iter().map(|entry| (entry, !self.in_cloud.is_empty()));
        let own = self.tasks().iter().flat_map(|task| {
            let in_cloud = id(task, source).is_some_and(|id| self.in_cloud.contains(id));
            task.entries().unwrap_or_default().iter().map(move |entry| (entry, in_cloud))
        });
        // Sections of config files are unknown here, which is an error already.
        config.chain(own).filter(|((key, _), _)| !SECTIONS.contains(&&*key.text)).collect()
    }

    /// Settings that are fine by themselves, and come to nothing beside another one.
    pub(super) fn report_unheeded(&self, r: &mut Report<'_>) {
        if r.has_errors() {
            return;
        }
        // Where files are changed in place nothing lands, so nothing waits for an approval either.
        let unreviewed: Vec<&TaskId> = self.plan.unreviewed(self.plan.isolation, None).collect();
        self.tell(
            r,
            &unreviewed,
            ("land", "'land: approve' has no effect on what works in place", "isolation"),
            "with `isolation: none` nothing lands; let it have a workspace (isolation: worktree), or say land: auto",
        );
        let shared = self.plan.shared_epics();
        let is_shared = |task: &&Task| task.epic.as_deref().is_some_and(|epic| shared.contains(&epic));
        let later = self.plan.tasks.iter().filter(|task| task.on_conflict == OnConflict::RetryLater);
        let later: Vec<&TaskId> = later.filter(is_shared).map(|task| &task.id).collect();
        self.tell(
            r,
            &later,
            ("on_conflict", "'on_conflict: retry-later' has no effect in an epic with one workspace", "epic"),
            "its work lands as one, and is not done anew as one; fix_rounds lets its last task mend it",
        );
        self.report_of_the_cloud(r);
    }

    /// Keys of `cloud` that no task's transport reads, and models, which no transport can choose.
    fn report_of_the_cloud(&self, r: &mut Report<'_>) {
        let clouds = || {
            let tasks = self.plan.tasks.iter().filter(|task| task.entrant_of().is_none());
            let tasks = tasks.filter(|task| task.is_for_cloud());
            tasks.filter_map(|task| Some((&task.id, task.cloud.as_deref()?)))
        };
        for key in Cloud::KEYS {
            let said = || clouds().filter(move |(_, cloud)| cloud.says(key));
            let heeded = said().any(|(_, cloud)| cloud.heeds(key));
            let idle: Vec<&TaskId> = said().filter(|_| !heeded).map(|(id, _)| id).collect();
            let message = format!("'{key}' of 'cloud' has no effect with the transport here");
            self.tell(
                r,
                &idle,
                ("cloud", &message, "cloud"),
                "docs/cloud.md says which key is for which transport",
            );
        }
        let is_idle = |task: &&Task| task.agents().all(|agent| agent == CLOUD_AGENT);
        let has_model = |task: &&Task| task.model.is_some() && task.entrant_of().is_none();
        let (idle, others): (Vec<&Task>, Vec<&Task>) =
            self.plan.tasks.iter().filter(has_model).partition(is_idle);
        // A model of the config may be for other tasks, and a specialist's model is written nowhere in the file.
        let says_model = |task: &&Task| {
            let node = self.tasks().iter().find(|node| id(node, r.source) == Some(task.id.as_str()));
            let is_own = node.is_some_and(|node| entry(node, |key| key == "model").is_some());
            is_own || others.is_empty() && self.config().iter().any(|(key, _)| plain(&key.text) == "model")
        };
        let idle: Vec<&TaskId> = idle.into_iter().filter(says_model).map(|task| &task.id).collect();
        self.tell(
            r,
            &idle,
            ("model", "'model' has no effect on agents in the cloud", "model"),
            "a session works with the model that its provider is set to; leave it, or take it out",
        );
    }

    /// Shown at the key of the first of these tasks, else where it is said for all, else at the other key.
    fn tell(
        &self,
        r: &mut Report<'_>,
        tasks: &[&TaskId],
        (name, message, other): (&str, &str, &str),
        help: &str,
    ) {
        let Some(first) = tasks.first() else { return };
        let source = r.source;
        let task = self.tasks().iter().find(|task| id(task, source) == Some(first.as_str()));
        let own = |name: &str| task.and_then(|task| entry(task, |key| key == name));
        let of_all = |name: &str| self.config().iter().find(|(key, _)| plain(&key.text) == name);
        let mut keys = [name, other].into_iter().filter_map(|name| own(name).or_else(|| of_all(name)));
        let span = keys.next().map_or_else(Span::default, |(key, _)| key.span);
        r.warning("no-effect", span, format!("{message}: {}", named(tasks))).help(help);
    }
}

/// The first of them by name.
fn named(tasks: &[&TaskId]) -> String {
    const NAMED: usize = 3;
    let names = tasks.iter().take(NAMED).map(|task| format!("'{task}'")).collect::<Vec<_>>().join(", ");
    match tasks.len().saturating_sub(NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

fn entry(node: &Node, wanted: impl Fn(&str) -> bool) -> Option<&Entry> {
    node.entries()?.iter().find(|(key, _)| wanted(&key.text))
}

fn id<'n>(task: &'n Node, source: &'n Source) -> Option<&'n str> {
    entry(task, |key| key == "id")?.1.text(source)
}

/// A setting's name, also where it is given as a default.
fn plain(key: &str) -> &str {
    key.trim_start_matches("default_")
}

/// One warning for all of them, each shown where it is first written. A user with errors to mend hears of it after that.
pub(super) fn report<'n>(r: &mut Report<'_>, settings: impl IntoIterator<Item = Placed<'n>>) {
    if r.has_errors() {
        return;
    }
    let (mut found, mut is_mixed): (Vec<(&str, Span)>, bool) = (Vec::new(), false);
    for ((key, node), is_in_cloud) in settings {
        is_mixed |= is_in_cloud;
        let is_new = || found.iter().all(|(name, _)| *name != &*key.text);
        let name = plain(&key.text);
        let has_no_effect = is_idle(name) || CLOUD.contains(&name) && !is_in_cloud;
        if !node.is_null() && has_no_effect && is_new() {
            found.push((&key.text, key.span));
        }
    }
    let Some((&(first, span), others)) = found.split_first() else { return };
    let names = others.iter().fold(format!("'{first}'"), |names, (name, _)| format!("{names}, '{name}'"));
    let verb = if others.is_empty() { "has" } else { "have" };
    let warning: &mut Diagnostic = r.warning("no-effect", span, format!("{names} {verb} no effect"));
    for (_, span) in others {
        warning.also(*span, "nor has this");
    }
    let of_sections = found.iter().all(|(name, _)| SECTIONS.contains(name));
    warning.help(match (of_sections, is_mixed) {
        (true, _) => "nothing here reads it; leave it, or take it out",
        (false, true) => "it is for agents in the cloud, and the agent of this task works on this machine; leave it, or take it out",
        (false, false) => "it is for agents in the cloud, and the agents here work on this machine; leave it, or take it out",
    });
}
