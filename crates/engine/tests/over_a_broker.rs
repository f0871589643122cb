//! Runs whose attempts are carried out by workers with a repository and a folder of their own, over a broker that loses,
//! doubles and shuffles what it is given. The broker is one of this test; code goes through a git remote.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::collections::{BTreeMap, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use conductor_core::file::{self, Source};
use conductor_core::plan::Isolation;
use conductor_core::run::Run;
use conductor_core::run::event::{Event, Options, Record};
use conductor_core::values::ids::{RunId, WorkerId};
use conductor_core::values::units::{Millis, Now};
use conductor_engine::dispatch::broker::{Broker, BrokerError, Delivery, Queue, Receipt, Task};
use conductor_engine::dispatch::distant::enrolment::{Enrolment, Token};
use conductor_engine::dispatch::distant::{DistantOptions, DistantWorkers};
use conductor_engine::git::Repository;
use conductor_engine::git::handover::Handover;
use conductor_engine::git::workspaces::{RunPlace, Workspaces};
use conductor_engine::host::home::Home;
use conductor_engine::process::Beside;
use conductor_engine::runs::coordinator::{Coordinator, CoordinatorError, Finished, Start, World};
use conductor_engine::stores::{self, NewRun, RunLog};
use conductor_engine::worker::distant::{Leaving, Terms, WorkerFolder, work};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const LEASE: Millis = Millis(3_000);
const BEAT: Duration = Duration::from_millis(300);

/// How many attempts there are at once in a run, and how many workers where it is measured.
const SLOTS: usize = 8;

/// A broker in memory, and what it does to messages.
#[derive(Default)]
struct Memory(Mutex<State>);

#[derive(Default)]
struct State {
    queues: BTreeMap<String, Vec<(u64, Vec<u8>)>>,
    /// How often each message comes.
    copies: usize,
    shuffles: bool,
    /// Whose queues cannot be reached, by a part of their names: neither put to nor taken from.
    cut: HashSet<String>,
    /// All that was ever put.
    seen: Vec<(String, Vec<u8>)>,
    next: u64,
}

impl Memory {
    fn new(copies: usize, shuffles: bool) -> Arc<Memory> {
        Arc::new(Memory(Mutex::new(State { copies, shuffles, ..State::default() })))
    }

    fn with<T>(&self, what: impl FnOnce(&mut State) -> T) -> T {
        what(&mut self.0.lock().unwrap())
    }

    fn wipe(&self) {
        self.with(|state| state.queues.clear());
    }
}

fn away() -> BrokerError {
    BrokerError::Away { place: "memory".into(), why: "it is cut off".into() }
}

impl State {
    fn is_cut(&self, queue: &Queue) -> bool {
        self.cut.iter().any(|part| queue.0.contains(part))
    }
}

/// As one worker reaches it, whose line can be cut.
struct Reached {
    broker: Arc<dyn Broker>,
    cut: Arc<std::sync::atomic::AtomicBool>,
}

impl Reached {
    fn check(&self) -> Result<(), BrokerError> {
        match self.cut.load(std::sync::atomic::Ordering::SeqCst) {
            true => Err(away()),
            false => Ok(()),
        }
    }
}

impl Broker for Reached {
    fn examine(&self) -> Task<'_, ()> {
        Box::pin(async { self.check() })
    }

    fn put<'a>(&'a self, queue: &'a Queue, message: &'a [u8]) -> Task<'a, ()> {
        Box::pin(async {
            self.check()?;
            self.broker.put(queue, message).await
        })
    }

    fn take<'a>(&'a self, queue: &'a Queue, most: usize, wait: Duration) -> Task<'a, Vec<Delivery>> {
        Box::pin(async move {
            self.check()?;
            let taken = self.broker.take(queue, most, wait.min(Duration::from_millis(100))).await?;
            // What was on its way when the line was cut is lost; what matters is said again.
            self.check()?;
            Ok(taken)
        })
    }

    fn settle<'a>(&'a self, queue: &'a Queue, receipts: &'a [Receipt]) -> Task<'a, ()> {
        self.broker.settle(queue, receipts)
    }

    fn depth<'a>(&'a self, queue: &'a Queue) -> Task<'a, u64> {
        self.broker.depth(queue)
    }

    fn remove<'a>(&'a self, queue: &'a Queue) -> Task<'a, ()> {
        self.broker.remove(queue)
    }
}

