//! The order in which a model is decided, and what holds for every choice.

use proptest::prelude::*;

use super::*;
use crate::plan::{Priority, Work};
use crate::values::ids::TaskId;

fn task(prompt: &str) -> Task {
    Task::new(TaskId::parse("t").unwrap(), Work::Prompt(prompt.into()))
}

fn plan(models: Option<Models>) -> Plan {
    Plan { models: models.map(Box::new), ..Plan::default() }
}

fn auto() -> Plan {
    plan(Some(Models::default()))
}

const EASY: &str = "Say hello";
const HARD: &str = "Redesign the distributed transaction protocol: investigate the deadlock and the race, refactor \
    the service, implement the engine module and its interface, mind encryption, replication and SQL security.\n\
    1. Analyse\n2. Design\n3. Implement\n4. Integrate\n5. Migrate\n6. Test\n7. Document\n8. Measure";

#[track_caller]
fn check(plan: &Plan, task: &Task, now: &Circumstances<'_>, expect: &str) {
    let chosen = choose(plan, task, task.agent_name(), now);
    assert_eq!(format!("{} ({})", chosen.model.as_deref().unwrap_or("-"), chosen.why), expect);
}

fn sample(model: &str, good: u32, all: u32) -> Sample {
    Sample { agent: "claude".into(), model: model.into(), kind: None, good, all }
}

#[test]
fn nothing_is_chosen_unless_it_is_asked_for() {
    let now = Circumstances { spent: 0.9, bad_tries: 2, ..Circumstances::default() };
    check(&plan(None), &task(HARD), &now, "- (the agent's own choice)");
    let agents = plan(Some(Models { choice: Choice::Agent, ..Models::default() }));
    check(&agents, &task(HARD), &now, "- (the agent's own choice)");
}

#[test]
fn one_word_in_the_task_asks_for_it() {
    let agents = plan(Some(Models { choice: Choice::Agent, ..Models::default() }));
    for plan in [plan(None), agents] {
        let easy = Task { model: Some("auto".into()), ..task(EASY) };
        check(&plan, &easy, &Circumstances::default(), "haiku (small: complexity 0.00)");
    }
}

/// Not a law of nature: it shows what a change of words or numbers does.
#[test]
fn tasks_as_people_write_them_get_what_one_would_expect() {
    let tier =
        |prompt: &str| choose(&auto(), &task(prompt), "claude", &Circumstances::default()).tier.unwrap();
    for (expect, prompt) in [
        (Tier::Small, "Add a button to the settings page"),
        (Tier::Small, "Fix the typo in the greeting"),
        (Tier::Small, "Rename the field user_name to login everywhere"),
        (Tier::Medium, "Refactor the scheduler so that the deadlock between the two locks cannot happen"),
        (Tier::Medium, "Implement JWT authentication for the API and keep refresh tokens in the database"),
        (
            Tier::Large,
            "Design and implement a distributed job queue service: it survives the loss of a node, keeps \
            transactions consistent, and its network protocol is encrypted. Analyse where races can happen.",
        ),
    ] {
        assert_eq!(tier(prompt), expect, "{prompt}");
    }
}

#[test]
fn the_tasks_word_comes_first_then_priority_then_type_then_complexity() {
    let now = Circumstances::default();
    let mut docs = Task { name: "Document it all".into(), priority: Priority(0), ..task(HARD) };
    docs.model = Some("claude-opus-5-5".into());
    check(&auto(), &docs, &now, "claude-opus-5-5 (the task says so)");
    docs.model = None;
    check(&auto(), &docs, &now, "opus (large: priority critical)");
    docs.priority = Priority::default();
    check(&auto(), &docs, &now, "haiku (small: a task of type docs)");
    docs.name = "t".into();
    check(&auto(), &docs, &now, "opus (large: complexity 0.87)");
    check(&auto(), &task(EASY), &now, "haiku (small: complexity 0.00)");
}

#[test]
fn a_tier_can_be_named_and_each_agent_has_its_own_model_for_it() {
    let large = |agent: &str| Task { model: Some("large".into()), agent: Some(agent.into()), ..task(EASY) };
    let now = Circumstances::default();
    check(&plan(None), &large("claude"), &now, "opus (large: the task says so)");
    check(&plan(None), &large("codex"), &now, "gpt-5.6-sol (large: the task says so)");
    check(
        &plan(None),
        &large("mine"),
        &now,
        "- (large: the task says so; no model of mine is known for that, it chooses itself)",
    );
}

#[test]
fn a_file_can_name_other_models_and_other_rules() {
    let mut models = Models { by_priority: BTreeMap::new(), ..Models::default() };
    models.tiers.insert("claude".into(), [(Tier::Small, "claude-haiku-4-5".into())].into());
    models.tiers.insert("mine".into(), [(Tier::Small, "tiny".into())].into());
    let now = Circumstances::default();
    let plan = plan(Some(models));
    check(&plan, &task(EASY), &now, "claude-haiku-4-5 (small: complexity 0.00)");
    check(&plan, &Task { priority: Priority(0), ..task(HARD) }, &now, "opus (large: complexity 0.87)");
    let mine = Task { agent: Some("mine".into()), ..task(EASY) };
    check(&plan, &mine, &now, "tiny (small: complexity 0.00)");
}

