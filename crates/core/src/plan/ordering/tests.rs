use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

use super::*;
use crate::plan::{Dependency, Task, Work};
use crate::values::ids::TaskId;

/// `id: words | files | dependencies`, one task a line.
fn plan(lines: &str) -> Plan {
    let task = |line: &str| {
        let mut parts = line.split('|').map(str::trim);
        let (id, name) = parts.next().and_then(|head| head.split_once(':')).unwrap();
        let mut task = Task::new(TaskId::parse(id.trim()).unwrap(), Work::Prompt("do it".into()));
        task.name = name.trim().to_owned();
        task.files = parts.next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let waits = parts.next().unwrap_or_default().split_whitespace();
        task.dependencies = waits.map(|on| Dependency::on(TaskId::parse(on).unwrap())).collect();
        task
    };
    Plan { tasks: lines.trim().lines().map(task).collect(), ..Plan::default() }
}

fn shown(plan: &Plan, ordering: &Ordering) -> String {
    let group = |group: &Vec<Node>| {
        group.iter().map(|&task| plan.tasks[task as usize].id.as_str()).collect::<Vec<_>>().join("+")
    };
    ordering.groups.iter().map(group).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(lines: &str, strategy: Strategy, most: Option<usize>, expect: &str) {
    let plan = plan(lines);
    assert_eq!(shown(&plan, &order(&plan, strategy, most).unwrap()), expect);
}

const SHOP: &str = "
    docs: Write the guide
    pay: Payment by card       | src/pay.rs
    schema: Database schema    | src/db.rs
    api: Build the API         | src/api.rs | schema
    ui: Build the pages        | src/ui.rs  | api
    log: Log requests          | src/api.rs | schema
";

#[test]
fn topological_is_level_by_level() {
    check(SHOP, Strategy::Topological, None, "docs+pay+schema api log ui");
}

#[test]
fn what_is_risky_comes_first() {
    check(SHOP, Strategy::RiskFirst, None, "pay docs+schema api log ui");
}

#[test]
fn what_a_risky_task_needs_comes_before_it() {
    check("a: Easy\nb: Also easy\nc: Deploy it | | b\nd: Plain", Strategy::RiskFirst, None, "b c a+d");
}

#[test]
fn what_others_build_on_comes_first() {
    check(SHOP, Strategy::FoundationalFirst, None, "schema api log docs+pay+ui");
    let plan = plan(SHOP);
    let weights = order(&plan, Strategy::FoundationalFirst, None).unwrap().weights;
    assert_eq!(weights[2].why, ["its name says schema", "3 tasks wait for it"]);
    assert_eq!(weights[3].why, ["1 task waits for it", "1 other task touches its files"]);
    assert_eq!(weights[0], Weight::default());
    assert_eq!(weights[0].level(), Level::Low);
}

#[test]
fn a_chain_of_very_many_takes_no_time() {
    let mut lines = String::from("t0: T");
    (1..20_000).for_each(|n| lines += &format!("\nt{n}: T | f{n} | t{}", n - 1));
    let plan = plan(&lines);
    for strategy in Strategy::ALL {
        let ordering = order(&plan, strategy, None).unwrap();
        assert_eq!(ordering.groups.len(), 20_000);
        assert!(
            strategy != Strategy::FoundationalFirst
                || ordering.weights[0].why == ["100 or more tasks wait for it"]
        );
    }
}

#[test]
fn a_wide_change_is_a_risk() {
    let plan = plan("a: Rename | 1 2 3 4 5 6 7 8 9 10\nb: Some | 11 12 13 14\nc: None | 15");
    let weights = order(&plan, Strategy::RiskFirst, None).unwrap().weights;
    let levels: Vec<Level> = weights.iter().map(Weight::level).collect();
    assert_eq!(levels, [Level::High, Level::Medium, Level::Low]);
    assert_eq!(weights[0].why, ["10 files"]);
}

#[test]
fn words_count_as_whole_words_and_less_in_a_text() {
    let mut plan = plan("a: Author page\nb: Re-auth users\nc: Tidy\nd: AUTH");
    plan.tasks[2].work = Work::Prompt("Tidy, then deploy.".into());
    let weights = order(&plan, Strategy::RiskFirst, None).unwrap().weights;
    let points: Vec<u32> = weights.iter().map(|weight| weight.points).collect();
    assert_eq!(points, [0, 2, 1, 2]);
    assert_eq!(weights[2].why, ["its text says deploy"]);
}

#[test]
fn as_few_groups_as_the_longest_way_allows() {
    // `x` meets `a`; level by level it would take a step of its own.
    let lines = "a: A | f\nx: X | f\nb: B | g | a\nc: C | h | b\nd: D | i | c";
    check(lines, Strategy::ParallelMaximising, None, "a x+b c d");
    check(lines, Strategy::Topological, None, "a x b c d");
}

#[test]
fn no_group_is_larger_than_it_may_be() {
    let five = "a: A\nb: B\nc: C\nd: D\ne: E";
    check(five, Strategy::Topological, Some(2), "a+b c+d e");
    check(five, Strategy::ParallelMaximising, Some(3), "a+b+c d+e");
    check(five, Strategy::RiskFirst, Some(1), "a b c d e");
}

#[test]
fn overlap_splits_by_colours_and_not_more_than_it_must() {
    // A ring of four takes two colours, a triangle three.
    check("a: A | 1 2\nb: B | 2 3\nc: C | 3 4\nd: D | 4 1", Strategy::Topological, None, "a+c b+d");
    check("a: A | 1\nb: B | 1\nc: C | 1\nd: D", Strategy::Topological, None, "a+d b c");
    check("a: A | src/**\nb: B | src/x.rs\nc: C | docs", Strategy::Topological, None, "a+c b");
}

#[test]
fn an_order_that_is_there_does_not_count_and_epics_do() {
    let mut with = plan("a: A\nb: B");
    with.execution_order = vec![vec![with.tasks[1].id.clone()], vec![with.tasks[0].id.clone()]];
    assert_eq!(shown(&with, &order(&with, Strategy::Topological, None).unwrap()), "a+b");
    let mut epics = plan("a: A\nb: B");
    let epic = |id: &str, on: &[&str]| crate::plan::Epic {
        id: id.to_owned(),
        name: None,
        dependencies: on.iter().map(|on| (*on).to_owned()).collect(),
        isolation_scope: crate::plan::Scope::default(),
        land: None,
        epic_landing: Default::default(),
    };
    epics.epics = vec![epic("late", &["early"]), epic("early", &[])];
    epics.tasks[0].epic = Some("late".to_owned());
    epics.tasks[1].epic = Some("early".to_owned());
    assert_eq!(shown(&epics, &order(&epics, Strategy::Topological, None).unwrap()), "b a");
}

#[test]
fn a_circle_is_an_error_and_nothing_is_nothing() {
    let circle = plan("a: A | | b\nb: B | | a");
    assert!(matches!(order(&circle, Strategy::RiskFirst, None), Err(GraphError::Cycle(_))));
    assert!(order(&Plan::default(), Strategy::RiskFirst, None).unwrap().groups.is_empty());
}

type Draft = (&'static str, Vec<&'static str>, Vec<prop::sample::Index>);

fn any_drafts() -> impl prop::strategy::Strategy<Value = Vec<Draft>> {
    let words = prop::sample::select(vec!["Tidy", "Deploy", "Schema", "Migration of models", "Page"]);
    let files = prop::collection::vec(prop::sample::select(vec!["a", "b", "src/**", "src/x.rs"]), 0..3);
    prop::collection::vec((words, files, prop::collection::vec(any::<prop::sample::Index>(), 0..3)), 1..25)
}

proptest! {
    #[test]
    fn every_order_keeps_its_promises(
        drafts in any_drafts(),
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
        most in prop::option::of(1..5usize),
    ) {
        let mut plan = Plan::default();
        for (place, (name, files, waits)) in drafts.iter().enumerate() {
            let mut task = Task::new(TaskId::parse(&format!("t{place}")).unwrap(), Work::Prompt("x".into()));
            task.name = (*name).to_owned();
            task.files = files.iter().map(|file| (*file).to_owned()).collect();
            let mut on: Vec<usize> = waits.iter().filter(|_| place > 0).map(|wait| wait.index(place)).collect();
            on.sort_unstable();
            on.dedup();
            task.dependencies = on.iter().map(|on| Dependency::on(plan.tasks[*on].id.clone())).collect();
            plan.tasks.push(task);
        }
        let ordering = order(&plan, strategy, most).unwrap();
        prop_assert_eq!(&ordering, &order(&plan, strategy, most).unwrap());

        let mut group_of = vec![None; plan.tasks.len()];
        for (number, group) in ordering.groups.iter().enumerate() {
            prop_assert!(!group.is_empty() && group.len() <= most.unwrap_or(usize::MAX));
            for &task in group {
                prop_assert_eq!(group_of[task as usize].replace(number), None);
            }
            let files = |task: Node| crate::plan::file_sets::FileSet::new(&plan.tasks[task as usize].files);
            for (at, &a) in group.iter().enumerate() {
                for &b in &group[at + 1..] {
                    prop_assert!(!files(a).meets(&files(b)));
                }
            }
        }
        prop_assert!(group_of.iter().all(Option::is_some));
        for (place, task) in plan.tasks.iter().enumerate() {
            for on in &task.dependencies {
                prop_assert!(group_of[plan.place(&on.id).unwrap()] < group_of[place]);
            }
        }
        if most.is_none() && plan.tasks.iter().all(|task| task.files.is_empty()) {
            let levels = Graph::new(&plan, Following::Queue).unwrap().batches().len();
            let fewest = matches!(strategy, Strategy::ParallelMaximising | Strategy::Topological);
            prop_assert!(!fewest || ordering.groups.len() == levels);
        }
    }
}

#[test]
fn who_races_for_a_task_goes_with_it() {
    let mut plan = plan("a: A | src/a\nb: B | src/b | a\nc: C | src/c");
    plan.tasks[1].work = Work::Prompt("Do it.".into());
    let entrants =
        plan.tasks[1].raced(&[Default::default(), Default::default()], Default::default()).unwrap();
    plan.tasks.splice(2..2, entrants);
    for strategy in Strategy::ALL {
        let groups = order(&plan, strategy, None).unwrap().groups;
        let mut all: Vec<Node> = groups.concat();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 4], "{strategy}");
    }
}
