//! Runs, sessions and what a project has taught, carried to other machines through a git remote or a directory.
//!
//! Each run is one ref at the remote: its log, its summary, its sessions, and who has claimed it, replaced as one by
//! compare-and-swap. What arrives is replayed through the same fold as every log before any of it is stored. What is to be
//! done about a run is the core's to say (`conductor_core::sync`); nothing here asks the user.

mod address;
mod claims;
mod error;
mod gathering;
mod items;
mod keys;
mod notes;
mod origin;
mod pulling;
mod pushing;
mod remote;
mod sealing;
mod standing;
mod taking;
mod transcripts;

pub use address::Address;
pub use claims::{Forced, TakenUp, take_up};
pub use error::SyncError;
pub use items::ItemsToPush;
pub use keys::{Key, make as make_key};
pub use notes::forget;
pub use pulling::{Pulled, ToPull};
pub use pushing::{Pushed, ToPush};
pub use remote::{Remote, Settings};
pub use standing::Standing;
