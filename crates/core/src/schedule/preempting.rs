//! Making room: a task that may (`preempt`) has an agent stopped that works on something less urgent.
//!
//! The agent that is stopped keeps its work and its conversation, goes on when there is room again, and has not used up a try.
//! Commands are not stopped, nor is work that is being checked or landed, nor a task of an epic with one workspace, which
//! would leave half-done work to the next.

use super::ready::Wanting;
use super::{Scheduler, StopReason};
use crate::plan::Work;
use crate::plan::graph::Node;
use crate::run::{Running, Stage, TaskState};
use crate::values::units::{Now, Tick};

/// How often a task is stopped for others since it was last opened: then it works to its end, whatever is urgent.
const MOST: u32 = 2;

impl Scheduler {
    pub(super) fn make_room(&mut self, now: Now) {
        let is_busy = (self.ready.working() as u32) >= self.run.options().at_once();
        if !self.ready.has_preempting()
            || self.run.stage() != Stage::Active
            || self.held_back
            || self.run.is_paused()
            || self.run_is_over_budget()
        {
            return;
        }
        let leaving = self.ready.holders().filter(|&node| self.makes_room(node)).collect::<Vec<_>>();
        for wanting in self.ready.wanting(is_busy, leaving.len()) {
            let is_served = |&node: &Node| self.ready.frees(node, &wanting);
            if wanting.pool.is_some() && leaving.iter().any(is_served) {
                continue;
            }
            if !self.task_is_over_budget(wanting.task as usize)
                && let Some(place) = self.least_urgent(&wanting)
            {
                // The next is looked for when this one is known to the run.
                return self.stop(now, place, StopReason::Preempted);
            }
        }
    }

    fn makes_room(&self, node: Node) -> bool {
        let running = self.at_work(node as usize);
        running.is_some_and(|running| running.stopping == Some(StopReason::Preempted))
    }

    fn at_work(&self, place: usize) -> Option<&Running> {
        match &self.run.progress(place).state {
            TaskState::Running(running) if !running.ended => Some(running),
            _ => None,
        }
    }

    /// Of those that can be stopped for it: of the lowest class, the one that began last.
    fn least_urgent(&self, wanting: &Wanting) -> Option<usize> {
        let rank = |node: Node| {
            let since = self.stoppable(node as usize)?;
            let class = self.ready.class(node);
            (class > wanting.class && self.ready.frees(node, wanting)).then_some((class, since, node))
        };
        self.ready.holders().filter_map(rank).max().map(|(_, _, node)| node as usize)
    }

    /// When it began, if it can be stopped for another.
    fn stoppable(&self, place: usize) -> Option<Tick> {
        let running = self.at_work(place).filter(|running| running.stopping.is_none())?;
        let is_prompt = matches!(self.run.plan().tasks[place].work, Work::Prompt(_));
        let stopped = self.run.repeats(place).map_or(0, |repeats| repeats.preempted);
        let is_handed_in =
            self.handed_in.contains(&(place as Node)) || self.accepted.contains(&(place as Node));
        let can_be = is_prompt && !is_handed_in && stopped < MOST && self.epics.of(place).is_none();
        can_be.then_some(running.since)
    }
}
