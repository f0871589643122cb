//! The fields a task and the file's `config` have in common, and how one fills in for the other.

mod cloud;
mod env;
mod measure;
mod over;
mod permissions;
mod recovery;
mod retry;
mod sandbox;
mod trusted;

use std::collections::BTreeMap;

use crate::plan::models::Models;
use crate::plan::recovery::Recovery;
use crate::plan::subagents::Subagent;
use crate::plan::{
    Changes, Cloud, EpicLanding, Isolation, Land, MAX_LINES, Measure, MergeStrategy, Network, OnConflict,
    Permissions, PrStrategy, Preparation, Price, Priority, Program, Review, Sandbox, Scope, Task, Work,
};
use crate::values::units::{Millis, Usd};

use super::decode::{
    choice, cost, cost_or_none, count, duration, flag, priority, resources, text, texts, time_limit,
};
use super::diagnostic::{Report, shown};
use super::fields::Fields;
use super::groups;
use super::keys::{MAX_FIX_ROUNDS, MAX_TURNS, REVIEW};
use super::source::Span;
use super::tree::Node;

pub(super) use env::env_pass;
pub(super) use retry::Retry;

/// Amounts of resources, by the agents they are for.
type ByAgent = BTreeMap<String, BTreeMap<String, u64>>;

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) span: Span,
}