impl Broker for Memory {
    fn examine(&self) -> Task<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn put<'a>(&'a self, queue: &'a Queue, message: &'a [u8]) -> Task<'a, ()> {
        Box::pin(async {
            self.with(|state| {
                if state.is_cut(queue) {
                    return Err(away());
                }
                state.seen.push((queue.0.clone(), message.to_vec()));
                for _ in 0..state.copies {
                    state.next += 1;
                    let entry = (state.next, message.to_vec());
                    state.queues.entry(queue.0.clone()).or_default().push(entry);
                }
                Ok(())
            })
        })
    }

    fn take<'a>(&'a self, queue: &'a Queue, most: usize, wait: Duration) -> Task<'a, Vec<Delivery>> {
        Box::pin(async move {
            let until = Instant::now() + wait;
            loop {
                let taken = self.with(|state| {
                    if state.is_cut(queue) {
                        return Err(away());
                    }
                    let shuffles = state.shuffles;
                    let Some(waiting) = state.queues.get_mut(&queue.0) else { return Ok(Vec::new()) };
                    if shuffles {
                        fastrand_shuffle(waiting);
                    }
                    let count = most.min(waiting.len());
                    Ok(waiting.drain(..count).collect::<Vec<_>>())
                })?;
                if !taken.is_empty() || Instant::now() >= until {
                    let delivery = |(number, message): (u64, _)| Delivery {
                        message,
                        receipt: Receipt(number.to_string()),
                    };
                    return Ok(taken.into_iter().map(delivery).collect());
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
    }

    fn settle<'a>(&'a self, _: &'a Queue, _: &'a [Receipt]) -> Task<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn depth<'a>(&'a self, queue: &'a Queue) -> Task<'a, u64> {
        Box::pin(async { Ok(self.with(|state| state.queues.get(&queue.0).map_or(0, Vec::len)) as u64) })
    }

    fn remove<'a>(&'a self, queue: &'a Queue) -> Task<'a, ()> {
        Box::pin(async {
            self.with(|state| state.queues.remove(&queue.0));
            Ok(())
        })
    }
}

/// A different order each time.
fn fastrand_shuffle<T>(items: &mut [T]) {
    use std::hash::{BuildHasher as _, Hasher as _};
    let mut state = std::hash::RandomState::new().build_hasher().finish();
    for at in (1..items.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(at, (state >> 33) as usize % (at + 1));
    }
}

/// What a program says, and whether it was well. It is no run's: what runs here ends the children that it does not know.
fn beside(command: &mut Command) -> (String, bool) {
    let mut started = Beside::start(command.stdout(Stdio::piped())).unwrap();
    let mut text = String::new();
    started.child().stdout.take().unwrap().read_to_string(&mut text).unwrap();
    (text, started.child().wait().unwrap().success())
}

fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=U", "-c", "user.email=u@localhost"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").stderr(Stdio::inherit());
    let (text, ok) = beside(&mut command);
    assert!(ok, "git {args:?}");
    text.trim().to_owned()
}

/// A repository of the user's, a remote, and all folders of a test.
struct Ground {
    folder: tempfile::TempDir,
    broker: Arc<Memory>,
    /// In place of that one.
    real: Option<Arc<dyn Broker>>,
}

impl Ground {
    fn new(broker: Arc<Memory>) -> Ground {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("place");
        std::fs::create_dir(&place).unwrap();
        git(&place, &["init", "-q", "-b", "main"]);
        std::fs::write(place.join("list"), "m\n").unwrap();
        git(&place, &["add", "."]);
        git(&place, &["commit", "-q", "-m", "one"]);
        git(folder.path(), &["init", "-q", "--bare", "remote.git"]);
        Ground { folder, broker, real: None }
    }

