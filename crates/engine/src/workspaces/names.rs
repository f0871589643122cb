//! What branches and refs are called.

use conductor_core::ids::RunId;

/// The branch a run's work lands on.
pub fn run_branch(run: &RunId) -> String {
    format!("refs/heads/conductor/{run}")
}

/// Where the branches of a run's tasks are.
pub fn task_branches(run: &RunId) -> String {
    format!("refs/heads/conductor-task/{run}/")
}

/// Where work is kept that is on no branch.
pub fn rescue_refs(run: &RunId) -> String {
    format!("refs/conductor/rescue/{run}/")
}

/// Names a Windows checkout of the repository could not have.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Long enough for every task id, short enough for every file system.
const LONGEST_WORD: usize = 80;

/// A name as a part of a branch's: git refuses some characters and endings, file systems some words and lengths. What is
/// fine stays as it is; what is changed gets a mark of its own, so that different names stay different.
pub fn branch_word(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mut word: String =
        name.chars().map(|c| if allowed(c) { c } else { '-' }).take(LONGEST_WORD).collect();
    while word.contains("..") {
        word = word.replace("..", ".");
    }
    let word = word.trim_matches('.').trim_start_matches('-').trim_end_matches(".lock").to_owned();
    let stem = word.split('.').next().unwrap_or_default().to_ascii_lowercase();
    match word == name && !RESERVED.contains(&stem.as_str()) && !word.is_empty() {
        true => word,
        false => format!("{word}_{:08x}", crc32fast::hash(name.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::process::Command;

    use super::*;

    #[test]
    fn every_name_is_one_git_and_file_systems_take_and_different_ones_stay_different() {
        let long = "x".repeat(200);
        let names = [
            "api",
            "proj-auth.1",
            "con",
            "con.txt",
            "NUL",
            "aux",
            "com7",
            "a..b",
            "a.b",
            "a@{b",
            "a-b",
            "x.lock",
            "x",
            ".hidden",
            "hidden",
            "-rf",
            "rf",
            "a b",
            "ends.",
            "ends",
            "ünï",
            "a/b",
            "a~1",
            "",
            &long,
            &long[1..],
        ];
        let words: HashSet<String> = names.iter().map(|name| branch_word(name)).collect();
        assert_eq!(words.len(), names.len(), "{words:?}");
        for word in &words {
            assert!(word.len() <= 100, "{word}");
            let branch = format!("refs/heads/conductor-task/r1/{word}");
            let good = Command::new("git").args(["check-ref-format", &branch]).status().unwrap();
            assert!(good.success(), "{branch}");
        }
        assert_eq!(branch_word("proj-auth.1"), "proj-auth.1", "what is fine stays as it is");
    }
}
