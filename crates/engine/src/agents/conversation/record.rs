//! The record of an attempt's exchange: who speaks in each part, and what was said to them. Agents do not repeat it.

use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::values::ids::{Attempt, TaskId};
use serde::{Deserialize, Serialize};

use super::Who;
use crate::agents::Brief;
use crate::host::clock;
use crate::host::redact::Redactor;
use crate::process::transcript::Speaker;

/// Longer prompts and messages are noted up to here.
const LONGEST: usize = 256 << 10;

/// A line of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Note {
    /// An agent is engaged with this prompt, in a new conversation or in one that goes on.
    Begins { agent: String, model: Option<String>, goes_on: bool, at_ms: i64, prompt: String },
    /// It was told something while it worked, when its stream was so long.
    Told { by_user: bool, text: String, at_ms: i64, place: u64 },
    /// It needs the user's word.
    Asks { text: String, at_ms: i64 },
}

impl Note {
    pub(super) fn read(line: &[u8]) -> Option<Note> {
        serde_json::from_slice(line).ok()
    }
}

/// Notes what is said to the agents of one attempt. It is only for people: what cannot be written is left out.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    output: PathBuf,
    executor: u32,
    task: TaskId,
    attempt: Attempt,
    redactor: Arc<Redactor>,
}

impl Recorder {
    pub(crate) fn new(speaker: &Speaker<'_>, redactor: Arc<Redactor>) -> Recorder {
        let (output, task) = (speaker.output.to_owned(), speaker.task.clone());
        Recorder { output, executor: speaker.executor, task, attempt: speaker.attempt, redactor }
    }

    fn speaker(&self) -> Speaker<'_> {
        Speaker { output: &self.output, executor: self.executor, task: &self.task, attempt: self.attempt }
    }

    /// An agent begins, in a stream of its own.
    pub(crate) fn begins(&self, brief: &Brief<'_>) {
        let (agent, model) = (brief.task.agent_name().to_owned(), brief.task.model.clone());
        let (at_ms, goes_on, prompt) = (clock::wall().0, brief.session.begun, self.clean(&brief.words));
        let note = Note::Begins { agent, model, goes_on, at_ms, prompt };
        if let Ok(line) = serde_json::to_string(&note) {
            let _ = self.speaker().begin_part(&line);
        }
    }

    pub(crate) fn told(&self, who: Who, words: &str, place: u64) {
        let by_user = who == Who::User;
        self.note(&Note::Told { by_user, text: self.clean(words), at_ms: clock::wall().0, place });
    }

    pub(crate) fn asks(&self, words: &str) {
        self.note(&Note::Asks { text: self.clean(words), at_ms: clock::wall().0 });
    }

    fn note(&self, note: &Note) {
        if let Ok(line) = serde_json::to_string(note) {
            let _ = self.speaker().note(&line);
        }
    }

    fn clean(&self, words: &str) -> String {
        let clean = self.redactor.text(words);
        let end = clean.floor_char_boundary(LONGEST);
        clean[..end].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::transcript::BEGINS;

    #[test]
    fn a_part_begins_with_the_word_it_is_known_by() {
        let (agent, prompt) = ("claude".to_owned(), "do\nit".to_owned());
        let note = Note::Begins { agent, model: None, goes_on: false, at_ms: 1, prompt };
        let line = serde_json::to_string(&note).unwrap();
        assert!(line.starts_with(BEGINS) && !line.contains('\n'), "{line}");
        assert_eq!(Note::read(line.as_bytes()), Some(note));
        let told = Note::Told { by_user: true, text: "x".into(), at_ms: 1, place: 2 };
        assert!(!serde_json::to_string(&told).unwrap().starts_with(BEGINS));
        assert_eq!(Note::read(b"{\"new\":{}}"), None);
    }
}
