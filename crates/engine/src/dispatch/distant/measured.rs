//! How many orders workers on other machines get in a second, over real brokers, for `cargo xtask bench --workers`.
//!
//! The coordinator's side is the program's own, from the order to the report; the workers offer, and report an end as soon as
//! they are granted something. Nothing is carried out, and no other machine is there.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use conductor_core::plan::{self, Isolation, Limits, Plan, Task, Work};
use conductor_core::run::Run;
use conductor_core::run::event::Outcome;
use conductor_core::schedule::Input;
use conductor_core::values::ids::{Attempt, RunId, TaskId, WorkerId};
use conductor_core::values::units::{Now, Tick};
use conductor_testkit::servers::{self, RabbitMq, Redis, or_skip};
use tokio::sync::mpsc;

use super::carrier::Carrier;
use super::enrolment::Enrolment;
use super::exchanging::{DistantOptions, PROGRAM, signed};
use super::packet::{Channel, Queues};
use super::signing::{self, Key, KeyId};
use super::worker_side::{Profile, WorkerEffect, WorkerSide};
use crate::dispatch::broker::{self, Broker};
use crate::dispatch::wire::{FromWorker, ToWorker};
use crate::dispatch::{Dispatch, Link, Message, Order, RunContext, Stop};
use crate::git::Repository;
use crate::git::handover::Handover;
use crate::git::workspaces::RunPlace;
use crate::stores::Epoch;

const WORKERS: usize = 100;

