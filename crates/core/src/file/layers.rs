//! Config files: defaults from outside of a task file, read by the same reader and laid under what the file says.

use crate::plan::{Group, Isolation, Notification, Notifications, Plan, Work};

use super::browser::Browser;
use super::check::Parts;
use super::decode::{count, flag};
use super::diagnostic::{Diagnostic, Report};
use super::effective::{self, Written};
use super::fields::Fields;
use super::idle;
use super::keys::{CONFIG_FILE, EXECUTION, MAX_PARALLEL};
use super::parse;
use super::sections::{self, LimitsDraft};
use super::settings::{Retry, Settings};
use super::source::{Source, Span};
use super::syncing::SyncKeys;
use super::tree::Node;
use super::trust;

/// One config file, read and found good.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    config: Settings,
    limits: LimitsDraft,
    notifications: Notices,
    parallel: Option<u32>,
    execution: Execution,
    browser: Browser,
    sync: SyncKeys,
    written: Vec<Written>,
    /// Whether it counts before what tasks and the file say themselves.
    over_tasks: bool,
}

impl Layer {
    /// As one that counts before what tasks and their file say: the user's environment.
    pub fn over_tasks(self) -> Layer {
        Layer { over_tasks: true, ..self }
    }

    /// What of it needs the user's trust.
    pub fn needing_trust(&self) -> impl Iterator<Item = &Written> {
        self.written.iter().filter(|written| trust::needs_trust(written))
    }

    /// What is left of it where the user does not trust it.
    pub fn untrusted(self) -> Layer {
        let withheld: Vec<String> = self.needing_trust().map(|written| written.key.clone()).collect();
        let is_kept = |name: &str| !withheld.iter().any(|key| key == &format!("notifications.{name}"));
        let Notices { on_complete, on_failure, on_input, on_budget } = self.notifications;
        Layer {
            config: self.config.untrusted(),
            limits: self.limits.untrusted(),
            notifications: Notices {
                on_complete: on_complete.filter(|_| is_kept("on_complete")),
                on_failure: on_failure.filter(|_| is_kept("on_failure")),
                on_input: on_input.filter(|_| is_kept("on_input")),
                on_budget: on_budget.filter(|_| is_kept("on_budget")),
            },
            browser: Browser::default(),
            sync: SyncKeys::default(),
            written: self.written.into_iter().filter(|written| !trust::needs_trust(written)).collect(),
            ..self
        }
    }

    /// What it says of the browser for agents of the cloud.
    pub fn browser(&self) -> &Browser {
        &self.browser
    }

    /// What it says of where runs are pushed to.
    pub fn sync(&self) -> &SyncKeys {
        &self.sync
    }

    /// Everything it sets.
    pub fn written(&self) -> &[Written] {
        &self.written
    }

    /// What it sets that has no effect so far.
    pub fn idle(&self) -> impl Iterator<Item = &Written> {
        let is_idle = |written: &&Written| {
            let head = written.key.split('.').next().unwrap_or_default();
            idle::is_idle(head)
        };
        self.written.iter().filter(is_idle)
    }
}

/// A layer and what its author may want to know; or everything that is wrong with it.
pub fn layer(source: &Source) -> Result<(Layer, Vec<Diagnostic>), Vec<Diagnostic>> {
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if source.text().lines().all(blank) {
        return Ok((Layer::default(), Vec::new()));
    }
    let mut report = Report::new(source);
    report.subagents_from = source.name();
    let layer = parse::parse(&mut report).and_then(|root| read(&mut report, &root));
    let (found, failed) = report.finish();
    match layer {
        Some(layer) if !failed => Ok((layer, found)),
        _ => Err(found),
    }
}

