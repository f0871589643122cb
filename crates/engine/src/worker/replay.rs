//! A conversation that another coordinator has had up to some place: its stream is read again from the start.

use std::collections::VecDeque;

use conductor_core::run::event::{ASK_HUMAN, ModelUsage, Question};
use serde::{Deserialize, Serialize};

use crate::agents::Translator;
use crate::process::shim::{Notes, Said};

/// What a coordinator keeps with a shim because it is not in the agent's stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kept {
    /// The agent was told this when it had been heard up to that place.
    Told { place: u64, words: String },
    /// It asks a person.
    Asked(Question),
}

impl Kept {
    pub(super) fn keep(&self, notes: &Notes) {
        if let Ok(line) = serde_json::to_string(self) {
            notes.keep(line);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Replay {
    /// Up to here it was heard.
    pub(super) heard: u64,
    /// Up to here it was answered, plus one.
    answered: u64,
    kept: VecDeque<Kept>,
    /// What is recorded of what it has used, until that is put right.
    pub(super) recorded: Option<Vec<ModelUsage>>,
    /// The question is with the shim.
    has_question: bool,
}

impl Replay {
    pub(super) fn of(said: &Said, recorded: Vec<ModelUsage>) -> Replay {
        let kept: VecDeque<Kept> =
            said.kept.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let has_question = kept.iter().any(|kept| matches!(kept, Kept::Asked(_)));
        let (heard, answered) = (said.heard, said.answered);
        Replay { heard, answered, kept, recorded: Some(recorded), has_question }
    }

    /// What it asked of a person, and nothing was done about yet.
    pub(super) fn question(&self) -> Option<Question> {
        self.kept.iter().find_map(|kept| match kept {
            Kept::Asked(question) => Some(question.clone()),
            Kept::Told { .. } => None,
        })
    }

    pub(super) fn keep_question(&mut self, notes: &Notes, question: &Question) {
        if !self.has_question && question.tool == ASK_HUMAN {
            self.has_question = true;
            Kept::Asked(question.clone()).keep(notes);
        }
    }

    /// Whether what begins here was answered.
    pub(super) fn is_answered(&self, from: u64) -> bool {
        from + 1 < self.answered
    }

    /// What a translator was to say at this place: it counts what it says. It is not said to the agent again.
    pub(super) fn say_again(&mut self, place: u64, translator: &mut dyn Translator) {
        let is_due = |kept: &Kept| match kept {
            Kept::Told { place: told, .. } => *told <= place,
            Kept::Asked(_) => true,
        };
        while self.kept.front().is_some_and(is_due) {
            if let Some(Kept::Told { words, .. }) = self.kept.pop_front() {
                translator.say(&words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{Ending, Heard};
    use crate::process::Exit;

    /// Writes down what it is to say.
    #[derive(Default)]
    struct Listener(Vec<String>);

    impl Translator for Listener {
        fn on_line(&mut self, _: &[u8]) -> Heard {
            Heard::default()
        }

        fn say(&mut self, words: &str) -> Vec<u8> {
            self.0.push(words.to_owned());
            Vec::new()
        }

        fn finish(&mut self, _: Exit) -> Ending {
            Ending::good(None)
        }
    }

    #[test]
    fn what_was_kept_comes_back_at_its_place() {
        let question = Question { tool: ASK_HUMAN.into(), what: "Which?".into(), why: String::new() };
        let told = |place, words: &str| Kept::Told { place, words: words.into() };
        let all = [told(0, "first"), told(7, "second"), Kept::Asked(question.clone()), told(9, "third")];
        let kept = all.iter().map(|kept| serde_json::to_string(kept).unwrap()).collect();
        let said = Said { answered: 8, heard: 12, kept, ..Said::default() };
        let (mut replay, mut listener) = (Replay::of(&said, Vec::new()), Listener::default());
        assert_eq!(replay.question(), Some(question));
        let mut heard_at = Vec::new();
        for place in [0, 5, 7, 12] {
            replay.say_again(place, &mut listener);
            heard_at.push(listener.0.len());
        }
        assert_eq!(heard_at, [1, 1, 2, 3]);
        assert!(replay.is_answered(0) && replay.is_answered(6), "these begin before the answered place");
        assert!(!replay.is_answered(7), "it begins where the answer ends");
        assert!(!Replay::default().is_answered(0));
    }
}
