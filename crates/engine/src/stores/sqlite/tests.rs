//! What is special about this store: its files, and what damages them.

use std::path::Path;
use std::sync::Arc;

use conductor_core::run::Run;
use conductor_core::run::event::{Event, Options, RunOutcome};
use conductor_core::values::units::{Tick, Timestamp};

use super::*;
use crate::stores::{self, RunLog};

/// A log written by the first version, checked in; it must load for ever.
const OLD: &str = include_str!("../../../tests/fixtures/log-v1.jsonl");

#[tokio::test]
async fn the_sqlite_inside_has_no_wal_reset_bug() {
    let version = sqlite_version().await.unwrap();
    let numbers: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert!(numbers >= vec![3, 51, 3], "{version}");
}

#[test]
fn the_first_versions_log_still_loads() {
    let records: Vec<Record> = OLD
        .lines()
        .enumerate()
        .map(|(at, line)| Record {
            seq: at as u64 + 1,
            at: Timestamp(0),
            tick: Tick(0),
            event: serde_json::from_str(line).unwrap(),
        })
        .collect();
    let run = Run::replay(&records).unwrap();
    assert_eq!(records.len(), OLD.lines().count());
    assert!(run.all_ended());
}

#[tokio::test]
async fn a_log_that_lost_its_end_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path()).unwrap();
    let id = RunId::parse("r1").unwrap();
    let (_, first) = Run::create(Default::default(), Default::default());
    let new = NewRun { id: id.clone(), directory: "/".into(), source: String::new(), tasks: 0 };
    let store = Sqlite::open(&home).await.unwrap();
    store.create(&new, &first).await.unwrap();
    std::fs::write(home.run(&id).join("head"), 7u64.to_le_bytes()).unwrap();
    let error = store.load(&id, 0).await.unwrap_err().to_string();
    assert!(error.contains("ends at event 1, but 7 had been written"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path()).unwrap();
    let bytes = vec![b'x'; 5000];
    std::fs::write(home.database(), &bytes).unwrap();
    let error = Sqlite::open(&home).await.err().unwrap();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(std::fs::read(home.database()).unwrap(), bytes);
}

fn at(seq: u64, event: Event) -> Record {
    Record { seq, at: Timestamp(1_000), tick: Tick(seq), event }
}

fn paused(seq: u64) -> Record {
    at(seq, Event::RunPaused { by: None })
}

fn started(seq: u64) -> Record {
    at(seq, Event::RunStarted { options: Box::new(Options::with_slots(2)) })
}

async fn open(folder: &Path) -> Arc<dyn Store> {
    stores::open(&Home::at(folder).unwrap()).await.unwrap()
}

/// A run of one event, in a store that has made it.
async fn new_run(folder: &Path) -> (RunLog, RunId) {
    let id = RunId::parse("r1").unwrap();
    let (_, first) = Run::create(Default::default(), Default::default());
    let new = NewRun { id: id.clone(), directory: "/".into(), source: String::new(), tasks: 0 };
    (RunLog::create(&open(folder).await, &new, &first).await.unwrap(), id)
}

async fn numbers(store: &dyn LogReader, id: &RunId) -> Vec<u64> {
    store.load(id, 0).await.unwrap().iter().map(|record| record.seq).collect()
}

#[tokio::test]
async fn what_a_power_cut_left_of_the_journal_ends_at_the_first_line_that_is_not_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (log, id) = new_run(dir.path()).await;
    log.append(&[started(2)]).await.unwrap();
    for seq in [3, 4, 5] {
        log.write(&[paused(seq)]).unwrap();
    }
    drop(log);
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
        assert_eq!(numbers(&*store, &id).await.len(), left, "{damage}");
    }
    let log = RunLog::claim(&open(dir.path()).await, &id).await.unwrap();
    log.append(&[paused(3)]).await.unwrap();
    log.write(&[paused(4)]).unwrap();
    assert_eq!(numbers(&*open(dir.path()).await, &id).await, [1, 2, 3, 4], "and the run goes on");
    log.write(&[paused(5), paused(6)]).unwrap();
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 9]).unwrap();
    assert_eq!(
        numbers(&*open(dir.path()).await, &id).await,
        [1, 2, 3, 4],
        "of a turn there is all or nothing"
    );
}

#[tokio::test]
async fn a_journal_begins_anew_when_it_is_long_and_goes_with_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let (log, id) = new_run(dir.path()).await;
    let journal = Home::at(dir.path()).unwrap().run(&id).join("journal");
    let length = || std::fs::metadata(&journal).map_or(0, |journal| journal.len());
    let mut longest = 0;
    for batch in 0..40_u64 {
        let records: Vec<Record> = (0..200).map(|at| paused(2 + batch * 200 + at)).collect();
        records.chunks(50).for_each(|some| log.write(some).unwrap());
        longest = longest.max(length());
        log.append(&records).await.unwrap();
    }
    assert!(longest > 0 && longest < 300 << 10, "{longest}");
    assert_eq!(numbers(&*open(dir.path()).await, &id).await.len(), 8_001);
    let outcome = RunOutcome::Completed;
    log.append(&[at(8_002, Event::RunFinished { outcome })]).await.unwrap();
    assert!(!journal.exists(), "a run that is over has none");
}

/// Whatever the form of the file, and while another process writes to it.
#[tokio::test]
async fn looking_changes_no_file_and_waits_for_no_lock() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path()).unwrap();
    let (log, id) = new_run(dir.path()).await;
    log.append(&[started(2)]).await.unwrap();
    log.write(&[paused(3)]).unwrap();
    let mut other = connect(&home.database(), Mode::Write).await.unwrap();
    let older = "ALTER TABLE runs DROP COLUMN epoch; DELETE FROM _sqlx_migrations WHERE version = 3";
    sqlx::raw_sql(older).execute(&mut other).await.unwrap();
    statements::begin(&mut other).await.unwrap();
    let files = || {
        let names = ["conductor.db", "conductor.db-wal", "runs/r1/head", "runs/r1/journal"];
        names.map(|name| std::fs::read(dir.path().join(name)).unwrap())
    };
    let before = files();
    let reader = stores::open_to_look(&home).await.unwrap();
    assert_eq!(reader.runs().await.unwrap().len(), 1);
    assert_eq!(numbers(&*reader, &id).await, [1, 2, 3]);
    drop(reader);
    assert!(files() == before);
}

#[tokio::test]
async fn before_the_first_run_there_is_nothing_to_look_at_and_nothing_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path()).unwrap();
    let reader = stores::open_to_look(&home).await.unwrap();
    assert!(reader.runs().await.unwrap().is_empty());
    assert!(matches!(reader.load(&RunId::parse("r1").unwrap(), 0).await, Err(StoreError::NoSuchRun(_))));
    assert!(!home.database().exists());
}

/// As databases hold them that were made when sqlx's macro read the folder.
#[tokio::test]
async fn the_steps_of_the_form_are_what_they_have_always_been() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).await);
    let home = Home::at(dir.path()).unwrap();
    let mut connection = connect(&home.database(), Mode::Read).await.unwrap();
    let steps: Vec<(i64, String, String)> =
        sqlx::query_as("SELECT version, description, hex(checksum) FROM _sqlx_migrations ORDER BY version")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    insta::assert_debug_snapshot!(steps);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let named = steps.iter().map(|(version, name, _)| format!("{version:04}_{}.sql", name.replace(' ', "_")));
    assert!(named.eq(files), "each file of the folder is a step");
}
