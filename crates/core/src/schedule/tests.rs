//! Scripts: what comes in, and what the scheduler makes of it, written as one line of words.

mod agent_choice;
mod amending;
mod budget;
mod handing_over;
mod illegal;
mod landing;
mod leases;
mod left;
mod needs;
mod outages;
mod preempting;
mod properties;
mod questions;
mod race;
mod ready;
mod reattaching;
mod recovering;
mod reviews;
mod stacks;
mod waiting;

use std::fmt::Write as _;

use super::*;
use crate::plan::graph::Strategy;
use crate::plan::sketch::{dependency, id, plan};
use crate::plan::{Command, Dependency, Group, Kind, Plan, Priority, RetryPolicy, Task, When, Work};
use crate::run::event::Again;
use crate::run::event::RECOVERY;
use crate::run::event::{Answer, Failure, FailureClass, Question, ReviewVerdict, SetAside, Usage};
use crate::values::units::{Millis, Timestamp, Usd};

/// Events that came to a run's log from outside of the scheduler.
pub(super) fn apply(run: &mut Run, events: &[Event]) {
    for event in events {
        let record = Record {
            seq: run.seq() + 1,
            at: Default::default(),
            tick: Default::default(),
            event: event.clone(),
        };
        run.apply(&record).unwrap();
    }
}

fn now(secs: u64) -> Now {
    Now { at: Timestamp(secs as i64 * 1000), tick: Tick(secs * 1000), jitter: 0.5 }
}

struct Script {
    scheduler: Scheduler,
    log: Vec<Record>,
    /// Of the last decision.
    actions: Vec<Action>,
    secs: u64,
}

/// Prompts, each for the agents named behind it.
fn prompts(text: &str) -> Plan {
    let tasks = text.split(';').map(|entry| {
        let mut words = entry.split_whitespace();
        let name = words.next().unwrap();
        let mut task = Task::new(id(name), Work::Prompt(name.into()));
        task.agent = words.next().map(str::to_owned);
        task.fallback_agents = words.map(str::to_owned).collect();
        task
    });
    Plan { tasks: tasks.collect(), ..Plan::default() }
}

impl Script {
    fn start(plan: Plan, options: Options) -> (Script, String) {
        let (run, created) = Run::create(plan, now(0));
        let (scheduler, decision) = Scheduler::start(run, options, now(0)).unwrap();
        let mut script = Script { scheduler, log: vec![created], actions: Vec::new(), secs: 0 };
        let told = script.told(decision);
        (script, told)
    }

    #[track_caller]
    fn told(&mut self, decision: Decision) -> String {
        assert_eq!(decision.illegal, None);
        self.actions = decision.actions.clone();
        let mut words = Vec::new();
        for record in &decision.records {
            words.extend(tell(&record.event));
        }
        words.extend(decision.refused.iter().map(|refusal| format!("refused: {refusal}")));
        self.log.extend(decision.records);
        words.join(", ")
    }

    fn input(&mut self, input: Input) -> String {
        let decision = self.scheduler.handle(now(self.secs), input);
        self.told(decision)
    }

    fn attempt_of(&self, task: &str) -> Attempt {
        let place = self.scheduler.run().place(&id(task)).unwrap();
        Attempt(self.scheduler.run().progress(place).last_attempt)
    }

    fn ended(&mut self, task: &str, outcome: Outcome) -> String {
        let attempt = self.attempt_of(task);
        self.input(Input::AttemptEnded { task: id(task), attempt, outcome, change: None, phases: None })
    }

    /// Ends well and leaves something to merge.
    fn left(&mut self, task: &str) -> String {
        self.left_as(task, task)
    }

    fn left_as(&mut self, task: &str, commit: &str) -> String {
        let attempt = self.attempt_of(task);
        let change = Some(Box::new(Change::new("base", commit)));
        self.input(Input::AttemptEnded {
            task: id(task),
            attempt,
            outcome: Outcome::Succeeded,
            change,
            phases: None,
        })
    }

