//! What one side says to the other over a broker arrives in order and each once, whatever the broker does.
//!
//! Each side numbers what it says and keeps it until the other says how far it has heard. What is not heard for a while is
//! said again, so a broker that loses all it has costs a moment. It knows neither keys nor queues nor clocks.

use std::collections::{BTreeMap, VecDeque};

use conductor_core::values::units::{Millis, Tick};
use serde::{Deserialize, Serialize};

/// How long the other side may take until what was said is said again.
pub(crate) const AGAIN: Millis = Millis::from_secs(3);

/// How much goes into one message.
const LARGEST: usize = 256 << 10;

/// How many messages are said ahead of what the other side has heard, and kept that came before their turn.
const AHEAD: u64 = 1024;

/// A few things that are said, from this number on, and up to which number the other side was heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Of the first; numbers begin with 1.
    pub(crate) number: u64,
    pub(crate) heard: u64,
    pub(crate) said: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Line {
    /// What the other side has not heard yet, from `first` on.
    unheard: VecDeque<String>,
    first: u64,
    /// The next that has not been said, and when something was said last.
    next: u64,
    said_at: Option<Tick>,
    /// The next that is to come, and what came before it.
    expected: u64,
    early: BTreeMap<u64, String>,
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
            owes: false,
        }
    }
}

impl Line {
    pub(crate) fn say(&mut self, what: String) {
        self.unheard.push_back(what);
    }

    /// What of it is new, in order.
    pub(crate) fn hear(&mut self, part: Part) -> Vec<String> {
        self.note_heard(part.heard);
        self.owes |= !part.said.is_empty();
        // Whatever number it claims to begin with.
        let numbers = part.number..part.number.saturating_add(part.said.len() as u64);
        for (number, what) in numbers.zip(part.said) {
            if number >= self.expected && number < self.expected + AHEAD {
                self.early.insert(number, what);
            }
        }
        let mut new = Vec::new();
        while let Some(what) = self.early.remove(&self.expected) {
            self.expected += 1;
            new.push(what);
        }
        new
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
        let (mut said, mut size) = (Vec::new(), 0);
        for what in self.unheard.iter().skip(from) {
            let is_ahead = self.next + said.len() as u64 >= self.first + AHEAD;
            if is_ahead || (!said.is_empty() && size + what.len() > LARGEST) {
                break;
            }
            size += what.len();
            said.push(what.clone());
        }
        if said.is_empty() {
            let number = self.next;
            return std::mem::take(&mut self.owes).then_some(Part { number, heard, said });
        }
        let number = self.next;
        self.next += said.len() as u64;
        self.said_at = Some(now);
        self.owes = false;
        Some(Part { number, heard, said })
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
        assert_eq!(parts, [Part { number: 1, heard: 0, said: vec!["a".into(), "b".into()] }]);
        assert_eq!(other.hear(parts[0].clone()), ["a", "b"]);
        assert_eq!(other.hear(parts[0].clone()), Vec::<String>::new(), "a second time it is nothing new");
        let back = said(&mut other, 0);
        assert_eq!(back, [Part { number: 1, heard: 2, said: Vec::new() }]);
        assert!(one.hear(back[0].clone()).is_empty() && one.is_heard());
        assert!(said(&mut one, AGAIN.0 * 2).is_empty());
    }

    #[test]
    fn what_was_lost_is_said_again_after_a_while() {
        let (mut one, mut other) = (Line::default(), Line::default());
        one.say("a".into());
        drop(said(&mut one, 0));
        assert!(said(&mut one, AGAIN.0 - 1).is_empty());
        let again = said(&mut one, AGAIN.0);
        assert_eq!(other.hear(again[0].clone()), ["a"]);
    }

    #[test]
    fn no_one_part_is_too_large_and_one_thing_is_never_cut() {
        let mut one = Line::default();
        for _ in 0..3 {
            one.say("x".repeat(LARGEST - 10));
        }
        one.say("y".repeat(LARGEST * 2));
        let parts = said(&mut one, 0);
        assert_eq!(parts.iter().map(|part| part.said.len()).collect::<Vec<_>>(), [1, 1, 1, 1]);
        assert_eq!(parts.iter().map(|part| part.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    }

    #[test]
    fn a_number_far_ahead_takes_no_room() {
        let mut one = Line::default();
        assert!(one.hear(Part { number: u64::MAX - 2, heard: u64::MAX, said: vec!["a".into()] }).is_empty());
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
                heard[to].extend(lines[to].hear(part));
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
                    heard[to].extend(lines[to].hear(part));
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
