//! What of a group can be done now: what has landed before need not be, and what waits for something that is neither
//! landed nor closed cannot.
//!
//! The decisions are functions of what was read before: the plan, the issues of beads, what earlier runs have landed.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use conductor_core::plan::groups::{Chosen, Circumstances, SEQUENTIAL};
use conductor_core::plan::subagents::{Known, assign};
use conductor_core::plan::{Dependency, Done, Fingerprint, Plan, Task};
use conductor_core::run::Run;
use conductor_core::values::ids::{RunId, TaskId};
use thiserror::Error;

use super::{Former, landed, under_way};
use crate::records::beads::{self, Inquiry, Issue};
use crate::stores::{EarlierRuns, StoreError};

/// Why none of it can begin.
#[derive(Debug, Error)]
pub enum Unready {
    #[error("group {group} is being carried out in run {run}, or was left in it")]
    UnderWay { run: RunId, group: String },
    /// A group that follows others begins with their work.
    #[error("what follows cannot begin: {why}")]
    Unmerged { why: String },
    #[error("all of it has been done before: {tasks}")]
    AllDone { tasks: String },
    #[error("issue {issue} is for {subagent}, and there is no such subagent")]
    NoSubagent { issue: TaskId, subagent: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What beads knows; nothing where it is not used.
#[derive(Debug, Default)]
pub struct KnownIssues {
    pub all: Vec<Issue>,
    /// Why an issue is not free, as our own runs tell it.
    pub taken: BTreeMap<String, String>,
    /// Whether what lands can be closed.
    pub closes: bool,
}

/// What earlier runs have landed, by task.
#[derive(Debug, Default)]
pub struct LandedBefore {
    /// In runs of the same file or of the issues here: what others wait for.
    pub any: BTreeMap<String, Former>,
    /// In runs of groups of the same file that asked for the same: what need not be done again.
    pub same: BTreeMap<String, Former>,
}

impl LandedBefore {
    /// With `again`, nothing counts as done.
    pub async fn read(
        earlier: &mut EarlierRuns<'_>,
        source: &str,
        directory: &Path,
        plan: &Plan,
        again: bool,
    ) -> Result<LandedBefore, StoreError> {
        let any = landed_here(earlier, source, directory).await?;
        let asked: HashMap<&TaskId, Fingerprint> =
            plan.tasks.iter().map(|task| (&task.id, task.fingerprint())).collect();
        let is_same = |run: &Run, task: &Task| {
            run.plan().execution.is_some() && asked.get(&task.id) == Some(&task.fingerprint())
        };
        let same = match again {
            true => BTreeMap::new(),
            false => landed(earlier, &[source.to_owned()], directory, is_same).await?,
        };
        Ok(LandedBefore { any, same })
    }
}

/// What has landed in runs of this source or of the issues of the directory.
pub async fn landed_here(
    earlier: &mut EarlierRuns<'_>,
    source: &str,
    directory: &Path,
) -> Result<BTreeMap<String, Former>, StoreError> {
    let sources = [source.to_owned(), beads::source(directory), beads::export_source(directory)];
    landed(earlier, &sources, directory, |_, _| true).await
}

/// Refuses groups that another run is carrying out, or has left.
pub async fn refuse_twice(
    earlier: &mut EarlierRuns<'_>,
    directory: &Path,
    plan: &Plan,
) -> Result<(), Unready> {
    let named = plan.tasks.iter().filter_map(|task| task.group.as_deref());
    let mut ids: Vec<&str> = named.map(|group| plan.group_id(group)).collect();
    ids.dedup();
    match under_way(earlier, directory, &ids).await? {
        None => Ok(()),
        Some((run, group)) => Err(Unready::UnderWay { run, group }),
    }
}

/// Takes what is done already out of what was chosen. Where all groups of a file are meant (`one_group` is false), those
/// that follow need what was done in their checkout.
pub fn take_out_done(
    chosen: &mut Chosen,
    issues: &KnownIssues,
    same: &BTreeMap<String, Former>,
    one_group: bool,
) -> Result<Vec<Done>, Unready> {
    let done: Vec<Done> = chosen.plan.asked().filter_map(|task| issues.done(task, same)).collect();
    let objection = |done: &Done| {
        let task = done.task.as_str();
        same.get(task).and_then(|former| former.objection(task))
    };
    if let Some(why) = done.iter().find_map(objection).filter(|_| !one_group) {
        return Err(Unready::Unmerged { why });
    }
    if !done.is_empty() && done.len() == chosen.plan.asked().count() {
        return Err(Unready::AllDone { tasks: names(&done) });
    }
    if !done.is_empty() {
        chosen.leave_out(&done.iter().map(|done| done.task.clone()).collect());
    }
    Ok(done)
}

/// The tasks by name, in one line.
pub fn names(done: &[Done]) -> String {
    done.iter().map(|done| done.task.as_str()).collect::<Vec<_>>().join(", ")
}

/// What is to be done, and why some of it cannot be now. `specialists` are needed where there are issues.
pub fn ready(
    mut chosen: Chosen,
    done: Vec<Done>,
    issues: &KnownIssues,
    landed: &BTreeMap<String, Former>,
    specialists: Option<&Known>,
) -> Result<(Plan, Circumstances), Unready> {
    let mut blocked = match specialists {
        Some(known) => issues.enrich(&mut chosen, known)?,
        None => BTreeMap::new(),
    };
    for (task, outside) in &chosen.outside {
        if let Some(why) = outside.iter().find_map(|on| issues.objection(on, landed.get(on))) {
            blocked.entry(task.clone()).or_insert(why);
        }
    }
    let closed_by_us = issues.closed_by_us(&chosen.plan);
    let outside = chosen.outside.into_iter().filter(|(_, on)| !on.is_empty()).collect::<BTreeMap<_, _>>();
    let may_change = !issues.all.is_empty() || !outside.is_empty();
    let circumstances = Circumstances { blocked, done, issues: closed_by_us, outside, may_change };
    Ok((chosen.plan, circumstances))
}

/// Which tasks of a run under way cannot begin now, and why; `completed` is what is done of its plan.
pub fn blocked_now(
    plan: &Plan,
    tasks: &[TaskId],
    completed: &BTreeSet<TaskId>,
    issues: &KnownIssues,
    landed: &BTreeMap<String, Former>,
) -> BTreeMap<TaskId, String> {
    let inquiry = Inquiry::of(&issues.all);
    let under_way = UnderWay { plan, completed, issues, landed };
    let open = tasks.iter().filter(|task| !completed.contains(*task));
    let blocked = open.filter_map(|task| {
        let why = under_way.held_by_issue(&inquiry, task).or_else(|| under_way.held_from_outside(task))?;
        Some((task.clone(), why))
    });
    blocked.collect()
}

struct UnderWay<'a> {
    plan: &'a Plan,
    completed: &'a BTreeSet<TaskId>,
    issues: &'a KnownIssues,
    landed: &'a BTreeMap<String, Former>,
}

impl UnderWay<'_> {
    /// What beads says of a task that is an issue.
    fn held_by_issue(&self, inquiry: &Inquiry<'_>, task: &TaskId) -> Option<String> {
        let issue = inquiry.issue(task.as_str())?;
        if issue.is_closed() {
            return Some("it is closed in beads".to_owned());
        }
        if let Some(why) = self.issues.taken.get(task.as_str()) {
            return Some(format!("it {why}"));
        }
        let on = match inquiry.held_by(issue) {
            Err(why) => return Some(why),
            Ok(on) => on,
        };
        let waits = |on: &str| {
            let task = self.plan.task(task);
            task.is_some_and(|task| task.dependencies.iter().any(|known| known.id.as_str() == on))
        };
        let own = |on: &str| TaskId::parse(on).ok().filter(|on| self.plan.place(on).is_some());
        on.into_iter().find_map(|on| match own(on) {
            // What landed in this run is closed when its group is over, and what the task waits for is waited for.
            Some(own) if self.completed.contains(&own) || waits(on) => None,
            Some(_) => Some(format!("it waits for {on}, which comes later in this run")),
            None => self.issues.objection(on, self.landed.get(on)),
        })
    }

