use std::time::Instant;

use conductor_core::plan::{Command, Dependency, Isolation, Limits, Preparation, Priority, Task, Work};
use conductor_core::run::event::Process;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;
use tokio::io::{BufReader, DuplexStream};

use conductor_core::schedule::Request;

use super::*;
use crate::dispatch::wire::{Answer, Call};
use crate::dispatch::{Message, Query, RunContext};

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

    /// An order and its number, and nothing more than that.
    async fn ordered(&mut self) -> (u64, Order) {
        match self.hears().await {
            ToWorker::Start { number, order, code: None } => (number, *order),
            other => panic!("{other:?} instead of an order"),
        }
    }

    async fn offers(&mut self, (number, order): &(u64, Order), offer: u64) {
        let (task, attempt, number) = (order.task.clone(), order.attempt, *number);
        self.say(FromWorker::Offer { task, attempt, number, offer }).await;
    }

    /// An order that was offered and granted.
    async fn started(&mut self) -> Order {
        let ordered = self.ordered().await;
        self.offers(&ordered, 7).await;
        assert!(matches!(self.hears().await, ToWorker::Grant { offer: 7, .. }));
        ordered.1
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
    let again = worker.ordered().await;
    assert_eq!(again.1.attempt, Attempt(2));
    assert!(matches!(worker.hears().await, ToWorker::Acknowledged { report: 1, refused: Some(_) }));
    worker.offers(&again, 1).await;
    assert!(matches!(coordinator.input().await, Input::LeaseRenewed { attempt: Attempt(2), .. }));
}

#[tokio::test]
async fn what_is_not_wanted_any_more_when_it_is_offered_is_not_granted() {
    let mut coordinator = Coordinator::new();
    let mut worker = Played::taken_in(&coordinator.remote, "w1").await;
    coordinator.remote.start(order(0, 1));
    let ordered = worker.ordered().await;
    coordinator.remote.stop(&id("a"), Attempt(1), Stop::Ask);
    let ended = coordinator.input().await;
    assert!(matches!(ended, Input::AttemptEnded { outcome: Outcome::Interrupted, .. }), "{ended:?}");
    assert!(matches!(worker.hears().await, ToWorker::Withdrawn { .. }));
    worker.offers(&ordered, 1).await;
    assert!(matches!(worker.hears().await, ToWorker::Withdrawn { .. }));
    assert!(coordinator.messages.try_recv().is_err(), "there is no lease");
}

/// Its answer was late, and it is given the attempt again: what it offered first counts no more, and what it offers for the
/// second order does.
#[tokio::test]
async fn an_offer_counts_for_the_order_that_it_answers() {
    let mut coordinator = Coordinator::new();
    let mut worker = Played::taken_in(&coordinator.remote, "w1").await;
    coordinator.remote.start(order(0, 1));
    let first = worker.ordered().await;
    coordinator.remote.take_back_unanswered(Instant::now() + handing::OFFER);
    assert!(matches!(worker.hears().await, ToWorker::Withdrawn { number, .. } if number == first.0));
    worker.say(FromWorker::Alive { attempts: Vec::new(), free: None }).await;
    let second = worker.ordered().await;
    assert_ne!(first.0, second.0);
    worker.offers(&first, 1).await;
    assert!(matches!(worker.hears().await, ToWorker::Withdrawn { number, .. } if number == first.0));
    assert!(coordinator.messages.try_recv().is_err(), "there is no lease");
    worker.offers(&second, 2).await;
    assert!(matches!(worker.hears().await, ToWorker::Grant { offer: 2, .. }));
    assert!(matches!(coordinator.input().await, Input::LeaseRenewed { .. }));
}

#[tokio::test]
async fn what_is_reported_of_an_attempt_that_was_not_granted_is_refused() {
    let mut coordinator = Coordinator::new();
    let mut worker = Played::taken_in(&coordinator.remote, "w1").await;
    coordinator.remote.start(order(0, 1));
    worker.ordered().await;
    worker.say(FromWorker::Report { number: 1, input: started("a", 1) }).await;
    assert!(matches!(worker.hears().await, ToWorker::Acknowledged { report: 1, refused: Some(_) }));
    assert!(coordinator.messages.try_recv().is_err());
}

#[tokio::test]
async fn what_one_declines_goes_to_another_and_it_gets_no_more_until_it_has_room() {
    let coordinator = Coordinator::new();
    let mut first = Played::taken_in(&coordinator.remote, "w1").await;
    coordinator.remote.start(order(0, 1));
    let ordered = first.ordered().await;
    let mut second = Played::taken_in(&coordinator.remote, "w2").await;
    let (task, attempt, number) = (ordered.1.task.clone(), ordered.1.attempt, ordered.0);
    first.say(FromWorker::Declined { task, attempt, number }).await;
    assert_eq!(second.started().await.task, id("a"));
    coordinator.remote.start(order(2, 1));
    assert_eq!(second.started().await.task, id("c"), "the first is full");
    first.say(FromWorker::Alive { attempts: Vec::new(), free: Some(1) }).await;
    coordinator.remote.start(order(1, 1));
    assert_eq!(first.started().await.task, id("b"));
}

