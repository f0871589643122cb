//! What every store must do, run over each of them.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use conductor_core::plan::{Command, Plan, Task as PlannedTask, Work};
use conductor_core::run::Run;
use conductor_core::run::event::{Event, Failure, FailureClass, Options, Outcome, Question, Record};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::{Millis, Now, Tick, Timestamp};
use conductor_testkit::servers;

use super::memory::Memory;
use super::*;
use crate::host::home::{Home, StoreAddress};

/// Opens a store whose state lives in this folder; opening twice gives the same state.
type Open = fn(&Path) -> Task<'_, Arc<dyn Store>>;

/// Each of these functions is a test of each of the backends.
macro_rules! contract {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::of_sqlite).await;
            })*
        }
        mod memory {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::of_memory).await;
            })*
        }
        /// One after the other: a server is started once.
        #[tokio::test(flavor = "multi_thread")]
        async fn postgres() {
            let Some(server) = servers::or_skip(servers::Postgres::start()) else { return };
            SERVER.set(Mutex::new(server)).ok().unwrap();
            $(
                eprintln!("over PostgreSQL: {}", stringify!($name));
                $name(of_postgres).await;
            )*
            SERVER.get().unwrap().lock().unwrap().end();
        }
    };
}

fn of_sqlite(folder: &Path) -> Task<'_, Arc<dyn Store>> {
    Box::pin(async move { super::open(&Home::at(folder).unwrap()).await })
}

fn of_memory(folder: &Path) -> Task<'_, Arc<dyn Store>> {
    Box::pin(async move { Ok(Memory::at(folder) as Arc<dyn Store>) })
}

/// Each folder is a machine and a database of its own.
fn of_postgres(folder: &Path) -> Task<'_, Arc<dyn Store>> {
    Box::pin(async move {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let address = SERVER.get().unwrap().lock().unwrap().database(name);
        let home = Home::at(folder).unwrap().with_store(Some(StoreAddress::new(&address)));
        super::open(&home).await
    })
}

static SERVER: OnceLock<Mutex<servers::Postgres>> = OnceLock::new();

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

contract![
    what_was_appended_is_there_when_opened_again_to_the_last_field,
    appending_the_same_again_changes_nothing,
    a_turn_of_a_thousand_events_is_one_turn,
    runs_do_not_see_each_other_and_the_newest_comes_first,
    a_run_that_is_not_there_cannot_be_claimed_or_appended_to,
    a_run_that_is_removed_is_gone_and_no_other_is,
    a_run_that_is_moved_keeps_its_log_and_its_claim,
    a_log_can_be_read_while_it_is_written,
    two_runs_on_one_store_do_not_disturb_each_other,
    an_append_in_flight_is_acknowledged_for_its_own_run,
    a_record_that_contradicts_the_log_is_a_conflict,
    a_second_writer_takes_the_run_over_and_the_first_writes_no_more,
    of_two_that_claim_at_once_one_writes,
    the_end_of_a_log_can_be_read_by_itself,
    what_is_only_written_is_part_of_the_log_for_every_reader,
    the_next_process_takes_over_what_was_only_written,
    every_outcome_of_an_attempt_can_be_appended,
];

fn paused(seq: u64) -> Record {
    record(seq, Event::RunPaused { by: None })
}

/// A run of one event, in a store that has made it.
async fn new_run(open: Open, folder: &Path) -> (RunLog, Record) {
    let store = open(folder).await.unwrap();
    let (new, first) = created(&run_id("r1"));
    (RunLog::create(&store, &new, &first).await.unwrap(), first)
}

async fn numbers(store: &dyn LogReader, id: &RunId) -> Vec<u64> {
    store.load(id, 0).await.unwrap().iter().map(|record| record.seq).collect()
}

async fn what_was_appended_is_there_when_opened_again_to_the_last_field(open: Open) {
    let dir = tempfile::tempdir().unwrap();
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
    let (log, first) = new_run(open, dir.path()).await;
    log.append(&rest).await.unwrap();
    drop(log);
    let store = open(dir.path()).await.unwrap();
    assert_eq!(store.load(&run_id("r1"), 0).await.unwrap(), [vec![first], rest].concat());
    let runs = store.runs().await.unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].status.as_str(), runs[0].tasks), ("running", 2));
}

