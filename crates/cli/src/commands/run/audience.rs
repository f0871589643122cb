//! What shows or reports the progress of a run: the view, and the plan's notifications.

use std::path::Path;
use std::time::Duration;

use conductor_core::values::units::Millis;
use conductor_engine::records::notify::{Notifier, Shown};
use conductor_engine::runs::coordinator::{Coordinator, CoordinatorError};
use conductor_engine::stores::Follower;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::keys::Looks;
use crate::args::Ui;
use crate::progress::{self, Progress, Stage, terminal};

pub(super) struct Audience {
    view: Box<dyn Progress>,
    records: Follower,
    notices: UnboundedReceiver<String>,
    /// What we say ourselves, and who may.
    said: UnboundedReceiver<String>,
    words: UnboundedSender<String>,
    shown: UnboundedReceiver<Shown>,
    notifier: Option<Notifier>,
    pulse: Option<Interval>,
}

impl Audience {
    pub(super) fn gather(
        ui: Ui,
        stage: &Stage<'_>,
        coordinator: &mut Coordinator,
        notices: UnboundedReceiver<String>,
        directory: &Path,
        heartbeat: Millis,
    ) -> Audience {
        let (words, said) = unbounded_channel();
        let (to_show, shown) = unbounded_channel();
        Audience {
            records: coordinator.subscribe(),
            notifier: Notifier::follow(stage.id, stage.run, directory, coordinator.subscribe(), to_show),
            view: progress::of(ui, stage),
            notices,
            said,
            words,
            shown,
            pulse: pulse(heartbeat),
        }
    }

    /// For what is to be said beside all that.
    pub(super) fn words(&self) -> UnboundedSender<String> {
        self.words.clone()
    }

    pub(super) fn view(&mut self) -> &mut dyn Progress {
        self.view.as_mut()
    }

    /// Shows a run while it is driven, to its last word.
    pub(super) async fn follow<T>(
        &mut self,
        driven: impl Future<Output = Result<T, CoordinatorError>>,
        mut looks: Looks,
    ) -> Result<T, CoordinatorError> {
        tokio::pin!(driven);
        let ended = loop {
            tokio::select! {
                biased;
                Some(batch) = self.records.recv() => self.view.show(&batch),
                Some(notice) = self.notices.recv() => self.view.notice(&notice),
                Some(words) = self.said.recv() => self.view.notice(&words),
                Some(text) = looks.next() => self.view.notice(&text),
                Some(shown) = self.shown.recv() => show(self.view.as_mut(), shown),
                () = beat(&mut self.pulse) => self.view.beat(),
                ended = &mut driven => break ended,
            }
        };
        drop(looks);
        while let Some(batch) = self.records.recv().await {
            self.view.show(&batch);
        }
        while let Ok(notice) = self.notices.try_recv() {
            self.view.notice(&notice);
        }
        self.notifier.iter().for_each(Notifier::settle);
        self.show_the_rest();
        ended
    }

    /// Returns when all notifications are delivered, or have had time enough.
    pub(super) fn leave(mut self) {
        if self.notifier.take().is_some_and(|notifier| !notifier.finish()) {
            self.view.notice("a notification was not delivered: its webhook takes too long to answer");
        }
        self.show_the_rest();
    }

    fn show_the_rest(&mut self) {
        while let Ok(words) = self.said.try_recv() {
            self.view.notice(&words);
        }
        while let Ok(shown) = self.shown.try_recv() {
            show(self.view.as_mut(), shown);
        }
    }
}

fn show(view: &mut dyn Progress, shown: Shown) {
    match shown {
        Shown::Words(words) => view.tell(&words),
        Shown::Bell => terminal::ring_bell(),
        Shown::Trouble(words) => view.notice(&words),
    }
}

/// How often the view is told that time has passed.
fn pulse(every: Millis) -> Option<Interval> {
    let every = Some(Duration::from_millis(every.0)).filter(|every| !every.is_zero())?;
    let mut pulse = tokio::time::interval_at(Instant::now() + every, every);
    pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Some(pulse)
}

async fn beat(pulse: &mut Option<Interval>) {
    match pulse {
        Some(pulse) => {
            pulse.tick().await;
        }
        None => std::future::pending().await,
    }
}
