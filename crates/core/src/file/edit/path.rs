//! Which value of a file is meant, and why it is not changed.

use super::layout::Lost;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Item(usize),
}

/// Beside which element of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before(usize),
    After(usize),
}

/// Why a change is not made, and the place of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) at: usize,
    pub(super) why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// It is written in a way that is not changed here.
    Form,
    /// Aliases repeat it (`&name`), or it is one (`*name`).
    Shared(String),
    /// It comes through a `<<`.
    Merged,
}

impl Refused {
    pub(super) fn here(at: usize) -> Refused {
        Refused { at, why: Why::Form }
    }
}

impl From<Lost> for Refused {
    fn from(Lost(at): Lost) -> Refused {
        Refused::here(at)
    }
}

pub(super) fn joined(path: &[Step], step: Step) -> Vec<Step> {
    path.iter().cloned().chain([step]).collect()
}

pub(super) fn parent(path: &[Step]) -> &[Step] {
    path.split_last().map_or(&[], |(_, parent)| parent)
}