async fn appending_the_same_again_changes_nothing(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = new_run(open, dir.path()).await;
    for _ in 0..3 {
        log.append(&[started(2), attempt_started(3, "a")]).await.unwrap();
    }
    log.append(&[attempt_started(3, "a"), paused(4)]).await.unwrap();
    assert_eq!(numbers(log.reader(), log.run()).await, [1, 2, 3, 4]);
}

async fn a_turn_of_a_thousand_events_is_one_turn(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = new_run(open, dir.path()).await;
    let many: Vec<Record> = (2..=1001).map(paused).collect();
    log.append(&many).await.unwrap();
    assert_eq!(log.load(0).await.unwrap().len(), 1001);
}

async fn runs_do_not_see_each_other_and_the_newest_comes_first(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await.unwrap();
    for (at, name) in [(1, "old"), (2, "new")] {
        let (new, mut first) = created(&run_id(name));
        first.at = Timestamp(at);
        store.create(&new, &first).await.unwrap();
    }
    let names: Vec<String> = store.runs().await.unwrap().iter().map(|run| run.id.to_string()).collect();
    assert_eq!(names, ["new", "old"]);
    assert_eq!(store.load(&run_id("old"), 0).await.unwrap().len(), 1);
    assert!(matches!(store.load(&run_id("none"), 0).await, Err(StoreError::NoSuchRun(_))));
}

async fn a_run_that_is_not_there_cannot_be_claimed_or_appended_to(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await.unwrap();
    let none = run_id("none");
    assert!(matches!(store.claim(&none).await, Err(StoreError::NoSuchRun(_))));
    let appended = store.append(&none, 1, Epoch(1), &[started(2)]).await;
    assert!(matches!(appended, Err(StoreError::NoSuchRun(_))));
    assert!(matches!(store.write(&none, Epoch(1), &[started(2)]), Err(StoreError::NoSuchRun(_))));
}

async fn a_run_that_is_removed_is_gone_and_no_other_is(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await.unwrap();
    for name in ["r1", "r2"] {
        let (new, first) = created(&run_id(name));
        let log = RunLog::create(&store, &new, &first).await.unwrap();
        log.append(&[started(2), attempt_started(3, "a")]).await.unwrap();
    }
    store.remove(&run_id("r1")).await.unwrap();
    store.remove(&run_id("never")).await.unwrap();
    let left: Vec<RunId> = store.runs().await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(left, [run_id("r2")]);
    assert!(matches!(store.load(&run_id("r1"), 0).await, Err(StoreError::NoSuchRun(_))));
    assert_eq!(store.load(&run_id("r2"), 0).await.unwrap().len(), 3);
    let (new, first) = created(&run_id("r1"));
    store.create(&new, &first).await.unwrap();
    assert_eq!(store.load(&run_id("r1"), 0).await.unwrap().len(), 1, "a new one of the name begins anew");
}

async fn a_run_that_is_moved_keeps_its_log_and_its_claim(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = (new_run(open, dir.path()).await.0, open(dir.path()).await.unwrap());
    log.append(&[started(2)]).await.unwrap();
    store.move_to(&run_id("r1"), Path::new("/elsewhere")).await.unwrap();
    log.append(&[attempt_started(3, "a")]).await.unwrap();
    let stored = store.runs().await.unwrap();
    assert_eq!(stored[0].directory, Path::new("/elsewhere"));
    assert_eq!(store.load(&run_id("r1"), 0).await.unwrap().len(), 3);
    let never = store.move_to(&run_id("never"), Path::new("/elsewhere")).await;
    assert!(matches!(never, Err(StoreError::NoSuchRun(_))));
}

