//! What a live run answers about itself.

use conductor_core::plan::Task;
use conductor_core::run::{Progress, TaskState};
use conductor_core::schedule::Refusal;
use conductor_core::values::ids::{Attempt, TaskId};

use super::Coordinator;
use crate::dispatch::{Heard, Listed, LiveView, Query, View, Why};

impl Coordinator {
    /// As it was decided; while the store cannot be written, the last of it is not durable yet.
    pub(super) fn view(&mut self, query: Query) -> Result<View, Refusal> {
        let now = self.clock.now();
        let known = |task: TaskId| self.scheduler.run().place(&task).ok_or(Refusal::UnknownTask(task));
        Ok(match query {
            Query::Snapshot => {
                let mut snapshot = self.scheduler.snapshot(now);
                self.worker.link.board.complete(&mut snapshot);
                let (run, directory, away) = (self.id.clone(), self.directory.clone(), self.away.clone());
                View::Snapshot(Box::new(LiveView { run, directory, pid: std::process::id(), snapshot, away }))
            }
            Query::Why(task) => {
                let place = known(task)?;
                let status = self.scheduler.run().progress(place).state.status().name().to_owned();
                View::Why(Why { status, why: self.scheduler.why_waiting(place, now) })
            }
            Query::Tasks => {
                let asked = self.scheduler.run().asked();
                View::Tasks(asked.map(|(_, task, progress)| listed((task, progress))).collect())
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
