//! Which element of a page is meant.

use std::collections::BTreeMap;

use super::{Pattern, Pick, Selectors};
use crate::page::View;
use crate::snapshot::Node;

/// What was looked for on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The place of the element in the snapshot.
    One(usize),
    /// Several fit, and the pattern wants only one.
    Several(usize),
    Missing,
}

impl Selectors {
    /// Finds a control. The alternatives are tried in their order; the first that fits counts.
    pub fn find(&self, control: &str, view: &View, values: &BTreeMap<&str, &str>) -> Found {
        let mut several = 0;
        for pattern in self.controls.get(control).into_iter().flatten() {
            let places = pattern.places(view, values);
            match (pattern.pick, places.as_slice()) {
                (_, []) => {}
                (Pick::Last, [.., last]) => return Found::One(*last),
                (Pick::First | Pick::Any, [first, ..]) | (Pick::Only, [first]) => return Found::One(*first),
                (Pick::Only, places) => several = several.max(places.len()),
            }
        }
        if several > 0 { Found::Several(several) } else { Found::Missing }
    }

    /// All elements that fit any alternative.
    pub fn find_all(&self, control: &str, view: &View) -> Vec<usize> {
        let patterns = self.controls.get(control).into_iter().flatten();
        let mut places: Vec<usize> =
            patterns.flat_map(|pattern| pattern.places(view, &BTreeMap::new())).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Where a listed session is, on a site; nothing where its link leads to no session.
    pub(crate) fn address_of(&self, view: &View, at: usize, site: &str) -> Option<String> {
        let url = view.snapshot.nodes.get(at)?.url.as_deref()?;
        let url = if url.starts_with('/') { format!("{site}{url}") } else { url.to_owned() };
        self.session_of(&url).map(str::to_owned)
    }

    /// Where the one link leads that is a control.
    pub(crate) fn link(&self, control: &str, view: &View) -> Option<String> {
        match self.find(control, view, &BTreeMap::new()) {
            Found::One(at) => view.snapshot.nodes.get(at)?.url.clone(),
            _ => None,
        }
    }

    /// The sessions that a page lists.
    pub(crate) fn listed(&self, view: &View, site: &str) -> Vec<String> {
        let places = self.find_all("sessions", view);
        places.into_iter().filter_map(|at| self.address_of(view, at, site)).collect()
    }

    /// Whether a page shows a sign, and the text by which it does.
    pub fn sign(&self, sign: &str, view: &View) -> Option<String> {
        shown(self.signs.get(sign)?, view)
    }

    /// At which step before its work a session is.
    pub fn provisioning_step(&self, view: &View) -> Option<&str> {
        let mut steps = self.provisioning.iter();
        steps.find(|(_, patterns)| shown(patterns, view).is_some()).map(|(step, _)| step.as_str())
    }
}

fn shown(patterns: &[Pattern], view: &View) -> Option<String> {
    patterns.iter().find_map(|pattern| {
        if let Some(title) = &pattern.title {
            return begins(&view.title, title).then(|| view.title.clone());
        }
        let at = *pattern.places(view, &BTreeMap::new()).first()?;
        Some(view.snapshot.text_of(at))
    })
}

impl Pattern {
    fn places(&self, view: &View, values: &BTreeMap<&str, &str>) -> Vec<usize> {
        let nodes = view.snapshot.nodes.iter().enumerate();
        nodes.filter(|(at, node)| self.fits(*at, node, view, values)).map(|(at, _)| at).collect()
    }

    fn fits(&self, at: usize, node: &Node, view: &View, values: &BTreeMap<&str, &str>) -> bool {
        let is = |said: &Option<String>, holds: &dyn Fn(&str) -> bool| {
            said.as_deref().is_none_or(|said| holds(&filled(said, values)))
        };
        is(&self.role, &|role| node.role == role)
            && is(&self.name, &|name| node.name.trim().eq_ignore_ascii_case(name.trim()))
            && is(&self.name_contains, &|part| contains(&node.name, part))
            && is(&self.leads_to, &|path| {
                node.url.as_deref().is_some_and(|url| path_of(url).starts_with(path))
            })
            && is(&self.within, &|role| view.snapshot.is_within(at, |node| node.role == role))
            && is(&self.text_contains, &|part| contains(&view.snapshot.text_of(at), part))
    }
}

/// A text with `{name}` replaced by its value. A brace that names nothing stays.
pub(crate) fn filled(text: &str, values: &BTreeMap<&str, &str>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        match after.split_once('}').and_then(|(name, rest)| Some((values.get(name)?, rest))) {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn path_of(url: &str) -> &str {
    match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => url,
    }
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

fn begins(text: &str, part: &str) -> bool {
    text.to_lowercase().starts_with(&part.to_lowercase())
}
