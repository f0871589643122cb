//! A session at work, as its page shows it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{DriveError, Driver};
use crate::health::Trouble;
use crate::page::View;
use crate::selectors::Found;

/// What a session does, as its page says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It is at a step before its work.
    Provisioning(String),
    Working,
    /// It says that it is done, or offers a pull request.
    Idle,
    AwaitingInput(String),
    Failed(String),
    /// The page is the session's and says nothing that is known.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub status: Status,
    /// Rows of the transcript that were not told before.
    pub said: Vec<String>,
    /// A limit that the page shows beside the session.
    pub limited: Option<String>,
}

/// How often requests of other processes are looked for.
const ASKED: Duration = Duration::from_millis(500);

impl Driver {
    /// Waits up to `patience` for the page to show anything new. The page is mended on the way.
    pub fn observe(&mut self, patience: Duration) -> Result<Seen, DriveError> {
        let deadline = Instant::now() + patience;
        if self.page.is_none() {
            self.be_at_session()?;
        }
        if let Some(seen) = self.seen_lately(deadline) {
            return Ok(seen);
        }
        loop {
            let view = match self.look() {
                Ok(view) => view,
                Err(trouble) => {
                    self.recover(&trouble)?;
                    continue;
                }
            };
            let seen = self.seen(&view);
            if let Status::Provisioning(step) = &seen.status
                && let Some(trouble) = self.stands_too_long(step.clone())
            {
                match self.recover(&trouble) {
                    // It would stand there for ever.
                    Err(error @ DriveError::NotRecovered { .. }) => {
                        let status = Status::Failed(error.to_string());
                        return Ok(Seen { status, said: Vec::new(), limited: None });
                    }
                    recovered => recovered?,
                }
                continue;
            }
            if self.is_past_provisioning(&seen.status) {
                self.standing = None;
                self.ladder.healthy();
            }
            self.record.say(self.session.as_deref(), &describe(&seen.status));
            self.looked = Some((Instant::now(), seen.status.clone()));
            if !seen.said.is_empty() || Instant::now() >= deadline {
                return Ok(seen);
            }
            self.pause_until(deadline.min(Instant::now() + self.settings.look()));
        }
    }

    /// A page is looked at no more often than the settings say, however often it is asked for. A caller without patience
    /// gets a look at once.
    fn seen_lately(&mut self, deadline: Instant) -> Option<Seen> {
        let (at, status) = self.looked.clone().filter(|_| Instant::now() < deadline)?;
        let due = at + self.settings.look();
        self.pause_until(due.min(deadline));
        (due > deadline).then_some(Seen { status, said: Vec::new(), limited: None })
    }

    fn seen(&mut self, view: &View) -> Seen {
        let sign = |name: &str| self.selectors.sign(name, view);
        let status = if let Some(why) = sign("failed") {
            Status::Failed(why)
        } else if let Some(asked) = sign("awaiting_input") {
            Status::AwaitingInput(asked)
        } else if let Some(step) = self.selectors.provisioning_step(view) {
            Status::Provisioning(step.to_owned())
        } else if sign("working").is_some() {
            Status::Working
        } else if sign("idle").is_some() || self.offers_pull_request(view) {
            Status::Idle
        } else {
            Status::Unknown
        };
        Seen { status, limited: sign("rate_limited"), said: self.new_rows(view) }
    }

    fn offers_pull_request(&self, view: &View) -> bool {
        match self.selectors.find("create_pull_request", view, &Default::default()) {
            Found::One(at) => !view.snapshot.nodes[at].disabled,
            _ => false,
        }
    }

    /// A long transcript shows only a part of itself at a time, so rows are known by their text.
    fn new_rows(&mut self, view: &View) -> Vec<String> {
        let Found::One(feed) = self.selectors.find("transcript", view, &Default::default()) else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        for (at, node) in view.snapshot.nodes.iter().enumerate() {
            if node.parent != Some(feed) {
                continue;
            }
            let text = view.snapshot.text_of(at);
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            if !text.is_empty() && self.told.insert(hasher.finish()) {
                rows.push(text);
            }
        }
        rows
    }

    /// A page that was just loaded says nothing for a moment, which is no sign that the session goes on.
    fn is_past_provisioning(&self, status: &Status) -> bool {
        let stood_lately = || {
            let patience = self.settings.provisioning_timeout();
            self.standing.as_ref().is_some_and(|(_, since)| since.elapsed() < patience)
        };
        match status {
            Status::Provisioning(_) => false,
            Status::Unknown => !stood_lately(),
            _ => true,
        }
    }

    fn stands_too_long(&mut self, step: String) -> Option<Trouble> {
        let since = match self.standing.take() {
            Some((known, since)) if known == step => since,
            _ => Instant::now(),
        };
        let is_hung = since.elapsed() >= self.settings.provisioning_timeout();
        let since = if is_hung { Instant::now() } else { since };
        self.standing = Some((step.clone(), since));
        is_hung.then_some(Trouble::Hung(step))
    }

    /// Waits, and does meanwhile what other processes ask for.
    pub(super) fn pause(&mut self, length: Duration) {
        self.pause_until(Instant::now() + length);
    }

    pub(super) fn note(&mut self, words: &str) {
        (self.tell)(words);
    }

    fn pause_until(&mut self, deadline: Instant) {
        loop {
            if let Some(page) = self.page.as_mut() {
                page.answer(&self.record);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            sleep(left.min(ASKED));
        }
    }
}

fn describe(status: &Status) -> String {
    match status {
        Status::Provisioning(step) => format!("provisioning: {step}"),
        Status::Working => "working".to_owned(),
        Status::Idle => "idle".to_owned(),
        Status::AwaitingInput(_) => "awaiting input".to_owned(),
        Status::Failed(_) => "failed".to_owned(),
        Status::Unknown => "open".to_owned(),
    }
}
