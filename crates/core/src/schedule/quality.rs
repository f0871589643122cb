//! How good a task's work is, as far as that was measured: each part with its words, and what was not measured left out.

use serde::Serialize;

use crate::plan::Task;
use crate::plan::file_sets::FileSet;
use crate::plan::mentions;
use crate::run::event::{Change, Reviewed};
use crate::run::measure::{Lint, Measured, Percent, Reading};
use crate::run::{Landed, Run, TaskState};
use crate::values::counted::counted;

/// A part of a score: from 0 to 1, or nothing where it was not measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    pub name: &'static str,
    pub score: Option<f64>,
    pub words: String,
}

/// Of one task whose work landed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quality {
    /// From 0 to 100: the mean of the parts that were measured.
    pub score: f64,
    pub parts: Vec<Part>,
}

impl Quality {
    /// The parts that were measured.
    pub fn words(&self) -> String {
        let measured = self.parts.iter().filter(|part| part.score.is_some());
        measured.map(|part| format!("{}: {}", part.name, part.words)).collect::<Vec<_>>().join("; ")
    }
}

/// Nothing where nothing landed, or nothing about the work itself was measured: that the first attempt was
/// good says little where nothing was checked.
pub fn of(run: &Run, place: usize) -> Option<Quality> {
    let (task, progress) = run.task(place);
    let landed = progress.landed.as_ref().filter(|_| progress.state == TaskState::Completed)?;
    measured(run, place, task, landed)
}

/// As `of`, for good work that has not landed yet.
pub fn of_change(run: &Run, place: usize, change: &Change) -> Option<Quality> {
    measured(run, place, run.task(place).0, &Landed::of(String::new(), change.clone()))
}

fn measured(run: &Run, place: usize, task: &Task, landed: &Landed) -> Option<Quality> {
    let touched = &landed.touched.files;
    let work = vec![
        checks(task),
        gate(landed.gate.as_ref().map(|gate| gate.holds)),
        scope(task, touched),
        deliverable(task, touched),
        size(task, landed.touched.added + landed.touched.removed),
        review(landed.reviewed.as_deref()),
        coverage(landed.measured.as_deref()),
        lint(landed.measured.as_deref()),
    ];
    if work.iter().all(|part| part.score.is_none()) {
        return None;
    }
    let parts: Vec<Part> = work.into_iter().chain([goes(run, place)]).collect();
    let measured: Vec<f64> = parts.iter().filter_map(|part| part.score).collect();
    let sum: f64 = measured.iter().sum();
    Some(Quality { score: (100.0 * sum / measured.len() as f64).round(), parts })
}

fn unmeasured(name: &'static str, why: &str) -> Part {
    Part { name, score: None, words: why.to_owned() }
}

/// Whether two sets of globs have a file in common.
fn meet(one: &[String], other: &[String]) -> bool {
    FileSet::new(one).meets(&FileSet::new(other))
}

/// It would not have landed had one of them failed.
fn checks(task: &Task) -> Part {
    match task.verify.len() {
        0 => unmeasured("checks", "it has none"),
        count => Part { name: "checks", score: Some(1.0), words: format!("{count} of {count} passed") },
    }
}

fn gate(holds: Option<bool>) -> Part {
    let words = match holds {
        None => return unmeasured("gate", "its checks were not put to the test"),
        Some(true) => "its checks fail on damaged work",
        Some(false) => "its checks pass on damaged work too",
    };
    Part { name: "gate", score: holds.map(|holds| f64::from(u8::from(holds))), words: words.to_owned() }
}

/// How much of what it touched it had said it would touch.
fn scope(task: &Task, touched: &[String]) -> Part {
    if task.files.is_empty() || touched.is_empty() {
        return unmeasured("scope", "it does not say which files it touches");
    }
    let own = touched.iter().filter(|file| meet(&task.files, std::slice::from_ref(file))).count();
    let words = format!("{own} of {} it touched are its own", counted(touched.len(), "file"));
    Part { name: "scope", score: Some(own as f64 / touched.len() as f64), words }
}

/// How many of the files it was to deliver it has touched.
fn deliverable(task: &Task, touched: &[String]) -> Part {
    let named = mentions::files("", task.expected_deliverable.as_deref());
    if named.is_empty() {
        return unmeasured("deliverable", "it names no files");
    }
    let there = named.iter().filter(|file| meet(std::slice::from_ref(file), touched)).count();
    let words = format!("{there} of {} it was to deliver", counted(named.len(), "file"));
    Part { name: "deliverable", score: Some(there as f64 / named.len() as f64), words }
}

