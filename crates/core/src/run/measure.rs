//! What tools measure of work: how much of it is tested, and what a linter finds in it.
//!
//! Reads what the tools write, in the forms they really have. A form that is not known is no figure, never a guess.

pub mod coverage;
mod documents;
pub mod lint;

use std::fmt;

use serde::{Deserialize, Serialize};

/// Of one change, as it was when it was done and checked. What could not be measured is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Measured {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Reading<Percent>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lint: Option<Reading<Lint>>,
}

/// A figure of the work, and the same of what it started from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading<T> {
    /// Nothing where that could not be measured, or not in time.
    #[serde(default = "nothing", skip_serializing_if = "Option::is_none")]
    pub before: Option<T>,
    pub after: T,
}

fn nothing<T>() -> Option<T> {
    None
}

/// In hundredths of a percent, at most 10,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Percent(u16);

impl Percent {
    const ALL: u16 = 10_000;

    /// Nothing where it is none.
    pub fn new(percent: f64) -> Option<Percent> {
        (0.0..=100.0).contains(&percent).then(|| Percent((percent * 100.0).round() as u16))
    }

    /// Nothing of nothing has no share.
    pub fn of(part: u64, whole: u64) -> Option<Percent> {
        (whole > 0 && part <= whole).then(|| Percent::new(part as f64 * 100.0 / whole as f64)).flatten()
    }

    pub fn percent(self) -> f64 {
        f64::from(self.0.min(Percent::ALL)) / 100.0
    }

    /// From 0 to 1.
    pub fn share(self) -> f64 {
        self.percent() / 100.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", self.percent())
    }
}

/// What a linter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lint {
    /// Nothing where its output does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<u64>,
    /// Whether its exit code was 0.
    pub passed: bool,
}

impl Lint {
    /// Of two linters together.
    pub fn and(self, other: Lint) -> Lint {
        let findings = self.findings.zip(other.findings).map(|(one, two)| one.saturating_add(two));
        Lint { findings, passed: self.passed && other.passed }
    }
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.findings, self.passed) {
            (Some(1), _) => f.write_str("1 finding"),
            (Some(count), _) => write!(f, "{count} findings"),
            (None, true) => f.write_str("passed"),
            (None, false) => f.write_str("failed"),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Reading<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(before) = &self.before {
            write!(f, "{before} → ")?;
        }
        write!(f, "{}", self.after)
    }
}

/// Text as it reads, without what colours it.
fn plain(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => {
                // Up to the letter that ends it: `[0;31m`.
                let mut rest = letters.clone();
                if rest.next() == Some('[') {
                    let length = rest.take_while(|c| !c.is_ascii_alphabetic() && *c != '\n').count();
                    letters.nth(length + 1);
                }
            }
            letter => out.push(letter),
        }
    }
    out.into()
}