    /// What the task waits for that is not in its run.
    fn held_from_outside(&self, task: &TaskId) -> Option<String> {
        let outside = self.plan.execution.as_ref()?.outside.get(task)?;
        outside.iter().find_map(|on| self.issues.objection(on, self.landed.get(on)))
    }
}

impl KnownIssues {
    fn issue(&self, id: &str) -> Option<&Issue> {
        self.all.iter().find(|issue| issue.id == id)
    }

    fn open(&self, id: &str) -> Option<&Issue> {
        self.issue(id).filter(|issue| !issue.is_closed())
    }

    /// Closed here, or landed before; what beads says counts, where it knows the task.
    fn done(&self, task: &Task, same: &BTreeMap<String, Former>) -> Option<Done> {
        let former = same.get(task.id.as_str());
        match self.issue(task.id.as_str()) {
            Some(issue) if !issue.is_closed() => return None,
            None if former.is_none() => return None,
            _ => {}
        }
        Some(Done {
            group: task.group.clone().unwrap_or_else(|| SEQUENTIAL.to_owned()),
            task: task.id.clone(),
            landed: former.is_some_and(|former| former.landed),
            subagent: former.and_then(|former| former.subagent.clone()),
            started: former.and_then(|former| former.started),
            ended: former.and_then(|former| former.ended),
        })
    }