    /// These are stacked in this order; those do not fit.
    fn merged(&mut self, stacked: &str, failed: &str) -> String {
        let attempt = |task: &str| self.attempt_of(task);
        let stacked = stacked
            .split_whitespace()
            .map(|task| Stacked { task: id(task), attempt: attempt(task), to: format!("merged-{task}") })
            .collect();
        let failure = Failure::new(FailureClass::Conflict, "both changed a.rs");
        let failed = failed
            .split_whitespace()
            .map(|task| LeftBehind { task: id(task), attempt: attempt(task), failure: failure.clone() })
            .collect();
        self.input(Input::MergesPrepared { from: "tip".into(), stacked, failed })
    }

    fn moved(&mut self, task: &str, moved: bool) -> String {
        self.input(Input::BranchMoved { to: format!("merged-{task}"), moved })
    }

    fn ok(&mut self, task: &str) -> String {
        self.ended(task, Outcome::Succeeded)
    }

    fn fail(&mut self, task: &str) -> String {
        self.ended(task, Outcome::Failed(Failure::new(FailureClass::Exit, "exit 1")))
    }

    fn ask(&mut self, request: Request) -> String {
        self.input(Input::Asked(request))
    }

    fn wait(&mut self, secs: u64) -> String {
        self.secs += secs;
        self.input(Input::TimerDue)
    }

    fn use_up(&mut self, task: &str, dollars: f64) -> String {
        let usage = Usage { cost: Usd::from_dollars(dollars), turns: 1, ..Usage::default() };
        let attempt = self.attempt_of(task);
        self.input(Input::UsageReported {
            task: id(task),
            attempt,
            usage,
            model: None,
            taken_back: Usage::default(),
        })
    }

    /// The coordinator dies here and another takes the log up.
    fn crash(self, options: Options) -> (Script, String) {
        let run = Run::replay(&self.log).unwrap();
        let (scheduler, decision) = Scheduler::start(run, options, now(self.secs)).unwrap();
        let mut script = Script { scheduler, log: self.log, actions: Vec::new(), secs: self.secs };
        let told = script.told(decision);
        (script, told)
    }
}

