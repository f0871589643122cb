use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use conductor_core::plan::Plan;
use conductor_core::run::event::{Again, AgentChoice, DrainReason, Failure, FailureClass, Options, Outcome};
use conductor_core::values::ids::Attempt;
use conductor_core::values::units::{Millis, Tick, Timestamp, Usd};
use conductor_engine::process::transcript::ToolCall;
use proptest::prelude::*;

use super::*;
use crate::calls::with_calls;
use crate::span::{AttemptOf, Value};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn run_id() -> RunId {
    RunId::parse("r1").unwrap()
}

fn id(name: &str) -> TaskId {
    TaskId::parse(name).unwrap()
}

/// A log as it is written: every record with its number.
#[derive(Default)]
struct Book {
    records: Vec<Record>,
    now: i64,
    attempts: HashMap<usize, u32>,
}

impl Book {
    fn add(&mut self, after: i64, event: Event) {
        self.now += after;
        let seq = self.records.len() as u64 + 1;
        self.records.push(Record { seq, at: Timestamp(self.now), tick: Tick(0), event });
    }

    fn created() -> Book {
        let mut book = Book { now: 1_000, ..Book::default() };
        let task = |name: &&str| Task::new(id(name), Work::Prompt("write SECRET words".into()));
        let tasks = NAMES.iter().map(task).collect();
        book.add(0, Event::RunCreated { plan: Arc::new(Plan { tasks, ..Plan::default() }), options: None });
        book.add(0, started());
        book
    }

    fn start(&mut self, after: i64, task: usize) -> Attempt {
        let count = self.attempts.entry(task).or_default();
        *count += 1;
        let attempt = Attempt(*count);
        let choice = AgentChoice { agent: "claude".into(), model: Some("m-1".into()), why: String::new() };
        let choice = Some(Box::new(choice));
        let event = Event::AttemptStarted {
            task: id(NAMES[task]),
            attempt,
            executor: 1,
            choice,
            on: Default::default(),
        };
        self.add(after, event);
        attempt
    }

    fn end(&mut self, after: i64, task: usize, outcome: Outcome) {
        let attempt = Attempt(self.attempts.get(&task).copied().unwrap_or(0));
        let event = Event::AttemptEnded {
            task: id(NAMES[task]),
            attempt,
            outcome,
            elapsed: Millis(1),
            executor: 1,
            change: None,
            phases: None,
        };
        self.add(after, event);
    }

    fn spans(&self, content: Content) -> Vec<Span> {
        let mut course = Course::new(&run_id(), None, content);
        let mut spans: Vec<Span> = self.records.iter().flat_map(|record| course.take(record)).collect();
        spans.extend(course.rest());
        spans
    }
}

fn started() -> Event {
    Event::RunStarted { options: Box::new(Options::with_slots(2)) }
}

fn failed() -> Outcome {
    Outcome::Failed(Failure::new(FailureClass::Unverified, "it said SECRET"))
}

#[track_caller]
fn text(span: &Span, name: &str) -> String {
    match span.attributes.get(name) {
        Some(Value::Text(text)) => text.clone(),
        other => panic!("{name} of {} is {other:?}", span.name),
    }
}

#[track_caller]
fn find<'a>(spans: &'a [Span], name: &str, attempt: u64) -> &'a Span {
    let fits = |span: &&Span| {
        let number = span.attributes.get("conductor.attempt");
        span.name == name && number.is_none_or(|number| *number == Value::Whole(attempt))
    };
    spans.iter().find(fits).unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
}

#[test]
fn a_retry_is_two_attempts_below_one_task() {
    let mut book = Book::created();
    let attempt = book.start(10, 0);
    let usage = Usage { cost: Usd(1_500_000), tokens: 42, output: 12, turns: 2, ..Usage::default() };
    let (task, model) = (id("a"), Some("m-1-2026".into()));
    book.add(1, Event::SessionStarted { task: task.clone(), attempt, session: "s1".into() });
    book.add(
        1,
        Event::UsageReported { task: task.clone(), attempt, usage, model, taken_back: Usage::default() },
    );
    book.end(5, 0, failed());
    book.add(0, Event::RetryScheduled { task: task.clone(), delay: Millis(3), again: Again::Failed });
    book.start(3, 0);
    book.end(5, 0, Outcome::Succeeded);
    book.add(1, Event::TaskCompleted { task, commit: Some("c0ffee".into()) });
    book.add(1, Event::RunFinished { outcome: RunOutcome::Completed });
    let spans = book.spans(Content::LeftOut);
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["task a", "invoke_agent claude", "invoke_agent claude", "conductor run"]);
    let (task, run) = (find(&spans, "task a", 0), find(&spans, "conductor run", 0));
    let (first, second) = (find(&spans, "invoke_agent claude", 1), find(&spans, "invoke_agent claude", 2));
    assert_eq!(
        (run.parent, task.parent, first.parent, second.parent),
        (None, Some(run.id), Some(task.id), Some(task.id))
    );
    assert_eq!((first.from, first.to, second.from, second.to), (1_010, 1_017, 1_020, 1_025));
    assert_eq!((task.from, task.to, run.from, run.to), (1_010, 1_026, 1_000, 1_027));
    assert_eq!(text(first, "gen_ai.request.model"), "m-1");
    assert_eq!(text(first, "gen_ai.response.model"), "m-1-2026");
    assert_eq!(text(first, "gen_ai.conversation.id"), "s1");
    assert_eq!(text(first, "error.type"), "unverified");
    assert_eq!(text(first, "conductor.gate.checks"), "failed");
    assert_eq!(text(second, "conductor.retry.reason"), "failed");
    assert_eq!(first.attributes.get("gen_ai.usage.input_tokens"), Some(&Value::Whole(30)));
    assert_eq!(task.attributes.get("conductor.cost.usd"), Some(&Value::Number(1.5)));
    assert_eq!(task.events[0].name, "conductor.retry");
    assert_eq!(
        (&first.status, &second.status, &run.status),
        (&Status::Error(None), &Status::Ok, &Status::Ok)
    );
}

