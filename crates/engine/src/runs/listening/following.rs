//! A task's words as they come, through all its attempts.

use std::collections::VecDeque;
use std::time::Duration;

use conductor_core::values::ids::Attempt;

use super::{ListenError, Listener, ShownLines, Words, attempts};
use crate::runs::control::ControlError;
use crate::stores::briefly;

/// How often a task at work is listened to.
const PAUSE: Duration = Duration::from_millis(100);

/// What a follower is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// From here on it is this attempt's.
    Attempt(Attempt),
    /// Whole lines, safe to show.
    Lines(String),
}

/// Follows a task until it ends or its run is not active any more.
pub struct Follower {
    listener: Listener,
    from: Attempt,
    current: Option<(Attempt, Words)>,
    lines: ShownLines,
    waiting: VecDeque<Told>,
    /// Nothing was new the last time.
    rests: bool,
    over: bool,
}

impl Follower {
    /// From this attempt on.
    pub fn new(listener: Listener, from: Attempt) -> Follower {
        let (lines, waiting) = (ShownLines::default(), VecDeque::new());
        Follower { listener, from, current: None, lines, waiting, rests: false, over: false }
    }

    /// What comes next; nothing at the end.
    pub async fn next(&mut self) -> Result<Option<Told>, ListenError> {
        loop {
            if let Some(told) = self.waiting.pop_front() {
                return Ok(Some(told));
            }
            if self.over {
                return Ok(None);
            }
            if std::mem::replace(&mut self.rests, true) {
                tokio::time::sleep(PAUSE).await;
            }
            self.listen().await?;
        }
    }

    async fn listen(&mut self) -> Result<(), ListenError> {
        let heard = match self.listener.heard().await {
            Ok(heard) => heard,
            Err(ControlError::NotThere) => return self.was_left().await,
            Err(error) => return Err(error.into()),
        };
        if heard.attempt >= self.from {
            if self.current.as_ref().is_none_or(|(attempt, _)| *attempt != heard.attempt) {
                self.catch_up(heard.attempt).await?;
                let reader = self.listener.reader(heard.attempt, heard.executor);
                self.announce(heard.attempt);
                self.current = Some((heard.attempt, reader));
                self.from = heard.attempt;
            }
            self.drain().await?;
        }
        if heard.ended {
            self.end();
        }
        Ok(())
    }

    async fn was_left(&mut self) -> Result<(), ListenError> {
        // Its coordinator opens its socket in a moment, or writes down the last of it.
        if self.listener.home.is_live(&self.listener.run) {
            return Ok(());
        }
        self.catch_up(Attempt(u32::MAX)).await?;
        self.end();
        Ok(())
    }

    /// The rest of the one that was listened to, and those that came and went meanwhile, as the log knows them.
    async fn catch_up(&mut self, until: Attempt) -> Result<(), ListenError> {
        let told = self.current.as_ref().map(|(attempt, _)| *attempt);
        self.drain().await?;
        self.current = None;
        let from = self.from;
        if until.0 > from.0 + 1 {
            let records = briefly(|| self.listener.store.load(&self.listener.run, 0)).await?;
            self.listener.attempts = attempts(&records, &self.listener.task);
        }
        let missed =
            |attempt: Attempt| attempt >= from && attempt < until && told.is_none_or(|told| attempt > told);
        for (attempt, executor) in self.listener.attempts.clone() {
            if missed(attempt) {
                self.announce(attempt);
                self.current = Some((attempt, self.listener.reader(attempt, executor)));
                self.drain().await?;
                self.current = None;
            }
        }
        Ok(())
    }

    async fn drain(&mut self) -> Result<(), ListenError> {
        let Some((attempt, reader)) = &mut self.current else { return Ok(()) };
        loop {
            let words = self.listener.next(*attempt, reader).await?;
            if words.is_empty() {
                return Ok(());
            }
            self.rests = false;
            let lines = self.lines.add(&words);
            if !lines.is_empty() {
                self.waiting.push_back(Told::Lines(lines));
            }
        }
    }

    fn announce(&mut self, attempt: Attempt) {
        self.end_line();
        self.waiting.push_back(Told::Attempt(attempt));
    }

    fn end_line(&mut self) {
        let rest = self.lines.rest();
        if !rest.is_empty() {
            self.waiting.push_back(Told::Lines(rest));
        }
    }

    fn end(&mut self) {
        self.end_line();
        self.over = true;
    }
}
