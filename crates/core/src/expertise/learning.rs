//! What an attempt teaches, by rule: only what was checked counts, never what an agent says of its own work.
//!
//! A check that failed and then passed, with the change between. Work that was sent back and then taken. A command that
//! failed and the one that then worked. Files that land together.

use super::domains::domain_of;
use super::item::{Draft, Kind, LONGEST_CLAIM, Lesson, Source};

/// Of a failing check, one line tells most.
const LONGEST_LINE: usize = 160;
/// Of the change that mended it.
const LONGEST_FIX: usize = 240;
const MOST_SCOPES: usize = 8;
/// Files of a larger change belong together by chance.
const TOGETHER: usize = 4;
/// How far behind a command that failed the one is looked for that worked.
const NEAR: usize = 6;
/// Of a task's words, so many are looked at.
const MOST_WORDS: usize = 40;

/// Why work was not good yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// One of the task's own checks, in its workspace or on the combined tree.
    Check { command: String },
    /// It did not merge with what had landed meanwhile.
    Conflict,
    /// A person sent it back.
    Review,
}

/// Something that was found in the work, and is not found any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    pub trouble: Trouble,
    /// What was said about it: the last lines of the check, the reviewer's comments, the files in conflict.
    pub said: String,
    /// What differs between the two.
    pub files: Vec<String>,
    /// As a patch, where it was looked at.
    pub patch: String,
}

/// A command that the agent ran with its own tools, and whether it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub line: String,
    pub failed: bool,
}

/// What is known of an attempt that is over.
#[derive(Debug, Clone, Default)]
pub struct Attempted<'a> {
    /// Of the task; see `words_of`.
    pub words: &'a [String],
    /// What its work changed, where it was good.
    pub files: &'a [String],
    pub commit: Option<&'a str>,
    pub mended: &'a [Mended],
    pub ran: &'a [Ran],
}

pub fn lessons(attempt: &Attempted<'_>) -> Vec<Lesson> {
    let mut found: Vec<Lesson> = attempt.mended.iter().filter_map(|mended| fix(attempt, mended)).collect();
    found.extend(commands(attempt));
    found.extend(together(attempt));
    found
}

fn fix(attempt: &Attempted<'_>, mended: &Mended) -> Option<Lesson> {
    let files = if mended.files.is_empty() { attempt.files } else { &mended.files };
    let (kind, key, claim, once_landed) = match &mended.trouble {
        Trouble::Check { command } => {
            let line = telling_line(&mended.said)?;
            let claim = format!(
                "`{command}` failed with \u{201c}{line}\u{201d}. {}",
                what_mended(files, &mended.patch)?
            );
            (Kind::Failure, format!("{command}\n{}", shape(&line)), claim, false)
        }
        Trouble::Conflict => {
            let named = listed(files)?;
            let claim = format!(
                "Work on {named} conflicted with what landed meanwhile and had to be merged by hand: keep \
                 changes there small."
            );
            (Kind::Failure, format!("conflict\n{}", scope_of(files).join("\n")), claim, true)
        }
        Trouble::Review => {
            let said = one_line(&mended.said, LONGEST_CLAIM / 2);
            let named = listed(files)?;
            (said.len() > 3).then_some(())?;
            let claim = format!("A reviewer sent work on {named} back: \u{201c}{said}\u{201d}");
            (Kind::Pattern, format!("review\n{}", shape(&said)), claim, true)
        }
    };
    Some(lesson(attempt, kind, key, claim, (scope_of(files), files, once_landed)))
}

fn lesson(
    attempt: &Attempted<'_>,
    kind: Kind,
    key: String,
    claim: String,
    (scope, files, once_landed): (Vec<String>, &[String], bool),
) -> Lesson {
    let domain = domain_of(files.iter().map(String::as_str), attempt.words).to_owned();
    let draft = Draft { claim: one_line(&claim, LONGEST_CLAIM), kind, domain, scope, check: None };
    let commit = attempt.commit.map(str::to_owned);
    Lesson { key, draft, source: Source::Rule, commit, quote: None, once_landed }
}

/// Nothing where it is not known what was changed: a failure without its fix helps nothing.
fn what_mended(files: &[String], patch: &str) -> Option<String> {
    let named = listed(files)?;
    let changed = patch_lines(patch);
    Some(match changed.is_empty() {
        true => format!("What mended it: a change to {named}."),
        false => format!("What mended it, in {named}: {changed}"),
    })
}

/// The first changed lines of a patch, as far as they are short.
fn patch_lines(patch: &str) -> String {
    let is_changed = |line: &&str| {
        (line.starts_with('+') || line.starts_with('-'))
            && !line.starts_with("+++")
            && !line.starts_with("---")
    };
    let mut told = String::new();
    for line in patch.lines().filter(is_changed) {
        let (sign, text) = line.split_at(1);
        let text = text.trim();
        if text.is_empty() || told.len() + text.len() > LONGEST_FIX {
            continue;
        }
        let between = if told.is_empty() { "" } else { ", " };
        let sign = if sign == "-" { "\u{2212}" } else { "+" };
        told.push_str(&format!("{between}{sign} `{}`", text.replace('`', "'")));
    }
    told
}