/// A worker that is reached without a line.
fn joins(
    coordinator: &Coordinator,
    name: &str,
    slots: u32,
    labels: &[&str],
) -> mpsc::UnboundedReceiver<ToWorker> {
    let (out, heard) = mpsc::unbounded_channel();
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    let abilities = Abilities { slots: Some(slots), labels, is_drained: false };
    coordinator.remote.take_in(&WorkerId::parse(name).unwrap(), out, abilities).unwrap();
    heard
}

fn orders(heard: &mut mpsc::UnboundedReceiver<ToWorker>) -> Vec<String> {
    let mut tasks = Vec::new();
    while let Ok(line) = heard.try_recv() {
        if let ToWorker::Start { order, .. } = line {
            tasks.push(order.task.to_string());
        }
    }
    tasks
}

fn requiring(place: usize, label: &str) -> Order {
    let order = order(place, 1);
    let mut plan = order.plan.as_ref().clone();
    plan.tasks[place].requires = vec![label.to_owned()];
    Order { plan: Arc::new(plan), ..order }
}

#[tokio::test]
async fn a_worker_gets_what_its_labels_and_its_room_allow() {
    let coordinator = Coordinator::new();
    let mut plain = joins(&coordinator, "w1", 1, &[]);
    coordinator.remote.start(requiring(0, "gpu"));
    assert!(orders(&mut plain).is_empty(), "it has not the label");
    coordinator.remote.start(order(1, 1));
    coordinator.remote.start(order(2, 1));
    assert_eq!(orders(&mut plain), ["b"], "it has room for one");
    let mut able = joins(&coordinator, "w2", 2, &["gpu", "linux"]);
    assert_eq!(orders(&mut able), ["a", "c"]);
}

#[tokio::test]
async fn one_that_is_drained_gets_nothing_more() {
    let coordinator = Coordinator::new();
    let mut worker = joins(&coordinator, "w1", 5, &[]);
    let name = WorkerId::parse("w1").unwrap();
    coordinator.remote.drain(&name, true);
    coordinator.remote.start(order(0, 1));
    assert!(orders(&mut worker).is_empty());
    coordinator.remote.drain(&name, false);
    assert_eq!(orders(&mut worker), ["a"]);
}

/// As it would be if its task had this priority.
fn urgent(place: usize, attempt: u32, priority: Priority) -> Order {
    let order = order(place, attempt);
    let mut plan = order.plan.as_ref().clone();
    plan.tasks[place].priority = priority;
    Order { plan: Arc::new(plan), ..order }
}

#[tokio::test]
async fn what_is_more_urgent_goes_before_all_that_waits_however_long() {
    let mut coordinator = Coordinator::new();
    let mut worker = joins(&coordinator, "w1", 1, &[]);
    let name = WorkerId::parse("w1").unwrap();
    coordinator.remote.start(order(0, 1));
    coordinator.remote.start(urgent(1, 1, Priority(3)));
    coordinator.remote.start(urgent(1, 2, Priority(3)));
    coordinator.remote.start(urgent(2, 3, Priority(0)));
    assert_eq!(orders(&mut worker), ["a"], "no more is with it than it has room for");
    let mut order_of = Vec::new();
    for (number, (task, attempt)) in [("a", 1), ("c", 3), ("b", 1), ("b", 2)].into_iter().enumerate() {
        let (task, attempt) = (id(task), Attempt(attempt));
        let say = |line| coordinator.remote.hear(&name, line).unwrap();
        let number = number as u64 + 1;
        say(FromWorker::Offer { task: task.clone(), attempt, number, offer: 1 });
        let input =
            Input::AttemptEnded { task, attempt, outcome: Outcome::Succeeded, change: None, phases: None };
        say(FromWorker::Report { number, input });
        order_of.extend(orders(&mut worker));
        while coordinator.messages.try_recv().is_ok() {}
    }
    assert_eq!(order_of, ["c", "b", "b"]);
}

#[tokio::test]
async fn what_the_user_makes_more_urgent_while_it_waits_goes_first() {
    let coordinator = Coordinator::new();
    coordinator.remote.prioritize(&id("c"), Priority(0));
    for place in [0, 1, 2] {
        coordinator.remote.start(order(place, 1));
    }
    coordinator.remote.prioritize(&id("b"), Priority(0));
    let mut worker = joins(&coordinator, "w1", 3, &[]);
    assert_eq!(orders(&mut worker), ["b", "c", "a"], "of those that are as urgent the one that came first");
}

