//! What the coordinator of a run is told and asked, by its workers, its socket, its tools and its terminal.

use std::time::Duration;

use conductor_core::run::event::Report;
use conductor_core::schedule::{Input, Refusal, Request};
use conductor_core::values::ids::{Attempt, TaskId};
use tokio::sync::{mpsc, oneshot};

use super::queries::{Query, View};
use crate::stores::bus::Subscription;

/// What comes in from attempts and from people.
#[derive(Debug)]
pub(crate) enum Message {
    Input(Input),
    /// A request whose caller waits until it is recorded.
    Asked(Request, oneshot::Sender<Result<(), Refusal>>),
    /// An input of an attempt that goes on when it is recorded.
    Told(Input, oneshot::Sender<Result<(), Refusal>>),
    /// A query about the run; it changes nothing.
    Look(Query, oneshot::Sender<Result<View, Refusal>>),
    /// A subscription to all later records.
    Follow(oneshot::Sender<(u64, Subscription)>),
    KillAll,
    /// Another process wants to be the run's coordinator.
    HandOver(Handover),
    /// It is ready, and the run is to be left to it now.
    Take,
}

/// Another process that wants to be the run's coordinator.
#[derive(Debug)]
pub(crate) struct Handover {
    /// Its version.
    pub(crate) to: String,
    /// How long it waits until nothing holds the run here.
    pub(crate) patience: Duration,
    /// It hears how that goes, and is gone where it does not.
    pub(crate) told: mpsc::UnboundedSender<HandoverNews>,
}

/// What the one that waits for the run hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HandoverNews {
    /// What only this process can bring to its end.
    Awaits(Vec<String>),
    /// Nothing holds the run here any more, and all there is to know is in the store.
    Ready,
    /// The run goes on here.
    GivenUp(String),
    /// The run is left.
    Done,
}

/// Asks things of a live run, from anywhere.
#[derive(Debug, Clone)]
pub struct Control {
    messages: mpsc::UnboundedSender<Message>,
}

impl Control {
    pub(crate) fn new(messages: mpsc::UnboundedSender<Message>) -> Control {
        Control { messages }
    }

    pub(crate) fn sender(&self) -> mpsc::UnboundedSender<Message> {
        self.messages.clone()
    }

    /// What an attempt has to say about its task.
    pub(crate) fn report(&self, task: TaskId, attempt: Attempt, report: Report) {
        let _ = self.messages.send(Message::Input(Input::Reported { task, attempt, report }));
    }

    pub fn ask(&self, request: Request) {
        let _ = self.messages.send(Message::Input(Input::Asked(request)));
    }

    /// Whether it was granted, once that is durable; nothing where the run has ended meanwhile.
    pub async fn ask_and_wait(&self, request: Request) -> Option<Result<(), Refusal>> {
        let (waits, word) = oneshot::channel();
        let _ = self.messages.send(Message::Asked(request, waits));
        word.await.ok()
    }

    /// What is asked for, as it is now; nothing where the run has ended meanwhile.
    pub async fn look(&self, query: Query) -> Option<Result<View, Refusal>> {
        let (waits, word) = oneshot::channel();
        let _ = self.messages.send(Message::Look(query, waits));
        word.await.ok()
    }

    /// Everything that becomes durable after the event of this number.
    pub(crate) async fn follow(&self) -> Option<(u64, Subscription)> {
        let (waits, word) = oneshot::channel();
        let _ = self.messages.send(Message::Follow(waits));
        word.await.ok()
    }

    /// Leaves the run to another process, which hears how that goes.
    pub(crate) fn hand_over(&self, handover: Handover) {
        let _ = self.messages.send(Message::HandOver(handover));
    }

    /// The process that the run is left to has read all there is.
    pub(crate) fn take(&self) {
        let _ = self.messages.send(Message::Take);
    }

    /// Ends every process now, without asking it.
    pub fn kill_all(&self) {
        let _ = self.messages.send(Message::KillAll);
    }
}