pub(super) fn placed(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Placed<String>> {
    Some(Placed { value: text(r, what, node)?, span: node.span })
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Settings {
    expected_deliverable: Option<String>,
    expected_lines: Option<u32>,
    pub(super) priority: Option<Priority>,
    pub(super) epic: Option<Placed<String>>,
    pub(super) group: Option<Placed<String>>,
    agent: Option<String>,
    own_agent_home: Option<bool>,
    fallback_agents: Option<Vec<String>>,
    fallback_models: Option<Vec<String>>,
    model: Option<String>,
    pub(super) subagent_type: Option<Placed<String>>,
    applicable_skills: Option<Vec<String>>,
    pub(super) files: Option<Vec<String>>,
    setup: Option<Vec<String>>,
    keep: Option<Vec<String>>,
    conflict_markers: Option<Vec<String>>,
    verify: Option<Vec<String>>,
    fix_rounds: Option<u32>,
    check_base: Option<bool>,
    gate_proof: Option<bool>,
    /// `Some(None)` for `review: false`.
    review: Option<Option<Box<Review>>>,
    /// Likewise.
    measure: Option<Option<Box<Measure>>>,
    merge_strategy: Option<MergeStrategy>,
    on_conflict: Option<OnConflict>,
    pub(super) land: Option<Land>,
    report: Option<bool>,
    expertise: Option<bool>,
    preempt: Option<bool>,
    speculate: Option<bool>,
    timeout: Option<Millis>,
    pub(super) retry: Option<Retry>,
    recovery: Option<Recovery>,
    env: Option<BTreeMap<String, String>>,
    env_pass: Option<Vec<String>>,
    requires: Option<Vec<String>>,
    permissions: Option<Permissions>,
    max_cost: Option<Usd>,
    max_tokens: Option<u64>,
    survives: Option<bool>,
    may_delegate: Option<bool>,
    /// Nothing inside where there is no such cap although the config has one.
    max_subagent_cost: Option<Option<Usd>>,
    max_turns: Option<u32>,
    resources: Option<BTreeMap<String, u64>>,
    pub(super) isolation: Option<Isolation>,
    sandbox: Option<Sandbox>,
    network: Option<Network>,
    changes: Option<Changes>,
    pub(super) estimate: Option<Millis>,
    pub(super) repository: Option<String>,
    pub(super) pr_strategy: Option<PrStrategy>,
    pub(super) auto_pr_timeout: Option<Millis>,
    cloud: Option<Cloud>,
    /// Of the whole file; read from its `config` only.
    pub(super) isolation_scope: Option<Scope>,
    pub(super) epic_landing: Option<EpicLanding>,
    pub(super) workspace_path: Option<String>,
    pub(super) models: Option<Box<Models>>,
    pub(super) subagents: Vec<Subagent>,
    pub(super) agents: BTreeMap<String, Program>,
    pub(super) prices: BTreeMap<String, Price>,
    /// What tasks hold by their agent's name; read from a file's `config` only.
    pub(super) agent_resources: ByAgent,
}

pub(super) const PR_STRATEGIES: &[(&str, PrStrategy)] = &[
    ("aggressive", PrStrategy::Aggressive),
    ("normal", PrStrategy::Normal),
    ("patient", PrStrategy::Patient),
    ("manual", PrStrategy::Manual),
];
pub(super) const ISOLATIONS: &[(&str, Isolation)] =
    &[("worktree", Isolation::Worktree), ("clone", Isolation::Clone), ("none", Isolation::None)];
const MERGE_STRATEGIES: &[(&str, MergeStrategy)] =
    &[("merge", MergeStrategy::Merge), ("squash", MergeStrategy::Squash), ("rebase", MergeStrategy::Rebase)];
const ON_CONFLICT: &[(&str, OnConflict)] = &[
    ("manual", OnConflict::Manual),
    ("ours", OnConflict::Ours),
    ("theirs", OnConflict::Theirs),
    ("retry-later", OnConflict::RetryLater),
];
pub(super) const LANDS: &[(&str, Land)] = &[("auto", Land::Auto), ("approve", Land::Approve)];
pub(super) const EPIC_LANDINGS: &[(&str, EpicLanding)] =
    &[("all", EpicLanding::All), ("what_succeeded", EpicLanding::WhatSucceeded)];
pub(super) const SCOPES: &[(&str, Scope)] = &[("task", Scope::Task), ("epic", Scope::Epic)];
const CHANGES: &[(&str, Changes)] = &[
    ("required", Changes::Required),
    ("optional", Changes::Optional),
    ("forbidden", Changes::Forbidden),
    ("discarded", Changes::Discarded),
];

impl Settings {
    /// A command's own word on whether it goes on without a coordinator.
    pub(super) fn survives(&mut self, survives: bool) {
        self.survives = Some(survives);
    }

    /// A task's own word on subagents: none, or any there is no cap on.
    pub(super) fn delegates(&mut self, may: bool) {
        self.may_delegate = Some(may);
        let cost = self.max_subagent_cost.flatten().filter(|cost| *cost != Usd(0));
        self.max_subagent_cost = Some(if may { cost } else { Some(Usd(0)) });
    }

    /// Takes every shared key out of a task or a `config`. `first` is the number of the most urgent priority.
    pub(super) fn read(r: &mut Report<'_>, fields: &mut Fields<'_>, first: u8) -> Settings {
        Settings {
            expected_deliverable: fields.get(r, "expected_deliverable", text),
            expected_lines: fields.get(r, "expected_lines", count(1..=u64::from(MAX_LINES))),
            priority: fields.get(r, "priority", priority(first)),
            epic: fields.get(r, "epic", placed),
            group: fields.get(r, "group", groups::name),
            agent: fields.get(r, "agent", text),
            own_agent_home: fields.get(r, "agent_home", choice(&[("shared", false), ("own", true)])),
            fallback_agents: fields.get(r, "fallback_agents", texts),
            fallback_models: fields.get(r, "fallback_models", texts),
            model: fields.get(r, "model", text),
            subagent_type: fields.get(r, "subagent_type", placed),
            applicable_skills: fields.get(r, "applicable_skills", texts),
            files: fields.get(r, "files", files),
            setup: fields.get(r, "setup", texts),
            keep: fields.get(r, "keep", files),
            conflict_markers: fields.get(r, "conflict_markers", texts),
            verify: fields.get(r, "verify", texts),
            fix_rounds: fields.get(r, "fix_rounds", count(0..=MAX_FIX_ROUNDS)),
            check_base: fields.get(r, "check_base", flag),
            gate_proof: fields.get(r, "gate_proof", flag),
            review: fields.get(r, "review", review),
            measure: fields.get(r, "measure", measure::read),
            merge_strategy: fields.get(r, "merge_strategy", choice(MERGE_STRATEGIES)),
            on_conflict: fields.get(r, "on_conflict", choice(ON_CONFLICT)),
            land: fields.get(r, "land", choice(LANDS)),
            report: fields.get(r, "report", flag),
            expertise: fields.get(r, "expertise", flag),
            preempt: fields.get(r, "preempt", flag),
            speculate: fields.get(r, "speculate", flag),
            timeout: fields.get(r, "timeout", time_limit),
            retry: fields.get(r, "retry_policy", Retry::read),
            recovery: fields.get(r, "recovery", recovery::read),
            env: fields.get(r, "env", env::read),
            env_pass: fields.get(r, "env_pass", env_pass),
            requires: fields.get(r, "requires", texts),
            permissions: fields.get(r, "permissions", permissions::read),
            max_cost: fields.get(r, "max_cost", cost),
            max_tokens: fields.get(r, "max_tokens", count(1..=u64::MAX)),
            survives: None,
            may_delegate: None,
            max_subagent_cost: fields.get(r, "max_subagent_cost", cost_or_none).map(Some),
            max_turns: fields.get(r, "max_turns", count(1..=MAX_TURNS)),
            resources: fields.get(r, "resources", resources),
            isolation: fields.get(r, "isolation", choice(ISOLATIONS)),
            sandbox: fields.get(r, "sandbox", sandbox::read),
            network: fields.get(r, "network", sandbox::network),
            changes: fields.get(r, "changes", choice(CHANGES)),
            estimate: fields.get(r, "estimate", duration),
            repository: fields.get(r, "repository", repository),
            pr_strategy: fields.get(r, "pr_strategy", choice(PR_STRATEGIES)),
            auto_pr_timeout: fields.get(r, "auto_pr_timeout", duration),
            cloud: fields.get(r, "cloud", cloud::read),
            isolation_scope: None,
            epic_landing: None,
            workspace_path: None,
            models: None,
            subagents: Vec::new(),
            agents: BTreeMap::new(),
            prices: BTreeMap::new(),
            agent_resources: BTreeMap::new(),
        }
    }

    /// Fills a task: its own word first, then the file's, then what the task was made with. Which agent works, and
    /// how, is a default for prompts only: a command stays a command in a file that names an agent.
    pub(super) fn apply(self, config: &Settings, task: &mut Task) {
        let blank = Settings::default();
        let agents = match task.work {
            Work::Prompt(_) => config,
            Work::Run(_) => &blank,
        };
        task.agent = self.agent.or_else(|| agents.agent.clone());
        set(&mut task.fallback_agents, self.fallback_agents, &agents.fallback_agents);
        task.model = self.model.or_else(|| agents.model.clone());
        let subagent = self.subagent_type.or_else(|| agents.subagent_type.clone());
        task.subagent_type = subagent.map(|subagent| subagent.value);
        set(&mut task.applicable_skills, self.applicable_skills, &agents.applicable_skills);
        task.max_turns = self.max_turns.or(agents.max_turns);
        task.expected_deliverable = self.expected_deliverable.or_else(|| config.expected_deliverable.clone());
        set(&mut task.priority, self.priority, &config.priority);
        task.epic = self.epic.or_else(|| config.epic.clone()).map(|epic| epic.value);
        set(&mut task.files, self.files, &config.files);
        let setup = self.setup.or_else(|| config.setup.clone()).unwrap_or_default();
        let conflict_markers =
            self.conflict_markers.or_else(|| config.conflict_markers.clone()).unwrap_or_default();
        let own_agent_home = self.own_agent_home.or(agents.own_agent_home).unwrap_or_default();
        let fallback_models =
            self.fallback_models.or_else(|| agents.fallback_models.clone()).unwrap_or_default();
        let max_subagent_cost = self.max_subagent_cost.or(agents.max_subagent_cost).flatten();
        let preparation = Preparation {
            setup,
            keep: self.keep.or_else(|| config.keep.clone()).unwrap_or_default(),
            conflict_markers,
            own_agent_home,
            fallback_models,
            expected_lines: self.expected_lines.or(config.expected_lines),
            survives: self.survives.unwrap_or_default(),
            subagents: self.may_delegate.unwrap_or_default(),
            max_subagent_cost,
            leaves_base_unchecked: self.check_base.or(config.check_base) == Some(false),
            ..Preparation::default()
        };
        if preparation != Preparation::default() {
            task.preparation = Some(Box::new(preparation));
        }
        set(&mut task.verify, self.verify, &config.verify);
        set(&mut task.fix_rounds, self.fix_rounds, &agents.fix_rounds);
        set(&mut task.gate_proof, self.gate_proof, &config.gate_proof);
        set(&mut task.review, self.review, &agents.review);
        set(&mut task.measure, self.measure, &config.measure);
        set(&mut task.merge_strategy, self.merge_strategy, &config.merge_strategy);
        set(&mut task.on_conflict, self.on_conflict, &config.on_conflict);
        set(&mut task.land, self.land, &config.land);
        set(&mut task.report, self.report, &agents.report);
        set(&mut task.expertise, self.expertise, &agents.expertise);
        set(&mut task.preempt, self.preempt, &config.preempt);
        set(&mut task.speculate, self.speculate, &config.speculate);
        task.timeout = self.timeout.or(config.timeout);
        task.retry = Retry::effective(self.retry, config.retry, task.retry);
        task.recovery = recovery::over(self.recovery, config.recovery.clone()).map(Box::new);
        task.env = joined(self.env, &config.env);
        set(&mut task.env_pass, self.env_pass, &config.env_pass);
        set(&mut task.requires, self.requires, &config.requires);
        task.permissions = self.permissions.or_else(|| agents.permissions.clone()).map(Box::new);
        task.max_cost = self.max_cost.or(config.max_cost);
        task.max_tokens = self.max_tokens.or(config.max_tokens);
        task.resources = resources_of(self.resources, task.agent_name(), config);
        sandbox::settle(task, (self.isolation, self.sandbox, self.network), (config, agents));
        set(&mut task.changes, self.changes, &config.changes);
        task.estimate = self.estimate.or(config.estimate);
        task.repository = self.repository.or_else(|| config.repository.clone());
        task.pr_strategy = self.pr_strategy.or(config.pr_strategy);
        task.auto_pr_timeout = self.auto_pr_timeout.or(config.auto_pr_timeout);
        task.cloud = cloud::effective(self.cloud, &agents.cloud);
    }
}

impl Settings {
    /// Without all that is about agents, for what is no prompt.
    pub(super) fn without_agents(self) -> Settings {
        Settings {
            agent: None,
            own_agent_home: None,
            fallback_agents: None,
            fallback_models: None,
            model: None,
            subagent_type: None,
            applicable_skills: None,
            fix_rounds: None,
            review: None,
            permissions: None,
            sandbox: None,
            network: None,
            max_turns: None,
            max_subagent_cost: None,
            cloud: None,
            ..self
        }
    }
}

fn set<T: Clone>(field: &mut T, own: Option<T>, default: &Option<T>) {
    if let Some(value) = own.or_else(|| default.clone()) {
        *field = value;
    }
}

/// What is said of the task counts first, then what is said of its agent, then what is said of all.
fn resources_of(own: Option<BTreeMap<String, u64>>, agent: &str, config: &Settings) -> BTreeMap<String, u64> {
    let mut all = config.resources.clone().unwrap_or_default();
    all.extend(config.agent_resources.get(agent).cloned().unwrap_or_default());
    all.extend(own.unwrap_or_default());
    all
}

/// Name by name, so that a task can change one variable and keep the others.
fn joined<V: Clone>(
    own: Option<BTreeMap<String, V>>,
    default: &Option<BTreeMap<String, V>>,
) -> BTreeMap<String, V> {
    let mut all = default.clone().unwrap_or_default();
    all.extend(own.unwrap_or_default());
    all
}

fn review(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Option<Box<Review>>> {
    if node.entries().is_none() {
        return flag(r, what, node).map(|wanted| wanted.then(Box::default));
    }
    let mut fields = Fields::of(r, "review", REVIEW, node)?;
    let review = Review {
        agent: fields.get(r, "agent", text),
        model: fields.get(r, "model", text),
        rubric: fields.get(r, "rubric", text),
    };
    fields.finish(r, |_| false);
    Some(Some(Box::new(review)))
}

pub(super) fn files(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    super::decode::each(r, what, node, "a path or a list of paths", file)
}

pub(super) fn file(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let path = text(r, what, node)?;
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let problem = match &path {
        path if path.starts_with(['/', '\\', '~']) || drive => "is absolute",
        path if path.split(['/', '\\']).any(|part| part == "..") => "leads out of the repository",
        _ => return Some(path),
    };
    r.error("bad-path", node.span, format!("the path {} {problem}", shown(&path)))
        .help("paths are relative to the root of the repository");
    None
}

pub(super) fn repository(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let name = text(r, what, node)?;
    match is_repository(&name) {
        true => Some(name),
        false => {
            r.error("bad-repository", node.span, format!("{} is not a repository", shown(&name)))
                .help("write owner/name, as in github.com/owner/name");
            None
        }
    }
}

/// Whether this is `owner/name`.
pub fn is_repository(name: &str) -> bool {
    let part = |part: &str| {
        let fits = part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        fits && !part.is_empty() && !part.starts_with('-') && part != "." && part != ".."
    };
    name.split_once('/').is_some_and(|(owner, repo)| part(owner) && part(repo))
}