#[test]
fn another_vendors_agent_gets_the_same_tier_or_chooses_itself() {
    let of = |model: &str, agent: &str| {
        let task = Task { model: Some(model.into()), ..task(EASY) };
        let chosen = choose(&plan(None), &task, agent, &Circumstances::default());
        format!("{} ({})", chosen.model.as_deref().unwrap_or("-"), chosen.why)
    };
    assert_eq!(of("sonnet", "claude"), "sonnet (the task says so)");
    assert_eq!(of("sonnet", "codex"), "gpt-5.6-terra (medium: in the place of claude's sonnet)");
    assert_eq!(of("claude-opus-4-8", "codex"), "- (the agent's own choice, for claude-opus-4-8 is claude's)");
    assert_eq!(of("gpt-5.6-sol", "codex"), "gpt-5.6-sol (the task says so)");
}

#[test]
fn former_runs_move_a_tier_up_or_down() {
    let told = |samples: &[Sample]| {
        let now = Circumstances { samples, ..Circumstances::default() };
        choose(&auto(), &task(EASY), "claude", &now).why
    };
    assert_eq!(told(&[sample("haiku", 1, 2), sample("sonnet", 5, 5)]), "small: complexity 0.00", "too few");
    assert_eq!(
        told(&[sample("haiku", 2, 3), sample("sonnet", 3, 4)]),
        "medium: complexity 0.00 is for small; medium, for small succeeds in 67 % here"
    );
    assert_eq!(told(&[sample("haiku", 1, 3), sample("sonnet", 1, 3)]), "small: complexity 0.00", "no better");
    assert_eq!(
        told(&[sample("haiku", 7, 10), sample("sonnet", 9, 9)]),
        "small: complexity 0.00",
        "70 % will do"
    );
    let hard = |samples: &[Sample]| {
        let now = Circumstances { samples, ..Circumstances::default() };
        choose(&auto(), &task(HARD), "claude", &now).why
    };
    assert_eq!(
        hard(&[sample("opus", 9, 10), sample("sonnet", 85, 100)]),
        "medium: complexity 0.87 is for large; medium, which succeeds in 85 % here"
    );
    assert_eq!(hard(&[sample("opus", 9, 10), sample("sonnet", 84, 100)]), "large: complexity 0.87");
    assert_eq!(hard(&[sample("opus", 89, 100), sample("sonnet", 9, 9)]), "large: complexity 0.87");
    let others = [Sample { agent: "codex".into(), ..sample("haiku", 0, 9) }, sample("sonnet", 9, 9)];
    assert_eq!(told(&others), "small: complexity 0.00", "others' models teach nothing");
}

/// A model may be good at one kind of task and bad at another.
#[test]
fn tasks_of_the_same_kind_tell_more_than_others() {
    let with =
        |model: &str, kind: &str, good, all| Sample { kind: Some(kind.into()), ..sample(model, good, all) };
    let told = |samples: &[Sample]| {
        let now = Circumstances { samples, ..Circumstances::default() };
        choose(&auto(), &task("Fix it"), "claude", &now).why
    };
    let why = told(&[with("haiku", "fix", 1, 4), with("haiku", "feat", 40, 40), with("sonnet", "fix", 4, 4)]);
    assert!(why.ends_with("is for small; medium, for small succeeds in 25 % of fix tasks here"), "{why}");
    let why = told(&[with("haiku", "fix", 4, 4), with("haiku", "feat", 0, 40), with("sonnet", "fix", 4, 4)]);
    assert!(!why.contains("is for"), "it is good at these: {why}");
    let why = told(&[with("haiku", "fix", 1, 2), with("haiku", "feat", 0, 40), with("sonnet", "feat", 4, 4)]);
    assert!(why.ends_with("small succeeds in 2 % here"), "two are too few: {why}");
}

#[test]
fn what_is_learned_can_be_shown_as_it_is_used() {
    let with =
        |model: &str, kind: &str, good, all| Sample { kind: Some(kind.into()), ..sample(model, good, all) };
    let samples = [with("haiku", "fix", 1, 4), with("haiku", "feat", 40, 40), with("sonnet", "fix", 4, 4)];
    let told: Vec<String> = advice(&Models::default(), &samples)
        .into_iter()
        .map(|one| format!("{:?} {} -> {}: {}", one.kind, one.instead_of, one.tier, one.why))
        .collect();
    assert_eq!(
        told,
        [
            "None medium -> small: small, which succeeds in 93 % here",
            "Some(\"fix\") small -> medium: medium, for small succeeds in 25 % of fix tasks here",
        ]
    );
}

