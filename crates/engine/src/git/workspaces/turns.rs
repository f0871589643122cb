//! How much is done at once where the disk is the narrow place: as much as there are cores.

use std::sync::{Condvar, Mutex, PoisonError};

use super::run_repo::locked;
use crate::host::logs;

/// Lets as many through at once as there are cores: more checkouts than that only get in each other's way.
pub(super) struct Turns {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns { free: Mutex::new(cores()), freed: Condvar::new() }
    }

    pub(super) fn take<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut free = locked(&self.free);
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        drop(free);
        let done = work();
        *locked(&self.free) += 1;
        self.freed.notify_one();
        done
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

/// The same work on each, on all cores; the results in the order of the items.
pub(super) fn side_by_side<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let share = items.len().div_ceil(cores()).max(1);
    let work = &work;
    std::thread::scope(|scope| {
        let parts: Vec<_> = items
            .chunks(share)
            .map(|part| {
                let all = logs::carried(move || part.iter().map(work).collect::<Result<Vec<R>, E>>());
                // Where no thread is to be had, it is done right here.
                std::thread::Builder::new().spawn_scoped(scope, all).map_err(|_| part)
            })
            .collect();
        let mut done = Vec::with_capacity(items.len());
        for part in parts {
            done.extend(match part {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
                Err(part) => part.iter().map(work).collect::<Result<Vec<R>, E>>()?,
            });
        }
        Ok(done)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = side_by_side(&items, |item| Ok::<_, ()>(item * 2)).unwrap();
        assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(side_by_side(&items[..0], |_| Ok::<_, ()>(())), Ok(Vec::new()));
    }

    #[test]
    fn one_failure_is_reported_and_does_not_stop_the_other_threads() {
        let done = Mutex::new(Vec::new());
        let work = |item: &usize| {
            locked(&done).push(*item);
            if *item == 0 { Err("no") } else { Ok(()) }
        };
        assert_eq!(side_by_side(&[0, 1], work), Err("no"));
        assert!(cores() == 1 || locked(&done).contains(&1));
    }
}
