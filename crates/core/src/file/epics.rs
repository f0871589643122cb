//! Epics: read, named by tasks, and waiting for each other without going in a circle.

use std::collections::{HashMap, HashSet};

use crate::plan::{Epic, EpicLanding, Land, Scope};

use super::decode::{choice, text};
use super::diagnostic::{Report, shown};
use super::fields::Fields;
use super::keys::EPIC;
use super::sections::objects;
use super::settings::{EPIC_LANDINGS, LANDS, Placed, SCOPES, placed};
use super::tree::Node;

pub(super) struct EpicDraft {
    id: Placed<String>,
    name: Option<String>,
    dependencies: Vec<Placed<String>>,
    scope: Option<Scope>,
    land: Option<Land>,
    landing: Option<EpicLanding>,
}

pub(super) fn read(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<EpicDraft>> {
    objects(r, what, node, epic)
}

fn epic(r: &mut Report<'_>, node: &Node) -> Option<EpicDraft> {
    let mut fields = Fields::of(r, "an epic", EPIC, node)?;
    let id = fields.need(r, "id", placed);
    let name = fields.get(r, "name", text);
    let list = |r: &mut Report<'_>, what: &str, node: &Node| {
        super::decode::each(r, what, node, "an epic's id or a list of them", placed)
    };
    let dependencies = fields.get(r, "dependencies", list).unwrap_or_default();
    let scope = fields.get(r, "isolation_scope", choice(SCOPES));
    let land = fields.get(r, "land", choice(LANDS));
    let landing = fields.get(r, "epic_landing", choice(EPIC_LANDINGS));
    fields.finish(r, |_| false);
    Some(EpicDraft { id: id?, name, dependencies, scope, land, landing })
}

/// The plan's epics. Without an `epics` section, those that tasks name exist by being named.
pub(super) fn resolve<'d>(
    r: &mut Report<'_>,
    section: Option<Vec<EpicDraft>>,
    named: impl Iterator<Item = &'d Placed<String>>,
    usual: Usual,
) -> Vec<Epic> {
    let Some(mut drafts) = section else { return implicit(named, usual) };
    drop_twins(r, &mut drafts);
    let known: HashSet<String> = drafts.iter().map(|epic| epic.id.value.clone()).collect();
    for epic in named.filter(|epic| !known.contains(&epic.value)) {
        unknown(r, epic, &drafts, None);
    }
    for place in 0..drafts.len() {
        check_dependencies(r, &known, &mut drafts, place);
    }
    break_cycle(r, &mut drafts);
    drafts.into_iter().map(|draft| draft.finish(usual)).collect()
}

/// What holds for epics that do not say it.
#[derive(Clone, Copy)]
pub(super) struct Usual {
    pub(super) scope: Scope,
    pub(super) landing: Option<EpicLanding>,
}

/// Where the file does not say it, an epic with one workspace lands as a whole or not at all.
fn landing(scope: Scope, said: Option<EpicLanding>) -> EpicLanding {
    match scope {
        Scope::Epic => said.unwrap_or(EpicLanding::All),
        Scope::Task => EpicLanding::default(),
    }
}

fn implicit<'d>(named: impl Iterator<Item = &'d Placed<String>>, usual: Usual) -> Vec<Epic> {
    let mut seen = HashSet::new();
    named
        .filter(|epic| seen.insert(epic.value.clone()))
        .map(|epic| Epic {
            id: epic.value.clone(),
            name: None,
            dependencies: Vec::new(),
            isolation_scope: usual.scope,
            land: None,
            epic_landing: landing(usual.scope, usual.landing),
        })
        .collect()
}

impl EpicDraft {
    pub(super) fn is(&self, id: &str) -> bool {
        self.id.value == id
    }

    fn finish(self, usual: Usual) -> Epic {
        let dependencies = self.dependencies.into_iter().map(|on| on.value).collect();
        let isolation_scope = self.scope.unwrap_or(usual.scope);
        let epic_landing = landing(isolation_scope, self.landing.or(usual.landing));
        let (id, name, land) = (self.id.value, self.name, self.land);
        Epic { id, name, dependencies, isolation_scope, land, epic_landing }
    }
}