    /// The tasks whose issues are closed when they have landed.
    fn closed_by_us(&self, plan: &Plan) -> BTreeSet<TaskId> {
        let ids = plan.tasks.iter().map(|task| &task.id).filter(|_| self.closes);
        ids.filter(|id| self.open(id.as_str()).is_some()).cloned().collect()
    }

    /// Why a task that waits for something outside the plan cannot begin, where that is so.
    fn objection(&self, on: &str, landed: Option<&Former>) -> Option<String> {
        match (self.issue(on), landed) {
            (Some(issue), _) if issue.is_closed() => None,
            (_, Some(former)) => former.objection(on),
            (Some(issue), None) => Some(format!("{on} is {} in beads", issue.status)),
            (None, None) => Some(format!("{on} has not landed")),
        }
    }

    /// Who does what, and what waits for what, as beads says it; which of them cannot be done now.
    fn enrich(&self, chosen: &mut Chosen, known: &Known) -> Result<BTreeMap<TaskId, String>, Unready> {
        let mut blocked = BTreeMap::new();
        let inquiry = Inquiry::of(&self.all);
        let ids: BTreeSet<String> = chosen.plan.tasks.iter().map(|task| task.id.to_string()).collect();
        for place in 0..chosen.plan.tasks.len() {
            let id = chosen.plan.tasks[place].id.clone();
            let Some(issue) = self.open(id.as_str()) else { continue };
            if let Some(why) = self.taken.get(id.as_str()) {
                blocked.insert(id.clone(), format!("it {why}"));
            }
            match inquiry.held_by(issue) {
                Err(why) => drop(blocked.entry(id.clone()).or_insert(why)),
                Ok(on) => {
                    let (within, outside): (Vec<&str>, Vec<&str>) =
                        on.into_iter().partition(|on| ids.contains(*on));
                    within.into_iter().for_each(|on| wait_for(&mut chosen.plan, place, on));
                    for on in outside {
                        chosen.outside.entry(id.clone()).or_default().insert(on.to_owned());
                    }
                }
            }
            tell_specialist(&mut chosen.plan, place, &inquiry, issue, known)?;
            tell_entrants(&mut chosen.plan, place);
        }
        Ok(blocked)
    }
}

/// Skills, model and specialist that the issue names.
fn tell_specialist(
    plan: &mut Plan,
    place: usize,
    inquiry: &Inquiry<'_>,
    issue: &Issue,
    known: &Known,
) -> Result<(), Unready> {
    let draft = inquiry.as_task(issue, known);
    let task = &mut plan.tasks[place];
    if task.applicable_skills.is_empty() {
        task.applicable_skills = draft.applicable_skills;
    }
    if task.model.is_none() {
        task.model = draft.model;
    }
    let Some(name) = draft.subagent_type else { return Ok(()) };
    let issue = task.id.clone();
    assign(plan, place, &name, &draft.fallback_agents, known)
        .map_err(|subagent| Unready::NoSubagent { issue, subagent })
}

/// Those who race for a task do it with the same specialist and skills.
fn tell_entrants(plan: &mut Plan, place: usize) {
    let task = plan.tasks[place].clone();
    for entrant in plan.tasks.iter_mut().filter(|other| other.entrant_of() == Some(&task.id)) {
        entrant.subagent_type.clone_from(&task.subagent_type);
        entrant.applicable_skills.clone_from(&task.applicable_skills);
        entrant.preparation.clone_from(&task.preparation);
    }
}

fn wait_for(plan: &mut Plan, place: usize, on: &str) {
    let task = &mut plan.tasks[place];
    if let Ok(on) = TaskId::parse(on)
        && !task.dependencies.iter().any(|known| known.id == on)
    {
        task.dependencies.push(Dependency::on(on));
    }
}
