//! Tasks that could start now, in the order in which they should.
//!
//! Tasks that need exactly the same things stand in one *lane*; only a lane's first matters, so ten thousand tasks that
//! wait for one agent cost no more than one. A lane is listed in one place at a time: among the open ones, parked at the
//! pool it lacks something of, or parked behind the running task whose files it would touch.

mod looking;
mod wanting;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::pools::{Door, Needs, PoolNumber, Pools};
use crate::plan::file_sets::{self, FileSet, Holders};
use crate::plan::graph::{Graph, Node};
use crate::plan::{Kind, Plan, Priority, Task};
use crate::run::Run;
use crate::run::event::Options;
use crate::values::units::Millis;

pub(super) use looking::Lack;
pub(super) use wanting::Wanting;

pub(super) type LaneNumber = usize;

/// What the tasks of a lane have in common.
type Kin = (Needs, Option<FileSet>, Option<Node>);

/// Smaller is sooner: priority class, then the longest way to the end of the graph, then file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(Priority, Reverse<Millis>, Node);

impl Rank {
    fn task(self) -> Node {
        self.2
    }
}

#[derive(Debug)]
struct Lane {
    needs: Needs,
    files: Option<FileSet>,
    /// The race its tasks are of. They touch the same files side by side, for only one of them lands.
    race: Option<Node>,
    waiting: BTreeSet<Rank>,
    listed: Option<(Rank, Place)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Open,
    AtPool(PoolNumber),
    Behind(Node),
}

#[derive(Default)]
pub(super) struct Ready {
    ranks: Vec<Rank>,
    /// With which class a task may have others stopped; empty where none may.
    preempts: Vec<Option<Priority>>,
    lane_of: Vec<LaneNumber>,
    /// Lanes by what their tasks need.
    numbers: HashMap<Kin, LaneNumber>,
    /// Who does a task, where that is not the first its plan names.
    agents: HashMap<Node, String>,
    lanes: Vec<Lane>,
    open: BTreeSet<(Rank, LaneNumber)>,
    pools: Pools,
    behind: HashMap<Node, BTreeSet<LaneNumber>>,
    /// The tasks at work, in order.
    holders: BTreeSet<Node>,
    /// The tasks whose files no other task may touch now: at work, or waiting to land.
    holders_with_files: Holders,
    waiting: usize,
}

