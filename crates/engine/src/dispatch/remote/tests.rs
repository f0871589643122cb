use conductor_core::plan::{Command, Dependency, Isolation, Limits, Task, Work};
use conductor_core::run::event::Process;
use conductor_core::values::ids::RunId;
use tokio::io::{BufReader, DuplexStream};

use super::*;
use crate::dispatch::RunContext;

fn id(name: &str) -> TaskId {
    TaskId::parse(name).unwrap()
}

/// `b` waits for `a`; `c` has to do with neither.
fn plan() -> Arc<Plan> {
    let task = |name: &str| Task::new(id(name), Work::Run(Command::Line("true".into())));
    let mut tasks = vec![task("a"), task("b"), task("c")];
    tasks[1].dependencies.push(Dependency::on(id("a")));
    Arc::new(Plan { tasks, ..Plan::default() })
}

fn order(place: usize, attempt: u32) -> Order {
    let context = RunContext {
        run: RunId::parse("r1").unwrap(),
        home: "/state".into(),
        directory: "/work".into(),
        output: "/out".into(),
        ours: Vec::new(),
        isolation: Isolation::None,
        in_repository: false,
        limits: Limits::default(),
    };
    let (plan, attempt) = (plan(), Attempt(attempt));
    let (task, executor) = (plan.tasks[place].id.clone(), 1);
    Order { context: Arc::new(context), task, attempt, executor, choice: None, start_from: None, plan, place }
}

/// A worker at the other end, played by the test.
struct Played {
    from: BufReader<tokio::io::ReadHalf<DuplexStream>>,
    to: tokio::io::WriteHalf<DuplexStream>,
}

impl Played {
    /// Says hello as this worker, and whether it was taken in.
    async fn hello(remote: &Arc<Remote>, name: &str, version: u32) -> (Played, io::Result<WorkerId>) {
        let (here, there) = tokio::io::duplex(1 << 16);
        let (from, to) = tokio::io::split(here);
        let mut played = Played { from: BufReader::new(from), to };
        let worker = WorkerId::parse(name).unwrap();
        played.say(FromWorker::Hello { version, worker }).await;
        let (their_from, their_to) = tokio::io::split(there);
        let admitted = remote.admit(their_from, their_to).await;
        assert!(matches!(played.hears().await, ToWorker::Hello { version: wire::VERSION }));
        (played, admitted)
    }

    async fn taken_in(remote: &Arc<Remote>, name: &str) -> Played {
        let (mut played, admitted) = Played::hello(remote, name, wire::VERSION).await;
        admitted.unwrap();
        assert!(matches!(played.hears().await, ToWorker::Amended { plan } if plan.tasks.len() == 3));
        played
    }

    async fn say(&mut self, line: FromWorker) {
        wire::send(&mut self.to, &line).await.unwrap();
    }

    async fn hears(&mut self) -> ToWorker {
        wire::receive(&mut self.from).await.unwrap().expect("the line is open")
    }

    async fn started(&mut self) -> Order {
        match self.hears().await {
            ToWorker::Start(order) => *order,
            other => panic!("{other:?} instead of an order"),
        }
    }
}

fn started(task: &str, attempt: u32) -> Input {
    let process = Process { pid: 1, start_time: 1 };
    Input::ProcessStarted { task: id(task), attempt: Attempt(attempt), process }
}

struct Coordinator {
    remote: Arc<Remote>,
    messages: mpsc::UnboundedReceiver<Message>,
}

impl Coordinator {
    fn new() -> Coordinator {
        let (reports, messages) = mpsc::unbounded_channel();
        let link = Link::new(reports, mpsc::unbounded_channel().0);
        Coordinator { remote: Remote::new(link, plan()), messages }
    }