/// A reader of a live run finds a whole log, however busy the writer is.
async fn a_log_can_be_read_while_it_is_written(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = new_run(open, dir.path()).await;
    let writer = tokio::spawn(async move {
        for seq in 2..=400 {
            log.append(&[paused(seq)]).await.unwrap();
        }
    });
    let reader = open(dir.path()).await.unwrap();
    let mut seen = 0;
    while !writer.is_finished() {
        let now = reader.load(&run_id("r1"), 0).await.unwrap().len();
        assert!(now >= seen, "{now} after {seen}");
        seen = now;
    }
    writer.await.unwrap();
    assert_eq!(reader.load(&run_id("r1"), 0).await.unwrap().len(), 400);
}

/// A12. A run is read, created and removed while another is written, as `run --watch` does when it learns from the past.
async fn two_runs_on_one_store_do_not_disturb_each_other(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await.unwrap();
    let mut logs = Vec::new();
    for name in ["one", "other"] {
        let (new, first) = created(&run_id(name));
        logs.push(RunLog::create(&store, &new, &first).await.unwrap());
    }
    for seq in 2..=20 {
        logs[0].append(&[paused(seq)]).await.unwrap();
        assert!(logs[1].load(0).await.is_ok());
        if seq % 5 == 0 {
            logs[1].append(&[paused(seq / 5 + 1)]).await.unwrap();
        }
    }
    store.remove(&run_id("never")).await.unwrap();
    let again = open(dir.path()).await.unwrap();
    for reader in [&store, &again] {
        let length = async |name: &str| reader.load(&run_id(name), 0).await.unwrap().len();
        assert_eq!((length("one").await, length("other").await), (20, 5));
    }
}

/// A12, where an append is in flight while another run is read: what is acknowledged is noted for the run it is of.
async fn an_append_in_flight_is_acknowledged_for_its_own_run(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = new_run(open, dir.path()).await;
    let (new, first) = created(&run_id("other"));
    let other = RunLog::create(log.store(), &new, &first).await.unwrap();
    for seq in 2..=50 {
        let records = [paused(seq)];
        let (appended, read) = tokio::join!(log.append(&records), other.load(0));
        appended.unwrap();
        assert_eq!(read.unwrap().len(), 1);
    }
    assert_eq!((log.load(0).await.unwrap().len(), other.load(0).await.unwrap().len()), (50, 1));
}

/// A log is lengthened only at its end: one that has grown meanwhile is not written over, and says so.
async fn a_record_that_contradicts_the_log_is_a_conflict(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (first_store, second_store) = (open(dir.path()).await.unwrap(), open(dir.path()).await.unwrap());
    let id = run_id("r1");
    let (new, first) = created(&id);
    let epoch = first_store.create(&new, &first).await.unwrap();
    let is_conflict = |appended: Result<(), StoreError>| {
        let error = appended.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    };
    second_store.append(&id, 1, epoch, &[started(2)]).await.unwrap();
    is_conflict(first_store.append(&id, 1, epoch, &[paused(2)]).await);
    is_conflict(first_store.append(&id, 3, epoch, &[paused(4)]).await);
    is_conflict(first_store.append(&id, 2, epoch, &[paused(4)]).await);
    is_conflict(first_store.append(&id, 1, epoch, &[started(2), paused(4)]).await);
    // The same record once more is no contradiction, whichever process wrote it.
    first_store.append(&id, 1, epoch, &[started(2), attempt_started(3, "a")]).await.unwrap();
    is_conflict(second_store.append(&id, 1, epoch, &[paused(2), attempt_started(3, "a"), paused(4)]).await);
    assert_eq!(numbers(&*second_store, &id).await, [1, 2, 3]);
}

