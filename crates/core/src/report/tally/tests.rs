use serde_json::json;

use super::*;
use crate::plan::{Command, Entrant, Plan, Task, Wins, Work};
use crate::run::Run;
use crate::run::costs::{self, By};
use crate::run::event::{
    AgentChoice, Change, Event, Failure, FailureClass, ModelUsage, Options, Outcome, Phases, Planning,
    Processes, Round,
};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::{Millis, Now, Tick, Timestamp};

fn id(name: &str) -> TaskId {
    TaskId::parse(name).unwrap()
}

fn prompt(name: &str, agent: &str) -> Task {
    Task { agent: Some(agent.into()), ..Task::new(id(name), Work::Prompt("do it".into())) }
}

fn usage(cost: u64, tokens: u64, output: u64) -> Usage {
    Usage { cost: Usd(cost), tokens, output, ..Usage::default() }
}

/// A log, written by hand; the fold takes every record of it.
struct Book {
    run: Run,
    records: Vec<Record>,
    tick: u64,
}

impl Book {
    fn new(tasks: Vec<Task>) -> Book {
        let plan = Plan { tasks, ..Plan::default() };
        let (run, created) = Run::create(plan, Now::default());
        let mut book = Book { run, records: vec![created], tick: 0 };
        book.start();
        book
    }

    /// A coordinator takes the run up; its time begins with it.
    fn start(&mut self) {
        self.tick = 0;
        self.add(0, Event::RunStarted { options: Box::new(Options::with_slots(2)) });
    }

    /// So many seconds later.
    fn add(&mut self, secs: u64, event: Event) {
        self.tick += secs * 1_000;
        let seq = self.records.len() as u64 + 1;
        let record = Record { seq, at: Timestamp(0), tick: Tick(self.tick), event };
        self.run.apply(&record).unwrap();
        self.records.push(record);
    }

    fn begin(&mut self, secs: u64, task: &str, attempt: u32, agent: Option<&str>) {
        let choice =
            agent.map(|agent| Box::new(AgentChoice { agent: agent.into(), model: None, why: String::new() }));
        let (task, attempt, on) = (id(task), Attempt(attempt), BTreeMap::new());
        self.add(secs, Event::AttemptStarted { task, attempt, executor: 1, choice, on });
    }

    fn report(&mut self, task: &str, attempt: u32, model: Option<&str>, (usage, taken_back): (Usage, Usage)) {
        let (task, attempt, model) = (id(task), Attempt(attempt), model.map(Box::from));
        self.add(0, Event::UsageReported { task, attempt, usage, model, taken_back });
    }

    fn ended(&mut self, secs: u64, task: &str, attempt: u32, outcome: Outcome) {
        let change = (outcome == Outcome::Succeeded).then(|| Box::new(Change::new("base", "work")));
        let ended = Event::AttemptEnded {
            task: id(task),
            attempt: Attempt(attempt),
            outcome,
            elapsed: Millis(0),
            executor: 1,
            change,
            phases: None,
        };
        self.add(secs, ended);
    }

    fn completed(&mut self, task: &str) {
        self.add(0, Event::TaskCompleted { task: id(task), commit: None });
    }

    fn failed(&mut self, task: &str) {
        self.add(0, Event::TaskFailed { task: id(task), failure: Failure::new(FailureClass::Exit, "no") });
    }

    fn tally(&self) -> Tally {
        Tally::of(&self.records)
    }
}

