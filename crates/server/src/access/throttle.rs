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

impl Throttle {
    /// How many seconds to wait, where this one has to.
    pub(crate) fn wait(&self, name: &str, from: IpAddr) -> Option<u64> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        keys(name, from)
            .iter()
            .filter_map(|key| {
                let times = wrong.get_mut(key)?;
                times.retain(|at| now.duration_since(*at) < WINDOW);
                let oldest = times.first().filter(|_| times.len() >= WRONG_ONES)?;
                Some((WINDOW - now.duration_since(*oldest)).as_secs().max(1))
            })
            .max()
    }

    pub(crate) fn note_wrong(&self, name: &str, from: IpAddr) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() >= MOST {
            let now = Instant::now();
            wrong.retain(|_, times| times.last().is_some_and(|at| now.duration_since(*at) < WINDOW));
        }
        if wrong.len() < MOST {
            for key in keys(name, from) {
                wrong.entry(key).or_default().push(Instant::now());
            }
        }
    }

    pub(crate) fn forget(&self, name: &str, from: IpAddr) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys(name, from) {
            wrong.remove(&key);
        }
    }
}

/// One name from everywhere, and every name from one address.
fn keys(name: &str, from: IpAddr) -> [String; 2] {
    [format!("name {name}"), format!("from {from}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleventh_wrong_login_of_a_minute_waits() {
        let (throttle, here) = (Throttle::default(), IpAddr::from([127, 0, 0, 1]));
        for _ in 0..WRONG_ONES {
            assert_eq!(throttle.wait("ann", here), None);
            throttle.note_wrong("ann", here);
        }
        assert!(throttle.wait("ann", here).is_some_and(|seconds| (1..=60).contains(&seconds)));
        // Another name from the same place, and the same name from another one.
        assert!(throttle.wait("bob", here).is_some());
        assert!(throttle.wait("ann", IpAddr::from([127, 0, 0, 2])).is_some());
        throttle.forget("ann", here);
        assert_eq!(throttle.wait("ann", here), None);
    }
}
