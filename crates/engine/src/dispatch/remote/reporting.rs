//! What workers report and ask, judged and passed on.

use std::sync::Arc;
use std::time::Duration;

use conductor_core::run::event::{Failure, FailureClass, Outcome};
use conductor_core::schedule::{Input, Refusal, Request};
use conductor_core::values::ids::{Attempt, TaskId, WorkerId};
use tokio::sync::oneshot;
use tracing::Instrument as _;

use super::{Remote, State};
use crate::dispatch::wire::{Answer, Call, ToWorker};
use crate::dispatch::{Message, Query};
use crate::git::handover::{Handover, HandoverError};
use crate::host::logs::carried;

/// How long it takes until a result is fetched again that could not be reached.
const PATIENCE: Duration = Duration::from_secs(2);

impl Remote {
    /// One that was passed on already is not passed on again.
    pub(super) fn reported(
        &self,
        state: &mut State,
        worker: &WorkerId,
        number: u64,
        input: Input,
    ) -> Result<(), String> {
        let Some(held) = state.workers.get_mut(worker) else { return Ok(()) };
        if number <= held.last_report {
            return Ok(());
        }
        if number != held.last_report + 1 {
            return Err(format!("report {} is missing", held.last_report + 1));
        }
        held.last_report = number;
        let about = about(&input)?;
        let refused = match (&about, &input) {
            (Some(about), _) if !held.has(about) => {
                Some(format!("attempt {} of {} is not yours", about.1, about.0))
            }
            (_, Input::ProviderParked { agent, .. }) if !held.needs(|needs| needs.agent == *agent) => {
                Some(format!("no attempt of yours is {agent}'s"))
            }
            _ => None,
        };
        if refused.is_some() {
            let _ = held.out.send(ToWorker::Acknowledged { report: number, refused });
            return Ok(());
        }
        if let (Input::AttemptEnded { task, attempt, .. }, Some(about)) = (&input, &about)
            && let Some(speech) = held.speeches.remove(about)
            && self.handover.is_some()
        {
            self.keep_transcript(task, *attempt, speech.executor);
        }
        match (&self.handover, input) {
            (
                Some(handover),
                Input::AttemptEnded { task, attempt, outcome, change: Some(change), phases },
            ) => {
                let ended = Input::AttemptEnded { task, attempt, outcome, change: Some(change), phases };
                self.bring_in(handover.clone(), worker.clone(), number, ended);
            }
            (handover, input) => {
                let input = match handover {
                    Some(handover) => self.kept_here(handover, input),
                    None => Some(input),
                };
                self.pass_on(state, worker, number, input);
            }
        }
        Ok(())
    }

    /// A checkpoint is a tag, and has to be in the run's own repository. One that cannot be is told of and not recorded.
    fn kept_here(&self, handover: &Handover, input: Input) -> Option<Input> {
        match &input {
            Input::CheckpointMade { commit, name, reason, task, .. } => match handover
                .adopt(name, commit, reason)
            {
                Ok(()) => Some(input),
                Err(why) => {
                    self.link.notice(format!("{task}: no checkpoint could be made before {reason}: {why}"));
                    None
                }
            },
            // Of another machine: a process there has no meaning here, and neither has what git is configured by.
            Input::ProcessStarted { .. } | Input::GitSettingsTouched { .. } => None,
            _ => Some(input),
        }
    }

    /// Acknowledged when it is recorded.
    fn pass_on(&self, state: &mut State, worker: &WorkerId, report: u64, input: Option<Input>) {
        let Some(held) = state.workers.get_mut(worker) else { return };
        let out = held.out.clone();
        let Some(input) = input else {
            let _ = out.send(ToWorker::Acknowledged { report, refused: None });
            return;
        };
        if let Input::AttemptEnded { task, attempt, .. } = &input {
            held.attempts.remove(task);
            held.needs.remove(&(task.clone(), *attempt));
            self.link.board.forgets(task);
            self.hand_out_waiting(state);
        }
        let (waits, word) = oneshot::channel();
        let _ = self.link.reports.send(Message::Told(input, waits));
        tokio::spawn(async move {
            let refused = match word.await {
                Ok(Ok(())) => None,
                Ok(Err(refusal)) => Some(refusal.to_string()),
                Err(_) => Some("the run is over".to_owned()),
            };
            let _ = out.send(ToWorker::Acknowledged { report, refused });
        });
    }

