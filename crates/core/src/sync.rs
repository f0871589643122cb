//! Runs carried from machine to machine: what is pushed and pulled, when two logs of one run have parted, and which
//! machine a run belongs to. It knows nothing of remotes, files and keys.

mod claim;
mod items;
mod lines;
mod manifest;
mod moves;

pub use claim::{Claim, Machine, NotOurs};
pub use items::joined;
pub use lines::{BadLog, Relation, line, lines, read, relation};
pub use manifest::{CONTENTS, Contents, Digest, Held, MANIFEST, Manifest, Origin};
pub use moves::{
    Beside, Local, Parted, Pull, Push, Refused, TakeUp, There, claim_after_push, pull, push, take_up,
};
