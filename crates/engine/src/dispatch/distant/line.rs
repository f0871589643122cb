//! What one side says to the other over a broker arrives in order and each once, whatever the broker does.
//!
//! Each side numbers what it says and keeps it until the other says how far it has heard. What is not heard for a while is
//! said again, so a broker that loses all it has costs a moment. What is long goes in pieces: brokers refuse messages over some
//! size, and all that is said after one that never arrives would wait for it. It knows neither keys nor queues nor clocks.

use std::collections::{BTreeMap, VecDeque};

use conductor_core::values::units::{Millis, Tick};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How long the other side may take until what was said is said again.
pub(crate) const AGAIN: Millis = Millis::from_secs(3);

/// How much goes into one message. As JSON in JSON it may come to a few times that; RabbitMQ takes 16 MiB by default.
const LARGEST: usize = 256 << 10;

/// The longest thing that is put together again, as of a line between two processes of one machine.
const LONGEST: usize = 64 << 20;

/// How many messages are said ahead of what the other side has heard, and kept that came before their turn.
const AHEAD: u64 = 1024;

/// A few things that are said, from this number on, and up to which number the other side was heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Of the first; numbers begin with 1.
    pub(crate) number: u64,
    pub(crate) heard: u64,
    pub(crate) said: Vec<String>,
    /// The last of these goes on with what has the next number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) goes_on: bool,
}

/// One thing that is said, or a piece of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    text: String,
    goes_on: bool,
}

/// The other side does not keep to what is agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("what it says is too long")]
pub(crate) struct TooLong;

#[derive(Debug)]
pub(crate) struct Line {
    /// What the other side has not heard yet, from `first` on.
    unheard: VecDeque<Piece>,
    first: u64,
    /// The next that has not been said, and when something was said last.
    next: u64,
    said_at: Option<Tick>,
    /// The next that is to come, and what came before it.
    expected: u64,
    early: BTreeMap<u64, Piece>,
    /// The pieces so far of what has not come to its end.
    begun: String,
    /// The other side is to be told how far it was heard.
    owes: bool,
}

impl Default for Line {
    fn default() -> Line {
        Line {
            unheard: VecDeque::new(),
            first: 1,
            next: 1,
            said_at: None,
            expected: 1,
            early: BTreeMap::new(),
            begun: String::new(),
            owes: false,
        }
    }
}

impl Line {
    pub(crate) fn say(&mut self, what: String) {
        let mut rest = what;
        while rest.len() > LARGEST {
            let tail = rest.split_off(rest.floor_char_boundary(LARGEST));
            self.unheard.push_back(Piece { text: rest, goes_on: true });
            rest = tail;
        }
        self.unheard.push_back(Piece { text: rest, goes_on: false });
    }

    /// What of it is new, in order.
    pub(crate) fn hear(&mut self, part: Part) -> Result<Vec<String>, TooLong> {
        self.note_heard(part.heard);
        self.owes |= !part.said.is_empty();
        // Whatever number it claims to begin with.
        let end = part.number.saturating_add(part.said.len() as u64);
        for (number, text) in (part.number..end).zip(part.said) {
            if text.len() > LARGEST {
                return Err(TooLong);
            }
            if number >= self.expected && number < self.expected + AHEAD {
                let goes_on = part.goes_on && number + 1 == end;
                self.early.insert(number, Piece { text, goes_on });
            }
        }
        let mut new = Vec::new();
        while let Some(Piece { text, goes_on }) = self.early.remove(&self.expected) {
            self.expected += 1;
            if self.begun.len() + text.len() > LONGEST {
                return Err(TooLong);
            }
            self.begun.push_str(&text);
            if !goes_on {
                new.push(std::mem::take(&mut self.begun));
            }
        }
        Ok(new)
    }

    fn note_heard(&mut self, heard: u64) {
        // What was never said cannot have been heard.
        while self.first <= heard && self.first < self.next {
            self.unheard.pop_front();
            self.first += 1;
        }
        if self.first == self.next {
            self.said_at = None;
        }
    }

    /// What is to be sent now, part by part.
    pub(crate) fn part(&mut self, now: Tick) -> Option<Part> {
        let waits_too_long = self.said_at.is_some_and(|at| now >= at + AGAIN);
        if waits_too_long && self.first < self.next {
            self.next = self.first;
            self.said_at = None;
        }
        let heard = self.expected - 1;
        let from = usize::try_from(self.next - self.first).unwrap_or(usize::MAX);
        let (mut said, mut size, mut goes_on) = (Vec::new(), 0, false);
        for piece in self.unheard.iter().skip(from) {
            let is_ahead = self.next + said.len() as u64 >= self.first + AHEAD;
            if goes_on || is_ahead || (!said.is_empty() && size + piece.text.len() > LARGEST) {
                break;
            }
            size += piece.text.len();
            said.push(piece.text.clone());
            goes_on = piece.goes_on;
        }
        let number = self.next;
        if said.is_empty() {
            return std::mem::take(&mut self.owes).then_some(Part { number, heard, said, goes_on });
        }
        self.next += said.len() as u64;
        self.said_at = Some(now);
        self.owes = false;
        Some(Part { number, heard, said, goes_on })
    }

