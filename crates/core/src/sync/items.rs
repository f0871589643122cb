//! What a project has taught on one machine, joined to what it has taught on another.

use crate::expertise::{Evidence, Item, MOST_EVIDENCE};

/// What is known here with what comes from elsewhere; nothing where that changes nothing. What a person wrote or retired
/// here stays as it is.
pub fn joined(known: Option<&Item>, coming: &Item) -> Option<Item> {
    let Some(known) = known else { return Some(coming.clone()) };
    let mut whole = known.clone();
    if coming.edited && !known.edited {
        whole.draft = coming.draft.clone();
        whole.edited = true;
    }
    if whole.retired.is_none() {
        whole.retired = coming.retired.clone();
    }
    let is_new = |evidence: &&Evidence| {
        !known.evidence.iter().any(|one| (&one.run, one.event) == (&evidence.run, evidence.event))
    };
    let new: Vec<_> = coming.evidence.iter().filter(is_new).cloned().collect();
    whole.evidence.extend(new);
    whole.evidence.truncate(MOST_EVIDENCE);
    // Which of those that are not kept as evidence both have seen is not known: the larger number holds for sure.
    whole.seen = known.seen.max(coming.seen).max(u32::try_from(whole.evidence.len()).unwrap_or(u32::MAX));
    (whole != *known).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expertise::{Draft, ItemId, Kind, Retirement, Source};
    use crate::values::ids::{Attempt, RunId, TaskId};

    fn item(claim: &str, events: &[u64]) -> Item {
        let draft = Draft {
            claim: claim.to_owned(),
            kind: Kind::Pattern,
            domain: "general".to_owned(),
            scope: Vec::new(),
            check: None,
        };
        let evidence = |event: &u64| Evidence {
            run: RunId::parse("r1").unwrap(),
            task: TaskId::parse("t").unwrap(),
            attempt: Attempt(1),
            commit: None,
            event: *event,
            quote: None,
        };
        let mut item = Item::new(ItemId::of(Kind::Pattern, "key"), draft, Source::Rule);
        item.evidence = events.iter().map(evidence).collect();
        item.seen = events.len() as u32;
        item
    }

    #[test]
    fn what_is_new_is_taken_and_what_is_known_changes_nothing() {
        let known = item("a", &[1, 2]);
        assert_eq!(joined(None, &known), Some(known.clone()));
        assert_eq!(joined(Some(&known), &known), None);
        assert_eq!(joined(Some(&known), &item("a", &[2])), None);
    }

    #[test]
    fn evidence_of_both_machines_counts_once() {
        let whole = joined(Some(&item("a", &[1, 2])), &item("a", &[2, 3])).unwrap();
        let events: Vec<u64> = whole.evidence.iter().map(|one| one.event).collect();
        assert_eq!((events.as_slice(), whole.seen), ([1, 2, 3].as_slice(), 3));
        let many: Vec<u64> = (0..20).collect();
        let full =
            joined(Some(&item("a", &many[..10])), &item("a", &many[5..])).map(|item| item.evidence.len());
        assert!(full.is_none_or(|kept| kept == MOST_EVIDENCE), "{full:?}");
    }

    #[test]
    fn words_of_a_person_and_a_retirement_win_over_what_was_counted() {
        let edited = Item { edited: true, ..item("by hand", &[]) };
        assert_eq!(joined(Some(&item("counted", &[1])), &edited).unwrap().draft.claim, "by hand");
        assert_eq!(joined(Some(&edited), &Item { edited: true, ..item("other", &[]) }), None, "ours stay");
        let retired = Item { retired: Some(Retirement::ByUser), ..item("a", &[]) };
        assert_eq!(joined(Some(&item("a", &[])), &retired).unwrap().retired, Some(Retirement::ByUser));
        assert_eq!(joined(Some(&retired), &item("a", &[])), None, "what is retired stays so");
    }
}