/// Starts and ends, in few words; bookkeeping is left out.
fn tell(event: &Event) -> Option<String> {
    let mut word = String::new();
    let _ = match event {
        Event::AttemptStarted { task, attempt, on, .. } => {
            let again = if attempt.0 > 1 { format!("#{attempt}") } else { String::new() };
            let below: Vec<String> = on.iter().map(|(task, commit)| format!("{task}={commit}")).collect();
            let below = if below.is_empty() { String::new() } else { format!(" on {}", below.join(" and ")) };
            write!(word, "start {task}{again}{below}")
        }
        Event::StopRequested { task, why, .. } => write!(word, "stop {task} ({why:?})"),
        Event::AttemptLeased { task, worker, .. } => write!(word, "leased {task} to {worker}"),
        Event::LeaseLost { task, .. } => write!(word, "lost {task}"),
        Event::ShimLost { task, .. } => write!(word, "lost the shim of {task}"),
        Event::AttemptReattached { task, .. } => write!(word, "again {task}"),
        Event::AttemptEnded { task, outcome: Outcome::Interrupted, .. } => write!(word, "interrupted {task}"),
        Event::MergeIntended { task, .. } => write!(word, "merging {task}"),
        Event::MergeFailed { task, .. } => write!(word, "unmerged {task}"),
        Event::RetryScheduled { task, delay, again: Again::Failed } => {
            write!(word, "retry {task} in {delay}")
        }
        Event::RetryScheduled { task, again: Again::Mend(_), .. } => write!(word, "mend {task}"),
        Event::RetryScheduled { task, again: Again::Anew, .. } => write!(word, "anew {task}"),
        Event::RetryScheduled { task, again: Again::Other, .. } => write!(word, "other {task}"),
        Event::RetryScheduled { task, again: Again::Back, .. } => write!(word, "back {task}"),
        Event::RetryScheduled { task, again: Again::SentBack(_), .. } => write!(word, "sent back {task}"),
        Event::ReviewRequested { task, .. } => write!(word, "review {task}"),
        Event::WorkSetAside { task, why: SetAside::Changed { task: below }, .. } => {
            write!(word, "aside {task} (by {below})")
        }
        Event::WorkSetAside { task, why: SetAside::DoesNotFit, .. } => write!(word, "aside {task}"),
        Event::ReviewGiven { task, verdict: ReviewVerdict::Approved { commit }, .. } => {
            write!(word, "approved {task} ({commit})")
        }
        Event::ReviewGiven { task, verdict: ReviewVerdict::Edited { .. }, .. } => {
            write!(word, "edited {task}")
        }
        Event::ReviewGiven { task, verdict: ReviewVerdict::Dropped, .. } => write!(word, "dropped {task}"),
        Event::RunPaused { by: Some(task) } => write!(word, "paused for {task}"),
        Event::CheckpointMade { task, .. } => write!(word, "secured {task}"),
        Event::ApprovalAsked { task, question } if question.tool == RECOVERY => {
            write!(word, "asked {task}")
        }
        Event::TaskCompleted { task, .. } => write!(word, "done {task}"),
        Event::RaceDecided { task, winner, why, .. } => write!(word, "{winner} wins {task}: {why}"),
        Event::TaskFailed { task, failure } => write!(word, "failed {task} ({:?})", failure.class),
        Event::TaskSkipped { task, culprit: Some(culprit) } => write!(word, "skip {task} (by {culprit})"),
        Event::TaskSkipped { task, culprit: None } => write!(word, "skip {task}"),
        Event::TaskCancelled { task } => write!(word, "cancelled {task}"),
        Event::TaskReopened { task } => write!(word, "reopen {task}"),
        Event::ProviderParked { agent, until, .. } => write!(word, "parked {agent} until {}", until.0 / 1000),
        Event::RunDrained { why } => write!(word, "drain ({why:?})"),
        Event::DrainLifted {} => write!(word, "lifted"),
        Event::RunStopped { why } => write!(word, "stopped ({why:?})"),
        Event::RunFinished { outcome } => write!(word, "finished ({outcome:?})"),
        _ => return None,
    };
    Some(word)
}

fn queue(slots: u32) -> Options {
    Options::with_slots(slots)
}

#[test]
fn a_task_starts_the_moment_its_own_dependencies_are_done() {
    let (mut s, told) = Script::start(plan("a; b; c <- a; d <- b"), queue(4));
    assert_eq!(told, "start a, start b");
    assert_eq!(s.ok("a"), "done a, start c");
    assert_eq!(s.ok("c"), "done c");
    assert_eq!(s.ok("b"), "done b, start d");
    assert_eq!(s.ok("d"), "done d, finished (Completed)");
}

#[test]
fn slots_are_a_cap_and_priority_decides_who_is_next() {
    let mut plan = plan("low; high; mid");
    plan.tasks[0].priority = Priority(3);
    plan.tasks[1].priority = Priority(1);
    let (mut s, told) = Script::start(plan, queue(1));
    assert_eq!(told, "start high");
    assert_eq!(s.ok("high"), "done high, start mid");
    assert_eq!(s.ok("mid"), "done mid, start low");
}

#[test]
fn what_blocks_an_urgent_task_is_urgent() {
    let mut plan = plan("a; b; slow; urgent <- b");
    plan.tasks[0].priority = Priority(1);
    plan.tasks[3].priority = Priority(0);
    plan.tasks[2].estimate = Some(Millis::from_secs(9999));
    let (mut s, told) = Script::start(plan, queue(1));
    assert_eq!(told, "start b");
    assert_eq!(s.ok("b"), "done b, start urgent");
    assert_eq!(s.ok("urgent"), "done urgent, start a");
}

#[test]
fn a_failure_skips_everything_behind_it_and_names_the_culprit() {
    let (mut s, _) = Script::start(plan("a; b <- a; c <- b; d"), queue(2));
    assert_eq!(s.fail("a"), "failed a (Exit), skip b (by a), skip c (by a)");
    assert_eq!(s.ok("d"), "done d, finished (Failed)");
}

