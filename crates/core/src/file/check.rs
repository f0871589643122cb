//! The drafts of a file put together: do the names in it exist, once each, and can the tasks be ordered at all?

use std::collections::{HashMap, HashSet};

use crate::plan::graph::{Graph, GraphError, Strategy};
use crate::plan::groups::without_marks;
use crate::plan::mentions;
use crate::plan::subagents::{self, Finding, Known, Subagent};
use crate::plan::{Dependency, Isolation, Kind, Plan, SandboxMode, Task, Work};
use crate::values::ids::TaskId;

use super::diagnostic::{Report, shown};
use super::epics::{self, EpicDraft};
use super::groups;
use super::layers::{self, Notices, Outside};
use super::order::Steps;
use super::race;
use super::sections::{GroupDraft, LimitsDraft};
use super::settings::{Placed, Settings};
use super::source::Span;
use super::task::{Draft, Wait};

#[derive(Default)]
pub(super) struct Parts {
    pub(super) config: Settings,
    pub(super) tasks: Vec<Draft>,
    pub(super) groups: Vec<GroupDraft>,
    /// Nothing where the file has no such section.
    pub(super) epics: Option<Vec<EpicDraft>>,
    pub(super) order: Steps,
    pub(super) limits: LimitsDraft,
    pub(super) notifications: Notices,
    pub(super) metadata: serde_json::Map<String, serde_json::Value>,
}

pub(super) fn assemble(
    r: &mut Report<'_>,
    mut parts: Parts,
    outside: Outside,
    found: Option<&[Subagent]>,
) -> Plan {
    let ids = Ids::of(&parts.tasks);
    let kept = ids.check_twins(r, &parts.tasks);
    let mut groups = groups::resolve(r, &ids, &mut parts);
    outside.limit(&mut groups);
    let own = parts.tasks.iter().filter_map(|task| task.settings.as_ref()?.epic.as_ref());
    let named = parts.config.epic.iter().chain(own);
    let usual = epics::Usual {
        scope: parts.config.isolation_scope.unwrap_or_default(),
        landing: parts.config.epic_landing,
    };
    let epics = epics::resolve(r, parts.epics.take(), named, usual);
    let execution_order = order(r, &ids, &parts.tasks, &parts.order);
    let (mut waits, mut specialists, mut races) = (Vec::new(), Vec::new(), Vec::new());
    let mut tasks = Vec::new();
    let names: Vec<String> = parts.tasks.iter().map(|task| task.id.value.clone()).collect();
    for (mut draft, kept) in parts.tasks.into_iter().zip(kept) {
        let race = draft.race.take();
        let own = draft.settings.as_deref();
        let epic = own.and_then(|own| own.epic.as_ref()).or(parts.config.epic.as_ref());
        let epic = epic.and_then(|name| epics.iter().find(|epic| epic.id == name.value));
        if let Some(land) = epic.and_then(|epic| epic.land) {
            draft.settings.get_or_insert_default().land.get_or_insert(land);
        }
        let own = draft.settings.as_deref().and_then(|own| own.subagent_type.as_ref());
        let specialist = own.or(parts.config.subagent_type.as_ref());
        let specialist = specialist.map_or_else(Span::default, |name| name.span);
        let (task, places) = finish(r, &ids, &names, draft, &parts.config);
        if let Some(task) = task.filter(|_| kept) {
            tasks.push(task);
            waits.push(places);
            specialists.push(specialist);
            races.push(race);
        }
    }
    let frame = layers::frame(Parts { tasks: Vec::new(), ..parts }, outside);
    let mut plan = Plan { tasks, groups, epics, execution_order, ..frame };
    if let Some(found) = found {
        settle_subagents(r, &mut plan, &specialists, found);
    }
    Circles { waits, ids: &ids }.check(r, &mut plan);
    race::enter(r, &mut plan, races);
    plan
}

