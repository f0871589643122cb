//! Plans written as one line of text, for tests.

use crate::plan::{Command, Dependency, Kind, Plan, Task, When, Work};
use crate::values::ids::TaskId;

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

/// `"a; b@x <- a; c <- a? b~"`: tasks, their groups and what each waits for (`?` when finished, `~` soft).
pub(crate) fn plan(text: &str) -> Plan {
    let tasks = text.split(';').map(|entry| {
        let (head, before) = entry.split_once("<-").unwrap_or((entry, ""));
        let (name, group) = match head.trim().split_once('@') {
            Some((name, group)) => (name, Some(group.to_owned())),
            None => (head.trim(), None),
        };
        let mut task = Task::new(id(name), Work::Run(Command::Line("true".into())));
        task.group = group;
        task.dependencies = before.split_whitespace().map(dependency).collect();
        task
    });
    Plan { tasks: tasks.collect(), ..Plan::default() }
}

pub(crate) fn dependency(text: &str) -> Dependency {
    let mut dependency = Dependency::on(id(text.trim_end_matches(['?', '~'])));
    dependency.when = if text.ends_with('?') { When::Finished } else { When::Landed };
    dependency.kind = if text.ends_with('~') { Kind::Soft } else { Kind::Hard };
    dependency
}