#[test]
fn finished_and_soft_dependencies_survive_a_failure() {
    let (mut s, _) = Script::start(plan("a; clean <- a?; order <- a~; hard <- a"), queue(4));
    assert_eq!(s.fail("a"), "failed a (Exit), skip hard (by a), start clean, start order");
}

#[test]
fn only_soft_dependencies_survive_one_that_never_ran() {
    let (mut s, _) = Script::start(plan("x; a <- x; clean <- a?; order <- a~"), queue(4));
    let told = s.fail("x");
    assert_eq!(told, "failed x (Exit), skip a (by x), skip clean (by x), start order");
}

#[test]
fn retries_wait_longer_each_time_and_then_give_up() {
    let mut plan = plan("a");
    plan.tasks[0].retry = RetryPolicy::default();
    let (mut s, _) = Script::start(plan, queue(1));
    assert_eq!(s.fail("a"), "retry a in 5.0s");
    assert_eq!(s.scheduler.next_deadline(), Some(Tick(5_000)));
    assert_eq!(s.wait(4), "");
    assert_eq!(s.wait(1), "start a#2");
    assert_eq!(s.fail("a"), "retry a in 10.0s");
    assert_eq!(s.wait(10), "start a#3");
    assert_eq!(s.fail("a"), "failed a (Exit), finished (Failed)");
}

#[test]
fn a_waiting_retry_leaves_its_slot_to_others() {
    let mut plan = plan("a; b");
    plan.tasks[0].retry = RetryPolicy::default();
    let (mut s, told) = Script::start(plan, queue(1));
    assert_eq!(told, "start a");
    assert_eq!(s.fail("a"), "retry a in 5.0s, start b");
}

#[test]
fn a_timeout_is_a_failure_whatever_the_process_says() {
    let mut plan = plan("a");
    plan.tasks[0].timeout = Some(Millis::from_secs(60));
    let (mut s, _) = Script::start(plan, queue(1));
    assert_eq!(s.wait(59), "");
    assert_eq!(s.wait(1), "stop a (TimedOut)");
    assert_eq!(s.scheduler.next_deadline(), None);
    assert_eq!(s.ok("a"), "failed a (TimedOut), finished (Failed)");
}

#[test]
fn work_that_is_good_does_not_time_out_while_it_is_measured() {
    let mut plan = plan("a");
    plan.tasks[0].timeout = Some(Millis::from_secs(60));
    let (mut s, _) = Script::start(plan, queue(1));
    let (task, attempt) = (id("a"), Attempt(1));
    assert_eq!(s.wait(59), "");
    assert_eq!(s.input(Input::WorkAccepted { task: task.clone(), attempt: Attempt(2) }), "");
    assert!(s.scheduler.next_deadline().is_some(), "that was another attempt");
    assert_eq!(s.input(Input::WorkAccepted { task: task.clone(), attempt }), "");
    let process = Process { pid: 7, start_time: 7 };
    s.input(Input::ProcessStarted { task, attempt, process });
    assert_eq!(s.scheduler.next_deadline(), None, "nor does what measures it");
    assert_eq!(s.ok("a"), "done a, finished (Completed)");
}

#[test]
fn late_and_doubled_reports_change_nothing() {
    let mut plan = plan("a; b");
    plan.tasks[0].retry = RetryPolicy::default();
    let (mut s, _) = Script::start(plan, queue(2));
    s.fail("a");
    let late = Input::AttemptEnded {
        task: id("a"),
        attempt: Attempt(1),
        outcome: Outcome::Succeeded,
        change: None,
        phases: None,
    };
    assert_eq!(s.input(late.clone()), "");
    assert_eq!(s.wait(5), "start a#2");
    assert_eq!(s.input(late), "");
    assert_eq!(s.ok("b"), "done b");
    assert_eq!(s.ok("b"), "");
    let unknown = Input::AttemptEnded {
        task: id("zz"),
        attempt: Attempt(1),
        outcome: Outcome::Succeeded,
        change: None,
        phases: None,
    };
    assert_eq!(s.input(unknown), "");
}

