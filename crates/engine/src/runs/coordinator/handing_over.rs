//! The run is left to another process while it goes on. Nothing new begins; what only this process can bring to its end is
//! waited for; then the conversations with agents stand still, the one that waits for the run reads the log, and takes it.
//!
//! Up to that moment the run can stay here: where the other is gone, or what is waited for takes too long, all goes on as before.

use conductor_core::plan::Work;
use conductor_core::schedule::Input;
use conductor_core::values::counted::counted;
use conductor_core::values::ids::{Attempt, TaskId};
use tokio::time::{Duration, Instant};

use super::{Arrival, Coordinator, CoordinatorError};
use crate::dispatch::board::Phase;
use crate::dispatch::{Handover, HandoverNews};
use crate::worker::Wish;

/// How often is looked whether something is over that does not say so.
pub(super) const LOOK: Duration = Duration::from_millis(10);

/// How long conversations may take to stand still, and how long they stand still for one that waits for the run: agents are
/// not answered meanwhile.
const STILL: Duration = Duration::from_secs(2);
const OFFERED: Duration = Duration::from_secs(20);

/// How long shims may take until they have let go of this process.
const LEAVING: Duration = Duration::from_secs(5);

/// Of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Who waits for the run, and whether it was left.
pub(super) struct Handovers {
    pub(super) waiting: Option<HandingOver>,
    /// Workers in other processes report to this one.
    is_elsewhere: bool,
    /// The version of the one that has it.
    pub(super) done: Option<String>,
}

impl Handovers {
    pub(super) fn of(is_elsewhere: bool) -> Handovers {
        Handovers { waiting: None, is_elsewhere, done: None }
    }
}

/// A run that is about to be left to another process.
pub(super) struct HandingOver {
    other: Handover,
    until: Instant,
    stage: Stage,
    awaits: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// For what only this process can bring to its end.
    Waiting,
    /// Conversations are to stand still, since then.
    Stilling(Instant),
    /// All stands still, since then, and the other knows it.
    Offered(Instant),
    Taken,
}

impl HandingOver {
    pub(super) fn is_taken(&mut self) {
        if matches!(self.stage, Stage::Offered(_)) {
            self.stage = Stage::Taken;
        }
    }

    fn tell(&self, news: HandoverNews) {
        let _ = self.other.told.send(news);
    }
}

impl Coordinator {
    pub(super) fn begin_handover(&mut self, other: Handover) {
        if self.handovers.waiting.is_some() {
            let why = "another process waits for the run already".to_owned();
            return drop(other.told.send(HandoverNews::GivenUp(why)));
        }
        if let Some(why) = self.cannot_be_left() {
            return drop(other.told.send(HandoverNews::GivenUp(why)));
        }
        tracing::info!(to = other.to, "another process asks for the run");
        let until = Instant::now() + other.patience;
        self.arrived.push(Arrival::from(Input::HeldBack(true)));
        let awaits = Vec::new();
        self.handovers.waiting = Some(HandingOver { other, until, stage: Stage::Waiting, awaits });
    }

    /// What no waiting changes.
    fn cannot_be_left(&self) -> Option<String> {
        let why = match (self.handovers.is_elsewhere, self.finished) {
            (true, _) => "workers on other machines carry its attempts out, and report to this process",
            (false, true) => "it is just coming to its end",
            (false, false) => return None,
        };
        Some(format!("the run cannot be handed over: {why}"))
    }

    /// After every turn. The run is left where `done` says so.
    pub(super) async fn see_to_handover(&mut self) -> Result<(), CoordinatorError> {
        let Some(handing_over) = &self.handovers.waiting else { return Ok(()) };
        let (now, stage) = (Instant::now(), handing_over.stage);
        if self.finished || self.is_killed {
            return self.stay("the run has come to its end").await;
        }
        if handing_over.other.told.is_closed() {
            return self.stay("the process that was to have it is gone").await;
        }
        let holds = self.holds();
        match stage {
            _ if !holds.is_empty() && now >= handing_over.until => {
                return self.stay(&format!("it was still held up: {}", holds.join(", "))).await;
            }
            _ if !holds.is_empty() => self.wait_for(holds),
            Stage::Waiting => {
                self.stand_still(true);
                self.enter(Stage::Stilling(now));
            }
            Stage::Stilling(_) if self.stands_still() => {
                self.enter(Stage::Offered(now));
                self.handovers.waiting.iter().for_each(|handing_over| handing_over.tell(HandoverNews::Ready));
            }
            Stage::Stilling(since) if now >= since + STILL && now >= handing_over.until => {
                return self.stay("a call of a tool was still being answered").await;
            }
            // An agent that just asked for something is answered first.
            Stage::Stilling(since) if now >= since + STILL => self.wait_for(Vec::new()),
            Stage::Offered(since) if now >= since + OFFERED => {
                return self.stay("the process that was to have it did not take it").await;
            }
            Stage::Offered(_) | Stage::Taken if !self.stands_still() => self.wait_for(Vec::new()),
            Stage::Taken => return self.leave().await,
            Stage::Stilling(_) | Stage::Offered(_) => {}
        }
        Ok(())
    }