impl Ready {
    pub(super) fn new(run: &Run, graph: &Graph) -> Ready {
        let (plan, options) = (run.plan(), run.options());
        let pools = Pools::new(plan, options);
        let mut numbers = HashMap::new();
        let mut lanes = Vec::new();
        let mut lane_of = Vec::with_capacity(plan.tasks.len());
        for (place, task) in plan.tasks.iter().enumerate() {
            let needs = pools.needs(task, task.agent_name());
            let files = file_set(task, options);
            let race = run.raced_by(place).map(|race| race as Node).filter(|_| files.is_some());
            lane_of.push(lane(&mut numbers, &mut lanes, (needs, files, race)));
        }
        Ready {
            numbers,
            agents: HashMap::new(),
            ranks: ranks(run, graph),
            preempts: wanting::preempts(run, graph),
            lane_of,
            lanes,
            open: BTreeSet::new(),
            pools,
            behind: HashMap::new(),
            holders: BTreeSet::new(),
            holders_with_files: Holders::default(),
            waiting: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// How many are at work.
    pub(super) fn working(&self) -> usize {
        self.holders.len()
    }

    /// Who holds a slot, that is: who is at work.
    pub(super) fn holders(&self) -> impl Iterator<Item = Node> {
        self.holders.iter().copied()
    }

    pub(super) fn insert(&mut self, task: Node) {
        let number = self.lane_of[task as usize];
        if self.lanes[number].waiting.insert(self.ranks[task as usize]) {
            self.waiting += 1;
            self.relist(number);
        }
    }

    pub(super) fn remove(&mut self, task: Node) {
        let number = self.lane_of[task as usize];
        if self.lanes[number].waiting.remove(&self.ranks[task as usize]) {
            self.waiting -= 1;
            self.relist(number);
        }
    }

    pub(super) fn is_waiting(&self, task: Node) -> bool {
        self.lanes[self.lane_of[task as usize]].waiting.contains(&self.ranks[task as usize])
    }

    /// Who does it. Only for a task that neither waits here nor holds anything.
    pub(super) fn assign(&mut self, node: Node, task: &Task, agent: &str) {
        let Lane { files, race, .. } = &self.lanes[self.lane_of[node as usize]];
        let kin = (self.pools.needs(task, agent), files.clone(), *race);
        self.lane_of[node as usize] = lane(&mut self.numbers, &mut self.lanes, kin);
        self.agents.insert(node, agent.to_owned());
    }

    pub(super) fn agent_of(&self, task: Node) -> Option<&str> {
        self.agents.get(&task).map(String::as_str)
    }

    /// The best task that nothing stands in the way of; it holds what it needs from now on.
    pub(super) fn take(&mut self) -> Option<Node> {
        while let Some(&(rank, number)) = self.open.first() {
            let obstacle = self.obstacle(rank, number);
            match obstacle {
                Some(place) => self.list(number, place),
                None => {
                    self.hold(rank.task());
                    self.remove(rank.task());
                }
            }
            self.wake_pools_of(number);
            if obstacle.is_none() {
                return Some(rank.task());
            }
        }
        None
    }

    /// Marks a task as running without asking whether it may.
    pub(super) fn hold(&mut self, task: Node) {
        let lane = &self.lanes[self.lane_of[task as usize]];
        self.pools.take(&lane.needs);
        self.holders.insert(task);
        self.hold_files(task);
    }

    pub(super) fn hold_files(&mut self, task: Node) {
        if let Some(files) = &self.lanes[self.lane_of[task as usize]].files {
            self.holders_with_files.insert(task, files);
        }
    }

    pub(super) fn let_to(&mut self, agent: &str, door: Door) {
        if let Some(pool) = self.pools.let_to(agent, door) {
            self.wake(pool);
        }
    }

    /// Gives back everything.
    pub(super) fn release(&mut self, task: Node) {
        self.release_all_but_files(task);
        self.release_files(task);
    }

    pub(super) fn release_all_but_files(&mut self, task: Node) {
        let number = self.lane_of[task as usize];
        if self.holders.remove(&task) {
            self.pools.give_back(&self.lanes[number].needs);
            self.wake_pools_of(number);
        }
    }

    pub(super) fn release_files(&mut self, task: Node) {
        if let Some(files) = &self.lanes[self.lane_of[task as usize]].files {
            self.holders_with_files.remove(task, files);
        }
        for lane in self.behind.remove(&task).unwrap_or_default() {
            self.list(lane, Place::Open);
        }
    }

    fn obstacle(&self, rank: Rank, number: LaneNumber) -> Option<Place> {
        let lane = &self.lanes[number];
        if let Some(pool) = self.pools.obstacle(&lane.needs, rank) {
            return Some(Place::AtPool(pool));
        }
        let files = lane.files.as_ref()?;
        self.holders_with_files
            .first_meeting(files, |holder| self.files_against(lane, holder))
            .map(Place::Behind)
    }

    /// What another holds, as far as these have to keep off it.
    fn files_against(&self, lane: &Lane, holder: Node) -> Option<&FileSet> {
        let other = &self.lanes[self.lane_of[holder as usize]];
        let rivals = lane.race.is_some() && lane.race == other.race;
        other.files.as_ref().filter(|_| !rivals)
    }

    fn wake_pools_of(&mut self, number: LaneNumber) {
        for at in 0..self.lanes[number].needs.len() {
            let (pool, _) = self.lanes[number].needs[at];
            self.wake(pool);
        }
    }

    /// Opens the pool's first in line if it fits now; that one wakes the next when it has been seen to.
    fn wake(&mut self, pool: PoolNumber) {
        if let Some((_, lane)) = self.pools.first_parked(pool)
            && self.pools.has_room(pool, &self.lanes[lane].needs)
        {
            self.list(lane, Place::Open);
        }
    }

    /// Puts a lane where it belongs after its tasks have changed.
    fn relist(&mut self, number: LaneNumber) {
        let first = self.lanes[number].waiting.first().copied();
        let listed = self.lanes[number].listed;
        if listed.map(|(rank, _)| rank) == first {
            return;
        }
        let place = listed.map_or(Place::Open, |(_, place)| place);
        self.list(number, place);
        // It may have been woken and gone before its turn came: then the next in line must not wait for it.
        self.wake_pools_of(number);
    }

    /// Moves a lane to one place, under the rank of its first; an empty lane is listed nowhere.
    fn list(&mut self, number: LaneNumber, place: Place) {
        self.unlist(number);
        let Some(&rank) = self.lanes[number].waiting.first() else { return };
        self.lanes[number].listed = Some((rank, place));
        match place {
            Place::Open => {
                self.open.insert((rank, number));
            }
            Place::AtPool(pool) => self.pools.park(pool, rank, number),
            Place::Behind(task) => {
                self.behind.entry(task).or_default().insert(number);
            }
        }
    }

    fn unlist(&mut self, number: LaneNumber) {
        match self.lanes[number].listed.take() {
            Some((rank, Place::Open)) => {
                self.open.remove(&(rank, number));
            }
            Some((rank, Place::AtPool(pool))) => self.pools.unpark(pool, rank, number),
            Some((_, Place::Behind(task))) => {
                self.behind.get_mut(&task).map(|lanes| lanes.remove(&number));
            }
            None => {}
        }
    }
}

/// The lane of all tasks with these needs, files and race.
fn lane(numbers: &mut HashMap<Kin, LaneNumber>, lanes: &mut Vec<Lane>, kin: Kin) -> LaneNumber {
    *numbers.entry(kin).or_insert_with_key(|(needs, files, race)| {
        let (needs, files, race) = (needs.clone(), files.clone(), *race);
        lanes.push(Lane { needs, files, race, waiting: BTreeSet::new(), listed: None });
        lanes.len() - 1
    })
}

/// What a task is known to touch, by its own word or by what it touched before.
fn file_set(task: &Task, options: &Options) -> Option<FileSet> {
    let (declared, learned) = (&task.files, task.learned_files());
    if options.allow_overlap || (declared.is_empty() && learned.is_empty()) {
        return None;
    }
    Some(match learned.is_empty() {
        true => FileSet::new(declared),
        false => FileSet::new(&[declared.as_slice(), learned].concat()),
    })
}

/// For each task, whether certainly no other task touches its files, so that they keep no task waiting.
pub(crate) fn lonely(plan: &Plan, options: &Options) -> Vec<bool> {
    file_sets::lonely(&plan.tasks.iter().map(|task| file_set(task, options)).collect::<Vec<_>>())
}

/// An entrant is as urgent as the task it races for.
fn ranks(run: &Run, graph: &Graph) -> Vec<Rank> {
    let plan = run.plan();
    let remaining = graph.remaining(|task| plan.tasks[task as usize].expected());
    let urgency = urgency(run, graph);
    (0..plan.tasks.len())
        .map(|place| (place, run.raced_by(place).unwrap_or(place)))
        .map(|(place, of)| Rank(urgency[of], Reverse(remaining[of]), place as Node))
        .collect()
}

/// A task is as urgent as the most urgent task that cannot run without it.
fn urgency(run: &Run, graph: &Graph) -> Vec<Priority> {
    let is_task = |node: Node| (node as usize) < run.plan().tasks.len();
    let own = |node: Node| if is_task(node) { run.priority(node as usize) } else { Priority(u8::MAX) };
    let mut urgency: Vec<Priority> = (0..graph.nodes() as Node).map(own).collect();
    for &node in graph.order().iter().rev() {
        let behind = graph.dependents(node).iter().filter(|edge| edge.kind == Kind::Hard);
        if let Some(most) = behind.map(|edge| urgency[edge.to as usize]).min() {
            urgency[node as usize] = urgency[node as usize].min(most);
        }
    }
    urgency
}