/// As in a worker.
const LOOK: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn figures_of_orders_over_redis() {
    let Some(server) = or_skip(Redis::with(&["--appendonly", "yes", "--appendfsync", "everysec"])) else {
        return;
    };
    measure("redis", &server.address()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn figures_of_orders_over_rabbitmq() {
    let Some(server) = or_skip(RabbitMq::start()) else { return };
    measure("rabbitmq", &server.address()).await;
}

/// When attempts were granted here, and when their workers heard that.
#[derive(Default)]
struct Times {
    granted: BTreeMap<TaskId, Instant>,
    started: BTreeMap<TaskId, Instant>,
}

/// What is done in the user's own directory; there is no such task here.
struct Nowhere;

impl Dispatch for Nowhere {
    fn start(&self, order: Order) {
        panic!("{} is for this machine", order.task);
    }

    fn stop(&self, _: &TaskId, _: Attempt, _: Stop) {}

    fn say(&self, _: &TaskId, _: Attempt, _: String) {}

    fn forget(&self, _: &TaskId, _: Attempt) {}

    fn amend(&self, _: &Arc<Plan>) {}
}

async fn measure(name: &str, address: &str) {
    let many = servers::figure_size(10_000);
    let folder = tempfile::tempdir().unwrap();
    let times = Arc::new(Mutex::new(Times::default()));
    let enrolment = Enrolment::of(&folder.path().join("state"));
    let fleet = enrolment.key().unwrap().id();
    for number in 0..WORKERS {
        let (worker, key) = (WorkerId::parse(&format!("w{number}")).unwrap(), Key::generate().unwrap());
        let token = enrolment.invite(Some(worker.clone())).unwrap();
        enrolment.admit(&token.secret.id(), &worker, &key.id()).unwrap().unwrap();
        let broker = broker::open(address).unwrap();
        let profile = Profile { worker, slots: 1, labels: Vec::new(), program: PROGRAM.to_owned() };
        let simulated = Simulated {
            side: WorkerSide::new(profile, fleet.clone()),
            channel: None,
            key,
            carrier: Carrier::new(broker, Arc::new(|_| {})),
            began: Instant::now(),
            reported: 0,
            times: times.clone(),
        };
        tokio::spawn(simulated.work(fleet.clone(), number));
    }
    // What each worker is told of the whole plan, once, is not what is measured.
    let (dispatch, distant, mut messages) = engaged(folder.path(), address, &plan(1));
    let plan = plan(many);
    until_all_are_there(&*dispatch).await;
    let context = context(folder.path());
    let begun = Instant::now();
    for place in 0..many {
        let (context, plan, task) = (context.clone(), plan.clone(), plan.tasks[place].id.clone());
        let (attempt, executor) = (Attempt(1), place as u32 + 1);
        dispatch.start(Order {
            context,
            task,
            attempt,
            executor,
            choice: None,
            start_from: None,
            plan,
            place,
        });
    }
    let mut ended = 0;
    while ended < many {
        let waiting = tokio::time::timeout(Duration::from_secs(60), messages.recv());
        match waiting.await.expect("nothing has ended for a minute").unwrap() {
            Message::Input(Input::LeaseRenewed { task, .. }) => {
                times.lock().unwrap().granted.entry(task).or_insert_with(Instant::now);
            }
            Message::Told(Input::AttemptEnded { .. }, waits) => {
                ended += 1;
                let _ = waits.send(Ok(()));
            }
            _ => {}
        }
    }
    let rate = many as f64 / begun.elapsed().as_secs_f64();
    distant.finish(false).await;
    servers::figure(&format!("{name}.orders_per_s"), rate);
    servers::figure(&format!("{name}.claim_to_start_p99_ms"), times.lock().unwrap().percentile(99));
}

impl Times {
    /// In milliseconds, from the grant to the start.
    fn percentile(&self, part: usize) -> f64 {
        let took = |(task, started): (&TaskId, &Instant)| {
            Some(started.saturating_duration_since(*self.granted.get(task)?))
        };
        let mut took: Vec<Duration> = self.started.iter().filter_map(took).collect();
        took.sort();
        took[took.len() * part / 100].as_secs_f64() * 1e3
    }
}

/// What a run has of workers on other machines, over this broker.
fn engaged(
    folder: &Path,
    address: &str,
    plan: &Arc<Plan>,
) -> (Arc<dyn Dispatch>, super::DistantWorkers, mpsc::UnboundedReceiver<Message>) {
    let (place, remote) = (folder.join("place"), folder.join("remote.git"));
    std::fs::create_dir_all(&place).unwrap();
    git(&place, &["init", "-q", "-b", "main"]);
    git(&place, &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(folder, &["init", "-q", "--bare", "remote.git"]);
    let (home, id) = (folder.join("state"), run_id());
    let (run, _) = Run::create(plan.as_ref().clone(), Now::default());
    let run_place = RunPlace { home: &home, id: &id, run: &run, directory: &place };
    let run_repo = Arc::new(run_place.move_in(Repository::of(&place).unwrap()).unwrap());
    let handover =
        Handover::open(&home.join("claim"), run_repo, &place, &remote.display().to_string()).unwrap();
    let broker: Arc<dyn Broker> = broker::open(address).unwrap();
    let options =
        DistantOptions { broker, home, run: id, epoch: Epoch(1), handover, output: folder.join("out") };
    let (engage, distant) = options.engage(&run).unwrap();
    let (reports, messages) = mpsc::unbounded_channel();
    let (notices, mut told) = mpsc::unbounded_channel();
    tokio::spawn(async move { while told.recv().await.is_some() {} });
    (engage(Link::new(reports, notices), Arc::new(Nowhere)), distant, messages)
}

async fn until_all_are_there(dispatch: &dyn Dispatch) {
    let until = Instant::now() + Duration::from_secs(60);
    while dispatch.workers().len() < WORKERS {
        assert!(Instant::now() < until, "{} workers are there", dispatch.workers().len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=U", "-c", "user.email=u@localhost"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    assert!(command.status().unwrap().success(), "git {args:?}");
}

fn run_id() -> RunId {
    RunId::parse("r1").unwrap()
}

fn plan(many: usize) -> Arc<Plan> {
    let task = |number: usize| {
        let id = TaskId::parse(&format!("t{number}")).unwrap();
        Task::new(id, Work::Run(plan::Command::Line("true".into())))
    };
    Arc::new(Plan { tasks: (0..many).map(task).collect(), ..Plan::default() })
}

fn context(folder: &Path) -> Arc<RunContext> {
    Arc::new(RunContext {
        run: run_id(),
        home: folder.join("state"),
        directory: folder.join("place"),
        output: folder.join("out"),
        ours: Vec::new(),
        isolation: Isolation::Worktree,
        in_repository: true,
        limits: Limits::default(),
    })
}

/// A worker that carries nothing out.
struct Simulated {
    side: WorkerSide,
    channel: Option<Channel>,
    key: Key,
    carrier: Carrier,
    began: Instant,
    reported: u64,
    times: Arc<Mutex<Times>>,
}

impl Simulated {
    async fn work(mut self, fleet: KeyId, number: usize) {
        let (heard, mut incoming) = mpsc::channel(256);
        let worker = WorkerId::parse(&format!("w{number}")).unwrap();
        self.carrier.take(Queues::of(&fleet).worker(&worker), heard);
        let mut looks = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                Some((queue, message)) = incoming.recv() => {
                    let (from, body) = signing::open(&queue, &message).unwrap();
                    let packet = serde_json::from_slice(body).unwrap();
                    let now = self.now();
                    let session = format!("{:032x}", u128::from(fastrand::u64(..)));
                    // What is of a session that is over is refused.
                    let effects = self.side.hear(now, &from, packet, || session).unwrap_or_default();
                    self.perform(effects);
                }
                _ = looks.tick() => {}
            }
            let effects = self.side.due(self.now());
            self.perform(effects);
        }
    }

    fn now(&self) -> Tick {
        Tick(self.began.elapsed().as_millis() as u64)
    }

    fn perform(&mut self, effects: Vec<WorkerEffect>) {
        for effect in effects {
            match effect {
                WorkerEffect::Began(_, channel) => self.channel = Some(channel),
                WorkerEffect::Heard(run, line) => self.hear(&run, serde_json::from_str(&line).unwrap()),
                WorkerEffect::Send(queue, packet) => {
                    let message = signed(&self.key, &queue, &packet).unwrap();
                    self.carrier.put(queue, message);
                }
                WorkerEffect::Ended { .. } | WorkerEffect::Tell(_) => {}
            }
        }
    }

    fn hear(&mut self, run: &RunId, line: ToWorker) {
        match line {
            ToWorker::Start { number, order, .. } => {
                let (task, attempt) = (order.task.clone(), order.attempt);
                self.say(run, &FromWorker::Offer { task, attempt, number, offer: 1 });
            }
            ToWorker::Grant { task, attempt, .. } => {
                self.times.lock().unwrap().started.insert(task.clone(), Instant::now());
                self.reported += 1;
                let (number, outcome) = (self.reported, Outcome::Succeeded);
                let input = Input::AttemptEnded { task, attempt, outcome, change: None, phases: None };
                self.say(run, &FromWorker::Report { number, input });
            }
            _ => {}
        }
    }

    fn say(&mut self, run: &RunId, what: &FromWorker) {
        if let Some(channel) = self.channel.clone() {
            self.side.say(run, &channel, serde_json::to_string(what).unwrap());
        }
    }
}
