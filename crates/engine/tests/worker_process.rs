//! Runs whose attempts are carried out by workers in other processes, over a pair of pipes. The processes are this very
//! program, started for one test that is the worker.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use conductor_core::file::{self, Source};
use conductor_core::plan::{Command as Line, Isolation, Plan, Task, Work};
use conductor_core::run::Run;
use conductor_core::run::event::{Answer, Answerer, Event, Options, Record};
use conductor_core::schedule::Request;
use conductor_core::values::ids::{RunId, TaskId, WorkerId};
use conductor_core::values::units::{Millis, Now};
use conductor_engine::dispatch::{Control, Remote};
use conductor_engine::git::Repository;
use conductor_engine::git::workspaces::{RunPlace, Workspaces};
use conductor_engine::host::home::Home;
use conductor_engine::process::{self, Beside};
use conductor_engine::runs::coordinator::{Coordinator, CoordinatorError, Finished, Start, World};
use conductor_engine::stores::{self, NewRun, RunLog};
use conductor_engine::worker::serve;
use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

const NAME: &str = "CONDUCTOR_TEST_WORKER_NAME";
const READY: &str = "the worker is ready\n";
const BEAT: Duration = Duration::from_millis(200);
const LEASE: Millis = Millis(1_500);

/// Does nothing, unless this process was started as a worker.
#[test]
fn the_worker() {
    let Ok(name) = std::env::var(NAME) else { return };
    print!("{READY}");
    std::io::Write::flush(&mut std::io::stdout()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let from = pipe::Receiver::from_owned_fd(rustix::io::dup(rustix::stdio::stdin()).unwrap()).unwrap();
        let to = pipe::Sender::from_owned_fd(rustix::io::dup(rustix::stdio::stdout()).unwrap()).unwrap();
        if let Err(error) = serve(WorkerId::parse(&name).unwrap(), from, to, BEAT).await {
            eprintln!("worker {name}: {error}");
        }
    });
    std::process::exit(0);
}

struct WorkerProcess(Beside);

impl WorkerProcess {
    fn signal(&mut self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(self.0.child()), signal).unwrap();
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.0.child().kill();
        let _ = self.0.child().wait();
    }
}

/// Starts a worker and takes it in.
async fn hire(remote: &Arc<Remote>, name: &str) -> WorkerProcess {
    hire_with(remote, name, &[]).await
}