    fn enter(&mut self, stage: Stage) {
        self.handovers.waiting.iter_mut().for_each(|handing_over| handing_over.stage = stage);
    }

    /// Agents are answered meanwhile.
    fn wait_for(&mut self, holds: Vec<String>) {
        self.stand_still(false);
        let Some(handing_over) = &mut self.handovers.waiting else { return };
        handing_over.stage = Stage::Waiting;
        if handing_over.awaits != holds {
            handing_over.awaits.clone_from(&holds);
            if !holds.is_empty() {
                handing_over.tell(HandoverNews::Awaits(holds));
            }
        }
    }

    fn stand_still(&self, still: bool) {
        let services = &self.worker.services;
        services.tool_server.shut(still);
        services.standstill.wish(if still { Wish::StandStill } else { Wish::GoOn });
    }

    fn stands_still(&self) -> bool {
        let services = &self.worker.services;
        let is_still =
            |(task, attempt): (&TaskId, &Attempt)| services.standstill.stands_still(task, *attempt);
        services.tool_server.is_empty()
            && self.attempts.iter().all(is_still)
            && self.backlog.is_empty()
            && self.messages.is_empty()
            && self.arrived.is_empty()
    }

    /// What only this process can bring to its end, in words.
    fn holds(&self) -> Vec<String> {
        let mut holds: Vec<String> =
            self.attempts.iter().filter_map(|at_work| self.holds_on(at_work)).collect();
        holds.sort();
        if self.merging.is_some() {
            holds.push("what is being landed".to_owned());
        }
        if let Some(why) = &self.away {
            holds.push(format!("the store ({why})"));
        }
        if self.sweeps.is_busy() {
            holds.push("workspaces that are being cleared".to_owned());
        }
        holds
    }

    fn holds_on(&self, (task, attempt): (&TaskId, &Attempt)) -> Option<String> {
        let standstill = &self.worker.services.standstill;
        if standstill.can_be_left(task, *attempt) {
            let waits = self.worker.message_queue.has(task);
            return waits.then(|| format!("a message that {task} hears in its next round"));
        }
        let run = self.scheduler.run();
        let is_command =
            run.place(task).is_some_and(|place| matches!(run.plan().tasks[place].work, Work::Run(_)));
        let phase = self.worker.link.board.of(task).map(|doing| doing.phase);
        Some(match phase {
            Some(Phase::Verifying) => format!("the checks of {task}"),
            Some(Phase::Working) if is_command => format!("the command of {task}"),
            Some(Phase::Working) => format!("the agent of {task}"),
            Some(Phase::Preparing) | None => format!("the start of {task}"),
        })
    }

    /// The run stays here, and all goes on.
    async fn stay(&mut self, why: &str) -> Result<(), CoordinatorError> {
        self.stand_still(false);
        let Some(handing_over) = self.handovers.waiting.take() else { return Ok(()) };
        tracing::info!(why, "the run stays with this coordinator");
        handing_over.tell(HandoverNews::GivenUp(format!("the run stays where it is: {why}")));
        let turn = self.decide(vec![Input::HeldBack(false).into()]);
        self.carry_out(turn).await
    }

    /// The run is the other's as soon as this process is gone: that is in the log before agents are let go of.
    async fn leave(&mut self) -> Result<(), CoordinatorError> {
        let Some(handing_over) = self.handovers.waiting.take() else { return Ok(()) };
        let to = handing_over.other.to.clone();
        let from = VERSION.to_owned();
        let now = self.clock.now();
        let decision = self.scheduler.handle(now, Input::HandedOver { from, to: to.clone() });
        // On the disk when this returns, with all before it.
        let held = self.record(decision.records, decision.illegal).await?;
        if let Some(held) = held {
            self.carry_out(held).await?;
        }
        let services = &self.worker.services;
        services.standstill.wish(Wish::Leave);
        let left = Instant::now() + LEAVING;
        while !services.standstill.are_left() && Instant::now() < left {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let agents = counted(self.attempts.len(), "agent");
        self.notice(format!("the run goes on in another process, with {agents} at work"));
        self.handovers.done = Some(to);
        handing_over.tell(HandoverNews::Done);
        Ok(())
    }
}
