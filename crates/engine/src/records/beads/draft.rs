//! Which issues can be done now, and what they are as tasks.
//!
//! An issue is left out where something that is not done in the same run holds it back; every one of those is told, with
//! its reason.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use conductor_core::plan::groups;
use conductor_core::plan::subagents::Known;
use conductor_core::values::ids::TaskId;
use serde_json::Value;

use super::issue::Issue;

/// An issue as a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskDraft {
    pub id: String,
    pub name: String,
    pub prompt: String,
    pub priority: u8,
    pub dependencies: Vec<String>,
    pub epic: Option<String>,
    pub group: Option<String>,
    pub subagent_type: Option<String>,
    pub fallback_agents: Vec<String>,
    pub applicable_skills: Vec<String>,
    pub model: Option<String>,
    pub estimate: Option<u64>,
}

/// An open issue that is no task, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub id: String,
    pub why: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drafted {
    pub tasks: Vec<TaskDraft>,
    /// Those the tasks belong to, and what they are called.
    pub epics: Vec<(String, String)>,
    pub left_out: Vec<LeftOut>,
}

/// Kinds of issues that are no work for an agent.
const NO_WORK: [&str; 6] = ["epic", "message", "molecule", "gate", "milestone", "decision"];

/// What beads takes for a failure in the reason an issue was closed with.
const FAILURES: [&str; 11] = [
    "failed",
    "rejected",
    "wontfix",
    "won't fix",
    "canceled",
    "cancelled",
    "abandoned",
    "blocked",
    "error",
    "timeout",
    "aborted",
];

/// `ready` is what beads itself calls ready, where it was asked; `claimed` names those that are not free, and why.
pub fn draft(
    issues: &[Issue],
    ready: Option<&HashSet<String>>,
    claimed: &BTreeMap<String, String>,
    known: &Known,
) -> Drafted {
    let tracker = Tracker::new(issues);
    let mut left_out = BTreeMap::new();
    let mut waits: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for issue in issues.iter().filter(|issue| !issue.is_closed()) {
        match tracker.waits(issue, claimed) {
            Err(why) => drop(left_out.insert(issue.id.as_str(), why)),
            Ok(on) if on.is_empty() && ready.is_some_and(|ready| !ready.contains(&issue.id)) => {
                left_out.insert(&issue.id, "bd does not call it ready".to_owned());
            }
            Ok(on) => drop(waits.insert(&issue.id, on)),
        }
    }
    leave_out_behind(&mut waits, &mut left_out);
    let mut drafted = Drafted::default();
    for issue in issues.iter().filter(|issue| waits.contains_key(issue.id.as_str())) {
        let epic = tracker.epic(issue);
        if let Some(epic) = epic.filter(|epic| drafted.epics.iter().all(|(known, _)| *known != epic.id)) {
            drafted.epics.push((epic.id.clone(), name(epic)));
        }
        let on = waits[issue.id.as_str()].iter().map(|on| (*on).to_owned()).collect();
        drafted.tasks.push(task(issue, on, epic.map(|epic| epic.id.clone()), known));
    }
    let told = issues.iter().filter(|issue| !NO_WORK.contains(&issue.kind.as_str()) && !issue.is_aside);
    let told = told.filter_map(|issue| Some((issue, left_out.remove(issue.id.as_str())?)));
    drafted.left_out = told.map(|(issue, why)| LeftOut { id: issue.id.clone(), why }).collect();
    drafted
}

/// An issue that waits for one that is left out is left out too.
fn leave_out_behind<'i>(
    waits: &mut BTreeMap<&'i str, BTreeSet<&'i str>>,
    left_out: &mut BTreeMap<&'i str, String>,
) {
    let mut behind: HashMap<&str, Vec<&'i str>> = HashMap::new();
    for (&id, on) in &*waits {
        on.iter().for_each(|on| behind.entry(on).or_default().push(id));
    }
    let mut open: Vec<&str> = left_out.keys().copied().collect();
    while let Some(culprit) = open.pop() {
        for &id in behind.get(culprit).into_iter().flatten() {
            if waits.remove(id).is_some() {
                left_out.insert(id, format!("waits for {culprit}, which is left out"));
                open.push(id);
            }
        }
    }
}

