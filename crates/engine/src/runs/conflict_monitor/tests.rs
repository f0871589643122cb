use std::fs;
use std::path::Path;

use conductor_core::values::ids::RunId;
use tokio::sync::mpsc::unbounded_channel;

use super::*;
use crate::dispatch::Message;
use crate::git::Repository;
use crate::git::users_git::{commit_all, init};
use crate::git::workspaces::Layout;

/// Watches a new repository with one file, `repo` in this folder.
pub(crate) fn monitor(folder: &Path) -> Arc<ConflictMonitor> {
    let repo = folder.join("repo");
    fs::create_dir(&repo).unwrap();
    init(&repo);
    fs::write(repo.join("f.txt"), "one\n").unwrap();
    commit_all(&repo, "start");
    let (repository, run) = (Repository::of(&repo).unwrap(), RunId::parse("r1").unwrap());
    let layout = Layout::new(&folder.join("state"), &run, &repository, &repo, None);
    let run_repo = Arc::new(RunRepo::open(repository, &run, layout, Vec::new(), None).unwrap());
    Arc::new(ConflictMonitor::new(run_repo, AtWork::default(), Vec::new()))
}

/// Until a look has made the changed file a part of its baseline.
fn until_seen(conflict_monitor: &ConflictMonitor, first: Option<&Glimpse>) {
    let begun = Instant::now();
    while conflict_monitor.before.lock().unwrap().as_ref() == first {
        assert!(begun.elapsed() < Duration::from_secs(60), "no look was taken");
        std::thread::yield_now();
    }
}

/// A look that has seen the change is held up in its second half when the run ends.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_look_under_way_has_seen_is_heard_when_the_run_ends() {
    let folder = tempfile::tempdir().unwrap();
    let conflict_monitor = monitor(&folder.path().canonicalize().unwrap());
    let (reports, mut heard) = unbounded_channel();
    let (notices, _) = unbounded_channel();
    let first = conflict_monitor.before.lock().unwrap().clone();
    let held = conflict_monitor.known.lock().unwrap();
    fs::write(folder.path().join("repo/f.txt"), "another\n").unwrap();
    let looking = Looking::begin(conflict_monitor.clone(), Duration::ZERO, reports, notices);
    until_seen(&conflict_monitor, first.as_ref());
    looking.stop();
    assert!(heard.try_recv().is_err(), "the look is under way");
    drop(held);
    looking.ended().await;
    let Ok(Message::Input(Input::CheckoutTouched { what, .. })) = heard.try_recv() else {
        panic!("the change is reported")
    };
    assert_eq!(what, ["f.txt"]);
    assert!(heard.try_recv().is_err(), "no look began after it was stopped");
    assert_eq!(conflict_monitor.checkout(), None, "the last look knows it already");
}
