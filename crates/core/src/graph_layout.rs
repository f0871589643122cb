//! The graph of a plan as a picture: where each task is drawn, and how the lines between them run. Time flows from left to
//! right.
//!
//! A [`TaskGraph`] is what could be drawn. A [`Folding`] says which tasks share a node, for a thousand of them tell nothing;
//! it is the one step that looks at states. An [`Outline`] is what is left to be drawn then, and a [`Layout`] depends on
//! nothing else: while tasks change their states and the folding stays, nothing moves.
//!
//! This knows nothing of colours, fonts and pages. All coordinates are whole numbers, so the same outline gives the same
//! picture everywhere. Nothing here recurses: a chain of 100,000 tasks must not end the stack.

mod coordinates;
mod crossings;
mod folding;
mod kept;
mod lanes;
mod neighbours;
mod outline;
mod packing;
mod reduction;
mod relaxation;
mod state;
mod task_graph;

pub use folding::{Fold, Folding, Stand, Summary, Wanted};
pub use outline::{Kind, Line, Outline, OutlineNode};
pub use packing::{DrawnLine, DrawnNode, Layout, Point};
pub use state::State;
pub use task_graph::{GraphTask, TaskGraph};

#[cfg(test)]
mod tests;
