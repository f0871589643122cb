//! Which model does a task: by what the task says, by the file's rules, by how hard the task looks, by how models did
//! here before, and by how much money is left.
//!
//! It knows names of models as data and nothing of what they cost or whether they are there. Where no choice
//! is asked for, none is made: a model that changes by itself is a bill that changes by itself.

mod score;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::plan::{Plan, Task};

pub use score::{Score, Weights, score};

/// How able a model is, and how dear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Small,
    Medium,
    Large,
}

impl Tier {
    pub const ALL: [Tier; 3] = [Tier::Small, Tier::Medium, Tier::Large];

    pub fn name(self) -> &'static str {
        match self {
            Tier::Small => "small",
            Tier::Medium => "medium",
            Tier::Large => "large",
        }
    }

    pub fn named(name: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == name)
    }

    fn up(self, steps: u32) -> Tier {
        Tier::ALL[(self as usize).saturating_add(steps as usize).min(Tier::ALL.len() - 1)]
    }

    fn down(self) -> Tier {
        Tier::ALL[(self as usize).saturating_sub(1)]
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An agent's models by tier. Where one is absent, the agent's own default does such tasks.
pub type Tiers = BTreeMap<Tier, String>;

/// The word in `model:` that asks for a choice.
pub const AUTO: &str = "auto";

/// Models each agent's program knows by these names. Files replace and extend them tier by tier.
pub const BUILT_IN: [(&str, [&str; 3]); 4] = [
    ("claude", ["haiku", "sonnet", "opus"]),
    ("codex", ["gpt-5.6-luna", "gpt-5.6-terra", "gpt-5.6-sol"]),
    ("gemini", ["gemini-2.5-flash-lite", "gemini-2.5-flash", "gemini-2.5-pro"]),
    ("opencode", ["anthropic/claude-haiku-5-5", "anthropic/claude-sonnet-5-5", "anthropic/claude-opus-5-5"]),
];

/// Who chooses where a task does not name a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    #[default]
    Auto,
    /// The agent, by its own settings.
    Agent,
}

/// What a file says about models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Models {
    pub choice: Choice,
    /// By agent, over what is built in.
    pub tiers: BTreeMap<String, Tiers>,
    /// By the priority's number.
    pub by_priority: BTreeMap<u8, Tier>,
    /// By what a task's commit would be called: fix, feat, docs and so on.
    pub by_type: BTreeMap<String, Tier>,
    pub weights: Weights,
    /// From these scores on a task is for a medium and for a large model.
    pub cuts: Cuts,
    /// Whether bad work is tried again one tier higher.
    pub escalate: bool,
}

impl Default for Models {
    fn default() -> Models {
        let by_type = ["docs", "chore"].map(|kind| (kind.to_owned(), Tier::Small));
        Models {
            choice: Choice::default(),
            tiers: BTreeMap::new(),
            by_priority: [(0, Tier::Large), (4, Tier::Small)].into(),
            by_type: by_type.into(),
            weights: Weights::default(),
            cuts: Cuts::default(),
            escalate: true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cuts {
    pub medium: f64,
    pub large: f64,
}

impl Default for Cuts {
    fn default() -> Cuts {
        Cuts { medium: 0.3, large: 0.7 }
    }
}

impl Cuts {
    pub fn tier(self, score: f64) -> Tier {
        match score {
            score if score >= self.large => Tier::Large,
            score if score >= self.medium => Tier::Medium,
            _ => Tier::Small,
        }
    }
}

impl Models {
    pub fn model(&self, agent: &str, tier: Tier) -> Option<&str> {
        let own = self.tiers.get(agent).and_then(|tiers| tiers.get(&tier)).map(String::as_str);
        own.or_else(|| built_in(agent).map(|models| models[tier as usize]))
    }

    /// The tier a model has with an agent.
    pub fn tier_of(&self, agent: &str, model: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| self.model(agent, *tier) == Some(model))
    }
}

fn built_in(agent: &str) -> Option<[&'static str; 3]> {
    BUILT_IN.iter().find(|(name, _)| *name == agent).map(|(_, models)| *models)
}

/// How a model did in former runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    pub agent: String,
    pub model: String,
    /// With this kind of task; absent where their words did not tell, and in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub good: u32,
    pub all: u32,
}

/// What is so when an attempt starts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Circumstances<'a> {
    pub samples: &'a [Sample],
    /// The part of the run's money that is spent, 0 to 1; 0 where there is no cap.
    pub spent: f64,
    /// Tries of this task whose work was bad.
    pub bad_tries: u32,
}

