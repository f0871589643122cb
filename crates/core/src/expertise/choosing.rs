//! Which items a task is given, and why: those about its files and its words, the best first, as many as a prompt has
//! room for.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::item::{Item, Kind, Tally};
use super::rendering::{MOST_TOKENS, line, tokens};
use super::statistics::difference;
use super::trial::{Fate, fate};
use crate::plan::file_sets::FileSet;

/// An item that may be meant for a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub item: Item,
    pub tally: Tally,
}

/// What a task is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Need {
    /// Globs of what it will touch.
    pub files: Vec<String>,
    /// Of its name and its prompt; see `words_of`.
    pub words: Vec<String>,
    pub domain: String,
}

/// Why an item is meant for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It is about files that the task will touch.
    Files(String),
    /// The task speaks of the same things.
    Words(Vec<String>),
    /// It is about the same part of the project.
    Domain(String),
    /// It is about the whole project.
    Everywhere,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Files(glob) => write!(f, "files {glob}"),
            Reason::Words(words) => write!(f, "words {}", words.join(" ")),
            Reason::Domain(domain) => write!(f, "domain {domain}"),
            Reason::Everywhere => f.write_str("the whole project"),
        }
    }
}

/// An item that is meant for a task, and what becomes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    pub item: Item,
    pub tally: Tally,
    pub score: f64,
    pub why: Vec<Reason>,
    pub fate: Fate,
}

/// Fewer words in common are a coincidence.
const COMMON_WORDS: usize = 2;

/// The items for a task of a run, the best first. One that is withheld takes up its room all the same: what it is
/// compared with must not differ in anything else.
pub fn choose(candidates: Vec<Candidate>, need: &Need, (run, task): (&str, &str)) -> Vec<Chosen> {
    let files = FileSet::new(&need.files);
    let mut ranked: Vec<Chosen> = candidates
        .into_iter()
        .filter(|candidate| candidate.item.is_told())
        .filter_map(|candidate| rank(candidate, need, &files))
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.item.id.cmp(&b.item.id)));
    let (mut room, mut taken) = (MOST_TOKENS, [0; Kind::ALL.len()]);
    let mut chosen = Vec::new();
    for mut one in ranked {
        one.fate = fate(run, task, &one.item.id, &one.tally);
        let (size, kind) = (tokens(&line(&one.item)), one.item.draft.kind);
        if one.fate == Fate::Rested || taken[kind as usize] == kind.cap() || size > room {
            continue;
        }
        (room, taken[kind as usize]) = (room - size, taken[kind as usize] + 1);
        chosen.push(one);
    }
    chosen
}

/// Nothing where the item has nothing to do with the task.
fn rank(candidate: Candidate, need: &Need, files: &FileSet) -> Option<Chosen> {
    let Candidate { item, tally } = candidate;
    let (mut score, mut why) = (0.0, Vec::new());
    let glob = item.draft.scope.iter().find(|glob| FileSet::new(std::slice::from_ref(glob)).meets(files));
    if let Some(glob) = glob.filter(|_| !need.files.is_empty()) {
        score += 3.0;
        why.push(Reason::Files(glob.clone()));
    }
    let lower = item.draft.claim.to_lowercase();
    let common: Vec<String> =
        need.words.iter().filter(|word| has_word(&lower, word)).take(6).cloned().collect();
    if common.len() >= COMMON_WORDS {
        score += 0.5 * common.len() as f64;
        why.push(Reason::Words(common));
    }
    if item.draft.scope.is_empty() {
        score += 0.5;
        why.push(Reason::Everywhere);
    }
    if why.is_empty() {
        return None;
    }
    if item.draft.domain == need.domain {
        score += 0.5;
        why.push(Reason::Domain(need.domain.clone()));
    }
    // What has helped comes first; what is new gets its chance before what has shown nothing.
    score += difference(&tally).map_or(0.2, |gain| gain.estimate.clamp(-1.0, 1.0)) * 2.0;
    score += f64::from(item.seen.min(8)) * 0.05;
    Some(Chosen { item, tally, score, why, fate: Fate::Given })
}

/// As a whole word: both are in lower case.
fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(place, _)| {
        let (before, after) = (&text[..place], &text[place + word.len()..]);
        !part_of_word(before.chars().next_back()) && !part_of_word(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expertise::{Draft, ItemId, Retirement, Source, words_of};

    fn candidate(claim: &str, kind: Kind, scope: &[&str]) -> Candidate {
        let scope = scope.iter().map(|glob| (*glob).to_owned()).collect();
        let draft = Draft { claim: claim.into(), kind, domain: "api".into(), scope, check: None };
        let item = Item::new(ItemId::of(kind, claim), draft, Source::User);
        // Not on trial any more, so that none is withheld.
        let tally = Tally {
            used: 200,
            helpful: 180,
            harmful: 20,
            withheld: 80,
            withheld_good: 40,
            ..Tally::default()
        };
        Candidate { item, tally }
    }

    fn need(files: &[&str], words: &str) -> Need {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        Need { files, words: words_of(words), domain: "api".into() }
    }

    fn told(candidates: Vec<Candidate>, need: &Need) -> Vec<String> {
        let chosen = choose(candidates, need, ("r", "t"));
        let words = |one: &Chosen| {
            let why: Vec<String> = one.why.iter().map(Reason::to_string).collect();
            format!("{}: {}", one.item.draft.claim, why.join(", "))
        };
        chosen.iter().map(words).collect()
    }

    #[test]
    fn files_come_before_words_and_what_is_about_neither_is_left_out() {
        let all = vec![
            candidate("Elsewhere.", Kind::Pattern, &["web/**"]),
            candidate("Retry the payment webhook.", Kind::Pattern, &["web/**"]),
            candidate("Use Problem.", Kind::Pattern, &["src/api/**"]),
            candidate("Run it with just.", Kind::Command, &[]),
        ];
        let need = need(&["src/api/pay.rs"], "Make the payment webhook idempotent");
        assert_eq!(
            told(all, &need),
            [
                "Use Problem.: files src/api/**, domain api",
                "Retry the payment webhook.: words payment webhook, domain api",
                "Run it with just.: the whole project, domain api",
            ]
        );
    }

    #[test]
    fn a_prompt_has_room_for_so_many() {
        let all: Vec<Candidate> = (0..40).map(|n| candidate(&format!("n{n}"), Kind::Failure, &[])).collect();
        assert_eq!(told(all, &need(&[], "x")).len(), 5);
        let long: Vec<Candidate> =
            (0..40).map(|n| candidate(&format!("{n} {}", "word ".repeat(100)), Kind::FileMap, &[])).collect();
        let chosen = choose(long, &need(&[], "x"), ("r", "t"));
        let used: usize = chosen.iter().map(|one| tokens(&line(&one.item))).sum();
        assert!(used <= MOST_TOKENS && chosen.len() > 3, "{used} tokens");
    }

    #[test]
    fn what_is_retired_is_not_given() {
        let mut one = candidate("x", Kind::Pattern, &[]);
        one.item.retired = Some(Retirement::ByUser);
        assert_eq!(told(vec![one], &need(&[], "x")), [""; 0]);
    }
}
