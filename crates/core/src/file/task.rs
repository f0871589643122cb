//! One entry of `tasks`: its id, its words, its work and whom it waits for.
//!
//! Knows one task at a time; whether the names in it exist is for `check`.

use crate::plan::groups::{self, unmarked};
use crate::plan::{Command, Kind, When, Work};
use crate::values::ids::TaskId;

use super::amount;
use super::decode::{choice, each, flag, text, wrong};
use super::diagnostic::{Report, shown};
use super::fields::Fields;
use super::keys::{DEPENDENCY, FOREIGN_TASK, OWN_TASK, TASK};
use super::race::{self, RaceDraft};
use super::settings::{Placed, Settings, files, placed};
use super::source::Span;
use super::tree::{Key, Node, Value};

/// Whose file it is, where that changes the meaning of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Ours,
    /// A foreign `execution_plan.json`: priorities from 1 to 5, and keys of which we do not know all.
    Plan,
    /// Our own: everything is settled, and what the keys of `execution_plan.json` say is said in ours as well.
    OwnPlan,
}

/// A task as far as it can be read by itself.
pub(super) struct Draft {
    /// As written, so that names pointing at a task with a bad id do not count as unknown.
    pub(super) id: Placed<String>,
    /// Nothing where it is missing or bad, which has been reported.
    pub(super) parsed: Option<TaskId>,
    pub(super) name: Option<String>,
    pub(super) work: Option<Work>,
    pub(super) waits: Vec<Wait>,
    pub(super) group: Option<Placed<String>>,
    pub(super) race: Option<RaceDraft>,
    /// Nothing where it has none of its own: of many tasks most have not.
    pub(super) settings: Option<Box<Settings>>,
}

pub(super) struct Wait {
    pub(super) on: Placed<String>,
    pub(super) when: When,
    pub(super) kind: Kind,
}

const MAX_NAME: usize = 100;

/// Types of dependencies in beads that hold work back.
const BLOCKING: [&str; 4] = ["blocks", "parent-child", "conditional-blocks", "waits-for"];

pub(super) fn read(r: &mut Report<'_>, node: &Node, dialect: Dialect) -> Option<Draft> {
    let (table, first) = match dialect {
        Dialect::Ours => (TASK, 0),
        Dialect::Plan => (FOREIGN_TASK, 1),
        Dialect::OwnPlan => (OWN_TASK, 0),
    };
    let mut fields = Fields::of(r, "a task", table, node)?;
    let id = fields.need(r, "id", placed).unwrap_or(Placed { value: String::new(), span: fields.span });
    let parsed = task_id(r, &id);
    let mut words = Words::take(r, &mut fields);
    if dialect == Dialect::OwnPlan {
        fields.take("estimated_duration_ms");
        words.leave_description(r);
    }
    let work = work(r, &mut fields, &words, &id);
    let mut settings = Settings::read(r, &mut fields, first);
    if let Some(may) = fields.get(r, "subagents", choice(&[("on", true), ("off", false)])) {
        settings.delegates(may);
    }
    survive(r, &mut fields, &mut settings, work.as_ref());
    let group = match settings.group.take() {
        // Its name may be another than the mark's, which stands for the same group.
        Some(group) if dialect == Dialect::OwnPlan => Some(group),
        field => words.group(r, field),
    };
    let mut waits = fields.get(r, "dependencies", dependencies).unwrap_or_default();
    waits.extend(fields.get(r, "depends_on", dependencies).unwrap_or_default());
    let race = race::read(r, &mut fields);
    if dialect == Dialect::Plan {
        foreign(r, &mut fields, &mut settings);
    }
    fields.finish(r, |_| dialect == Dialect::Plan);
    let (name, work) = words.finish(r, work);
    let settings = (settings != Settings::default()).then(|| Box::new(settings));
    Some(Draft { id, parsed, name, work, waits, group, race, settings })
}

fn survive(r: &mut Report<'_>, fields: &mut Fields<'_>, settings: &mut Settings, work: Option<&Work>) {
    let Some((key, node)) = fields.take("survive").filter(|(_, node)| !node.is_null()) else { return };
    let Some(survives) = flag(r, "survive", node) else { return };
    if let Some(Work::Prompt(_)) = work {
        r.warning(
            "no-effect",
            key.span,
            "'survive' is for commands (`run`): agents always go on without conductor",
        )
        .help("limits.orphan_grace says for how long");
        return;
    }
    settings.survives(survives);
}

fn task_id(r: &mut Report<'_>, id: &Placed<String>) -> Option<TaskId> {
    if id.value.is_empty() {
        return None;
    }
    let bad = |bad| r.error("bad-id", id.span, format!("bad task id {}: {bad}", shown(&id.value))).code;
    TaskId::parse(&id.value).map_err(bad).ok()
}