/// A model and how it came to be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The agent's own default where absent.
    pub model: Option<String>,
    pub tier: Option<Tier>,
    pub why: String,
    /// Where it was decided by that.
    pub score: Option<Score>,
}

impl Chosen {
    fn own(why: impl Into<String>) -> Chosen {
        Chosen { model: None, tier: None, why: why.into(), score: None }
    }
}

/// Whether anything is chosen for this task at all.
pub fn is_chosen(plan: &Plan, task: &Task) -> bool {
    match task.model.as_deref() {
        Some(model) => model == AUTO,
        None => plan.models.as_ref().is_some_and(|models| models.choice == Choice::Auto),
    }
}

/// The model with which an agent does a task.
pub fn choose(plan: &Plan, task: &Task, agent: &str, now: &Circumstances<'_>) -> Chosen {
    let built_in = Models::default();
    let models = plan.models.as_deref().unwrap_or(&built_in);
    match task.model.as_deref() {
        Some(model) if model != AUTO => named(models, task, agent, model),
        _ if !is_chosen(plan, task) => Chosen::own("the agent's own choice"),
        _ => chosen(models, task, agent, now),
    }
}

/// The task's own word. It is meant for the first of its agents: another gets what has the same tier, or chooses itself.
fn named(models: &Models, task: &Task, agent: &str, model: &str) -> Chosen {
    if let Some(tier) = Tier::named(model) {
        return of_tier(models, agent, tier, "the task says so".to_owned(), None);
    }
    let first = task.agent_name();
    if agent == first || models.tier_of(agent, model).is_some() {
        let tier = models.tier_of(agent, model);
        return Chosen {
            model: Some(model.to_owned()),
            tier,
            why: "the task says so".to_owned(),
            score: None,
        };
    }
    match models.tier_of(first, model) {
        Some(tier) => of_tier(models, agent, tier, format!("in the place of {first}'s {model}"), None),
        None => Chosen::own(format!("the agent's own choice, for {model} is {first}'s")),
    }
}

fn chosen(models: &Models, task: &Task, agent: &str, now: &Circumstances<'_>) -> Chosen {
    let (mut tier, mut why, score) = starting_tier(models, task, agent, now);
    if models.escalate && now.bad_tries > 0 {
        let higher = tier.up(now.bad_tries);
        if higher != tier {
            why = format!("{why}; {higher}, for {} before did bad work", tries(now.bad_tries));
            tier = higher;
        }
    }
    // What a rule decided stays: the user who wrote it has weighed that.
    let most = if score.is_some() { affordable(now.spent) } else { Tier::Large };
    if tier > most {
        why = format!("{why}; {most}, for {:.0} % of the run's money is spent", now.spent * 100.0);
        tier = most;
    }
    of_tier(models, agent, tier, why, score)
}

/// The tier by the rules, or else by score and history.
fn starting_tier(
    models: &Models,
    task: &Task,
    agent: &str,
    now: &Circumstances<'_>,
) -> (Tier, String, Option<Score>) {
    if let Some(tier) = models.by_priority.get(&task.priority.0) {
        return (*tier, format!("priority {}", task.priority.name()), None);
    }
    let kind = task.kind();
    if let Some(tier) = kind.and_then(|kind| models.by_type.get(kind)) {
        return (*tier, format!("a task of type {}", kind.unwrap_or_default()), None);
    }
    let score = score(task, &models.weights);
    let tier = models.cuts.tier(score.total);
    let why = format!("complexity {:.2}", score.total);
    let (tier, why) = match lesson(models, agent, tier, (kind, now.samples)) {
        Some((better, lesson)) => (better, format!("{why} is for {tier}; {lesson}")),
        None => (tier, why),
    };
    (tier, why, Some(score))
}

/// Fewer attempts than this teach nothing.
const ENOUGH: u32 = 3;

