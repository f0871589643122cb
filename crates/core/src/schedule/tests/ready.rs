//! Which of the ready tasks is taken next, and what keeps one waiting: lanes and pools by themselves.

use proptest::prelude::{prop, prop_assert, proptest};

use super::*;
use crate::plan::file_sets::FileSet;
use crate::plan::graph::{Graph, Node};
use crate::schedule::pools::Door;
use crate::schedule::ready::Ready;

/// Tasks with what they need, as `"a g:web gpu:2 f:src/** p:1; b"`: a group, an amount of a resource, files, a class.
fn needy(text: &str) -> Plan {
    let mut plan = plan(&text.split(';').map(name).collect::<Vec<_>>().join(";"));
    for (task, entry) in plan.tasks.iter_mut().zip(text.split(';')) {
        for need in entry.split_whitespace().skip(1) {
            match need.split_once(':').unwrap() {
                ("g", group) => task.group = Some(group.to_owned()),
                ("f", files) => task.files.push(files.to_owned()),
                ("p", class) => task.priority = Priority(class.parse().unwrap()),
                (resource, amount) => {
                    task.resources.insert(resource.to_owned(), amount.parse().unwrap());
                }
            }
        }
    }
    plan
}

fn name(entry: &str) -> &str {
    entry.split_whitespace().next().unwrap()
}

/// All tasks of a plan, ready to be taken.
struct Line {
    ready: Ready,
    run: Run,
}

impl Line {
    fn of(plan: Plan, options: Options) -> Line {
        let (mut run, _) = Run::create(plan, now(0));
        let started = Event::RunStarted { options: Box::new(options) };
        run.apply(&Record { seq: 2, at: Timestamp(0), tick: Tick(0), event: started }).unwrap();
        let graph = Graph::new(run.plan(), Strategy::Queue).unwrap();
        let mut ready = Ready::new(&run, &graph);
        (0..run.plan().tasks.len()).for_each(|task| ready.insert(task as Node));
        Line { ready, run }
    }

    fn new(text: &str) -> Line {
        Line::of(needy(text), Options::with_slots(100))
    }

    fn take(&mut self) -> Option<String> {
        let task = self.ready.take()?;
        Some(self.run.plan().tasks[task as usize].id.to_string())
    }

    /// All that can be at work now, in the order in which they are taken.
    fn taken(&mut self) -> String {
        std::iter::from_fn(|| self.take()).collect::<Vec<_>>().join(" ")
    }

    /// One ends; who is taken then.
    fn after(&mut self, task: &str) -> String {
        let place = self.run.place(&id(task)).unwrap();
        self.ready.release(place as Node);
        self.taken()
    }
}

fn limited(mut plan: Plan, group: &str, most: u32) -> Plan {
    plan.groups.push(Group { max_parallel: Some(most), ..Group::named(group) });
    plan
}

#[test]
fn the_most_urgent_comes_first_then_the_longest_way_then_the_order_of_the_file() {
    assert_eq!(Line::new("a; b p:1; c; d p:0").taken(), "d b a c");
    let mut plan = plan("a; b; c <- b; d");
    plan.tasks[3].estimate = Some(Millis::from_secs(1));
    let mut line = Line::of(plan, Options::with_slots(100));
    line.ready.remove(2);
    assert_eq!(line.taken(), "b a d", "c waits for b");
}

#[test]
fn what_an_urgent_task_needs_is_as_urgent_and_what_it_would_only_like_is_not() {
    for (text, expected) in [("a; b; c <- b", "b a"), ("a; b; c <- b~", "a b")] {
        let mut plan = plan(text);
        plan.tasks[2].priority = Priority(0);
        // As long as each other, so that only the class tells them apart.
        plan.tasks[0].estimate = Some(Millis::from_secs(7_200));
        let mut line = Line::of(plan, Options::with_slots(100));
        line.ready.remove(2);
        assert_eq!(line.taken(), expected, "{text}");
    }
}

#[test]
fn a_group_has_no_more_at_work_than_it_may_and_the_next_comes_when_one_ends() {
    let mut line =
        Line::of(limited(needy("a g:web; b g:web; c g:web; d"), "web", 2), Options::with_slots(100));
    assert_eq!(line.taken(), "a b d");
    assert_eq!(line.after("d"), "");
    assert_eq!(line.after("b"), "c");
}

#[test]
fn a_task_that_wants_much_is_not_overtaken_at_its_pool_but_holds_up_no_other() {
    let mut options = Options::with_slots(100);
    options.limits.resources.insert("gpu".to_owned(), 3);
    let mut line = Line::of(needy("a gpu:2; much gpu:3; small gpu:1; other"), options);
    assert_eq!(line.taken(), "a other", "one is free, and small would fit");
    assert_eq!(line.after("a"), "much");
    assert_eq!(line.after("much"), "small");
}

