//! The machine beneath: files and who may read them, the state directory, clocks, what runs short, secrets, and what
//! Conductor logs about itself.

pub mod access;
pub mod clock;
pub(crate) mod copies;
pub mod home;
pub mod logs;
pub(crate) mod panics;
pub mod redact;
pub mod shortage;
pub mod trust;

use std::path::Path;

/// A path as it is typed into a shell.
pub fn for_shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte));
    if plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