/// What former runs advise instead of a tier: one up where it fails often and the next does better, one down where it
/// hardly ever fails and the cheaper is good enough. Tasks of the same kind tell more than others, where there were enough.
fn lesson(
    models: &Models,
    agent: &str,
    tier: Tier,
    (kind, samples): (Option<&str>, &[Sample]),
) -> Option<(Tier, String)> {
    let of = |tier: Tier, kind: Option<&str>| rate(models, agent, tier, (kind, samples));
    let same = kind.and_then(|kind| Some((of(tier, Some(kind))?, format!(" of {kind} tasks"))));
    let (own, whose) = same.or_else(|| Some((of(tier, None)?, String::new())))?;
    let (up, down) = (tier.up(1), tier.down());
    let other = |tier: Tier| of(tier, kind.filter(|_| !whose.is_empty())).or_else(|| of(tier, None));
    let percent = |rate: f64| format!("{:.0} %", rate * 100.0);
    if own < 0.70 && up != tier && other(up).is_some_and(|rate| rate > own) {
        return Some((up, format!("{up}, for {tier} succeeds in {}{whose} here", percent(own))));
    }
    let cheaper = other(down).filter(|cheaper| own >= 0.90 && down != tier && *cheaper >= 0.85)?;
    Some((down, format!("{down}, which succeeds in {} here", percent(cheaper))))
}

/// How often the models of a tier did good work, with this kind of task or with any; nothing where that is too seldom
/// to tell.
fn rate(models: &Models, agent: &str, tier: Tier, (kind, samples): (Option<&str>, &[Sample])) -> Option<f64> {
    let fitting = samples
        .iter()
        .filter(|sample| sample.agent == agent && models.tier_of(agent, &sample.model) == Some(tier))
        .filter(|sample| kind.is_none() || sample.kind.as_deref() == kind);
    let (good, all) = fitting.fold((0, 0), |(good, all), sample| {
        (u32::saturating_add(good, sample.good), u32::saturating_add(all, sample.all))
    });
    (all >= ENOUGH).then(|| f64::from(good.min(all)) / f64::from(all))
}

/// What former runs advise for one kind of task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    pub agent: String,
    /// Any kind where absent.
    pub kind: Option<String>,
    pub instead_of: Tier,
    pub tier: Tier,
    pub why: String,
}

/// All that is learned from samples, as it will be used: by agent, kind of task and tier.
pub fn advice(models: &Models, samples: &[Sample]) -> Vec<Advice> {
    let agents: BTreeSet<&str> = samples.iter().map(|sample| sample.agent.as_str()).collect();
    let kinds: BTreeSet<Option<&str>> =
        samples.iter().map(|sample| sample.kind.as_deref()).chain([None]).collect();
    let mut all = Vec::new();
    for agent in agents {
        for kind in &kinds {
            for instead_of in Tier::ALL {
                // What holds for any kind is said once.
                if kind.is_some() && rate(models, agent, instead_of, (*kind, samples)).is_none() {
                    continue;
                }
                let Some((tier, why)) = lesson(models, agent, instead_of, (*kind, samples)) else { continue };
                let kind = kind.map(str::to_owned);
                all.push(Advice { agent: agent.to_owned(), kind, instead_of, tier, why });
            }
        }
    }
    all
}

/// No large model starts once 50 % of the money is spent; only small ones once 80 % is.
fn affordable(spent: f64) -> Tier {
    match spent {
        spent if spent >= 0.8 => Tier::Small,
        spent if spent >= 0.5 => Tier::Medium,
        _ => Tier::Large,
    }
}

fn of_tier(models: &Models, agent: &str, tier: Tier, why: String, score: Option<Score>) -> Chosen {
    match models.model(agent, tier) {
        Some(model) => {
            Chosen { model: Some(model.to_owned()), tier: Some(tier), why: format!("{tier}: {why}"), score }
        }
        None => {
            let why = format!("{tier}: {why}; no model of {agent} is known for that, it chooses itself");
            Chosen { model: None, tier: Some(tier), why, score }
        }
    }
}

fn tries(count: u32) -> String {
    match count {
        1 => "the try".to_owned(),
        count => format!("{count} tries"),
    }
}
