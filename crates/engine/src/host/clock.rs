//! The two clocks of a decision: the wall's, for people, and the coordinator's own awake time, for deadlines.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use conductor_core::values::units::{Now, Tick, Timestamp};

/// How often the loop reads the clock at the least.
pub const HEARTBEAT: Duration = Duration::from_secs(1);

/// A silence longer than this was not ours: the process was stopped, or the machine slept.
const ASLEEP: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Clock {
    last: Instant,
    awake: Duration,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { last: Instant::now(), awake: Duration::ZERO }
    }

    pub fn now(&mut self) -> Now {
        let tick = self.advance(Instant::now());
        Now { at: wall(), tick, jitter: fastrand::f64() }
    }

    /// Time asleep counts as one heartbeat, so that nothing times out while this process could not run.
    fn advance(&mut self, to: Instant) -> Tick {
        let passed = to.saturating_duration_since(self.last);
        self.awake += if passed > ASLEEP { HEARTBEAT } else { passed };
        self.last = to;
        Tick(self.awake.as_millis() as u64)
    }

    /// How long to sleep until that tick, provided that this process stays awake.
    pub fn until(&self, tick: Tick) -> Duration {
        Duration::from_millis(tick.0).saturating_sub(self.awake)
    }
}

pub fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(match since {
        Ok(after) => after.as_millis() as i64,
        Err(before) => -(before.duration().as_millis() as i64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn being_stopped_for_minutes_passes_one_heartbeat() {
        let mut clock = Clock::start();
        let start = clock.last;
        assert_eq!(clock.advance(start + Duration::from_millis(900)), Tick(900));
        assert_eq!(clock.advance(start + Duration::from_secs(300)), Tick(1_900));
        assert_eq!(clock.advance(start + Duration::from_secs(301)), Tick(2_900));
    }

    #[test]
    fn waiting_is_measured_in_awake_time() {
        let mut clock = Clock::start();
        clock.advance(clock.last + Duration::from_millis(400));
        assert_eq!(clock.until(Tick(1_000)), Duration::from_millis(600));
        assert_eq!(clock.until(Tick(100)), Duration::ZERO);
    }
}
