//! Why a file is not changed as asked: what, where, and what to do about it.

use thiserror::Error;

use super::super::diagnostic::{Diagnostic, Severity};
use super::super::source::Source;
use super::Kind;
use super::path::{Refused, Why};

/// Lines are those of the file as the edits before this one have left it.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum EditError {
    #[error("the task file cannot be read: {}", told(found))]
    Unreadable { found: Vec<Diagnostic> },
    /// A file that other programs or runs write, in a form of its own.
    #[error("{what} is not edited in place")]
    Foreign { what: &'static str },
    #[error("there is no {kind} '{id}'")]
    Unknown { kind: Kind, id: String, nearest: Option<String> },
    #[error("there is a {kind} '{id}' already, in line {line}")]
    Exists { kind: Kind, id: String, line: usize },
    #[error("{kind} '{id}' (line {line}) is still named by {}", by.join(", "))]
    Named { kind: Kind, id: String, line: usize, by: Vec<String> },
    #[error("task '{id}' (line {line}) is the only one of the file")]
    OnlyTask { id: String, line: usize },
    #[error("a new {kind} needs an 'id'")]
    NoId { kind: Kind },
    #[error("'id' of {kind} '{id}' (line {line}) is set to another value or removed")]
    NewId { kind: Kind, id: String, line: usize },
    #[error("the file has no place for {}", kind.section())]
    NoSection { kind: Kind },
    #[error("'{field}' holds values that are nested too deep")]
    TooDeep { field: String },
    /// Changing it would change other values of the file as well, or its own does not stand there.
    #[error("{field} (line {line}) {}", sharing(name))]
    Shared { field: String, line: usize, name: Option<String> },
    #[error("{field} (line {line}) is written in a way that cannot be changed in place")]
    Form { field: String, line: usize },
    /// The changed text, and what is wrong with it.
    #[error("the file would not load with this change: {}", told(found))]
    Invalid { text: Box<Source>, found: Vec<Diagnostic> },
}

impl EditError {
    pub(super) fn of(refused: Refused, field: String, line: usize) -> EditError {
        match refused.why {
            Why::Form => EditError::Form { field, line },
            Why::Shared(name) => EditError::Shared { field, line, name: Some(name) },
            Why::Merged => EditError::Shared { field, line, name: None },
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            EditError::Unreadable { .. } => "mend the file by hand first".to_owned(),
            EditError::Foreign { .. } => {
                "change it where it is made, or write a task file of your own".to_owned()
            }
            EditError::Unknown { nearest: Some(nearest), .. } => format!("did you mean '{nearest}'?"),
            EditError::Unknown { kind: Kind::Task, .. } => "name a task of the file".to_owned(),
            EditError::Unknown { kind: Kind::Epic, .. } => {
                "name an epic of the file's 'epics' section, or add it there first".to_owned()
            }
            EditError::Exists { .. } => "choose another id, or change the one that is there".to_owned(),
            EditError::Named { .. } => "change these first, so that they do not name it any more".to_owned(),
            EditError::OnlyTask { .. } => "add another task first, or delete the file".to_owned(),
            EditError::NoId { .. } => "give it an id of letters, digits, '.', '_' and '-'".to_owned(),
            EditError::NewId { .. } => "rename it, which also changes where others name it".to_owned(),
            EditError::NoSection { .. } => "put the tasks of the file below 'tasks:'".to_owned(),
            EditError::TooDeep { .. } => "use fewer lists and mappings inside of each other".to_owned(),
            EditError::Shared { name: Some(_), .. } => {
                "write the value out at every place where it is used, instead of an anchor and aliases"
                    .to_owned()
            }
            EditError::Shared { name: None, .. } => {
                "write the values out in the file instead of merging them, or give the key another value"
                    .to_owned()
            }
            EditError::Form { .. } => "change it by hand, or write it as 'key: value' lines first".to_owned(),
            EditError::Invalid { found, .. } => {
                let help = errors(found).find_map(|found| found.help.clone());
                help.unwrap_or_else(|| "correct the values and try again".to_owned())
            }
        }
    }

    /// The line it is about, counted from 1.
    pub fn line(&self) -> Option<usize> {
        match self {
            EditError::Exists { line, .. }
            | EditError::Named { line, .. }
            | EditError::OnlyTask { line, .. }
            | EditError::NewId { line, .. }
            | EditError::Shared { line, .. }
            | EditError::Form { line, .. } => Some(*line),
            EditError::Invalid { text, found } => {
                errors(found).next().map(|found| text.position(found.span.start).0)
            }
            _ => None,
        }
    }
}

fn sharing(name: &Option<String>) -> String {
    match name.as_deref() {
        Some(name) if name.starts_with('*') => format!("is the alias {name}, whose value stands elsewhere"),
        Some(name) => format!("is repeated elsewhere through the anchor {name}"),
        None => "comes from elsewhere through '<<' or an alias".to_owned(),
    }
}

/// The first mistake, and how many more there are.
fn told(found: &[Diagnostic]) -> String {
    let mut errors = errors(found);
    let first = errors.next().map(|found| found.message.clone()).unwrap_or_default();
    match errors.count() {
        0 => first,
        more => format!("{first}, and {more} more"),
    }
}

fn errors(found: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    found.iter().filter(|found| found.severity == Severity::Error)
}
