//! The end of a run, whichever way it comes: everything that was started is ended, and only then is it left.

use std::time::Duration;

use conductor_core::schedule::Input;
use tokio::time::Instant;

use super::Coordinator;
use crate::dispatch::Message;
use crate::process;
use crate::runs::control::ControlServer;
use crate::worker::Stop;

/// How long what is at work may take to end where the run cannot go on: first asked, then killed. With the look for what is
/// left after that it is less than 10 s.
const ASKED: Duration = Duration::from_secs(4);
const KILLED: Duration = Duration::from_secs(2);

impl Coordinator {
    /// Answers nothing any more: what is asked too late is dropped, and the client is told that the run has ended.
    pub(super) async fn close(&mut self, control_server: ControlServer) {
        let closing = control_server.close();
        tokio::pin!(closing);
        loop {
            tokio::select! {
                biased;
                Some(message) = self.messages.recv() => self.turn_away(&message),
                () = &mut closing => return,
            }
        }
    }

    /// Ends everything that is at work, because nothing of it can be recorded any more.
    pub(super) async fn end_all(&mut self, is_damaged: bool) {
        if is_damaged {
            // Closing the store would fold its log into the file, and a damaged file stays as it is.
            std::mem::forget(self.log.clone());
        }
        self.stop_all(Stop::Ask);
        self.wait_for_ends(ASKED).await;
        self.kill_all();
        self.wait_for_ends(KILLED).await;
        process::end_leftovers(&self.id, self.claim.directory(), &[]);
        self.teardown.finish().await;
        match process::alive_of(&self.id, self.claim.directory()).as_slice() {
            [] => self.notice("everything the run had started is ended".to_owned()),
            left => self.notice(format!("these processes could not be ended: {left:?}")),
        }
    }

    pub(super) fn kill_all(&self) {
        self.stop_all(Stop::Kill);
    }

    async fn wait_for_ends(&mut self, limit: Duration) {
        let end = Instant::now() + limit;
        while !self.attempts.is_empty() || self.merging.is_some() {
            match tokio::time::timeout_at(end, self.messages.recv()).await {
                Ok(Some(message)) => self.turn_away(&message),
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn turn_away(&mut self, message: &Message) {
        match message {
            Message::Input(input) | Message::Told(input, _) => self.note_end(input),
            Message::KillAll => self.is_killed = true,
            Message::Asked(..)
            | Message::Look(..)
            | Message::Follow(_)
            | Message::HandOver(_)
            | Message::Take => {}
        }
    }

    /// What was at work and is not any more.
    pub(super) fn note_end(&mut self, input: &Input) {
        match input {
            Input::AttemptEnded { task, attempt, .. }
                if self.attempts.get(task).is_some_and(|current| current == attempt) =>
            {
                self.attempts.remove(task);
                self.at_work.ends(task);
            }
            Input::MergesPrepared { .. }
            | Input::MergesPutOff
            | Input::BranchMoved { .. }
            | Input::BranchStuck { .. } => self.merging = None,
            _ => {}
        }
    }
}
