//! The list of tasks: under their epics or groups, folded and filtered.

use std::collections::{BTreeSet, HashMap};

use conductor_core::plan::Task;
use conductor_core::run::event::Usage;
use conductor_core::run::{Progress, Run};

use super::state::{self, State};

/// A line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    /// The name of a group, by its number.
    Heading(usize),
    /// A task, by its place in the plan.
    Task(usize),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    pub(crate) name: String,
    places: Vec<usize>,
}

/// What a group comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) done: usize,
    pub(crate) total: usize,
    pub(crate) usage: Usage,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    groups: Vec<Group>,
    nodes: Vec<Node>,
    folded: BTreeSet<String>,
    filter: String,
    selected: usize,
}

impl Tree {
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn group(&self, number: usize) -> &Group {
        &self.groups[number]
    }

    pub(crate) fn is_folded(&self, number: usize) -> bool {
        self.folded.contains(&self.groups[number].name)
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    pub(crate) fn selected(&self) -> usize {
        self.selected
    }

    pub(crate) fn node(&self) -> Option<Node> {
        self.nodes.get(self.selected).copied()
    }

    pub(crate) fn place(&self) -> Option<usize> {
        match self.node()? {
            Node::Task(place) => Some(place),
            Node::Heading(_) => None,
        }
    }

    /// Makes the list anew. What was selected stays so, as long as it is there.
    pub(crate) fn rebuild(&mut self, run: &Run) {
        let before = self.node().map(|node| self.identity(node));
        self.group_tasks(run);
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let has_headings = self.groups.len() > 1 || self.groups.iter().any(|group| !group.name.is_empty());
        self.nodes.clear();
        for (number, group) in self.groups.iter().enumerate() {
            let shown = |place: &&usize| words.is_empty() || is_meant(run, **place, &words);
            let mut places = group.places.iter().filter(shown).peekable();
            if places.peek().is_none() {
                continue;
            }
            if has_headings {
                self.nodes.push(Node::Heading(number));
            }
            // A search looks into what is folded, too.
            if !words.is_empty() || !self.folded.contains(&group.name) {
                self.nodes.extend(places.map(|place| Node::Task(*place)));
            }
        }
        let there =
            before.and_then(|before| self.nodes.iter().position(|node| self.identity(*node) == before));
        self.selected = there.unwrap_or(self.selected.min(self.nodes.len().saturating_sub(1)));
    }

    fn group_tasks(&mut self, run: &Run) {
        let (mut groups, mut numbers): (Vec<Group>, HashMap<&str, usize>) = Default::default();
        for (place, task, _) in run.asked() {
            let name = group_of(task);
            let number = *numbers.entry(name).or_insert_with(|| {
                groups.push(Group { name: name.to_owned(), places: Vec::new() });
                groups.len() - 1
            });
            groups[number].places.push(place);
        }
        self.groups = groups;
    }

    fn identity(&self, node: Node) -> Result<usize, String> {
        match node {
            Node::Task(place) => Ok(place),
            Node::Heading(number) => Err(self.groups[number].name.clone()),
        }
    }

    pub(crate) fn sum(&self, number: usize, run: &Run) -> Sum {
        let mut sum = Sum::default();
        for &place in &self.groups[number].places {
            sum.total += 1;
            let state = State::of(run.progress(place));
            sum.done += usize::from(matches!(state, State::Landed | State::Completed));
            sum.usage += run.usage(place);
        }
        sum
    }

    pub(crate) fn move_by(&mut self, by: isize) {
        let last = self.nodes.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    pub(crate) fn select(&mut self, at: usize) {
        self.selected = at.min(self.nodes.len().saturating_sub(1));
    }

    /// Selects a task. One that is hidden is unfolded first, and the filter goes where it hides it.
    pub(crate) fn show(&mut self, run: &Run, place: usize) {
        let at = |tree: &Tree| tree.nodes.iter().position(|node| *node == Node::Task(place));
        if at(self).is_none() {
            self.folded.remove(group_of(run.task(place).0));
            self.rebuild(run);
        }
        if at(self).is_none() {
            self.filter.clear();
            self.rebuild(run);
        }
        self.selected = at(self).unwrap_or(self.selected);
    }

    /// The next task below the selection of which this holds, else the first of all.
    pub(crate) fn next(&self, run: &Run, holds: impl Fn(&Progress) -> bool) -> Option<usize> {
        let order: Vec<usize> = self.groups.iter().flat_map(|group| group.places.iter().copied()).collect();
        let from = match self.node() {
            Some(Node::Task(place)) => order.iter().position(|at| *at == place).map_or(0, |at| at + 1),
            Some(Node::Heading(number)) => self.groups[..number].iter().map(|group| group.places.len()).sum(),
            None => 0,
        };
        let round = order[from.min(order.len())..].iter().chain(&order[..from.min(order.len())]);
        round.copied().find(|place| holds(run.progress(*place)))
    }

    pub(crate) fn toggle(&mut self, number: usize, run: &Run) {
        let name = self.groups[number].name.clone();
        if !self.folded.remove(&name) {
            self.folded.insert(name);
        }
        self.rebuild(run);
    }

    pub(crate) fn set_filter(&mut self, filter: &str, run: &Run) {
        filter.clone_into(&mut self.filter);
        self.rebuild(run);
        // A heading is of no use to one who looks for a task.
        if let (false, Some(Node::Heading(_))) = (filter.is_empty(), self.node()) {
            self.move_by(1);
        }
    }
}

fn group_of(task: &Task) -> &str {
    task.epic.as_deref().or(task.group.as_deref()).unwrap_or("")
}

/// Each word is in the id, the name, the group, the agent or the state.
fn is_meant(run: &Run, place: usize, words: &[String]) -> bool {
    let (task, progress) = run.task(place);
    let agent = run.agent_choice(place).map(|choice| choice.agent.as_str()).or(task.agent.as_deref());
    let state = state::word(State::of(progress));
    let hay = [task.id.as_str(), &task.name, group_of(task), agent.unwrap_or(""), state];
    words.iter().all(|word| hay.iter().any(|text| text.to_lowercase().contains(word.as_str())))
}
