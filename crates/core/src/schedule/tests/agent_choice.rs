//! Who does it, when the first of its agents cannot.

use super::*;
use crate::plan::models::Sample;
use crate::values::units::Usd;

impl Script {
    fn agent_choice(&self, task: &str) -> &str {
        let place = self.scheduler.run().place(&id(task)).unwrap();
        self.scheduler.run().agent_choice(place).map_or("none", |choice| &choice.agent)
    }

    fn model(&self, task: &str) -> (Option<&str>, &str) {
        let place = self.scheduler.run().place(&id(task)).unwrap();
        let choice = self.scheduler.run().agent_choice(place).unwrap();
        (choice.model.as_deref(), &choice.why)
    }

    fn failed(&mut self, task: &str, class: FailureClass) -> String {
        self.ended(task, Outcome::Failed(Failure::new(class, "no")))
    }

    fn parked(&mut self, agent: &str, until: i64) -> String {
        self.input(Input::ProviderParked { agent: agent.into(), until: Timestamp(until * 1000) })
    }
}

#[test]
fn an_agent_that_is_missing_is_passed_over() {
    let mut options = queue(4);
    options.absent = ["claude".to_owned(), "gemini".to_owned()].into();
    let (s, told) = Script::start(prompts("a claude gemini codex; b codex claude"), options);
    assert_eq!(told, "start a, start b");
    assert_eq!((s.agent_choice("a"), s.agent_choice("b")), ("codex", "codex"));
}

#[test]
fn an_agents_own_failure_hands_over_at_once_and_is_no_try() {
    let (mut s, _) = Script::start(prompts("a claude codex gemini"), queue(1));
    assert_eq!(s.failed("a", FailureClass::Unauthorized), "other a, start a#2");
    assert_eq!(s.agent_choice("a"), "codex");
    assert_eq!(s.failed("a", FailureClass::Overloaded), "other a, start a#3");
    assert_eq!(s.agent_choice("a"), "gemini");
    // No agent is left: from here on the policy counts, from the first again.
    assert_eq!(s.failed("a", FailureClass::Provider), "retry a in 5.0s");
    let (mut s, _) = s.crash(queue(1));
    assert_eq!(s.wait(5), "start a#4");
    assert_eq!(s.agent_choice("a"), "claude");
    let told = s.failed("a", FailureClass::Unauthorized);
    assert_eq!(told, "drain (Unauthorized), failed a (Unauthorized), finished (Failed)");
}

#[test]
fn bad_work_stays_with_the_agent_that_did_it() {
    let (mut s, _) = Script::start(prompts("a claude codex"), queue(1));
    assert_eq!(s.failed("a", FailureClass::NoChanges), "retry a in 5.0s");
    assert_eq!(s.wait(5), "start a#2");
    assert_eq!(s.agent_choice("a"), "claude");
}

#[test]
fn a_parked_providers_tasks_go_to_others_who_can_and_the_rest_waits() {
    let (mut s, _) = Script::start(prompts("a claude codex; b claude; c claude codex; d codex"), queue(1));
    assert_eq!(s.parked("claude", 100), "parked claude until 100");
    assert_eq!(s.ended("a", Outcome::Interrupted), "interrupted a, start a#2");
    assert_eq!(s.agent_choice("a"), "codex");
    assert_eq!(s.ok("a"), "done a, start c");
    assert_eq!(s.agent_choice("c"), "codex");
    // Both parked: the task waits for the one that opens sooner.
    assert_eq!(s.parked("codex", 50), "parked codex until 50");
    assert_eq!(s.ended("c", Outcome::Interrupted), "interrupted c");
    assert_eq!(s.wait(51), "start c#2");
    assert_eq!(s.agent_choice("c"), "codex");
    assert_eq!(s.ok("c"), "done c, start d");
    assert_eq!(s.ok("d"), "done d");
    assert_eq!(s.wait(50), "start b");
    assert_eq!(s.ok("b"), "done b, finished (Completed)");
}

#[test]
fn one_finds_out_whether_a_provider_is_open_again_before_all_ask_it() {
    let (mut s, told) = Script::start(prompts("a claude; b claude; c claude"), queue(3));
    assert_eq!(told, "start a, start b, start c");
    s.parked("claude", 100);
    for task in ["a", "b", "c"] {
        s.ended(task, Outcome::Interrupted);
    }
    assert_eq!(s.wait(101), "start a#2", "one alone");
    s.parked("claude", 200);
    assert_eq!(s.ended("a", Outcome::Interrupted), "interrupted a");
    assert_eq!(s.wait(100), "start a#3");
    let (mut s, told) = s.crash(queue(3));
    assert_eq!(told, "interrupted a, start a#4", "whether it is open is not known yet");
    assert_eq!(s.use_up("a", 0.01), "start b#2, start c#2");
}