/// Decides whom each task is for. Only those of whom there is need stay in the plan.
fn settle_subagents(r: &mut Report<'_>, plan: &mut Plan, places: &[Span], found: &[Subagent]) {
    let known = Known::new(&std::mem::take(&mut plan.subagents), found);
    let mut told = None;
    for (place, span) in places.iter().enumerate() {
        let finding = subagents::find(&plan.tasks[place], &known);
        // What the config says for all of them is wrong once.
        if let (Finding::Unknown(name), true) = (&finding, told != Some(*span)) {
            let help = r.did_you_mean(name, known.all.iter().map(|known| known.name.as_str()));
            let message = format!("there is no subagent {}", shown(name));
            let help = help.unwrap_or_else(|| match *span == Span::default() {
                true => "it is named in a config file: see `conductor config show --origin`".to_owned(),
                false => "describe it in config: subagents, or in .claude/agents".to_owned(),
            });
            r.error("unknown-subagent", *span, message).help(help);
            told = Some(*span);
        }
        subagents::settle(plan, place, finding, &known);
    }
}

/// Every id of the file, also the bad ones, and where it stands first.
pub(super) struct Ids {
    first: HashMap<String, (usize, Span)>,
}

impl Ids {
    fn of(tasks: &[Draft]) -> Ids {
        let mut first = HashMap::with_capacity(tasks.len());
        for (place, task) in tasks.iter().enumerate() {
            first.entry(task.id.value.clone()).or_insert((place, task.id.span));
        }
        Ids { first }
    }

    /// Where a task of this id stands first.
    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.first.get(id).map(|(place, _)| *place)
    }

    fn has(&self, id: &str) -> bool {
        self.first.contains_key(id)
    }

    /// Reports ids that are the same, or the same to a file system. Says of each task whether it is to be kept.
    fn check_twins(&self, r: &mut Report<'_>, tasks: &[Draft]) -> Vec<bool> {
        let mut folded: HashMap<String, usize> = HashMap::with_capacity(tasks.len());
        let mut kept = Vec::with_capacity(tasks.len());
        for (place, task) in tasks.iter().enumerate() {
            let first = self.first.get(&task.id.value).filter(|(first, _)| *first != place);
            if let (Some((_, span)), false) = (first, task.id.value.is_empty()) {
                let message = format!("there are two tasks {}", shown(&task.id.value));
                r.error("duplicate-id", task.id.span, message).label("again here").also(*span, "first here");
                kept.push(false);
                continue;
            }
            let twin = *folded.entry(task.id.value.to_lowercase()).or_insert(place);
            if twin != place && !task.id.value.is_empty() {
                case_twin(r, task, &tasks[twin]);
            }
            kept.push(true);
        }
        kept
    }
}

fn case_twin(r: &mut Report<'_>, task: &Draft, twin: &Draft) {
    let (this, that) = (shown(&task.id.value), shown(&twin.id.value));
    r.error("case-twin", task.id.span, format!("task {this} differs from task {that} only in case"))
        .also(twin.id.span, "the other one is here")
        .help("on some file systems both would share one folder");
}

pub(super) fn unknown_task<'c>(
    r: &mut Report<'_>,
    what: &str,
    id: &Placed<String>,
    ids: impl Iterator<Item = &'c str>,
) {
    let help = r.did_you_mean(&id.value, ids);
    r.error(
        "unknown-task",
        id.span,
        format!("'{what}' names task {}, which does not exist", shown(&id.value)),
    )
    .help = help;
}

fn order(r: &mut Report<'_>, ids: &Ids, tasks: &[Draft], steps: &Steps) -> Vec<Vec<TaskId>> {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let mut step = |r: &mut Report<'_>, id: &'_ Placed<String>| {
        let Some(&(place, _)) = ids.first.get(&id.value) else {
            unknown_task(r, "execution_order", id, tasks.iter().map(|task| task.id.value.as_str()));
            return None;
        };
        let name = tasks[place].id.value.as_str();
        if let Some(&first) = seen.get(name) {
            let message = format!("task {} stands twice in 'execution_order'", shown(name));
            r.error("duplicate-id", id.span, message).label("again here").also(first, "first here");
            return None;
        }
        seen.insert(name, id.span);
        tasks[place].parsed.clone()
    };
    let steps = steps.iter().map(|ids| ids.iter().filter_map(|id| step(r, id)).collect::<Vec<_>>());
    steps.filter(|step| !step.is_empty()).collect()
}

