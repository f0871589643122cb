//! What the conflict monitor saw while tasks were at work: what of it is new is recorded.

use super::Scheduler;
use crate::run::event::Event;
use crate::run::{Foreseen, Progress, TaskState};
use crate::values::ids::TaskId;
use crate::values::units::Now;

impl Scheduler {
    /// What was recorded already is not told again. All who are at work could have done it.
    pub(super) fn on_settings(&mut self, now: Now, mut what: Vec<String>, undo: Vec<String>, earlier: bool) {
        let known: Vec<&String> = self.run.settings().iter().flat_map(|touched| &touched.what).collect();
        what.retain(|words| !known.contains(&words));
        if what.is_empty() {
            return;
        }
        let at_work =
            |progress: &Progress| matches!(&progress.state, TaskState::Running(running) if !running.ended);
        let tasks = self.run.tasks().filter(|(_, progress)| !earlier && at_work(progress));
        let tasks = tasks.map(|(task, _)| task.id.clone()).collect();
        self.emit(now, Event::GitSettingsTouched { tasks, what, undo });
    }

    /// Said once for as long as it stays so.
    pub(super) fn on_foreseen(&mut self, now: Now, task: TaskId, with: Option<TaskId>, files: Vec<String>) {
        let known = |known: &Foreseen| known.task == task && known.with == with;
        let at_work = |task: &TaskId| {
            self.run.place(task).is_some_and(|place| {
                matches!(&self.run.progress(place).state, TaskState::Running(running) if !running.ended)
            })
        };
        let news = !self.run.foreseen().iter().any(known);
        if news && at_work(&task) && with.as_ref().is_none_or(at_work) {
            self.emit(now, Event::ConflictForeseen { task, with, files });
        }
    }
}
