use std::collections::BTreeMap;

use super::*;
use crate::plan::groups::{Circumstances, Steps, arrange};
use crate::plan::sketch::id;
use crate::plan::{Changes, Command, Plan, Task, Work};
use crate::report::groups::Report;
use crate::run::event::{Failure, FailureClass, Options, Outcome as Ended};
use crate::schedule::{Action, Input, Scheduler};
use crate::values::ids::{Attempt, RunId};
use crate::values::units::{Now, Tick};

/// 2024-01-01T00:00:00Z.
const NEW_YEAR: i64 = 1_704_067_200_000;

const DOCUMENTED: &str = r#"{
  "group_id": "infrastructure",
  "group_name": "Parallel Group infrastructure",
  "phase": "post_execution",
  "tasks": ["proj-auth.1", "proj-auth.2"],
  "created_at": "2024-01-01T00:00:00Z",
  "started_at": "2024-01-01T00:01:00Z",
  "completed_at": "2024-01-01T00:05:00Z",
  "status": "completed",
  "results": [
    {
      "task_id": "proj-auth.1",
      "subagent": "backend-architect",
      "status": "completed",
      "started_at": "2024-01-01T00:01:00Z",
      "completed_at": "2024-01-01T00:03:00Z"
    }
  ],
  "errors": [],
  "pre_group_refresh_completed": true
}
"#;

fn at(secs: u64) -> Now {
    Now { at: Timestamp(NEW_YEAR + secs as i64 * 1000), tick: Tick(secs * 1000), jitter: 0.5 }
}

#[test]
fn the_file_is_written_as_it_is_documented() {
    let metadata = Metadata {
        group_id: "infrastructure".into(),
        group_name: name("infrastructure", "infrastructure"),
        phase: Phase::PostExecution,
        tasks: vec!["proj-auth.1".into(), "proj-auth.2".into()],
        created_at: moment(at(0).at),
        started_at: Some(moment(at(60).at)),
        completed_at: Some(moment(at(300).at)),
        status: Status::Completed,
        results: vec![Outcome {
            task_id: "proj-auth.1".into(),
            subagent: Some("backend-architect".into()),
            status: Status::Completed,
            started_at: Some(moment(at(60).at)),
            completed_at: Some(moment(at(180).at)),
        }],
        errors: Vec::new(),
        pre_group_refresh_completed: true,
    };
    assert_eq!(metadata.text(), DOCUMENTED);
    let read: serde_json::Value = serde_json::from_str(&metadata.text()).unwrap();
    assert_eq!(read, serde_json::to_value(&metadata).unwrap());
}

#[test]
fn a_group_that_has_not_begun_has_empty_lists_and_nulls() {
    let (run, _) = Run::create(group("a b", &[]), at(0));
    let text = Metadata::of(&run, "g").unwrap().text();
    for line in ["\"started_at\": null,", "\"completed_at\": null,", "\"results\": [],", "\"errors\": [],"] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(text.ends_with("\"pre_group_refresh_completed\": false\n}\n"), "{text}");
}

/// A group `g` of these tasks that change nothing, with a context before it and tests behind it.
fn group(tasks: &str, blocked: &[(&str, &str)]) -> Plan {
    let task = |name: &str| Task {
        group: Some("g".into()),
        subagent_type: Some("backend-architect".into()),
        changes: Changes::Optional,
        ..Task::new(id(name), Work::Run(Command::Line("true".into())))
    };
    let plan = Plan { tasks: tasks.split_whitespace().map(task).collect(), ..Plan::default() };
    let steps = Steps {
        refresh: Some(crate::plan::groups::Refresh {
            work: Work::Run(Command::Line("summary".into())),
            timeout: crate::values::units::Millis(60_000),
        }),
        tests: vec!["auto".into()],
    };
    let blocked = blocked.iter().map(|(task, why)| (id(task), (*why).to_owned())).collect::<BTreeMap<_, _>>();
    arrange(plan, &steps, Circumstances { blocked, ..Circumstances::default() }).unwrap()
}

struct Play {
    scheduler: Scheduler,
    records: Vec<crate::run::event::Record>,
    secs: u64,
}

