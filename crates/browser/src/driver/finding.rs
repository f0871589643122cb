//! A session that was begun and whose address is not known: found by its mark in the site's list of sessions.

use super::{DriveError, Driver};
use crate::page::View;
use crate::selectors::Found;

/// How many of the listed sessions are opened, the newest first.
const CANDIDATES: usize = 20;

impl Driver {
    /// Looks for a session whose page shows the mark. None: nothing was submitted, or every listed session shows another prompt.
    /// One that shows none yet may be it.
    pub fn find(&mut self, mark: &str) -> Result<Option<String>, DriveError> {
        if self.intent.as_ref().is_some_and(|intent| !intent.may_be_submitted()) {
            return Ok(None);
        }
        let start = format!("{}{}", self.settings.site, self.selectors.start);
        let listed = self.healthy_view(&start)?;
        let places = self.selectors.find_all("sessions", &listed);
        // Where titles show the mark, no other session is opened.
        for at in &places {
            if listed.snapshot.text_of(*at).contains(mark) {
                return Ok(self.address_of(&listed, *at));
            }
        }
        let mut unknown = None;
        for at in places.into_iter().take(CANDIDATES) {
            let Some(address) = self.address_of(&listed, at) else { continue };
            let view = self.healthy_view(&address)?;
            let has_mark =
                view.snapshot.nodes.iter().any(|node| node.text.contains(mark) || node.name.contains(mark));
            if has_mark {
                return Ok(Some(address));
            }
            if !self.shows_a_prompt(&view) {
                unknown = Some(address);
            }
        }
        match unknown {
            Some(address) => Err(DriveError::Unsure(format!("the session {address} shows no prompt yet"))),
            None => Ok(None),
        }
    }

    /// Whether the transcript has begun: it begins with the prompt.
    fn shows_a_prompt(&self, view: &View) -> bool {
        let Found::One(feed) = self.selectors.find("transcript", view, &Default::default()) else {
            return false;
        };
        view.snapshot.nodes.iter().any(|node| node.parent == Some(feed))
    }

    fn address_of(&self, view: &View, at: usize) -> Option<String> {
        let url = view.snapshot.nodes.get(at)?.url.as_deref()?;
        let url = if url.starts_with('/') { format!("{}{url}", self.settings.site) } else { url.to_owned() };
        self.selectors.session_of(&url).map(str::to_owned)
    }
}
