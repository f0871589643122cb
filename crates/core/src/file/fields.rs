//! One mapping being read: keys are taken out one by one, and what is left over at the end is unknown.

use super::diagnostic::{Report, shown};
use super::foreign;
use super::keys::{self, KeySpec, Table, names};
use super::source::Span;
use super::tree::{Entry, Key, Node};

pub(super) struct Fields<'n> {
    /// What the mapping is, with its article: "a task".
    what: &'static str,
    table: Table,
    entries: &'n [Entry],
    taken: Vec<bool>,
    pub(super) span: Span,
}

impl<'n> Fields<'n> {
    /// Nothing, and an error, where the node is no mapping.
    pub(super) fn of(
        r: &mut Report<'_>,
        what: &'static str,
        table: Table,
        node: &'n Node,
    ) -> Option<Fields<'n>> {
        let Some(entries) = node.entries() else {
            let first = names(table).take(4).collect::<Vec<_>>().join(", ");
            r.error("wrong-type", node.span, format!("{what} is a mapping, found {}", node.kind()))
                .help(format!("write its keys, such as {first}"));
            return None;
        };
        Some(Fields { what, table, entries, taken: vec![false; entries.len()], span: node.span })
    }

    /// The entry of a key, which counts as read from now on.
    pub(super) fn take(&mut self, name: &str) -> Option<(&'n Key, &'n Node)> {
        debug_assert!(
            names(self.table).any(|known| known == name),
            "{name} is not in the table of {}",
            self.what
        );
        let place = self.entries.iter().position(|(key, _)| *key.text == *name)?;
        self.taken[place] = true;
        let (key, node) = &self.entries[place];
        Some((key, node))
    }

    /// Reads a key that may be absent or left empty.
    pub(super) fn get<T>(
        &mut self,
        r: &mut Report<'_>,
        name: &'static str,
        decode: impl FnOnce(&mut Report<'_>, &str, &Node) -> Option<T>,
    ) -> Option<T> {
        let (_, node) = self.take(name).filter(|(_, node)| !node.is_null())?;
        decode(r, name, node)
    }

    /// Reads a key that must be there.
    pub(super) fn need<T>(
        &mut self,
        r: &mut Report<'_>,
        name: &'static str,
        decode: impl FnOnce(&mut Report<'_>, &str, &Node) -> Option<T>,
    ) -> Option<T> {
        match self.take(name) {
            Some((_, node)) if !node.is_null() => decode(r, name, node),
            found => {
                let span = found.map_or(self.span, |(key, _)| key.span);
                r.error("missing-key", span, format!("{} needs '{name}'", self.what));
                None
            }
        }
    }

    /// The keys that were not read so far.
    pub(super) fn rest(&self) -> impl Iterator<Item = &'n Entry> {
        self.entries.iter().zip(&self.taken).filter(|(_, taken)| !**taken).map(|(entry, _)| entry)
    }

    /// Whatever was not taken is unknown, unless `except` lets it pass.
    pub(super) fn finish(self, r: &mut Report<'_>, except: impl Fn(&str) -> bool) {
        for (key, _) in self.rest().filter(|(key, _)| !except(&key.text)) {
            let (what, name) = (self.what, shown(&key.text));
            if names(self.table).any(|known| *key.text == *known) {
                r.error("unknown-key", key.span, format!("{what} of this kind has no key {name}"));
                continue;
            }
            let foreign = foreign::translated(&key.text, names(self.table));
            let near = match foreign {
                Some(ours) => Some(format!("did you mean '{ours}'?")),
                None if is_of(keys::TASK, &key.text) => Some("that is a key of tasks".to_owned()),
                None => r.did_you_mean(&key.text, names(self.table)).or_else(|| elsewhere(&key.text)),
            };
            let help =
                near.or_else(|| r.is_patient().then(|| format!("{what} may have {}", listed(self.table))));
            r.error("unknown-key", key.span, format!("{what} has no key {name}")).help = help;
        }
    }
}

/// Where a key belongs that is not one of the object it was found in.
fn elsewhere(key: &str) -> Option<String> {
    let place = match key {
        key if is_of(keys::CONFIG, key) => "under 'config'",
        key if is_of(keys::LIMITS, key) => "under 'limits'",
        // Config files have it there too.
        key if is_of(keys::FILE, key) && is_of(keys::CONFIG_FILE, key) => "at the top of the file",
        _ => return None,
    };
    Some(format!("write it {place}"))
}

fn is_of(table: Table, key: &str) -> bool {
    names(table).any(|known| *key == *known)
}

fn listed(table: Table) -> String {
    table.iter().copied().flatten().map(|spec: &KeySpec| spec.name).collect::<Vec<_>>().join(", ")
}
