//! What stands in a checkout where a commit has something to add.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::Difference;

/// What stands where something is to be added, and is not about to go.
pub(super) fn obstacles(checkout: &Path, differences: &[Difference]) -> Vec<String> {
    let going: HashSet<&Path> =
        differences.iter().filter(|one| one.letter == b'D').map(|one| one.path.as_path()).collect();
    let mut found = BTreeSet::new();
    for Difference { path, .. } in differences.iter().filter(|one| one.letter == b'A') {
        found.extend(obstacle(checkout, path, &going));
    }
    found.into_iter().map(|path| path.display().to_string()).collect()
}

fn obstacle(checkout: &Path, path: &Path, going: &HashSet<&Path>) -> Option<PathBuf> {
    let mut above: Vec<&Path> =
        path.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty()).collect();
    above.reverse();
    for part in above {
        match fs::symlink_metadata(checkout.join(part)) {
            Ok(found) if found.is_dir() => {}
            Ok(_) if !going.contains(part) => return Some(part.to_owned()),
            // Nothing is below it, then.
            Ok(_) | Err(_) => return None,
        }
    }
    match fs::symlink_metadata(checkout.join(path)) {
        Ok(found) if found.is_dir() => file_below(checkout, path, going),
        Ok(_) => Some(path.to_owned()),
        Err(_) => None,
    }
}

/// A file in a folder that is not about to go.
fn file_below(checkout: &Path, folder: &Path, going: &HashSet<&Path>) -> Option<PathBuf> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(checkout.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => open.push(path),
                false if !going.contains(path.as_path()) => return Some(path),
                false => {}
            }
        }
    }
    None
}
