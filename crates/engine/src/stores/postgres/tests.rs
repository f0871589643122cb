//! What is special about a store that machines share: whose a run is, and what a server may do to it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conductor_core::run::Run;
use conductor_core::run::event::{Event, Options, RunOutcome};
use conductor_core::values::units::{Tick, Timestamp};
use conductor_testkit::servers;
use tempfile::TempDir;
use tokio::sync::watch;

use super::requests::{Answered, Requests};
use super::*;
use crate::host::home::StoreAddress;
use crate::stores::{self, RunLog};

/// Longer than it is looked for what is asked.
const SLOW: Duration = Duration::from_millis(700);

fn id() -> RunId {
    RunId::parse("r1").unwrap()
}

fn at(seq: u64, event: Event) -> Record {
    Record { seq, at: Timestamp(1_000), tick: Tick(seq), event }
}

fn paused(seq: u64) -> Record {
    at(seq, Event::RunPaused { by: None })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// State directories that share a database of one server: as many machines.
struct Machines {
    server: servers::Postgres,
    folders: Vec<TempDir>,
    database: &'static str,
}

impl Machines {
    fn sharing(server: servers::Postgres, database: &'static str) -> Machines {
        server.database(database);
        let folders = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
        Machines { server, folders, database }
    }

    fn home(&self, machine: usize) -> Home {
        let address = StoreAddress::new(&self.server.address(self.database));
        Home::at(self.folders[machine].path()).unwrap().with_store(Some(address))
    }

    async fn open(&self, machine: usize) -> Arc<dyn Store> {
        stores::open(&self.home(machine)).await.unwrap()
    }

    /// A run that this machine has made and begun.
    async fn begun(&self, machine: usize) -> RunLog {
        let (_, first) = Run::create(Default::default(), Default::default());
        let new = NewRun { id: id(), directory: "/".into(), source: String::new(), tasks: 0 };
        let log = RunLog::create(&self.open(machine).await, &new, &first).await.unwrap();
        let started = Event::RunStarted { options: Box::new(Options::with_slots(2)) };
        log.append(&[at(2, started)]).await.unwrap();
        log
    }

    /// As if nothing had been heard of the machine that drives the run for as long as a claim holds.
    fn lapse(&self) {
        let lapse = "UPDATE conductor.leaders SET until = clock_timestamp() - interval '1 millisecond'";
        assert_eq!(self.server.query(self.database, lapse), "UPDATE 1");
    }

    async fn numbers(&self, machine: usize) -> Vec<u64> {
        let reader = stores::open_to_look(&self.home(machine)).await.unwrap();
        reader.load(&id(), 0).await.unwrap().iter().map(|record| record.seq).collect()
    }

    async fn holder(&self, machine: usize) -> Option<String> {
        let reader = stores::open_to_look(&self.home(machine)).await.unwrap();
        reader.runs().await.unwrap()[0].holder().map(str::to_owned)
    }
}

/// One after the other: a server is started once.
#[tokio::test(flavor = "multi_thread")]
async fn on_a_real_server() {
    let Some(server) = servers::or_skip(servers::Postgres::start()) else { return };
    let server = a_run_is_one_machines_until_nothing_is_heard_of_it(server).await;
    let server = what_another_machine_had_only_written_is_not_read_into_the_log(server).await;
    let server = a_run_that_is_over_is_held_by_none(server).await;
    let server = what_is_read_by_a_runtime_that_ends_leaves_no_connection(server).await;
    let server = what_is_asked_of_another_machines_run_is_answered_once(server).await;
    let server = a_server_that_was_set_back_is_found_out(server).await;
    let server = a_server_of_a_newer_form_is_refused_and_before_the_first_run_there_is_nothing(server).await;
    let server = a_store_that_goes_away_comes_back(server).await;
    a_server_that_does_not_write_to_its_disk_is_refused(server).await;
}

/// As one does that follows a run and has fallen behind: two at once, so that one needs a connection more.
async fn what_is_read_by_a_runtime_that_ends_leaves_no_connection(
    server: servers::Postgres,
) -> servers::Postgres {
    let machines = Machines::sharing(server, "runtimes");
    let log = machines.begun(0).await;
    let reading = log.clone();
    let read = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let both = async { tokio::join!(reading.load(0), reading.load(0)) };
        let (one, other) = runtime.block_on(both);
        (one.unwrap().len(), other.unwrap().len())
    });
    let read = tokio::task::spawn_blocking(move || read.join().unwrap()).await.unwrap();
    assert_eq!(read, (2, 2));
    let (one, other) = tokio::join!(log.load(0), log.load(0));
    assert_eq!((one.unwrap().len(), other.unwrap().len()), (2, 2), "no connection was one of that runtime");
    log.append(&[paused(3)]).await.unwrap();
    machines.server
}

