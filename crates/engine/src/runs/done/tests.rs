use conductor_core::plan::{Command, Dependency, Task, Work};
use proptest::prelude::*;

use super::*;

fn id(name: &str) -> TaskId {
    TaskId::parse(name).unwrap()
}

fn task(name: &str, needs: &[&str]) -> Task {
    let mut task = Task::new(id(name), Work::Run(Command::Line("true".to_owned())));
    task.dependencies = needs.iter().map(|on| Dependency::on(id(on))).collect();
    task
}

fn plan(tasks: Vec<Task>) -> Plan {
    Plan { tasks, ..Plan::default() }
}

fn fact(run: &str, at: i64, completed: bool, commit: Option<&str>) -> Fact {
    let (task, run) = (task("a", &[]), RunId::parse(run).unwrap());
    let commit = commit.map(str::to_owned);
    Fact { fingerprint: task.fingerprint(), task: task.id, run, at: Timestamp(at), completed, commit }
}

/// `here` is checked out, `there` is on the branch of a run, anything else is gone.
fn reached() -> HashMap<String, Reached> {
    let branch = Reached::RunBranch("refs/heads/conductor/r9".to_owned());
    HashMap::from([("here".to_owned(), Reached::CheckedOut), ("there".to_owned(), branch)])
}

fn decided(facts: Vec<Fact>) -> String {
    match decide(facts, &reached()) {
        None => "not done".to_owned(),
        Some(DoneTask { run, unmerged: None, .. }) => run.to_string(),
        Some(DoneTask { run, unmerged: Some(branch), .. }) => format!("{run} on {branch}"),
    }
}

#[test]
fn the_newest_run_counts_whose_work_is_there() {
    let done = |at, run, commit| fact(run, at, true, commit);
    let begun = |at, run| fact(run, at, false, None);
    assert_eq!(decided(vec![done(1, "r1", Some("here")), done(2, "r2", Some("here"))]), "r2");
    assert_eq!(decided(vec![done(1, "r1", Some("there"))]), "r1 on conductor/r9");
    assert_eq!(decided(vec![done(1, "r1", Some("gone"))]), "not done");
    assert_eq!(decided(vec![done(1, "r1", Some("here")), done(2, "r2", Some("gone"))]), "r1");
    assert_eq!(
        decided(vec![done(1, "r1", Some("here")), done(2, "r2", Some("there"))]),
        "r1",
        "what is checked out needs no merge"
    );
    assert_eq!(decided(vec![done(1, "r1", Some("here")), begun(2, "r2")]), "r1", "git has the last word");
    assert_eq!(decided(vec![done(1, "r1", None)]), "r1");
    assert_eq!(decided(vec![done(1, "r1", None), begun(2, "r2")]), "not done", "the log has the last word");
    assert_eq!(decided(vec![begun(1, "r1"), done(2, "r2", None)]), "r2");
    assert_eq!(decided(vec![begun(1, "r1")]), "not done");
}

fn done(tasks: &[(&str, Option<&str>)]) -> Done {
    let entry = |(name, unmerged): &(&str, Option<&str>)| {
        let (run, commit) = (RunId::parse("r1").unwrap(), Some("c".to_owned()));
        (id(name), DoneTask { run, at: Timestamp(1), commit, unmerged: unmerged.map(str::to_owned) })
    };
    Done { tasks: tasks.iter().map(entry).collect(), ..Done::default() }
}

fn left(done: &Done, whole: &Plan, chosen: &Plan) -> String {
    match done.remaining(whole, chosen) {
        Ok(Remaining { unmerged: Some(unmerged), .. }) => unmerged.to_string(),
        Ok(Remaining { plan, .. }) => {
            plan.tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>().join(" ")
        }
        Err(why) => why.to_string(),
    }
}

