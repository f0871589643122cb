//! What an agent reports beyond its work: tasks that should follow, and the status of its own.

use super::amending::is_named_twice;
use super::requests::Refusal;
use super::{Scheduler, requests};
use crate::plan::{Amendment, Task};
use crate::run::TaskState;
use crate::run::event::FOLLOW_UP;
use crate::run::event::{Event, Question, Report};
use crate::values::counted::counted;
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::Now;

impl Scheduler {
    /// Joins the run at once, or waits for a person, as the plan has it.
    pub(super) fn on_proposal(
        &mut self,
        now: Now,
        by: &TaskId,
        attempt: Attempt,
        tasks: Vec<Task>,
    ) -> Result<(), Refusal> {
        if self.current(by, attempt).is_none() {
            let status = self.run.progress(self.known(by)?).state.status();
            return Err(requests::wrong(by, status, "only the agent at work on it can propose tasks"));
        }
        self.check_proposal(&tasks)?;
        let names: Vec<(TaskId, String)> =
            tasks.iter().map(|task| (task.id.clone(), task.name.clone())).collect();
        let amendment = Amendment { tasks, by: Some(by.clone()), ..Amendment::default() };
        let asks = self.run.options().limits.asks_about_follow_ups();
        self.amend_with(now, amendment, |scheduler| {
            for (task, name) in names.into_iter().filter(|_| asks) {
                let why = format!("{by} proposes it");
                let question = Question { tool: FOLLOW_UP.to_owned(), what: name, why };
                scheduler.emit(now, Event::ApprovalAsked { task, question: Box::new(question) });
            }
        })
    }

    fn check_proposal(&self, tasks: &[Task]) -> Result<(), Refusal> {
        let most = self.run.options().limits.follow_ups;
        if most == 0 {
            return Err(Refusal::NotPossible("this run takes no tasks from agents".into()));
        }
        let known = self.run.follow_ups().len();
        if tasks.len() + known > most as usize {
            let why = format!("this run takes {} from agents and has {known}", counted(most, "task"));
            return Err(Refusal::NotPossible(why));
        }
        if let Some(known) = tasks.iter().find(|task| self.run.place(&task.id).is_some()) {
            let why = format!("there is a task '{}' already; choose another id", known.id);
            return Err(Refusal::NotPossible(why));
        }
        if let Some(raced) = tasks.iter().find(|task| task.racing.is_some()) {
            let why = format!("task '{}' cannot be raced for: that costs more than was agreed", raced.id);
            return Err(Refusal::NotPossible(why));
        }
        is_named_twice(tasks)
    }

    /// Reports of an attempt that is over are ignored.
    pub(super) fn on_report(&mut self, now: Now, task: TaskId, attempt: Attempt, report: Report) {
        if self.current(&task, attempt).is_some() {
            self.emit(now, Event::TaskReported { task, attempt, report });
        }
    }

    /// A task that has never begun asks for nothing but to be done.
    pub(super) fn on_approval(&mut self, now: Now, place: usize, allowed: bool) {
        let task = self.graph.id(place as u32).clone();
        match allowed {
            // What it waits for may have ended meanwhile, one way or the other.
            true => self.rebuild(now),
            false => self.end(now, place, Event::TaskCancelled { task }),
        }
    }

    pub(super) fn waits_for_approval(&self, place: usize) -> bool {
        let progress = self.run.progress(place);
        progress.last_attempt == 0 && matches!(progress.state, TaskState::Asking { .. })
    }
}
