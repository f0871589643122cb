//! The pull request for a session's work: when the work is there, or when its time has come while the session goes on.

use super::driver::Driver;
use super::ending::told;
use super::looking::Found;
use super::telling::note;
use super::transport::SessionName;
use crate::forge::{Forge, ForgeError, Opened, PullRequest};
use crate::host::clock::wall;

impl Driver {
    /// Opens it where the task wants one and its time has come. A forge that refuses stops nothing: the work lands by
    /// itself, and what is missing is told.
    pub(super) fn open_pull_request(&mut self, session: &SessionName, found: &Found, is_over: bool) {
        let Some(after) = self.job.pull_request_after else { return };
        let Some(current) = self.record.current.as_ref() else { return };
        let is_due = is_over || wall().0.saturating_sub(current.at) >= after as i64;
        if !is_due || current.pull_request.is_some() {
            return;
        }
        let url = match self.ask_forge(session, found) {
            Ok(Opened { url, is_new, .. }) => {
                note(format!(
                    "{} {url}",
                    if is_new { "opened the pull request" } else { "there is the pull request" }
                ));
                url
            }
            Err(error) => match self.transport.open_pull_request(session) {
                Ok(url) => {
                    note(format!("the session opened the pull request {url}"));
                    url
                }
                Err(own) => return note(format!("no pull request was opened: {error}; {}", told(&own))),
            },
        };
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
        let mark = self.record.current.as_ref().map_or("", |current| current.mark.as_str());
        let at = session.url.as_ref().map_or_else(String::new, |url| format!("\n\nSession: {url}"));
        let body = format!(
            "Work of the task `{}` by a session in the cloud.{at}\n\nCommit: {}\nConductor-Attempt: {mark}\n",
            self.job.task, found.tip.commit
        );
        forge.ensure(&PullRequest {
            head: &found.tip.branch,
            base: &base,
            title: &self.job.name,
            body: &body,
        })
    }
}
