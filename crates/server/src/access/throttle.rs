//! Slows down those who guess: so many wrong logins in a minute, and the next is not even looked at.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);
const WRONG_ONES: usize = 10;

/// Names and networks that are remembered; the oldest are forgotten first.
const MOST: usize = 10_000;

/// No name is longer; what is sent as one may be.
const LONGEST_NAME: usize = 128;

#[derive(Debug, Default)]
pub(crate) struct Throttle {
    tries: Mutex<HashMap<String, Vec<Instant>>>,
}

/// What is tried.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Guessed<'a> {
    /// What belongs to a name: all may try that one, and one may try all.
    Of(&'a str),
    /// A secret of this kind, too long to be found by many together: wrong ones refuse their sender alone.
    Secret(&'static str),
    /// What may be done so often by all together.
    Call(&'a str),
}

/// A try that counts from when it is made, not from when it is known to be wrong: tries at once would all pass.
#[derive(Debug)]
pub(crate) struct Try {
    keys: Vec<String>,
    at: Instant,
}

impl Throttle {
    /// Counts a try, where there may be one; else how many seconds to wait.
    pub(crate) fn attempt(&self, guessed: Guessed<'_>, from: IpAddr) -> Result<Try, u64> {
        let (mut tries, now) = (self.tries(), Instant::now());
        let keys = keys(guessed, from);
        match wait(&mut tries, &keys, now) {
            Some(seconds) => Err(seconds),
            None => {
                note(&mut tries, &keys, now);
                Ok(Try { keys, at: now })
            }
        }
    }

    /// It was right, or could not be looked at.
    pub(crate) fn take_back(&self, tried: &Try) {
        let mut tries = self.tries();
        for key in &tried.keys {
            let Some(times) = tries.get_mut(key) else { continue };
            if let Some(place) = times.iter().position(|at| *at == tried.at) {
                times.remove(place);
            }
            if times.is_empty() {
                tries.remove(key);
            }
        }
    }

    /// Of a name whose secret is known by who logged in. What came from the same address counts on: it may have been for
    /// other names.
    pub(crate) fn forget_name(&self, name: &str) {
        self.tries().remove(&of_name(name));
    }

    /// How many seconds to wait, where this one has to.
    pub(crate) fn wait(&self, guessed: Guessed<'_>, from: IpAddr) -> Option<u64> {
        wait(&mut self.tries(), &keys(guessed, from), Instant::now())
    }

    pub(crate) fn note_wrong(&self, guessed: Guessed<'_>, from: IpAddr) {
        note(&mut self.tries(), &keys(guessed, from), Instant::now());
    }

    fn tries(&self) -> MutexGuard<'_, HashMap<String, Vec<Instant>>> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait(tries: &mut HashMap<String, Vec<Instant>>, keys: &[String], now: Instant) -> Option<u64> {
    keys.iter()
        .filter_map(|key| {
            let times = tries.get_mut(key)?;
            times.retain(|at| now.duration_since(*at) < WINDOW);
            let oldest = times.first().filter(|_| times.len() >= WRONG_ONES)?;
            Some((WINDOW - now.duration_since(*oldest)).as_secs().max(1))
        })
        .max()
}

fn note(tries: &mut HashMap<String, Vec<Instant>>, keys: &[String], now: Instant) {
    for key in keys {
        if !tries.contains_key(key) {
            make_room(tries, now);
        }
        tries.entry(key.clone()).or_default().push(now);
    }
}

/// For one more, at the expense of those who tried longest ago.
fn make_room(tries: &mut HashMap<String, Vec<Instant>>, now: Instant) {
    if tries.len() < MOST {
        return;
    }
    tries.retain(|_, times| times.last().is_some_and(|at| now.duration_since(*at) < WINDOW));
    while tries.len() >= MOST {
        let oldest = tries.iter().min_by_key(|(_, times)| times.last()).map(|(key, _)| key.clone());
        oldest.and_then(|key| tries.remove(&key));
    }
}

/// One name from everywhere, and every name from one place; a kind of secret from one place; a call from everywhere.
fn keys(guessed: Guessed<'_>, from: IpAddr) -> Vec<String> {
    let from = place(from);
    match guessed {
        Guessed::Of(name) => vec![of_name(name), format!("from {from}")],
        Guessed::Secret(kind) => vec![format!("{kind} from {from}")],
        Guessed::Call(what) => vec![format!("call {what}")],
    }
}

fn of_name(name: &str) -> String {
    format!("name {}", &name[..name.floor_char_boundary(LONGEST_NAME)])
}

/// An address; of the sixth version its network, for each machine has as many addresses there as it likes.
fn place(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
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
            throttle.attempt(Guessed::Of("ann"), here).unwrap();
        }
        assert!(throttle.attempt(Guessed::Of("ann"), here).is_err());
        assert!(throttle.wait(Guessed::Of("ann"), here).is_some_and(|seconds| (1..=60).contains(&seconds)));
        // Another name from the same place, and the same name from another one.
        assert!(throttle.wait(Guessed::Of("bob"), here).is_some());
        assert!(throttle.wait(Guessed::Of("ann"), IpAddr::from([127, 0, 0, 2])).is_some());
        // A login as ann lets ann in again, from elsewhere; who guessed here is not made new by it.
        throttle.forget_name("ann");
        assert_eq!(throttle.wait(Guessed::Of("ann"), IpAddr::from([127, 0, 0, 2])), None);
        assert!(throttle.wait(Guessed::Of("bob"), here).is_some());
    }

    #[test]
    fn a_right_one_is_taken_back_and_nothing_else() {
        let (throttle, here) = (Throttle::default(), IpAddr::from([127, 0, 0, 1]));
        for _ in 0..WRONG_ONES - 1 {
            throttle.attempt(Guessed::Of("ann"), here).unwrap();
        }
        for _ in 0..2 {
            let right = throttle.attempt(Guessed::Of("bob"), here).unwrap();
            throttle.take_back(&right);
        }
        throttle.attempt(Guessed::Of("ann"), here).unwrap();
        assert!(throttle.wait(Guessed::Of("bob"), here).is_some());
    }

    /// However many are remembered: the one at hand always is.
    #[test]
    fn the_oldest_are_forgotten_and_the_newest_never() {
        let throttle = Throttle::default();
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        for number in 0..MOST as u32 {
            throttle.note_wrong(Guessed::Secret("hook"), address(number));
        }
        let here = address(u32::MAX);
        for _ in 0..WRONG_ONES {
            throttle.attempt(Guessed::Of("ann"), here).unwrap();
        }
        assert!(throttle.attempt(Guessed::Of("ann"), here).is_err());
        let tries = throttle.tries();
        assert_eq!(tries.len(), MOST);
        assert!(!tries.contains_key("hook from 0.0.0.0") && tries.contains_key("hook from 0.0.39.15"));
    }

    #[test]
    fn one_network_of_the_sixth_version_is_one_place_and_long_names_take_no_room() {
        let throttle = Throttle::default();
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        (0..WRONG_ONES).for_each(|_| throttle.note_wrong(Guessed::Secret("code"), address("2001:db8::1")));
        assert!(throttle.wait(Guessed::Secret("code"), address("2001:db8::2")).is_some());
        assert_eq!(throttle.wait(Guessed::Secret("code"), address("2001:db8:0:1::1")), None);
        (0..WRONG_ONES)
            .for_each(|_| throttle.note_wrong(Guessed::Secret("code"), address("::ffff:10.0.0.1")));
        assert!(throttle.wait(Guessed::Secret("code"), address("10.0.0.1")).is_some());
        assert_eq!(throttle.wait(Guessed::Secret("code"), address("10.0.0.2")), None);
        assert!(of_name(&"é".repeat(1_000)).len() <= LONGEST_NAME + 5);
    }

    /// Each has its own number of calls, however many are called from one place.
    #[test]
    fn calls_are_counted_for_what_is_called_alone() {
        let (throttle, here) = (Throttle::default(), IpAddr::from([127, 0, 0, 1]));
        (0..WRONG_ONES).for_each(|_| drop(throttle.attempt(Guessed::Call("one"), here).unwrap()));
        assert!(throttle.attempt(Guessed::Call("one"), IpAddr::from([127, 0, 0, 2])).is_err());
        assert!(throttle.attempt(Guessed::Call("other"), here).is_ok());
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