#[test]
fn a_run_is_counted_by_state_agent_model_and_reason() {
    let command = Task::new(id("make"), Work::Run(Command::Line("make".into())));
    let mut book = Book::new(vec![prompt("ui", "claude"), command, prompt("docs", "claude")]);
    book.begin(0, "ui", 1, Some("claude"));
    book.report("ui", 1, Some("opus"), (usage(40, 100, 30), Usage::default()));
    book.ended(20, "ui", 1, Outcome::Succeeded);
    let failure = Failure::new(FailureClass::Conflict, "both changed it");
    let merge = Event::MergeFailed { task: id("ui"), attempt: Attempt(1), failure: failure.clone() };
    book.add(0, merge);
    let round = Box::new(Round { change: Change::new("base", "work"), failure });
    book.add(0, Event::RetryScheduled { task: id("ui"), delay: Millis(0), again: Again::Mend(round) });
    book.begin(0, "ui", 2, Some("codex"));
    book.report("ui", 2, None, (usage(0, 5, 1), Usage::default()));
    book.ended(50, "ui", 2, Outcome::Succeeded);
    book.completed("ui");
    book.begin(0, "make", 1, None);
    book.ended(1, "make", 1, Outcome::Failed(Failure::new(FailureClass::Exit, "exit code 2")));
    book.failed("make");
    book.add(0, Event::TaskSkipped { task: id("docs"), culprit: Some(id("make")) });
    assert_eq!(
        serde_json::to_value(book.tally()).unwrap(),
        json!({
            "tasks": {
                "completed": { "claude": 0, "codex": 1, "command": 0 },
                "failed": { "claude": 0, "codex": 0, "command": 1 },
                "skipped": { "none": 1 }
            },
            "durations": {
                "completed": { "buckets": { "120000000": 1 }, "count": 1, "sum": 70_000_000 },
                "failed": { "buckets": { "1000000": 1 }, "count": 1, "sum": 1_000_000 }
            },
            "used": {
                "opus": { "cost": 40, "input": 70, "output": 30 },
                "unknown": { "cost": 0, "input": 4, "output": 1 }
            },
            "took": {},
            "retries": { "mend": 1 },
            "conflicts": 1
        })
    );
}

#[test]
fn what_is_taken_back_was_never_counted() {
    let mut book = Book::new(vec![prompt("ui", "claude")]);
    book.begin(0, "ui", 1, Some("claude"));
    book.report("ui", 1, Some("opus"), (usage(90, 900, 0), Usage::default()));
    assert_eq!(book.tally().used["opus"], Used::default(), "the attempt is under way");
    book.report("ui", 1, Some("opus"), (usage(10, 100, 50), usage(60, 600, 0)));
    book.ended(1, "ui", 1, Outcome::Interrupted);
    assert_eq!(book.tally().used["opus"], Used { cost: Usd(40), input: 350, output: 50 });
    let lines = costs::lines([("r1", book.records.as_slice())], By::Model, |_| 0);
    assert_eq!((lines[0].key.as_str(), lines[0].usage.cost, lines[0].usage.tokens), ("opus", Usd(40), 400));
}

#[test]
fn what_was_planned_counts_too() {
    let mut book = Book::new(vec![prompt("ui", "claude")]);
    let used = ModelUsage { model: Some("haiku".into()), usage: usage(7, 70, 20) };
    let planning = Box::new(Planning {
        plan: "p1".into(),
        agent: "claude".into(),
        at: Timestamp(0),
        usage: vec![used],
        analysed_in: Millis(0),
        planned_in: Millis(0),
    });
    book.add(0, Event::PlanningAccounted { planning });
    assert_eq!(book.tally().used["haiku"], Used { cost: Usd(7), input: 50, output: 20 });
}

#[test]
fn time_between_coordinators_does_not_count() {
    let mut book = Book::new(vec![prompt("ui", "claude")]);
    book.begin(10, "ui", 1, Some("claude"));
    book.add(100, Event::RunPaused { by: None });
    book.start();
    book.ended(5, "ui", 1, Outcome::Interrupted);
    book.begin(0, "ui", 2, Some("claude"));
    book.ended(3, "ui", 2, Outcome::Succeeded);
    book.completed("ui");
    assert_eq!(book.tally().durations["completed"].sum(), 108_000_000);
}

#[test]
fn a_task_that_is_opened_again_counts_again_and_from_anew() {
    let mut book = Book::new(vec![prompt("ui", "claude"), prompt("docs", "claude")]);
    book.begin(0, "ui", 1, Some("claude"));
    book.ended(30, "ui", 1, Outcome::Failed(Failure::new(FailureClass::Exit, "no")));
    book.failed("ui");
    book.add(100, Event::TaskReopened { task: id("ui") });
    book.begin(0, "ui", 2, Some("codex"));
    book.ended(2, "ui", 2, Outcome::Succeeded);
    book.completed("ui");
    book.begin(0, "docs", 1, Some("claude"));
    book.ended(4, "docs", 1, Outcome::Failed(Failure::new(FailureClass::Conflict, "no")));
    book.failed("docs");
    book.add(0, Event::TaskResolved { task: id("docs"), commit: "c".into(), change: None });
    let tally = book.tally();
    assert_eq!((tally.tasks["failed"]["claude"], tally.tasks["completed"]["codex"]), (2, 1));
    assert_eq!(tally.tasks["completed"]["claude"], 1, "resolved by a person");
    let took = |state: &str| (tally.durations[state].count(), tally.durations[state].sum());
    assert_eq!((took("failed"), took("completed")), ((2, 34_000_000), (1, 2_000_000)));
    assert_eq!(tally.conflicts, 1);
}

