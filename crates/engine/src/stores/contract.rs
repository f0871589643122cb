//! What every store must do, run over each of them.

use std::path::Path;
use std::sync::Arc;

use conductor_core::plan::{Command, Plan, Task as PlannedTask, Work};
use conductor_core::run::Run;
use conductor_core::run::event::{Event, Failure, FailureClass, Options, Outcome, Question, Record};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::{Millis, Now, Tick, Timestamp};

use super::*;
use crate::host::home::Home;

/// Opens a store whose state lives in this folder; opening twice gives the same state.
async fn open(folder: &Path) -> Sqlite {
    Sqlite::open(&Home::at(folder).unwrap()).await.unwrap()
}

fn run_id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

fn task_id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

fn plan() -> Plan {
    let task = |id: &str| PlannedTask::new(task_id(id), Work::Run(Command::Line("true".into())));
    Plan { tasks: vec![task("a"), task("b")], ..Plan::default() }
}

fn created(id: &RunId) -> (NewRun, Record) {
    let (_, record) = Run::create(plan(), Now { at: Timestamp(1_000), ..Now::default() });
    let new =
        NewRun { id: id.clone(), directory: "/somewhere".into(), source: "tasks.yaml".into(), tasks: 2 };
    (new, record)
}

fn record(seq: u64, event: Event) -> Record {
    Record { seq, at: Timestamp(1_000 + seq as i64), tick: Tick(seq), event }
}

fn started(seq: u64) -> Record {
    record(seq, Event::RunStarted { options: Box::new(Options::with_slots(2)) })
}

fn attempt_started(seq: u64, task: &str) -> Record {
    record(
        seq,
        Event::AttemptStarted {
            task: task_id(task),
            attempt: Attempt(1),
            executor: 1,
            choice: None,
            on: Default::default(),
        },
    )
}

#[tokio::test]
async fn what_was_appended_is_there_when_opened_again_to_the_last_field() {
    let dir = tempfile::tempdir().unwrap();
    let id = run_id("r1");
    let (new, first) = created(&id);
    let failure = Failure::new(FailureClass::Exit, "exit \"1\" 'quoted' \u{1F600}\n");
    let outcome = Outcome::Failed(failure);
    let ended = Event::AttemptEnded {
        task: task_id("a"),
        attempt: Attempt(1),
        outcome,
        elapsed: Millis(5),
        executor: 1,
        change: None,
        phases: None,
    };
    let rest = vec![started(2), attempt_started(3, "a"), record(4, ended)];
    {
        let store = open(dir.path()).await;
        store.create(&new, &first).await.unwrap();
        store.append(&id, &rest).await.unwrap();
    }
    let store = open(dir.path()).await;
    let loaded = store.load(&id).await.unwrap();
    assert_eq!(loaded, [vec![first], rest].concat());
    let runs = store.runs().await.unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].status.as_str(), runs[0].tasks), ("running", 2));
}

#[tokio::test]
async fn appending_the_same_again_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let id = run_id("r1");
    let (new, first) = created(&id);
    let store = open(dir.path()).await;
    store.create(&new, &first).await.unwrap();
    for _ in 0..3 {
        store.append(&id, &[started(2), attempt_started(3, "a")]).await.unwrap();
    }
    assert_eq!(store.load(&id).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_turn_of_a_thousand_events_is_one_turn() {
    let dir = tempfile::tempdir().unwrap();
    let id = run_id("r1");
    let (new, first) = created(&id);
    let store = open(dir.path()).await;
    store.create(&new, &first).await.unwrap();
    let many: Vec<Record> = (2..=1001).map(|seq| record(seq, Event::RunPaused { by: None })).collect();
    store.append(&id, &many).await.unwrap();
    assert_eq!(store.load(&id).await.unwrap().len(), 1001);
}

#[tokio::test]
async fn runs_do_not_see_each_other_and_the_newest_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for (at, name) in [(1, "old"), (2, "new")] {
        let (new, mut first) = created(&run_id(name));
        first.at = Timestamp(at);
        store.create(&new, &first).await.unwrap();
    }
    let names: Vec<String> = store.runs().await.unwrap().iter().map(|run| run.id.to_string()).collect();
    assert_eq!(names, ["new", "old"]);
    assert_eq!(store.load(&run_id("old")).await.unwrap().len(), 1);
    assert!(matches!(store.load(&run_id("none")).await, Err(StoreError::NoSuchRun(_))));
}