impl Play {
    fn new(tasks: &str, blocked: &[(&str, &str)]) -> Play {
        let (run, created) = Run::create(group(tasks, blocked), at(0));
        let (scheduler, first) = Scheduler::start(run, Options::with_slots(2), at(30)).unwrap();
        let records = [created].into_iter().chain(first.records).collect();
        Play { scheduler, records, secs: 30 }
    }

    fn running(&self) -> Vec<(TaskId, Attempt)> {
        let tasks = self.scheduler.run().tasks();
        let running = tasks.filter_map(|(task, progress)| match &progress.state {
            TaskState::Running(running) if !running.ended => Some((task.id.clone(), running.attempt)),
            _ => None,
        });
        running.collect()
    }

    fn at_work(&self) -> String {
        self.running().iter().map(|(task, _)| task.to_string()).collect::<Vec<_>>().join(" ")
    }

    /// Ends a task 30 seconds later, well or with these words.
    fn end(&mut self, task: &str, failed: Option<&str>) -> Vec<Action> {
        self.secs += 30;
        let (task, attempt) = self.running().into_iter().find(|(known, _)| known.as_str() == task).unwrap();
        let outcome = match failed {
            Some(words) => Ended::Failed(Failure::new(FailureClass::Exit, words)),
            None => Ended::Succeeded,
        };
        let input = Input::AttemptEnded { task, attempt, outcome, change: None, phases: None };
        let decision = self.scheduler.handle(at(self.secs), input);
        self.records.extend(decision.records);
        decision.actions
    }

    fn metadata(&self) -> Metadata {
        Metadata::of(self.scheduler.run(), "g").unwrap()
    }

    fn stands(&self) -> String {
        let Metadata { phase, status, .. } = self.metadata();
        format!("{} {}", phase.name(), status.name())
    }

    fn report(&self) -> Report {
        Report::of(&RunId::parse("run1").unwrap(), self.scheduler.run(), &self.records, "g").unwrap()
    }
}

#[test]
fn four_phases_from_the_context_to_the_tests() {
    let mut play = Play::new("a b c", &[]);
    assert_eq!((play.at_work(), play.stands()), ("g.refresh".into(), "pre_execution in_progress".into()));
    play.end("g.refresh", None);
    assert_eq!((play.at_work(), play.stands()), ("a b".into(), "concurrent_execution in_progress".into()));
    play.end("a", None);
    assert_eq!((play.at_work(), play.stands()), ("b c".into(), "coordination in_progress".into()));
    play.end("b", None);
    play.end("c", None);
    assert_eq!((play.at_work(), play.stands()), ("g.tests".into(), "post_execution in_progress".into()));
    assert_eq!(play.metadata().completed_at, None, "its tests are still to come");
    let actions = play.end("g.tests", None);
    assert_eq!(play.stands(), "post_execution completed");
    assert_eq!(actions, [Action::Finish]);
    assert!(play.scheduler.run().is_all_good());
    let metadata = play.metadata();
    assert!(metadata.pre_group_refresh_completed);
    assert_eq!(metadata.started_at.as_deref(), Some("2024-01-01T00:00:30Z"));
    assert_eq!(metadata.completed_at.as_deref(), Some("2024-01-01T00:03:00Z"));
    assert_eq!(metadata.results.len(), 3);
}

#[test]
fn a_context_that_fails_holds_no_task_up() {
    let mut play = Play::new("a", &[]);
    play.end("g.refresh", Some("no summary"));
    assert_eq!(play.at_work(), "a");
    play.end("a", None);
    play.end("g.tests", None);
    assert_eq!(
        (play.stands().as_str(), play.scheduler.run().is_all_good()),
        ("post_execution completed", true)
    );
    assert!(!play.metadata().pre_group_refresh_completed);
}

#[test]
fn one_failure_fails_the_group_and_the_others_go_on() {
    let mut play = Play::new("a b c d", &[("d", "proj-0 is open in beads")]);
    play.end("g.refresh", None);
    play.end("a", Some("exit code 1"));
    play.end("b", None);
    play.end("c", None);
    assert_eq!(play.at_work(), "g.tests", "what has landed is tested");
    play.end("g.tests", None);
    let metadata = play.metadata();
    assert_eq!(metadata.status, Status::Failed);
    let results: Vec<(&str, &str)> =
        metadata.results.iter().map(|result| (result.task_id.as_str(), result.status.name())).collect();
    assert_eq!(results, [("a", "failed"), ("b", "completed"), ("c", "completed"), ("d", "blocked")]);
    let errors = ["Task a failed: exit code 1", "Task d is blocked: proj-0 is open in beads"];
    assert_eq!(metadata.errors, errors);
    let markdown = play.report().markdown();
    for line in [
        "# Group g: failed",
        "| d | is not begun | proj-0 is open in beads |",
        "| a | has failed | exit code 1 |",
        "| a | is given up | ambiguous: ",
    ] {
        assert!(markdown.contains(line), "{line} in\n{markdown}");
    }
}