#[test]
fn words_are_told_only_where_that_is_wanted() {
    let mut book = Book::created();
    book.start(1, 0);
    book.end(1, 0, failed());
    let told = |content| format!("{:?}", book.spans(content));
    assert!(!told(Content::LeftOut).contains("SECRET"));
    assert!(
        told(Content::Told).contains("write SECRET words") && told(Content::Told).contains("it said SECRET")
    );
}

#[test]
fn a_killed_attempt_ends_when_it_was_last_heard_of() {
    let mut book = Book::created();
    book.start(1, 0);
    book.add(10, Event::RunContinued {});
    book.add(100_000, started());
    book.end(1, 0, Outcome::Interrupted);
    book.start(1, 0);
    book.end(1, 0, Outcome::Succeeded);
    book.add(1, Event::TaskCompleted { task: id("a"), commit: None });
    book.add(1, Event::RunFinished { outcome: RunOutcome::Completed });
    let spans = book.spans(Content::LeftOut);
    assert_eq!(find(&spans, "invoke_agent claude", 1).to, 1_011);
    let runs: Vec<&Span> = spans.iter().filter(|span| span.name == "conductor run").collect();
    assert_eq!(runs.len(), 1, "a resume after a kill goes on with the span");
    assert_eq!(runs[0].events[0].name, "conductor.run.taken_up");
}

#[test]
fn an_orderly_stop_ends_the_span_and_a_resume_begins_another_in_the_same_trace() {
    let mut book = Book::created();
    book.start(1, 0);
    book.end(1, 0, Outcome::Interrupted);
    book.add(1, Event::RunStopped { why: DrainReason::User });
    book.add(50, started());
    book.start(1, 0);
    book.end(1, 0, Outcome::Succeeded);
    book.add(1, Event::TaskCompleted { task: id("a"), commit: None });
    book.add(1, Event::RunFinished { outcome: RunOutcome::Completed });
    let spans = book.spans(Content::LeftOut);
    let states: Vec<String> = spans
        .iter()
        .filter(|span| span.name == "conductor run")
        .map(|span| text(span, "conductor.run.state"))
        .collect();
    assert_eq!(states, ["stopped", "completed"]);
    check(&spans).unwrap();
}

/// Each id once, every parent there, and no child outside of its parent.
fn check(spans: &[Span]) -> Result<(), TestCaseError> {
    let by_id: HashMap<SpanId, &Span> = spans.iter().map(|span| (span.id, span)).collect();
    prop_assert_eq!(by_id.len(), spans.len(), "an id stands for two spans");
    let traces: HashSet<TraceId> = spans.iter().map(|span| span.trace).collect();
    prop_assert!(traces.len() <= 1);
    for span in spans {
        prop_assert!(span.from <= span.to, "{span:?}");
        let Some(parent) = span.parent else { continue };
        let parent = by_id.get(&parent);
        prop_assert!(parent.is_some(), "{} has no parent", span.name);
        let parent = parent.unwrap();
        prop_assert!(parent.from <= span.from && span.to <= parent.to, "{span:?} in {parent:?}");
        for event in &span.events {
            prop_assert!(span.from <= event.at && event.at <= span.to);
        }
    }
    Ok(())
}

/// Anything that could stand in a log, and much that could not.
fn step(book: &mut Book, kind: u8, task: usize, after: i64) {
    let name = id(NAMES[task]);
    match kind {
        0..4 => drop(book.start(after, task)),
        4..6 => book.end(after, task, Outcome::Succeeded),
        6 => book.end(after, task, failed()),
        7 => book.end(after, task, Outcome::Interrupted),
        8 => book.add(after, Event::RetryScheduled { task: name, delay: Millis(1), again: Again::Anew }),
        9 => book.add(after, Event::TaskCompleted { task: name, commit: None }),
        10 => {
            book.add(
                after,
                Event::TaskFailed { task: name, failure: Failure::new(FailureClass::Exit, "no") },
            );
        }
        11 => book.add(after, Event::TaskSkipped { task: name, culprit: None }),
        12 => book.add(after, Event::TaskReopened { task: name }),
        13 => book.add(after, started()),
        14 => book.add(after, Event::RunStopped { why: DrainReason::User }),
        _ => book.add(after, Event::RunFinished { outcome: RunOutcome::Failed }),
    }
}

fn called(of: &AttemptOf, offsets: &[(i64, i64)]) -> Vec<ToolCall> {
    let call = |(from, long): &(i64, i64)| ToolCall {
        from: Timestamp(1_000 + from),
        to: Timestamp(1_000 + from + long),
        tool: "Bash".into(),
        what: of.task.to_string(),
        failed: *long == 0,
    };
    offsets.iter().map(call).collect()
}

proptest! {
    #[test]
    fn every_log_makes_a_whole_trace(
        steps in prop::collection::vec((0..17_u8, 0..3_usize, -20..60_i64), 0..80),
        calls in prop::collection::vec((-50..4_000_i64, 0..50_i64), 0..4),
    ) {
        let mut book = Book::created();
        steps.iter().for_each(|(kind, task, after)| step(&mut book, *kind, *task, *after));
        let spans = book.spans(Content::LeftOut);
        let all = with_calls(&run_id(), spans.clone(), Content::LeftOut, &|of| called(of, &calls));
        check(&all)?;
        // Once more is the same again.
        prop_assert_eq!(book.spans(Content::LeftOut), spans);
    }
}
