//! Parts of screens: each draws itself into the room it is given, and decides nothing.

pub(crate) mod foot;
pub(crate) mod lines;
pub(crate) mod list;
pub(crate) mod overlay;
pub(crate) mod slider;
pub(crate) mod tabs;
pub(crate) mod tasks;
pub(crate) mod text;
