//! Why what was learned cannot be read or written.

use conductor_core::expertise::{BadItem, ItemId};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ExpertiseError {
    #[error(
        "{place} was written by a newer conductor (form {found}, this one knows {known}); update conductor"
    )]
    Newer { place: String, found: i64, known: i64 },
    #[error("{place} is damaged: {why}; move it away, and what runs teach is gathered anew")]
    Damaged { place: String, why: String },
    #[error("{place} is locked by another process; try again in a moment")]
    Busy { place: String },
    #[error("{place} cannot be used: {why}")]
    Failed { place: String, why: String },
    #[error("there is no item '{0}', and none of such a domain; `conductor expertise list --all` shows them")]
    NoItem(String),
    #[error("item {item} has no version {version}; `conductor expertise history {item}` shows them")]
    NoVersion { item: ItemId, version: u32 },
    #[error(transparent)]
    Bad(#[from] BadItem),
    #[error("{0}: it holds what looks like a secret; nothing was changed. Take it out and try again")]
    Secret(&'static str),
    #[error("{}", .0.join("\n"))]
    File(Vec<String>),
}
