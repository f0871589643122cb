//! The fields a task and the file's `config` have in common, and how one fills in for the other.

mod measure;
mod over;
mod recovery;

use std::collections::BTreeMap;

use crate::plan::models::Models;
use crate::plan::recovery::Recovery;
use crate::plan::subagents::Subagent;
use crate::plan::{
    Changes, EpicLanding, Isolation, Land, MAX_LINES, Measure, MergeStrategy, OnConflict, Otherwise,
    Permissions, PrStrategy, Preparation, Price, Priority, Program, RetryPolicy, Review, Scope, Task, Work,
};
use crate::values::units::{Millis, Usd};

use super::decode::{
    choice, cost, cost_or_none, count, duration, flag, priority, ratio, resources, text, texts, time_limit,
    wrong,
};
use super::diagnostic::{Report, shown};
use super::fields::Fields;
use super::groups;
use super::keys::{MAX_FIX_ROUNDS, MAX_TURNS, PERMISSIONS, RETRY, REVIEW};
use super::source::Span;
use super::tree::{Node, Value};

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
    preempt: Option<bool>,
    speculate: Option<bool>,
    timeout: Option<Millis>,
    pub(super) retry: Option<Retry>,
    recovery: Option<Recovery>,
    env: Option<BTreeMap<String, String>>,
    env_pass: Option<Vec<String>>,
    permissions: Option<Permissions>,
    max_cost: Option<Usd>,
    max_tokens: Option<u64>,
    may_delegate: Option<bool>,
    /// Nothing inside where there is no such cap although the config has one.
    max_subagent_cost: Option<Option<Usd>>,
    max_turns: Option<u32>,
    resources: Option<BTreeMap<String, u64>>,
    pub(super) isolation: Option<Isolation>,
    changes: Option<Changes>,
    pub(super) estimate: Option<Millis>,
    pub(super) repository: Option<String>,
    pub(super) pr_strategy: Option<PrStrategy>,
    pub(super) auto_pr_timeout: Option<Millis>,
    /// Of the whole file; read from its `config` only.
    pub(super) isolation_scope: Option<Scope>,
    pub(super) epic_landing: Option<EpicLanding>,
    pub(super) workspace_path: Option<String>,
    pub(super) models: Option<Box<Models>>,
    pub(super) subagents: Vec<Subagent>,
    pub(super) agents: BTreeMap<String, Program>,
    pub(super) prices: BTreeMap<String, Price>,
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
const OTHERWISE: &[(&str, Otherwise)] =
    &[("deny", Otherwise::Deny), ("ask", Otherwise::Ask), ("allow", Otherwise::Allow)];
const CHANGES: &[(&str, Changes)] = &[
    ("required", Changes::Required),
    ("optional", Changes::Optional),
    ("forbidden", Changes::Forbidden),
    ("discarded", Changes::Discarded),
];

