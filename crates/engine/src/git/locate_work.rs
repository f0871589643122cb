//! Where a task's work is to be found: on the run's branch, in its workspace, or kept aside.
//!
//! The log says what should be there; git is asked whether it is. Nothing is changed.

use conductor_core::plan::Isolation;
use conductor_core::run::event::{Change, Event, Record};
use conductor_core::run::{Run, TaskState};
use conductor_core::values::ids::{Attempt, TaskId};

use crate::git::workspaces::{RunRepo, WorkspaceError, WorkspaceRequest};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkLocation {
    /// On the branch: from what was there before to what is there with it.
    Landed {
        from: String,
        to: String,
    },
    /// Good, and waiting to land.
    Landing(Change),
    /// Being done in this workspace.
    AtWork {
        workspace: String,
    },
    /// On no branch.
    Kept(Change),
    /// It succeeded and left nothing.
    Unchanged,
    Nowhere,
}

/// Blocks.
pub fn of(
    run: &Run,
    records: &[Record],
    place: usize,
    default: Isolation,
    run_repo: &RunRepo,
) -> Result<WorkLocation, WorkspaceError> {
    // Of several tasks that raced for the same work, the winner's counts.
    let (task, progress) = run.task(run.doer(place));
    match &progress.state {
        TaskState::Completed => match &progress.landed {
            Some(landed) => landed_at(records, &task.id, &landed.commit, run_repo),
            None => Ok(WorkLocation::Unchanged),
        },
        TaskState::Running(running) if !running.ended => {
            let isolation = task.isolation_or(default);
            let request =
                WorkspaceRequest::of(run.plan(), isolation, task, running.executor, running.attempt);
            Ok(WorkLocation::AtWork { workspace: request.workspace_name() })
        }
        TaskState::Running(running) => Ok(match &running.landing {
            Some(landing) => WorkLocation::Landing(landing.change.clone()),
            None => WorkLocation::Nowhere,
        }),
        TaskState::InReview { running, .. } => Ok(match &running.landing {
            Some(landing) => WorkLocation::Landing(landing.change.clone()),
            None => WorkLocation::Nowhere,
        }),
        _ => Ok(kept(records, &task.id, run_repo)?.map_or(WorkLocation::Nowhere, WorkLocation::Kept)),
    }
}

/// Work that landed together is stacked: each commit starts from the one below it.
fn landed_at(
    records: &[Record],
    task: &TaskId,
    commit: &str,
    run_repo: &RunRepo,
) -> Result<WorkLocation, WorkspaceError> {
    let to = commit.to_owned();
    let from = match before(records, task, commit) {
        Some(Before::Branch(from)) => Some(from),
        Some(Before::Own(change)) => {
            return Ok(WorkLocation::Landed { from: change.base, to: change.commit });
        }
        None => None,
    };
    let from = match from {
        Some(from) => from,
        None => run_repo.shadow().read_commit(&to)?.0.into_iter().next().unwrap_or_else(|| to.clone()),
    };
    Ok(WorkLocation::Landed { from, to })
}

enum Before {
    Branch(String),
    /// Several tasks share the commit: each has its own part of it.
    Own(Change),
}

fn before(records: &[Record], task: &TaskId, commit: &str) -> Option<Before> {
    let mut below: Option<(&str, &str)> = None;
    let mut found = None;
    for record in records {
        match &record.event {
            Event::MergeIntended { task: whose, from, to, last, .. } => {
                let last = last.as_ref().unwrap_or(to);
                if whose == task && to == commit {
                    let stacked = below.filter(|(_, top)| top == last).map(|(below, _)| below);
                    found = Some(Before::Branch(stacked.unwrap_or(from).to_owned()));
                } else if to != commit {
                    below = Some((to, last));
                }
            }
            Event::TaskResolved { task: whose, change: Some(change), .. } if whose == task => {
                found = Some(Before::Branch(change.base.clone()));
            }
            _ => {}
        }
    }
    match is_shared(records, task, commit) {
        true => newest_change(records, task).map(Before::Own).or(found),
        false => found,
    }
}

fn is_shared(records: &[Record], task: &TaskId, commit: &str) -> bool {
    let won = records.iter().find_map(|record| match &record.event {
        Event::RaceDecided { task: race, winner, .. } if winner == task => Some(race),
        _ => None,
    });
    records.iter().any(|record| match &record.event {
        Event::TaskCompleted { task: whose, commit: Some(to) } => {
            whose != task && Some(whose) != won && to == commit
        }
        _ => false,
    })
}

fn newest_change(records: &[Record], task: &TaskId) -> Option<Change> {
    records.iter().rev().find_map(|record| match &record.event {
        Event::AttemptEnded { task: whose, change: Some(change), .. } if whose == task => {
            Some(change.as_ref().clone())
        }
        _ => None,
    })
}

/// The newest work of a task that has not landed, if there is any. Blocks.
pub fn kept(records: &[Record], task: &TaskId, run_repo: &RunRepo) -> Result<Option<Change>, WorkspaceError> {
    let changes = unlanded(records, task);
    for (attempt, change) in changes.into_iter().rev() {
        if let Some(change) = change
            && run_repo.shadow().has(&change.commit)?
        {
            return Ok(Some(change.clone()));
        }
        if let Some(change) = rescued(task, attempt, run_repo)? {
            return Ok(Some(change));
        }
    }
    Ok(None)
}

