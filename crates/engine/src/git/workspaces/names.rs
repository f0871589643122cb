//! What branches and refs are called.

use conductor_core::values::ids::RunId;

use crate::git::{GitError, Repository};

/// The folders of branches that runs have, the usual one first. Git has no branch beside a folder of its name, so where
/// the user has such a branch the next one is taken.
const RUNS: [&str; 2] = ["conductor", "conductor-run"];
const TASKS: [&str; 2] = ["conductor-task", "conductor-run-task"];

/// What the branches of one run are called: settled by what is there when the run begins, and found again by what is
/// there later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRefs {
    /// The branch its work lands on.
    pub branch: String,
    /// Where the branches of its tasks are.
    pub tasks: String,
}

impl RunRefs {
    /// Those that are there; else those that can be made.
    pub fn of(repository: &Repository, run: &RunId) -> Result<RunRefs, GitError> {
        let (runs, tasks) = (folders(&RUNS, run), folders(&TASKS, run));
        let refs = repository.named(&[runs.as_slice(), &tasks].concat())?;
        Ok(RunRefs {
            branch: format!("{}/{run}", chosen(&runs, run, &refs)),
            tasks: format!("{}/{run}/", chosen(&tasks, run, &refs)),
        })
    }

    /// Those of most runs, where there is no repository to ask.
    pub fn usual(run: &RunId) -> RunRefs {
        let name = |folder: &str| format!("refs/heads/{folder}/{run}");
        RunRefs { branch: name(RUNS[0]), tasks: format!("{}/", name(TASKS[0])) }
    }
}

/// Full names of the folders a run's branches may be in. No user has a branch of the last one's name.
fn folders(known: &[&str], run: &RunId) -> Vec<String> {
    let own = format!("{}-{run}", known[0]);
    known
        .iter()
        .map(|name| (*name).to_owned())
        .chain([own])
        .map(|name| format!("refs/heads/{name}"))
        .collect()
}

fn chosen<'f>(folders: &'f [String], run: &RunId, refs: &[String]) -> &'f str {
    let holds = |folder: &&String| {
        let (one, below) = (format!("{folder}/{run}"), format!("{folder}/{run}/"));
        refs.iter().any(|name| *name == one || name.starts_with(&below))
    };
    let free = |folder: &&String| !refs.contains(folder);
    let found = folders.iter().find(holds).or_else(|| folders.iter().find(free));
    found.or(folders.last()).map_or("", String::as_str)
}

/// The run a branch is of, if it is one that runs land their work on.
pub fn run_of_branch(name: &str) -> Option<RunId> {
    let (folder, run) = name.strip_prefix("refs/heads/")?.split_once('/')?;
    is_folder(&RUNS, folder, run).then(|| RunId::parse(run))?
}

/// The run whose task a branch is of, if it is such a branch.
pub fn run_of_task_branch(name: &str) -> Option<RunId> {
    let (folder, rest) = name.strip_prefix("refs/heads/")?.split_once('/')?;
    let (run, _) = rest.split_once('/')?;
    is_folder(&TASKS, folder, run).then(|| RunId::parse(run))?
}

fn is_folder(known: &[&str], folder: &str, run: &str) -> bool {
    known.contains(&folder) || folder.strip_prefix(known[0]).is_some_and(|rest| rest == format!("-{run}"))
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
    let word = word.trim_start_matches(['.', '-']).trim_end_matches('.').trim_end_matches(".lock").to_owned();
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
    fn a_folder_whose_name_is_taken_is_passed_over_and_one_in_use_is_kept() {
        let run = RunId::parse("r1").unwrap();
        let pick = |known: &[&str; 2], refs: &[&str]| {
            let refs: Vec<String> = refs.iter().map(|name| format!("refs/heads/{name}")).collect();
            chosen(&folders(known, &run), &run, &refs).trim_start_matches("refs/heads/").to_owned()
        };
        for (refs, expected) in [
            (&[][..], "conductor"),
            (&["main", "conductor/mine", "conductor-run/other"], "conductor"),
            (&["conductor"], "conductor-run"),
            (&["conductor", "conductor-run"], "conductor-r1"),
            (&["conductor-run/r1"], "conductor-run"),
            (&["conductor/r1", "conductor-run"], "conductor"),
        ] {
            assert_eq!(pick(&RUNS, refs), expected, "{refs:?}");
        }
        assert_eq!(pick(&TASKS, &["conductor-task"]), "conductor-run-task");
        assert_eq!(pick(&TASKS, &["conductor-run-task/r1/a"]), "conductor-run-task");
        for name in ["conductor/r1", "conductor-run/r1", "conductor-r1/r1"] {
            assert_eq!(run_of_branch(&format!("refs/heads/{name}")), Some(run.clone()), "{name}");
        }
        for name in ["conductor", "conductor-task/r1", "conductor-x/r1", "other/r1", "conductor/r1/x"] {
            assert_eq!(run_of_branch(&format!("refs/heads/{name}")), None, "{name}");
        }
        for name in ["conductor-task/r1/a", "conductor-run-task/r1/a", "conductor-task-r1/r1/a"] {
            assert_eq!(run_of_task_branch(&format!("refs/heads/{name}")), Some(run.clone()), "{name}");
        }
    }

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
            "../../etc",
            ".-etc",
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