impl Settings {
    /// Takes every shared key out of a task or a `config`. `first` is the number of the most urgent priority.
    /// A task's own word on subagents: none, or any there is no cap on.
    pub(super) fn delegates(&mut self, may: bool) {
        self.may_delegate = Some(may);
        let cost = self.max_subagent_cost.flatten().filter(|cost| *cost != Usd(0));
        self.max_subagent_cost = Some(if may { cost } else { Some(Usd(0)) });
    }

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
            preempt: fields.get(r, "preempt", flag),
            speculate: fields.get(r, "speculate", flag),
            timeout: fields.get(r, "timeout", time_limit),
            retry: fields.get(r, "retry_policy", Retry::read),
            recovery: fields.get(r, "recovery", recovery::read),
            env: fields.get(r, "env", env),
            env_pass: fields.get(r, "env_pass", env_pass),
            permissions: fields.get(r, "permissions", permissions),
            max_cost: fields.get(r, "max_cost", cost),
            max_tokens: fields.get(r, "max_tokens", count(1..=u64::MAX)),
            may_delegate: None,
            max_subagent_cost: fields.get(r, "max_subagent_cost", cost_or_none).map(Some),
            max_turns: fields.get(r, "max_turns", count(1..=MAX_TURNS)),
            resources: fields.get(r, "resources", resources),
            isolation: fields.get(r, "isolation", choice(ISOLATIONS)),
            changes: fields.get(r, "changes", choice(CHANGES)),
            estimate: fields.get(r, "estimate", duration),
            repository: fields.get(r, "repository", repository),
            pr_strategy: fields.get(r, "pr_strategy", choice(PR_STRATEGIES)),
            auto_pr_timeout: fields.get(r, "auto_pr_timeout", duration),
            isolation_scope: None,
            epic_landing: None,
            workspace_path: None,
            models: None,
            subagents: Vec::new(),
            agents: BTreeMap::new(),
            prices: BTreeMap::new(),
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
        let keep = self.keep.or_else(|| config.keep.clone()).unwrap_or_default();
        let conflict_markers =
            self.conflict_markers.or_else(|| config.conflict_markers.clone()).unwrap_or_default();
        let own_agent_home = self.own_agent_home.or(agents.own_agent_home).unwrap_or_default();
        let fallback_models =
            self.fallback_models.or_else(|| agents.fallback_models.clone()).unwrap_or_default();
        let expected_lines = self.expected_lines.or(config.expected_lines);
        let leaves_base_unchecked = self.check_base.or(config.check_base) == Some(false);
        let max_subagent_cost = self.max_subagent_cost.or(agents.max_subagent_cost).flatten();
        let preparation = Preparation {
            setup,
            keep,
            conflict_markers,
            own_agent_home,
            fallback_models,
            expected_lines,
            subagents: self.may_delegate.unwrap_or_default(),
            max_subagent_cost,
            leaves_base_unchecked,
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
        set(&mut task.preempt, self.preempt, &config.preempt);
        set(&mut task.speculate, self.speculate, &config.speculate);
        task.timeout = self.timeout.or(config.timeout);
        task.retry = Retry::effective(self.retry, config.retry, task.retry);
        task.recovery = recovery::over(self.recovery, config.recovery.clone()).map(Box::new);
        task.env = joined(self.env, &config.env);
        set(&mut task.env_pass, self.env_pass, &config.env_pass);
        task.permissions = self.permissions.or_else(|| agents.permissions.clone()).map(Box::new);
        task.max_cost = self.max_cost.or(config.max_cost);
        task.max_tokens = self.max_tokens.or(config.max_tokens);
        task.resources = joined(self.resources, &config.resources);
        task.isolation = self.isolation.or(config.isolation);
        set(&mut task.changes, self.changes, &config.changes);
        task.estimate = self.estimate.or(config.estimate);
        task.repository = self.repository.or_else(|| config.repository.clone());
        task.pr_strategy = self.pr_strategy.or(config.pr_strategy);
        task.auto_pr_timeout = self.auto_pr_timeout.or(config.auto_pr_timeout);
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
            max_turns: None,
            max_subagent_cost: None,
            ..self
        }
    }
}

fn set<T: Clone>(field: &mut T, own: Option<T>, default: &Option<T>) {
    if let Some(value) = own.or_else(|| default.clone()) {
        *field = value;
    }
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

/// A retry policy of which only some fields may be written.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Retry {
    max_attempts: Option<u32>,
    initial_delay: Option<Millis>,
    backoff_factor: Option<f64>,
    max_delay: Option<Millis>,
    jitter: Option<f64>,
}