#[test]
fn as_the_money_goes_the_tiers_go_down() {
    let at = |spent: f64| {
        choose(&auto(), &task(HARD), "claude", &Circumstances { spent, ..Circumstances::default() })
    };
    assert_eq!(at(0.49).why, "large: complexity 0.87");
    assert_eq!(at(0.5).why, "medium: complexity 0.87; medium, for 50 % of the run's money is spent");
    assert_eq!(at(0.8).model.as_deref(), Some("haiku"));
    let critical = Task { priority: Priority(0), ..task(HARD) };
    let now = Circumstances { spent: 0.99, ..Circumstances::default() };
    check(&auto(), &critical, &now, "opus (large: priority critical)");
}

#[test]
fn bad_work_is_tried_again_one_tier_higher_as_far_as_the_money_goes() {
    let after = |bad_tries, spent| {
        choose(
            &auto(),
            &task(EASY),
            "claude",
            &Circumstances { bad_tries, spent, ..Circumstances::default() },
        )
        .why
    };
    assert_eq!(after(1, 0.0), "medium: complexity 0.00; medium, for the try before did bad work");
    assert_eq!(after(2, 0.0), "large: complexity 0.00; large, for 2 tries before did bad work");
    assert_eq!(after(u32::MAX, 0.0), after(u32::MAX, 0.1));
    assert!(after(2, 0.6).starts_with("medium: "));
    let calm = plan(Some(Models { escalate: false, ..Models::default() }));
    let now = Circumstances { bad_tries: 2, ..Circumstances::default() };
    check(&calm, &task(EASY), &now, "haiku (small: complexity 0.00)");
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let agents = prop::sample::select(vec!["claude", "codex"]);
    let models = prop::sample::select(vec!["haiku", "sonnet", "opus", "gpt-5.6-luna", "gpt-5.6-sol", "else"]);
    let kinds = prop::sample::select(vec![None, Some("fix"), Some("refactor")]);
    let one =
        (agents, models, kinds, 0..20_u32, 0..20_u32).prop_map(|(agent, model, kind, good, more)| Sample {
            agent: agent.into(),
            model: model.into(),
            kind: kind.map(str::to_owned),
            good,
            all: good + more,
        });
    prop::collection::vec(one, 0..8)
}

fn prompts() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "design",
        "deadlock",
        "implement",
        "module",
        "security",
        "sql",
        "- step",
        "the",
        "hello",
        "refactor",
    ]);
    prop::collection::vec(words, 0..60).prop_map(|words| words.join("\n"))
}

proptest! {
    /// Twice the same question, twice the same answer; and a model of this agent, whatever happened.
    #[test]
    fn a_choice_is_deterministic_and_of_the_agents_own_vendor(
        prompt in prompts(),
        samples in samples(),
        spent in 0.0..2.0_f64,
        bad_tries in 0..5_u32,
        priority in 0..5_u8,
        agent in prop::sample::select(BUILT_IN.map(|(name, _)| name).to_vec()),
    ) {
        let task = Task { priority: Priority(priority), ..task(&prompt) };
        let now = Circumstances { samples: &samples, spent, bad_tries };
        let chosen = choose(&auto(), &task, agent, &now);
        prop_assert_eq!(&chosen, &choose(&auto(), &task, agent, &now));
        let own = built_in(agent).unwrap();
        prop_assert!(own.contains(&chosen.model.as_deref().unwrap()));
    }

    #[test]
    fn the_tasks_own_word_always_wins(
        prompt in prompts(),
        samples in samples(),
        spent in 0.0..2.0_f64,
        bad_tries in 0..5_u32,
        model in "[a-z]{1,4}-[a-z0-9.-]{1,12}",
    ) {
        let task = Task { model: Some(model.clone()), priority: Priority(0), ..task(&prompt) };
        let now = Circumstances { samples: &samples, spent, bad_tries };
        for plan in [auto(), plan(None)] {
            prop_assert_eq!(choose(&plan, &task, "claude", &now).model, Some(model.clone()));
            // And no other agent is given it.
            prop_assert_eq!(choose(&plan, &task, "codex", &now).model, None);
        }
    }

    /// Whatever history and money say, a harder task never gets less than an easier one.
    #[test]
    fn more_complexity_never_gives_less(
        prompt in prompts(),
        more in prompts(),
        samples in samples(),
        spent in 0.0..1.2_f64,
        bad_tries in 0..3_u32,
    ) {
        let now = Circumstances { samples: &samples, spent, bad_tries };
        let tier = |prompt: &str| {
            let chosen = choose(&auto(), &task(prompt), "claude", &now);
            (chosen.score.map(|score| score.total), chosen.tier)
        };
        // What a type decides is not a matter of complexity: both begin with the same word.
        let (less, more) = (tier(&format!("Do\n{prompt}")), tier(&format!("Do\n{prompt}\n{more}")));
        prop_assert!(less <= more, "{less:?} {more:?}");
    }

    #[test]
    fn the_order_of_cuts_is_the_order_of_tiers(a in 0.0..1.0_f64, b in 0.0..1.0_f64, x in 0.0..1.0_f64, y in 0.0..1.0_f64) {
        let cuts = Cuts { medium: a.min(b), large: a.max(b) };
        prop_assert!(cuts.tier(x.min(y)) <= cuts.tier(x.max(y)));
    }
}