#[test]
fn groups_agents_and_resources_cap_their_own() {
    let mut plan = plan("g1; g2; a1; a2; r1; r2; r3; free");
    plan.groups = vec![Group { max_parallel: Some(1), ..Group::named("g") }];
    for place in [0, 1] {
        plan.tasks[place].group = Some("g".into());
    }
    for place in [2, 3] {
        plan.tasks[place].agent = Some("claude".into());
    }
    for (place, amount) in [(4, 2), (5, 2), (6, 1)] {
        plan.tasks[place].resources.insert("gpu".into(), amount);
    }
    let mut options = queue(20);
    options.limits.agents.insert("claude".into(), 1);
    options.limits.resources.insert("gpu".into(), 3);
    let (mut s, told) = Script::start(plan, options);
    assert_eq!(told, "start g1, start a1, start r1, start free");
    assert_eq!(s.ok("g1"), "done g1, start g2");
    assert_eq!(s.ok("a1"), "done a1, start a2");
    assert_eq!(s.ok("r1"), "done r1, start r2, start r3");
}

/// `big` needs all of it; `small` ones keep coming but are not let past.
#[test]
fn who_wants_much_is_not_starved_by_many_who_want_little() {
    let mut plan = plan("first; big; small1; small2");
    for (place, amount) in [(0, 1), (1, 2), (2, 1), (3, 1)] {
        plan.tasks[place].resources.insert("db".into(), amount);
    }
    plan.tasks[0].priority = Priority(0);
    plan.tasks[1].priority = Priority(1);
    let (mut s, told) = Script::start(plan, queue(8));
    assert_eq!(told, "start first");
    assert_eq!(s.ok("first"), "done first, start big");
    assert_eq!(s.ok("big"), "done big, start small1, start small2");
}

#[test]
fn a_request_beyond_the_machine_runs_alone_instead_of_never() {
    let mut plan = plan("a; b");
    plan.tasks[0].resources.insert("cpu".into(), 64);
    plan.tasks[1].resources.insert("cpu".into(), 1);
    let mut options = queue(8);
    options.limits.resources.insert("cpu".into(), 2);
    let (mut s, told) = Script::start(plan, options);
    assert_eq!(told, "start a");
    assert_eq!(s.ok("a"), "done a, start b");
}

#[test]
fn tasks_that_touch_the_same_files_do_not_run_side_by_side() {
    let mut plan = plan("a; b; c");
    plan.tasks[0].files = vec!["src/api/**".into()];
    plan.tasks[1].files = vec!["src/api/mod.rs".into()];
    plan.tasks[2].files = vec!["docs/*.md".into()];
    let (mut s, told) = Script::start(plan.clone(), queue(8));
    assert_eq!(told, "start a, start c");
    assert_eq!(s.ok("c"), "done c");
    assert_eq!(s.ok("a"), "done a, start b");
    let options = Options { allow_overlap: true, ..queue(8) };
    assert_eq!(Script::start(plan, options).1, "start a, start b, start c");
}

#[test]
fn batch_waits_for_the_whole_level_even_where_one_fails() {
    let options = Options { strategy: Strategy::Batch, ..queue(8) };
    let (mut s, told) = Script::start(plan("a; b; c <- a; d"), options);
    assert_eq!(told, "start a, start b, start d");
    assert_eq!(s.ok("a"), "done a");
    assert_eq!(s.fail("b"), "failed b (Exit)");
    assert_eq!(s.ok("d"), "done d, start c");
}

#[test]
fn sequential_is_one_at_a_time_in_file_order() {
    let options = Options { strategy: Strategy::Sequential, ..queue(8) };
    let (mut s, told) = Script::start(plan("b; a; c"), options);
    assert_eq!(told, "start b");
    assert_eq!(s.fail("b"), "failed b (Exit), start a");
    assert_eq!(s.ok("a"), "done a, start c");
}