/// Whether it is larger than was planned, and by how much. Who needs less has not done worse.
fn size(task: &Task, lines: u64) -> Part {
    let Some(planned) = task.expected_lines() else {
        return unmeasured("size", "its expected size is not given");
    };
    let words = format!("{} changed, {planned} expected", counted(lines, "line"));
    let score = (f64::from(planned) / lines.max(1) as f64).min(1.0);
    Part { name: "size", score: Some(score), words }
}

/// The score the reviewer gave.
fn review(reviewed: Option<&Reviewed>) -> Part {
    match reviewed.and_then(|reviewed| Some((reviewed, reviewed.score?))) {
        None => unmeasured("review", "no reviewer has scored it"),
        Some((reviewed, score)) => {
            let words = format!("{} gives it {score} of 100", reviewed.by);
            Part { name: "review", score: Some(f64::from(score) / 100.0), words }
        }
    }
}

/// How much is tested; where that is less than before, as much less again as is left of it.
fn coverage(measured: Option<&Measured>) -> Part {
    let Some(reading) = measured.and_then(|measured| measured.coverage) else {
        return unmeasured("coverage", "no tool has told how much of it is tested");
    };
    let Reading { before, after } = reading;
    let kept = match before.map(Percent::share) {
        Some(before) if before > after.share() => after.share() / before,
        _ => 1.0,
    };
    Part { name: "coverage", score: Some(after.share() * kept), words: format!("{reading}") }
}

/// One where a linter finds nothing any more; at least a half where it finds nothing new, more the more is gone; less than
/// that the more is new.
fn lint(measured: Option<&Measured>) -> Part {
    let Some(reading) = measured.and_then(|measured| measured.lint) else {
        return unmeasured("lint", "no linter has looked at it");
    };
    Part { name: "lint", score: Some(tidiness(reading)), words: format!("{reading}") }
}

fn tidiness(Reading { before, after }: Reading<Lint>) -> f64 {
    const NOTHING_NEW: f64 = 0.5;
    match (before.and_then(|before| before.findings), after.findings) {
        (_, Some(0)) => 1.0,
        (Some(before), Some(after)) if after <= before => {
            NOTHING_NEW + (1.0 - NOTHING_NEW) * (before - after) as f64 / before as f64
        }
        (Some(before), Some(after)) => NOTHING_NEW / (1.0 + (after - before) as f64),
        // How many are new is unknown.
        (None, Some(_)) => NOTHING_NEW,
        (_, None) if after.passed => 1.0,
        (_, None) if before.is_some_and(|before| !before.passed) => NOTHING_NEW,
        (_, None) => 0.0,
    }
}

