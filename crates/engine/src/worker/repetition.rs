//! Notices an agent that does the same over and over, to no effect.
//!
//! Looking again after a change is no repetition: every edit starts the count anew. An agent that repeats
//! itself is told so first and stopped only when that does not help.

use std::collections::{HashMap, VecDeque};

use crate::agents::Said;

/// A call that came more often than this, or makes up this many of the last few, is one too many.
const CALLS: u32 = 3;
const WINDOW: usize = 5;

/// The same error more often than this.
const ERRORS: u32 = 3;

/// An agent that goes on after being told is stopped at this many times the limit.
const PATIENCE: u32 = 2;

/// Tools that change something, by all the names agents have for them.
const EDITS: [&str; 11] = [
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "write",
    "edit",
    "patch",
    "apply_patch",
    "file_change",
    "write_file",
    "replace",
];

#[derive(Debug, Default)]
pub(super) struct Repetition {
    calls: HashMap<(String, String), u32>,
    last: VecDeque<(String, String)>,
    errors: HashMap<String, u32>,
    told: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sign {
    /// A message for the agent.
    Tell(String),
    /// Stops the agent, and why: the message did not help, or could not be sent.
    Stop(String),
}

impl Repetition {
    pub(super) fn see(&mut self, said: &Said) -> Option<Sign> {
        let (what, times, limit) = match said {
            Said::Tool(name, _) if EDITS.contains(&name.as_str()) => {
                self.calls.clear();
                self.last.clear();
                return None;
            }
            Said::Tool(name, what) => self.call((name.clone(), what.clone())),
            Said::Trouble(error) => {
                let times = self.errors.entry(error.clone()).or_default();
                *times += 1;
                (format!("met the same error {times} times ({})", short(error)), *times, ERRORS + 1)
            }
            _ => return None,
        };
        match times {
            times if times >= limit * PATIENCE => {
                Some(Sign::Stop(format!("it {what}, and nothing came of it")))
            }
            times if times >= limit && !self.told => {
                self.told = true;
                Some(Sign::Tell(format!(
                    "You {what} without changing anything. Do something else, or come to an end and say what is missing."
                )))
            }
            _ => None,
        }
    }

    /// How often it came in a row or nearly so, and how often is too often.
    fn call(&mut self, call: (String, String)) -> (String, u32, u32) {
        let all = self.calls.entry(call.clone()).or_default();
        *all += 1;
        let (all, shown) = (*all, format!("{} {}", call.0, short(&call.1)));
        self.last.push_back(call.clone());
        if self.last.len() > WINDOW * PATIENCE as usize {
            self.last.pop_front();
        }
        let among = |window: usize| {
            let times = self.last.iter().rev().take(window).filter(|known| **known == call).count();
            times as u32
        };
        // Three of the last five count as much as four in all; six of the last ten as eight.
        let nearby = match (among(WINDOW), among(WINDOW * PATIENCE as usize)) {
            (_, many) if many >= CALLS * PATIENCE => (CALLS + 1) * PATIENCE,
            (some, _) if some >= CALLS => CALLS + 1,
            _ => 0,
        };
        (format!("did `{shown}` {all} times"), all.max(nearby), CALLS + 1)
    }
}

fn short(text: &str) -> String {
    const LONGEST: usize = 80;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, what: &str) -> Said {
        Said::Tool(name.into(), what.into())
    }

    fn signs(story: &[Said]) -> Vec<(usize, bool)> {
        let mut repetition = Repetition::default();
        let see = |(at, said)| {
            let sign = repetition.see(said)?;
            Some((at + 1, matches!(sign, Sign::Stop(_))))
        };
        story.iter().enumerate().filter_map(see).collect()
    }

    #[test]
    fn the_same_call_is_told_of_and_then_stopped() {
        let same = vec![tool("Bash", "curl localhost"); 8];
        assert_eq!(signs(&same), [(3, false), (6, true), (7, true), (8, true)]);
        let scattered: Vec<Said> = (0..40)
            .map(|n| if n % 4 == 0 { tool("Read", "a") } else { tool("Read", &n.to_string()) })
            .collect();
        assert_eq!(
            signs(&scattered),
            [(13, false), (29, true), (33, true), (37, true)],
            "four, then eight in all"
        );
    }

    #[test]
    fn testing_after_every_edit_is_work() {
        let story: Vec<Said> = (0..30)
            .flat_map(|_| [tool("Edit", "src/a.rs"), tool("Bash", "cargo test"), tool("Read", "src/a.rs")])
            .collect();
        assert_eq!(signs(&story), []);
    }

    #[test]
    fn the_same_error_over_and_over_is_noticed_whatever_is_edited_between() {
        let story: Vec<Said> = (0..8)
            .flat_map(|n| [tool("Edit", &n.to_string()), Said::Trouble("no such file".into())])
            .collect();
        assert_eq!(signs(&story), [(8, false), (16, true)]);
    }

    #[test]
    fn what_only_looks_alike_is_not_the_same() {
        let story: Vec<Said> = (0..20).map(|n| tool("Read", &format!("big.log:{}", n * 2000))).collect();
        assert_eq!(signs(&story), []);
    }
}
