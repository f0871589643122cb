//! One item, what it rests on, and how it has done so far.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::values::ids::{Attempt, RunId, TaskId};
use crate::values::units::Timestamp;

/// A claim is a sentence or two. What is longer is an essay, and costs every prompt.
pub const LONGEST_CLAIM: usize = 600;
const MOST_SCOPES: usize = 20;
const LONGEST_SCOPE: usize = 200;
/// Of what bears an item out, the newest are kept.
pub(crate) const MOST_EVIDENCE: usize = 10;

/// By which an item is named: `e` and twelve digits, made of what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemId(String);

impl ItemId {
    /// The same key always gives the same name, so that what is learned twice is one item.
    pub fn of(kind: Kind, key: &str) -> ItemId {
        ItemId(format!("e{:012x}", hash(&[kind.name(), key]) & 0xffff_ffff_ffff))
    }

    pub fn parse(text: &str) -> Option<ItemId> {
        let digits = text.strip_prefix('e')?;
        (digits.len() == 12 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| ItemId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// FNV-1a, with a mark between the parts: the same on every machine and in every version.
pub(super) fn hash(parts: &[&str]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    sum
}

/// What an item says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Which files belong together.
    FileMap,
    /// How things are done in this project.
    Pattern,
    /// How something is done well.
    Technique,
    /// What goes wrong, and what mends it.
    Failure,
    /// Which command works.
    Command,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::FileMap, Kind::Pattern, Kind::Technique, Kind::Failure, Kind::Command];

    pub fn name(self) -> &'static str {
        match self {
            Kind::FileMap => "file_map",
            Kind::Pattern => "pattern",
            Kind::Technique => "technique",
            Kind::Failure => "failure",
            Kind::Command => "command",
        }
    }

    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The heading it stands under.
    pub fn heading(self) -> &'static str {
        match self {
            Kind::FileMap => "Files",
            Kind::Pattern => "Patterns",
            Kind::Technique => "Techniques",
            Kind::Failure => "Failures and their fixes",
            Kind::Command => "Commands",
        }
    }

    /// How many of it a prompt has at most.
    pub fn cap(self) -> usize {
        match self {
            Kind::FileMap => 15,
            Kind::Pattern => 10,
            Kind::Technique | Kind::Command => 8,
            Kind::Failure => 5,
        }
    }

    /// How often it has to be seen before it is told: two files that changed together once are a coincidence.
    pub fn needed(self) -> usize {
        match self {
            Kind::FileMap => 2,
            _ => 1,
        }
    }
}

/// Where an item comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Verified facts of a run.
    Rule,
    /// A model that read a transcript, with a quote from it.
    Model,
    /// A person.
    User,
    /// `.conductor/expertise.yaml`.
    File,
}

impl Source {
    pub fn name(self) -> &'static str {
        match self {
            Source::Rule => "rule",
            Source::Model => "model",
            Source::User => "user",
            Source::File => "file",
        }
    }
}

/// The event that bears an item out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub run: RunId,
    pub task: TaskId,
    pub attempt: Attempt,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Its number in the run's log.
    pub event: u64,
    /// Words of the transcript, where a model has read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

/// What an attempt taught, before it is an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lesson {
    /// What it is about: lessons of one kind and key are one item.
    pub key: String,
    #[serde(flatten)]
    pub draft: Draft,
    pub source: Source,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// It counts only once the task has landed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once_landed: bool,
}

impl Lesson {
    pub fn id(&self) -> ItemId {
        ItemId::of(self.draft.kind, &self.key)
    }
}

/// The part of an item that a person can write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub claim: String,
    pub kind: Kind,
    pub domain: String,
    /// Globs of the files it is about; about all of them where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// A command that succeeds as long as the claim holds. It is run only where a task file has it under `verify:`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// Why something cannot be an item.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadItem {
    #[error("claim: it is empty; say in a sentence what is to be known")]
    NoClaim,
    #[error(
        "claim: it has {0} characters, and at most {LONGEST_CLAIM} are given to agents; make two items of it"
    )]
    LongClaim(usize),
    #[error("claim: it has a control character ({0:?}); write it as plain text")]
    Control(char),
    #[error("domain: {0:?} is no name; use lower-case letters, digits, '_' and '-', 40 at most")]
    Domain(String),
    #[error("scope: {0:?} is no glob below the repository's root; write it like src/api/**")]
    Scope(String),
    #[error("scope: there are {0} globs, and at most {MOST_SCOPES} are looked at; name a folder")]
    Scopes(usize),
    #[error("check: it is empty, or has more than one line; leave it out or write one command")]
    Check,
}

impl Draft {
    /// Whether it can be an item as it is.
    pub fn check(&self) -> Result<(), BadItem> {
        let length = self.claim.chars().count();
        if self.claim.trim().is_empty() {
            return Err(BadItem::NoClaim);
        }
        if length > LONGEST_CLAIM {
            return Err(BadItem::LongClaim(length));
        }
        if let Some(control) = self.claim.chars().find(|c| c.is_control() && *c != '\n') {
            return Err(BadItem::Control(control));
        }
        if !is_domain(&self.domain) {
            return Err(BadItem::Domain(self.domain.clone()));
        }
        if self.scope.len() > MOST_SCOPES {
            return Err(BadItem::Scopes(self.scope.len()));
        }
        if let Some(glob) = self.scope.iter().find(|glob| !is_scope(glob)) {
            return Err(BadItem::Scope(glob.clone()));
        }
        match &self.check {
            Some(check) if check.trim().is_empty() || check.contains('\n') => Err(BadItem::Check),
            _ => Ok(()),
        }
    }
}

