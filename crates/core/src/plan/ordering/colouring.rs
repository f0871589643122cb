//! Tasks kept apart where their files meet, by colouring them greedily.

use std::collections::HashMap;

use crate::plan::Plan;
use crate::plan::file_sets::{FileSet, Holders};
use crate::plan::graph::Node;

/// What each task of a plan will touch, as far as it or its words say so.
pub(super) struct Files(Vec<Option<FileSet>>);

impl Files {
    pub(super) fn of(plan: &Plan) -> Files {
        let of = |task: &crate::plan::Task| {
            let globs = [task.files.as_slice(), task.learned_files()].concat();
            (!globs.is_empty()).then(|| FileSet::new(&globs))
        };
        Files(plan.tasks.iter().map(of).collect())
    }

    fn get(&self, task: Node) -> Option<&FileSet> {
        self.0.get(task as usize).and_then(Option::as_ref)
    }

    /// For each of these tasks, those among them whose files meet its own.
    pub(super) fn meetings(&self, tasks: &[Node]) -> HashMap<Node, Vec<Node>> {
        let mut holders = Holders::default();
        for &task in tasks {
            if let Some(files) = self.get(task) {
                holders.insert(task, files);
            }
        }
        let others = |&task: &Node| {
            let files = self.get(task)?;
            let meeting = holders.meeting(files, |other| self.get(other)).filter(|&other| other != task);
            Some((task, meeting.collect()))
        };
        tasks.iter().filter_map(others).collect()
    }

    /// Groups in which no two tasks meet, none larger than `most`: the task that meets the most others is
    /// placed first, of equals the one named first, each in the first group that has room.
    pub(super) fn coloured(&self, tasks: &[Node], most: usize) -> Vec<Vec<Node>> {
        let meetings = self.meetings(tasks);
        let of = |task: Node| meetings.get(&task).map_or(&[] as &[Node], Vec::as_slice);
        let mut sorted = tasks.to_vec();
        sorted.sort_by_key(|&task| std::cmp::Reverse(of(task).len()));
        let mut colours: HashMap<Node, usize> = HashMap::new();
        let mut groups: Vec<Vec<Node>> = Vec::new();
        let mut first_with_room = 0;
        for task in sorted {
            let taken: Vec<usize> = of(task).iter().filter_map(|other| colours.get(other).copied()).collect();
            let fits = |&colour: &usize| !taken.contains(&colour) && groups[colour].len() < most;
            let colour = (first_with_room..groups.len()).find(fits).unwrap_or(groups.len());
            if colour == groups.len() {
                groups.push(Vec::new());
            }
            groups[colour].push(task);
            colours.insert(task, colour);
            while groups.get(first_with_room).is_some_and(|group| group.len() >= most) {
                first_with_room += 1;
            }
        }
        groups
    }
}
