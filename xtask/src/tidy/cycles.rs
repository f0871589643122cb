//! No top-level module of a crate needs, by any way, one that needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Finding;
use super::source::Crate;

type Edges<'a> = BTreeMap<&'a str, BTreeMap<&'a str, (&'a Path, usize)>>;

pub(super) fn check(source: &Crate) -> Vec<Finding> {
    let edges = edges(source);
    let mut findings = Vec::new();
    for (from, all) in &edges {
        for (to, (path, line)) in all {
            if let Some(way) = way(&edges, to, from) {
                let what = format!("a cycle: `{from}` uses `{to}`, and {}", told(&way));
                findings.push(Finding { path: (*path).to_owned(), line: *line, what });
            }
        }
    }
    findings
}

fn edges(source: &Crate) -> Edges<'_> {
    let mut edges = Edges::new();
    for file in &source.files {
        let Some(from) = &file.module else { continue };
        for (to, line) in &file.uses {
            if to != from && source.modules.contains(to) {
                edges.entry(from).or_default().entry(to).or_insert((&file.path, *line));
            }
        }
    }
    edges
}

/// The shortest way from one module to another, both included.
fn way<'a>(edges: &Edges<'a>, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::from([from]);
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way[way.len() - 1];
            if last == to {
                return Some(way);
            }
            for &next in edges.get(last).into_iter().flat_map(BTreeMap::keys) {
                if seen.insert(next) {
                    longer.push([way.as_slice(), &[next]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

fn told(way: &[&str]) -> String {
    way.windows(2).map(|pair| format!("`{}` uses `{}`", pair[0], pair[1])).collect::<Vec<_>>().join(", ")
}
