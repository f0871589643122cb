//! What a site looks like, as data: which element is which, by role, name and text, and which steps are taken.
//!
//! Pages change more often than programs are released. So nothing of a site is in the code: the built-in file is the
//! one that was true last, and a file of the user's (`element_selectors.json`) replaces single entries of it.

mod matching;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use matching::Found;
pub(crate) use matching::filled;

const BUILT_IN: &str = include_str!("selectors.json");

/// The version of the file's form, not of the site.
const VERSION: u32 = 1;

#[derive(Debug, Error)]
pub enum SelectorsError {
    #[error("cannot read {path}: {why}")]
    Unreadable { path: PathBuf, why: String },
    #[error("{place}: version {found} is not known; this program reads version {VERSION}")]
    Version { place: String, found: u32 },
    #[error("{place}: {why}")]
    Invalid { place: String, why: String },
}

/// A whole site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selectors {
    pub version: u32,
    /// The path of the page where a session begins.
    pub start: String,
    /// The beginning of a session's path; letters and digits follow.
    pub session: String,
    pub controls: BTreeMap<String, Vec<Pattern>>,
    pub signs: BTreeMap<String, Vec<Pattern>>,
    /// The steps before a session is at work, by which a hang is told.
    pub provisioning: BTreeMap<String, Vec<Pattern>>,
    pub steps: BTreeMap<String, Vec<Step>>,
}

/// What the user's file may say: any part of the whole. An entry replaces the one of the same name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    pub version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub controls: BTreeMap<String, Vec<Pattern>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub signs: BTreeMap<String, Vec<Pattern>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub provisioning: BTreeMap<String, Vec<Pattern>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<String, Vec<Step>>,
}

/// One way to know an element. All that is said must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pattern {
    /// In which look of the site it was seen; for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The whole name; small and capital letters are alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_contains: Option<String>,
    /// Anything to be read in the element or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_contains: Option<String>,
    /// The beginning of the page's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The role of an element around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The beginning of the path that a link leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub pick: Pick,
}

/// Which one counts if several fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Several that fit are none: acting on one of them would be a guess.
    #[default]
    Only,
    First,
    Last,
    /// All of them are meant; never acted on.
    Any,
}

fn is_default(pick: &Pick) -> bool {
    *pick == Pick::Only
}

/// One thing to do. Values have `{prompt}`, `{repository}` and `{branch}` filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Open the start page.
    Open,
    /// Click it away, as often as it is there.
    Dismiss {
        control: String,
    },
    /// Open a list, search in it, and take the one entry that is exactly the value.
    Choose {
        control: String,
        search: String,
        option: String,
        value: String,
    },
    /// Empty a box, and see that it is empty.
    Clear {
        control: String,
    },
    Type {
        control: String,
        value: String,
    },
    /// What is in the box must be the value.
    Check {
        control: String,
        value: String,
    },
    /// A control's own text must contain the value.
    Shows {
        control: String,
        value: String,
    },
    /// Click once, and never again, whatever follows.
    Submit {
        control: String,
    },
    Click {
        control: String,
    },
    /// Wait until the page's address is a session's.
    Address,
    /// Wait for a link, and read where it leads.
    Link {
        control: String,
    },
}

impl Step {
    pub fn name(&self) -> &'static str {
        match self {
            Step::Open => "open",
            Step::Dismiss { .. } => "dismiss",
            Step::Choose { .. } => "choose",
            Step::Clear { .. } => "clear",
            Step::Type { .. } => "type",
            Step::Check { .. } => "check",
            Step::Shows { .. } => "shows",
            Step::Submit { .. } => "submit",
            Step::Click { .. } => "click",
            Step::Address => "address",
            Step::Link { .. } => "link",
        }
    }

    fn controls(&self) -> Vec<&str> {
        match self {
            Step::Open | Step::Address => Vec::new(),
            Step::Choose { control, search, option, .. } => vec![control, search, option],
            Step::Dismiss { control }
            | Step::Clear { control }
            | Step::Type { control, .. }
            | Step::Check { control, .. }
            | Step::Shows { control, .. }
            | Step::Submit { control }
            | Step::Click { control }
            | Step::Link { control } => vec![control],
        }
    }
}

impl Selectors {
    /// The ones that the program comes with.
    pub fn built_in() -> Result<Selectors, SelectorsError> {
        let invalid =
            |why: String| SelectorsError::Invalid { place: "the built-in selectors".to_owned(), why };
        let selectors: Selectors =
            serde_json::from_str(BUILT_IN).map_err(|error| invalid(error.to_string()))?;
        selectors.checked("the built-in selectors")
    }

    /// The built-in ones, under what a file of the user's says. A file that is not there says nothing.
    pub fn load(path: &Path) -> Result<Selectors, SelectorsError> {
        let mut selectors = Selectors::built_in()?;
        if let Some(overrides) = Overrides::read(path)? {
            selectors.lay_under(overrides);
        }
        selectors.checked(&path.display().to_string())
    }

    fn lay_under(&mut self, overrides: Overrides) {
        self.controls.extend(overrides.controls);
        self.signs.extend(overrides.signs);
        self.provisioning.extend(overrides.provisioning);
        self.steps.extend(overrides.steps);
        if let Some(start) = overrides.start {
            self.start = start;
        }
        if let Some(session) = overrides.session {
            self.session = session;
        }
    }

    /// A step that names no control could never be taken; it is better said before the page is opened.
    fn checked(self, place: &str) -> Result<Selectors, SelectorsError> {
        for (name, steps) in &self.steps {
            for step in steps {
                for control in step.controls() {
                    if !self.controls.contains_key(control) {
                        let why = format!(
                            "steps.{name}: `{}` names the control '{control}', which there is not",
                            step.name()
                        );
                        return Err(SelectorsError::Invalid { place: place.to_owned(), why });
                    }
                }
            }
        }
        Ok(self)
    }

    /// The session's part of an address, if it is a session's address.
    pub fn session_of<'u>(&self, url: &'u str) -> Option<&'u str> {
        let at = url.find(&self.session)?;
        let path = &url[at..];
        let id = path[self.session.len()..].split(['/', '?', '#']).next().unwrap_or_default();
        let is_id = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric());
        let ends = at + self.session.len() + id.len();
        is_id.then(|| &url[..ends])
    }
}

impl Overrides {
    pub fn read(path: &Path) -> Result<Option<Overrides>, SelectorsError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(SelectorsError::Unreadable { path: path.to_owned(), why: error.to_string() });
            }
        };
        let place = path.display().to_string();
        let invalid = |error: serde_json::Error| SelectorsError::Invalid {
            place: place.clone(),
            why: error.to_string(),
        };
        let overrides: Overrides = serde_json::from_str(&text).map_err(invalid)?;
        if overrides.version != VERSION {
            return Err(SelectorsError::Version { place, found: overrides.version });
        }
        Ok(Some(overrides))
    }

    /// Puts a pattern first among those of a control, and keeps the others as alternatives.
    pub fn learn(&mut self, known: &Selectors, control: &str, pattern: Pattern) {
        self.version = VERSION;
        let mut patterns = known.controls.get(control).cloned().unwrap_or_default();
        patterns.retain(|known| *known != pattern);
        patterns.insert(0, pattern);
        self.controls.insert(control.to_owned(), patterns);
    }
}

#[cfg(test)]
mod tests;
