//! A session that was begun and whose address is not known: found by its mark in the site's list of sessions.

use super::{DriveError, Driver};
use crate::page::View;

/// How many of the listed sessions are opened, the newest first.
const CANDIDATES: usize = 20;

impl Driver {
    /// Looks for a session whose page shows the mark. None: no listed session shows it.
    pub fn find(&mut self, mark: &str) -> Result<Option<String>, DriveError> {
        let start = format!("{}{}", self.settings.site, self.selectors.start);
        let listed = self.healthy_view(&start)?;
        let places = self.selectors.find_all("sessions", &listed);
        // Where titles show the mark, no other session is opened.
        for at in &places {
            if listed.snapshot.text_of(*at).contains(mark) {
                return Ok(self.address_of(&listed, *at));
            }
        }
        for at in places.into_iter().take(CANDIDATES) {
            let Some(address) = self.address_of(&listed, at) else { continue };
            let view = self.healthy_view(&address)?;
            let has_mark =
                view.snapshot.nodes.iter().any(|node| node.text.contains(mark) || node.name.contains(mark));
            if has_mark {
                return Ok(Some(address));
            }
        }
        Ok(None)
    }

    fn address_of(&self, view: &View, at: usize) -> Option<String> {
        let url = view.snapshot.nodes.get(at)?.url.as_deref()?;
        let url = if url.starts_with('/') { format!("{}{url}", self.settings.site) } else { url.to_owned() };
        self.selectors.session_of(&url).map(str::to_owned)
    }
}