#[test]
fn red_tests_fail_the_group() {
    let mut play = Play::new("a", &[]);
    play.end("g.refresh", None);
    play.end("a", None);
    play.end("g.tests", Some("`cargo test` failed: exit code 101"));
    let metadata = play.metadata();
    assert_eq!(metadata.status, Status::Failed);
    assert_eq!(metadata.errors, ["Tests failed: `cargo test` failed: exit code 101"]);
    assert_eq!(metadata.results[0].status, Status::Completed, "its work landed all the same");
}

#[test]
fn where_all_are_blocked_nothing_starts_and_nothing_is_completed() {
    let play = Play::new("a b", &[("a", "x is open"), ("b", "y is open")]);
    assert_eq!((play.at_work(), play.stands()), (String::new(), "post_execution blocked".into()));
    let metadata = play.metadata();
    assert_eq!((metadata.started_at, metadata.results.len()), (None, 2));
    assert!(!play.scheduler.run().is_all_good());
}

#[test]
fn a_group_waits_for_the_one_before_and_its_tests() {
    let task = |name: &str, group: &str| Task {
        group: Some(group.into()),
        changes: Changes::Optional,
        ..Task::new(id(name), Work::Run(Command::Line("true".into())))
    };
    let plan = Plan { tasks: vec![task("a", "g"), task("b", "h"), task("c", "h")], ..Plan::default() };
    let steps = Steps { refresh: None, tests: vec!["auto".into()] };
    let plan = arrange(plan, &steps, Circumstances::default()).unwrap();
    for red in [false, true] {
        let (run, created) = Run::create(plan.clone(), at(0));
        let (scheduler, first) = Scheduler::start(run, Options::with_slots(4), at(0)).unwrap();
        let records = [created].into_iter().chain(first.records).collect();
        let mut play = Play { scheduler, records, secs: 0 };
        assert_eq!(play.at_work(), "a");
        play.end("a", None);
        assert_eq!(play.at_work(), "g.tests");
        play.end("g.tests", red.then_some("red"));
        let next = Metadata::of(play.scheduler.run(), "h").unwrap();
        match red {
            false => assert_eq!(play.at_work(), "b c"),
            true => {
                assert_eq!((play.at_work().as_str(), next.status), ("", Status::Blocked));
                assert_eq!(next.errors[0], "Task b is blocked: g.tests did not land");
                assert!(play.scheduler.run().all_ended(), "no tests of what never began");
            }
        }
    }
}

/// Two groups, of which the second is examined before it begins; `c` is known to be blocked.
fn examined_later() -> Play {
    let task = |name: &str, group: &str| Task {
        group: Some(group.into()),
        changes: Changes::Optional,
        ..Task::new(id(name), Work::Run(Command::Line("true".into())))
    };
    let plan = Plan { tasks: vec![task("a", "f"), task("b", "g"), task("c", "g")], ..Plan::default() };
    let steps = Steps { refresh: None, tests: vec!["auto".into()] };
    let blocked = BTreeMap::from([(id("c"), "x is open".to_owned())]);
    let circumstances = Circumstances { blocked, may_change: true, ..Circumstances::default() };
    let (run, created) = Run::create(arrange(plan, &steps, circumstances).unwrap(), at(0));
    let (scheduler, first) = Scheduler::start(run, Options::with_slots(4), at(0)).unwrap();
    let records = [created].into_iter().chain(first.records).collect();
    let mut play = Play { scheduler, records, secs: 0 };
    play.end("a", None);
    let actions = play.end("f.tests", None);
    assert_eq!(actions, [Action::Examine { stage: 1 }], "nothing of the second begins before");
    assert_eq!((play.at_work().as_str(), play.stands().as_str()), ("", "pre_execution pending"));
    play
}

