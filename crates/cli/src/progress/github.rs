//! For the log of a GitHub Actions step: what a task said in a group of its own, failures and warnings as annotations, and
//! the report as the step's summary.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use conductor_core::plan::graph::Graph;
use conductor_core::report::ledger::Ledger;
use conductor_core::report::{self, Subject};
use conductor_core::run::Run;
use conductor_core::run::event::{Capped, Event, Finding, Level, Outcome};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_engine::process::transcript::{self, Speaker};
use conductor_engine::records::output;
use conductor_engine::stores::bus::Records;

use super::lines::{Lines, heading, near};
use super::plain::Pulse;
use super::{Progress, Stage};
use crate::console;
use crate::end_block::one_line;

/// How much of what a task said is in its group; all of it is in its transcript.
const LINES: usize = 100;

/// So many findings of a task are annotations; all of them are in its transcript.
const FINDINGS: usize = 50;

/// A summary that is longer is refused as a whole.
const LONGEST_SUMMARY: usize = 1 << 20;

pub(super) fn is_here() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|set| set == "true")
}

pub(super) struct GitHub {
    run: Run,
    output: PathBuf,
    lines: Lines,
    pulse: Pulse,
}

impl GitHub {
    pub(super) fn new(stage: &Stage<'_>) -> GitHub {
        console::say(heading(stage));
        // Its log shows colours, terminal or not.
        let colored = match anstream::ColorChoice::global() {
            anstream::ColorChoice::Auto => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            chosen => chosen != anstream::ColorChoice::Never,
        };
        GitHub {
            run: stage.run.clone(),
            output: stage.output.to_owned(),
            lines: Lines::new(stage.run, colored),
            pulse: Pulse::default(),
        }
    }

    fn told(&mut self, event: &Event) -> String {
        let line = self.lines.of(event).map(|line| tame(&line));
        let words = match event {
            Event::TaskCompleted { task, .. } | Event::TaskFailed { task, .. } => self.last_words(task),
            _ => Vec::new(),
        };
        let mut text = match line {
            Some(line) if !words.is_empty() => group(&line, &words, fastrand::u64(..)),
            Some(line) => line + "\n",
            None => String::new(),
        };
        let beside = |task: &TaskId| self.lines.is_entrant(task);
        let is_told = match event {
            Event::TaskFailed { task, .. } | Event::TaskSkipped { task, .. } => !beside(task),
            _ => true,
        };
        text.extend(annotation(event).filter(|_| is_told));
        text.extend(self.found(event).into_iter().filter(|_| is_told));
        text
    }

    /// What verifiers found, each at its place: GitHub shows it in the lines of the change.
    fn found(&self, event: &Event) -> Vec<String> {
        let (Event::TaskFailed { task, .. } | Event::TaskCompleted { task, .. }) = event else {
            return Vec::new();
        };
        let Some(place) = self.run.place(task) else { return Vec::new() };
        let found = report::findings_of(self.run.progress(place)).iter();
        found.take(FINDINGS).map(|finding| finding_annotation(task, finding)).collect()
    }

    fn last_words(&self, task: &TaskId) -> Vec<String> {
        let Some(place) = self.run.place(task) else { return Vec::new() };
        let progress = self.run.progress(place);
        let Some(executor) = progress.executor else { return Vec::new() };
        let attempt = Attempt(progress.last_attempt);
        let speaker = Speaker { output: &self.output, executor, task, attempt };
        transcript::last_lines(&speaker.transcript(), LINES)
    }
}

impl Progress for GitHub {
    fn show(&mut self, records: &Records) {
        let mut text = String::new();
        for record in records.iter() {
            self.pulse.note(&record.event);
            // A log that does not fit is the coordinator's to complain of.
            let _ = self.run.apply(record);
            text.push_str(&self.told(&record.event));
        }
        let _ = io::stderr().lock().write_all(console::clean(&text).as_bytes());
    }

    fn notice(&mut self, text: &str) {
        console::say(format_args!("conductor: {}", tame(text)));
    }

    fn tell(&mut self, text: &str) {
        console::say(format_args!("::notice title=Conductor::{}", escaped(text)));
    }

    fn beat(&mut self) {
        if let Some(line) = self.pulse.line(std::time::Instant::now()) {
            console::say(format_args!("conductor: {line}"));
        }
    }

    fn finish(&mut self, id: &RunId, run: &Run, graph: &Graph, ledger: Option<&Ledger>) {
        let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
            return;
        };
        let voices = &output::voices(&self.output, run);
        let subject = Subject { id, run, graph, ledger, source: None, voices, aggregation: None };
        if let Err(error) = summarize(Path::new(&path), &console::clean(&report::markdown(&subject))) {
            console::say(format_args!("conductor: the step's summary could not be written: {error}"));
        }
    }
}

