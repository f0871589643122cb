use conductor_core::plan::groups::choose;
use conductor_core::plan::{Command, Execution, Work};

use super::*;
use crate::records::beads::Link;

fn id(name: &str) -> TaskId {
    TaskId::parse(name).unwrap()
}

/// Tasks of one group, written as `name` or `name>on`.
fn chosen(tasks: &[&str]) -> Chosen {
    let task = |text: &&str| {
        let (name, on) = text.split_once('>').map_or((*text, None), |(name, on)| (name, Some(on)));
        let mut task = Task::new(id(name), Work::Run(Command::Line("x".into())));
        task.group = Some("red".to_owned());
        task.dependencies = on.map(|on| Dependency::on(id(on))).into_iter().collect();
        task
    };
    choose(&Plan { tasks: tasks.iter().map(task).collect(), ..Plan::default() }, None).unwrap()
}

/// Issues, written as `name status` or `name status on`.
fn issues(lines: &[&str]) -> KnownIssues {
    let one = |line: &&str| {
        let mut words = line.split(' ').map(str::to_owned);
        let (id, status) = (words.next().unwrap(), words.next().unwrap());
        let links = words.map(|on| Link { on, kind: "blocks".to_owned() }).collect();
        Issue { title: id.clone(), id, status, kind: "task".to_owned(), links, ..Issue::default() }
    };
    KnownIssues { all: lines.iter().map(one).collect(), taken: BTreeMap::new(), closes: true }
}

/// What has landed in a former run, written as `name` or `name branch` where it is on that branch only.
fn landed(lines: &[&str]) -> BTreeMap<String, Former> {
    let one = |line: &&str| {
        let (name, branch) =
            line.split_once(' ').map_or((*line, None), |(name, branch)| (name, Some(branch)));
        let former = Former {
            run: RunId::parse("former").unwrap(),
            landed: true,
            unmerged: branch.map(str::to_owned),
            subagent: None,
            started: None,
            ended: None,
        };
        (name.to_owned(), former)
    };
    lines.iter().map(one).collect()
}

fn tasks(plan: &Plan) -> Vec<&str> {
    plan.tasks.iter().map(|task| task.id.as_str()).collect()
}

/// What is blocked, and why, in one line each.
fn blocked(chosen: Chosen, issues: &KnownIssues, landed: &BTreeMap<String, Former>) -> Vec<String> {
    let known = Known::new(&[], &[]);
    let (_, circumstances) = ready(chosen, Vec::new(), issues, landed, Some(&known)).unwrap();
    circumstances.blocked.iter().map(|(task, why)| format!("{task}: {why}")).collect()
}

#[test]
fn what_has_landed_or_is_closed_is_not_done_again() {
    let check = |known: &[&str], before: &[&str]| {
        let mut chosen = chosen(&["a", "b>a", "c"]);
        let done = take_out_done(&mut chosen, &issues(known), &landed(before), false).unwrap();
        (names(&done), tasks(&chosen.plan).join(", "))
    };
    let told = |done: &str, left: &str| (done.to_owned(), left.to_owned());
    assert_eq!(check(&[], &[]), told("", "a, b, c"));
    assert_eq!(check(&[], &["a"]), told("a", "b, c"));
    assert_eq!(check(&["a closed"], &[]), told("a", "b, c"));
    assert_eq!(check(&["a open"], &["a"]), told("", "a, b, c"), "what beads says counts");
}

#[test]
fn what_waits_for_what_was_left_out_waits_for_something_outside() {
    let mut chosen = chosen(&["a", "b>a"]);
    take_out_done(&mut chosen, &KnownIssues::default(), &landed(&["a"]), true).unwrap();
    assert_eq!(chosen.outside[&id("b")], BTreeSet::from(["a".to_owned()]));
}

#[test]
fn none_of_it_begins_where_all_is_done_or_what_was_done_is_not_merged() {
    let refused = |before: &[&str], one_group: bool| {
        let mut chosen = chosen(&["a", "b"]);
        take_out_done(&mut chosen, &KnownIssues::default(), &landed(before), one_group)
            .map(|done| names(&done))
            .map_err(|error| error.to_string())
    };
    assert_eq!(refused(&["a", "b"], false).unwrap_err(), "all of it has been done before: a, b");
    let unmerged = refused(&["a conductor/former"], false).unwrap_err();
    assert!(
        unmerged.starts_with("what follows cannot begin: a has landed on conductor/former"),
        "{unmerged}"
    );
    assert_eq!(refused(&["a conductor/former"], true).unwrap(), "a", "one group follows no other");
}

