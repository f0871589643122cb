//! Conversations that stand still for a moment, so that another coordinator can go on with them: everything that was said is
//! heard and told, and nothing is answered before it is settled who goes on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conductor_core::values::ids::{Attempt, TaskId};
use tokio::sync::watch;

use super::Stop;

/// What the coordinator wants of conversations that could go on without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wish {
    #[default]
    GoOn,
    StandStill,
    /// Leave the agent to its shim, for good.
    Leave,
}

/// How a conversation is that could go on without this coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Talking,
    Still,
    Left,
}

type Standings = Arc<Mutex<HashMap<(TaskId, Attempt), Standing>>>;

#[derive(Default)]
pub(crate) struct Standstill {
    wish: watch::Sender<Wish>,
    standings: Standings,
}

impl Standstill {
    pub(crate) fn wish(&self, wish: Wish) {
        self.wish.send_replace(wish);
    }

    /// Whether its agent could go on without this coordinator.
    pub(crate) fn can_be_left(&self, task: &TaskId, attempt: Attempt) -> bool {
        all(&self.standings).contains_key(&(task.clone(), attempt))
    }

    pub(crate) fn stands_still(&self, task: &TaskId, attempt: Attempt) -> bool {
        all(&self.standings).get(&(task.clone(), attempt)) == Some(&Standing::Still)
    }

    /// Whether all that stood still have left their agents.
    pub(crate) fn are_left(&self) -> bool {
        all(&self.standings).values().all(|standing| *standing == Standing::Left)
    }

    /// A conversation begins whose agent could go on without this coordinator.
    pub(super) fn enter(&self, task: &TaskId, attempt: Attempt) -> Stand {
        let of = (task.clone(), attempt);
        all(&self.standings).insert(of.clone(), Standing::Talking);
        Stand { of, wish: self.wish.subscribe(), standings: self.standings.clone() }
    }
}

fn all(standings: &Standings) -> MutexGuard<'_, HashMap<(TaskId, Attempt), Standing>> {
    standings.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A conversation's own part of it, as long as it lasts.
pub(super) struct Stand {
    of: (TaskId, Attempt),
    wish: watch::Receiver<Wish>,
    standings: Standings,
}

impl Stand {
    /// Returns when it is to stand still. Safe to drop and call again.
    pub(super) async fn wished(&mut self) {
        if self.wish.wait_for(|wish| *wish == Wish::StandStill).await.is_err() {
            std::future::pending().await
        }
    }

    /// Stands still until it is to go on, or to leave its agent; whether it is to leave it. One that is stopped goes on, and stops.
    pub(super) async fn stand_still(&mut self, stop: &watch::Receiver<Stop>) -> bool {
        self.note(Standing::Still);
        let mut stop = stop.clone();
        let leaves = tokio::select! {
            biased;
            wish = self.wish.wait_for(|wish| *wish != Wish::StandStill) => wish.is_ok_and(|wish| *wish == Wish::Leave),
            _ = stop.wait_for(|stop| *stop != Stop::No) => false,
        };
        if !leaves {
            self.note(Standing::Talking);
        }
        leaves
    }

    pub(super) fn left(&self) {
        self.note(Standing::Left);
    }

    fn note(&self, standing: Standing) {
        all(&self.standings).insert(self.of.clone(), standing);
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        all(&self.standings).remove(&self.of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_conversation_stands_still_until_it_is_told_what_then() {
        let standstill = Arc::new(Standstill::default());
        let (task, attempt) = (TaskId::parse("t").unwrap(), Attempt(1));
        let (stop, stopped) = watch::channel(Stop::No);
        let until = async |is: bool| {
            while standstill.stands_still(&task, attempt) != is {
                tokio::task::yield_now().await;
            }
        };
        assert!(!standstill.can_be_left(&task, attempt));
        let mut stand = standstill.enter(&task, attempt);
        let standing = tokio::spawn(async move {
            let mut all = Vec::new();
            for _ in 0..3 {
                stand.wished().await;
                all.push(stand.stand_still(&stopped).await);
                if all.len() == 2 {
                    // What it was stopped for is over; here it only begins anew.
                    stand.wish.wait_for(|wish| *wish == Wish::GoOn).await.unwrap();
                }
            }
            stand.left();
            (stand, all)
        });
        assert!(standstill.can_be_left(&task, attempt) && !standstill.stands_still(&task, attempt));
        standstill.wish(Wish::StandStill);
        until(true).await;
        standstill.wish(Wish::GoOn);
        until(false).await;
        standstill.wish(Wish::StandStill);
        until(true).await;
        stop.send_replace(Stop::Ask);
        until(false).await;
        stop.send_replace(Stop::No);
        standstill.wish(Wish::GoOn);
        tokio::task::yield_now().await;
        standstill.wish(Wish::StandStill);
        until(true).await;
        assert!(!standstill.are_left());
        standstill.wish(Wish::Leave);
        let (stand, all) = standing.await.unwrap();
        assert_eq!(all, [false, false, true]);
        assert!(standstill.are_left());
        drop(stand);
        assert!(!standstill.can_be_left(&task, attempt));
    }
}