/// The names `execution_plan.json` has for an estimate and for files; words such as "medium" are no estimate and are passed over.
fn foreign(r: &mut Report<'_>, fields: &mut Fields<'_>, settings: &mut Settings) {
    for name in ["estimated_duration", "estimated_effort"] {
        if let Some((_, Node { value: Value::Str(text), .. })) = fields.take(name) {
            settings.estimate = settings.estimate.or_else(|| amount::parse_duration(text).ok());
        }
    }
    for name in ["files_to_create", "files_to_modify"] {
        let found = fields.get(r, name, files).unwrap_or_default();
        if !found.is_empty() {
            settings.files.get_or_insert_default().extend(found);
        }
    }
}

/// The texts of a task that may stand for one another.
struct Words<'n> {
    name: Option<&'n Node>,
    title: Option<&'n Node>,
    description: Option<&'n Node>,
    prompt: Option<(&'n Key, &'n Node)>,
    run: Option<(&'n Key, &'n Node)>,
}

impl<'n> Words<'n> {
    fn take(r: &mut Report<'_>, fields: &mut Fields<'n>) -> Words<'n> {
        let mut word = |name| {
            let (_, node) = fields.take(name).filter(|(_, node)| !node.is_null())?;
            text(r, name, node).map(|_| node)
        };
        let (name, title, description) = (word("name"), word("title"), word("description"));
        Words { name, title, description, prompt: fields.take("prompt"), run: fields.take("run") }
    }

    /// What our own plans say in that file's key is the task's work once more.
    fn leave_description(&mut self, r: &mut Report<'_>) {
        let work = self.prompt.or(self.run).map(|(_, node)| node);
        let (Some(work), Some(node)) = (work, self.description) else { return };
        self.description = None;
        let argv = |items: &[Node]| {
            let words = items.iter().map(|item| item.text(r.source).unwrap_or_default());
            words.collect::<Vec<_>>().join(" ")
        };
        let said = match &work.value {
            Value::Seq(items) => argv(items),
            _ => work.text(r.source).unwrap_or_default().to_owned(),
        };
        if node.text(r.source).is_some_and(|description| description != said) {
            r.warning("no-effect", node.span, "'description' has no effect beside 'prompt' or 'run'")
                .help("it repeats the work for other programs; change the prompt or run itself");
        }
    }

    /// The task's name, and its work with the description put before it where that is not said elsewhere.
    fn finish(&self, r: &mut Report<'_>, work: Option<Work>) -> (Option<String>, Option<Work>) {
        let described = self.description.and_then(|node| node.text(r.source)).map(str::to_owned);
        let written = self.name.or(self.title);
        if let Some(node) = written {
            let name = node.text(r.source).map(|text| unmarked(text).to_owned()).unwrap_or_default();
            return (named(r, node, name), self.in_context(work, described));
        }
        let Some(description) = described else { return (None, work) };
        if self.prompt.is_none() && self.run.is_none() {
            return (first_line(&description), work);
        }
        let trimmed = unmarked(&description).trim();
        match trimmed.chars().count() <= MAX_NAME && !trimmed.contains('\n') {
            true => (Some(trimmed.to_owned()).filter(|name| !name.is_empty()), work),
            false => (None, self.in_context(work, Some(description))),
        }
    }

    fn in_context(&self, work: Option<Work>, description: Option<String>) -> Option<Work> {
        match (work, description) {
            (Some(Work::Prompt(prompt)), Some(description)) if self.prompt.is_some() => {
                Some(Work::Prompt(format!("{}\n\n{prompt}", description.trim_end())))
            }
            (work, _) => work,
        }
    }

    /// The group named by the field or by markers, which must agree.
    fn group(&self, r: &mut Report<'_>, field: Option<Placed<String>>) -> Option<Placed<String>> {
        let prompt = self.prompt.map(|(_, node)| node);
        let mut group = field;
        for node in [self.name, self.title, self.description, prompt].into_iter().flatten() {
            if let Some(marker) = marker(r, node) {
                match &group {
                    None => group = Some(marker),
                    Some(known) if known.value == marker.value => {}
                    Some(known) => conflict(r, &marker, known),
                }
            }
        }
        group
    }
}

pub(super) fn conflict(r: &mut Report<'_>, group: &Placed<String>, known: &Placed<String>) {
    let message = format!("the task is put in group {} here", shown(&group.value));
    r.error("conflicting-group", group.span, message)
        .also(known.span, format!("and in group {} here", shown(&known.value)))
        .help("a task is in one group only");
}

