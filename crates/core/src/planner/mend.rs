//! What can be put right in a draft without asking the planner, each time in the same way.

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use super::answer::{Draft, DraftTask};
use super::check::{Bounds, MOST_FILES, blocked, circle, label, links, meetings, reach};
use super::names::{outside, safe_id};
use crate::values::counted::counted;
use crate::values::json_answer::{Unreadable, short};

/// Why no plan comes of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the planner's answer cannot be read: {0}")]
    Unreadable(#[from] Unreadable),
    #[error("the planner's plan has no tasks")]
    NoTasks,
    #[error("the planner's plan has {}, and {most} are the most there may be", counted(*.found, "task"))]
    TooMany { found: usize, most: usize },
    #[error("the planner's plan has {} for {}, and every issue needs one of its own", counted(*.found, "task"), counted(*.least, "issue"))]
    TooFew { found: usize, least: usize },
}

/// A name is one line of at most so many characters.
const LONGEST_NAME: usize = 100;

/// Makes a draft one that a task file can be written from: a second look finds nothing more but perhaps another number
/// of tasks than was foreseen. Tells everything that was changed.
pub fn mend(draft: &mut Draft, bounds: Bounds) -> Result<Vec<String>, Refusal> {
    let Bounds { least, most } = bounds;
    if draft.tasks.len() > most {
        return Err(Refusal::TooMany { found: draft.tasks.len(), most });
    }
    let astray = std::mem::take(&mut draft.astray).into_iter();
    let dropped = |what| format!("of the plan's 'dependencies' this is dropped, as it is of no task: {what}");
    let mut told: Vec<String> = astray.map(dropped).collect();
    describe(&mut draft.tasks, &mut told);
    if draft.tasks.is_empty() {
        return Err(Refusal::NoTasks);
    }
    if draft.tasks.len() < least {
        return Err(Refusal::TooFew { found: draft.tasks.len(), least });
    }
    rename(&mut draft.tasks, &mut told);
    for (place, task) in draft.tasks.iter_mut().enumerate() {
        name(task);
        keep_inside(place, task, &mut told);
    }
    drop_unknown(&mut draft.tasks, &mut told);
    open_circles(&mut draft.tasks, &mut told);
    put_in_order(&mut draft.tasks, &mut told);
    Ok(told)
}

/// A task's name says what is to be done where nothing else does; without either there is no task.
fn describe(tasks: &mut Vec<DraftTask>, told: &mut Vec<String>) {
    let mut place = 0;
    tasks.retain_mut(|task| {
        place += 1;
        if task.description.is_empty() {
            let name = label(place - 1, task);
            match task.name.is_empty() {
                true => told.push(format!("{name} is left out: nothing tells what is to be done")),
                false => told.push(format!("{name} is described by its name alone")),
            }
            task.description = task.name.clone();
        }
        !task.description.is_empty()
    });
}

/// Every task gets an id of its own; a dependency on an old id means the first task that had it.
fn rename(tasks: &mut [DraftTask], told: &mut Vec<String>) {
    let mut taken = HashSet::new();
    let mut new = HashMap::new();
    for (place, task) in tasks.iter_mut().enumerate() {
        let wanted = if task.id.is_empty() { task.name.clone() } else { task.id.clone() };
        let id = safe_id(&wanted, place, &mut taken);
        if id != task.id {
            told.push(format!("{} is now called '{id}'", label(place, task)));
        }
        new.entry(std::mem::replace(&mut task.id, id.clone())).or_insert(id);
    }
    for on in tasks.iter_mut().flat_map(|task| &mut task.dependencies) {
        if let Some(id) = new.get(on) {
            on.clone_from(id);
        }
    }
    for task in tasks {
        let mut seen = HashSet::new();
        task.dependencies.retain(|on| seen.insert(on.clone()));
    }
}

fn name(task: &mut DraftTask) {
    let first = |text: &str| text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
    let name = first(&task.name).or_else(|| first(&task.description)).unwrap_or_default();
    let name: String = name.replace('\t', " ").chars().take(LONGEST_NAME).collect();
    task.name = name.trim().to_owned();
}

fn keep_inside(place: usize, task: &mut DraftTask, told: &mut Vec<String>) {
    let name = label(place, task);
    task.files.retain(|file| {
        let why = outside(file);
        told.extend(why.map(|why| format!("the file '{}' of {name} is dropped: it {why}", short(file))));
        why.is_none()
    });
    if task.files.len() > MOST_FILES {
        task.files.truncate(MOST_FILES);
        told.push(format!("{name} names more than {MOST_FILES} files; the others are dropped"));
    }
    task.verify.retain(|command| {
        let part = blocked(command);
        let drop =
            |part| format!("the check `{}` of {name} is dropped: it has `{part}` in it", short(command));
        told.extend(part.map(drop));
        part.is_none()
    });
}

fn drop_unknown(tasks: &mut [DraftTask], told: &mut Vec<String>) {
    let links = links(tasks);
    for (place, task) in tasks.iter_mut().enumerate() {
        let name = label(place, task);
        let mut link = links[place].iter();
        task.dependencies.retain(|on| {
            let known = link.next().copied().flatten();
            match known {
                None => {
                    told.push(format!("{name} no longer depends on '{}': there is no such task", short(on)))
                }
                Some(on) if on == place => told.push(format!("{name} no longer depends on itself")),
                Some(_) => {}
            }
            known.is_some_and(|on| on != place)
        });
    }
}

/// Each circle is opened where the task that stands last in the plan waits for another.
fn open_circles(tasks: &mut [DraftTask], told: &mut Vec<String>) {
    let mut links = links(tasks);
    while let Some(circle) = circle(&links) {
        let Some(last) = circle.iter().copied().max() else { return };
        let after = circle.iter().position(|&task| task == last).map_or(0, |at| (at + 1) % circle.len());
        let on = circle[after];
        let (task, other) = (label(last, &tasks[last]), label(on, &tasks[on]));
        told.push(format!("{task} no longer depends on {other}: the two waited for each other in a circle"));
        let id = tasks[on].id.clone();
        tasks[last].dependencies.retain(|known| *known != id);
        links[last].retain(|known| *known != Some(on));
    }
}

/// Of two that touch the same files, the later waits for the earlier.
fn put_in_order(tasks: &mut [DraftTask], told: &mut Vec<String>) {
    let mut reach = reach(&links(tasks));
    // The nearest first: a task that waits for it waits for all those before it.
    let mut met = meetings(tasks);
    met.sort_by_key(|&(first, second)| (second, std::cmp::Reverse(first)));
    for (first, second) in met {
        if reach[first][second] || reach[second][first] {
            continue;
        }
        let (earlier, later) = (label(first, &tasks[first]), label(second, &tasks[second]));
        told.push(format!("{later} now waits for {earlier}: both touch the same files"));
        let id = tasks[first].id.clone();
        tasks[second].dependencies.push(id);
        let mut gained = reach[first].clone();
        gained[first] = true;
        for (task, known) in reach.iter_mut().enumerate() {
            if task == second || known[second] {
                known.iter_mut().zip(&gained).for_each(|(known, more)| *known |= more);
            }
        }
    }
}
