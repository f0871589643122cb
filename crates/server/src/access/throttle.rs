//! Slows down those who guess: so many wrong logins in a minute, and the next is not even looked at.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);
const WRONG_ONES: usize = 10;

/// Names and addresses that are remembered; the oldest are forgotten first.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Throttle {
    wrong: Mutex<HashMap<String, Vec<Instant>>>,
}

/// What is guessed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Guessed<'a> {
    /// What belongs to a name: all may try that one, and one may try all.
    Of(&'a str),
    /// A secret of this kind, too long to be found by many together: wrong ones refuse their sender alone.
    Secret(&'static str),
}

impl Throttle {
    /// How many seconds to wait, where this one has to.
    pub(crate) fn wait(&self, guessed: Guessed<'_>, from: IpAddr) -> Option<u64> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        keys(guessed, from)
            .iter()
            .filter_map(|key| {
                let times = wrong.get_mut(key)?;
                times.retain(|at| now.duration_since(*at) < WINDOW);
                let oldest = times.first().filter(|_| times.len() >= WRONG_ONES)?;
                Some((WINDOW - now.duration_since(*oldest)).as_secs().max(1))
            })
            .max()
    }

    pub(crate) fn note_wrong(&self, guessed: Guessed<'_>, from: IpAddr) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() >= MOST {
            let now = Instant::now();
            wrong.retain(|_, times| times.last().is_some_and(|at| now.duration_since(*at) < WINDOW));
        }
        if wrong.len() < MOST {
            for key in keys(guessed, from) {
                wrong.entry(key).or_default().push(Instant::now());
            }
        }
    }

    pub(crate) fn forget(&self, guessed: Guessed<'_>, from: IpAddr) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys(guessed, from) {
            wrong.remove(&key);
        }
    }
}

/// One name from everywhere, and every name from one address; a kind of secret from one address.
fn keys(guessed: Guessed<'_>, from: IpAddr) -> Vec<String> {
    match guessed {
        Guessed::Of(name) => vec![format!("name {name}"), format!("from {from}")],
        Guessed::Secret(kind) => vec![format!("{kind} from {from}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleventh_wrong_login_of_a_minute_waits() {
        let (throttle, here) = (Throttle::default(), IpAddr::from([127, 0, 0, 1]));
        for _ in 0..WRONG_ONES {
            assert_eq!(throttle.wait(Guessed::Of("ann"), here), None);
            throttle.note_wrong(Guessed::Of("ann"), here);
        }
        assert!(throttle.wait(Guessed::Of("ann"), here).is_some_and(|seconds| (1..=60).contains(&seconds)));
        // Another name from the same place, and the same name from another one.
        assert!(throttle.wait(Guessed::Of("bob"), here).is_some());
        assert!(throttle.wait(Guessed::Of("ann"), IpAddr::from([127, 0, 0, 2])).is_some());
        throttle.forget(Guessed::Of("ann"), here);
        assert_eq!(throttle.wait(Guessed::Of("ann"), here), None);
    }

    #[test]
    fn wrong_secrets_are_in_the_way_of_who_sent_them_alone() {
        let (throttle, here) = (Throttle::default(), IpAddr::from([127, 0, 0, 1]));
        (0..WRONG_ONES).for_each(|_| throttle.note_wrong(Guessed::Secret("hook"), here));
        assert!(throttle.wait(Guessed::Secret("hook"), here).is_some());
        assert_eq!(throttle.wait(Guessed::Secret("hook"), IpAddr::from([127, 0, 0, 2])), None);
        assert_eq!(throttle.wait(Guessed::Secret("code"), here), None);
        assert_eq!(throttle.wait(Guessed::Of("hook"), here), None);
    }
}
