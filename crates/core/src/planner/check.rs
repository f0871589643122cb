//! Everything that is wrong with a draft, in words its author can act on.

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use super::answer::{Analysis, Draft, DraftTask};
use super::names::outside;
use crate::plan::file_sets::{FileSet, Holders};
use crate::plan::graph::Node;
use crate::plan::permissions::BLOCKED;
use crate::values::counted::counted;
use crate::values::ids::TaskId;

/// More files than this name a folder.
pub(super) const MOST_FILES: usize = 200;

/// One mistake. Tasks are named by their ids, or by their place where they have none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Finding {
    #[error("the plan has no tasks")]
    NoTasks,
    #[error("the plan has {}, and {most} are the most there may be", counted(*.found, "task"))]
    TooMany { found: usize, most: usize },
    #[error(
        "every issue needs at least one task of its own: the plan has {} for {}",
        counted(*.found, "task"),
        counted(*.least, "issue")
    )]
    TooFew { found: usize, least: usize },
    #[error("the analysis expects {}, and the plan has {planned}: make them agree", counted(*.analysed, "task"))]
    Count { analysed: u32, planned: usize },
    #[error("task number {} is no object: {what}", place + 1)]
    NoTask { place: usize, what: String },
    #[error("task number {}: '{key}' must be {form}, not {found}", place + 1)]
    WrongForm { place: usize, key: &'static str, form: &'static str, found: String },
    #[error("{task} has a bad id: {why}")]
    BadId { task: String, why: String },
    #[error("two tasks have the id '{0}', or one that differs only in case")]
    Twins(String),
    #[error("{0} has no description of what is to be done")]
    Empty(String),
    #[error("{task} depends on '{on}', and there is no such task")]
    Unknown { task: String, on: String },
    #[error("the plan's 'dependencies' must map ids of its tasks to lists of them; this does not: {0}")]
    Astray(String),
    #[error("{0} depends on itself")]
    Itself(String),
    #[error("these tasks wait for each other in a circle: {0}")]
    Circle(String),
    #[error("{task} names the file '{file}', which {why}")]
    Outside { task: String, file: String, why: &'static str },
    #[error("{0} names more than {MOST_FILES} files; name folders")]
    ManyFiles(String),
    #[error("{task} is to be verified by `{command}`, which has `{part}` in it and is not allowed")]
    Blocked { task: String, command: String, part: &'static str },
    #[error(
        "{first} and {second} touch the same files and neither depends on the other: one has to wait for the other"
    )]
    Overlap { first: String, second: String },
}

/// How many tasks there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub least: usize,
    pub most: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { least: 1, most: super::MOST_TASKS }
    }
}

/// Every mistake of a draft. Where there are no tasks or too many, nothing else is looked at.
pub fn check(draft: &Draft, analysis: Option<&Analysis>, bounds: Bounds) -> Vec<Finding> {
    let (planned, Bounds { least, most }) = (draft.tasks.len(), bounds);
    if planned == 0 {
        return vec![Finding::NoTasks];
    }
    if planned > most {
        return vec![Finding::TooMany { found: planned, most }];
    }
    let mut findings = Vec::new();
    if planned < least {
        findings.push(Finding::TooFew { found: planned, least });
    }
    if let Some(analysis) = analysis.filter(|analysis| analysis.num_tasks as usize != planned) {
        findings.push(Finding::Count { analysed: analysis.num_tasks, planned });
    }
    names(draft, &mut findings);
    findings.extend(draft.astray.iter().cloned().map(Finding::Astray));
    for (place, task) in draft.tasks.iter().enumerate() {
        itself(place, task, &mut findings);
    }
    let links = links(&draft.tasks);
    for (place, task) in draft.tasks.iter().enumerate() {
        waits(place, task, &links[place], &mut findings);
    }
    if let Some(circle) = circle(&links) {
        let names: Vec<&str> = circle.iter().map(|&place| draft.tasks[place].id.as_str()).collect();
        findings.push(Finding::Circle(format!("{} → {}", names.join(" → "), names[0])));
    }
    let overlaps = overlaps(&draft.tasks, &links);
    findings.extend(overlaps.into_iter().map(|(first, second)| Finding::Overlap {
        first: label(first, &draft.tasks[first]),
        second: label(second, &draft.tasks[second]),
    }));
    findings
}

pub(super) fn label(place: usize, task: &DraftTask) -> String {
    match task.id.is_empty() {
        true => format!("task number {}", place + 1),
        false => format!("task '{}'", crate::values::json_answer::short(&task.id)),
    }
}