#[tokio::test]
async fn a_run_that_was_not_opened_cannot_be_appended_to() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(open(dir.path()).await);
    assert!(store.append(&run_id("r1"), &[started(2)]).await.is_err());
}

#[tokio::test]
async fn a_run_that_is_removed_is_gone_and_no_other_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for name in ["r1", "r2"] {
        let (new, first) = created(&run_id(name));
        store.create(&new, &first).await.unwrap();
        store.append(&run_id(name), &[started(2), attempt_started(3, "a")]).await.unwrap();
    }
    store.remove(&run_id("r1")).await.unwrap();
    store.remove(&run_id("never")).await.unwrap();
    let left: Vec<RunId> = store.runs().await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(left, [run_id("r2")]);
    assert!(matches!(store.load(&run_id("r1")).await, Err(StoreError::NoSuchRun(_))));
    assert_eq!(store.load(&run_id("r2")).await.unwrap().len(), 3);
    let (new, first) = created(&run_id("r1"));
    store.create(&new, &first).await.unwrap();
    assert_eq!(store.load(&run_id("r1")).await.unwrap().len(), 1, "a new one of the name begins anew");
}

/// A reader of a live run finds a whole log, however busy the writer is.
#[test]
fn a_log_can_be_read_while_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let id = run_id("r1");
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (new, first) = created(&id);
    let store = runtime().block_on(async {
        let store = open(dir.path()).await;
        store.create(&new, &first).await.unwrap();
        store
    });
    let writer = std::thread::spawn(move || {
        runtime().block_on(async {
            for seq in 2..=400 {
                store.append(&run_id("r1"), &[record(seq, Event::RunPaused { by: None })]).await.unwrap();
            }
        });
    });
    runtime().block_on(async {
        let reader = open(dir.path()).await;
        while !writer.is_finished() {
            reader.load(&id).await.unwrap();
        }
        writer.join().unwrap();
        assert_eq!(reader.load(&id).await.unwrap().len(), 400);
    });
}

/// A12. A run is read, created and removed while another is written, as `run --watch` does when it learns from the past.
#[tokio::test]
async fn two_runs_on_one_store_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(open(dir.path()).await);
    let (one, other) = (run_id("one"), run_id("other"));
    for id in [&one, &other] {
        let (new, first) = created(id);
        store.create(&new, &first).await.unwrap();
    }
    for seq in 2..=20 {
        store.append(&one, &[record(seq, Event::RunPaused { by: None })]).await.unwrap();
        assert!(store.load(&other).await.is_ok());
        if seq % 5 == 0 {
            store.append(&other, &[record(seq / 5 + 1, Event::RunPaused { by: None })]).await.unwrap();
        }
    }
    store.remove(&run_id("never")).await.unwrap();
    assert_eq!((store.load(&one).await.unwrap().len(), store.load(&other).await.unwrap().len()), (20, 5));
    let again = open(dir.path()).await;
    assert_eq!((again.load(&one).await.unwrap().len(), again.load(&other).await.unwrap().len()), (20, 5));
}

