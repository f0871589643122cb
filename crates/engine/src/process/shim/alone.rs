//! What a shim sees to while no coordinator does: the agent's time, what it uses, and that it is not forgotten.

use std::io;
use std::time::{Duration, Instant};

use super::super::GRACE;
use super::keeping::Keeper;
use super::records::EndedBy;

/// How often what the agent says is looked at where no coordinator does that.
const COUNT: Duration = Duration::from_millis(100);

/// How often what is written is kept from filling the disk where no coordinator does that.
const TRIM: Duration = Duration::from_secs(1);

/// How long an agent that was asked in its own language may take before it gets a signal.
const COURTESY: Duration = Duration::from_secs(2);

/// It is being ended.
#[derive(Clone, Copy)]
pub(super) struct Ending {
    pub(super) why: EndedBy,
    /// When it gets a signal, if it was asked in its own language first.
    signal: Option<Instant>,
    /// When it is made to.
    kill: Instant,
}

impl Keeper {
    pub(super) fn until_due(&self) -> Option<Duration> {
        let now = Instant::now();
        let dues = match (self.ending, self.alone_since) {
            (Some(Ending { signal, kill, .. }), _) => [Some(kill), signal, None],
            (None, Some(_)) if self.expects_until.is_some() => [self.expects_until, self.ends(), None],
            (None, Some(since)) => {
                let count = self.meter.is_some().then(|| now + COUNT);
                [since.checked_add(self.start.grace()), self.ends(), count]
            }
            (None, None) => [None, None, None],
        };
        dues.into_iter()
            .chain([self.callers.due(), self.alone_since.and(now.checked_add(TRIM))])
            .flatten()
            .min()
            .map(|due| due.saturating_duration_since(now))
    }

    fn deadline(&self) -> Option<Instant> {
        self.start.deadline.and_then(|left| self.began.checked_add(Duration::from_millis(left.0)))
    }

    /// Its own time, or that of its run.
    fn ends(&self) -> Option<Instant> {
        self.deadline().into_iter().chain(self.run_ends).min()
    }

    /// Only what no coordinator sees to.
    pub(super) fn see_to_the_time(&mut self) {
        let now = Instant::now();
        if self.ending.is_some() && self.alone_since.is_some() {
            self.trim();
        }
        if let Some(ending) = &mut self.ending {
            let signals = ending.signal.take_if(|signal| now >= *signal).is_some();
            let kills = now >= ending.kill;
            if signals {
                self.ask();
            }
            if kills {
                self.kill();
            }
            return;
        }
        let Some(since) = self.alone_since else { return };
        self.expects_until.take_if(|until| now >= *until);
        let is_late = self.deadline().is_some_and(|deadline| now >= deadline);
        let is_forgotten = now.saturating_duration_since(since) >= self.start.grace();
        let is_over = self.run_ends.is_some_and(|ends| now >= ends);
        let why = match (is_late, is_forgotten) {
            (true, _) => Some(EndedBy::Deadline),
            _ if is_over => Some(EndedBy::RunTime),
            (false, _) if self.expects_until.is_some() => None,
            (false, true) => Some(EndedBy::Grace),
            (false, false) => self.over_budget(),
        };
        why.into_iter().for_each(|why| self.end(why));
        // Behind the look at what it uses, which reads what is given back here.
        self.trim();
    }

    fn trim(&mut self) {
        let [output, errors] = &mut self.unread;
        output.trim(io::stdout());
        errors.trim(io::stderr());
    }

    /// Whether it has used what it may, or none can tell. One that has nothing more to say is let go, as by a coordinator.
    fn over_budget(&mut self) -> Option<EndedBy> {
        if self.meter.is_none() && !self.is_uncounted {
            let mut environment = self.start.env.iter().cloned();
            self.meter = (self.metering)(&self.folder, &mut environment);
            self.is_uncounted = self.meter.is_none();
        }
        let looked = self.meter.as_mut().and_then(|meter| Some((meter.look().ok()?, meter.is_over())));
        match looked {
            Some((_, true)) => {
                self.closing = true;
                None
            }
            _ if self.slice.is_without_end() => None,
            None => Some(EndedBy::Uncounted),
            Some((used, false)) => self.slice.is_used_up(&used).then_some(EndedBy::Budget),
        }
    }

    /// Asks it to end: in its own language, where it is known, so that it can say what it did.
    fn end(&mut self, why: EndedBy) {
        let now = Instant::now();
        let words = self.meter.as_mut().map_or_else(Vec::new, |meter| meter.interrupt());
        let understands = !words.is_empty() && self.stdin.is_some() && !self.closing;
        let signal = understands.then(|| now + COURTESY);
        self.ending = Some(Ending { why, signal, kill: now + GRACE });
        match understands {
            true => self.unsaid.extend(words),
            false => self.ask(),
        }
    }
}
