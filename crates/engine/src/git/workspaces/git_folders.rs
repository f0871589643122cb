//! Which git directories there are below a folder, as far as that is so without any link: an agent may have made all of it.

use std::fs;
use std::path::{Path, PathBuf};

/// Deeper than submodules are nested, names with slashes counted.
const DEEPEST: usize = 16;

/// The git directories of submodules below a folder of them, with those that are nested in them; the outer ones first. None is left out
/// because there are many: an agent could make as many as it takes.
pub(super) fn below(modules: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![(modules.to_owned(), 0)];
    while let Some((folder, depth)) = left.pop() {
        for inner in folders(&folder) {
            if is_git(&inner) {
                left.extend(Some((inner.join("modules"), depth + 1)).filter(|_| depth < DEEPEST));
                found.push(inner);
            } else if depth < DEEPEST {
                left.push((inner, depth + 1));
            }
        }
    }
    found.sort();
    found
}

/// The folders in a folder, which is none by a link itself.
pub(super) fn folders(folder: &Path) -> Vec<PathBuf> {
    if !is_folder(folder) {
        return Vec::new();
    }
    let inner = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    inner.filter(|path| is_folder(path)).collect()
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn is_git(folder: &Path) -> bool {
    folder.join("HEAD").symlink_metadata().is_ok() && is_folder(&folder.join("objects"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn submodules_are_found_at_any_depth_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for git in ["modules/a", "modules/group/b", "modules/a/modules/c", "elsewhere/d"] {
            fs::create_dir_all(at(git).join("objects")).unwrap();
            fs::write(at(git).join("HEAD"), "").unwrap();
        }
        symlink(at("elsewhere"), at("modules/linked")).unwrap();
        fs::create_dir_all(at("modules/hollow")).unwrap();
        fs::write(at("modules/hollow/HEAD"), "").unwrap();
        symlink(at("elsewhere/d/objects"), at("modules/hollow/objects")).unwrap();
        let expected = ["modules/a", "modules/a/modules/c", "modules/group/b"].map(at);
        assert_eq!(below(&at("modules")), expected);
        symlink(at("modules"), at("all")).unwrap();
        assert!(below(&at("all")).is_empty());
    }
}