    /// The next input, recorded where that is waited for.
    async fn input(&mut self) -> Input {
        match self.messages.recv().await.unwrap() {
            Message::Input(input) => input,
            Message::Told(input, waits) => {
                let _ = waits.send(Ok(()));
                input
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_worker_of_another_version_or_of_a_known_name_is_refused() {
    let coordinator = Coordinator::new();
    let (_, other) = Played::hello(&coordinator.remote, "w1", wire::VERSION + 1).await;
    assert_eq!(
        other.unwrap_err().to_string(),
        format!("worker w1 speaks version {}, this coordinator speaks {}", wire::VERSION + 1, wire::VERSION)
    );
    let _first = Played::taken_in(&coordinator.remote, "w1").await;
    let (_, same) = Played::hello(&coordinator.remote, "w1", wire::VERSION).await;
    assert_eq!(same.unwrap_err().to_string(), "there is a worker w1 already");
}

#[tokio::test]
async fn an_order_waits_for_a_worker_and_carries_what_it_speaks_of() {
    let mut coordinator = Coordinator::new();
    coordinator.remote.start(order(1, 3));
    let mut worker = Played::taken_in(&coordinator.remote, "w1").await;
    let got = worker.started().await;
    assert!(got.is_whole());
    assert_eq!((got.task.as_str(), got.attempt), ("b", Attempt(3)));
    let names: Vec<&str> = got.plan.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
    let leased =
        Input::LeaseRenewed { task: id("b"), attempt: Attempt(3), worker: WorkerId::parse("w1").unwrap() };
    assert_eq!(coordinator.input().await, leased);
    // The next goes to the one that has nothing.
    let mut second = Played::taken_in(&coordinator.remote, "w2").await;
    coordinator.remote.start(order(2, 1));
    assert_eq!(second.started().await.task, id("c"));
}

#[tokio::test]
async fn what_waits_for_a_worker_and_is_stopped_never_begins() {
    let mut coordinator = Coordinator::new();
    coordinator.remote.start(order(0, 1));
    coordinator.remote.stop(&id("a"), Attempt(1), Stop::Ask);
    let ended = coordinator.input().await;
    assert!(matches!(ended, Input::AttemptEnded { outcome: Outcome::Interrupted, .. }), "{ended:?}");
}

#[tokio::test]
async fn a_report_is_passed_on_once_and_acknowledged_when_it_is_recorded() {
    let mut coordinator = Coordinator::new();
    let mut worker = Played::taken_in(&coordinator.remote, "w1").await;
    coordinator.remote.start(order(0, 1));
    worker.started().await;
    coordinator.input().await;
    for _ in 0..3 {
        worker.say(FromWorker::Report { number: 1, input: started("a", 1) }).await;
    }
    worker.say(FromWorker::Report { number: 2, input: started("b", 1) }).await;
    worker.say(FromWorker::Report { number: 3, input: started("a", 1) }).await;
    assert_eq!(coordinator.input().await, started("a", 1));
    assert_eq!(coordinator.input().await, started("a", 1), "the third, for the second is not its own");
    let mut acknowledged = Vec::new();
    while acknowledged.len() < 3 {
        match worker.hears().await {
            ToWorker::Acknowledged { report, refused } => acknowledged.push((report, refused)),
            other => panic!("{other:?}"),
        }
    }
    acknowledged.sort();
    let refused = Some("attempt 1 of b is not yours".to_owned());
    assert_eq!(acknowledged, [(1, None), (2, refused), (3, None)]);
}

#[tokio::test]
async fn a_worker_that_does_not_keep_to_the_rules_is_lost() {
    let lost = Input::WorkerLost { worker: WorkerId::parse("w1").unwrap() };
    let breaches = [
        FromWorker::Report { number: 2, input: started("a", 1) },
        FromWorker::Report { number: 1, input: Input::TimerDue },
        FromWorker::Report { number: 1, input: Input::Asked(Request::Stop) },
        FromWorker::Hello { version: wire::VERSION, worker: WorkerId::parse("w1").unwrap() },
    ];
    for breach in breaches {
        let mut coordinator = Coordinator::new();
        let mut worker = Played::taken_in(&coordinator.remote, "w1").await;
        worker.say(breach).await;
        assert_eq!(coordinator.input().await, lost);
    }
}

#[tokio::test]
async fn what_was_taken_from_a_worker_is_refused_and_it_gets_no_more_until_it_is_heard_of() {
    let mut coordinator = Coordinator::new();
    let mut worker = Played::taken_in(&coordinator.remote, "w1").await;
    coordinator.remote.start(order(0, 1));
    worker.started().await;
    coordinator.input().await;
    coordinator.remote.forget(&id("a"), Attempt(1));
    assert!(matches!(worker.hears().await, ToWorker::Stop { how: Stop::Kill, .. }));
    coordinator.remote.start(order(0, 2));
    assert!(coordinator.messages.try_recv().is_err(), "it waits");
    let outcome = Outcome::Succeeded;
    let (task, attempt) = (id("a"), Attempt(1));
    let input = Input::AttemptEnded { task, attempt, outcome, change: None, phases: None };
    worker.say(FromWorker::Report { number: 1, input }).await;
    assert_eq!(worker.started().await.attempt, Attempt(2));
    assert!(matches!(worker.hears().await, ToWorker::Acknowledged { report: 1, refused: Some(_) }));
    assert!(matches!(coordinator.input().await, Input::LeaseRenewed { attempt: Attempt(2), .. }));
}