/// As `hire`, with these variables.
async fn hire_with(remote: &Arc<Remote>, name: &str, variables: &[(&str, OsString)]) -> WorkerProcess {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_worker", "--nocapture"]).env(NAME, name);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut started = Beside::start(&mut command).unwrap();
    let child = started.child();
    let (stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    // The harness says something first.
    let mut said = Vec::new();
    while !said.ends_with(READY.as_bytes()) {
        let mut byte = [0];
        stdout.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    let from = pipe::Receiver::from_owned_fd(OwnedFd::from(stdout)).unwrap();
    let to = pipe::Sender::from_owned_fd(OwnedFd::from(stdin)).unwrap();
    assert_eq!(remote.admit(from, to).await.unwrap().as_str(), name);
    WorkerProcess(started)
}

/// A run that is driven here and worked on elsewhere.
struct Driven {
    folder: tempfile::TempDir,
    id: RunId,
    remote: Arc<Remote>,
    control: Control,
    driving: JoinHandle<Result<Finished, CoordinatorError>>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Driven {
    async fn start(name: &str, tasks: &[(&str, &str)], isolation: Isolation) -> Driven {
        let task = |(name, line): &(&str, &str)| {
            Task::new(TaskId::parse(name).unwrap(), Work::Run(Line::Line((*line).into())))
        };
        let plan = Plan { tasks: tasks.iter().map(task).collect(), ..Plan::default() };
        Driven::of_plan(name, plan, isolation).await
    }

    async fn of_plan(name: &str, plan: Plan, isolation: Isolation) -> Driven {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("place");
        std::fs::create_dir(&place).unwrap();
        let home = Home::at(folder.path().join("state")).unwrap();
        let id = RunId::parse(name).unwrap();
        let tasks = plan.tasks.len();
        let (run, created) = Run::create(plan, Now::default());
        let store = stores::open(&home).await.unwrap();
        let new = NewRun { id: id.clone(), directory: place.clone(), source: String::new(), tasks };
        let log = RunLog::create(&store, &new, &created).await.unwrap();
        let run_repo = (isolation != Isolation::None).then(|| {
            begin_repository(&place);
            let run_place = RunPlace { home: home.root(), id: &id, run: &run, directory: &place };
            run_place.move_in(Repository::of(&place).unwrap()).unwrap()
        });
        let hired = Arc::new(Mutex::new(None));
        let (giving, plan) = (hired.clone(), run.plan().clone());
        let world = World {
            log,
            claim: home.claim(&id).unwrap(),
            workspaces: Workspaces::new(place.clone(), run_repo, isolation),
            directory: place.clone(),
            output: folder.path().join("out"),
            ours: Vec::new(),
            conflict_monitor: None,
            examiner: None,
            reaper: None,
            shim: None,
            workers: Some(Box::new(move |link, _| {
                let remote = Remote::new(link, plan);
                *giving.lock().unwrap() = Some(remote.clone());
                remote
            })),
        };
        let options =
            Options { isolation: Some(isolation), lease: Some(LEASE), ..Options::with_slots(tasks as u32) };
        let (coordinator, mut notices) =
            Coordinator::new(run, Start { options, taken_over: None, reopen: false }, world).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = told.clone();
        tokio::spawn(async move {
            while let Some(notice) = notices.recv().await {
                telling.lock().unwrap().push(notice);
            }
        });
        let remote = hired.lock().unwrap().take().unwrap();
        let control = coordinator.control();
        Driven { folder, id, remote, control, driving: tokio::spawn(coordinator.run()), told }
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("place")
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    async fn wait_for_lines(&self, name: &str, count: usize) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.lines(name).len() < count {
            assert!(
                Instant::now() < until,
                "{name}: {:?}; {:?}",
                self.lines(name),
                self.told.lock().unwrap()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The end of the run, and its log.
    async fn ended(self) -> (Run, Vec<Record>, tempfile::TempDir) {
        let ended = tokio::time::timeout(Duration::from_secs(60), self.driving).await;
        let Finished { run, .. } = ended.expect("the run ends").unwrap().unwrap();
        assert!(process::alive(&self.id).is_empty());
        let home = Home::at(self.folder.path().join("state")).unwrap();
        let records = stores::open_to_look(&home).await.unwrap().load(&self.id, 0).await.unwrap();
        (run, records, self.folder)
    }
}

fn begin_repository(place: &Path) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(place).args(["-c", "user.name=U", "-c", "user.email=u@localhost"]).args(args);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(command.stdout(Stdio::null()).status().unwrap().success(), "git {args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(place.join("f"), "one\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
}

/// How often each event of this kind is in the log, by task.
fn count(records: &[Record], of: impl Fn(&Event) -> Option<TaskId>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for task in records.iter().filter_map(|record| of(&record.event)) {
        *counts.entry(task.to_string()).or_default() += 1;
    }
    counts
}

fn completed(event: &Event) -> Option<TaskId> {
    match event {
        Event::TaskCompleted { task, .. } => Some(task.clone()),
        _ => None,
    }
}

fn lost(event: &Event) -> Option<TaskId> {
    match event {
        Event::LeaseLost { task, .. } => Some(task.clone()),
        _ => None,
    }
}

fn each(names: &[&str]) -> BTreeMap<String, usize> {
    names.iter().map(|name| ((*name).to_owned(), 1)).collect()
}

const TWO: [(&str, &str); 2] = [
    ("a", "echo a >> ../begun; while [ ! -e ../go ]; do sleep 0.05; done; echo a >> ../done"),
    ("b", "echo b >> ../begun; while [ ! -e ../go ]; do sleep 0.05; done; echo b >> ../done"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_in_another_process_does_the_work() {
    let driven = Driven::start("elsewhere", &TWO, Isolation::None).await;
    // Nothing begins before there is a worker.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(driven.lines("begun").is_empty());
    let mut worker = hire(&driven.remote, "w1").await;
    driven.wait_for_lines("begun", 2).await;
    assert_ne!(worker.0.child().id(), std::process::id());
    std::fs::write(driven.folder.path().join("go"), "").unwrap();
    let (run, records, _folder) = driven.ended().await;
    assert!(run.all_ended());
    assert_eq!(count(&records, completed), each(&["a", "b"]));
    assert!(count(&records, lost).is_empty());
    let leased = count(&records, |event| match event {
        Event::AttemptLeased { task, worker, .. } if worker.as_str() == "w1" => Some(task.clone()),
        _ => None,
    });
    assert_eq!(leased, each(&["a", "b"]));
    let noted = |record: &Record| matches!(record.event, Event::ProcessStarted { .. });
    assert!(records.iter().any(noted), "what it reports is recorded");
}

/// A4.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_loses_its_tasks_to_the_next() {
    let driven = Driven::start("killed", &TWO, Isolation::None).await;
    let mut first = hire(&driven.remote, "w1").await;
    driven.wait_for_lines("begun", 2).await;
    first.signal(Signal::KILL);
    drop(first);
    let second = hire(&driven.remote, "w2").await;
    driven.wait_for_lines("begun", 4).await;
    std::fs::write(driven.folder.path().join("go"), "").unwrap();
    let (run, records, folder) = driven.ended().await;
    drop(second);
    assert!(run.all_ended());
    assert_eq!(count(&records, lost), each(&["a", "b"]));
    assert_eq!(count(&records, completed), each(&["a", "b"]));
    let mut done: Vec<String> =
        std::fs::read_to_string(folder.path().join("done")).unwrap().lines().map(str::to_owned).collect();
    done.sort();
    assert_eq!(done, ["a", "b"], "what the first had started was ended before it could finish");
    assert!(run.tasks().all(|(_, progress)| progress.tried == 1), "it is no failed try");
}

/// F4. A worker that was silent for longer than its lease comes back: what it reports is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_worker_loses_its_tasks_and_what_it_says_later_is_refused() {
    let driven = Driven::start("silent", &TWO, Isolation::None).await;
    let mut first = hire(&driven.remote, "w1").await;
    driven.wait_for_lines("begun", 2).await;
    first.signal(Signal::STOP);
    let second = hire(&driven.remote, "w2").await;
    // When its lease has ended, and not before.
    let since = Instant::now();
    driven.wait_for_lines("begun", 4).await;
    assert!(since.elapsed() > Duration::from_millis(LEASE.0 / 2), "{:?}", since.elapsed());
    first.signal(Signal::CONT);
    // It is heard of again while the others are at work.
    tokio::time::sleep(Duration::from_millis(600)).await;
    std::fs::write(driven.folder.path().join("go"), "").unwrap();
    let (run, records, _folder) = driven.ended().await;
    drop((first, second));
    assert_eq!(count(&records, lost), each(&["a", "b"]));
    assert_eq!(count(&records, completed), each(&["a", "b"]));
    assert!(run.tasks().all(|(_, progress)| progress.last_attempt == 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn work_in_worktrees_of_another_process_lands() {
    let tasks = [("a", "echo a > a.txt; echo a >> ../../../../begun; sleep 0.3"), ("b", "echo b > b.txt")];
    let driven = Driven::start("landing", &tasks, Isolation::Worktree).await;
    let worker = hire(&driven.remote, "w1").await;
    let place = driven.place();
    let (run, records, _folder) = driven.ended().await;
    drop(worker);
    assert_eq!(count(&records, completed), each(&["a", "b"]), "{:?}", run.outcome());
    let show = |path: &str| {
        let revision = format!("conductor/landing:{path}");
        let shown = Command::new("git").current_dir(&place).args(["show", &revision]).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    };
    assert_eq!((show("a.txt"), show("b.txt")), ("a\n".to_owned(), "b\n".to_owned()));
}

/// Asks before it does anything. Once that is allowed, it takes down what it is told until it is to stop.
const ASKER: &str = r#"#!/bin/sh
read -r task
printf '%s\n' "$task" >> ../tasks
case "$task" in
  *"It is allowed"*) ;;
  *)
    echo '{"type":"question","id":1,"tool":"Bash","input":{"command":"terraform apply"}}'
    read -r refused
    read -r interrupt
    exit 1 ;;
esac
echo x >> ../begun
while read -r line; do
  printf '%s\n' "$line" >> ../heard
  case "$line" in *interrupt*) exit 1 ;; esac
done
"#;

/// What goes both ways while an agent works passes through the port: its question, the answer, a message, and that it is to stop.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_elsewhere_asks_is_told_and_is_stopped() {
    let text =
        "tasks: [{ id: a, prompt: Deploy it, agent: asker, permissions: { ask: ['Bash(terraform*)'] } }]";
    let plan = file::load(&Source::new("tasks.yaml", text.into()).unwrap()).unwrap().plan;
    let driven = Driven::of_plan("asking", plan, Isolation::None).await;
    let bin = driven.folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("conductor-agent-asker");
    std::fs::write(&program, ASKER).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let home = driven.folder.path().join("home").into_os_string();
    let worker = hire_with(&driven.remote, "w1", &[("PATH", path), ("HOME", home)]).await;
    driven.wait_for_lines("tasks", 1).await;
    let task = || TaskId::parse("a").unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while driven.lines("begun").is_empty() {
        assert!(Instant::now() < until, "{:?}; {:?}", driven.lines("tasks"), driven.told.lock().unwrap());
        // Refused until its question has come through.
        let answer = Answer { allow: true, words: Some("mind the cost".into()), by: Answerer::Person };
        driven.control.ask(Request::Answer { task: task(), answer });
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let told = driven.lines("tasks");
    assert!(told.len() == 2 && told[1].contains("mind the cost"), "{told:?}");
    driven.control.ask(Request::Tell { task: task(), words: "mind the gap".into() });
    driven.wait_for_lines("heard", 1).await;
    driven.control.ask(Request::Cancel(task()));
    let (run, records, folder) = driven.ended().await;
    drop(worker);
    let heard = std::fs::read_to_string(folder.path().join("heard")).unwrap();
    assert!(heard.contains("mind the gap") && heard.contains(r#"{"type":"interrupt"}"#), "{heard}");
    let answered = |record: &Record| matches!(record.event, Event::QuestionAnswered { .. });
    assert_eq!(records.iter().filter(|record| answered(record)).count(), 1);
    assert_eq!(run.progress(0).state.status().name(), "cancelled");
    let leased = count(&records, |event| match event {
        Event::AttemptLeased { task, .. } => Some(task.clone()),
        _ => None,
    });
    assert_eq!(leased["a"], 2, "both attempts were the worker's");
}
