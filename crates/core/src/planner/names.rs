//! Names a planner gives: which of them are safe, and what becomes of those that are not.

use std::collections::HashSet;

use crate::values::ids;

/// Why a file is none of the repository's own, if it is not.
pub(super) fn outside(file: &str) -> Option<&'static str> {
    let bytes = file.as_bytes();
    let drive = bytes.get(1) == Some(&b':') && bytes[0].is_ascii_alphabetic();
    let mut parts = file.split(['/', '\\']);
    match () {
        () if file.trim().is_empty() => Some("is empty"),
        () if file.starts_with(['/', '\\', '~']) || drive => Some("is absolute"),
        () if parts.clone().any(|part| part == "..") => Some("leads out of the repository"),
        () if parts.any(|part| part.eq_ignore_ascii_case(".git")) => Some("is git's own"),
        () if file.contains(char::is_control) => Some("has control characters in it"),
        () => None,
    }
}

/// A name as near to the wanted one as is safe and not taken, whatever the case of its letters.
pub(super) fn safe_id(wanted: &str, place: usize, taken: &mut HashSet<String>) -> String {
    let is_free = |id: &str| !taken.contains(&id.to_lowercase());
    let id = ids::safe_id(wanted, &format!("task-{}", place + 1), is_free);
    taken.insert(id.to_lowercase());
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::ids::TaskId;

    #[test]
    fn bad_ids_become_good_ones_and_no_two_alike() {
        let mut taken = HashSet::new();
        let ids: Vec<String> = [
            "../x",
            "Set up DB!",
            "set-up-db",
            "",
            "日本",
            "a..b",
            ".git",
            "-rf",
            &"x".repeat(80),
            &"X".repeat(80),
        ]
        .iter()
        .enumerate()
        .map(|(place, wanted)| safe_id(wanted, place, &mut taken))
        .collect();
        let (long, twin) = ("x".repeat(50), format!("{}-2", "X".repeat(48)));
        assert_eq!(
            ids,
            ["x", "Set-up-DB", "set-up-db-2", "task-4", "task-5", "a.b", "git", "rf", &long, &twin]
        );
        assert!(ids.iter().all(|id| TaskId::parse(id).is_ok()));
    }

    #[test]
    fn files_of_the_repository_are_told_from_others() {
        for good in ["src/a.rs", "./a", "a..b", "docs/**/*.md", ".gitignore", ".github/x"] {
            assert_eq!(outside(good), None, "{good}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "~/x",
            "a/../../b",
            "C:\\x",
            "..",
            ".git/hooks/x",
            "a\\..\\b",
            "a\nb",
            "x/.GIT/y",
        ] {
            assert!(outside(bad).is_some(), "{bad}");
        }
    }
}
