//! What a tree of processes uses, by a look at the process table.
//!
//! Memory is counted as the pages that each process has, and where that is too much, again with shared ones in parts: a
//! program that forks would otherwise have its memory counted for each fork.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::{Mark, children, tree};

/// One look at the table serves all who look in this time.
const FRESH: Duration = Duration::from_millis(100);

/// How long a tree that is to end is chased.
const ROUNDS: u32 = 100;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) memory: u64,
    /// Threads count, too.
    pub(super) processes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    process: u32,
    parent: u32,
    group: u32,
    start_time: u64,
    threads: u64,
}

type Table = Arc<Vec<Row>>;

static TABLE: Mutex<Option<(Instant, Table)>> = Mutex::new(None);

fn table(fresh: Duration) -> Table {
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, table)) = &*table
        && at.elapsed() < fresh
    {
        return table.clone();
    }
    let rows: Table = Arc::new(tree::processes().filter_map(row).collect());
    *table = Some((Instant::now(), rows.clone()));
    rows
}

/// Nothing for one that is over.
fn row(process: u32) -> Option<Row> {
    let text = fs::read(format!("/proc/{process}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name in the second field may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Row {
        process,
        parent: number(1)? as u32,
        group: number(2)? as u32,
        threads: number(17)?,
        start_time: number(19)?,
    })
}

/// The processes of one attempt, as far as they were found.
#[derive(Debug)]
pub(super) struct Tree {
    mark: Mark,
    /// Those that were seen in it: they stay in it when their parents are gone.
    seen: HashSet<(u32, u64)>,
}

impl Tree {
    pub(super) fn of(mark: Mark) -> Tree {
        Tree { mark, seen: HashSet::new() }
    }

    /// What it uses now. With more memory than this it is counted again, more exactly.
    pub(super) fn look(&mut self, main: u32, memory: Option<u64>) -> Used {
        let members = self.members(main, FRESH);
        let all = |of: fn(u32) -> u64| members.iter().map(|row| of(row.process)).sum();
        let mut used = Used { memory: all(resident), processes: members.iter().map(|row| row.threads).sum() };
        if memory.is_some_and(|most| used.memory > most) {
            used.memory = all(proportional);
        }
        used
    }

    fn members(&mut self, main: u32, fresh: Duration) -> Vec<Row> {
        let table = table(fresh);
        let us = std::process::id();
        let mut children_of: HashMap<u32, Vec<&Row>> = HashMap::new();
        for row in table.iter() {
            children_of.entry(row.parent).or_default().push(row);
        }
        let is_ours = |row: &Row| {
            row.process == main
                || row.group == main
                || self.seen.contains(&(row.process, row.start_time))
                || (row.parent == us
                    && !children::is_waited_for(row.process)
                    && tree::carries(row.process, &self.mark))
        };
        let mut left: Vec<&Row> = table.iter().filter(|row| is_ours(row)).collect();
        let mut found: HashMap<u32, Row> = HashMap::new();
        while let Some(row) = left.pop() {
            if found.insert(row.process, *row).is_none() {
                left.extend(children_of.get(&row.process).into_iter().flatten());
            }
        }
        self.seen = found.values().map(|row| (row.process, row.start_time)).collect();
        found.into_values().collect()
    }

    /// Ends all of it: again and again, for what is ended may just have started another.
    pub(super) fn kill(&mut self, main: u32) {
        for _ in 0..ROUNDS {
            if let Some(group) = super::super::pid(main) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let members = self.members(main, Duration::ZERO);
            if members.is_empty() {
                return;
            }
            members.iter().for_each(|row| tree::kill(row.process));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn resident(process: u32) -> u64 {
    kib_of(process, "status", "VmRSS:").unwrap_or(0) * 1024
}

fn kib_of(process: u32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Shared pages in parts; all of them where we may not look so closely.
fn proportional(process: u32) -> u64 {
    kib_of(process, "smaps_rollup", "Pss:").map_or_else(|| resident(process), |kib| kib * 1024)
}