/// A task with its defaults filled in, and where each of its dependencies is written.
fn finish(
    r: &mut Report<'_>,
    ids: &Ids,
    names: &[String],
    draft: Draft,
    config: &Settings,
) -> (Option<Task>, Vec<Span>) {
    let (dependencies, places) = dependencies(r, ids, names, &draft).into_iter().unzip();
    let task = draft.parsed.map(|id| {
        let mut task = Task::new(id, draft.work.unwrap_or_else(|| Work::Prompt(String::new())));
        draft.settings.map_or_else(Settings::default, |own| *own).apply(config, &mut task);
        task.dependencies = dependencies;
        task.group = draft.group.map(|group| group.value);
        task.name = draft.name.unwrap_or(task.name);
        mention_files(&mut task);
        if task.sandbox_mode() == SandboxMode::Require && task.isolation == Some(Isolation::Worktree) {
            let message = format!(
                "task {} must be confined, and a worktree shares the repository's git directory",
                shown(task.id.as_str())
            );
            r.error("sandboxed-worktree", draft.id.span, message)
                .help("say isolation: clone, or leave isolation out; sandbox: prefer does with a worktree");
        }
        task
    });
    (task, places)
}

/// A prompt that does not say in `files` what it will touch may say it in its words.
fn mention_files(task: &mut Task) {
    let (Work::Prompt(prompt), true) = (&task.work, task.files.is_empty()) else { return };
    let words = format!("{}\n{}", task.name, without_marks(prompt));
    let files = mentions::files(&words, task.expected_deliverable.as_deref());
    if !files.is_empty() {
        task.preparation.get_or_insert_default().learned_files = files;
    }
}

fn dependencies(r: &mut Report<'_>, ids: &Ids, names: &[String], draft: &Draft) -> Vec<(Dependency, Span)> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut good = Vec::new();
    for Wait { on, when, kind } in &draft.waits {
        if on.value == draft.id.value {
            r.error("self-dependency", on.span, format!("task {} waits for itself", shown(&on.value)));
        } else if !ids.has(&on.value) && r.elsewhere.is_some() {
            wait_elsewhere(r, &draft.id, &on.value, *kind);
        } else if !ids.has(&on.value) {
            // Waiting for itself would be the next mistake.
            let others = names.iter().map(String::as_str).filter(|name| *name != draft.id.value);
            let help = r.did_you_mean(&on.value, others);
            let (own, name) = (shown(&draft.id.value), shown(&on.value));
            let message = format!("task {own} waits for {name}, which does not exist");
            r.error("unknown-dependency", on.span, message).help = help;
        } else if !seen.insert(&on.value) {
            r.warning("duplicate-dependency", on.span, format!("{} is listed twice", shown(&on.value)));
        } else if let Ok(id) = TaskId::parse(&on.value) {
            good.push((Dependency { id, when: *when, kind: *kind }, on.span));
        }
    }
    good
}

/// What only orders does so where both are there.
fn wait_elsewhere(r: &mut Report<'_>, task: &Placed<String>, on: &str, kind: Kind) {
    if let (Some(elsewhere), Ok(task), Kind::Hard) = (&mut r.elsewhere, TaskId::parse(&task.value), kind) {
        elsewhere.entry(task).or_default().insert(on.to_owned());
    }
}

/// Circles are looked for one by one; a file with more of them than this has heard enough.
const MAX_CIRCLES: usize = 10;
/// How many names of a circle are shown at its start and its end when it is too long to show whole.
const SHOWN_WHOLE: usize = 12;
const SHOWN_START: usize = 6;
const SHOWN_END: usize = 3;

struct Circles<'i> {
    /// Where each dependency of each task is written, in the order of the plan.
    waits: Vec<Vec<Span>>,
    ids: &'i Ids,
}

