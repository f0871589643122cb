//! Whether a run's task file, and the config files beside it, are still what its plan was made from: a large file that
//! was not edited need not be read again when the run is taken up.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::Path;

use conductor_engine::host::access;

use crate::settings::config;

const NAME: &str = "made-from";

/// What a file and the config files say, in a few letters. To be taken before they are read: what is edited in between
/// is found then. Nothing for what is in no file.
pub(super) fn mark(directory: &Path, source: &str) -> Option<String> {
    let file = Path::new(source);
    let mut hasher = DefaultHasher::new();
    hasher.write(env!("CARGO_PKG_VERSION").as_bytes());
    hasher.write(&fs::read(file).ok().filter(|_| file.is_absolute())?);
    for place in config::places_of(directory) {
        // One that is not there is not one that is empty.
        match fs::read(&place.path) {
            Ok(bytes) => hasher.write(&bytes),
            Err(_) => hasher.write(b"\0"),
        }
        hasher.write_u8(0xff);
    }
    Some(format!("{:016x}", hasher.finish()))
}

/// Remembers what a run's plan was made from. Where that fails, the file is read when the run is taken up.
pub(super) fn keep(state: &Path, mark: Option<&str>) {
    let path = state.join(NAME);
    match mark {
        Some(mark) => drop(access::write(&path, mark)),
        None => drop(fs::remove_file(&path)),
    }
}

pub(super) fn is(state: &Path, mark: Option<&str>) -> bool {
    let kept = fs::read_to_string(state.join(NAME)).ok();
    kept.is_some() && kept.as_deref() == mark
}

/// Whether a run's file, or a config beside it, says something else by now. Where that cannot be told, it does not.
pub(crate) fn is_edited(state: &Path, directory: &Path, source: &str) -> bool {
    let kept = fs::read_to_string(state.join(NAME)).ok();
    kept.is_some_and(|kept| mark(directory, source).is_some_and(|now| now != kept))
}