#[test]
fn more_than_there_is_becomes_all_there_is_and_a_resource_nothing_is_said_of_has_what_the_largest_wants() {
    let mut options = Options::with_slots(100);
    options.limits.resources.insert("gpu".to_owned(), 2);
    let mut line = Line::of(needy("huge gpu:64; a gpu:1"), options);
    assert_eq!(line.taken(), "huge", "alone");
    assert_eq!(line.after("huge"), "a");
    assert_eq!(Line::new("a db:2; b db:1; c db:2").taken(), "a", "two are all there are");
}

#[test]
fn an_agent_that_takes_nothing_takes_one_when_it_is_asked_again_and_then_all() {
    let mut line = Line::of(prompts("a claude; b claude; c codex"), Options::with_slots(100));
    line.ready.let_to("claude", Door::Closed);
    assert_eq!(line.taken(), "c");
    line.ready.let_to("claude", Door::Ajar);
    assert_eq!(line.taken(), "a");
    line.ready.let_to("claude", Door::Open);
    assert_eq!(line.taken(), "b");
}

#[test]
fn files_that_meet_are_not_touched_at_once_until_they_are_let_go_of() {
    let text = "a f:src/**; b f:src/b.rs; c f:docs/*.md";
    let mut line = Line::new(text);
    assert_eq!(line.taken(), "a c");
    line.ready.release_all_but_files(0);
    assert_eq!(line.taken(), "", "its work waits to land");
    line.ready.release_files(0);
    assert_eq!(line.taken(), "b");
    let mut options = Options::with_slots(100);
    options.allow_overlap = true;
    assert_eq!(Line::of(needy(text), options).taken(), "a b c");
}

#[test]
fn a_task_that_goes_away_keeps_its_place_in_no_line() {
    let mut line = Line::of(limited(needy("a g:web; b g:web; c g:web"), "web", 1), Options::with_slots(100));
    assert_eq!(line.taken(), "a");
    line.ready.remove(1);
    assert_eq!(line.after("a"), "c");
    assert!(line.ready.is_empty());
}

const GPUS: u64 = 4;
const FILES: [&str; 4] = ["src/**", "src/a.rs", "docs/**", "docs/x.md"];

/// A task of a random plan: its class, how much of the resource it wants, which files it touches.
type Need = (u8, u64, Option<usize>);

proptest! {
    /// No pool is ever overdrawn, no two at work touch the same files, and where none is taken the first in line
    /// really cannot be.
    #[test]
    fn what_is_taken_fits_and_what_fits_is_taken(
        needs in prop::collection::vec((0..3u8, 0..=GPUS, prop::option::of(0..FILES.len())), 1..12),
        ends in prop::collection::vec(0..12usize, 0..40),
    ) {
        let text = |(at, (class, gpus, files)): (usize, &Need)| {
            let files = files.map(|files| format!(" f:{}", FILES[files])).unwrap_or_default();
            format!("t{at} p:{class} gpu:{gpus}{files}")
        };
        let plan = needy(&needs.iter().enumerate().map(text).collect::<Vec<_>>().join(";"));
        let mut options = Options::with_slots(100);
        options.limits.resources.insert("gpu".to_owned(), GPUS);
        let mut line = Line::of(plan, options);
        let (mut waiting, mut working): (Vec<usize>, Vec<usize>) = ((0..needs.len()).collect(), Vec::new());
        let files = |at: usize| needs[at].2.map(|files| FileSet::new(&[FILES[files].to_owned()]));
        let meets = |one: usize, other: usize| match (files(one), files(other)) {
            (Some(one), Some(other)) => one.meets(&other),
            _ => false,
        };
        for end in ends {
            while let Some(task) = line.ready.take().map(|task| task as usize) {
                prop_assert!(working.iter().all(|&other| !meets(task, other)));
                waiting.retain(|&other| other != task);
                working.push(task);
                prop_assert!(working.iter().map(|&task| needs[task].1).sum::<u64>() <= GPUS);
            }
            if let Some(&first) = waiting.iter().min_by_key(|&&task| (needs[task].0, task)) {
                let used: u64 = working.iter().map(|&task| needs[task].1).sum();
                let blocked = used + needs[first].1 > GPUS || working.iter().any(|&other| meets(first, other));
                prop_assert!(blocked, "t{first} could be at work beside {working:?}");
            }
            if !working.is_empty() {
                let task = working.swap_remove(end % working.len());
                line.ready.release(task as Node);
            }
        }
    }
}