impl Circles<'_> {
    /// Reports each circle and opens it at the reported dependency, to find the next.
    fn check(&mut self, r: &mut Report<'_>, plan: &mut Plan) {
        let known: HashSet<TaskId> = plan.tasks.iter().map(|task| task.id.clone()).collect();
        for (task, waits) in plan.tasks.iter_mut().zip(&mut self.waits) {
            // A dependency on a task that was itself dropped has been reported there.
            let keep: Vec<bool> = task.dependencies.iter().map(|on| known.contains(&on.id)).collect();
            retain(&mut task.dependencies, &keep);
            retain(waits, &keep);
        }
        for _ in 0..MAX_CIRCLES {
            let circle = match Graph::new(plan, Strategy::Queue) {
                Err(GraphError::Cycle(circle)) => circle,
                Err(error @ GraphError::SharedEpics(_)) => return self.knot(r, plan, &error),
                _ => return,
            };
            let mut circle: Vec<usize> = circle.into_iter().map(|node| node as usize).collect();
            // From "the next waits for this one" to "this one waits for the next", the first staying first.
            circle.reverse();
            circle.rotate_right(1);
            if !self.report(r, plan, &circle) {
                return;
            }
        }
    }

    /// Shown where the first task of such an epic waits for a task outside of it.
    fn knot(&self, r: &mut Report<'_>, plan: &Plan, error: &GraphError) {
        let GraphError::SharedEpics(epics) = error else { return };
        let epic_of =
            |id: &TaskId| plan.tasks.iter().find(|task| task.id == *id).and_then(|task| task.epic.as_ref());
        let spans = plan
            .tasks
            .iter()
            .zip(&self.waits)
            .filter(|(task, _)| task.epic.as_ref().is_some_and(|epic| epics.contains(epic)));
        let mut outside = spans.flat_map(|(task, spans)| {
            task.dependencies.iter().zip(spans).filter(|(on, _)| epic_of(&on.id) != task.epic.as_ref())
        });
        let span = outside.next().map_or(Span::default(), |(_, span)| *span);
        let message = format!(
            "epic {} cannot land as one: others wait for some of its tasks, and some of its tasks for those",
            epics.join(", ")
        );
        r.error("shared-epic-cycle", span, message).help("give it isolation_scope: task");
    }

    fn report(&mut self, r: &mut Report<'_>, plan: &mut Plan, circle: &[usize]) -> bool {
        let names: Vec<&str> = circle.iter().map(|&place| plan.tasks[place].id.as_str()).collect();
        let message = format!("tasks wait for each other in a circle: {}", round(&names));
        let step = |i: usize| (circle[i], circle[(i + 1) % circle.len()]);
        let spans: Vec<(Span, String)> =
            (0..circle.len().min(SHOWN_WHOLE)).map(|i| self.wait(plan, step(i))).collect();
        let span = spans.first().map_or(Span::default(), |(span, _)| *span);
        r.error("dependency-cycle", span, message).related = spans.into_iter().skip(1).collect();
        !circle.is_empty() && self.open(plan, step(0))
    }

    /// Where one task says that it waits for another, if it does so by itself.
    fn wait(&self, plan: &Plan, (task, on): (usize, usize)) -> (Span, String) {
        let (name, other) = (&plan.tasks[task].id, &plan.tasks[on].id);
        match plan.tasks[task].dependencies.iter().position(|known| known.id == *other) {
            Some(place) => (self.waits[task][place], format!("'{name}' waits for '{other}'")),
            None => {
                let span = self.ids.first.get(name.as_str()).map_or(Span::default(), |(_, span)| *span);
                (span, format!("'{name}' waits for '{other}' through its epic or the execution order"))
            }
        }
    }

    fn open(&mut self, plan: &mut Plan, (task, on): (usize, usize)) -> bool {
        let other = plan.tasks[on].id.clone();
        let Some(place) = plan.tasks[task].dependencies.iter().position(|known| known.id == other) else {
            return false;
        };
        plan.tasks[task].dependencies.remove(place);
        self.waits[task].remove(place);
        true
    }
}

fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    list.retain(|_| keep.next().copied().unwrap_or(true));
}

/// `a → b → c → a`, with the middle left out where it is long.
pub(super) fn round(names: &[&str]) -> String {
    let Some(first) = names.first() else { return String::new() };
    if names.len() <= SHOWN_WHOLE {
        return format!("{} → {first}", names.join(" → "));
    }
    let (start, end) = (&names[..SHOWN_START], &names[names.len() - SHOWN_END..]);
    format!("{} → … → {} → {first} ({} in all)", start.join(" → "), end.join(" → "), names.len())
}