pub(super) fn is_domain(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    !name.is_empty() && name.len() <= 40 && name.chars().all(fits)
}

fn is_scope(glob: &str) -> bool {
    let within = !glob.starts_with('/') && glob.split('/').all(|part| part != "..");
    !glob.trim().is_empty() && glob.len() <= LONGEST_SCOPE && within && !glob.chars().any(char::is_control)
}

/// Why an item is not given any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retirement {
    /// Tasks went worse with it than without.
    Harms,
    /// None of the files it is about is there.
    FilesGone,
    /// The project's own command that bore it out fails.
    CheckFails { command: String },
    /// No task was given it for so long.
    Unused { days: u32 },
    /// It is not in the repository's file any more.
    LeftFile,
    /// A person does not want it.
    ByUser,
}

impl fmt::Display for Retirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Retirement::Harms => f.write_str("tasks went worse with it than without"),
            Retirement::FilesGone => f.write_str("none of its files is there any more"),
            Retirement::CheckFails { command } => write!(f, "its check `{command}` fails"),
            Retirement::Unused { days } => write!(f, "no task was given it for {days} days"),
            Retirement::LeftFile => f.write_str("it is not in .conductor/expertise.yaml any more"),
            Retirement::ByUser => f.write_str("retired by hand"),
        }
    }
}

/// What is known and where from. How it does is counted beside it, so that a use is no new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    pub id: ItemId,
    #[serde(flatten)]
    pub draft: Draft,
    pub source: Source,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// How often it was borne out; the evidence is that of the last times.
    #[serde(default)]
    pub seen: u32,
    /// A person has written its claim: what is learned later adds evidence and leaves the words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<Retirement>,
}

impl Item {
    pub fn new(id: ItemId, draft: Draft, source: Source) -> Item {
        Item { id, draft, source, evidence: Vec::new(), seen: 0, edited: false, retired: None }
    }

    /// Whether it can be given: what people and models say is borne out by them, what is counted has to be seen.
    pub fn is_told(&self) -> bool {
        self.retired.is_none()
            && (self.source != Source::Rule || self.edited || self.seen as usize >= self.draft.kind.needed())
    }
}

/// How an item has done. A task is good that landed at its first attempt without having to be mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Tasks that were given it and are over.
    pub used: u32,
    /// Of those, the good ones.
    pub helpful: u32,
    /// Of those, the others.
    pub harmful: u32,
    /// Tasks that it was meant for and that did without it, for comparison. Not those that were given no items at all:
    /// they did without the others, too.
    pub withheld: u32,
    pub withheld_good: u32,
    pub learned: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
}

impl Tally {
    pub fn count(&mut self, given: bool, good: bool, at: Timestamp) {
        match given {
            true => {
                self.used += 1;
                self.helpful += u32::from(good);
                self.harmful += u32::from(!good);
                self.last_used = Some(self.last_used.map_or(at, |last| last.max(at)));
            }
            false => {
                self.withheld += 1;
                self.withheld_good += u32::from(good);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(claim: &str) -> Draft {
        Draft {
            claim: claim.into(),
            kind: Kind::Pattern,
            domain: "api".into(),
            scope: vec!["src/**".into()],
            check: None,
        }
    }

    #[test]
    fn what_cannot_be_an_item_is_told_with_its_field() {
        assert_eq!(draft("Handlers return Problem.").check(), Ok(()));
        let bad = |change: fn(&mut Draft)| {
            let mut draft = draft("x");
            change(&mut draft);
            draft.check().unwrap_err().to_string()
        };
        assert!(bad(|draft| draft.claim = "  ".into()).starts_with("claim:"));
        assert!(bad(|draft| draft.claim = "x".repeat(601)).contains("601"));
        assert!(bad(|draft| draft.claim = "a\u{1b}[31m".into()).starts_with("claim:"));
        assert!(bad(|draft| draft.domain = "The API".into()).starts_with("domain:"));
        assert!(bad(|draft| draft.scope = vec!["../x".into()]).starts_with("scope:"));
        assert!(bad(|draft| draft.scope = vec!["/etc/passwd".into()]).starts_with("scope:"));
        assert!(bad(|draft| draft.check = Some("a\nb".into())).starts_with("check:"));
    }

    #[test]
    fn a_name_is_made_of_kind_and_key() {
        let id = ItemId::of(Kind::Failure, "cargo test");
        assert_eq!(id, ItemId::of(Kind::Failure, "cargo test"));
        assert_ne!(id, ItemId::of(Kind::Command, "cargo test"));
        assert_eq!(ItemId::parse(id.as_str()), Some(id));
        assert_eq!(ItemId::parse("e12"), None);
    }
}