/// All issues, and how they hang together.
pub(super) struct Tracker<'i> {
    pub(super) by_id: HashMap<&'i str, &'i Issue>,
    children: HashMap<&'i str, Vec<&'i Issue>>,
}

impl<'i> Tracker<'i> {
    pub(super) fn new(issues: &'i [Issue]) -> Tracker<'i> {
        let by_id = issues.iter().map(|issue| (issue.id.as_str(), issue)).collect();
        let mut children: HashMap<&str, Vec<&Issue>> = HashMap::new();
        for issue in issues {
            for link in issue.links.iter().filter(|link| link.kind == "parent-child") {
                children.entry(&link.on).or_default().push(issue);
            }
        }
        Tracker { by_id, children }
    }

    fn parents(&self, issue: &'i Issue) -> Vec<&'i Issue> {
        let above = issue.links.iter().filter(|link| link.kind == "parent-child");
        above.filter_map(|link| self.by_id.get(link.on.as_str()).copied()).collect()
    }

    /// The issue and everything it is part of.
    fn line(&self, issue: &'i Issue) -> Vec<&'i Issue> {
        let (mut seen, mut line, mut open) = (HashSet::new(), Vec::new(), vec![issue]);
        while let Some(issue) = open.pop() {
            if seen.insert(&issue.id) {
                line.push(issue);
                open.extend(self.parents(issue));
            }
        }
        line
    }

    fn epic(&self, issue: &'i Issue) -> Option<&'i Issue> {
        let above = self.line(issue).into_iter().skip(1);
        above.into_iter().find(|issue| issue.kind == "epic" && TaskId::parse(&issue.id).is_ok())
    }

    /// What an issue waits for that could be done in the same run; why it cannot be done, where it cannot.
    fn waits(
        &self,
        issue: &'i Issue,
        claimed: &BTreeMap<String, String>,
    ) -> Result<BTreeSet<&'i str>, String> {
        free(issue, claimed)?;
        self.held_by(issue)
    }

    /// As `waits`, whatever the issue itself is like.
    pub(super) fn held_by(&self, issue: &'i Issue) -> Result<BTreeSet<&'i str>, String> {
        let mut on = BTreeSet::new();
        for member in self.line(issue) {
            if member.id != issue.id && matches!(member.status.as_str(), "blocked" | "deferred") {
                return Err(format!("is part of {}, which is {}", member.id, member.status));
            }
            for link in &member.links {
                match link.kind.as_str() {
                    "blocks" => self.until_closed(&link.on, &mut on)?,
                    "conditional-blocks" => self.until_failed(&link.on)?,
                    "waits-for" => self.until_all_closed(&link.on, &mut on)?,
                    _ => {}
                }
            }
        }
        on.remove(issue.id.as_str());
        Ok(on)
    }

    fn open(&self, id: &str) -> Result<Option<&'i Issue>, String> {
        match self.by_id.get(id) {
            Some(issue) => Ok(Some(*issue).filter(|issue| !issue.is_closed())),
            None => Err(format!("waits for {id}, which is not in this database")),
        }
    }

    /// Waiting for an epic means waiting for all of its parts: no agent does the epic itself.
    fn until_closed(&self, id: &str, on: &mut BTreeSet<&'i str>) -> Result<(), String> {
        let Some(issue) = self.open(id)? else { return Ok(()) };
        if issue.kind == "epic" {
            let before = on.len();
            self.children_of(issue, on);
            if on.len() > before {
                return Ok(());
            }
        }
        if NO_WORK.contains(&issue.kind.as_str()) {
            return Err(format!("waits for the {} {id}, which is open", issue.kind));
        }
        on.insert(&issue.id);
        Ok(())
    }

    fn until_failed(&self, id: &str) -> Result<(), String> {
        let closed = self.open(id)?.is_none();
        let reason = self.by_id.get(id).map(|issue| issue.close_reason.to_lowercase()).unwrap_or_default();
        match closed && FAILURES.iter().any(|word| reason.contains(word)) {
            true => Ok(()),
            false => Err(format!("is wanted only if {id} fails")),
        }
    }

    fn until_all_closed(&self, id: &str, on: &mut BTreeSet<&'i str>) -> Result<(), String> {
        self.until_closed(id, on)?;
        if let Some(issue) = self.by_id.get(id) {
            self.children_of(issue, on);
        }
        Ok(())
    }

    /// The open issues below one, as deep as it goes.
    fn children_of(&self, issue: &'i Issue, on: &mut BTreeSet<&'i str>) {
        let (mut seen, mut open) = (HashSet::new(), vec![issue.id.as_str()]);
        while let Some(id) = open.pop() {
            for child in self.children.get(id).into_iter().flatten() {
                if seen.insert(child.id.as_str()) {
                    open.push(&child.id);
                    if !child.is_closed() && child.kind != "epic" {
                        on.insert(&child.id);
                    }
                }
            }
        }
    }
}

/// Whether it may be done as far as it is concerned itself.
fn free(issue: &Issue, claimed: &BTreeMap<String, String>) -> Result<(), String> {
    if let Err(bad) = TaskId::parse(&issue.id) {
        return Err(format!("cannot be a task: {bad}"));
    }
    if NO_WORK.contains(&issue.kind.as_str()) || issue.is_aside {
        return Err("is no work".to_owned());
    }
    if issue.status != "open" {
        return Err(format!("is {}", issue.status));
    }
    claimed.get(&issue.id).map_or(Ok(()), |why| Err(why.clone()))
}

pub(super) fn task(
    issue: &Issue,
    dependencies: Vec<String>,
    epic: Option<String>,
    known: &Known,
) -> TaskDraft {
    let text = |key: &str| issue.metadata.get(key).and_then(Value::as_str).map(str::to_owned);
    let texts = |key: &str| match issue.metadata.get(key) {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(one)) if !one.is_empty() => vec![one.clone()],
        _ => Vec::new(),
    };
    let prompt = prompt(issue);
    // The suggested specialist may be one that we do not know.
    let suggested = || text("execution_agent_type").filter(|name| known.get(name).is_some());
    let marked = |text: &str| Some(groups::read(text).mark?.group?.to_owned());
    let suggested_group = || text("execution_parallel_group").filter(|group| groups::is_name(group));
    let group = match marked(&prompt) {
        // The mark in the prompt sets the group when the task file is read.
        Some(_) => None,
        None => marked(&issue.title).or_else(suggested_group),
    };
    TaskDraft {
        id: issue.id.clone(),
        name: name(issue),
        prompt,
        priority: issue.priority,
        dependencies,
        epic,
        group,
        subagent_type: text("subagent_type").or_else(suggested),
        fallback_agents: texts("fallback_agents"),
        applicable_skills: texts("applicable_skills"),
        model: text("execution_suggested_model"),
        estimate: issue.estimated_minutes.filter(|minutes| *minutes > 0),
    }
}

/// Its title, without a mark, as one line that is short enough.
fn name(issue: &Issue) -> String {
    const MOST: usize = 100;
    let line = |c: char| if c.is_control() { ' ' } else { c };
    let title: String = groups::unmarked(&issue.title).chars().map(line).collect();
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match title.chars().count() {
        0 => issue.id.clone(),
        1..=MOST => title,
        _ => title.chars().take(MOST - 1).chain(['…']).collect(),
    }
}

/// Everything the issue says, under its own heads.
fn prompt(issue: &Issue) -> String {
    let mut prompt = match issue.description.trim() {
        "" => issue.title.trim().to_owned(),
        description => description.to_owned(),
    };
    for (head, text) in [
        ("Design", &issue.design),
        ("Acceptance criteria", &issue.acceptance_criteria),
        ("Notes", &issue.notes),
    ] {
        if !text.trim().is_empty() {
            prompt += &format!("\n\n{head}:\n{}", text.trim());
        }
    }
    if prompt.is_empty() { issue.id.clone() } else { prompt }
}

#[cfg(test)]
mod tests;