#[test]
fn what_is_done_is_left_out_unless_what_needs_it_would_begin_without_it() {
    let whole = plan(vec![task("a", &[]), task("b", &["a"]), task("c", &["b"]), task("d", &[])]);
    let here = (None, Some("conductor/r1"));
    assert_eq!(left(&done(&[]), &whole, &whole), "a b c d");
    assert_eq!(left(&done(&[("a", here.0), ("b", here.0)]), &whole, &whole), "c d");
    assert_eq!(left(&done(&[("d", here.1)]), &whole, &whole), "a b c", "nothing needs it");
    let refused = left(&done(&[("a", here.1), ("b", here.0)]), &whole, &whole);
    assert_eq!(refused, "task 'c' needs 'a', whose work is on conductor/r1 and not in what is checked out");
    let only = plan(vec![task("b", &[])]);
    let refused = left(&done(&[("a", here.1)]), &whole, &only);
    assert!(refused.starts_with("task 'b' needs 'a'"), "also where it was not chosen: {refused}");
    let all = done(&[("a", here.0), ("b", here.1), ("c", here.1), ("d", here.0)]);
    assert_eq!(left(&all, &whole, &whole), "nothing is left to do, with 4 tasks done already");
    assert_eq!(left(&all, &whole, &only), "nothing is left to do, with 1 task done already");
}

#[test]
fn work_that_waits_for_a_review_is_not_done_a_second_time() {
    let whole = plan(vec![task("a", &[]), task("b", &["a"]), task("c", &["b"]), task("d", &[])]);
    let reviewed = |tasks, at: &str| {
        let in_review = BTreeMap::from([(id(at), RunId::parse("r2").unwrap())]);
        Done { in_review, ..done(tasks) }
    };
    assert_eq!(left(&reviewed(&[], "d"), &whole, &whole), "a b c", "nothing needs it");
    let refused = left(&reviewed(&[], "a"), &whole, &whole);
    assert_eq!(refused, "task 'b' needs 'a', whose work waits for your review in run r2");
    let only = plan(vec![task("c", &[])]);
    let refused = left(&reviewed(&[("b", None)], "a"), &whole, &only);
    assert_eq!(refused, "task 'c' needs 'a', whose work waits for your review in run r2");
    let only = plan(vec![task("d", &[])]);
    assert_eq!(left(&reviewed(&[], "d"), &whole, &only), "nothing is left to do, with 0 tasks done already");
}

#[test]
fn every_branch_that_is_to_be_merged_is_named_once() {
    let whole = plan(vec![task("a", &[]), task("b", &[]), task("c", &[]), task("d", &["a", "b", "c"])]);
    let done = done(&[("a", Some("conductor/r2")), ("b", Some("conductor/r1")), ("c", Some("conductor/r1"))]);
    let Unmerged { branches, on, .. } = done.remaining(&whole, &whole).unwrap().unmerged.unwrap();
    assert_eq!((branches, on), (vec!["conductor/r1".to_owned(), "conductor/r2".to_owned()], id("b")));
}

proptest! {
    /// In any graph: work that is missing from what is checked out and needed is told, and each task of the
    /// plan is either left or left out.
    #[test]
    fn no_task_begins_without_the_work_it_needs(
        edges in prop::collection::vec((0..8usize, 0..8usize), 0..16),
        states in prop::collection::vec(0..3u8, 8),
    ) {
        let name = |at: usize| format!("t{at}");
        let needs = |at: usize| -> Vec<String> {
            let of = edges.iter().filter(|(from, to)| from.max(to) == &at && from != to);
            let on: BTreeSet<usize> = of.map(|(from, to)| *from.min(to)).collect();
            on.into_iter().map(name).collect()
        };
        let tasks = (0..8).map(|at| {
            let needs = needs(at);
            task(&name(at), &needs.iter().map(String::as_str).collect::<Vec<_>>())
        });
        let whole = plan(tasks.collect());
        let of = |at: &usize| (name(*at), (states[*at] == 2).then_some("conductor/r1"));
        let tasks: Vec<(String, Option<&str>)> = (0..8).filter(|at| states[*at] > 0).map(|at| of(&at)).collect();
        let done = done(&tasks.iter().map(|(name, on)| (name.as_str(), *on)).collect::<Vec<_>>());
        let mut missing = vec![BTreeSet::new(); 8];
        for at in 0..8 {
            let mut all = BTreeSet::new();
            for on in needs(at) {
                let on: usize = on[1..].parse().unwrap();
                all.extend(missing[on].iter().copied());
                if states[on] == 2 {
                    all.insert(on);
                }
            }
            missing[at] = all;
        }
        let begins_without = (0..8).any(|at| states[at] == 0 && !missing[at].is_empty());
        match done.remaining(&whole, &whole) {
            Ok(remaining) => {
                prop_assert_eq!(remaining.unmerged.is_some(), begins_without);
                prop_assert_eq!(remaining.plan.tasks.len() + remaining.done.len(), 8);
            }
            Err(NotRemaining::Nothing(count)) => prop_assert_eq!(count, 8),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
