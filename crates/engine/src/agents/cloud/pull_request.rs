//! The pull request for a session's work: when the work is there, or when its time has come while the session goes on.

use std::time::{Duration, Instant};

use super::driver::Driver;
use super::ending::told;
use super::looking::Found;
use super::telling::note;
use super::transport::SessionName;
use crate::forge::{Forge, ForgeError, Opened, PullRequest};
use crate::host::clock::wall;

/// After a refusal it is asked for again after so long, then after twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// A pull request that could not be opened so far.
#[derive(Debug, Default)]
pub(super) struct Refused {
    times: u32,
    /// Nothing is asked before then.
    until: Option<Instant>,
    /// What was told of it.
    why: Option<String>,
}

impl Refused {
    fn is_to_be_asked(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now >= until)
    }

    /// Whether this is news.
    fn again(&mut self, why: &str, now: Instant) -> bool {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.times.min(5)).min(LONGEST_PAUSE);
        self.times += 1;
        self.until = Some(now + pause);
        self.why.replace(why.to_owned()).as_deref() != Some(why)
    }
}

impl Driver {
    /// Opens it where the task wants one and its time has come; once the work is over, it is brought up to date. A forge that
    /// refuses stops nothing: the work lands by itself, and what is missing is told once.
    pub(super) fn open_pull_request(&mut self, session: &SessionName, found: &Found, is_over: bool) {
        let Some(after) = self.job.pull_request_after else { return };
        let Some(current) = self.record.current.as_ref() else { return };
        let is_due = is_over || wall().0.saturating_sub(current.at) >= after as i64;
        let is_open = current.pull_request.is_some();
        let is_to_be_asked = is_over || !is_open && self.refused.is_to_be_asked(Instant::now());
        if !is_due || !is_to_be_asked {
            return;
        }
        match self.ask_forge(session, found) {
            Ok(Opened { url, is_new, .. }) => {
                if !is_open {
                    let what = if is_new { "opened the pull request" } else { "there is the pull request" };
                    note(format!("{what} {url}"));
                }
                self.keep_pull_request(url);
            }
            Err(_) if is_open => {}
            Err(error) => match self.transport.open_pull_request(session) {
                Ok(url) => {
                    note(format!("the session opened the pull request {url}"));
                    self.keep_pull_request(url);
                }
                Err(own) => {
                    let why = format!("no pull request was opened: {error}; {}", told(&own));
                    if self.refused.again(&why, Instant::now()) {
                        note(why);
                    }
                }
            },
        }
    }

    fn keep_pull_request(&mut self, url: String) {
        if let Some(current) = &mut self.record.current {
            current.pull_request = Some(url);
        }
        if let Err(error) = self.record.keep() {
            note(format!("the pull request could not be recorded: {error}"));
        }
    }

    fn ask_forge(&self, session: &SessionName, found: &Found) -> Result<Opened, ForgeError> {
        let forge = Forge::of(self.courier.url(), self.job.repository.as_deref())?;
        let base = forge.default_branch()?;
        forge.ensure(&PullRequest {
            head: &found.tip.branch,
            base: &base,
            title: &self.job.name,
            body: &self.body(session, found),
        })
    }

    /// With the ledger of this one task, as far as its driver knows: the run judges the work after that.
    fn body(&self, session: &SessionName, found: &Found) -> String {
        let current = self.record.current.as_ref();
        let mark = current.map_or("", |current| current.mark.as_str());
        let at = session.url.as_ref().map_or_else(String::new, |url| format!("\n- Session: {url}"));
        let cost = current.filter(|_| self.kind.tells_cost()).map_or_else(
            || "not told by the provider".to_owned(),
            |current| current.meter.cost().to_string(),
        );
        format!(
            "Work of the task `{}` by a session in the cloud.\n\n## Ledger\n\n- Run: {}{at}\n- Branch: `{}` at {}\n\
             - Sessions begun for the task: {}\n- Cost so far: {cost}\n\n\
             Its checks run when the work is taken; what landed is in the run's own ledger.\n\n\
             Conductor-Attempt: {mark}\n",
            self.job.task, self.run, found.tip.branch, found.tip.commit, self.record.sessions,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_once_and_asked_about_less_and_less_often() {
        let (mut refused, mut now) = (Refused::default(), Instant::now());
        assert!(refused.is_to_be_asked(now) && refused.again("no login", now));
        let mut pauses = Vec::new();
        for _ in 0..7 {
            let until = refused.until.unwrap();
            assert!(!refused.is_to_be_asked(until - Duration::from_secs(1)) && refused.is_to_be_asked(until));
            pauses.push((until - now).as_secs());
            now = until;
            assert!(!refused.again("no login", now), "it was told");
        }
        assert_eq!(pauses, [60, 120, 240, 480, 960, 1800, 1800]);
        assert!(refused.again("another reason", now));
    }
}