    fn reached(&self) -> Arc<dyn Broker> {
        self.real.clone().unwrap_or_else(|| self.broker.clone())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn home(&self) -> Home {
        Home::at(self.path("state")).unwrap()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    async fn wait_for_lines(&self, name: &str, count: usize, driven: &Driven) {
        let until = Instant::now() + Duration::from_secs(90);
        while self.lines(name).len() < count {
            let told = driven.told.lock().unwrap().join("\n");
            assert!(Instant::now() < until, "{name}: {:?}\n{told}", self.lines(name));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A worker with a folder of its own, which is taken in by the token.
    fn engage(&self, name: &str, slots: u32, labels: &[&str]) -> Hired {
        let enrolment = Enrolment::of(self.home().root());
        let token = enrolment.invite(WorkerId::parse(name)).unwrap().words();
        self.begin(name, Some(token), slots, labels)
    }

    /// One that was taken in before.
    fn engage_again(&self, name: &str) -> Hired {
        self.begin(name, None, 1, &[])
    }

    fn begin(&self, name: &str, token: Option<String>, slots: u32, labels: &[&str]) -> Hired {
        let (leave, leaving) = watch::channel(Leaving::No);
        let cut = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let broker = Arc::new(Reached { broker: self.reached(), cut: cut.clone() });
        let (path, git) = (self.path(name), self.path("remote.git").display().to_string());
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = told.clone();
        let working = tokio::spawn(async move {
            let folder = WorkerFolder::take(&path).unwrap();
            let identity = match token {
                Some(token) => folder.join(&Token::parse(&token).unwrap(), &*broker, &|_| {}).await.unwrap(),
                None => folder.identity().unwrap().unwrap(),
            };
            let terms = Terms { broker, git, slots, labels, exit_when_idle: false, beat: BEAT, reaper: None };
            let tell = Arc::new(move |word| telling.lock().unwrap().push(word));
            work(&folder, identity, terms, leaving, tell).await.unwrap();
        });
        Hired { leave, cut, told, working }
    }

    async fn start(&self, name: &str, tasks: &str, is_apart: bool) -> Driven {
        let place = self.path("place");
        let source = Source::new("tasks.yaml", tasks.as_bytes().to_vec()).unwrap();
        let plan = file::load(&source).unwrap_or_else(|_| panic!("{tasks}")).plan;
        let home = self.home();
        let id = RunId::parse(name).unwrap();
        let count = plan.tasks.len();
        let (run, created) = Run::create(plan, Now::default());
        let store = stores::open(&home).await.unwrap();
        let new = NewRun { id: id.clone(), directory: place.clone(), source: String::new(), tasks: count };
        let log = RunLog::create(&store, &new, &created).await.unwrap();
        let run_place = RunPlace { home: home.root(), id: &id, run: &run, directory: &place };
        let run_repo = run_place.move_in(Repository::of(&place).unwrap()).unwrap();
        let workspaces = Workspaces::new(place.clone(), Some(run_repo), Isolation::Worktree);
        let claim = home.claim(&id).unwrap();
        let (mut workers, mut distant) = (None, None);
        if is_apart {
            let git = self.path("remote.git").display().to_string();
            let run_repo = workspaces.run_repo().unwrap().clone();
            let handover = Handover::open(claim.directory(), run_repo, &place, &git).unwrap();
            let (broker, output) = (self.reached(), self.path("out"));
            let (home, epoch) = (home.root().to_owned(), log.epoch());
            let options = DistantOptions { broker, home, run: id.clone(), epoch, handover, output };
            let (engage, exchanging) = options.engage(&run).unwrap();
            (workers, distant) = (Some(engage), Some(exchanging));
        }
        let world = World {
            log,
            claim,
            workspaces,
            directory: place,
            output: self.path("out"),
            ours: Vec::new(),
            conflict_monitor: None,
            examiner: None,
            reaper: None,
            shim: None,
            workers,
        };
        let isolation = Some(Isolation::Worktree);
        let slots = count.min(SLOTS) as u32;
        let options = Options { isolation, lease: Some(LEASE), ..Options::with_slots(slots) };
        let (coordinator, mut notices) =
            Coordinator::new(run, Start { options, taken_over: None, reopen: false }, world).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = told.clone();
        tokio::spawn(async move {
            while let Some(notice) = notices.recv().await {
                telling.lock().unwrap().push(notice);
            }
        });
        Driven { id, home, driving: tokio::spawn(coordinator.run()), distant, told }
    }

    /// What is on a run's branch.
    fn tree(&self, run: &str) -> String {
        git(&self.path("place"), &["rev-parse", &format!("conductor/{run}^{{tree}}")])
    }
}

struct Hired {
    leave: watch::Sender<Leaving>,
    cut: Arc<std::sync::atomic::AtomicBool>,
    told: Arc<Mutex<Vec<String>>>,
    working: JoinHandle<()>,
}

impl Hired {
    async fn dismiss(self) {
        self.leave.send(Leaving::Now).unwrap();
        tokio::time::timeout(Duration::from_secs(60), self.working).await.expect("it ends").unwrap();
    }

    fn cut(&self, is_cut: bool) {
        self.cut.store(is_cut, std::sync::atomic::Ordering::SeqCst);
    }
}

struct Driven {
    id: RunId,
    home: Home,
    driving: JoinHandle<Result<Finished, CoordinatorError>>,
    distant: Option<DistantWorkers>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Driven {
    async fn ended(self) -> (Run, Vec<Record>) {
        let ended = tokio::time::timeout(Duration::from_secs(120), self.driving).await;
        let told = self.told.lock().unwrap().join("\n");
        let Ok(ended) = ended else { panic!("the run does not end:\n{told}") };
        let Finished { run, .. } = ended.unwrap().unwrap();
        if let Some(distant) = self.distant {
            assert_eq!(distant.finish(true).await, None);
        }
        let records = stores::open_to_look(&self.home).await.unwrap().load(&self.id, 0).await.unwrap();
        let failed =
            run.tasks().filter(|(_, progress)| progress.state.status().name() != "completed").count();
        assert_eq!(
            failed,
            0,
            "{told}\n{:#?}",
            run.tasks().map(|(task, progress)| (task.id.clone(), &progress.state)).collect::<Vec<_>>()
        );
        (run, records)
    }
}

fn count(records: &[Record], of: impl Fn(&Event) -> bool) -> usize {
    records.iter().filter(|record| of(&record.event)).count()
}

/// Tasks that change the same file, some of them on top of others; whatever their order, it comes to the same.
fn graph() -> String {
    let mut text =
        "config: { max_attempts: 20, on_conflict: retry-later, changes: required }\ntasks:\n".to_owned();
    for (name, on) in [("a", ""), ("b", ""), ("c", "a"), ("d", "a, b"), ("e", ""), ("f", "c, d"), ("g", "e")]
    {
        text += &format!(
            "  - {{ id: {name}, run: 'echo {name} >> list; sort -o list list; echo {name} > {name}.txt', dependencies: [{on}] }}\n"
        );
    }
    text.replace("max_attempts: 20", "retry_policy: { max_attempts: 20, initial_delay: 10ms }")
}

/// Each message five times, in any order.
#[tokio::test(flavor = "multi_thread")]
async fn three_workers_come_to_the_same_as_one_machine() {
    let ground = Ground::new(Memory::new(5, true));
    ground.start("here", &graph(), false).await.ended().await;
    let driven = ground.start("there", &graph(), true).await;
    let workers = ["w1", "w2", "w3"].map(|name| ground.engage(name, 2, &[]));
    let (_, records) = driven.ended().await;
    assert_eq!(ground.tree("there"), ground.tree("here"));
    let leased = |event: &Event| matches!(event, Event::AttemptLeased { .. });
    let started = |event: &Event| matches!(event, Event::AttemptStarted { .. });
    assert_eq!(count(&records, leased), count(&records, started), "all of it was done elsewhere");
    let left = git(&ground.path("remote.git"), &["for-each-ref"]);
    assert_eq!(left, "", "nothing is left on the remote, and no branch was made there");
    for worker in workers {
        worker.dismiss().await;
    }
    let message = |part: &str| {
        ground.broker.with(|state| {
            state.seen.iter().any(|(_, message)| String::from_utf8_lossy(message).contains(part))
        })
    };
    assert!(message("sort -o list list"), "orders went over the broker");
}

const WAITS: &str = "tasks: [{ id: a, run: 'echo a >> FOLDER/begun; while [ ! -e FOLDER/go ]; do sleep 0.05; done; echo a > a.txt; echo a >> FOLDER/done' }]\n";

fn waits(ground: &Ground) -> String {
    WAITS.replace("FOLDER", &ground.folder.path().display().to_string())
}

/// F8: all that was in the broker is lost while an attempt is at work; the worker and the coordinator say it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_was_wiped_is_filled_again() {
    let ground = Ground::new(Memory::new(1, false));
    let driven = ground.start("wiped", &waits(&ground), true).await;
    let worker = ground.engage("w1", 1, &[]);
    let until = Instant::now() + Duration::from_secs(60);
    while ground.lines("begun").is_empty() {
        assert!(Instant::now() < until, "{:?}", driven.told.lock().unwrap());
        // Again and again, at whatever point it is.
        ground.broker.wipe();
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    std::fs::write(ground.path("go"), "").unwrap();
    for _ in 0..5 {
        ground.broker.wipe();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    driven.ended().await;
    assert_eq!(ground.lines("begun").len(), 1, "it was started once");
    worker.dismiss().await;
}

/// F4: a worker that was cut off for longer than its lease. Its task is done elsewhere; what it says later counts for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_was_cut_off_loses_its_task_and_its_late_result_is_refused() {
    cut_off(Ground::new(Memory::new(1, false))).await;
}

async fn cut_off(ground: Ground) {
    let driven = ground.start("cut", &waits(&ground), true).await;
    let first = ground.engage("w1", 1, &[]);
    ground.wait_for_lines("begun", 1, &driven).await;
    first.cut(true);
    let since = Instant::now();
    let second = ground.engage("w2", 1, &[]);
    ground.wait_for_lines("begun", 2, &driven).await;
    assert!(since.elapsed() < Duration::from_secs(35), "{:?}", since.elapsed());
    std::fs::write(ground.path("go"), "").unwrap();
    ground.wait_for_lines("done", 1, &driven).await;
    first.cut(false);
    let (run, records) = driven.ended().await;
    assert_eq!(count(&records, |event| matches!(event, Event::LeaseLost { .. })), 1);
    assert_eq!(count(&records, |event| matches!(event, Event::TaskCompleted { .. })), 1, "it landed once");
    assert_eq!(run.progress(0).last_attempt, 2);
    first.dismiss().await;
    second.dismiss().await;
}

/// It takes nothing more, and does not end before its coordinator has recorded what it was at.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_drained_brings_its_last_result_home() {
    let ground = Ground::new(Memory::new(1, false));
    let driven = ground.start("drained", &waits(&ground), true).await;
    let worker = ground.engage("w1", 1, &[]);
    ground.wait_for_lines("begun", 1, &driven).await;
    worker.leave.send(Leaving::Drained).unwrap();
    std::fs::write(ground.path("go"), "").unwrap();
    let (run, _) = driven.ended().await;
    assert_eq!((run.progress(0).last_attempt, ground.lines("begun").len()), (1, 1));
    tokio::time::timeout(Duration::from_secs(60), worker.working).await.expect("it ends").unwrap();
}

/// F: the remote of the code is away when an attempt ends; its result waits, and nothing is done twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_waits_until_the_remote_is_back() {
    remote_away(Ground::new(Memory::new(1, false))).await;
}

async fn remote_away(ground: Ground) {
    let driven = ground.start("away", &waits(&ground), true).await;
    let worker = ground.engage("w1", 1, &[]);
    ground.wait_for_lines("begun", 1, &driven).await;
    std::fs::rename(ground.path("remote.git"), ground.path("elsewhere.git")).unwrap();
    std::fs::write(ground.path("go"), "").unwrap();
    ground.wait_for_lines("done", 1, &driven).await;
    let until = Instant::now() + Duration::from_secs(60);
    let is_told = || driven.told.lock().unwrap().iter().any(|told| told.contains("its work waits here"));
    while !is_told() {
        assert!(Instant::now() < until, "{:?}", driven.told.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Longer than the lease, which holds: the worker lives.
    tokio::time::sleep(Duration::from_millis(LEASE.0 + 1_000)).await;
    std::fs::rename(ground.path("elsewhere.git"), ground.path("remote.git")).unwrap();
    let (run, records) = driven.ended().await;
    assert_eq!(count(&records, |event| matches!(event, Event::LeaseLost { .. })), 0);
    assert_eq!((run.progress(0).last_attempt, ground.lines("done").len()), (1, 1));
    worker.dismiss().await;
}

/// What the coordinator has put on the remote is lost there while it goes on; the next attempt that needs it waits until it is
/// there again.
#[tokio::test(flavor = "multi_thread")]
async fn code_that_the_remote_has_lost_is_put_there_again() {
    code_lost(Ground::new(Memory::new(1, false))).await;
}

async fn code_lost(ground: Ground) {
    let both = "tasks:\n- { id: a, run: 'echo a >> FOLDER/begun; while [ ! -e FOLDER/go ]; do sleep 0.05; done' }\n- { id: b, run: 'echo b >> FOLDER/begun; echo b > b.txt' }\n";
    let tasks = both.replace("FOLDER", &ground.folder.path().display().to_string());
    let driven = ground.start("lost", &tasks, true).await;
    let first = ground.engage("w1", 1, &[]);
    ground.wait_for_lines("begun", 1, &driven).await;
    let remote = ground.path("remote.git");
    let names = git(&remote, &["for-each-ref", "--format=%(refname)", "refs/conductor/lost/at"]);
    assert!(!names.is_empty());
    names.lines().for_each(|name| drop(git(&remote, &["update-ref", "-d", name])));
    // It has the commit not yet, and the coordinator takes it to be there.
    let second = ground.engage("w2", 1, &[]);
    ground.wait_for_lines("begun", 2, &driven).await;
    std::fs::write(ground.path("go"), "").unwrap();
    let (run, _) = driven.ended().await;
    assert!(run.tasks().all(|(_, progress)| progress.last_attempt == 1), "none of them failed");
    first.dismiss().await;
    second.dismiss().await;
}

/// A worker that is away when a run ends, and comes back: while the run goes on it keeps what it has of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_left_with_a_worker_that_was_away_goes_when_that_comes_back() {
    left_behind(Ground::new(Memory::new(1, false))).await;
}

async fn left_behind(ground: Ground) {
    let driven = ground.start("left", &waits(&ground), true).await;
    let first = ground.engage("w1", 1, &[]);
    ground.wait_for_lines("begun", 1, &driven).await;
    first.dismiss().await;
    let folder = ground.path("w1/runs/left");
    let again = ground.engage_again("w1");
    ground.wait_for_lines("begun", 2, &driven).await;
    assert!(folder.is_dir());
    again.dismiss().await;
    let second = ground.engage("w2", 1, &[]);
    ground.wait_for_lines("begun", 3, &driven).await;
    std::fs::write(ground.path("go"), "").unwrap();
    driven.ended().await;
    assert!(folder.is_dir(), "it was not there to hear of the end");
    let back = ground.engage_again("w1");
    let until = Instant::now() + Duration::from_secs(60);
    while folder.exists() {
        assert!(Instant::now() < until, "{:?}", back.told.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    back.dismiss().await;
    assert_eq!(git(&ground.path("w1/repository"), &["for-each-ref", "refs/conductor/left"]), "");
    second.dismiss().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_to_a_worker_with_its_labels_and_its_words_are_kept_here() {
    let ground = Ground::new(Memory::new(1, false));
    let tasks = "tasks: [{ id: a, run: 'echo spoken aloud; echo x > x', requires: [gpu] }, { id: b, run: 'echo y > y' }]\n";
    let driven = ground.start("labels", tasks, true).await;
    let plain = ground.engage("plain", 1, &[]);
    let able = ground.engage("able", 1, &["gpu", "linux"]);
    let (_, records) = driven.ended().await;
    let of_a = records.iter().find_map(|record| match &record.event {
        Event::AttemptLeased { task, worker, .. } if task.as_str() == "a" => Some(worker.to_string()),
        _ => None,
    });
    assert_eq!(of_a.as_deref(), Some("able"));
    let (found, _) = beside(Command::new("grep").args(["-rl", "spoken aloud"]).arg(ground.path("out")));
    assert!(found.contains("transcript.log"), "{found:?}");
    plain.dismiss().await;
    able.dismiss().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_revoked_is_lost_at_once_and_told_of_nothing_more() {
    revoked(Ground::new(Memory::new(1, false))).await;
}

async fn revoked(ground: Ground) {
    let driven = ground.start("revoked", &waits(&ground), true).await;
    let first = ground.engage("w1", 1, &[]);
    ground.wait_for_lines("begun", 1, &driven).await;
    Enrolment::of(ground.home().root()).revoke(&WorkerId::parse("w1").unwrap()).unwrap();
    let second = ground.engage("w2", 1, &[]);
    ground.wait_for_lines("begun", 2, &driven).await;
    std::fs::write(ground.path("go"), "").unwrap();
    let (run, _) = driven.ended().await;
    assert_eq!(run.progress(0).last_attempt, 2);
    let told = first.told.lock().unwrap().join("\n");
    assert!(told.contains("works for run revoked no more: it was revoked"), "{told}");
    first.dismiss().await;
    second.dismiss().await;
}

/// What is in an order names secrets and has none.
#[tokio::test(flavor = "multi_thread")]
async fn no_secret_goes_over_the_broker() {
    let ground = Ground::new(Memory::new(1, false));
    let tasks =
        "tasks: [{ id: a, run: 'echo x > x', env: { API_TOKEN: hunter2hunter2, PLAIN: shown-value } }]\n";
    let driven = ground.start("secrets", tasks, true).await;
    let worker = ground.engage("w1", 1, &[]);
    driven.ended().await;
    let went = |part: &str| {
        ground.broker.with(|state| {
            state.seen.iter().any(|(_, message)| String::from_utf8_lossy(message).contains(part))
        })
    };
    assert!(went("shown-value") && went("API_TOKEN"));
    assert!(!went("hunter2hunter2"));
    worker.dismiss().await;
}

/// The same over real servers; what is in memory above is quick, and these are what users have.
#[cfg(all(feature = "redis", feature = "rabbitmq"))]
mod real_brokers {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use conductor_engine::dispatch::broker;
    use conductor_testkit::servers::{self, RabbitMq, Redis};

    use super::*;

    /// How often each message is put.
    const COPIES: usize = 6;

    /// So many messages come again at the least.
    const REDELIVERIES: usize = 1_000;

    /// Puts each message several times: more often than any broker would.
    struct Repeating {
        broker: Arc<dyn Broker>,
        again: AtomicUsize,
    }

    impl Broker for Repeating {
        fn examine(&self) -> Task<'_, ()> {
            self.broker.examine()
        }

        fn put<'a>(&'a self, queue: &'a Queue, message: &'a [u8]) -> Task<'a, ()> {
            Box::pin(async {
                for _ in 0..COPIES {
                    self.broker.put(queue, message).await?;
                }
                self.again.fetch_add(COPIES - 1, Ordering::SeqCst);
                Ok(())
            })
        }

        fn take<'a>(&'a self, queue: &'a Queue, most: usize, wait: Duration) -> Task<'a, Vec<Delivery>> {
            self.broker.take(queue, most, wait)
        }

        fn settle<'a>(&'a self, queue: &'a Queue, receipts: &'a [Receipt]) -> Task<'a, ()> {
            self.broker.settle(queue, receipts)
        }

        fn depth<'a>(&'a self, queue: &'a Queue) -> Task<'a, u64> {
            self.broker.depth(queue)
        }

        fn remove<'a>(&'a self, queue: &'a Queue) -> Task<'a, ()> {
            self.broker.remove(queue)
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn faults_over_redis() {
        let Some(server) = servers::or_skip(Redis::start()) else { return };
        faults_over(&server.address()).await;
        redelivered(&server.address()).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn faults_over_rabbitmq() {
        let Some(server) = servers::or_skip(RabbitMq::start()) else { return };
        faults_over(&server.address()).await;
    }

    /// One after the other: a server is started once.
    async fn faults_over(address: &str) {
        let ground = || {
            let real = Some(broker::open(address).unwrap());
            Ground { real, ..Ground::new(Memory::new(1, false)) }
        };
        cut_off(ground()).await;
        remote_away(ground()).await;
        code_lost(ground()).await;
        left_behind(ground()).await;
        revoked(ground()).await;
    }

    /// No attempt begins twice, however often it is ordered, offered and granted.
    async fn redelivered(address: &str) {
        let broker = broker::open(address).unwrap();
        let repeating = Arc::new(Repeating { broker, again: AtomicUsize::new(0) });
        let real: Option<Arc<dyn Broker>> = Some(repeating.clone());
        let ground = Ground { real, ..Ground::new(Memory::new(1, false)) };
        let folder = ground.folder.path().display().to_string();
        let task =
            |number: usize| format!("- {{ id: t{number}, run: 'echo t{number} >> {folder}/begun' }}\n");
        let (mut worker, mut count) = (None, 0);
        while repeating.again.load(Ordering::SeqCst) < REDELIVERIES {
            let tasks: String = (count..count + SLOTS).map(task).collect();
            let driven = ground.start(&format!("again{count}"), &format!("tasks:\n{tasks}"), true).await;
            // RabbitMQ (3.10) may answer with an internal error where several make the same queue at once.
            worker.get_or_insert_with(|| ground.engage("w1", SLOTS as u32, &[]));
            driven.ended().await;
            count += SLOTS;
        }
        let mut begun = ground.lines("begun");
        begun.sort();
        let mut expected: Vec<String> = (0..count).map(|number| format!("t{number}")).collect();
        expected.sort();
        assert_eq!(begun, expected, "each began once");
        if let Some(worker) = worker {
            worker.dismiss().await;
        }
    }
}

/// Commands that do nothing, done here and by eight workers: what an order costs more.
#[cfg(all(feature = "redis", feature = "rabbitmq"))]
mod figures {
    use conductor_engine::dispatch::broker;
    use conductor_testkit::servers::{RabbitMq, Redis, figure, figure_size, or_skip};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "a measurement"]
    async fn figures_of_an_order_that_does_nothing() {
        let many = figure_size(400);
        let tasks: String = (0..many).map(|number| format!("- {{ id: t{number}, run: 'true' }}\n")).collect();
        let tasks = format!("tasks:\n{tasks}");
        let here = took(&Ground::new(Memory::new(1, false)), "here", &tasks, false).await / many as f64;
        figure("local.ms_per_order", here * 1e3);
        if let Some(server) = or_skip(Redis::with(&["--appendonly", "yes", "--appendfsync", "everysec"])) {
            figure("redis.ms_per_order", over(&server.address(), &tasks).await / many as f64 * 1e3);
        }
        if let Some(server) = or_skip(RabbitMq::start()) {
            figure("rabbitmq.ms_per_order", over(&server.address(), &tasks).await / many as f64 * 1e3);
        }
    }

    async fn over(address: &str, tasks: &str) -> f64 {
        let real = Some(broker::open(address).unwrap());
        let ground = Ground { real, ..Ground::new(Memory::new(1, false)) };
        let workers: Vec<Hired> =
            (0..SLOTS).map(|number| ground.engage(&format!("w{number}"), 1, &[])).collect();
        let seconds = took(&ground, "there", tasks, true).await;
        for worker in workers {
            worker.dismiss().await;
        }
        seconds
    }

    /// From the first attempt to the last end: workers were called by then.
    async fn took(ground: &Ground, name: &str, tasks: &str, is_apart: bool) -> f64 {
        let (_, records) = ground.start(name, tasks, is_apart).await.ended().await;
        let at = |of: fn(&Event) -> bool| {
            records.iter().filter(move |record| of(&record.event)).map(|record| record.at.0)
        };
        let first = match is_apart {
            true => at(|event| matches!(event, Event::AttemptLeased { .. })).min(),
            false => at(|event| matches!(event, Event::AttemptStarted { .. })).min(),
        };
        let last = at(|event| matches!(event, Event::TaskCompleted { .. })).max();
        (last.unwrap() - first.unwrap()) as f64 / 1e3
    }
}
