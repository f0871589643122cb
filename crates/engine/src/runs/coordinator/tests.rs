//! Every way out of a run ends what it had started: a store that fails for good, mistakes of our own.

use std::path::Path;
use std::time::Instant as Moment;

use conductor_core::plan::{Command, Isolation, Plan, Task, Work};
use conductor_core::run::TaskState;
use conductor_core::run::event::{Change, FailureClass, Record};
use conductor_core::values::units::Now;

use super::*;
use crate::git::workspaces::{
    InPlace, Rescued, Workspace, WorkspaceBackend, WorkspaceError, WorkspaceRequest,
};
use crate::host::home::Home;
use crate::process;
use crate::stores::{self, Epoch, LogReader, NewRun, Store, StoredRun, Task as Stored};

/// What a store does with the events of a process that has started.
#[derive(Clone, Copy)]
enum Manner {
    Fails,
    Panics,
    Works,
}

/// A store that works until a process is noted.
struct Fickle {
    inner: Arc<dyn Store>,
    manner: Manner,
}

impl Store for Fickle {
    fn create<'a>(&'a self, run: &'a NewRun, first: &'a Record) -> Stored<'a, Epoch> {
        self.inner.create(run, first)
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> Stored<'a, Epoch> {
        self.inner.claim(run)
    }

    fn write(&self, run: &RunId, epoch: Epoch, records: &[Record]) -> Result<(), StoreError> {
        self.inner.write(run, epoch, records)
    }

    fn append<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        epoch: Epoch,
        records: &'a [Record],
    ) -> Stored<'a, ()> {
        let is_noted = |record: &Record| {
            matches!(record.event, conductor_core::run::event::Event::ProcessStarted { .. })
        };
        match self.manner {
            Manner::Works => {}
            _ if !records.iter().any(is_noted) => {}
            Manner::Fails => {
                let (place, why) = ("the.db".to_owned(), "it is broken".to_owned());
                return Box::pin(async { Err(StoreError::Failed { place, why }) });
            }
            Manner::Panics => panic!("the store has a mistake"),
        }
        self.inner.append(run, after, epoch, records)
    }

    fn move_to<'a>(&'a self, run: &'a RunId, directory: &'a std::path::Path) -> Stored<'a, ()> {
        self.inner.move_to(run, directory)
    }

    fn remove<'a>(&'a self, run: &'a RunId) -> Stored<'a, ()> {
        self.inner.remove(run)
    }
}

impl LogReader for Fickle {
    fn load<'a>(&'a self, run: &'a RunId, after: u64) -> Stored<'a, Vec<Record>> {
        self.inner.load(run, after)
    }

    fn runs(&self) -> Stored<'_, Vec<StoredRun>> {
        self.inner.runs()
    }
}

/// A place that cannot be made without a panic.
struct Mistaken;

impl WorkspaceBackend for Mistaken {
    fn prepare(&self, _: &WorkspaceRequest) -> Result<Workspace, WorkspaceError> {
        panic!("there is a mistake in this place")
    }

    fn collect(&self, _: &WorkspaceRequest, _: &Workspace) -> Result<Option<Change>, WorkspaceError> {
        Ok(None)
    }

    fn rescue(&self, _: &WorkspaceRequest) -> Result<Option<Rescued>, WorkspaceError> {
        Ok(None)
    }
}

/// A run of one command, in a store of this manner.
async fn driven(
    name: &str,
    command: &str,
    manner: Manner,
    place: Option<Arc<dyn WorkspaceBackend>>,
) -> (RunId, Result<Finished, CoordinatorError>) {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = taken_up(folder.path(), name, command, manner, place).await;
    (coordinator.id.clone(), coordinator.run().await)
}

async fn taken_up(
    folder: &Path,
    name: &str,
    command: &str,
    manner: Manner,
    place: Option<Arc<dyn WorkspaceBackend>>,
) -> Coordinator {
    let home = Home::at(folder).unwrap();
    let id = RunId::parse(name).unwrap();
    let task = Task::new(TaskId::parse("a").unwrap(), Work::Run(Command::Line(command.into())));
    let (run, created) = Run::create(Plan { tasks: vec![task], ..Plan::default() }, Now::default());
    let inner = stores::open(&home).await.unwrap();
    let new = NewRun { id: id.clone(), directory: folder.into(), source: String::new(), tasks: 1 };
    let store: Arc<dyn Store> = Arc::new(Fickle { inner, manner });
    let log = RunLog::create(&store, &new, &created).await.unwrap();
    let in_place = place.unwrap_or_else(|| Arc::new(InPlace::new(folder.to_owned())));
    let world = World {
        log,
        claim: home.claim(&id).unwrap(),
        workspaces: Workspaces { in_place, git: None, default: Isolation::None },
        directory: folder.to_owned(),
        output: folder.join("out"),
        ours: Vec::new(),
        conflict_monitor: None,
        examiner: None,
        reaper: None,
        shim: None,
        workers: None,
    };
    let start = Start { options: Options::with_slots(1), taken_over: None, reopen: false };
    Coordinator::new(run, start, world).unwrap().0
}

#[tokio::test]
async fn a_store_that_fails_for_good_leaves_nothing_at_work() {
    let begun = Moment::now();
    let (id, ended) = driven("fails", "sleep 600", Manner::Fails, None).await;
    assert!(matches!(ended, Err(CoordinatorError::Store(StoreError::Failed { .. }))));
    assert!(process::alive(&id).is_empty());
    assert!(begun.elapsed() < Duration::from_secs(60), "it did not wait for the command");
}