fn names(draft: &Draft, findings: &mut Vec<Finding>) {
    let mut seen = HashSet::new();
    for (place, task) in draft.tasks.iter().enumerate() {
        if let Err(why) = TaskId::parse(&task.id) {
            findings.push(Finding::BadId { task: label(place, task), why: why.to_string() });
        } else if !seen.insert(task.id.to_lowercase()) {
            findings.push(Finding::Twins(task.id.clone()));
        }
    }
}

/// What can be told of a task alone.
fn itself(place: usize, task: &DraftTask, findings: &mut Vec<Finding>) {
    let name = || label(place, task);
    if task.description.is_empty() {
        findings.push(Finding::Empty(name()));
    }
    if task.files.len() > MOST_FILES {
        findings.push(Finding::ManyFiles(name()));
    }
    for file in &task.files {
        if let Some(why) = outside(file) {
            findings.push(Finding::Outside {
                task: name(),
                file: crate::values::json_answer::short(file),
                why,
            });
        }
    }
    for command in &task.verify {
        if let Some(part) = blocked(command) {
            let command = crate::values::json_answer::short(command);
            findings.push(Finding::Blocked { task: name(), command, part });
        }
    }
}

/// The part of a command that makes it too dangerous to run unseen.
pub(super) fn blocked(command: &str) -> Option<&'static str> {
    BLOCKED.into_iter().find(|part| command.contains(part)).map(str::trim)
}

fn waits(place: usize, task: &DraftTask, links: &[Option<usize>], findings: &mut Vec<Finding>) {
    for (on, link) in task.dependencies.iter().zip(links) {
        match link {
            None => {
                let on = crate::values::json_answer::short(on);
                findings.push(Finding::Unknown { task: label(place, task), on });
            }
            Some(on) if *on == place => findings.push(Finding::Itself(label(place, task))),
            Some(_) => {}
        }
    }
}

/// For every task and every one of its dependencies, which task is meant, if any: the first of that id.
pub(super) fn links(tasks: &[DraftTask]) -> Vec<Vec<Option<usize>>> {
    let mut places = HashMap::new();
    for (place, task) in tasks.iter().enumerate() {
        places.entry(task.id.as_str()).or_insert(place);
    }
    let of = |task: &DraftTask| task.dependencies.iter().map(|on| places.get(on.as_str()).copied()).collect();
    tasks.iter().map(of).collect()
}

/// The first circle there is, each waiting for the next. One task that waits for itself is none.
pub(super) fn circle(links: &[Vec<Option<usize>>]) -> Option<Vec<usize>> {
    let mut done = vec![false; links.len()];
    for start in 0..links.len() {
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        let mut on_path = HashSet::from([start]);
        while let Some((task, next)) = path.last_mut() {
            let (task, place) = (*task, *next);
            *next += 1;
            match links[task].get(place) {
                None => {
                    path.pop();
                    on_path.remove(&task);
                    done[task] = true;
                }
                Some(Some(on)) if *on != task && on_path.contains(on) => {
                    let from = path.iter().position(|(known, _)| known == on)?;
                    return Some(path[from..].iter().map(|(task, _)| *task).collect());
                }
                Some(Some(on)) if *on != task && !done[*on] => {
                    path.push((*on, 0));
                    on_path.insert(*on);
                }
                Some(_) => {}
            }
        }
    }
    None
}

/// Whom each task waits for, directly or not.
pub(super) fn reach(links: &[Vec<Option<usize>>]) -> Vec<Vec<bool>> {
    let from = |start: usize| {
        let mut seen = vec![false; links.len()];
        let mut open = vec![start];
        while let Some(task) = open.pop() {
            for on in links[task].iter().flatten() {
                if !std::mem::replace(&mut seen[*on], true) {
                    open.push(*on);
                }
            }
        }
        seen
    };
    (0..links.len()).map(from).collect()
}

/// Pairs of tasks whose files meet, the earlier first.
pub(super) fn meetings(tasks: &[DraftTask]) -> Vec<(usize, usize)> {
    let inside = |task: &DraftTask| {
        let files = task.files.iter().filter(|file| outside(file).is_none()).take(MOST_FILES);
        FileSet::new(&files.cloned().collect::<Vec<_>>())
    };
    let sets: Vec<FileSet> = tasks.iter().map(inside).collect();
    let mut holders = Holders::default();
    let mut met = Vec::new();
    for (second, set) in sets.iter().enumerate() {
        if tasks[second].files.is_empty() {
            continue;
        }
        let others = holders.meeting(set, |task| sets.get(task as usize));
        met.extend(others.map(|first| (first as usize, second)));
        holders.insert(second as Node, set);
    }
    met
}

fn overlaps(tasks: &[DraftTask], links: &[Vec<Option<usize>>]) -> Vec<(usize, usize)> {
    let reach = reach(links);
    let apart = |(a, b): &(usize, usize)| !reach[*a][*b] && !reach[*b][*a];
    meetings(tasks).into_iter().filter(apart).collect()
}