fn drop_twins(r: &mut Report<'_>, drafts: &mut Vec<EpicDraft>) {
    let mut first = HashMap::new();
    drafts.retain(|epic| match first.get(&epic.id.value) {
        None => first.insert(epic.id.value.clone(), epic.id.span).is_none(),
        Some(&span) => {
            let message = format!("there are two epics {}", shown(&epic.id.value));
            r.error("duplicate-id", epic.id.span, message).also(span, "first here");
            false
        }
    });
}

/// Where it is an epic that waits for it, that one (`own`) is not what is meant.
fn unknown(r: &mut Report<'_>, epic: &Placed<String>, drafts: &[EpicDraft], own: Option<&str>) {
    let names = drafts.iter().map(|epic| epic.id.value.as_str());
    let help = r.did_you_mean(&epic.value, names.filter(|name| Some(*name) != own));
    r.error("unknown-epic", epic.span, format!("there is no epic {}", shown(&epic.value))).help = help;
}

fn check_dependencies(r: &mut Report<'_>, known: &HashSet<String>, drafts: &mut [EpicDraft], place: usize) {
    let before = std::mem::take(&mut drafts[place].dependencies);
    let own = drafts[place].id.value.clone();
    let (good, bad): (Vec<_>, Vec<_>) =
        before.into_iter().partition(|on| on.value != own && known.contains(&on.value));
    for on in bad {
        if on.value == own {
            r.error("self-dependency", on.span, format!("epic {} waits for itself", shown(&own)));
        } else {
            unknown(r, &on, drafts, Some(&own));
        }
    }
    drafts[place].dependencies = good;
}

/// Reports a circle of epics, and takes their dependencies away so that their tasks are not blamed for it as well.
fn break_cycle(r: &mut Report<'_>, drafts: &mut [EpicDraft]) {
    let Some(circle) = cycle(drafts) else { return };
    let names: Vec<&str> = circle.iter().map(|&place| drafts[place].id.value.as_str()).collect();
    let message = format!("epics wait for each other in a circle: {}", super::check::round(&names));
    let next = &drafts[circle[1 % circle.len()]].id.value;
    let first = &drafts[circle[0]];
    let span = first.dependencies.iter().find(|on| on.value == *next).map_or(first.id.span, |on| on.span);
    r.error("dependency-cycle", span, message);
    drafts.iter_mut().for_each(|epic| epic.dependencies.clear());
}

/// Places of epics in a circle, each waiting for the next.
fn cycle(drafts: &[EpicDraft]) -> Option<Vec<usize>> {
    let places: HashMap<&str, usize> =
        drafts.iter().enumerate().map(|(place, epic)| (epic.id.value.as_str(), place)).collect();
    let before: Vec<Vec<usize>> = drafts
        .iter()
        .map(|epic| {
            epic.dependencies.iter().filter_map(|on| places.get(on.value.as_str()).copied()).collect()
        })
        .collect();
    let left = unordered(&before);
    let start = left.iter().position(|&left| left)?;
    let mut path = vec![start];
    loop {
        let last = path[path.len() - 1];
        let next = before[last].iter().copied().find(|&on| left[on])?;
        if let Some(from) = path.iter().position(|&place| place == next) {
            let mut circle = path.split_off(from);
            let least = (0..circle.len()).min_by_key(|&i| circle[i]).unwrap_or(0);
            circle.rotate_left(least);
            return Some(circle);
        }
        path.push(next);
    }
}

/// Which epics are in a circle or wait for one: those that taking away the free ones, again and again, never frees.
fn unordered(before: &[Vec<usize>]) -> Vec<bool> {
    let mut waiting: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut after = vec![Vec::new(); before.len()];
    for (place, on) in before.iter().enumerate() {
        on.iter().for_each(|&on| after[on].push(place));
    }
    let mut free: Vec<usize> = (0..before.len()).filter(|&place| waiting[place] == 0).collect();
    while let Some(place) = free.pop() {
        for &next in &after[place] {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                free.push(next);
            }
        }
    }
    waiting.into_iter().map(|waiting| waiting > 0).collect()
}
