//! Groups: declared, named by tasks, given ids that are safe in paths, and limited.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::plan::Group;
use crate::plan::groups::SEQUENTIAL;
use crate::values::ids::{TaskId, safe_id};

use super::check::{Ids, Parts, unknown_task};
use super::diagnostic::{Report, shown};
use super::sections::{GroupDraft, GroupLimits};
use super::settings::{Placed, placed};
use super::source::Span;
use super::task::{self, Draft};
use super::tree::Node;

/// So long that what our own steps are called by it is still a name of a task.
const MAX_NAME: usize = 80;

/// Any words on one line: where they cannot be part of a path, an id stands for them.
pub(super) fn name(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Placed<String>> {
    let Placed { value, span } = placed(r, what, node)?;
    let name = value.trim();
    let length = name.chars().count();
    if length > MAX_NAME {
        let message = format!("a group's name has at most {MAX_NAME} characters, this one has {length}");
        r.error("out-of-range", span, message);
        return None;
    }
    if name.contains(char::is_control) {
        r.error("bad-name", span, "a group's name is one line without control characters");
        return None;
    }
    Some(Placed { value: name.to_owned(), span })
}

/// All groups of a file, each with the place where it was first named.
#[derive(Default)]
struct Known {
    groups: Vec<(Group, Span)>,
    places: HashMap<String, usize>,
}

/// Puts tasks into groups and lists all groups: declared ones first, then those that exist by being named.
pub(super) fn resolve(r: &mut Report<'_>, ids: &Ids, parts: &mut Parts) -> Vec<Group> {
    let mut known = Known::default();
    let drafts = std::mem::take(&mut parts.groups);
    for draft in &drafts {
        known.declare(r, draft);
    }
    let words = |parts: &Parts| {
        let own = parts.tasks.iter().filter_map(|task| task.group.as_ref());
        own.chain(&parts.config.group).map(|word| word.value.clone()).collect::<BTreeSet<String>>()
    };
    known.give_ids(&words(parts));
    let own = parts.tasks.iter_mut().filter_map(|task| task.group.as_mut());
    for word in own.chain(&mut parts.config.group) {
        known.mean(word);
    }
    for draft in &drafts {
        join(r, ids, draft, &mut parts.tasks);
    }
    for task in &mut parts.tasks {
        if task.group.is_none() {
            task.group.clone_from(&parts.config.group);
        }
        if let Some(name) = &task.group {
            known.name(name);
        }
    }
    known.give_ids(&BTreeSet::new());
    known.check_twins(r);
    known.limit(r, &parts.limits.groups);
    known.groups.into_iter().map(|(group, _)| group).collect()
}

impl Known {
    fn declare(&mut self, r: &mut Report<'_>, draft: &GroupDraft) {
        if let Some(&first) = self.places.get(&draft.name.value) {
            let message = format!("there are two groups {}", shown(&draft.name.value));
            r.error("duplicate-id", draft.name.span, message)
                .label("again here")
                .also(self.groups[first].1, "first here");
            return;
        }
        let (description, max_parallel) = (draft.description.clone(), draft.max_parallel);
        let group = Group { description, max_parallel, ..Group::named(draft.name.value.clone()) };
        self.push(group, draft.name.span);
    }

    fn push(&mut self, group: Group, span: Span) {
        self.places.insert(group.name.clone(), self.groups.len());
        self.groups.push((group, span));
    }

    /// A group exists by being named.
    fn name(&mut self, name: &Placed<String>) {
        if !self.places.contains_key(&name.value) {
            self.push(Group::named(name.value.clone()), name.span);
        }
    }

    /// Where a name is no id, it gets one that no other group has, on any file system. `words` are names by which tasks
    /// mean a group: one that is the id itself means this one, and any other will be a group of its own.
    fn give_ids(&mut self, words: &BTreeSet<String>) {
        let has_one = |group: &Group| group.id.is_some() || TaskId::parse(&group.name).is_ok();
        let given = self.groups.iter().filter(|(group, _)| has_one(group));
        let mut taken: HashSet<String> = given.map(|(group, _)| group.id().to_lowercase()).collect();
        taken.insert(SEQUENTIAL.to_owned());
        let folded: HashSet<String> = words.iter().map(|word| word.to_lowercase()).collect();
        for (group, _) in self.groups.iter_mut().filter(|(group, _)| !has_one(group)) {
            let is_meant = |id: &str| words.contains(id) || !folded.contains(&id.to_lowercase());
            let is_free = |id: &str| !taken.contains(&id.to_lowercase()) && is_meant(id);
            let id = safe_id(&group.name, "group", is_free);
            taken.insert(id.to_lowercase());
            group.id = Some(id);
        }
    }

    /// The place of the group that a word means, by its name or else by its id.
    fn place(&self, word: &str) -> Option<usize> {
        let by_id = || self.groups.iter().position(|(group, _)| group.id() == word);
        self.places.get(word).copied().or_else(by_id)
    }

    /// A declared group may be named by its id, as a marker has to.
    fn mean(&self, word: &mut Placed<String>) {
        if let Some(place) = self.place(&word.value) {
            word.value.clone_from(&self.groups[place].0.name);
        }
    }

    /// Groups have folders too; two names that are ids themselves must not meet in one.
    fn check_twins(&self, r: &mut Report<'_>) {
        let mut folded: HashMap<String, usize> = HashMap::new();
        for (place, (group, span)) in self.groups.iter().enumerate() {
            let twin = *folded.entry(group.id().to_lowercase()).or_insert(place);
            if twin != place {
                let (this, that) = (shown(&group.name), shown(&self.groups[twin].0.name));
                r.error("case-twin", *span, format!("group {this} differs from group {that} only in case"))
                    .also(self.groups[twin].1, "the other one is here");
            }
        }
    }

    fn limit(&mut self, r: &mut Report<'_>, limits: &GroupLimits) {
        for (name, most) in limits {
            let Some(place) = self.place(&name.value) else {
                let names = self.groups.iter().map(|(group, _)| group.name.as_str());
                let help = r.did_you_mean(&name.value, names);
                let message = format!("there is no group {}", shown(&name.value));
                r.error("unknown-group", name.span, message).help = help;
                continue;
            };
            let (group, span) = &mut self.groups[place];
            if group.max_parallel.is_some_and(|known| known != *most) {
                let message = format!("group {} has another limit in 'groups'", shown(&name.value));
                r.error("conflicting-group", name.span, message).also(*span, "the group is here");
            }
            group.max_parallel = Some(*most);
        }
    }
}

/// A group's `tasks` list is another way to say `group:` in each of them.
fn join(r: &mut Report<'_>, ids: &Ids, draft: &GroupDraft, tasks: &mut [Draft]) {
    for id in &draft.tasks {
        let Some(place) = ids.place(&id.value) else {
            unknown_task(r, "groups", id, tasks.iter().map(|task| task.id.value.as_str()));
            continue;
        };
        let here = Placed { value: draft.name.value.clone(), span: id.span };
        match &tasks[place].group {
            None => tasks[place].group = Some(here),
            Some(known) if known.value == here.value => {}
            Some(known) => task::conflict(r, &here, known),
        }
    }
}
