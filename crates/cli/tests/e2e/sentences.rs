//! docs/sentences.md has every sentence that the code says to agents. A sentence that is new or changed in one of the files
//! that speak to them differs from the list, and fails here.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that speak to agents, and in which situation.
const SPEAKERS: [(&str, &str); 16] = [
    ("engine/src/worker/prompt.md.j2", "A task begins, or goes on with what was found"),
    ("engine/src/worker/feedback.rs", "What a round begins with"),
    ("engine/src/worker/rounds.rs", "Work goes back: checks, marks of a conflict"),
    ("engine/src/worker/judging.rs", "Work is judged: no changes, commits that diverge"),
    ("engine/src/worker/checks.rs", "A check failed, in the workspace or on the combined tree"),
    ("engine/src/worker/repetition.rs", "The agent repeats itself"),
    ("engine/src/agents/policy.rs", "Something is denied"),
    ("core/src/plan/permissions.rs", "Something is denied by a rule"),
    ("engine/src/agents/questions.rs", "Only the user can allow it"),
    ("engine/src/worker/tools/catalogue.rs", "Tools of the run, and what they are for"),
    ("engine/src/worker/tools/tool_handler.rs", "Answers of these tools"),
    ("engine/src/agents/cloud/words.rs", "A session in the cloud begins"),
    (
        "core/src/run/repeats.rs",
        "It was cut short, preempted or stopped by a cap; an outage is over; another agent takes over",
    ),
    ("core/src/schedule/review.rs", "Another agent reviews the work"),
    ("core/src/expertise/reading.rs", "A model reads a transcript"),
    ("core/src/planner/words.rs", "A plan is asked for"),
];

/// Shorter texts are names and formats.
const WORDS: usize = 4;

const HEAD: &str = "# Sentences that are said to agents

By the file that says them; `{…}` is filled in. A test writes this list (`CONDUCTOR_WRITE_DOCS=1`) and fails when a sentence in one of
these files is not in it. How the most frequent ones look when they are put together: [prompts.md](prompts.md).
";

#[test]
fn every_sentence_that_is_said_to_agents_is_listed() {
    let mut list = HEAD.to_owned();
    for (file, situation) in SPEAKERS {
        let text = fs::read_to_string(root().join("crates").join(file)).unwrap();
        let sentences = if file.ends_with(".rs") { literals(&text) } else { lines(&text) };
        let sentences: Vec<String> =
            sentences.into_iter().filter(|one| one.split_whitespace().count() >= WORDS).collect();
        assert!(!sentences.is_empty(), "{file} says nothing");
        writeln!(list, "\n## {situation}\n\n`{file}`\n\n````text").unwrap();
        sentences.iter().for_each(|one| writeln!(list, "{}", one.trim()).unwrap());
        list.push_str("````\n");
    }
    let document = root().join("docs/sentences.md");
    if std::env::var_os("CONDUCTOR_WRITE_DOCS").is_some() {
        return fs::write(document, list).unwrap();
    }
    assert_eq!(
        fs::read_to_string(document).unwrap(),
        list,
        "CONDUCTOR_WRITE_DOCS=1 writes docs/sentences.md"
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a template says, without its tags.
fn lines(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("{%") && !line.contains("{#"))
        .map(str::to_owned)
        .collect()
}

/// The texts of a source file, but for its tests and its comments.
fn literals(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut rest = code.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => {
                rest.by_ref().find(|c| *c == '\n');
            }
            // A quote as a character.
            '\'' if rest.peek() == Some(&'"') => {
                rest.next();
            }
            '"' => found.push(literal(&mut rest)),
            _ => {}
        }
    }
    found
}

fn literal(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => match rest.next() {
                // A line that goes on.
                Some('\n') => while rest.next_if(|c| c.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                Some(other) => text.push(other),
                None => break,
            },
            c => text.push(c),
        }
    }
    text
}