#[test]
fn a_race_is_one_task_of_its_winner() {
    let mut race = prompt("ui", "claude");
    let entrants: Vec<Entrant> =
        ["claude", "codex"].map(|agent| Entrant { agent: Some(agent.into()), ..Entrant::default() }).into();
    let entrants = race.raced(&entrants, Wins::First).unwrap();
    let names: Vec<String> = entrants.iter().map(|entrant| entrant.id.to_string()).collect();
    let mut book = Book::new(std::iter::once(race).chain(entrants).collect());
    book.begin(0, &names[1], 1, Some("codex"));
    book.begin(3, &names[0], 1, Some("claude"));
    book.ended(6, &names[1], 1, Outcome::Succeeded);
    book.completed(&names[1]);
    let (task, winner, why) = (id("ui"), id(&names[1]), "first".into());
    book.add(0, Event::RaceDecided { task, winner, why, standings: Vec::new() });
    book.ended(0, &names[0], 1, Outcome::Cancelled);
    book.add(0, Event::TaskCancelled { task: id(&names[0]) });
    book.completed("ui");
    let tally = book.tally();
    assert_eq!(tally.tasks["completed"], BTreeMap::from([("claude".into(), 0), ("codex".into(), 1)]));
    assert_eq!(tally.durations["completed"].sum(), 9_000_000);
    assert!(!tally.tasks.contains_key("cancelled"), "{:?}", tally.tasks);
}

#[test]
fn gauges_are_of_active_runs_only() {
    let mut book = Book::new(vec![prompt("a", "x"), prompt("b", "x"), prompt("c", "x"), prompt("d", "x")]);
    let gauges = |book: &Book| Gauges::of(&Snapshot::of(&book.run));
    assert_eq!(gauges(&book), Gauges { queued: 4, free: 2, ..Gauges::default() });
    book.begin(0, "a", 1, Some("x"));
    book.begin(0, "b", 1, Some("x"));
    book.ended(0, "b", 1, Outcome::Succeeded);
    assert_eq!(gauges(&book), Gauges { running: 2, queued: 2, busy: 1, free: 1, worktrees: 0 });
    let mut both = gauges(&book);
    both += gauges(&book);
    assert_eq!((both.running, both.free), (4, 2));
    book.add(0, Event::RunStopped { why: crate::run::event::DrainReason::User });
    assert_eq!(gauges(&book), Gauges::default());
}

/// What an attempt took is its agent's, also where the attempt failed; the largest process counts where all together were
/// not measured.
#[test]
fn what_attempts_took_of_the_machine_is_counted_by_agent() {
    const MIB: u64 = 1 << 20;
    let took = |cpu, memory, memory_together| {
        let processes =
            Processes { cpu: Millis(cpu), memory, memory_together, read: 10, ..Processes::default() };
        Some(Phases { processes: Some(processes), ..Phases::default() })
    };
    let failed = Outcome::Failed(Failure::new(FailureClass::Exit, "no"));
    let attempts = [
        ("a", None, failed, took(1_000, 20 * MIB, 0)),
        ("b", None, Outcome::Succeeded, took(500, 20 * MIB, 600 * MIB)),
        ("c", Some("gemini"), Outcome::Succeeded, took(7, 0, 0)),
        ("d", Some("codex"), Outcome::Succeeded, None),
    ];
    let mut book = Book::new(attempts.each_ref().map(|(name, ..)| prompt(name, "claude")).into());
    for (name, agent, outcome, phases) in attempts {
        book.begin(0, name, 1, agent);
        let (task, attempt, elapsed) = (id(name), Attempt(1), Millis(0));
        book.add(
            0,
            Event::AttemptEnded { task, attempt, outcome, elapsed, executor: 1, change: None, phases },
        );
    }
    let tally = Tally::of(&book.records);
    let claude = &tally.took["claude"];
    assert_eq!((claude.cpu, claude.read, claude.peaks.count()), (Millis(1_500), 20, 2));
    assert_eq!(claude.peaks.sum(), 620 * MIB, "of all together where that is known");
    let gemini = &tally.took["gemini"];
    assert_eq!((gemini.cpu, gemini.peaks.count()), (Millis(7), 0), "too little to be told");
    assert_eq!(tally.took.len(), 2, "nothing was measured of the last");
}
