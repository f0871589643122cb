//! By what a task is known again in later runs of its file: a number made of what is asked for.

use std::fmt;
use std::hash::Hasher as _;

use serde::{Deserialize, Serialize};

use super::{Changes, Command, Task, Work};
use crate::values::ids::Fnv;

/// Two tasks of the same fingerprint ask for the same. It is stored, so what goes into it never changes; more may only
/// be added where most tasks have nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint(u64);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> String {
        fingerprint.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Fingerprint, std::num::ParseIntError> {
        u64::from_str_radix(&text, 16).map(Fingerprint)
    }
}

impl Task {
    /// Of the work and of what its result is held against. Who does it, when, where and for how much is no part of it:
    /// work that has landed is as good when its task gets another agent, another cap or another place in the order.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut print = Print(Fnv::default());
        match &self.work {
            Work::Prompt(prompt) => print.add("prompt", [prompt]),
            Work::Run(Command::Line(line)) => print.add("run", [line]),
            Work::Run(Command::Argv(words)) => print.add("argv", words),
        }
        print.add("expected_deliverable", &self.expected_deliverable);
        print.add("verify", &self.verify);
        if let Some(review) = &self.review {
            print.add("review", [review.rubric.as_deref().unwrap_or_default()]);
        }
        print.add("changes", [changes(self.changes)]);
        print.add("env", self.env.iter().flat_map(|(name, value)| [name, value]));
        Fingerprint(print.0.finish())
    }
}

fn changes(changes: Changes) -> &'static str {
    match changes {
        Changes::Required => "required",
        Changes::Optional => "optional",
        Changes::Forbidden => "forbidden",
        Changes::Discarded => "discarded",
    }
}

struct Print(Fnv);

impl Print {
    /// Texts with their lengths, so that none runs into the next; a key without any leaves no trace.
    fn add<T: AsRef<str>>(&mut self, key: &str, texts: impl IntoIterator<Item = T>) {
        let mut texts = texts.into_iter().peekable();
        if texts.peek().is_some() {
            self.text(key);
            texts.for_each(|text| self.text(text.as_ref()));
        }
    }

    fn text(&mut self, text: &str) {
        self.0.write(&(text.len() as u64).to_le_bytes());
        self.0.write(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::plan::{Priority, Review};
    use crate::values::ids::TaskId;

    fn task(work: Work) -> Task {
        Task::new(TaskId::parse("api").unwrap(), work)
    }

    fn prompt(text: &str) -> Task {
        task(Work::Prompt(text.to_owned()))
    }

    /// It is stored: what it was for a task it is for ever.
    #[test]
    fn it_is_what_it_was_in_every_version() {
        let mut full = prompt("Add an endpoint");
        full.expected_deliverable = Some("GET /users".to_owned());
        full.verify = vec!["make test".to_owned()];
        full.env.insert("MODE".to_owned(), "fast".to_owned());
        full.review = Some(Box::new(Review::default()));
        let line = task(Work::Run(Command::Line("make".to_owned())));
        let told = [prompt("Add an endpoint"), full, line].map(|task| task.fingerprint().to_string());
        assert_eq!(told, ["2f387f0f62dc757a", "92ad67aa2ae420c0", "8bd81f9d46685353"]);
    }

    #[test]
    fn every_part_of_what_is_asked_for_makes_another() {
        let mut all = vec![
            prompt("a"),
            task(Work::Run(Command::Line("a".to_owned()))),
            task(Work::Run(Command::Argv(vec!["a".to_owned()]))),
            task(Work::Run(Command::Argv(vec!["a".to_owned(), String::new()]))),
        ];
        let edits: [fn(&mut Task); 7] = [
            |task| task.expected_deliverable = Some("b".to_owned()),
            |task| task.verify = vec!["b".to_owned()],
            |task| task.verify = vec!["b".to_owned(), "c".to_owned()],
            |task| task.changes = Changes::Forbidden,
            |task| drop(task.env.insert("b".to_owned(), "c".to_owned())),
            |task| task.review = Some(Box::default()),
            |task| task.review = Some(Box::new(Review { rubric: Some("b".to_owned()), ..Review::default() })),
        ];
        for edit in edits {
            let mut edited = prompt("a");
            edit(&mut edited);
            all.push(edited);
        }
        let different: HashSet<Fingerprint> = all.iter().map(Task::fingerprint).collect();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn who_does_it_when_and_for_how_much_is_no_part_of_it() {
        let mut other = prompt("a");
        (other.agent, other.model) = (Some("codex".to_owned()), Some("large".to_owned()));
        (other.priority, other.max_turns) = (Priority(0), Some(3));
        other.preparation.get_or_insert_default().learned_files = vec!["src".to_owned()];
        other.name = "Another name".to_owned();
        assert_eq!(other.fingerprint(), prompt("a").fingerprint());
    }

    proptest! {
        #[test]
        fn what_is_stored_reads_back_the_same(text in ".*") {
            let fingerprint = prompt(&text).fingerprint();
            let stored = serde_json::to_string(&fingerprint).unwrap();
            prop_assert_eq!(serde_json::from_str::<Fingerprint>(&stored).unwrap(), fingerprint);
        }

        #[test]
        fn texts_do_not_run_into_each_other(one in prop::collection::vec("[ab]{0,3}", 0..4),
                                            other in prop::collection::vec("[ab]{0,3}", 0..4)) {
            let with = |verify: &[String]| Task { verify: verify.to_vec(), ..prompt("a") }.fingerprint();
            prop_assert_eq!(one == other, with(&one) == with(&other));
        }
    }
}
