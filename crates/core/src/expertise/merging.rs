//! What is learned once more is the same item with more evidence.

use super::item::{Evidence, Item, Lesson, MOST_EVIDENCE, Retirement, Source};

/// What came of a lesson.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    New(Item),
    /// It was known, and is borne out once more.
    Borne(Item),
    /// This very event is among its evidence already.
    Known,
    /// A person does not want it, or it did harm: it stays retired.
    Unwanted,
}

pub fn merge(known: Option<Item>, lesson: Lesson, evidence: Evidence) -> Merged {
    let (id, source) = (lesson.id(), lesson.source);
    let Some(mut item) = known else {
        let mut item = Item::new(id, lesson.draft, source);
        item.evidence.push(evidence);
        item.seen = 1;
        return Merged::New(item);
    };
    let is_known = |one: &Evidence| (&one.run, one.event) == (&evidence.run, evidence.event);
    if item.evidence.iter().any(is_known) {
        return Merged::Known;
    }
    match item.retired {
        Some(Retirement::ByUser | Retirement::Harms | Retirement::LeftFile) => return Merged::Unwanted,
        // Seen again, so it is about something that is there.
        Some(_) | None => item.retired = None,
    }
    // The newest words are about the project as it is, unless a person wrote them.
    if !item.edited && item.source == Source::Rule && source == Source::Rule {
        item.draft = lesson.draft;
    }
    item.seen += 1;
    item.evidence.push(evidence);
    let surplus = item.evidence.len().saturating_sub(MOST_EVIDENCE);
    item.evidence.drain(..surplus);
    Merged::Borne(item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expertise::{Draft, Kind};
    use crate::values::ids::{Attempt, RunId, TaskId};

    fn evidence(event: u64) -> Evidence {
        Evidence {
            run: RunId::parse("r1").unwrap(),
            task: TaskId::parse("t").unwrap(),
            attempt: Attempt(1),
            commit: None,
            event,
            quote: None,
        }
    }

    fn lesson(claim: &str) -> Lesson {
        let draft = Draft {
            claim: claim.into(),
            kind: Kind::FileMap,
            domain: "api".into(),
            scope: Vec::new(),
            check: None,
        };
        Lesson { key: "k".into(), draft, source: Source::Rule, commit: None, quote: None, once_landed: false }
    }

    #[test]
    fn the_same_lesson_is_one_item_and_the_same_event_counts_once() {
        let Merged::New(item) = merge(None, lesson("a"), evidence(1)) else { panic!("new") };
        assert!(!item.is_told(), "files that changed together once are a coincidence");
        assert_eq!(merge(Some(item.clone()), lesson("a"), evidence(1)), Merged::Known);
        let Merged::Borne(item) = merge(Some(item), lesson("b"), evidence(2)) else { panic!("borne") };
        assert!(item.is_told());
        assert_eq!((item.draft.claim.as_str(), item.seen), ("b", 2));
        let mut more = item;
        for event in 3..40 {
            let Merged::Borne(item) = merge(Some(more), lesson("b"), evidence(event)) else { panic!() };
            more = item;
        }
        assert_eq!((more.evidence.len(), more.seen, more.evidence[0].event), (10, 39, 30));
    }

    #[test]
    fn what_a_person_wrote_or_does_not_want_stays_so() {
        let Merged::New(item) = merge(None, lesson("a"), evidence(1)) else { panic!("new") };
        let edited = Item { edited: true, ..item.clone() };
        let Merged::Borne(edited) = merge(Some(edited), lesson("b"), evidence(2)) else { panic!() };
        assert_eq!(edited.draft.claim, "a");
        for (why, expected) in
            [(Retirement::ByUser, false), (Retirement::Harms, false), (Retirement::FilesGone, true)]
        {
            let retired = Item { retired: Some(why), ..item.clone() };
            let merged = merge(Some(retired), lesson("a"), evidence(2));
            assert_eq!(matches!(merged, Merged::Borne(_)), expected);
        }
    }
}