impl Retry {
    pub(super) fn read(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Retry> {
        let mut fields = Fields::of(r, "a retry policy", RETRY, node)?;
        let retry = Retry {
            max_attempts: fields.get(r, "max_attempts", count(1..=100)),
            initial_delay: fields.get(r, "initial_delay", delay),
            backoff_factor: fields.get(r, "backoff_factor", ratio(1.0..=100.0)),
            max_delay: fields.get(r, "max_delay", delay),
            jitter: fields.get(r, "jitter", ratio(0.0..=1.0)),
        };
        fields.finish(r, |_| false);
        Some(retry)
    }

    fn effective(own: Option<Retry>, config: Option<Retry>, untouched: RetryPolicy) -> RetryPolicy {
        if own.is_none() && config.is_none() {
            return untouched;
        }
        let (own, config, base) =
            (own.unwrap_or_default(), config.unwrap_or_default(), RetryPolicy::default());
        RetryPolicy {
            max_attempts: own.max_attempts.or(config.max_attempts).unwrap_or(base.max_attempts),
            initial_delay: own.initial_delay.or(config.initial_delay).unwrap_or(base.initial_delay),
            backoff_factor: own.backoff_factor.or(config.backoff_factor).unwrap_or(base.backoff_factor),
            max_delay: own.max_delay.or(config.max_delay).unwrap_or(base.max_delay),
            jitter: own.jitter.or(config.jitter).unwrap_or(base.jitter),
        }
    }
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

fn permissions(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Permissions> {
    let mut fields = Fields::of(r, "permissions", PERMISSIONS, node)?;
    let permissions = Permissions {
        deny: fields.get(r, "deny", rules).unwrap_or_default(),
        ask: fields.get(r, "ask", rules).unwrap_or_default(),
        allow: fields.get(r, "allow", rules).unwrap_or_default(),
        otherwise: fields.get(r, "otherwise", choice(OTHERWISE)).unwrap_or_default(),
        blocked_commands: fields.get(r, "blocked_commands", texts),
        answer_within: fields.get(r, "answer_within", time_limit),
        repetition: fields.get(r, "repetition", flag).unwrap_or_default(),
    };
    fields.finish(r, |_| false);
    Some(permissions)
}

fn rules(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    super::decode::each(r, what, node, "a rule or a list of rules", |r, what, node| {
        let rule = text(r, what, node)?;
        if crate::plan::permissions::Rule::parse(&rule).is_none() {
            r.error("bad-rule", node.span, format!("{} is not a rule", shown(&rule))).help(
                "write a tool's name, such as WebFetch, or a tool and a pattern, such as Bash(git push*)",
            );
            return None;
        }
        Some(rule)
    })
}

const LONG_DELAY: Millis = Millis::from_secs(3600);

/// Other tools count retry delays in milliseconds; a plain number that makes hours is most likely one of theirs.
fn delay(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Millis> {
    let length = duration(r, what, node)?;
    let plain = matches!(node.value, Value::Int(_) | Value::Float(_));
    if plain && length > LONG_DELAY {
        let number = r.source.slice(node.span).to_owned();
        r.warning("long-delay", node.span, format!("'{what}' is {length}; plain numbers are seconds"))
            .help(format!("if milliseconds were meant, write {number}ms; otherwise write it with its unit"));
    }
    Some(length)
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

fn env(r: &mut Report<'_>, what: &str, node: &Node) -> Option<BTreeMap<String, String>> {
    let Some(entries) = node.entries() else { return wrong(r, what, node, "a mapping of names to values") };
    let mut env = BTreeMap::new();
    for (key, node) in entries {
        let named = env_name(r, &key.text, key.span);
        let Some(value) = node.text(r.source).map(str::to_owned) else {
            wrong::<()>(r, &key.text, node, "a text, number or boolean");
            continue;
        };
        if named {
            env.insert(key.text.to_string(), value);
        }
    }
    Some(env)
}

fn env_name(r: &mut Report<'_>, name: &str, span: Span) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !(first && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')) {
        r.error("bad-env-name", span, format!("{} cannot name a variable", shown(name)))
            .help("names are letters, digits and '_', not starting with a digit");
        return false;
    }
    if name.starts_with("CONDUCTOR_") {
        r.error("bad-env-name", span, format!("{} is set by conductor itself", shown(name)));
        return false;
    }
    true
}

pub(super) fn env_pass(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    super::decode::each(r, what, node, "a name or a list of names", |r, what, node| {
        let name = text(r, what, node)?;
        let bare = name.strip_suffix('*').unwrap_or(&name);
        (name == "*" || env_name(r, bare, node.span)).then_some(name)
    })
}

pub(super) fn repository(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let name = text(r, what, node)?;
    let part = |part: &str| {
        let fits = part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        fits && !part.is_empty() && !part.starts_with('-') && part != "." && part != ".."
    };
    match name.split_once('/') {
        Some((owner, repo)) if part(owner) && part(repo) => Some(name),
        _ => {
            r.error("bad-repository", node.span, format!("{} is not a repository", shown(&name)))
                .help("write owner/name, as in github.com/owner/name");
            None
        }
    }
}