#[tokio::test]
async fn a_mistake_in_the_loop_leaves_nothing_at_work() {
    let (id, ended) = driven("panics", "sleep 600", Manner::Panics, None).await;
    assert!(matches!(ended, Err(CoordinatorError::Panicked(why)) if why == "the store has a mistake"));
    assert!(process::alive(&id).is_empty());
}

#[tokio::test]
async fn a_mistake_in_an_attempt_fails_the_attempt_and_the_run_comes_to_its_end() {
    let (_, ended) = driven("mistaken", "true", Manner::Works, Some(Arc::new(Mistaken))).await;
    let Ok(Finished { run, .. }) = ended else { panic!("the run has an end") };
    let TaskState::Failed(failure) = &run.progress(0).state else { panic!("{:?}", run.progress(0).state) };
    assert_eq!(failure.class, FailureClass::Internal);
    assert_eq!(failure.message, "internal error: there is a mistake in this place");
}

#[tokio::test]
async fn a_thousand_who_look_are_shown_what_was_made_for_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = taken_up(folder.path(), "lookedat", "sleep 600", Manner::Works, None).await;
    let control = coordinator.control();
    let looking = look_often(control);
    let (driven, ()) = tokio::join!(coordinator.run(), looking);
    driven.unwrap();
}

async fn look_often(control: Control) {
    let mut made: Vec<Arc<crate::dispatch::LiveView>> = Vec::new();
    let begun = Moment::now();
    for _ in 0..1_000 {
        let Some(Ok(View::Snapshot(seen))) = control.look(Query::Snapshot).await else { panic!("no answer") };
        if !made.iter().any(|known| Arc::ptr_eq(known, &seen)) {
            made.push(seen);
        }
    }
    // One for each event and phase of the start, and one for each tenth of a second.
    let most = 12 + begun.elapsed().as_millis() / 100;
    assert!(made.len() as u128 <= most, "{} within {:?}", made.len(), begun.elapsed());
    control.kill_all();
    control.ask(Request::Stop);
}

/// Leaves a daemon that has its mark, and one that wiped it and was looked at before it was an orphan. Goes on until it is
/// told to end, and fails where one of them is gone by then.
const DAEMONS: &str = "for wipe in '' 'env -i'; do sh -c \"$wipe $(command -v setsid) $(command -v sleep) 600 & \
    echo \\$! >> NAME.daemons; test -z '$wipe' || sleep 1.2\"; done; \
    touch NAME.up; while [ ! -e NAME.end ]; do sleep 0.02; done; \
    for daemon in $(cat NAME.daemons); do grep -q . /proc/$daemon/cmdline || exit 7; done";

async fn appears(file: PathBuf) {
    let begun = Moment::now();
    while !file.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} never appeared", file.display());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Whether any of the daemons that a run left is still there.
fn has_daemons(folder: &Path, name: &str) -> bool {
    let noted = std::fs::read_to_string(folder.join(format!("{name}.daemons"))).unwrap();
    let numbers: Vec<u32> = noted.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!(numbers.len(), 2, "{noted}");
    // One that is dead and not yet collected has no command line any more.
    let lives = |number| std::fs::read(format!("/proc/{number}/cmdline")).is_ok_and(|line| !line.is_empty());
    numbers.into_iter().any(lives)
}

#[tokio::test]
async fn of_two_runs_in_one_process_one_is_cancelled_and_the_other_does_not_notice() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let take_up = async |name: &str| {
        let home = folder.join(format!("home-{name}"));
        std::fs::create_dir(&home).unwrap();
        let command = format!("cd {} && {}", folder.display(), DAEMONS.replace("NAME", name));
        taken_up(&home, name, &command, Manner::Works, None).await
    };
    let (one, other) = (take_up("one").await, take_up("other").await);
    let (id, control) = (one.id.clone(), one.control());
    let cancelled = async {
        let cancel = async {
            appears(folder.join("one.up")).await;
            appears(folder.join("other.up")).await;
            control.ask(Request::CancelAll);
        };
        let (driven, ()) = tokio::join!(one.run(), cancel);
        let Finished { run, .. } = driven.unwrap();
        assert_eq!(run.progress(0).state, TaskState::Cancelled);
        assert!(process::alive(&id).is_empty() && !has_daemons(folder, "one"), "nothing is left of it");
        assert!(has_daemons(folder, "other"));
        std::fs::write(folder.join("other.end"), "").unwrap();
    };
    let ((), driven) = tokio::join!(cancelled, other.run());
    let Finished { run, .. } = driven.unwrap();
    assert_eq!(run.progress(0).state, TaskState::Completed);
    assert!(!has_daemons(folder, "other"), "what it left goes with it");
}

/// What was reported when the run had ended already, and what came after that.
#[tokio::test]
async fn what_was_seen_before_the_last_look_is_recorded_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let home = folder.join("home");
    std::fs::create_dir(&home).unwrap();
    let mut coordinator = taken_up(&home, "lastlook", "true", Manner::Works, None).await;
    let conflict_monitor = crate::runs::conflict_monitor::tests::monitor(&folder);
    coordinator.conflict_monitor = Some((conflict_monitor, Duration::from_secs(600)));
    // What a run begins with is recorded, and then it is over.
    coordinator.finished = true;
    coordinator.take_turns().await.unwrap();
    let seen = Input::CheckoutTouched { tasks: Vec::new(), what: vec!["f.txt".to_owned()] };
    coordinator.control.sender().send(Message::Input(seen)).unwrap();
    std::fs::write(folder.join("repo/late.txt"), "").unwrap();
    coordinator.look_a_last_time(None).await.unwrap();
    let strays = coordinator.scheduler.run().strays();
    let told: Vec<&str> = strays.iter().flat_map(|stray| &stray.what).map(String::as_str).collect();
    assert_eq!(told, ["f.txt", "late.txt"]);
}