/// Figures for docs/distribution.md.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn appends_to_postgresql() {
    let Some(server) = servers::or_skip(servers::Postgres::start()) else { return };
    let machines = Machines::sharing(server, "measured");
    let log = machines.begun(0).await;
    let mut seq = 2;
    for (many, times) in [(1, 300), (10, 300), (100, 200), (1_000, 50)] {
        let mut took = Vec::new();
        for _ in 0..times {
            let records: Vec<Record> = (1..=many).map(|more| paused(seq + more)).collect();
            let begun = std::time::Instant::now();
            log.append(&records).await.unwrap();
            took.push(begun.elapsed());
            seq += many;
        }
        let (all, events) = (took.iter().sum::<Duration>(), many * times);
        took.sort();
        let rate = events as f64 / all.as_secs_f64();
        let at = |part: usize| took[took.len() * part / 100];
        eprintln!(
            "{many} events at once: {rate:.0} events/s; half within {:.2?}, 99 of 100 within {:.2?}",
            at(50),
            at(99)
        );
    }
}

/// As a coordinator does it: each append has what came while the last one was under way.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn figures_of_appends_to_postgresql() {
    const OFFERED: f64 = 20_000.0;
    const MOST: u64 = 1_000;
    let Some(server) = servers::or_skip(servers::Postgres::start()) else { return };
    let machines = Machines::sharing(server, "grouped");
    let log = machines.begun(0).await;
    let (begun, mut done) = (std::time::Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(5) {
        let come = (begun.elapsed().as_secs_f64() * OFFERED) as u64;
        let many = come.saturating_sub(done).min(MOST);
        if many == 0 {
            tokio::task::yield_now().await;
            continue;
        }
        let records: Vec<Record> = (1..=many).map(|more| paused(2 + done + more)).collect();
        log.append(&records).await.unwrap();
        done += many;
    }
    servers::figure("postgresql.events_per_s", done as f64 / begun.elapsed().as_secs_f64());
}

async fn a_run_is_one_machines_until_nothing_is_heard_of_it(server: servers::Postgres) -> servers::Postgres {
    let machines = Machines::sharing(server, "held");
    let log = machines.begun(0).await;
    let other = machines.open(1).await;
    let refused = other.claim(&id()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Held { .. }), "{refused}");
    assert!(machines.holder(1).await.is_some(), "the other machine sees that it is held");
    assert_eq!(machines.holder(0).await, None, "to its own machine the lock on the folder says it");
    log.append(&[paused(3)]).await.unwrap();
    // On the machine itself the lock on the run's folder comes first: who has that may claim at once.
    let again = RunLog::claim(&machines.open(0).await, &id()).await.unwrap();
    again.append(&[paused(4)]).await.unwrap();
    machines.lapse();
    let taken = RunLog::claim(&other, &id()).await.unwrap();
    taken.append(&[paused(5)]).await.unwrap();
    let late = again.append(&[paused(5)]).await.unwrap_err();
    assert!(matches!(late, StoreError::TakenOver { .. }), "{late}");
    assert_eq!(machines.numbers(0).await, [1, 2, 3, 4, 5]);
    machines.server
}

/// The file that the first machine leaves says something else than the log that the second has gone on writing.
async fn what_another_machine_had_only_written_is_not_read_into_the_log(
    server: servers::Postgres,
) -> servers::Postgres {
    let machines = Machines::sharing(server, "written");
    let log = machines.begun(0).await;
    log.write(&[paused(3), paused(4), paused(5)]).unwrap();
    assert_eq!(machines.numbers(0).await, [1, 2, 3, 4, 5]);
    assert_eq!(machines.numbers(1).await, [1, 2], "it is on the first machine alone");
    machines.lapse();
    let taken = RunLog::claim(&machines.open(1).await, &id()).await.unwrap();
    assert_eq!(machines.numbers(0).await, [1, 2], "and no part of the log from the moment another claims it");
    let later = Record { at: Timestamp(2_000), ..paused(3) };
    taken.append(std::slice::from_ref(&later)).await.unwrap();
    let reader = stores::open_to_look(&machines.home(0)).await.unwrap();
    assert_eq!(reader.load(&id(), 2).await.unwrap(), [later]);
    machines.server
}

async fn a_run_that_is_over_is_held_by_none(server: servers::Postgres) -> servers::Postgres {
    let machines = Machines::sharing(server, "over");
    let log = machines.begun(0).await;
    log.write(&[paused(3)]).unwrap();
    let outcome = RunOutcome::Completed;
    log.append(&[paused(3), at(4, Event::RunFinished { outcome })]).await.unwrap();
    let left = names(&machines.home(0).run(&id()));
    assert!(!left.iter().any(|name| name.starts_with("journal")), "{left:?}");
    assert_eq!(machines.holder(1).await, None);
    let taken = RunLog::claim(&machines.open(1).await, &id()).await.unwrap();
    taken.append(&[paused(5)]).await.unwrap();
    let runs = machines.open(0).await.runs().await.unwrap();
    assert_eq!((runs[0].status.as_str(), runs[0].shared.as_ref().unwrap().events), ("completed", 5));
    machines.server
}