fn read(r: &mut Report<'_>, root: &Node) -> Option<Layer> {
    let mut fields = Fields::of(r, "a config file", CONFIG_FILE, root)?;
    for free in ["$schema", "ui"] {
        fields.take(free);
    }
    let browser = Browser::read(r, &mut fields);
    let sync = SyncKeys::read(r, &mut fields);
    let retry = retry(r, &mut fields);
    let mut config = sections::defaults(r, &mut fields);
    config.retry = config.retry.or(retry);
    let placed = [&mut config.epic, &mut config.group, &mut config.subagent_type];
    for placed in placed.into_iter().flatten() {
        // A place in this file is none in the task file.
        placed.span = Span::default();
    }
    let layer = Layer {
        config,
        limits: fields.get(r, "limits", sections::limits).unwrap_or_default(),
        notifications: fields.get(r, "notifications", notices).unwrap_or_default(),
        parallel: fields.get(r, "parallel", count(1..=MAX_PARALLEL)),
        execution: fields.get(r, "execution", Execution::read).unwrap_or_default(),
        browser,
        sync,
        written: effective::written(r.source, root),
        over_tasks: false,
    };
    fields.finish(r, |key| key.starts_with("x-"));
    // What is for the cloud may be for a task of any file.
    idle::report(r, root.entries().unwrap_or_default().iter().map(|entry| (entry, true)));
    Some(layer)
}

fn retry(r: &mut Report<'_>, fields: &mut Fields<'_>) -> Option<Retry> {
    let retry = fields.get(r, "retry", Retry::read)?;
    for name in ["retry_policy", "default_retry_policy"] {
        if let (Some((own, _)), Some((other, _))) = (fields.take("retry"), fields.take(name)) {
            r.error("duplicate-key", other.span, format!("'retry' and '{name}' are the same setting"))
                .also(own.span, "also set here");
        }
    }
    Some(retry)
}

/// Another way to say how many tasks run at once: the number counts only where the flag is set.
#[derive(Debug, Clone, Copy, Default)]
struct Execution {
    parallel_mode: Option<bool>,
    max_parallel_tasks: Option<u32>,
}