/// The line that says what is wrong: the first that speaks of an error, or else the last.
fn telling_line(said: &str) -> Option<String> {
    let ours = |line: &&str| !line.starts_with("$ ") && !line.starts_with("[conductor:");
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).filter(ours).collect();
    let speaks = |line: &&&str| {
        let lower = line.to_lowercase();
        ["error", "failed", "panicked", "assert", "expected", "exception", "not found"]
            .iter()
            .any(|word| lower.contains(word))
    };
    let line = lines.iter().find(speaks).or(lines.last())?;
    Some(one_line(line, LONGEST_LINE))
}

fn one_line(text: &str, most: usize) -> String {
    let words: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(most) {
        None => words,
        Some(_) => words.chars().take(most - 1).chain(['\u{2026}']).collect(),
    }
}

/// Without figures: line numbers, times and addresses differ from one time to the next.
fn shape(line: &str) -> String {
    let mut shape = String::with_capacity(line.len());
    for c in line.chars().flat_map(char::to_lowercase) {
        match c.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(c),
        }
    }
    shape
}

/// The folders of these files; a file at the root stands for itself.
fn scope_of(files: &[String]) -> Vec<String> {
    let folder = |file: &String| match file.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/**"),
        None => file.clone(),
    };
    let mut scope: Vec<String> = files.iter().map(folder).collect();
    scope.sort();
    scope.dedup();
    scope.truncate(MOST_SCOPES);
    scope
}

fn listed(files: &[String]) -> Option<String> {
    let named: Vec<&str> = files.iter().take(3).map(String::as_str).collect();
    let more = files.len().saturating_sub(named.len());
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{}{rest}", named.join(", ")))
}

/// Programs that build and test. What fails while an agent looks around teaches nothing, and what a fetched page says is
/// never looked at.
const TOOLS: [&str; 42] = [
    "cargo",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bun",
    "node",
    "deno",
    "python",
    "python3",
    "pip",
    "uv",
    "poetry",
    "pytest",
    "tox",
    "make",
    "cmake",
    "ninja",
    "go",
    "gradle",
    "./gradlew",
    "mvn",
    "./mvnw",
    "dotnet",
    "bundle",
    "rake",
    "mix",
    "composer",
    "phpunit",
    "swift",
    "bazel",
    "just",
    "tsc",
    "eslint",
    "ruff",
    "mypy",
    "jest",
    "vitest",
    "playwright",
    "rspec",
    "ctest",
    "meson",
];

fn commands(attempt: &Attempted<'_>) -> Vec<Lesson> {
    let mut found: Vec<Lesson> = Vec::new();
    for (place, ran) in attempt.ran.iter().enumerate() {
        let Some(tool) = tool_of(&ran.line).filter(|_| ran.failed) else { continue };
        let passed_later = attempt.ran[place..].iter().any(|later| !later.failed && later.line == ran.line);
        let near = attempt.ran[place + 1..].iter().take(NEAR);
        let worked =
            near.filter(|later| !later.failed && tool_of(&later.line) == Some(tool)).map(|r| &r.line);
        let Some(worked) = worked.into_iter().next().filter(|_| !passed_later) else { continue };
        let claim = format!("`{}` fails in this project; `{worked}` works.", ran.line);
        let key = format!("{}\n{worked}", ran.line);
        let mut lesson = lesson(attempt, Kind::Command, key, claim, (Vec::new(), attempt.files, false));
        lesson.draft.check = Some(worked.clone());
        if !found.iter().any(|known| known.key == lesson.key) {
            found.push(lesson);
        }
    }
    found
}

/// The program of a simple command line that builds or tests; nothing where it is anything else.
fn tool_of(line: &str) -> Option<&str> {
    let simple = line.len() <= LONGEST_LINE && !line.contains(['|', '>', '<', ';', '`', '$', '&', '\n', '#']);
    // What is left of a secret is no command.
    let simple = simple && !line.contains("***");
    let first = line.split_whitespace().next()?;
    (simple && TOOLS.contains(&first)).then_some(first)
}

/// Pairs of files that a small change touched, once it has landed.
fn together(attempt: &Attempted<'_>) -> Vec<Lesson> {
    let files = attempt.files;
    if !(2..=TOGETHER).contains(&files.len()) {
        return Vec::new();
    }
    let mut sorted: Vec<&String> = files.iter().filter(|file| !is_made(file)).collect();
    sorted.sort();
    let pairs = sorted
        .iter()
        .enumerate()
        .flat_map(|(place, a)| sorted[place + 1..].iter().map(move |b| [(*a).clone(), (*b).clone()]));
    pairs
        .map(|pair| {
            let claim = format!("{} and {} change together.", pair[0], pair[1]);
            lesson(attempt, Kind::FileMap, pair.join("\n"), claim, (pair.to_vec(), &pair, true))
        })
        .collect()
}

/// Files that tools write: they go along with everything.
fn is_made(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.ends_with(".lock")
        || name.ends_with("-lock.json")
        || name.ends_with("-lock.yaml")
        || name == "go.sum"
}

/// Words that say nothing of what a task is about.
const COMMON: [&str; 48] = [
    "the", "and", "for", "with", "that", "this", "from", "into", "are", "was", "has", "have", "not", "but",
    "all", "any", "can", "its", "use", "using", "make", "should", "must", "will", "when", "where", "which",
    "add", "new", "each", "one", "two", "out", "also", "than", "then", "there", "their", "them", "your",
    "you", "write", "file", "files", "task", "change", "does", "more",
];

/// What a text is about: its words in their order, each once, in lower case.
pub fn words_of(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let word = word.to_lowercase();
        let fits = (3..=40).contains(&word.len()) && !COMMON.contains(&word.as_str());
        if fits && !words.contains(&word) {
            words.push(word);
        }
        if words.len() == MOST_WORDS {
            break;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &str, files: &[&str], patch: &str) -> Mended {
        Mended {
            trouble: Trouble::Check { command: "cargo test".into() },
            said: said.into(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            patch: patch.into(),
        }
    }

    fn learned(attempt: &Attempted<'_>) -> Vec<String> {
        lessons(attempt).into_iter().map(|lesson| lesson.draft.claim).collect()
    }

    #[test]
    fn a_check_that_went_green_teaches_what_made_it_so() {
        let patch = "--- a/src/api.rs\n+++ b/src/api.rs\n@@ -1 +1 @@\n-use crate::x;\n+use super::x;\n";
        let mended = [check(
            "$ cargo test\n  Compiling\nerror[E0433]: no x at line 12",
            &["src/api/mod.rs", "src/api/x.rs"],
            patch,
        )];
        let attempt = Attempted { mended: &mended, ..Attempted::default() };
        let lessons = lessons(&attempt);
        insta::assert_snapshot!(
            lessons[0].draft.claim,
            @"`cargo test` failed with “error[E0433]: no x at line 12”. What mended it, in src/api/mod.rs, src/api/x.rs: − `use crate::x;`, + `use super::x;`"
        );
        assert_eq!(lessons[0].draft.scope, ["src/api/**"]);
        assert_eq!(lessons[0].draft.domain, "api");
        let later = [check("error[E0433]: no x at line 97", &["src/api/mod.rs"], "")];
        let again = super::lessons(&Attempted { mended: &later, ..Attempted::default() });
        assert_eq!(again[0].id(), lessons[0].id(), "another line number is the same failure");
        assert_eq!(lessons[0].draft.check(), Ok(()));
    }

    #[test]
    fn a_failure_whose_fix_is_not_known_teaches_nothing() {
        let mended = [check("error: no", &[], "")];
        assert_eq!(learned(&Attempted { mended: &mended, ..Attempted::default() }), [""; 0]);
    }

    #[test]
    fn what_people_sent_back_is_a_pattern_once_it_lands() {
        let files = vec!["src/a.rs".to_owned()];
        let mended = [Mended {
            trouble: Trouble::Review,
            said: "src/a.rs:3: no unwrap\nplease".into(),
            files: Vec::new(),
            patch: String::new(),
        }];
        let told = lessons(&Attempted { mended: &mended, files: &files, ..Attempted::default() });
        assert_eq!(told[0].draft.kind, Kind::Pattern);
        assert!(told[0].once_landed && told[0].draft.claim.contains("no unwrap please"));
    }

    #[test]
    fn a_command_that_works_is_learned_beside_the_one_that_does_not() {
        let ran = |line: &str, failed| Ran { line: line.into(), failed };
        let told = |all: &[Ran]| learned(&Attempted { ran: all, ..Attempted::default() });
        assert_eq!(
            told(&[ran("npm test", true), ran("ls", false), ran("npm run test:unit", false)]),
            ["`npm test` fails in this project; `npm run test:unit` works."]
        );
        for quiet in [
            &[ran("npm test", true), ran("npm run other", false), ran("npm test", false)][..],
            &[ran("grep x", true), ran("grep y", false)],
            &[ran("curl https://x", true), ran("curl https://y", false)],
            &[ran("npm test | tail", true), ran("npm run y", false)],
            &[ran("npm test", true), ran("cargo test", false)],
            &[ran("npm test", false)],
        ] {
            assert_eq!(told(quiet), [""; 0], "{quiet:?}");
        }
    }

    #[test]
    fn files_that_land_together_belong_together() {
        let files = ["src/a.rs", "src/b.rs", "Cargo.lock"].map(str::to_owned);
        let told = lessons(&Attempted { files: &files, ..Attempted::default() });
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].draft.claim, "src/a.rs and src/b.rs change together.");
        assert!(told[0].once_landed);
        let many: Vec<String> = (0..9).map(|n| format!("{n}.rs")).collect();
        assert_eq!(learned(&Attempted { files: &many, ..Attempted::default() }), [""; 0]);
    }
}
