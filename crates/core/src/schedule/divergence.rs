//! What an agent's files were made from, where its HEAD does not build on the commit its workspace was given.
//!
//! An agent may reset, check out or rebase onto an older commit. Its files alone then say whether it went on with what
//! had landed (`git reset --soft`) or without (`git reset --hard`): taken for the wrong one, its commit would take back
//! what others have landed.

use std::collections::BTreeMap;

/// Files by their paths, as git has them: mode and object; a file that is gone has zeros for both.
pub type Entries = BTreeMap<Vec<u8>, String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// What had landed is in its files: its work is what differs from the commit its workspace was given.
    Base,
    /// Nothing of that is in its files: its work is what differs from the merge base.
    MergeBase,
    /// Some of what had landed is there and some is not. Whether the agent took that back cannot be told.
    Unclear,
}

/// `landed` is what differs between the merge base and the commit the workspace was given, `own` what differs between the
/// merge base and the agent's files. A file both have changed says nothing.
pub fn start(landed: &Entries, own: &Entries) -> Start {
    let holds = landed.iter().any(|(path, entry)| own.get(path) == Some(entry));
    let lacks = landed.keys().any(|path| !own.contains_key(path));
    match (holds, lacks) {
        (true, true) => Start::Unclear,
        (true, false) => Start::Base,
        (false, _) => Start::MergeBase,
    }
}

/// The same where there is no merge base: only files that hold everything that was there tell that nothing of it was
/// taken back.
pub fn start_without_history(before: &Entries, own: &Entries) -> Start {
    match before.keys().all(|path| own.contains_key(path)) {
        true => Start::Base,
        false => Start::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Entries {
        let pairs = text.split(' ').filter(|pair| !pair.is_empty());
        pairs
            .filter_map(|pair| pair.split_once('='))
            .map(|(path, entry)| (path.as_bytes().to_vec(), entry.to_owned()))
            .collect()
    }

    #[test]
    fn files_tell_what_they_were_made_from() {
        for (landed, own, expected) in [
            ("a=1 b=1", "mine=1", Start::MergeBase),
            ("a=1 b=1", "a=1 b=1 mine=1", Start::Base),
            ("a=1 b=1", "a=2 b=1 mine=1", Start::Base),
            ("a=1 b=1", "a=2 mine=1", Start::MergeBase),
            ("a=1 b=1", "a=2 b=2", Start::MergeBase),
            ("a=1 b=1", "a=1 mine=1", Start::Unclear),
            ("gone=0 a=1", "gone=0 a=1", Start::Base),
            ("gone=0 a=1", "a=1", Start::Unclear),
            ("", "mine=1", Start::MergeBase),
        ] {
            assert_eq!(start(&entries(landed), &entries(own)), expected, "{landed} / {own}");
        }
    }

    #[test]
    fn without_history_everything_has_to_be_there() {
        for (before, own, expected) in [
            ("a=1 b=1", "a=1 b=2 mine=1", Start::Base),
            ("a=1 b=1", "a=1 mine=1", Start::Unclear),
            ("", "mine=1", Start::Base),
        ] {
            assert_eq!(start_without_history(&entries(before), &entries(own)), expected, "{before} / {own}");
        }
    }
}