/// Every attempt since the task's work was last on the branch, with what it left to be merged.
fn unlanded<'r>(records: &'r [Record], task: &TaskId) -> Vec<(Attempt, Option<&'r Change>)> {
    let mut attempts: Vec<(Attempt, Option<&Change>)> = Vec::new();
    for record in records {
        match &record.event {
            Event::AttemptStarted { task: whose, attempt, .. } if whose == task => {
                attempts.push((*attempt, None));
            }
            Event::AttemptEnded { task: whose, change, .. } if whose == task => {
                if let Some((_, left)) = attempts.last_mut() {
                    *left = change.as_deref();
                }
            }
            Event::TaskCompleted { task: whose, .. } | Event::TaskResolved { task: whose, .. }
                if whose == task =>
            {
                attempts.clear();
            }
            _ => {}
        }
    }
    attempts
}

fn rescued(task: &TaskId, attempt: Attempt, run_repo: &RunRepo) -> Result<Option<Change>, WorkspaceError> {
    let name = format!("{}{attempt}", run_repo.rescues_of(task));
    let Some(commit) = run_repo.repository().read_ref(&name)? else { return Ok(None) };
    let base = match run_repo.shadow().merge_base(&commit, &run_repo.last_tip()?)? {
        Some(base) => base,
        None => {
            run_repo.shadow().read_commit(&commit)?.0.into_iter().next().unwrap_or_else(|| commit.clone())
        }
    };
    let touched = run_repo.shadow().touched(&base, &commit)?;
    Ok(Some(Change { touched, ..Change::new(base, commit) }))
}

#[cfg(test)]
mod tests {
    use conductor_core::values::units::{Tick, Timestamp};

    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::parse(text).unwrap()
    }

    fn records(events: Vec<Event>) -> Vec<Record> {
        let record = |(at, event)| Record { seq: at as u64 + 1, at: Timestamp(0), tick: Tick(0), event };
        events.into_iter().enumerate().map(record).collect()
    }

    fn intended(task: &str, to: &str, last: &str) -> Event {
        let last = (last != to).then(|| last.to_owned());
        Event::MergeIntended { task: id(task), attempt: Attempt(1), from: "from".into(), to: to.into(), last }
    }

    fn completed(task: &str, commit: &str) -> Event {
        Event::TaskCompleted { task: id(task), commit: Some(commit.into()) }
    }

    fn left(task: &str, attempt: u32, commit: Option<&str>) -> [Event; 2] {
        let attempt = Attempt(attempt);
        let change = commit.map(|commit| Box::new(Change::new("base", commit)));
        [
            Event::AttemptStarted {
                task: id(task),
                attempt,
                executor: 1,
                choice: None,
                on: Default::default(),
            },
            Event::AttemptEnded {
                task: id(task),
                attempt,
                outcome: conductor_core::run::event::Outcome::Succeeded,
                elapsed: Default::default(),
                executor: 1,
                change,
                phases: None,
            },
        ]
    }

    fn branch_before(records: &[Record], task: &str, commit: &str) -> String {
        match before(records, &id(task), commit) {
            Some(Before::Branch(from)) => from,
            Some(Before::Own(change)) => format!("own {}..{}", change.base, change.commit),
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn in_a_stack_each_begins_where_the_one_below_ends() {
        let log = records(vec![
            intended("other", "1", "1"),
            intended("a", "2", "4"),
            intended("b", "3", "4"),
            intended("c", "4", "4"),
            completed("a", "2"),
            completed("b", "3"),
            completed("c", "4"),
        ]);
        assert_eq!(branch_before(&log, "other", "1"), "from");
        assert_eq!(branch_before(&log, "a", "2"), "from", "the one before was another train's");
        assert_eq!(branch_before(&log, "b", "3"), "2");
        assert_eq!(branch_before(&log, "c", "4"), "3");
        assert_eq!(branch_before(&log, "d", "5"), "nothing");
    }

    #[test]
    fn of_what_an_epic_landed_as_one_each_has_its_own_part() {
        let mut events: Vec<Event> = left("a", 1, Some("x")).into();
        events.extend(left("b", 1, Some("y")));
        events.extend([intended("a", "2", "2"), intended("b", "2", "2")]);
        events.extend([completed("a", "2"), completed("b", "2")]);
        assert_eq!(branch_before(&records(events), "a", "2"), "own base..x");
    }

    #[test]
    fn what_has_landed_once_is_not_kept_work() {
        let mut events: Vec<Event> = left("a", 1, Some("x")).into();
        events.push(completed("a", "2"));
        events.push(Event::TaskReopened { task: id("a") });
        events.extend(left("a", 2, None));
        events.extend(left("a", 3, Some("z")));
        let log = records(events);
        let found: Vec<(u32, Option<&str>)> = unlanded(&log, &id("a"))
            .into_iter()
            .map(|(attempt, change)| (attempt.0, change.map(|change| change.commit.as_str())))
            .collect();
        assert_eq!(found, [(2, None), (3, Some("z"))]);
    }
}