/// A12, where an append is in flight while another run is read: what is acknowledged is noted for the run it is of.
#[tokio::test]
async fn an_append_in_flight_is_acknowledged_for_its_own_run() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let (one, other) = (run_id("one"), run_id("other"));
    for id in [&one, &other] {
        let (new, first) = created(id);
        store.create(&new, &first).await.unwrap();
    }
    store.load(&one).await.unwrap();
    for seq in 2..=50 {
        let records = [record(seq, Event::RunPaused { by: None })];
        let (appended, read) = tokio::join!(store.append(&one, &records), store.load(&other));
        appended.unwrap();
        assert_eq!(read.unwrap().len(), 1);
    }
    assert_eq!(store.load(&one).await.unwrap().len(), 50);
    assert_eq!(store.load(&other).await.unwrap().len(), 1);
}

/// A log is lengthened only at its end: one that has grown meanwhile is not written over, and says so.
#[tokio::test]
async fn a_record_that_contradicts_the_log_is_a_conflict() {
    let dir = tempfile::tempdir().unwrap();
    let (first_store, second_store) = (open(dir.path()).await, open(dir.path()).await);
    let id = run_id("r1");
    let (new, first) = created(&id);
    first_store.create(&new, &first).await.unwrap();
    second_store.append(&id, &[started(2)]).await.unwrap();
    let other = record(2, Event::RunPaused { by: None });
    let error = first_store.append(&id, std::slice::from_ref(&other)).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    let gap = first_store.append(&id, &[record(4, Event::RunPaused { by: None })]).await.unwrap_err();
    assert!(matches!(gap, StoreError::Conflict { .. }), "{gap}");
    // The same record once more is no contradiction, whichever process wrote it.
    first_store.append(&id, &[started(2), attempt_started(3, "a")]).await.unwrap();
    assert_eq!(second_store.load(&id).await.unwrap().len(), 3);
}

/// Every way an attempt can end is kept, also one that has no place in what estimates are learned from.
#[tokio::test]
async fn every_outcome_of_an_attempt_can_be_appended() {
    let dir = tempfile::tempdir().unwrap();
    let id = run_id("r1");
    let (new, first) = created(&id);
    let store = open(dir.path()).await;
    store.create(&new, &first).await.unwrap();
    let question = Question { tool: "shell".into(), what: "deploy".into(), why: String::new() };
    let outcomes = [
        Outcome::Succeeded,
        Outcome::Failed(Failure::new(FailureClass::Exit, "exit 1")),
        Outcome::Interrupted,
        Outcome::Cancelled,
        Outcome::Asked(Box::new(question)),
    ];
    for (seq, outcome) in (2..).zip(outcomes) {
        let (task, attempt, elapsed) = (task_id("a"), Attempt(seq as u32), Millis(5));
        let ended =
            Event::AttemptEnded { task, attempt, outcome, elapsed, executor: 1, change: None, phases: None };
        store.append(&id, &[record(seq, ended)]).await.unwrap();
    }
    assert_eq!(store.load(&id).await.unwrap().len(), 6);
}

fn paused(seq: u64) -> Record {
    record(seq, Event::RunPaused { by: None })
}

/// A run of one event, in a store that has made it.
async fn new_run(folder: &Path) -> (Sqlite, RunId) {
    let (store, id) = (open(folder).await, run_id("r1"));
    let (new, first) = created(&id);
    store.create(&new, &first).await.unwrap();
    (store, id)
}

async fn numbers(store: &Sqlite, id: &RunId) -> Vec<u64> {
    store.load(id).await.unwrap().iter().map(|record| record.seq).collect()
}

