//! A session that was begun and whose address is not known: found by its mark in the site's list of sessions.
//!
//! That there is none is harder to see than that there is one, and the prompt is submitted again on the strength of it. A page
//! that does not show everything proves nothing: then the user is asked.

use super::{DriveError, Driver};
use crate::page::View;
use crate::selectors::Found;

/// So many sessions are listed at once, the newest first. Where there are as many, others may be below them.
const LISTED: usize = 20;

impl Driver {
    /// Looks for a session whose page shows the mark. None: nothing was submitted, or every session there is can be seen to
    /// be another one. Everything else is `Unsure`.
    pub fn find(&mut self, mark: &str) -> Result<Option<String>, DriveError> {
        if self.intent.as_ref().is_some_and(|intent| !intent.may_be_submitted()) {
            return Ok(None);
        }
        let start = format!("{}{}", self.settings.site, self.selectors.start);
        let listed = self.healthy_view(&start)?;
        let places = self.selectors.find_all("sessions", &listed);
        // Where titles show the mark, no other session is opened.
        for at in &places {
            if shows(&listed.snapshot.text_of(*at), mark) {
                return Ok(self.selectors.address_of(&listed, *at, &self.settings.site));
            }
        }
        // Each of these was there before the click that submits, so that it is none of ours.
        let before = self.intent.as_ref().map(|intent| intent.listed_before()).unwrap_or_default();
        let mut doubt = doubt_about(places.len());
        for at in places.into_iter().take(LISTED) {
            let Some(address) = self.selectors.address_of(&listed, at, &self.settings.site) else {
                doubt = Some("a listed session has no address".to_owned());
                continue;
            };
            if before.contains(&address) {
                continue;
            }
            let view = self.healthy_view(&address)?;
            if view.snapshot.nodes.iter().any(|node| shows(&node.text, mark) || shows(&node.name, mark)) {
                return Ok(Some(address));
            }
            if !self.begins_with_a_prompt(&view) {
                doubt = Some(format!("the page of {address} does not show its prompt"));
            }
        }
        doubt.map_or(Ok(None), |why| Err(DriveError::Unsure(why)))
    }

    /// Whether the first row to be seen is a prompt. A long transcript shows a part of itself only, and its prompt may be
    /// above that part.
    fn begins_with_a_prompt(&self, view: &View) -> bool {
        let Found::One(feed) = self.selectors.find("transcript", view, &Default::default()) else {
            return false;
        };
        let Some(first) = view.snapshot.nodes.iter().position(|node| node.parent == Some(feed)) else {
            return false;
        };
        let prompts = self.selectors.find_all("prompt_row", view);
        prompts.into_iter().any(|at| at == first || view.snapshot.has_ancestor(at, first))
    }
}

/// Why a list of so many sessions does not tell of all there are.
fn doubt_about(listed: usize) -> Option<String> {
    match listed {
        0 => Some("the page lists no session, or its list is not known".to_owned()),
        LISTED.. => Some(format!("the page lists {LISTED} sessions, and there may be more")),
        _ => None,
    }
}

/// Whether a text has the mark, and not that of a later submission, which begins alike.
fn shows(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| !text[at + mark.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_not_taken_for_a_later_one_that_begins_alike() {
        assert!(shows("Do it (r/t/1)", "r/t/1") && shows("r/t/12, r/t/1", "r/t/1"));
        assert!(!shows("Do it (r/t/12)", "r/t/1"));
    }

    #[test]
    fn an_empty_and_a_full_list_prove_nothing() {
        assert_eq!(
            [0, 1, 19, 20, 21].map(|listed| doubt_about(listed).is_some()),
            [true, false, false, true, true]
        );
    }
}