impl Play {
    fn examined(&mut self, blocked: Option<&[(&str, &str)]>) {
        let blocked =
            blocked.map(|all| all.iter().map(|(task, why)| (id(task), (*why).to_owned())).collect());
        let decision = self.scheduler.handle(at(self.secs), Input::StageExamined { stage: 1, blocked });
        self.records.extend(decision.records);
    }
}

#[test]
fn what_blocks_a_group_is_looked_up_before_it_begins() {
    let mut play = examined_later();
    play.examined(Some(&[("b", "y is open"), ("a", "it is none of this group")]));
    assert_eq!(play.at_work(), "c", "what was blocked is free, and what was free is blocked");
    let errors = play.metadata().errors;
    assert_eq!(errors, ["Task b is blocked: y is open"]);
    play.end("c", None);
    play.end("g.tests", None);
    assert_eq!(play.stands(), "post_execution blocked");
    assert!(only_blocked(play.scheduler.run()));
    assert!(play.report().markdown().contains("| b | is not begun | y is open |"));
    assert_eq!(Run::replay(&play.records).unwrap(), *play.scheduler.run());
}

#[test]
fn where_all_of_a_group_turns_out_to_be_blocked_its_tests_are_not_run() {
    let mut play = examined_later();
    play.examined(Some(&[("b", "y is open"), ("c", "y is open")]));
    assert_eq!((play.at_work().as_str(), play.stands().as_str()), ("", "post_execution blocked"));
    assert!(play.scheduler.run().all_ended());
}

#[test]
fn what_cannot_be_looked_up_again_is_as_it_was_known() {
    let mut play = examined_later();
    play.examined(None);
    assert_eq!(play.at_work(), "b");
    assert_eq!(play.metadata().errors, ["Task c is blocked: x is open"]);
    play.examined(Some(&[]));
    assert_eq!(play.at_work(), "b", "a second answer changes nothing");
}

/// A coordinator that takes the run up asks once more before anything of the group begins.
#[test]
fn a_group_is_examined_again_when_its_run_is_taken_up() {
    let play = examined_later();
    let run = Run::replay(&play.records).unwrap();
    let (mut scheduler, first) = Scheduler::start(run, Options::with_slots(4), at(900)).unwrap();
    assert_eq!(first.actions, [Action::Examine { stage: 1 }]);
    let decision =
        scheduler.handle(at(901), Input::StageExamined { stage: 1, blocked: Some(BTreeMap::new()) });
    assert_eq!(decision.actions.len(), 2, "both begin");
}

#[test]
fn what_was_done_before_is_told_with_the_rest() {
    let mut plan = group("b", &[]);
    let done = crate::plan::Done {
        group: "g".into(),
        task: id("a"),
        landed: true,
        subagent: Some("backend-architect".into()),
        started: Some(at(0).at),
        ended: None,
    };
    plan.execution.as_mut().unwrap().done = vec![done];
    let (run, _) = Run::create(plan, at(60));
    let metadata = Metadata::of(&run, "g").unwrap();
    assert_eq!(metadata.tasks, ["a", "b"]);
    assert_eq!((metadata.status, metadata.results.len()), (Status::Pending, 1));
    assert_eq!(landed_words(&run, &metadata), "1 of 2 tasks landed");
    assert_eq!(metadata.results[0].started_at.as_deref(), Some("2024-01-01T00:00:00Z"));
}

mod random {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    struct RandomTask {
        group: Option<u8>,
        /// One of those before it.
        on: Option<prop::sample::Index>,
        fails: bool,
        blocked: bool,
    }

    fn tasks() -> impl Strategy<Value = Vec<RandomTask>> {
        let rarely = || prop::bool::weighted(0.1);
        let task = (
            prop::option::of(0u8..4),
            prop::option::weighted(0.3, any::<prop::sample::Index>()),
            rarely(),
            rarely(),
        )
            .prop_map(|(group, on, fails, blocked)| RandomTask { group, on, fails, blocked });
        prop::collection::vec(task, 1..14)
    }