    /// An end whose work is fetched first. The lease holds meanwhile: it is not the worker that is waited for.
    fn bring_in(&self, handover: Arc<Handover>, worker: WorkerId, report: u64, ended: Input) {
        let remote = self.me.clone();
        let fetching = async move {
            let Input::AttemptEnded { task, attempt, outcome, change: Some(mut change), phases } = ended
            else {
                return;
            };
            let key = (task.clone(), attempt);
            let mut is_told = false;
            let failure = loop {
                let (handover, key, asked) = (handover.clone(), key.clone(), change.clone());
                let fetch = carried(move || handover.fetch(&key.0, key.1, &asked));
                let why = match tokio::task::spawn_blocking(fetch).await {
                    Ok(Ok(touched)) => {
                        change.touched = touched;
                        break None;
                    }
                    Ok(Err(HandoverError::Wrong(why))) => break Some(why),
                    Ok(Err(error)) => error.to_string(),
                    Err(panic) => panic.to_string(),
                };
                let Some(remote) = remote.upgrade() else { return };
                if !remote.keeps(&worker, &task, attempt) {
                    return;
                }
                if !std::mem::replace(&mut is_told, true) {
                    remote.link.notice(format!("{task} waits: its work cannot be fetched: {why}"));
                }
                drop(remote);
                tokio::time::sleep(PATIENCE).await;
            };
            let (outcome, change) = match failure {
                None => (outcome, Some(change)),
                Some(why) => (Outcome::Failed(Failure::new(FailureClass::Internal, why)), None),
            };
            let Some(remote) = remote.upgrade() else { return };
            let mut state = remote.state();
            if state.workers.get(&worker).is_some_and(|held| held.has(&key)) {
                let ended = Input::AttemptEnded { task, attempt, outcome, change, phases };
                remote.pass_on(&mut state, &worker, report, Some(ended));
            }
        };
        tokio::spawn(fetching.in_current_span());
    }

    /// Whether the attempt is still the worker's; its lease is renewed then.
    fn keeps(&self, worker: &WorkerId, task: &TaskId, attempt: Attempt) -> bool {
        let key = (task.clone(), attempt);
        let keeps = self.state().workers.get(worker).is_some_and(|held| held.has(&key));
        if keeps {
            let (task, worker) = (task.clone(), worker.clone());
            self.link.report(Input::LeaseRenewed { task, attempt, worker });
        }
        keeps
    }

    pub(super) fn answer(&self, state: &State, worker: &WorkerId, call: u64, what: Call) {
        let Some(held) = state.workers.get(worker) else { return };
        let (control, out) = (self.link.control(), held.out.clone());
        let is_its = match &what {
            Call::Look(Query::Tasks) => held.needs(|needs| needs.has_tools),
            Call::Look(_) => false,
            Call::Ask(Request::Propose { by, attempt, .. }) => held.has(&(by.clone(), *attempt)),
            Call::Ask(_) => false,
        };
        tokio::spawn(async move {
            let answer = match what {
                _ if !is_its => Answer::Refused("a worker may not ask for that".to_owned()),
                Call::Ask(request) => control.ask_and_wait(request).await.map_or(Answer::Gone, told),
                Call::Look(query) => match control.look(query).await {
                    Some(Ok(view)) => Answer::View(Box::new(view)),
                    Some(Err(refusal)) => Answer::Refused(refusal.to_string()),
                    None => Answer::Gone,
                },
            };
            let _ = out.send(ToWorker::Answered { call, answer });
        });
    }
}

/// The attempt a report is of, if it is of one. What is not a worker's to report is an error.
fn about(input: &Input) -> Result<Option<(TaskId, Attempt)>, String> {
    match input {
        Input::ProcessStarted { task, attempt, .. }
        | Input::SessionStarted { task, attempt, .. }
        | Input::UsageReported { task, attempt, .. }
        | Input::WorkHandedIn { task, attempt }
        | Input::WorkGivenBack { task, attempt }
        | Input::WorkAccepted { task, attempt }
        | Input::AttemptEnded { task, attempt, .. }
        | Input::Reported { task, attempt, .. }
        | Input::ExpertiseUsed { task, attempt, .. }
        | Input::ExpertiseLearned { task, attempt, .. }
        | Input::CheckpointMade { task, attempt, .. } => Ok(Some((task.clone(), *attempt))),
        Input::ProviderParked { .. } | Input::GitSettingsTouched { .. } => Ok(None),
        other => Err(format!("it reported what is not its to report: {other:?}")),
    }
}

fn told(done: Result<(), Refusal>) -> Answer {
    match done {
        Ok(()) => Answer::Done,
        Err(refusal) => Answer::Refused(refusal.to_string()),
    }
}
