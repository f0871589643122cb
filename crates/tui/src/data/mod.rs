//! What is shown, as values: folds of a run's events and the texts made of them. Nothing here draws, reads or asks.

pub(crate) mod attempts;
pub(crate) mod board;
pub(crate) mod course;
pub(crate) mod figures;
pub(crate) mod live;
pub(crate) mod neighbours;
pub(crate) mod row;
pub(crate) mod state;
pub(crate) mod text;
pub(crate) mod times;
pub(crate) mod tree;
pub(crate) mod turns;
pub(crate) mod why;
