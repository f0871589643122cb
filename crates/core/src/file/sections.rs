//! The smaller sections of a file: config, groups, limits, notifications.

use std::collections::BTreeMap;

use crate::plan::NOTIFICATION_NAMES;
use crate::plan::subagents::Subagent;
use crate::plan::{Limits, Notification, Notifications, OnBudget, Price};
use crate::values::template;
use crate::values::units::{Millis, Usd};

use super::decode::{
    agent_resources, choice, cost, count, each, flag, map_of, priority, ratio, resources, text, texts,
    time_limit, wrong,
};
use super::diagnostic::{Report, shown};
use super::fields::Fields;
use super::groups;
use super::keys::{
    self, CONFIG, GROUP, LIMITS, MAX_FOLLOW_UPS, MAX_PARALLEL, MAX_PRICE, MAX_RUN_ATTEMPTS, NOTIFICATION,
    NOTIFICATIONS, PRICE, SUBAGENT,
};
use super::programs;
use super::settings::{EPIC_LANDINGS, PR_STRATEGIES, Placed, Retry, SCOPES, Settings, placed, repository};
use super::tree::{Node, Value};
use crate::values::suggest::did_you_mean;

pub(super) fn config(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Settings> {
    let mut fields = Fields::of(r, "the config", CONFIG, node)?;
    let config = defaults(r, &mut fields);
    fields.finish(r, |_| false);
    Some(config)
}

/// Every key of a `config`, taken out of a mapping that may have others.
pub(super) fn defaults(r: &mut Report<'_>, fields: &mut Fields<'_>) -> Settings {
    twice(r, fields);
    let mut config = Settings::read(r, fields, 0);
    fill(&mut config.repository, fields.get(r, "default_repository", repository));
    fill(&mut config.priority, fields.get(r, "default_priority", priority(0)));
    fill(&mut config.retry, fields.get(r, "default_retry_policy", Retry::read));
    fill(&mut config.pr_strategy, fields.get(r, "default_pr_strategy", choice(PR_STRATEGIES)));
    fill(&mut config.auto_pr_timeout, fields.get(r, "default_auto_pr_timeout", super::decode::duration));
    config.isolation_scope = fields.get(r, "isolation_scope", choice(SCOPES));
    config.epic_landing = fields.get(r, "epic_landing", choice(EPIC_LANDINGS));
    config.workspace_path = fields.get(r, "workspace_path", workspace_path);
    config.models = fields.get(r, "models", super::models::read);
    config.subagents = fields.get(r, "subagents", subagents).unwrap_or_default();
    config.agents = fields.get(r, "agents", programs::agents).unwrap_or_default();
    config.agent_resources = fields.get(r, "agent_resources", agent_resources).unwrap_or_default();
    config.prices = fields.get(r, "prices", map_of(price)).unwrap_or_default();
    config
}

/// In the order in which they are written, which decides between equals.
fn subagents(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<Subagent>> {
    let Some(entries) = node.entries() else {
        let expected = "a mapping of names; `max_subagent_cost: 0` has agents hand nothing on";
        return wrong(r, what, node, expected);
    };
    Some(entries.iter().filter_map(|(key, node)| subagent(r, &key.text, node)).collect())
}

fn subagent(r: &mut Report<'_>, name: &str, node: &Node) -> Option<Subagent> {
    let mut fields = Fields::of(r, "a subagent", SUBAGENT, node)?;
    let subagent = Subagent {
        name: name.to_owned(),
        description: fields.get(r, "description", text).unwrap_or_default(),
        words: fields.get(r, "words", texts).unwrap_or_default(),
        agent: fields.get(r, "agent", text),
        model: fields.get(r, "model", text),
        prompt: fields.get(r, "prompt", text).unwrap_or_default(),
        from: r.subagents_from.to_owned(),
    };
    fields.finish(r, |_| false);
    Some(subagent)
}

/// Two workspaces in one place would eat each other's files, so that run and number must be part of it.
fn workspace_path(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    const NAMES: [&str; 4] = ["home", "repo", "run", "n"];
    let path = text(r, what, node)?;
    let unknown = path.split('{').skip(1).find(|rest| {
        let name = rest.split_once('}').map(|(name, _)| name);
        name.is_none_or(|name| !NAMES.contains(&name))
    });
    let problem = match unknown {
        Some(rest) => {
            format!("cannot fill in {}", shown(&format!("{{{}", rest.chars().take(20).collect::<String>())))
        }
        None if !path.contains("{run}") || !path.contains("{n}") => {
            "must have {run} and {n} in it, so that no two workspaces are in one place".to_owned()
        }
        None => return Some(path),
    };
    r.error("bad-template", node.span, format!("'{what}' {problem}"))
        .help("for instance ../workspaces/{repo}-{run}-{n}");
    None
}

fn price(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Price> {
    let mut fields = Fields::of(r, "a price", PRICE, node)?;
    let dollars = |r: &mut Report<'_>, what: &str, node: &Node| {
        ratio(0.0..=MAX_PRICE)(r, what, node).map(Usd::from_dollars)
    };
    let (input, output) = (fields.need(r, "input", dollars), fields.need(r, "output", dollars));
    let cache_read = fields.get(r, "cache_read", dollars);
    let cache_write = fields.get(r, "cache_write", dollars);
    fields.finish(r, |_| false);
    Some(Price { input: input?, output: output?, cache_read, cache_write })
}

const ON_BUDGET: &[(&str, OnBudget)] = &[("stop", OnBudget::Stop), ("finish", OnBudget::Finish)];

fn fill<T>(field: &mut Option<T>, value: Option<T>) {
    if field.is_none() {
        *field = value;
    }
}

/// `priority` and `default_priority` say the same thing; two of them are one too many.
fn twice(r: &mut Report<'_>, fields: &mut Fields<'_>) {
    for long in keys::names(CONFIG).filter(|name| name.starts_with("default_")) {
        let short = long.trim_start_matches("default_");
        if let (Some((first, _)), Some((second, _))) = (fields.take(short), fields.take(long)) {
            r.error("duplicate-key", second.span, format!("'{long}' and '{short}' are the same setting"))
                .also(first.span, "also set here");
        }
    }
}

pub(super) struct GroupDraft {
    pub(super) name: Placed<String>,
    pub(super) tasks: Vec<Placed<String>>,
    pub(super) description: Option<String>,
    pub(super) max_parallel: Option<u32>,
}

pub(super) fn groups(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<GroupDraft>> {
    objects(r, what, node, group)
}

/// A list of mappings.
pub(super) fn objects<T>(
    r: &mut Report<'_>,
    what: &str,
    node: &Node,
    decode: impl Fn(&mut Report<'_>, &Node) -> Option<T>,
) -> Option<Vec<T>> {
    let Value::Seq(items) = &node.value else { return wrong(r, what, node, "a list") };
    Some(items.iter().filter_map(|item| decode(r, item)).collect())
}

fn group(r: &mut Report<'_>, node: &Node) -> Option<GroupDraft> {
    let mut fields = Fields::of(r, "a group", GROUP, node)?;
    let name = fields.need(r, "name", groups::name);
    let tasks = fields.get(r, "tasks", ids).unwrap_or_default();
    let description = fields.get(r, "description", text);
    let max_parallel = fields.get(r, "max_parallel", count(1..=MAX_PARALLEL));
    fields.finish(r, |_| false);
    Some(GroupDraft { name: name?, tasks, description, max_parallel })
}

pub(super) fn ids(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<Placed<String>>> {
    each(r, what, node, "a task id or a list of them", placed)
}

/// Groups by name, and how many of their tasks run at once.
pub(super) type GroupLimits = Vec<(Placed<String>, u32)>;

/// A run's limits, of which only some may be written; those of groups belong to the groups.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitsDraft {
    max_cost: Option<Usd>,
    on_budget: Option<OnBudget>,
    max_tokens: Option<u64>,
    max_time: Option<Millis>,
    max_attempts: Option<u32>,
    outage_patience: Option<Millis>,
    orphan_grace: Option<Millis>,
    follow_ups: Option<u32>,
    hold_out: Option<u32>,
    learn_cost: Option<Usd>,
    approve_follow_ups: Option<bool>,
    agents: BTreeMap<String, u32>,
    resources: BTreeMap<String, u64>,
    pub(super) groups: GroupLimits,
}

impl LimitsDraft {
    /// Those of groups stay this one's: of the weaker one's only those count that fit.
    pub(super) fn over(self, weaker: LimitsDraft) -> LimitsDraft {
        let (mut agents, mut resources) = (weaker.agents, weaker.resources);
        agents.extend(self.agents);
        resources.extend(self.resources);
        LimitsDraft {
            max_cost: self.max_cost.or(weaker.max_cost),
            on_budget: self.on_budget.or(weaker.on_budget),
            max_tokens: self.max_tokens.or(weaker.max_tokens),
            max_time: self.max_time.or(weaker.max_time),
            max_attempts: self.max_attempts.or(weaker.max_attempts),
            outage_patience: self.outage_patience.or(weaker.outage_patience),
            orphan_grace: self.orphan_grace.or(weaker.orphan_grace),
            follow_ups: self.follow_ups.or(weaker.follow_ups),
            hold_out: self.hold_out.or(weaker.hold_out),
            learn_cost: self.learn_cost.or(weaker.learn_cost),
            approve_follow_ups: self.approve_follow_ups.or(weaker.approve_follow_ups),
            agents,
            resources,
            groups: self.groups,
        }
    }

    /// What is left where the user does not trust who wrote it.
    pub(super) fn untrusted(self) -> LimitsDraft {
        LimitsDraft { learn_cost: None, ..self }
    }

    pub(super) fn finish(self) -> Limits {
        Limits {
            max_cost: self.max_cost,
            max_tokens: self.max_tokens,
            max_time: self.max_time,
            max_attempts: self.max_attempts,
            outage_patience: self.outage_patience,
            orphan_grace: self.orphan_grace,
            on_budget: self.on_budget.unwrap_or_default(),
            follow_ups: self.follow_ups.unwrap_or_default(),
            hold_out: self.hold_out,
            learn_cost: self.learn_cost,
            follow_ups_unasked: self.approve_follow_ups == Some(false),
            agents: self.agents,
            resources: self.resources,
        }
    }
}

pub(super) fn limits(r: &mut Report<'_>, _: &str, node: &Node) -> Option<LimitsDraft> {
    let mut fields = Fields::of(r, "limits", LIMITS, node)?;
    let grace = fields
        .get(r, "orphan_grace", |r, what, node| Some((super::decode::duration(r, what, node)?, node.span)));
    let limits = LimitsDraft {
        max_cost: fields.get(r, "max_cost", cost),
        on_budget: fields.get(r, "on_budget", choice(ON_BUDGET)),
        max_tokens: fields.get(r, "max_tokens", count(1..=u64::MAX)),
        max_time: fields.get(r, "max_time", time_limit),
        max_attempts: fields.get(r, "max_attempts", count(1..=MAX_RUN_ATTEMPTS)),
        outage_patience: fields.get(r, "outage_patience", super::decode::duration),
        orphan_grace: grace.map(|(length, _)| length),
        follow_ups: fields.get(r, "follow_ups", count(0..=MAX_FOLLOW_UPS)),
        hold_out: fields.get(r, "hold_out", count(0..=100)),
        learn_cost: fields.get(r, "learn_cost", cost),
        approve_follow_ups: fields.get(r, "approve_follow_ups", flag),
        agents: fields.get(r, "agents", map_of(count(1..=MAX_PARALLEL))).unwrap_or_default(),
        resources: fields.get(r, "resources", resources).unwrap_or_default(),
        groups: fields.get(r, "groups", group_limits).unwrap_or_default(),
    };
    fields.finish(r, |_| false);
    if let Some((length, span)) = grace
        && limits.clone().finish().leaves_without_bounds()
    {
        r.warning(
            "long-grace",
            span,
            format!("'orphan_grace' is {length}, without a cap and a deadline here"),
        )
        .help("a run with it starts only with max_cost or max_tokens, and with max_time");
    }
    Some(limits)
}

fn group_limits(r: &mut Report<'_>, what: &str, node: &Node) -> Option<GroupLimits> {
    let Some(entries) = node.entries() else { return wrong(r, what, node, "a mapping of groups to numbers") };
    let limit = |(key, node): &super::tree::Entry| {
        let name = Placed { value: key.text.to_string(), span: key.span };
        count(1..=MAX_PARALLEL)(r, &key.text, node).map(|most| (name, most))
    };
    Some(entries.iter().filter_map(limit).collect())
}

pub(super) fn notifications(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Notifications> {
    let mut fields = Fields::of(r, "notifications", NOTIFICATIONS, node)?;
    let list = |r: &mut Report<'_>, what: &str, node: &Node| match node.value {
        Value::Map(_) => Some(notification(r, node).into_iter().collect()),
        _ => objects(r, what, node, notification),
    };
    let on_complete = fields.get(r, "on_complete", list).unwrap_or_default();
    let on_failure = fields.get(r, "on_failure", list).unwrap_or_default();
    let on_input = fields.get(r, "on_input", list).unwrap_or_default();
    let on_budget = fields.get(r, "on_budget", list).unwrap_or_default();
    fields.finish(r, |_| false);
    Some(Notifications { on_complete, on_failure, on_input, on_budget })
}

#[derive(Clone, Copy)]
enum Way {
    Terminal,
    Sound,
    Desktop,
    Webhook,
    Plugin,
}

const WAYS: &[(&str, Way)] = &[
    ("terminal", Way::Terminal),
    ("sound", Way::Sound),
    ("desktop", Way::Desktop),
    ("webhook", Way::Webhook),
    ("plugin", Way::Plugin),
];

fn notification(r: &mut Report<'_>, node: &Node) -> Option<Notification> {
    let mut fields = Fields::of(r, "a notification", NOTIFICATION, node)?;
    let way = fields.need(r, "type", choice(WAYS));
    let told = match way {
        Some(Way::Terminal) => Some(Notification::Terminal { message: fields.get(r, "message", message) }),
        Some(Way::Desktop) => Some(Notification::Desktop { message: fields.get(r, "message", message) }),
        Some(Way::Sound) => Some(Notification::Sound { file: fields.get(r, "file", text) }),
        Some(Way::Plugin) => {
            let message = fields.get(r, "message", message);
            fields.need(r, "name", text).map(|name| Notification::Plugin { name, message })
        }
        Some(Way::Webhook) => fields.need(r, "url", url).map(|url| Notification::Webhook { url }),
        None => None,
    };
    // Without a type it is unknown which of the keys belong.
    fields.finish(r, |name| way.is_none() && keys::names(NOTIFICATION).any(|known| known == name));
    told
}

/// A text with names to be filled in. An unknown name stays as it is, and is reported.
fn message(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let words = text(r, what, node)?;
    let known = |name: &str| NOTIFICATION_NAMES.contains(&name).then(String::new);
    if let Err(unknown) = template::filled(&words, known) {
        let meant = did_you_mean(unknown.trim_matches(['{', '}']), NOTIFICATION_NAMES);
        let help = match meant {
            Some(name) => format!("did you mean '{{{name}}}'?"),
            None => {
                format!("there are {{{}}}; a brace itself is written twice", NOTIFICATION_NAMES.join("}, {"))
            }
        };
        r.warning("bad-template", node.span, format!("'{what}' cannot fill in {}", shown(&unknown)))
            .help(help);
    }
    Some(words)
}

fn url(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let url = text(r, what, node)?;
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    if host.is_none_or(|host| host.is_empty() || host.starts_with('/') || host.contains(char::is_whitespace))
    {
        r.error("bad-url", node.span, format!("{} is not a web address", shown(&url)))
            .help("it starts with https:// or http://");
        return None;
    }
    Some(url)
}