impl Execution {
    fn read(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Execution> {
        let mut fields = Fields::of(r, "execution", EXECUTION, node)?;
        let execution = Execution {
            parallel_mode: fields.get(r, "parallel_mode", flag),
            max_parallel_tasks: fields.get(r, "max_parallel_tasks", count(1..=MAX_PARALLEL)),
        };
        fields.finish(r, |_| false);
        Some(execution)
    }

    fn is_silent(self) -> bool {
        self.parallel_mode.is_none() && self.max_parallel_tasks.is_none()
    }
}

/// How many tasks run at once: the strongest layer that says it, in either way.
fn parallel(layers: &[Layer]) -> Option<u32> {
    let place = layers.iter().position(|layer| layer.parallel.is_some() || !layer.execution.is_silent())?;
    let rest = &layers[place..];
    let on = rest.iter().find_map(|layer| layer.execution.parallel_mode).unwrap_or(false);
    let most = rest.iter().find_map(|layer| layer.execution.max_parallel_tasks).unwrap_or(1);
    Some(rest[0].parallel.unwrap_or(if on { most } else { 1 }))
}

/// What config files say that is not a default of tasks.
#[derive(Debug, Default)]
pub(super) struct Outside {
    pub(super) parallel: Option<u32>,
    pub(super) isolation: Option<Isolation>,
    pub(super) groups: Vec<(String, u32)>,
}

impl Outside {
    /// Limits of groups count for those this file has, and that have none of their own.
    pub(super) fn limit(&self, groups: &mut [Group]) {
        for group in groups.iter_mut().filter(|group| group.max_parallel.is_none()) {
            let limit = self.groups.iter().find(|(name, _)| group.is(name));
            group.max_parallel = limit.map(|(_, most)| *most);
        }
    }
}

/// Lays what a file says over the layers, of which the first is the strongest.
pub(super) fn fill(parts: &mut Parts, layers: &[Layer]) -> Outside {
    let mut outside = Outside { parallel: parallel(layers), ..Outside::default() };
    for layer in layers {
        if layer.over_tasks {
            lay_over(parts, layer);
            continue;
        }
        let mut config = layer.config.clone();
        // A default that a flag must still be able to change.
        outside.isolation = outside.isolation.or(config.isolation.take());
        // An epic is a matter of the task file; where that lists its epics, others do not exist.
        let known =
            |id: &String| parts.epics.as_ref().is_none_or(|epics| epics.iter().any(|epic| epic.is(id)));
        config.epic = config.epic.filter(|epic| known(&epic.value));
        parts.config = std::mem::take(&mut parts.config).over(config);
        parts.limits = std::mem::take(&mut parts.limits).over(layer.limits.clone());
        parts.notifications = std::mem::take(&mut parts.notifications).over(layer.notifications.clone());
        outside.groups.extend(layer.limits.groups.iter().map(|(name, most)| (name.value.clone(), *most)));
    }
    outside
}

/// Which agent works, and how, is said for prompts only: a command stays a command.
fn lay_over(parts: &mut Parts, layer: &Layer) {
    for task in &mut parts.tasks {
        let own = task.settings.take().map_or_else(Settings::default, |own| *own);
        let strong = match task.work {
            Some(Work::Run(_)) => layer.config.clone().without_agents(),
            _ => layer.config.clone(),
        };
        task.settings = Some(Box::new(strong.over(own)));
    }
    parts.config = layer.config.clone().over(std::mem::take(&mut parts.config));
    parts.limits = layer.limits.clone().over(std::mem::take(&mut parts.limits));
}

/// What config files say where there is no task file: agents, prices, models and specialists, and no tasks.
pub fn plan_without_tasks(layers: &[Layer]) -> Plan {
    let mut parts = Parts::default();
    let outside = fill(&mut parts, layers);
    frame(parts, outside)
}

/// All of a plan that is not about its tasks.
pub(super) fn frame(parts: Parts, outside: Outside) -> Plan {
    let Settings { workspace_path, agents, prices, models, subagents, .. } = parts.config;
    Plan {
        limits: parts.limits.finish(),
        notifications: parts.notifications.finish(),
        metadata: parts.metadata,
        parallel: outside.parallel,
        isolation: outside.isolation,
        workspace_path,
        agents,
        prices,
        models,
        subagents,
        ..Plan::default()
    }
}

/// How to notify: an absent list is filled in from weaker layers, an empty one is not.
#[derive(Debug, Clone, Default)]
pub(super) struct Notices {
    on_complete: Option<Vec<Notification>>,
    on_failure: Option<Vec<Notification>>,
    on_input: Option<Vec<Notification>>,
    on_budget: Option<Vec<Notification>>,
}

pub(super) fn notices(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Notices> {
    let read = sections::notifications(r, what, node)?;
    let says = |name: &str| node.entries().into_iter().flatten().any(|(key, _)| *key.text == *name);
    Some(Notices {
        on_complete: says("on_complete").then_some(read.on_complete),
        on_failure: says("on_failure").then_some(read.on_failure),
        on_input: says("on_input").then_some(read.on_input),
        on_budget: says("on_budget").then_some(read.on_budget),
    })
}

impl Notices {
    fn over(self, weaker: Notices) -> Notices {
        Notices {
            on_complete: self.on_complete.or(weaker.on_complete),
            on_failure: self.on_failure.or(weaker.on_failure),
            on_input: self.on_input.or(weaker.on_input),
            on_budget: self.on_budget.or(weaker.on_budget),
        }
    }

    pub(super) fn finish(self) -> Notifications {
        Notifications {
            on_complete: self.on_complete.unwrap_or_default(),
            on_failure: self.on_failure.unwrap_or_default(),
            on_input: self.on_input.unwrap_or_default(),
            on_budget: self.on_budget.unwrap_or_default(),
        }
    }
}
