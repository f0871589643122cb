//! A task file changed in place: tasks and epics are added, changed, renamed, moved and removed, and every byte that
//! this is not about stays: comments, empty lines, quotes, order.
//!
//! What comes of it is read again. If that is not what was asked for, or does not load, the file is not changed.
//!
//! ```
//! use conductor_core::file::Source;
//! use conductor_core::file::edit::{Change, Edit, edited};
//!
//! let text = "tasks:\n  - id: build   # all of it\n    run: make\n    timeout: 5m  # plenty\n";
//! let source = Source::new("tasks.yaml", text.into()).unwrap();
//! let fields = serde_json::json!({ "timeout": "9m" }).as_object().unwrap().clone();
//! let edit = Edit::task(Change::Set { id: "build".into(), fields });
//! assert_eq!(edited(&source, &[edit]).unwrap(), text.replace("5m", "9m"));
//! ```

mod diff;
mod doc;
mod error;
mod file;
mod flow;
mod layout;
mod lines;
mod names;
mod path;
mod rows;
mod scalar;
mod style;
mod write;

use std::fmt;

use serde_json::{Map, Value};

use super::source::Source;

pub use error::EditError;

use file::{File, read_text};

/// What an edit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Task,
    Epic,
}

impl Kind {
    fn section(self) -> &'static str {
        match self {
            Kind::Task => "tasks",
            Kind::Epic => "epics",
        }
    }

    /// Keys that say the same, of which a file has one.
    fn twin(self, key: &str) -> Option<&'static str> {
        match (self, key) {
            (Kind::Task, "name") => Some("title"),
            (Kind::Task, "title") => Some("name"),
            (Kind::Task, "dependencies") => Some("depends_on"),
            (Kind::Task, "depends_on") => Some("dependencies"),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Task => "task",
            Kind::Epic => "epic",
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    pub kind: Kind,
    pub change: Change,
}

impl Edit {
    pub fn task(change: Change) -> Edit {
        Edit { kind: Kind::Task, change }
    }

    pub fn epic(change: Change) -> Edit {
        Edit { kind: Kind::Epic, change }
    }

    fn id(&self) -> Option<&str> {
        match &self.change {
            Change::Add { fields, .. } => fields.get("id").and_then(Value::as_str),
            Change::Set { id, .. }
            | Change::Rename { id, .. }
            | Change::Remove { id }
            | Change::Move { id, .. } => Some(id),
        }
    }
}

/// Fields are the keys and values of a task file; one that is null is left out, or taken out.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Its fields have an `id`.
    Add {
        fields: Map<String, Value>,
        place: Place,
    },
    /// Other fields stay as they are.
    Set {
        id: String,
        fields: Map<String, Value>,
    },
    /// Wherever it is named.
    Rename {
        id: String,
        to: String,
    },
    /// Refused while others name it.
    Remove {
        id: String,
    },
    Move {
        id: String,
        place: Place,
    },
}

/// A place in the list of tasks or of epics.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Place {
    First,
    #[default]
    Last,
    Before(String),
    After(String),
}

/// The text of a file with all of the edits made, one after the other; or why the first that cannot be made is refused.
/// Only the last text has to load.
pub fn edited(source: &Source, edits: &[Edit]) -> Result<String, EditError> {
    let mut text = source.text().to_owned();
    for edit in edits {
        text = File::read(source.name(), text)?.with(edit)?;
    }
    let new = read_text(source.name(), text)?;
    if let Err(found) = super::load(&new) {
        return Err(EditError::Invalid { text: Box::new(new), found });
    }
    Ok(format!("{}{}", source.byte_order_mark(), new.text()))
}