fn named(r: &mut Report<'_>, node: &Node, name: String) -> Option<String> {
    let length = name.chars().count();
    if length > MAX_NAME {
        let message = format!("a name has at most {MAX_NAME} characters, this one has {length}");
        r.error("out-of-range", node.span, message);
    }
    if name.trim().contains(char::is_control) {
        r.error("bad-name", node.span, "a name is one line without control characters");
    }
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn first_line(description: &str) -> Option<String> {
    let line = unmarked(description).trim().lines().next()?.trim_end();
    Some(line.chars().take(MAX_NAME).collect())
}

/// The group a text names. What is doubtful about its markers is told.
fn marker(r: &mut Report<'_>, node: &Node) -> Option<Placed<String>> {
    let text = node.text(r.source).map(str::to_owned)?;
    let reading = groups::read(&text);
    for remark in &reading.remarks {
        let place = marker_place(r, node, remark.mark().text);
        r.warning("bad-marker", place, remark.to_string()).help(groups::REMEDY);
    }
    let mark = reading.mark?;
    Some(Placed { value: mark.group?.to_owned(), span: marker_place(r, node, mark.text) })
}

/// Where a marker stands within a scalar; the scalar where it is written with escapes.
fn marker_place(r: &Report<'_>, node: &Node, marker: &str) -> Span {
    let at = r.source.slice(node.span).find(marker).map(|at| node.span.start + at);
    at.map_or(node.span, |at| Span::new(at, at + marker.len()))
}

fn work(r: &mut Report<'_>, fields: &mut Fields<'_>, words: &Words<'_>, id: &Placed<String>) -> Option<Work> {
    match (words.prompt, words.run, words.description) {
        (Some((prompt, _)), Some((run, _)), _) => {
            r.error("two-works", run.span, "a task has a prompt or a run, not both")
                .also(prompt.span, "the prompt is here");
            None
        }
        (Some((key, node)), None, _) => prompt(r, key, node).map(Work::Prompt),
        (None, Some((key, node)), _) => command(r, key, node).map(Work::Run),
        (None, None, Some(description)) => text(r, "description", description).map(Work::Prompt),
        (None, None, None) => {
            let (span, name) = match id.value.as_str() {
                "" => (fields.span, "the task".to_owned()),
                name => (id.span, format!("task {}", shown(name))),
            };
            r.error("missing-work", span, format!("{name} has nothing to do"))
                .help("give it a prompt (for an agent) or a run (a command)");
            None
        }
    }
}

fn empty(r: &mut Report<'_>, key: &Key, node: &Node) {
    let span = if node.is_null() { key.span } else { node.span };
    r.error("empty-prompt", span, format!("'{}' has no words in it", key.text));
}

fn prompt(r: &mut Report<'_>, key: &Key, node: &Node) -> Option<String> {
    let blank = node.text(r.source).is_some_and(|text| text.trim().is_empty());
    if blank || node.is_null() {
        empty(r, key, node);
        return None;
    }
    text(r, &key.text, node)
}

fn command(r: &mut Report<'_>, key: &Key, node: &Node) -> Option<Command> {
    let Value::Seq(items) = &node.value else { return prompt(r, key, node).map(Command::Line) };
    let argument = |r: &mut Report<'_>, item: &Node| match item.text(r.source) {
        Some(text) => Some(text.to_owned()),
        None => wrong(r, "run", item, "texts: a program and its arguments"),
    };
    let argv: Vec<String> = items.iter().filter_map(|item| argument(r, item)).collect();
    if argv.len() < items.len() {
        return None;
    }
    if argv.first().is_none_or(|program| program.trim().is_empty()) {
        empty(r, key, node);
        return None;
    }
    Some(Command::Argv(argv))
}

pub(super) fn dependencies(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<Wait>> {
    if let Value::Map(_) = node.value {
        return Some(wait(r, what, node).into_iter().collect());
    }
    each(r, what, node, "a task id or a list of them", wait)
}

fn wait(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Wait> {
    let Value::Map(_) = node.value else {
        let on = match node.value {
            Value::Seq(_) => wrong(r, what, node, "task ids"),
            _ => placed(r, what, node),
        };
        return Some(Wait { on: on?, when: When::default(), kind: Kind::default() });
    };
    let mut fields = Fields::of(r, "a dependency", DEPENDENCY, node)?;
    let on = fields.need(r, "id", placed);
    let when = fields.get(r, "when", choice(&[("landed", When::Landed), ("finished", When::Finished)]));
    let kind = fields.get(r, "kind", choice(&[("hard", Kind::Hard), ("soft", Kind::Soft)]));
    let in_beads = fields.get(r, "dependency_type", text);
    fields.finish(r, |_| false);
    if in_beads.is_some_and(|name| !BLOCKING.contains(&name.as_str())) {
        return None;
    }
    Some(Wait { on: on?, when: when.unwrap_or_default(), kind: kind.unwrap_or_default() })
}