#[test]
fn fail_fast_lets_what_runs_end_and_leaves_the_rest_to_a_resume() {
    let options = Options { fail_fast: true, ..queue(2) };
    let (mut s, _) = Script::start(plan("a; b; c; d"), options);
    assert_eq!(s.fail("a"), "failed a (Exit), drain (FailFast)");
    assert_eq!(s.ok("b"), "done b, stopped (FailFast)");
    let (_, told) = s.crash(queue(2));
    assert_eq!(told, "start c, start d");
}

#[test]
fn pause_holds_new_starts_and_continue_lets_them_go() {
    let (mut s, _) = Script::start(plan("a; b"), queue(1));
    s.ask(Request::Pause);
    assert_eq!(s.ok("a"), "done a");
    assert_eq!(s.ask(Request::Continue), "start b");
}

#[test]
fn parallelism_changes_while_it_runs() {
    let (mut s, told) = Script::start(plan("a; b; c; d"), queue(1));
    assert_eq!(told, "start a");
    assert_eq!(s.ask(Request::SetSlots(3)), "start b, start c");
    assert_eq!(s.ask(Request::SetSlots(1)), "");
    assert_eq!(s.ok("a"), "done a");
    assert_eq!(s.ask(Request::SetSlots(0)), "refused: a run needs at least one slot");
}

#[test]
fn a_changed_priority_changes_what_starts_next_and_outlives_the_coordinator() {
    let (mut s, told) = Script::start(plan("a; b; c; d"), queue(1));
    assert_eq!(told, "start a");
    let of = |task: &str, priority: u8| Request::SetPriority { task: id(task), priority: Priority(priority) };
    assert_eq!(s.ask(of("d", 0)), "");
    assert_eq!(s.ok("a"), "done a, start d");
    assert_eq!(s.ask(of("c", 1)), "");
    let (mut s, told) = s.crash(queue(1));
    assert_eq!(told, "interrupted d, start d#2");
    assert_eq!(s.ok("d"), "done d, start c");
    assert_eq!(
        s.ask(of("a", 1)),
        "refused: task 'a' is completed; only a task that has not ended has a priority to change"
    );
    assert_eq!(s.ask(of("b", 9)), "refused: a priority is 0 (critical) to 4 (backlog)");
    assert_eq!(s.ask(of("x", 1)), "refused: there is no task 'x' in this run");
}

#[test]
fn cancelling_one_skips_what_needs_it_and_cancelling_all_ends_the_run() {
    let (mut s, _) = Script::start(plan("a; b <- a; c; d <- c"), queue(2));
    assert_eq!(s.ask(Request::Cancel(id("a"))), "stop a (Cancelled)");
    assert_eq!(s.ok("a"), "cancelled a, skip b (by a)");
    let told = s.ask(Request::CancelAll);
    assert_eq!(told, "stop c (Cancelled), cancelled d");
    assert_eq!(s.fail("c"), "cancelled c, finished (Cancelled)");
}

#[test]
fn a_person_can_retry_and_skip_and_is_told_when_that_makes_no_sense() {
    let (mut s, _) = Script::start(plan("a; b <- a; c; d <- b"), queue(2));
    s.fail("a");
    assert_eq!(s.ask(Request::Retry(id("a"))), "reopen a, reopen b, reopen d, start a#2");
    assert_eq!(s.ok("a"), "done a, start b");
    assert_eq!(s.ask(Request::Skip(id("d"))), "skip d");
    let told = s.ask(Request::Skip(id("b")));
    assert_eq!(told, "refused: task 'b' is running; only a task that has not started can be skipped");
    assert_eq!(s.ask(Request::Retry(id("x"))), "refused: there is no task 'x' in this run");
}