fn summarize(path: &Path, report: &str) -> io::Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    let room = LONGEST_SUMMARY.saturating_sub(usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX));
    let end = match report.len() > room {
        true => report[..report.floor_char_boundary(room)].rfind('\n').unwrap_or(0),
        false => report.len(),
    };
    file.write_all(&report.as_bytes()[..end])
}

/// A group that opens on what the task said. Nothing in that can give the runner commands.
fn group(head: &str, words: &[String], token: u64) -> String {
    let mut text = format!("::group::{head}\n::stop-commands::{token:x}\n");
    for line in words {
        let _ = writeln!(text, "{}", tame(line));
    }
    let _ = writeln!(text, "::{token:x}::\n::endgroup::");
    text
}

fn annotation(event: &Event) -> Option<String> {
    let mark = |kind: &str, task: &TaskId, what: &str, words: &str| {
        let title = format!("{task} {what}");
        Some(format!("::{kind} title={}::{}\n", property(&title), escaped(&one_line(words))))
    };
    match event {
        Event::TaskFailed { task, failure } => mark("error", task, "failed", &failure.message),
        Event::TaskSkipped { task, culprit: Some(culprit) } => {
            mark("warning", task, "was skipped", &format!("it needs {culprit}"))
        }
        Event::AttemptEnded { task, outcome: Outcome::Asked(question), .. } => {
            mark("warning", task, "asks", &question.to_string())
        }
        Event::ReviewRequested { task, .. } => {
            mark("warning", task, "waits for your review", &format!("conductor review approve {task}"))
        }
        Event::ApprovalAsked { task, question } => mark("warning", task, "asks", &question.put()),
        Event::BudgetNeared { task: Some(task), what, used, cap } => {
            let of = if *what == Capped::Time { "nears its timeout" } else { "nears its budget" };
            mark("warning", task, of, &near(task.as_str(), *what, *used, *cap))
        }
        _ => None,
    }
}

fn finding_annotation(task: &TaskId, finding: &Finding) -> String {
    let kind = match finding.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some(file) = &finding.file {
        properties.push(format!("file={}", property(file)));
        properties.extend(finding.line.map(|line| format!("line={line}")));
        properties.extend(finding.line.and(finding.column).map(|column| format!("col={column}")));
    }
    let code = finding.code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
    properties.push(format!("title={}", property(&format!("{task}: {}{code}", finding.by))));
    format!("::{kind} {}::{}\n", properties.join(","), escaped(&one_line(&finding.message)))
}

/// Text that cannot be taken for one of the runner's older commands.
fn tame(text: &str) -> String {
    text.replace("##[", "# #[")
}

fn escaped(text: &str) -> String {
    tame(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use conductor_core::run::event::{Failure, FailureClass};

    use super::*;

    #[test]
    fn what_a_task_says_cannot_give_the_runner_commands() {
        let words = ["::error::mine".to_owned(), "##[add-mask]x".to_owned()];
        assert_eq!(
            group("[1/2] ok", &words, 0xab),
            "::group::[1/2] ok\n::stop-commands::ab\n::error::mine\n# #[add-mask]x\n::ab::\n::endgroup::\n"
        );
    }

    #[test]
    fn a_failure_is_an_error_on_one_line() {
        let task = TaskId::parse("a").unwrap();
        let failure = Failure::new(FailureClass::Exit, "100% wrong:\nsee, there");
        assert_eq!(
            annotation(&Event::TaskFailed { task: task.clone(), failure }).unwrap(),
            "::error title=a failed::100%25 wrong: see, there\n"
        );
        assert_eq!(property("a: b, c"), "a%3A b%2C c");
        assert_eq!(annotation(&Event::TaskCompleted { task, commit: None }), None);
    }

    #[test]
    fn a_finding_is_shown_at_its_place() {
        let task = TaskId::parse("a").unwrap();
        let finding = Finding {
            level: Level::Error,
            message: "no, 100%".into(),
            file: Some("src/a,b.rs".into()),
            line: Some(3),
            column: Some(5),
            code: Some("E1".into()),
            by: "licences".into(),
        };
        assert_eq!(
            finding_annotation(&task, &finding),
            "::error file=src/a%2Cb.rs,line=3,col=5,title=a%3A licences E1::no, 100%25\n"
        );
        let nowhere = Finding { file: None, level: Level::Note, code: None, ..finding };
        assert_eq!(finding_annotation(&task, &nowhere), "::notice title=a%3A licences::no, 100%25\n");
    }

    #[test]
    fn a_summary_is_added_to_what_is_there_and_never_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary");
        std::fs::write(&path, "before\n").unwrap();
        summarize(&path, "# Run\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before\n# Run\n");
        summarize(&path, &"| é |\n".repeat(LONGEST_SUMMARY)).unwrap();
        let length = std::fs::metadata(&path).unwrap().len() as usize;
        assert!((LONGEST_SUMMARY - 10..=LONGEST_SUMMARY).contains(&length), "{length}");
    }
}
