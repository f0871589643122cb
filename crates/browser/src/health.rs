//! What can be wrong with a page, and what is tried about it, the mildest first.

use std::time::{Duration, Instant};

use thiserror::Error;

use crate::page::{PageError, View};
use crate::selectors::Selectors;

/// Why a page cannot be worked with right now.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Trouble {
    #[error("the site wants a sign-in")]
    SignedOut,
    #[error("the site checks the visitor (`{0}`)")]
    Interstitial(String),
    #[error("the site says: {0}")]
    RateLimited(String),
    #[error("the session hangs at the step '{0}' before its work")]
    Hung(String),
    #[error("the page shows {0}, which is not the session")]
    Elsewhere(String),
    #[error("the page crashed")]
    Crashed,
    #[error("the page does not answer: {0}")]
    Unresponsive(String),
    #[error("the browser is gone: {0}")]
    BrowserGone(String),
    #[error("{0}")]
    ServerGone(String),
}

impl Trouble {
    /// What a page shows by itself. A session's page must be at its address.
    pub fn seen(selectors: &Selectors, view: &View, session: Option<&str>) -> Option<Trouble> {
        if let Some(text) = selectors.sign("interstitial", view) {
            return Some(Trouble::Interstitial(text));
        }
        if selectors.sign("signed_out", view).is_some() {
            return Some(Trouble::SignedOut);
        }
        if let Some(text) = selectors.sign("rate_limited", view) {
            return Some(Trouble::RateLimited(text));
        }
        let session = session?;
        let is_there = selectors.session_of(&view.url) == Some(session);
        (!is_there).then(|| Trouble::Elsewhere(view.url.clone()))
    }

    /// Whether only a person or time can mend it; nothing is to be reloaded then.
    pub fn needs_patience(&self) -> bool {
        matches!(self, Trouble::SignedOut | Trouble::Interstitial(_) | Trouble::RateLimited(_))
    }

    /// The mildest remedy that can help at all.
    fn first_remedy(&self) -> usize {
        match self {
            Trouble::Hung(_) => 0,
            Trouble::BrowserGone(_) | Trouble::ServerGone(_) => 2,
            _ => 1,
        }
    }
}

impl PageError {
    /// The trouble that an error is a sign of; nothing where the call itself was refused.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            PageError::Crashed => Some(Trouble::Crashed),
            PageError::BrowserGone(why) => Some(Trouble::BrowserGone(why.clone())),
            PageError::Unresponsive(why) => Some(Trouble::Unresponsive(why.clone())),
            PageError::NotOpened { url, why } => Some(Trouble::Unresponsive(format!("{url}: {why}"))),
            PageError::Server(error) => Some(Trouble::ServerGone(error.to_string())),
            PageError::NoBrowser(_) | PageError::Refused(_) => None,
        }
    }
}

/// What is tried, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    Reload,
    /// The session's address in a new tab.
    Reopen,
    /// A new connection, and with it a new tab or context.
    NewContext,
    NewServer,
}

const LADDER: [Remedy; 4] = [Remedy::Reload, Remedy::Reopen, Remedy::NewContext, Remedy::NewServer];

/// The last remedy is tried so often before the page is given up.
const LAST_TRIES: u32 = 3;

/// After so long without a remedy all of them are tried again: an outage of the site, or of the network, may be over. It is
/// long, for the last remedies restart a browser that other sessions share.
const REST: Duration = Duration::from_secs(5 * 60);

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// How far the remedies were tried since the page was last healthy.
#[derive(Debug, Default)]
pub struct Ladder {
    next: usize,
    tried: u32,
    /// Since when there is nothing left to try.
    at_its_end: Option<Instant>,
}

impl Ladder {
    /// The next remedy, and the pause before it; nothing when all of them were tried, until it has rested.
    pub fn next(&mut self, trouble: &Trouble, now: Instant) -> Option<(Remedy, Duration)> {
        if self.at_its_end.is_some_and(|since| now.saturating_duration_since(since) >= REST) {
            self.healthy();
        }
        let step = self.next.max(trouble.first_remedy()).min(LADDER.len() - 1);
        if self.tried >= LADDER.len() as u32 + LAST_TRIES {
            self.at_its_end.get_or_insert(now);
            return None;
        }
        let pause =
            if self.tried == 0 { Duration::ZERO } else { FIRST_PAUSE * 2_u32.pow(self.tried.min(6) - 1) };
        self.tried += 1;
        self.next = step + 1;
        Some((LADDER[step], pause.min(LONGEST_PAUSE)))
    }

    /// Whether anything was tried since it was last healthy.
    pub fn is_in_use(&self) -> bool {
        self.tried > 0
    }

    pub fn tried(&self) -> u32 {
        self.tried
    }

    pub fn healthy(&mut self) {
        *self = Ladder::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Snapshot;

    fn remedies(trouble: &Trouble) -> Vec<Remedy> {
        let mut ladder = Ladder::default();
        std::iter::from_fn(|| ladder.next(trouble, Instant::now())).map(|(remedy, _)| remedy).collect()
    }

    #[test]
    fn remedies_get_stronger_and_come_to_an_end() {
        let tried = remedies(&Trouble::Hung("clone".to_owned()));
        assert_eq!(tried[..4], LADDER);
        assert_eq!(tried.len(), 7);
        assert!(tried[4..].iter().all(|remedy| *remedy == Remedy::NewServer));
    }

    #[test]
    fn a_crashed_page_is_opened_again_and_a_lost_server_replaced() {
        assert_eq!(remedies(&Trouble::Crashed)[0], Remedy::Reopen);
        assert_eq!(
            remedies(&Trouble::ServerGone(String::new()))[..2],
            [Remedy::NewContext, Remedy::NewServer]
        );
    }

    #[test]
    fn pauses_grow_to_a_limit_and_start_over_once_it_is_healthy() {
        let mut ladder = Ladder::default();
        let pauses: Vec<_> = std::iter::from_fn(|| ladder.next(&Trouble::Crashed, Instant::now()))
            .map(|(_, pause)| pause)
            .collect();
        assert!(pauses.is_sorted() && pauses[0].is_zero() && pauses[6] <= LONGEST_PAUSE, "{pauses:?}");
        ladder.healthy();
        assert_eq!(ladder.next(&Trouble::Crashed, Instant::now()), Some((Remedy::Reopen, Duration::ZERO)));
    }

    #[test]
    fn after_a_rest_everything_is_tried_again() {
        let (mut ladder, began) = (Ladder::default(), Instant::now());
        let mut count_at = |now: Instant| std::iter::from_fn(|| ladder.next(&Trouble::Crashed, now)).count();
        assert_eq!(count_at(began), 7);
        assert_eq!(count_at(began + REST / 2), 0);
        assert_eq!(count_at(began + REST), 7);
        assert_eq!(count_at(began + REST), 0);
    }

    #[test]
    fn what_a_page_shows_comes_before_where_it_is() {
        let selectors = Selectors::built_in().unwrap();
        let at = |lines: &str| View {
            url: "http://h/code/session_2".to_owned(),
            snapshot: Snapshot::parse(lines),
            ..View::default()
        };
        let session = Some("http://h/code/session_1");
        let signed_out = at("- heading \"Sign in\"");
        assert_eq!(Trouble::seen(&selectors, &signed_out, session), Some(Trouble::SignedOut));
        let other = at("- feed");
        assert!(matches!(Trouble::seen(&selectors, &other, session), Some(Trouble::Elsewhere(_))));
        assert_eq!(Trouble::seen(&selectors, &other, Some("http://h/code/session_2")), None);
    }
}
