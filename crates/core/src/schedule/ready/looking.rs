//! What keeps waiting tasks from starting, for status queries. Changes nothing.

use super::{LaneNumber, Rank, Ready};
use crate::plan::graph::Node;
use crate::schedule::pools::{Look, PoolNumber};

/// A pool that has not enough for a task, or where another task comes first.
pub(in crate::schedule) struct Lack<'r> {
    pub(in crate::schedule) look: Look<'r>,
    pub(in crate::schedule) wants: u64,
    pub(in crate::schedule) holders: Vec<Node>,
    /// Who stands before it in line, where there would be enough.
    pub(in crate::schedule) behind: Option<Node>,
}

impl Ready {
    /// Those that could start, best first, no more than so many.
    pub(in crate::schedule) fn first(&self, most: usize) -> Vec<Node> {
        let mut ranks: Vec<Rank> =
            self.lanes.iter().flat_map(|lane| lane.waiting.iter().take(most)).copied().collect();
        ranks.sort_unstable();
        ranks.into_iter().take(most).map(Rank::task).collect()
    }

    /// How many would start before it.
    pub(in crate::schedule) fn ahead_of(&self, task: Node) -> usize {
        let rank = self.ranks[task as usize];
        self.lanes.iter().map(|lane| lane.waiting.range(..rank).count()).sum()
    }

    pub(in crate::schedule) fn lacks(&self, task: Node) -> Vec<Lack<'_>> {
        let (rank, number) = (self.ranks[task as usize], self.lane_of[task as usize]);
        let needs = &self.lanes[number].needs;
        needs.iter().filter_map(|&(pool, wants)| self.lack(pool, wants, rank, number)).collect()
    }

    fn lack(&self, pool: PoolNumber, wants: u64, rank: Rank, number: LaneNumber) -> Option<Lack<'_>> {
        let room = self.pools.has_room(pool, &self.lanes[number].needs);
        let first = self.pools.first_parked(pool).filter(|(first, _)| *first < rank);
        if room && first.is_none() {
            return None;
        }
        let takes = |&&holder: &&Node| {
            let needs = &self.lanes[self.lane_of[holder as usize]].needs;
            needs.iter().any(|&(of, _)| of == pool)
        };
        let holders = self.holders.iter().filter(takes).copied().collect();
        let behind = first.filter(|_| room).map(|(first, _)| first.task());
        Some(Lack { look: self.pools.look(pool), wants, holders, behind })
    }

    /// Whose files it would touch.
    pub(in crate::schedule) fn files_held_by(&self, task: Node) -> Vec<Node> {
        let lane = &self.lanes[self.lane_of[task as usize]];
        let Some(files) = &lane.files else { return Vec::new() };
        let of = |holder: Node| self.files_against(lane, holder);
        self.holders_with_files.meeting(files, of).filter(|holder| *holder != task).collect()
    }
}