/// A model is chosen for each agent when it begins; what a dead coordinator chose by is known to the next.
#[test]
fn bad_work_goes_up_a_tier_and_another_agent_gets_a_model_of_its_own() {
    let mut plan = prompts("a claude codex; b claude codex; c");
    plan.tasks[0].model = Some("auto".into());
    plan.tasks[1].model = Some("sonnet".into());
    let (mut s, _) = Script::start(plan, queue(3));
    assert_eq!(s.model("a"), (Some("haiku"), "small: complexity 0.00"));
    assert_eq!(s.model("b"), (Some("sonnet"), "the task says so"));
    assert_eq!(s.model("c"), (None, "the agent's own choice"));
    s.failed("a", FailureClass::Unverified);
    let (mut s, _) = s.crash(queue(3));
    assert_eq!(s.wait(5), "start a#2");
    assert_eq!(
        s.model("a"),
        (Some("sonnet"), "medium: complexity 0.00; medium, for the try before did bad work")
    );
    assert_eq!(s.failed("a", FailureClass::Overloaded), "other a, start a#3");
    assert_eq!(
        (s.agent_choice("a"), s.model("a").0),
        ("codex", Some("gpt-5.6-terra")),
        "a provider's trouble moves no tier"
    );
    assert_eq!(s.failed("b", FailureClass::Unauthorized), "other b, start b#3");
    assert_eq!(s.model("b"), (Some("gpt-5.6-terra"), "medium: in the place of claude's sonnet"));
}

#[test]
fn a_run_short_of_money_begins_with_smaller_models() {
    let mut plan = prompts("a; b");
    plan.models = Some(Box::default());
    for task in &mut plan.tasks {
        task.work = Work::Prompt(
            "Design the security protocol, investigate the deadlock, port the engine module to sql".into(),
        );
    }
    let mut options = queue(1);
    options.limits.max_cost = Some(Usd::from_dollars(1.0));
    options.samples =
        vec![Sample { agent: "claude".into(), model: "opus".into(), kind: None, good: 9, all: 9 }];
    let (mut s, _) = Script::start(plan, options);
    assert_eq!(s.model("a").0, Some("opus"));
    s.use_up("a", 0.6);
    assert_eq!(s.ok("a"), "done a, start b");
    let (model, why) = s.model("b");
    assert_eq!(model, Some("sonnet"));
    assert!(why.ends_with("medium, for 60 % of the run's money is spent"), "{why}");
}

/// C9: no other task asks a provider that said no, tasks without it go on, and the one that was cut short
/// goes on where it was, not as a new try.
#[test]
fn a_parked_provider_frees_its_slot_and_is_asked_again_when_it_said() {
    let mut plan = plan("a; b; c");
    for place in [0, 1] {
        plan.tasks[place].work = Work::Prompt("do it".into());
        plan.tasks[place].agent = Some("claude".into());
    }
    plan.tasks[0].retry = RetryPolicy::once();
    let (mut s, told) = Script::start(plan, queue(1));
    assert_eq!(told, "start a");
    let attempt = s.attempt_of("a");
    s.input(Input::SessionStarted { task: id("a"), attempt, session: "s1".into() });
    let parked = Input::ProviderParked { agent: "claude".into(), until: Timestamp(100_000) };
    assert_eq!(s.input(parked.clone()), "parked claude until 100");
    assert_eq!(s.input(parked), "", "said once");
    let change = Some(Box::new(Change::new("base", "half")));
    let cut =
        Input::AttemptEnded { task: id("a"), attempt, outcome: Outcome::Interrupted, change, phases: None };
    assert_eq!(s.input(cut), "interrupted a, start c", "others go on");
    assert_eq!(s.ok("c"), "done c");
    assert_eq!(s.wait(50), "", "b needs it as well");
    let (mut s, told) = s.crash(queue(1));
    assert_eq!(told, "", "it stays parked when another coordinator takes over");
    assert_eq!(s.scheduler.next_deadline(), Some(Tick(100_500)));
    assert_eq!(s.wait(60), "start a#2");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.pop() else { panic!() };
    assert_eq!(start_from.session.as_deref(), Some("s1"));
    assert_eq!(
        start_from.round.map(|(number, round)| (number, round.change.commit)),
        Some((0, "half".into()))
    );
    assert_eq!(s.ok("a"), "done a, start b");
}