async fn a_second_writer_takes_the_run_over_and_the_first_writes_no_more(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (first, _) = new_run(open, dir.path()).await;
    first.append(&[started(2)]).await.unwrap();
    let second = RunLog::claim(&open(dir.path()).await.unwrap(), first.run()).await.unwrap();
    let is_refused = |done: Result<(), StoreError>| {
        let error = done.unwrap_err();
        assert!(matches!(error, StoreError::TakenOver { .. }), "{error}");
    };
    is_refused(first.append(&[paused(3)]).await);
    second.append(&[attempt_started(3, "a")]).await.unwrap();
    is_refused(first.append(&[paused(4)]).await);
    is_refused(first.append(&[attempt_started(3, "a")]).await);
    second.append(&[paused(4)]).await.unwrap();
    assert_eq!(numbers(first.reader(), first.run()).await, [1, 2, 3, 4]);
    // Claimed through the same store, the older claim is refused too.
    let third = RunLog::claim(second.store(), first.run()).await.unwrap();
    is_refused(second.write(&[paused(5)]));
    is_refused(second.append(&[paused(5)]).await);
    third.write(&[paused(5)]).unwrap();
    third.append(&[paused(5)]).await.unwrap();
    assert_eq!(third.load(3).await.unwrap(), [paused(4), paused(5)]);
}

async fn of_two_that_claim_at_once_one_writes(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (made, _) = new_run(open, dir.path()).await;
    made.append(&[started(2)]).await.unwrap();
    let claims = async |folder: &Path| {
        let store = open(folder).await.unwrap();
        RunLog::claim(&store, &run_id("r1")).await.unwrap()
    };
    let (one, other) = tokio::join!(claims(dir.path()), claims(dir.path()));
    let (records, others) = ([attempt_started(3, "a")], [paused(3)]);
    let (wrote, wrote_too) = tokio::join!(one.append(&records), other.append(&others));
    assert!(wrote.is_ok() != wrote_too.is_ok(), "{wrote:?} {wrote_too:?}");
    assert_eq!(numbers(one.reader(), one.run()).await, [1, 2, 3]);
}

async fn the_end_of_a_log_can_be_read_by_itself(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (log, first) = new_run(open, dir.path()).await;
    log.append(&[started(2), paused(3)]).await.unwrap();
    log.write(&[paused(4), paused(5)]).unwrap();
    let all = [first, started(2), paused(3), paused(4), paused(5)];
    let reader = open(dir.path()).await.unwrap();
    for after in 0..=5 {
        assert_eq!(reader.load(log.run(), after as u64).await.unwrap(), all[after..], "after {after}");
    }
}

async fn what_is_only_written_is_part_of_the_log_for_every_reader(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = new_run(open, dir.path()).await;
    log.write(&[started(2)]).unwrap();
    log.write(&[attempt_started(3, "a"), paused(4)]).unwrap();
    let other = open(dir.path()).await.unwrap();
    assert_eq!(other.load(log.run(), 1).await.unwrap(), [started(2), attempt_started(3, "a"), paused(4)]);
    log.append(&[started(2), attempt_started(3, "a")]).await.unwrap();
    assert_eq!(numbers(&*other, log.run()).await, [1, 2, 3, 4], "half of it is stored twice and told once");
    log.append(&[paused(4), paused(5)]).await.unwrap();
    assert_eq!(numbers(log.reader(), log.run()).await, [1, 2, 3, 4, 5]);
}

async fn the_next_process_takes_over_what_was_only_written(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = new_run(open, dir.path()).await;
    log.append(&[started(2)]).await.unwrap();
    log.write(&[attempt_started(3, "a"), paused(4)]).unwrap();
    let next = RunLog::claim(&open(dir.path()).await.unwrap(), log.run()).await.unwrap();
    drop(log);
    next.write(&[paused(5)]).unwrap();
    next.append(&[paused(5), paused(6)]).await.unwrap();
    let reader = open(dir.path()).await.unwrap();
    assert_eq!(numbers(&*reader, next.run()).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(reader.runs().await.unwrap()[0].status, "running", "what it says of the run is known too");
}

/// Every way an attempt can end is kept, also one that has no place in what estimates are learned from.
async fn every_outcome_of_an_attempt_can_be_appended(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = new_run(open, dir.path()).await;
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
        log.append(&[record(seq, ended)]).await.unwrap();
    }
    assert_eq!(log.load(0).await.unwrap().len(), 6);
}
