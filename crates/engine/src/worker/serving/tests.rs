//! What a worker makes of orders that come more than once, or late.

use std::sync::Arc;

use conductor_core::plan::{Command, Isolation, Limits, Plan, Task, Work};
use conductor_core::values::ids::{Attempt, RunId, TaskId};

use super::server::Server;
use crate::dispatch::wire::{FromWorker, ToWorker};
use crate::dispatch::{Order, RunContext};

fn order(folder: &tempfile::TempDir) -> Box<Order> {
    let context = RunContext {
        run: RunId::parse("r1").unwrap(),
        home: folder.path().into(),
        directory: folder.path().into(),
        output: folder.path().into(),
        ours: Vec::new(),
        isolation: Isolation::None,
        in_repository: false,
        limits: Limits::default(),
    };
    let task = TaskId::parse("a").unwrap();
    let tasks = vec![Task::new(task.clone(), Work::Run(Command::Line("true".into())))];
    let (plan, choice, start_from) = (Arc::new(Plan { tasks, ..Plan::default() }), None, None);
    let (context, attempt) = (Arc::new(context), Attempt(1));
    Box::new(Order { context, task, attempt, executor: 1, choice, start_from, plan, place: 0 })
}

/// Given to it twice, because its first answer was late: what is said about the first order takes nothing from the second.
#[tokio::test]
async fn of_two_orders_for_one_attempt_the_second_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::new(None);
    let mut offers = Vec::new();
    for number in [1, 2] {
        let code = None;
        match &server.hear(ToWorker::Start { number, order: order(&folder), code })[..] {
            [FromWorker::Offer { number: answered, offer, .. }] if *answered == number => offers.push(*offer),
            other => panic!("{other:?}"),
        }
    }
    let (task, attempt) = (TaskId::parse("a").unwrap(), Attempt(1));
    let is_at_work = |server: &Server| match server.alive() {
        FromWorker::Alive { attempts, .. } => attempts == [(task.clone(), attempt)],
        other => panic!("{other:?}"),
    };
    server.hear(ToWorker::Withdrawn { task: task.clone(), attempt, number: 1 });
    server.hear(ToWorker::Grant { task: task.clone(), attempt, offer: offers[0] });
    assert!(!is_at_work(&server), "that offer is not held any more");
    server.hear(ToWorker::Grant { task: task.clone(), attempt, offer: offers[1] });
    assert!(is_at_work(&server));
}
