//! What a live run answers about itself.

use std::sync::Arc;

use conductor_core::plan::Task;
use conductor_core::run::{Progress, TaskState};
use conductor_core::schedule::Refusal;
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::{Millis, Tick};

use super::Coordinator;
use crate::dispatch::{Heard, Listed, LiveView, Query, View, Why};

/// How old the times in a snapshot may be.
const FRESH: Millis = Millis(100);

/// What was looked at last, for all who look before it changes.
#[derive(Default)]
pub(super) struct Views {
    /// By the last event, the phases of attempts, and why the store cannot be written.
    snapshot: Cached<(u64, u64, Option<String>), Arc<LiveView>>,
    tasks: Cached<u64, Arc<[Listed]>>,
}

/// Made once for each state, and again when it is too old.
struct Cached<S, V>(Option<(S, Tick, V)>);

impl<S, V> Default for Cached<S, V> {
    fn default() -> Cached<S, V> {
        Cached(None)
    }
}

impl<S: PartialEq, V: Clone> Cached<S, V> {
    fn get(&mut self, state: S, now: Tick, fresh: Millis, make: impl FnOnce() -> V) -> V {
        match &self.0 {
            Some((of, made, view)) if *of == state && now.0.saturating_sub(made.0) < fresh.0 => view.clone(),
            _ => {
                let view = make();
                self.0 = Some((state, now, view.clone()));
                view
            }
        }
    }
}

impl Coordinator {
    /// As it was decided; while the store cannot be written, the last of it is not durable yet.
    pub(super) fn view(&mut self, query: Query) -> Result<View, Refusal> {
        let now = self.clock.now();
        let known = |task: TaskId| self.scheduler.run().place(&task).ok_or(Refusal::UnknownTask(task));
        Ok(match query {
            Query::Snapshot => {
                let board = &self.worker.link.board;
                let state = (self.scheduler.run().seq(), board.changes(), self.away.clone());
                View::Snapshot(self.views.snapshot.get(state, now.tick, FRESH, || {
                    let mut snapshot = self.scheduler.snapshot(now);
                    board.complete(&mut snapshot);
                    let (run, directory, away) = (self.id.clone(), self.directory.clone(), self.away.clone());
                    let (pid, appends) = (std::process::id(), self.log.append_times().so_far());
                    let workers = self.dispatch.workers();
                    Arc::new(LiveView { run, directory, pid, snapshot, away, appends, workers })
                }))
            }
            Query::Why(task) => {
                let place = known(task)?;
                let status = self.scheduler.run().progress(place).state.status().name().to_owned();
                View::Why(Why { status, why: self.scheduler.why_waiting(place, now) })
            }
            Query::Tasks => {
                let run = self.scheduler.run();
                // Nothing in it passes with time.
                View::Tasks(self.views.tasks.get(run.seq(), now.tick, Millis(u64::MAX), || {
                    run.asked().map(|(_, task, progress)| listed((task, progress))).collect()
                }))
            }
            Query::Heard(task) => {
                let progress = self.scheduler.run().progress(known(task)?);
                let at_work = matches!(&progress.state, TaskState::Running(running) if !running.ended);
                let executor = progress.executor.unwrap_or_default();
                View::Heard(Heard {
                    attempt: Attempt(progress.last_attempt),
                    executor,
                    at_work,
                    ended: progress.state.status().is_end(),
                    clear: self.worker.link.marks.clear(executor),
                })
            }
        })
    }
}

fn listed((task, progress): (&Task, &Progress)) -> Listed {
    Listed {
        id: task.id.clone(),
        name: task.name.clone(),
        status: progress.state.status().name().to_owned(),
        dependencies: task.dependencies.iter().map(|on| on.id.clone()).collect(),
        commit: progress.landed.as_ref().map(|landed| landed.commit.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_made_once_for_a_state_and_again_when_time_has_passed() {
        let (mut cached, mut made) = (Cached::default(), 0);
        let mut look = |state: u64, now: u64| {
            cached.get(state, Tick(now), FRESH, || {
                made += 1;
                made
            })
        };
        assert!((0..1_000).all(|_| look(1, 50) == 1), "one for all who look in the same moment");
        assert_eq!([look(1, 149), look(1, 150), look(2, 150), look(2, 151)], [1, 2, 3, 3]);
    }
}
