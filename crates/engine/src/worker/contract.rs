//! What the port `Dispatch` says, held against all that carries attempts out: one test body, each of the backends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::{Command, Isolation, Limits, Plan, Task, Work};
use conductor_core::run::event::Outcome;
use conductor_core::schedule::Input;
use conductor_core::values::ids::{Attempt, RunId, TaskId, WorkerId};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::Worker;
use super::local::Local;
use super::serving::attend;
use crate::dispatch::remote::{Abilities, Remote};
use crate::dispatch::sites::Sites;
use crate::dispatch::{Dispatch, Link, Message, Order, RunContext, Stop};

const BEAT: Duration = Duration::from_millis(100);

/// `a` says which attempt it is and ends, `b` says so and does not end.
fn plan() -> Arc<Plan> {
    let task = |name: &str, line: &str| {
        Task::new(TaskId::parse(name).unwrap(), Work::Run(Command::Line(line.into())))
    };
    let ends = task("a", "echo a $CONDUCTOR_ATTEMPT >> begun");
    let goes_on = task("b", "echo b $CONDUCTOR_ATTEMPT >> begun; exec sleep 1000");
    Arc::new(Plan { tasks: vec![ends, goes_on], ..Plan::default() })
}

struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    fn new() -> Ground {
        let folder = tempfile::tempdir().unwrap();
        for name in ["place", "out"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Ground { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn order(&self, place: usize, attempt: u32) -> Order {
        let context = RunContext {
            run: RunId::parse("r1").unwrap(),
            home: self.path("out"),
            directory: self.path("place"),
            output: self.path("out"),
            ours: Vec::new(),
            isolation: Isolation::None,
            in_repository: false,
            limits: Limits::default(),
        };
        let (context, plan, attempt) = (Arc::new(context), plan(), Attempt(attempt));
        let (task, choice, start_from) = (plan.tasks[place].id.clone(), None, None);
        Order { context, task, attempt, executor: 1, choice, start_from, plan, place }
    }

    fn local(&self) -> (Arc<dyn Dispatch>, UnboundedReceiver<Message>) {
        let (reports, messages) = mpsc::unbounded_channel();
        let (run, notices) = (RunId::parse("r1").unwrap(), mpsc::unbounded_channel().0);
        let plan = plan().as_ref().clone();
        let (place, out) = (self.path("place"), self.path("out"));
        let worker = Worker::for_questions(run, plan, place, out, notices, reports);
        (Arc::new(Local::new(Arc::new(worker))), messages)
    }

    /// With a worker as another process has it; in place of the line between them are two channels.
    fn remote() -> (Arc<dyn Dispatch>, UnboundedReceiver<Message>) {
        let (reports, messages) = mpsc::unbounded_channel();
        let remote = Remote::new(Link::new(reports, mpsc::unbounded_channel().0), plan());
        let (out, mut told) = mpsc::unbounded_channel();
        let (order, orders) = mpsc::unbounded_channel();
        let (say, mut said) = mpsc::unbounded_channel();
        let name = WorkerId::parse("w1").unwrap();
        remote.take_in(&name, out, Abilities::default()).unwrap();
        tokio::spawn(
            async move { while told.recv().await.is_some_and(|line| order.send(Ok(line)).is_ok()) {} },
        );
        tokio::spawn(attend(orders, say, BEAT, None));
        let hearing = remote.clone();
        tokio::spawn(async move {
            while let Some(line) = said.recv().await {
                hearing.hear(&name, line).unwrap();
            }
        });
        (remote, messages)
    }
}

/// The next end of an attempt; what is waited for meanwhile is recorded.
async fn ended(messages: &mut UnboundedReceiver<Message>) -> (String, Attempt, Outcome) {
    loop {
        let input = match messages.recv().await.unwrap() {
            Message::Input(input) => input,
            Message::Told(input, waits) => {
                let _ = waits.send(Ok(()));
                input
            }
            other => panic!("{other:?}"),
        };
        if let Input::AttemptEnded { task, attempt, outcome, .. } = input {
            return (task.to_string(), attempt, outcome);
        }
    }
}

async fn wait_for_line(file: &Path, line: &str) {
    while !std::fs::read_to_string(file).unwrap_or_default().lines().any(|found| found == line) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn keeps_to_the_port(
    ground: &Ground,
    (dispatch, mut messages): (Arc<dyn Dispatch>, UnboundedReceiver<Message>),
) {
    let (a, b) = (TaskId::parse("a").unwrap(), TaskId::parse("b").unwrap());
    let begun = ground.path("place/begun");
    // A start comes after its stop where what its executor left is still swept. It does not begin.
    dispatch.stop(&a, Attempt(1), Stop::Ask);
    dispatch.start(ground.order(0, 1));
    assert_eq!(ended(&mut messages).await, ("a".into(), Attempt(1), Outcome::Interrupted));
    assert!(!begun.exists());
    // That says nothing of the next, and neither does one that comes when all is over.
    for attempt in [2, 3] {
        dispatch.start(ground.order(0, attempt));
        assert_eq!(ended(&mut messages).await, ("a".into(), Attempt(attempt), Outcome::Succeeded));
        dispatch.stop(&a, Attempt(attempt), Stop::Ask);
    }
    // What is at work is ended.
    dispatch.start(ground.order(1, 1));
    wait_for_line(&begun, "b 1").await;
    dispatch.stop(&b, Attempt(1), Stop::Kill);
    let (task, attempt, outcome) = ended(&mut messages).await;
    assert_eq!((task.as_str(), attempt), ("b", Attempt(1)));
    assert_ne!(outcome, Outcome::Succeeded);
    assert_eq!(std::fs::read_to_string(&begun).unwrap(), "a 2\na 3\nb 1\n");
}

#[tokio::test]
async fn this_process_keeps_to_the_port() {
    let ground = Ground::new();
    keeps_to_the_port(&ground, ground.local()).await;
}

#[tokio::test]
async fn workers_in_other_processes_keep_to_the_port() {
    let ground = Ground::new();
    keeps_to_the_port(&ground, Ground::remote()).await;
}

/// What works in the user's own directory, in a run that has workers elsewhere.
#[tokio::test]
async fn both_together_keep_to_the_port() {
    let ground = Ground::new();
    let (here, messages) = ground.local();
    let (elsewhere, _none) = Ground::remote();
    keeps_to_the_port(&ground, (Arc::new(Sites::new(elsewhere, here)), messages)).await;
}