/// What a worker was offered and is lost with goes before what has waited behind it, and not before what is more urgent.
#[tokio::test]
async fn what_a_lost_worker_was_offered_has_its_place_again() {
    let coordinator = Coordinator::new();
    let first = joins(&coordinator, "w1", 1, &[]);
    coordinator.remote.start(order(0, 1));
    coordinator.remote.start(order(1, 1));
    coordinator.remote.start(urgent(2, 1, Priority(1)));
    drop(first);
    coordinator.remote.lose(&WorkerId::parse("w1").unwrap(), "gone");
    let mut second = joins(&coordinator, "w2", 3, &[]);
    assert_eq!(orders(&mut second), ["c", "a", "b"]);
}

/// Ten thousand wait, of which none can be done; one that can is given out at once each time.
#[tokio::test]
async fn what_waits_for_other_labels_holds_nothing_up() {
    let coordinator = Coordinator::new();
    let mut worker = joins(&coordinator, "w1", 1_000, &[]);
    let waits = requiring(0, "gpu");
    for number in 0..10_000 {
        coordinator.remote.start(Order { attempt: Attempt(number), ..waits.clone() });
    }
    let begun = std::time::Instant::now();
    for number in 0..1_000 {
        coordinator.remote.start(Order { task: id(&format!("t{number}")), ..order(1, 1) });
    }
    assert_eq!(orders(&mut worker).len(), 1_000);
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// By the orders that it was granted: what it says of others, and what it asks beside them, is not its to say or to know.
#[tokio::test]
async fn a_worker_parks_and_sees_only_what_its_attempts_need() {
    let until = Timestamp(i64::MAX);
    let parked = |agent: &str| Input::ProviderParked { agent: agent.into(), until };
    for has_tools in [false, true] {
        let mut coordinator = Coordinator::new();
        let mut worker = Played::taken_in(&coordinator.remote, "w1").await;
        worker.say(FromWorker::Report { number: 1, input: parked("claude") }).await;
        assert!(matches!(worker.hears().await, ToWorker::Acknowledged { report: 1, refused: Some(_) }));
        let mut order = order(0, 1);
        let mut plan = order.plan.as_ref().clone();
        (plan.tasks[0].agent, plan.tasks[0].report) = (Some("claude".into()), has_tools);
        order.plan = Arc::new(plan);
        coordinator.remote.start(order);
        worker.started().await;
        coordinator.input().await;
        worker.say(FromWorker::Report { number: 2, input: parked("codex") }).await;
        assert!(matches!(worker.hears().await, ToWorker::Acknowledged { report: 2, refused: Some(_) }));
        worker.say(FromWorker::Report { number: 3, input: parked("claude") }).await;
        assert_eq!(coordinator.input().await, parked("claude"));
        assert!(matches!(worker.hears().await, ToWorker::Acknowledged { report: 3, refused: None }));
        for query in [Query::Snapshot, Query::Why(id("b")), Query::Heard(id("b"))] {
            worker.say(FromWorker::Call { call: 1, what: Call::Look(query) }).await;
            assert!(matches!(worker.hears().await, ToWorker::Answered { answer: Answer::Refused(_), .. }));
        }
        worker.say(FromWorker::Call { call: 2, what: Call::Look(Query::Tasks) }).await;
        match has_tools {
            true => {
                assert!(matches!(coordinator.messages.recv().await, Some(Message::Look(Query::Tasks, _))))
            }
            false => {
                let refused = worker.hears().await;
                assert!(matches!(refused, ToWorker::Answered { call: 2, answer: Answer::Refused(_) }));
            }
        }
    }
}

/// What a task says goes to the worker that does it, with its order.
#[test]
fn all_workers_elsewhere_are_told_no_more_of_tasks_than_their_names() {
    let mut plan = plan().as_ref().clone();
    plan.tasks[0].work = Work::Prompt("a word for one".into());
    plan.tasks[0].env.insert("PLAIN".into(), "a value for one".into());
    let keep = vec!["target".to_owned()];
    plan.tasks[1].preparation = Some(Box::new(Preparation { keep, ..Preparation::default() }));
    let outline = outline(&plan);
    let text = serde_json::to_string(&outline).unwrap();
    assert!(!text.contains("for one"), "{text}");
    assert!(plan.tasks.iter().map(|task| &task.id).eq(outline.tasks.iter().map(|task| &task.id)));
    assert_eq!(outline.tasks[1].keep(), ["target"]);
}
