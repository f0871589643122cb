//! Groups by marks: `[P:Group-X]` in a task's words says that it belongs to group X.
//!
//! A mark is written exactly so: in this case, without spaces, X being letters, digits, `-`, `_` and `.`. It belongs at
//! the start of a text; elsewhere it counts too, and is told. Of several the first counts. What only looks like a mark is
//! none, and is told.

mod arrange;

use std::borrow::Cow;
use std::fmt;

use crate::values::ids::{MAX_TASK_ID, TaskId};

pub use arrange::{ArrangeError, Chosen, Circumstances, Refresh, Steps, arrange, choose};
pub(crate) use arrange::{block_entrants, stuck};

/// Below the root of a repository, or below the directory a run works in.
pub const FOLDER: &str = ".flow/maestro/parallel_groups";
/// The folder it is in.
pub const ROOT: &str = ".flow";

/// Where tasks are that are in no group.
pub const SEQUENTIAL: &str = "_sequential";

const OPENING: &str = "[P:Group-";

/// What stands in brackets and is a mark, or was meant to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'t> {
    /// Where it begins, in bytes.
    pub at: usize,
    /// The mark itself, or as much of it as shows what was meant.
    pub text: &'t str,
    /// Nothing where it names none.
    pub group: Option<&'t str>,
}

/// What the user should know of the marks in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark<'t> {
    /// It counts, though it is not at the start.
    Inside(Mark<'t>),
    Nameless(Mark<'t>),
    /// Spaces or another case make it something else.
    Alike(Mark<'t>),
    /// It names another group than the first, which counts.
    Second(Mark<'t>),
}

impl<'t> Remark<'t> {
    pub fn mark(&self) -> Mark<'t> {
        match *self {
            Remark::Inside(mark) | Remark::Nameless(mark) | Remark::Alike(mark) | Remark::Second(mark) => {
                mark
            }
        }
    }
}

/// What to do about any of them.
pub const REMEDY: &str = "start the text with [P:Group-NAME], NAME being letters, digits, '-', '_' and '.'";

impl fmt::Display for Remark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Inside(_) => f.write_str("a group marker belongs at the start of the text"),
            Remark::Nameless(_) => f.write_str("this group marker names no group"),
            Remark::Alike(_) => f.write_str("this looks like a group marker, and is none"),
            Remark::Second(_) => {
                f.write_str("the text has a marker of another group already, and the first one counts")
            }
        }
    }
}

/// The group a text names, and what should be known of its marks: the first thing that is wrong with one, and the first
/// that names another group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading<'t> {
    pub mark: Option<Mark<'t>>,
    pub remarks: Vec<Remark<'t>>,
}

pub fn read(text: &str) -> Reading<'_> {
    let lead = text.len() - text.trim_start().len();
    let (mut first, mut bad, mut second) = (None::<Mark<'_>>, None, None);
    for mark in marks(text) {
        match (mark.group, first) {
            (None, _) if mark.text.starts_with(OPENING) => bad = bad.or(Some(Remark::Nameless(mark))),
            (None, _) => bad = bad.or(Some(Remark::Alike(mark))),
            (Some(group), Some(known)) if known.group != Some(group) => {
                second = Some(Remark::Second(mark));
                break;
            }
            (Some(_), known) => {
                if mark.at != lead {
                    bad = bad.or(Some(Remark::Inside(mark)));
                }
                first = known.or(Some(mark));
            }
        }
    }
    Reading { mark: first, remarks: bad.into_iter().chain(second).collect() }
}

/// A text without the mark it begins with.
pub fn unmarked(text: &str) -> &str {
    match read_at(text.trim_start(), 0) {
        Some(Mark { group: Some(_), text: mark, .. }) => text.trim_start()[mark.len()..].trim_start(),
        _ => text,
    }
}

/// A text as its words are to be understood: the letters of its marks are none of them.
pub fn without_marks(text: &str) -> Cow<'_, str> {
    let mut words = String::new();
    let mut from = 0;
    for mark in marks(text).filter(|mark| mark.group.is_some()) {
        words.push_str(&text[from..mark.at]);
        from = mark.at + mark.text.len();
    }
    match from {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(words + &text[from..]),
    }
}

fn marks(text: &str) -> impl Iterator<Item = Mark<'_>> {
    text.match_indices('[').filter_map(|(at, _)| read_at(text, at))
}

/// The mark that begins here, if that is one or looks like one.
fn read_at(text: &str, at: usize) -> Option<Mark<'_>> {
    let rest = &text[at..];
    if let Some(after) = rest.strip_prefix(OPENING) {
        let end = after.bytes().take(MAX_TASK_ID + 1).position(|byte| byte == b']');
        let group = end.map(|end| &after[..end]).filter(|group| is_name(group));
        let length = group.map_or(OPENING.len(), |group| OPENING.len() + group.len() + 1);
        return Some(Mark { at, text: &rest[..length], group });
    }
    alike(rest).map(|length| Mark { at, text: &rest[..length], group: None })
}

/// Whether something can be the name of a group.
pub fn is_name(group: &str) -> bool {
    group != SEQUENTIAL && TaskId::parse(group).is_ok()
}

/// How long the opening is of what begins like a mark but for case and spaces.
fn alike(rest: &str) -> Option<usize> {
    let mut expected = OPENING.chars();
    let mut wanted = expected.next()?;
    // A text full of spaces is not searched to its end at every bracket.
    for (at, c) in rest.char_indices().take(3 * OPENING.len()) {
        if c.is_whitespace() {
            continue;
        }
        if !c.eq_ignore_ascii_case(&wanted) {
            return None;
        }
        match expected.next() {
            Some(next) => wanted = next,
            None => return Some(at + c.len_utf8()),
        }
    }
    None
}

/// A task as far as groups are concerned.
#[derive(Debug, Clone, Default)]
pub struct Marked<'t> {
    pub id: &'t str,
    /// The group it is put in by other means than a mark.
    pub group: Option<&'t str>,
    /// Its texts by their names, the one that counts most first.
    pub texts: Vec<(&'static str, &'t str)>,
}

/// Tasks by group, both in the order in which they come up; those in none are in [`SEQUENTIAL`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detected {
    /// Places in what was given.
    pub groups: Vec<(String, Vec<usize>)>,
    pub warnings: Vec<String>,
}

pub fn detect(tasks: &[Marked<'_>]) -> Detected {
    let mut detected = Detected::default();
    let mut places = std::collections::HashMap::new();
    for (place, task) in tasks.iter().enumerate() {
        let group = group_of(task, &mut detected.warnings).unwrap_or(SEQUENTIAL);
        let at = *places.entry(group).or_insert_with(|| {
            detected.groups.push((group.to_owned(), Vec::new()));
            detected.groups.len() - 1
        });
        detected.groups[at].1.push(place);
    }
    detected
}

/// What it is put in by other means comes first, then its texts in their order.
fn group_of<'t>(task: &Marked<'t>, warnings: &mut Vec<String>) -> Option<&'t str> {
    let mut group = task.group;
    for (name, text) in &task.texts {
        let reading = read(text);
        let told = |remark: &Remark<'_>| format!("task '{}': in its {name}: {remark} ({REMEDY})", task.id);
        warnings.extend(reading.remarks.iter().map(told));
        let Some(marked) = reading.mark.and_then(|mark| mark.group) else { continue };
        match group {
            None => group = Some(marked),
            Some(known) if known == marked => {}
            Some(known) => warnings.push(format!(
                "task '{}' is in group '{known}'; its {name} says '{marked}', which does not count",
                task.id
            )),
        }
    }
    group
}

#[cfg(test)]
mod tests;