#[test]
fn a_task_is_blocked_by_what_is_neither_landed_nor_closed() {
    let with_outside = |on: &str| {
        let mut chosen = chosen(&["a", "b"]);
        chosen.outside.entry(id("b")).or_default().insert(on.to_owned());
        chosen
    };
    let check = |known: &[&str], before: &[&str]| blocked(with_outside("x"), &issues(known), &landed(before));
    assert_eq!(check(&[], &[]), ["b: x has not landed"]);
    assert_eq!(check(&[], &["x"]), [""; 0]);
    assert_eq!(check(&["x open"], &[]), ["b: x is open in beads"]);
    assert_eq!(check(&["x closed"], &[]), [""; 0]);
    assert_eq!(check(&["x open"], &["x"]), [""; 0], "it has landed and is not closed yet");
    assert!(check(&[], &["x conductor/former"])[0].starts_with("b: x has landed on conductor/former"));
}

#[test]
fn issues_wait_for_one_another_and_for_those_that_claim_them() {
    let check = |known: &[&str]| blocked(chosen(&["a", "b"]), &issues(known), &BTreeMap::new());
    assert_eq!(check(&["a open", "b open a"]), [""; 0], "that is an order within the group");
    assert_eq!(check(&["a open x", "x open"]), ["a: x is open in beads"]);
    assert_eq!(check(&["a deferred"]), ["a: it is deferred in beads"]);
    let mut claimed = issues(&["a open", "b open"]);
    claimed.taken.insert("b".to_owned(), "is being done in run other".to_owned());
    assert_eq!(
        blocked(chosen(&["a", "b"]), &claimed, &BTreeMap::new()),
        ["b: it is being done in run other"]
    );
}

#[test]
fn an_order_that_beads_knows_becomes_a_dependency_and_open_issues_are_closed_by_us() {
    let known = Known::new(&[], &[]);
    let get = |closes: bool| {
        let issues = KnownIssues { closes, ..issues(&["a open", "b open a"]) };
        ready(chosen(&["a", "b", "c"]), Vec::new(), &issues, &BTreeMap::new(), Some(&known)).unwrap()
    };
    let (plan, circumstances) = get(true);
    assert_eq!(plan.tasks[1].dependencies, [Dependency::on(id("a"))]);
    assert_eq!(circumstances.issues, BTreeSet::from([id("a"), id("b")]));
    assert!(circumstances.may_change);
    assert!(get(false).1.issues.is_empty(), "an export is only read");
    let none = KnownIssues::default();
    let (_, alone) = ready(chosen(&["a"]), Vec::new(), &none, &BTreeMap::new(), None).unwrap();
    assert!(!alone.may_change, "there is nothing that could");
}

#[test]
fn while_a_run_is_under_way_it_is_looked_up_again() {
    let check = |known: &[&str], completed: &[&str]| {
        let mut plan = chosen(&["a", "b>a", "c"]).plan;
        let outside = BTreeMap::from([(id("c"), BTreeSet::from(["x".to_owned()]))]);
        plan.execution = Some(Box::new(Execution { outside, ..Execution::default() }));
        let completed = completed.iter().map(|name| id(name)).collect();
        let tasks = [id("a"), id("b"), id("c")];
        let told = blocked_now(&plan, &tasks, &completed, &issues(known), &landed(&["y"]));
        told.iter().map(|(task, why)| format!("{task}: {why}")).collect::<Vec<_>>()
    };
    assert_eq!(check(&["x closed"], &[]), [""; 0]);
    assert_eq!(check(&[], &[]), ["c: x has not landed"]);
    assert_eq!(check(&[], &["c"]), [""; 0], "what is done is not asked about");
    assert_eq!(check(&["a closed", "x closed"], &[]), ["a: it is closed in beads"]);
    assert_eq!(check(&["a open", "b open a", "x closed"], &[]), [""; 0], "it is waited for");
    assert_eq!(
        check(&["a open c", "c open", "x closed"], &[]),
        ["a: it waits for c, which comes later in this run"]
    );
    assert_eq!(check(&["a open c", "c open", "x closed"], &["c"]), [""; 0]);
    assert_eq!(check(&["a open y", "y open", "x closed"], &[]), [""; 0], "it has landed");
}
