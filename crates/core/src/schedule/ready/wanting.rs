//! Tasks that cannot start and may have an agent stopped for them.

use super::{Place, Rank, Ready};
use crate::plan::graph::{Graph, Node};
use crate::plan::{Kind, Priority};
use crate::run::Run;
use crate::schedule::pools::{Door, PoolNumber};

/// A task that wants room, and of what.
pub(in crate::schedule) struct Wanting {
    pub(in crate::schedule) task: Node,
    /// A task that is stopped for it is less urgent than this.
    pub(in crate::schedule) class: Priority,
    /// A place at this pool, and how much of it is lacking; else only a slot.
    pub(in crate::schedule) pool: Option<(PoolNumber, u64)>,
}

impl Ready {
    pub(in crate::schedule) fn has_preempting(&self) -> bool {
        !self.preempts.is_empty() && self.waiting > 0
    }

    /// How urgent a task is, with all that wait for it.
    pub(in crate::schedule) fn class(&self, task: Node) -> Priority {
        self.ranks[task as usize].0
    }

    /// Those that are first in line for a slot, behind as many as get one from those that leave, or at a pool.
    pub(in crate::schedule) fn wanting(&self, is_busy: bool, leaving: usize) -> Vec<Wanting> {
        let for_slots = || self.open.iter().filter(|(rank, lane)| self.obstacle(*rank, *lane).is_none());
        let for_slot = match is_busy {
            true => for_slots().nth(leaving).and_then(|(rank, _)| self.wants(*rank, None)),
            false => None,
        };
        let parked = (0..self.pools.count()).filter_map(|pool| self.pools.first_parked(pool));
        let unparked = self.open.iter().take(1).copied();
        let at_pools = parked.chain(unparked).filter_map(|(rank, lane)| match self.obstacle(rank, lane) {
            Some(Place::AtPool(pool)) => self.wants(rank, Some(pool)),
            _ => None,
        });
        for_slot.into_iter().chain(at_pools).collect()
    }

    fn wants(&self, rank: Rank, pool: Option<PoolNumber>) -> Option<Wanting> {
        let task = rank.task();
        let class = self.preempts[task as usize]?;
        let pool = match pool {
            Some(pool) => Some((pool, self.lacking(task, pool)?)),
            None => None,
        };
        Some(Wanting { task, class, pool })
    }

    /// How much of a pool is lacking; nothing where it is closed, or others are first.
    fn lacking(&self, task: Node, pool: PoolNumber) -> Option<u64> {
        let look = self.pools.look(pool);
        let lacking = self.taken(task, pool).saturating_sub(look.free);
        (look.door == Door::Open && lacking > 0).then_some(lacking)
    }

    fn taken(&self, task: Node, pool: PoolNumber) -> u64 {
        let needs = &self.lanes[self.lane_of[task as usize]].needs;
        needs.iter().find(|(of, _)| *of == pool).map_or(0, |(_, amount)| *amount)
    }

    /// Whether a task at work would leave what is wanted.
    pub(in crate::schedule) fn frees(&self, task: Node, wanting: &Wanting) -> bool {
        wanting.pool.is_none_or(|(pool, lacking)| self.taken(task, pool) >= lacking)
    }
}

/// A task has others stopped as the most urgent of those that may and cannot run without it.
pub(super) fn preempts(run: &Run, graph: &Graph) -> Vec<Option<Priority>> {
    let plan = run.plan();
    if !plan.tasks.iter().any(|task| task.preempt) {
        return Vec::new();
    }
    let own = |node: Node| {
        let preempting = plan.tasks.get(node as usize).filter(|task| task.preempt);
        preempting.map(|_| run.priority(node as usize))
    };
    let mut classes: Vec<Option<Priority>> = (0..graph.nodes() as Node).map(own).collect();
    for &node in graph.order().iter().rev() {
        let behind = graph.dependents(node).iter().filter(|edge| edge.kind == Kind::Hard);
        let most = behind.filter_map(|edge| classes[edge.to as usize]).min();
        classes[node as usize] = classes[node as usize].into_iter().chain(most).min();
    }
    (0..plan.tasks.len()).map(|place| classes[run.raced_by(place).unwrap_or(place)]).collect()
}