async fn what_is_asked_of_another_machines_run_is_answered_once(
    server: servers::Postgres,
) -> servers::Postgres {
    let machines = Machines::sharing(server, "asked");
    let _log = machines.begun(0).await;
    let open = async |machine: usize| Requests::open(&machines.home(machine)).await.unwrap().unwrap();
    let (done, asker) = (Arc::new(AtomicUsize::new(0)), open(1).await);
    let counted = done.clone();
    let (over, told) = watch::channel(false);
    let driver = open(0).await;
    let serving = tokio::spawn(async move {
        let answering = |line| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(if line == "slow" { SLOW } else { Duration::ZERO }).await;
                format!("{line}!")
            }
        };
        driver.serve(&id(), told, answering).await;
    });
    for number in 0..20 {
        let asked = asker.ask(&id(), &number.to_string()).await.unwrap();
        assert!(matches!(asked, Answered::Line(line) if line == format!("{number}!")));
    }
    assert_eq!(done.load(Ordering::Relaxed), 20);
    let ending = async {
        while done.load(Ordering::Relaxed) == 20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        over.send_replace(true);
        serving.await.unwrap();
    };
    let run = id();
    let (last, ()) = tokio::join!(asker.ask(&run, "slow"), ending);
    assert!(matches!(last.unwrap(), Answered::Line(line) if line == "slow!"), "who has asked is answered");
    let own = open(0).await.ask(&id(), "of itself").await.unwrap();
    assert!(matches!(own, Answered::Undriven), "its own machine has the control socket");
    let lapsing = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        machines.lapse();
    };
    let (late, ()) = tokio::join!(asker.ask(&run, "as it is left"), lapsing);
    assert!(matches!(late.unwrap(), Answered::Undriven), "its driver will not take it any more");
    assert!(matches!(asker.ask(&id(), "late").await.unwrap(), Answered::Undriven));
    assert_eq!(machines.server.query("asked", "SELECT count(*) FROM conductor.requests"), "0");
    machines.server
}

async fn a_server_that_was_set_back_is_found_out(server: servers::Postgres) -> servers::Postgres {
    let machines = Machines::sharing(server, "back");
    machines.begun(0).await.append(&[paused(3), paused(4)]).await.unwrap();
    let back = "DELETE FROM conductor.events WHERE seq > 2";
    machines.server.query("back", back);
    let store = machines.open(0).await;
    for error in [store.load(&id(), 0).await.unwrap_err(), store.claim(&id()).await.unwrap_err()] {
        assert!(error.to_string().contains("ends at event 2, but 4 had been written"), "{error}");
    }
    machines.server.query("back", "UPDATE conductor.events SET body = replace(body, 'run_', 'ruin_')");
    let error = machines.open(1).await.load(&id(), 0).await.unwrap_err().to_string();
    assert!(error.contains("does not match its checksum"), "{error}");
    machines.server
}

async fn a_server_of_a_newer_form_is_refused_and_before_the_first_run_there_is_nothing(
    server: servers::Postgres,
) -> servers::Postgres {
    let machines = Machines::sharing(server, "form");
    let reader = stores::open_to_look(&machines.home(0)).await.unwrap();
    assert!(reader.runs().await.unwrap().is_empty());
    assert_eq!(machines.server.query("form", "SELECT to_regnamespace('conductor') IS NULL"), "t");
    let (one, other) = tokio::join!(machines.open(0), machines.open(1));
    assert!(one.runs().await.unwrap().is_empty() && other.runs().await.unwrap().is_empty());
    let newer = "INSERT INTO conductor._sqlx_migrations VALUES (99, 'x', now(), true, '', 0)";
    machines.server.query("form", newer);
    for error in [
        stores::open(&machines.home(0)).await.err().unwrap(),
        stores::open_to_look(&machines.home(0)).await.err().unwrap(),
    ] {
        assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    }
    machines.server
}

/// F: the server is restarted under a run. Nothing is lost, and the same call succeeds when it is back.
async fn a_store_that_goes_away_comes_back(server: servers::Postgres) -> servers::Postgres {
    let mut machines = Machines::sharing(server, "away");
    let log = machines.begun(0).await;
    for seq in 3..6 {
        machines.server.end();
        let away = log.append(&[paused(seq)]).await.unwrap_err();
        assert!(matches!(away, StoreError::Unavailable { .. }), "{away}");
        log.write(&[paused(seq)]).unwrap();
        machines.server.begin().unwrap();
        let records = [paused(seq)];
        stores::patiently(|| log.append(&records), |_| {}).await.unwrap();
    }
    assert_eq!(machines.numbers(1).await, [1, 2, 3, 4, 5]);
    machines.server
}

async fn a_server_that_does_not_write_to_its_disk_is_refused(server: servers::Postgres) {
    let mut machines = Machines::sharing(server, "careless");
    machines.server.query("careless", "ALTER SYSTEM SET fsync = off");
    machines.server.end();
    machines.server.begin().unwrap();
    let error = stores::open(&machines.home(0)).await.err().unwrap().to_string();
    assert!(error.contains("fsync = off"), "{error}");
    assert!(!error.contains("host="), "{error}");
}
