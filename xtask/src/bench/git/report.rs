//! Its goals, and the table of what was measured.

use super::Figures;
use super::tasks::{FILES, SLOTS, TASKS};
use crate::bench::graph::thousands;
use crate::bench::report::{Goal, below, time};

pub(in crate::bench) const TITLE: &str = "Workspaces and merging";

pub(in crate::bench) fn goals(figures: &Figures) -> Vec<Goal> {
    let Figures { size, made, reuse, failed, removal, landed, tasks } = figures;
    let (many, at_once) = (size.many, size.at_once);
    let of_slots = |(slots, each): (usize, &f64)| {
        below(format!("{TASKS} tasks in worktrees with checks at {slots} slots, for each"), *each, 0.04, time)
    };
    let mut goals = vec![
        ratio(format!("{many} new workspaces, to bare git"), made.ratio(), 1.15),
        ratio("a workspace used again, to a new one".to_owned(), reuse.again / reuse.new, 0.3),
        Goal {
            what: format!("{at_once} workspaces made at once: failures"),
            limit: "0".to_owned(),
            measured: failed.to_string(),
            met: *failed == 0,
        },
        below("clearing up, for each workspace".to_owned(), removal.clear, 0.010, time),
        ratio(format!("{many} branches landed one by one, to bare git"), landed.ratio(), 1.3),
    ];
    goals.extend(SLOTS.into_iter().zip(tasks).map(of_slots));
    goals
}

fn ratio(what: String, ratio: f64, limit: f64) -> Goal {
    Goal { what, limit: format!("≤ {limit}×"), measured: format!("{ratio:.2}×"), met: ratio <= limit }
}

pub(in crate::bench) fn table(figures: &Figures) -> String {
    let Figures { size, made, reuse, failed, removal, landed, tasks } = figures;
    let [few, more] = SLOTS;
    let (files, many, at_once) = (thousands(size.files), size.many, size.at_once);
    format!(
        "| what, in a repository of {files} files | bare git | Conductor |\n|---|--:|--:|\n\
         | {many} new workspaces; bare git's two at a time | {} | **{:.2}×** {} |\n\
         | a new workspace, one at a time | | {} |\n\
         | a workspace used again after a task changed five files | | {} |\n\
         | {at_once} workspaces made at once, of these failed | | {failed} |\n\
         | clearing up after {at_once} tasks, for each workspace | | {} |\n\
         | moving one workspace out of the way | | {} |\n\
         | {many} branches of five files landed one by one | {} | **{:.2}×** {} |\n\
         | a task of {TASKS} at {few} slots that changes a file and is checked, {of} files in all | | {} |\n\
         | the same at {more} slots | | {} |\n",
        time(made.bare),
        made.ratio(),
        time(made.ours),
        time(reuse.new),
        time(reuse.again),
        time(removal.clear),
        time(removal.rename),
        time(landed.bare),
        landed.ratio(),
        time(landed.ours),
        time(tasks[0]),
        time(tasks[1]),
        of = thousands(FILES),
    )
}
