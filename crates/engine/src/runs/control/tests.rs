use std::fs;
use std::sync::{Arc, Mutex};

use conductor_core::run::event::Event;
use conductor_core::schedule::{Refusal, Request};
use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Tick, Timestamp};
use tokio::sync::mpsc;

use super::*;
use crate::dispatch::{Control, Listed, Message, Query, View};
use crate::stores::bus::{Bus, Records};

#[test]
fn a_long_path_is_no_hindrance() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("d".repeat(200));
    fs::create_dir(&deep).unwrap();
    assert!(matches!(ask(&deep, &Request::Pause), Err(ControlError::NotThere)));
    let _listener = std::os::unix::net::UnixListener::bind(&Address::of(&deep).unwrap().path).unwrap();
    assert!(deep.join(NAME).exists());
    std::os::unix::net::UnixStream::connect(&Address::of(&deep).unwrap().path).unwrap();
}

/// A coordinator that refuses to resume, lists no task, and publishes what it is given.
fn coordinator(directory: &Path) -> (ControlServer, Arc<Mutex<Bus>>) {
    let bus = Arc::new(Mutex::new(Bus::new(7)));
    let (sender, mut messages) = mpsc::unbounded_channel();
    let server = ControlServer::open(directory, Control::new(sender)).unwrap();
    let followed = bus.clone();
    tokio::spawn(async move {
        let tasks: Arc<[Listed]> = Arc::default();
        while let Some(message) = messages.recv().await {
            match message {
                Message::Asked(Request::Continue, waits) => {
                    let _ = waits.send(Err(Refusal::NotPossible("it is not paused".to_owned())));
                }
                Message::Asked(_, waits) => drop(waits.send(Ok(()))),
                Message::Look(_, waits) => drop(waits.send(Ok(View::Tasks(tasks.clone())))),
                Message::Follow(waits) => drop(waits.send((7, followed.lock().unwrap().subscribe()))),
                _ => {}
            }
        }
    });
    (server, bus)
}

fn batch(after: u64, length: u64) -> Records {
    let record = |seq| Record { seq, at: Timestamp(5), tick: Tick(6), event: Event::RunPaused { by: None } };
    (after + 1..=after + length).map(record).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_clients_ask_look_and_follow_alike() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(async_client::ask(dir.path(), &Request::Pause).await, Err(ControlError::NotThere)));
    let (server, bus) = coordinator(dir.path());
    let (blocking, folder) = (|| dir.path().to_owned(), dir.path());
    let asked = blocking();
    let refused = tokio::task::spawn_blocking(move || {
        ask(&asked, &Request::Pause).unwrap();
        ask(&asked, &Request::Continue).unwrap_err().to_string()
    });
    async_client::ask(folder, &Request::Pause).await.unwrap();
    let other = async_client::ask(folder, &Request::Continue).await.unwrap_err().to_string();
    assert_eq!(refused.await.unwrap(), other);
    let looked = blocking();
    let seen = tokio::task::spawn_blocking(move || look(&looked, Query::Tasks).unwrap());
    assert_eq!(async_client::look(folder, Query::Tasks).await.unwrap(), seen.await.unwrap());
    let followed = blocking();
    let (seq, mut following) = async_client::follow(folder).await.unwrap();
    let other = tokio::task::spawn_blocking(move || follow(&followed).unwrap()).await.unwrap();
    assert_eq!((seq, other.0), (7, 7));
    bus.lock().unwrap().publish(&batch(7, 3));
    drop((server, bus));
    let mut told = Vec::new();
    while let Some(followed) = following.next().await {
        told.push(followed.unwrap());
    }
    let blocked = tokio::task::spawn_blocking(move || other.1.map(Result::unwrap).collect::<Vec<_>>());
    assert_eq!(told, blocked.await.unwrap());
    let all: Vec<Followed> = batch(7, 3).iter().cloned().map(Box::new).map(Followed::Record).collect();
    assert_eq!(told, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_of_a_run_that_is_just_being_taken_up_reaches_it() {
    let dir = tempfile::tempdir().unwrap();
    let home = home::Home::at(dir.path()).unwrap();
    let run = RunId::parse("abc").unwrap();
    let claim = home.claim(&run).unwrap();
    let folder = home.run(&run);
    // A coordinator that was killed leaves its socket.
    drop(std::os::unix::net::UnixListener::bind(&Address::of(&folder).unwrap().path).unwrap());
    let directory = folder.clone();
    let blocking = tokio::task::spawn_blocking(move || ask(&directory, &Request::Pause));
    let directory = folder.clone();
    let other = tokio::spawn(async move { async_client::ask(&directory, &Request::Pause).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!blocking.is_finished() && !other.is_finished(), "nothing listens yet");
    let (server, _bus) = coordinator(&folder);
    blocking.await.unwrap().unwrap();
    other.await.unwrap().unwrap();
    drop((server, claim));
    assert!(matches!(async_client::ask(&folder, &Request::Pause).await, Err(ControlError::NotThere)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_follower_is_cut_off_and_told_from_where_on() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, bus) = coordinator(dir.path());
    let (_, mut slow) = async_client::follow(dir.path()).await.unwrap();
    let (_, mut quick) = async_client::follow(dir.path()).await.unwrap();
    for turn in 0..1_000 {
        bus.lock().unwrap().publish(&batch(7 + turn * 100, 100));
        for seq in 8 + turn * 100..=107 + turn * 100 {
            let Some(Ok(Followed::Record(record))) = quick.next().await else { panic!("{seq} is missing") };
            assert_eq!(record.seq, seq);
        }
    }
    let mut last = 7;
    let missed = loop {
        match slow.next().await.unwrap().unwrap() {
            Followed::Record(record) => {
                assert_eq!(record.seq, last + 1);
                last = record.seq;
            }
            Followed::Missed { after } => break after,
        }
    };
    assert!(missed == last && last < 100_007, "{missed} {last}");
    assert!(slow.next().await.is_none());
    let (_, mut again) = async_client::follow(dir.path()).await.unwrap();
    bus.lock().unwrap().publish(&batch(100_007, 1));
    let Some(Ok(Followed::Record(record))) = again.next().await else { panic!("nothing comes") };
    assert_eq!(record.seq, 100_008);
}

#[tokio::test]
async fn one_that_says_nothing_is_not_waited_for_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&Address::of(dir.path()).unwrap().path).unwrap();
    let asked = async_client::send(dir.path(), b"\"follow\"\n", Duration::from_millis(50)).await;
    assert!(matches!(asked, Err(ControlError::Silent)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_who_look_at_once_are_all_answered() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, _bus) = coordinator(dir.path());
    let looks = (0..1_000).map(|_| {
        let folder = dir.path().to_owned();
        tokio::spawn(async move { async_client::look(&folder, Query::Tasks).await.unwrap() })
    });
    for look in looks.collect::<Vec<_>>() {
        assert_eq!(look.await.unwrap(), View::Tasks(Arc::default()));
    }
}