#[tokio::test]
async fn what_is_only_written_is_part_of_the_log_for_every_reader() {
    let dir = tempfile::tempdir().unwrap();
    let (store, id) = new_run(dir.path()).await;
    store.write(&id, &[started(2)]).unwrap();
    store.write(&id, &[attempt_started(3, "a"), paused(4)]).unwrap();
    let other = open(dir.path()).await;
    assert_eq!(other.load(&id).await.unwrap()[1..], [started(2), attempt_started(3, "a"), paused(4)]);
    store.append(&id, &[started(2), attempt_started(3, "a")]).await.unwrap();
    assert_eq!(numbers(&other, &id).await, [1, 2, 3, 4], "half of it is stored twice and told once");
    store.append(&id, &[paused(4), paused(5)]).await.unwrap();
    assert_eq!(numbers(&store, &id).await, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn the_next_process_takes_over_what_was_only_written() {
    let dir = tempfile::tempdir().unwrap();
    let (store, id) = new_run(dir.path()).await;
    store.write(&id, &[started(2), attempt_started(3, "a")]).unwrap();
    drop(store);
    let next = open(dir.path()).await;
    assert!(matches!(next.write(&id, &[paused(4)]), Err(StoreError::NoSuchRun(_))), "not before it appended");
    next.append(&id, &[paused(4)]).await.unwrap();
    let journal = Home::at(dir.path()).unwrap().run(&id).join("journal");
    assert_eq!(std::fs::metadata(&journal).unwrap().len(), 0, "it is in the database");
    next.write(&id, &[paused(5)]).unwrap();
    assert_eq!(numbers(&open(dir.path()).await, &id).await, [1, 2, 3, 4, 5]);
    assert_eq!(next.runs().await.unwrap()[0].status, "running", "what it says of the run is known too");
}

#[tokio::test]
async fn what_a_power_cut_left_of_the_journal_ends_at_the_first_line_that_is_not_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (store, id) = new_run(dir.path()).await;
    store.append(&id, &[started(2)]).await.unwrap();
    for seq in [3, 4, 5] {
        store.write(&id, &[paused(seq)]).unwrap();
    }
    drop(store);
    let journal = Home::at(dir.path()).unwrap().run(&id).join("journal");
    let whole = std::fs::read(&journal).unwrap();
    let lines: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    let damages: [(&str, Vec<u8>, usize); 4] = [
        ("its end is missing", whole[..whole.len() - 9].to_vec(), 4),
        (
            "its middle never came to the disk",
            {
                let mut holed = whole.clone();
                holed[lines[0] + 1..lines[1]].fill(0);
                holed
            },
            3,
        ),
        ("nothing of it did", Vec::new(), 2),
        (
            "a letter is wrong",
            {
                let mut wrong = whole.clone();
                wrong[20] ^= 1;
                wrong
            },
            2,
        ),
    ];
    for (damage, bytes, left) in damages {
        std::fs::write(&journal, bytes).unwrap();
        let store = open(dir.path()).await;
        assert_eq!(numbers(&store, &id).await.len(), left, "{damage}");
    }
    let store = open(dir.path()).await;
    store.append(&id, &[paused(3)]).await.unwrap();
    store.write(&id, &[paused(4)]).unwrap();
    assert_eq!(numbers(&open(dir.path()).await, &id).await, [1, 2, 3, 4], "and the run goes on");
    store.write(&id, &[paused(5), paused(6)]).unwrap();
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 9]).unwrap();
    assert_eq!(
        numbers(&open(dir.path()).await, &id).await,
        [1, 2, 3, 4],
        "of a turn there is all or nothing"
    );
}

#[tokio::test]
async fn a_journal_begins_anew_when_it_is_long_and_goes_with_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let (store, id) = new_run(dir.path()).await;
    let journal = Home::at(dir.path()).unwrap().run(&id).join("journal");
    let length = || std::fs::metadata(&journal).map_or(0, |journal| journal.len());
    let mut longest = 0;
    for batch in 0..40_u64 {
        let records: Vec<Record> = (0..200).map(|at| paused(2 + batch * 200 + at)).collect();
        records.chunks(50).for_each(|some| store.write(&id, some).unwrap());
        longest = longest.max(length());
        store.append(&id, &records).await.unwrap();
    }
    assert!(longest > 0 && longest < 300 << 10, "{longest}");
    assert_eq!(numbers(&open(dir.path()).await, &id).await.len(), 8_001);
    let outcome = conductor_core::run::event::RunOutcome::Completed;
    store.append(&id, &[record(8_002, Event::RunFinished { outcome })]).await.unwrap();
    assert!(!journal.exists(), "a run that is over has none");
}