#[test]
fn a_task_is_done_again_by_another_agent() {
    let with = |task: &str, model: Option<&str>| Request::RetryWith {
        task: id(task),
        agent: "codex".into(),
        model: model.map(str::to_owned),
    };
    let mut given = plan("a; b <- a; c; d");
    for task in &mut given.tasks[..2] {
        task.work = Work::Prompt("think".into());
        task.fallback_agents = vec!["gemini".into()];
    }
    let (mut s, _) = Script::start(given, queue(3));
    assert_eq!(
        s.ask(with("a", None)),
        "refused: task 'a' is running; only a task that has ended badly is given to another agent"
    );
    s.fail("a");
    s.fail("c");
    let told = s.ask(with("c", None));
    assert_eq!(told, "refused: task 'c' is a command, which no agent carries out");
    s.ask(with("a", Some("gpt-5")));
    let task = &s.scheduler.run().plan().tasks[0];
    assert_eq!((task.agent_name(), task.model.as_deref()), ("codex", Some("gpt-5")));
    assert_eq!(task.fallback_agents, Vec::<String>::new());
    let choice = s.scheduler.run().agent_choice(0).unwrap();
    assert_eq!((choice.agent.as_str(), choice.model.as_deref()), ("codex", Some("gpt-5")));
    assert_eq!(s.scheduler.run().progress(1).state.status(), Status::Pending, "what was skipped for it");
    assert_eq!(s.scheduler.run().plan().tasks[1].agent_name(), "claude", "only this one");
}

#[test]
fn a_dependent_skipped_for_another_reason_stays_skipped_after_a_retry() {
    let (mut s, _) = Script::start(plan("a; b; c <- a b"), queue(2));
    assert_eq!(s.fail("a"), "failed a (Exit), skip c (by a)");
    s.fail("b");
    let (mut s, _) = Script::start(plan("a; b; c <- a b; z"), queue(3));
    s.fail("a");
    s.fail("b");
    assert_eq!(s.ask(Request::Retry(id("a"))), "reopen a, reopen c, skip c (by b), start a#2");
}

#[test]
fn a_task_that_spent_its_budget_is_stopped_and_not_tried_again() {
    let mut plan = plan("a");
    plan.tasks[0].max_cost = Some(Usd::from_dollars(1.0));
    plan.tasks[0].retry = RetryPolicy::default();
    let (mut s, _) = Script::start(plan, queue(1));
    assert_eq!(s.use_up("a", 0.6), "");
    assert_eq!(s.fail("a"), "retry a in 5.0s");
    assert_eq!(s.wait(5), "start a#2");
    assert_eq!(s.use_up("a", 0.6), "stop a (Budget)");
    assert_eq!(s.ok("a"), "failed a (Budget), finished (Failed)");
}

#[test]
fn the_last_turn_a_task_may_take_comes_to_its_end() {
    let mut plan = plan("a");
    plan.tasks[0].max_turns = Some(2);
    let (mut s, _) = Script::start(plan, queue(1));
    assert_eq!([s.use_up("a", 0.0), s.use_up("a", 0.0)], ["", ""]);
    assert_eq!(s.use_up("a", 0.0), "stop a (Budget)");
}

#[test]
fn a_spent_run_budget_starts_nothing_new_and_can_be_raised_on_resume() {
    let mut plan = plan("a; b; c");
    plan.tasks[0].work = Work::Prompt("think".into());
    let mut options = queue(2);
    options.limits.max_cost = Some(Usd::from_dollars(1.0));
    let (mut s, told) = Script::start(plan, options);
    assert_eq!(told, "start a, start b");
    assert_eq!(s.use_up("a", 1.2), "drain (Budget), stop a (Interrupted)");
    assert_eq!(s.ended("a", Outcome::Interrupted), "interrupted a");
    assert_eq!(s.ok("b"), "done b, stopped (Budget)");
    let (_, told) = s.crash(queue(2));
    assert_eq!(told, "start a#2, start c");
}

#[test]
fn attempts_and_time_of_the_whole_run_are_capped() {
    let mut options = queue(2);
    options.limits.max_attempts = Some(3);
    let (mut s, _) = Script::start(plan("a; b; c; d; e"), options);
    assert_eq!(s.ok("a"), "done a, start c");
    assert_eq!(s.ok("b"), "done b, drain (Budget)");
    assert_eq!(s.ok("c"), "done c, stopped (Budget)");

    let mut options = queue(1);
    options.limits.max_time = Some(Millis::from_secs(100));
    let (mut s, _) = Script::start(plan("a; b"), options);
    assert_eq!(s.wait(99), "");
    assert_eq!(s.wait(1), "drain (Budget), stop a (Interrupted)");
}

