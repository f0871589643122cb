//! What the log says of attempts: how they begin and end, their processes and their checks. Never what an agent was
//! told or says.
//!
//! A run may be of very many commands that take a millisecond each, so of one that works in place and succeeds
//! nothing is said unless details are wanted.

use std::time::{Duration, Instant};

use conductor_core::run::event::{FailureClass, Outcome, Phases};
use serde::Serialize;
use tracing::Span;

use super::Order;
use crate::host::logs::millis;
use crate::process::{Exit, Launch};

/// What these lines are said under: nothing of value is in the name of this file.
const WORKER: &str = "conductor_engine::worker";

/// All that is said in it is about this attempt.
pub(crate) fn attempt_span(order: &Order) -> Span {
    tracing::info_span!("attempt", task = order.task.as_str(), attempt = order.attempt.0)
}

pub(super) fn attempt_began(order: &Order, is_apart: bool) {
    let executor = order.executor;
    match order.choice.as_deref() {
        Some(choice) => {
            let model = choice.model.as_deref().unwrap_or_default();
            tracing::info!(target: WORKER, agent = choice.agent.as_str(), model, executor, "the attempt begins");
        }
        None if is_apart => tracing::info!(target: WORKER, executor, "the attempt begins"),
        None => tracing::debug!(target: WORKER, executor, "the attempt begins"),
    }
}

pub(super) fn attempt_ended(outcome: &Outcome, phases: &Phases, is_brief: bool, begun: Instant) {
    let took = millis(begun.elapsed());
    let (preparing, working, verifying) = (phases.preparing.0, phases.working.0, phases.verifying.0);
    match outcome {
        Outcome::Succeeded if is_brief => {
            let outcome = "succeeded";
            tracing::debug!(target: WORKER, outcome, took, preparing, working, verifying, "the attempt ended");
        }
        Outcome::Failed(failure) => {
            let class = name(&failure.class);
            // Other messages may be in an agent's words.
            let is_ours = matches!(failure.class, FailureClass::Unstartable | FailureClass::Internal);
            let why = is_ours.then_some(failure.message.as_str());
            tracing::info!(
                target: WORKER,
                outcome = "failed", class, why, took, preparing, working, verifying, "the attempt ended"
            );
        }
        other => {
            let outcome = match other {
                Outcome::Succeeded => "succeeded",
                Outcome::Interrupted => "interrupted",
                Outcome::Cancelled => "cancelled",
                Outcome::Asked(_) => "asked",
                Outcome::Failed(_) => "failed",
            };
            tracing::info!(target: WORKER, outcome, took, preparing, working, verifying, "the attempt ended");
        }
    }
}

/// Arguments may be a prompt, and are left out.
pub(super) fn process_started(launch: &Launch, pid: u32) {
    let program = launch.program.to_string_lossy();
    tracing::debug!(target: WORKER, program = &*program, pid, "a process started");
}

pub(super) fn process_ended(pid: u32, exit: Exit, took: Duration) {
    let took = millis(took);
    match exit {
        Exit::Code(code) => tracing::debug!(target: WORKER, pid, exit = code, took, "a process ended"),
        Exit::Signal(signal) => tracing::debug!(target: WORKER, pid, signal, took, "a process was killed"),
    }
}

/// A `setup:` or `verify:` command of a task.
pub(super) fn command_ended(command: &str, exit: Exit, begun: Instant) {
    let took = millis(begun.elapsed());
    match exit {
        Exit::Code(code) => {
            tracing::info!(target: WORKER, command, exit = code, took, "a command of the task ended")
        }
        Exit::Signal(signal) => {
            tracing::info!(target: WORKER, command, signal, took, "a command of the task was killed")
        }
    }
}

/// As the log of events and the reports have it.
fn name(class: &impl Serialize) -> String {
    let value = serde_json::to_value(class).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