    fn arranged(tasks: &[RandomTask]) -> Option<Plan> {
        let name = |at: usize| id(&format!("t{at}"));
        let task = |(at, task): (usize, &RandomTask)| {
            let on = task.on.filter(|_| at > 0).map(|on| crate::plan::Dependency::on(name(on.index(at))));
            Task {
                group: task.group.map(|group| format!("g{group}")),
                changes: Changes::Optional,
                dependencies: on.into_iter().collect(),
                ..Task::new(name(at), Work::Run(Command::Line("true".into())))
            }
        };
        let plan = Plan { tasks: tasks.iter().enumerate().map(task).collect(), ..Plan::default() };
        let blocked =
            (0..tasks.len()).filter(|&at| tasks[at].blocked).map(|at| (name(at), "x".to_owned())).collect();
        let refresh = crate::plan::groups::Refresh {
            work: Work::Run(Command::Line("summary".into())),
            timeout: crate::values::units::Millis(60_000),
        };
        let steps = Steps { refresh: Some(refresh), tests: vec!["auto".into()] };
        arrange(plan, &steps, Circumstances { blocked, ..Circumstances::default() }).ok()
    }

    /// Nothing of a stage begins before all of the one before has landed.
    fn begins_in_order(play: &Play, execution: &Execution) {
        let state =
            |task: &TaskId| &play.scheduler.run().progress(play.scheduler.run().place(task).unwrap()).state;
        for pair in execution.stages.windows(2) {
            let begun = pair[1].tasks.iter().chain(pair[1].steps()).any(|task| {
                matches!(state(task), TaskState::Running(_) | TaskState::Completed | TaskState::Failed(_))
            });
            let landed =
                pair[0].tasks.iter().chain(&pair[0].tests).all(|task| *state(task) == TaskState::Completed);
            assert!(!begun || landed, "{pair:?}");
        }
    }

    fn tells_the_truth(play: &Play, execution: &Execution) {
        let run = play.scheduler.run();
        for group in execution.groups() {
            let told = Metadata::of(run, group).unwrap();
            let all: Vec<&TaskId> =
                execution.stages_of(group).flat_map(|stage| stage.tasks.iter().chain(&stage.tests)).collect();
            let status = |task: &&TaskId| run.progress(run.place(task).unwrap()).state.status();
            let good = all.iter().all(|task| status(task) == TaskStatus::Completed);
            let over = all.iter().all(|task| status(task).is_end());
            assert_eq!(told.status == Status::Completed, good, "{group}: {told:?}");
            assert_eq!(
                (told.status.is_end(), told.completed_at.is_some() || !over),
                (over, true),
                "{told:?}"
            );
            assert_eq!(told.status == Status::Failed || told.status == Status::Blocked, over && !good);
            let blocked = told.tasks.iter().any(|task| execution.blocked.contains_key(&id(task)));
            assert!(!(blocked && told.status == Status::Completed), "{told:?}");
            let read: serde_json::Value = serde_json::from_str(&told.text()).unwrap();
            assert_eq!(read, serde_json::to_value(&told).unwrap());
        }
    }

    proptest! {
        #[test]
        fn stages_follow_each_other_and_the_files_never_lie(tasks in tasks(), picks in prop::collection::vec(any::<prop::sample::Index>(), 80), bad_steps in prop::collection::vec(prop::bool::weighted(0.15), 80), slots in 1u32..4) {
            let Some(plan) = arranged(&tasks) else { return Ok(()) };
            let execution = plan.execution.clone().unwrap();
            let (run, created) = Run::create(plan, at(0));
            let (scheduler, first) = Scheduler::start(run, Options::with_slots(slots), at(0)).unwrap();
            let records = [created].into_iter().chain(first.records).collect();
            let mut play = Play { scheduler, records, secs: 0 };
            for (pick, bad) in picks.iter().zip(&bad_steps) {
                begins_in_order(&play, &execution);
                tells_the_truth(&play, &execution);
                let running = play.running();
                if running.is_empty() {
                    break;
                }
                let (task, _) = pick.get(&running).clone();
                let own = task.as_str().strip_prefix('t').and_then(|at| at.parse::<usize>().ok());
                let fails = own.map_or(*bad, |at| tasks[at].fails);
                play.end(task.as_str(), fails.then_some("no"));
            }
            prop_assert!(play.scheduler.run().all_ended(), "it comes to an end");
            let again = Run::replay(&play.records).unwrap();
            for group in execution.groups() {
                prop_assert_eq!(Metadata::of(&again, group), Metadata::of(play.scheduler.run(), group));
            }
        }
    }
}