#[test]
fn after_a_crash_what_ran_is_interrupted_not_failed_and_runs_again() {
    let (mut s, _) = Script::start(plan("a; b; c <- a"), queue(2));
    s.ok("a");
    let (mut s, told) = s.crash(queue(2));
    assert_eq!(told, "interrupted b, interrupted c, start b#2, start c#2");
    assert_eq!(s.ok("b"), "done b");
    let stale = Input::AttemptEnded {
        task: id("c"),
        attempt: Attempt(1),
        outcome: Outcome::Succeeded,
        change: None,
        phases: None,
    };
    assert_eq!(s.input(stale), "");
    assert_eq!(s.ok("c"), "done c, finished (Completed)");
}

#[test]
fn a_crash_keeps_the_rest_of_a_retry_wait_however_the_clock_jumped() {
    let mut plan = plan("a");
    plan.tasks[0].retry = RetryPolicy::default();
    let (mut s, _) = Script::start(plan, queue(1));
    s.fail("a");
    for (jump, left) in [(2_000, 3_000), (-3_600_000, 5_000), (315_360_000_000, 0)] {
        let run = Run::replay(&s.log).unwrap();
        let later = Now { at: Timestamp(jump), tick: Tick(0), jitter: 0.5 };
        let (scheduler, _) = Scheduler::start(run, queue(1), later).unwrap();
        assert_eq!(scheduler.next_deadline(), Some(Tick(left)));
    }
}

#[test]
fn a_task_told_to_stop_before_the_crash_is_not_run_again() {
    let mut plan = plan("a; b");
    plan.tasks[0].timeout = Some(Millis::from_secs(1));
    let (mut s, _) = Script::start(plan, queue(2));
    s.wait(1);
    s.ask(Request::Cancel(id("b")));
    let (_, told) = s.crash(queue(2));
    assert_eq!(told, "failed a (TimedOut), cancelled b, finished (Failed)");
}

#[test]
fn starting_again_reopens_what_ended_badly() {
    let (mut s, _) = Script::start(plan("a; b <- a; c"), queue(2));
    s.fail("a");
    s.ok("c");
    let run = Run::replay(&s.log).unwrap();
    let (scheduler, decision) =
        Scheduler::take_up(run, queue(2), now(0), ResumeState { reopen: true, ..ResumeState::default() })
            .unwrap();
    assert_eq!(s.told(decision), "reopen a, reopen b, start a#2");
    assert_eq!(scheduler.run().count(Status::Completed), 1);
}

#[test]
fn stopping_twice_interrupts_and_a_success_in_the_last_moment_counts() {
    let (mut s, _) = Script::start(plan("a; b; c"), queue(2));
    assert_eq!(s.ask(Request::Drain), "drain (User)");
    assert_eq!(s.ask(Request::Stop), "stop a (Interrupted), stop b (Interrupted)");
    assert_eq!(s.ok("a"), "done a");
    assert_eq!(s.fail("b"), "interrupted b, stopped (User)");
}

/// Found by the property test: `woken` is next at the pool and is skipped before its turn; `last` must not wait for it.
#[test]
fn a_place_at_a_pool_is_handed_on_when_the_one_it_was_meant_for_goes() {
    let mut plan = plan("first; woken; last; other");
    for (place, amount) in [(0, 2), (1, 1), (2, 1)] {
        plan.tasks[place].resources.insert("db".into(), amount);
    }
    plan.tasks[2].files = vec!["src/**".into()];
    plan.tasks[0].priority = Priority(0);
    plan.tasks[3].priority = Priority(0);
    let (mut s, told) = Script::start(plan, queue(2));
    assert_eq!(told, "start first, start other");
    s.ask(Request::Pause);
    assert_eq!(s.ok("first"), "done first");
    assert_eq!(s.ask(Request::Skip(id("woken"))), "skip woken");
    assert_eq!(s.ask(Request::Continue), "start last");
}