/// The more often it went back, the less.
fn goes(run: &Run, place: usize) -> Part {
    let again = run.repeats(run.doer(place)).map_or(0, |repeats| repeats.rounds + repeats.bad_tries);
    let words = match again {
        0 => "good at the first go".to_owned(),
        1 => "went back once".to_owned(),
        again => format!("went back {again} times"),
    };
    Part { name: "goes", score: Some(1.0 / f64::from(1 + again)), words }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Work};
    use crate::run::event::{Gate, Options, Outcome, Touched};
    use crate::schedule::{Action, Input, Scheduler, Stacked};
    use crate::values::ids::TaskId;
    use crate::values::units::Now;

    /// Runs a plan of one task whose work touches these files.
    fn landed(task: Task, files: &[&str], gate: Option<bool>) -> Run {
        let (run, _) = Run::create(Plan { tasks: vec![task], ..Plan::default() }, Now::default());
        let (mut scheduler, first) = Scheduler::start(run, Options::with_slots(1), Now::default()).unwrap();
        let Some(Action::Start { task, attempt, .. }) = first.actions.into_iter().next() else { panic!() };
        let touched =
            Touched { files: files.iter().map(|&file| file.into()).collect(), ..Touched::default() };
        let gate = gate.map(|holds| Gate { file: "x".into(), holds });
        let change = Some(Box::new(Change { touched, gate, ..Change::new("base", "work") }));
        let outcome = Outcome::Succeeded;
        let ended = Input::AttemptEnded { task: task.clone(), attempt, outcome, change, phases: None };
        scheduler.handle(Now::default(), ended);
        let stacked = vec![Stacked { task, attempt, to: "tip".into() }];
        let merged = Input::MergesPrepared { from: "base".into(), stacked, failed: Vec::new() };
        scheduler.handle(Now::default(), merged);
        scheduler.handle(Now::default(), Input::BranchMoved { to: "tip".into(), moved: true });
        scheduler.into_run()
    }

    fn task() -> Task {
        Task::new(TaskId::parse("a").unwrap(), Work::Prompt("do it".into()))
    }

    #[test]
    fn only_what_was_measured_counts() {
        assert_eq!(of(&landed(task(), &["src/a.rs"], None), 0), None, "the work itself was not measured");
        let checked = Task { verify: vec!["cargo test".into()], ..task() };
        let plain = of(&landed(checked, &["src/a.rs"], None), 0).unwrap();
        let words = "checks: 1 of 1 passed; goes: good at the first go";
        assert_eq!((plain.score, plain.words().as_str()), (100.0, words));
        let unmeasured: Vec<&str> =
            plain.parts.iter().filter(|part| part.score.is_none()).map(|part| part.name).collect();
        assert_eq!(unmeasured, ["gate", "scope", "deliverable", "size", "review", "coverage", "lint"]);
    }

    #[test]
    fn coverage_that_fell_counts_for_less_than_it_is() {
        let part = |before: Option<f64>, after: f64| {
            let before = before.and_then(Percent::new);
            let reading = Reading { before, after: Percent::new(after).unwrap() };
            let part = coverage(Some(&Measured { coverage: Some(reading), lint: None }));
            (part.words, (part.score.unwrap() * 1000.0).round())
        };
        assert_eq!(part(Some(80.0), 82.5), ("80.0 % → 82.5 %".to_owned(), 825.0));
        assert_eq!(part(Some(80.0), 80.0).1, 800.0);
        assert_eq!(part(Some(80.0), 40.0).1, 200.0, "half of it is left");
        assert_eq!(part(None, 40.0), ("40.0 %".to_owned(), 400.0));
        assert_eq!((part(Some(0.0), 0.0).1, part(Some(100.0), 0.0).1), (0.0, 0.0));
    }

    #[test]
    fn what_a_linter_finds_counts_by_what_is_new_and_what_is_left() {
        let found = |findings| Lint { findings, passed: findings == Some(0) };
        let counted = |before: Option<u64>, after| {
            tidiness(Reading { before: before.map(|before| found(Some(before))), after: found(Some(after)) })
        };
        assert_eq!((counted(Some(9), 0), counted(None, 0)), (1.0, 1.0), "none left");
        assert_eq!((counted(Some(4), 4), counted(Some(4), 1), counted(None, 4)), (0.5, 0.875, 0.5));
        assert_eq!((counted(Some(4), 5), counted(Some(0), 4)), (0.25, 0.1), "new ones");
        let exit = |before: Option<bool>, after| {
            let lint = |passed| Lint { findings: None, passed };
            tidiness(Reading { before: before.map(lint), after: lint(after) })
        };
        assert_eq!((exit(None, true), exit(Some(false), true)), (1.0, 1.0));
        assert_eq!((exit(Some(true), false), exit(None, false), exit(Some(false), false)), (0.0, 0.0, 0.5));
    }

    #[test]
    fn who_changes_more_than_was_planned_has_less() {
        for (added, removed, score) in [(50, 10, 1.0), (0, 0, 1.0), (150, 50, 0.5)] {
            let mut task = task();
            task.preparation.get_or_insert_default().expected_lines = Some(100);
            let part = size(&task, added + removed);
            assert_eq!((part.score, part.name), (Some(score), "size"), "{}", part.words);
        }
        assert_eq!(size(&task(), 5).score, None);
    }

    #[test]
    fn every_part_tells_on_what_it_rests() {
        let task = Task {
            verify: vec!["cargo test".into()],
            files: vec!["src/**".into()],
            expected_deliverable: Some("src/a.rs and docs/a.md".into()),
            ..task()
        };
        let run = landed(task, &["src/a.rs", "README.md"], Some(false));
        let quality = of(&run, 0).unwrap();
        let parts: Vec<(&str, Option<f64>)> =
            quality.parts.iter().map(|part| (part.name, part.score)).collect();
        let half = Some(0.5);
        let expected = [
            ("checks", Some(1.0)),
            ("gate", Some(0.0)),
            ("scope", half),
            ("deliverable", half),
            ("size", None),
            ("review", None),
            ("coverage", None),
            ("lint", None),
            ("goes", Some(1.0)),
        ];
        assert_eq!((parts.as_slice(), quality.score), (&expected[..], 60.0));
    }
}