    /// Whether the other side has heard all that was said.
    pub(crate) fn is_heard(&self) -> bool {
        self.unheard.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(line: &mut Line, now: u64) -> Vec<Part> {
        std::iter::from_fn(|| line.part(Tick(now))).collect()
    }

    #[test]
    fn what_is_said_is_heard_once_and_not_said_again() {
        let (mut one, mut other) = (Line::default(), Line::default());
        one.say("a".into());
        one.say("b".into());
        let parts = said(&mut one, 0);
        assert_eq!(parts, [Part { number: 1, heard: 0, said: vec!["a".into(), "b".into()], goes_on: false }]);
        assert_eq!(other.hear(parts[0].clone()).unwrap(), ["a", "b"]);
        assert_eq!(
            other.hear(parts[0].clone()).unwrap(),
            Vec::<String>::new(),
            "a second time it is nothing new"
        );
        let back = said(&mut other, 0);
        assert_eq!(back, [Part { number: 1, heard: 2, said: Vec::new(), goes_on: false }]);
        assert!(one.hear(back[0].clone()).unwrap().is_empty() && one.is_heard());
        assert!(said(&mut one, AGAIN.0 * 2).is_empty());
    }

    #[test]
    fn what_was_lost_is_said_again_after_a_while() {
        let (mut one, mut other) = (Line::default(), Line::default());
        one.say("a".into());
        drop(said(&mut one, 0));
        assert!(said(&mut one, AGAIN.0 - 1).is_empty());
        let again = said(&mut one, AGAIN.0);
        assert_eq!(other.hear(again[0].clone()).unwrap(), ["a"]);
    }

    #[test]
    fn no_part_is_too_large() {
        let (mut one, mut other) = (Line::default(), Line::default());
        let things =
            ["x".repeat(LARGEST - 10), "y".repeat(LARGEST - 10), "ä".repeat(LARGEST), "z".to_owned()];
        things.iter().for_each(|thing| one.say(thing.clone()));
        let parts = said(&mut one, 0);
        assert!(parts.iter().all(|part| part.said.iter().map(String::len).sum::<usize>() <= LARGEST));
        assert_eq!(
            parts.iter().map(|part| part.goes_on).collect::<Vec<_>>(),
            [false, false, true, false, false]
        );
        // In any order, and more than once.
        let heard: Vec<String> =
            parts.iter().rev().chain(&parts).flat_map(|part| other.hear(part.clone()).unwrap()).collect();
        assert_eq!(heard, things);
    }

    #[test]
    fn what_has_no_end_is_given_up() {
        let (mut one, mut other) = (Line::default(), Line::default());
        let piece = "x".repeat(LARGEST);
        let part = |number| Part { number, heard: 0, said: vec![piece.clone()], goes_on: true };
        let most = (LONGEST / LARGEST) as u64;
        assert!((1..=most).all(|number| one.hear(part(number)) == Ok(Vec::new())));
        assert_eq!(one.hear(part(most + 1)), Err(TooLong));
        let said = vec!["x".repeat(LARGEST + 1)];
        assert_eq!(other.hear(Part { number: 1, heard: 0, said, goes_on: false }), Err(TooLong));
    }

    #[test]
    fn a_number_far_ahead_takes_no_room() {
        let mut one = Line::default();
        let far = Part { number: u64::MAX - 2, heard: u64::MAX, said: vec!["a".into()], goes_on: false };
        assert!(one.hear(far).unwrap().is_empty());
        assert!(one.early.is_empty());
    }

    proptest! {
        /// Messages are lost, doubled, and come in any order, in both directions.
        #[test]
        fn all_that_is_said_arrives_in_order_and_once(
            counts in (0_usize..30, 0_usize..30),
            faults in proptest::collection::vec((0_u8..10, any::<proptest::sample::Index>()), 0..400),
        ) {
            let mut lines = [Line::default(), Line::default()];
            let mut heard = [Vec::new(), Vec::new()];
            let mut on_the_way: Vec<(usize, Part)> = Vec::new();
            for (side, count) in [counts.0, counts.1].into_iter().enumerate() {
                (0..count).for_each(|number| lines[side].say(format!("{side}:{number}")));
            }
            let mut now = 0;
            for (what, which) in faults {
                now += 1_000;
                for (side, line) in lines.iter_mut().enumerate() {
                    while let Some(part) = line.part(Tick(now)) {
                        on_the_way.push((1 - side, part));
                    }
                }
                if on_the_way.is_empty() {
                    continue;
                }
                let which = which.index(on_the_way.len());
                let (to, part) = match what {
                    0..3 => { on_the_way.swap_remove(which); continue }
                    3..6 => on_the_way[which].clone(),
                    6 => { on_the_way.clear(); continue }
                    _ => on_the_way.swap_remove(which),
                };
                heard[to].extend(lines[to].hear(part).unwrap());
            }
            // From here on nothing is lost any more.
            for _ in 0..8 {
                now += AGAIN.0;
                for (side, line) in lines.iter_mut().enumerate() {
                    while let Some(part) = line.part(Tick(now)) {
                        on_the_way.push((1 - side, part));
                    }
                }
                while let Some((to, part)) = on_the_way.pop() {
                    heard[to].extend(lines[to].hear(part).unwrap());
                }
            }
            let expected = |side: usize, count: usize| -> Vec<String> {
                (0..count).map(|number| format!("{side}:{number}")).collect()
            };
            prop_assert_eq!(&heard[1], &expected(0, counts.0));
            prop_assert_eq!(&heard[0], &expected(1, counts.1));
            prop_assert!(lines.iter().all(Line::is_heard));
        }
    }
}
