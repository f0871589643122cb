//! Delivers the notifications a plan asks for: on the terminal, by a sound, on the desktop, by a webhook, by a plugin.
//!
//! Threads of its own do all of it, so the run never waits for a notification and never fails because of one.
//! What cannot be delivered is reported once and forgotten.

mod plugins;
mod programs;
mod webhook;

use std::path::{Path, PathBuf};
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use conductor_core::plan::Notification;
use conductor_core::report::notify::{Telling, tellings};
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use tokio::sync::mpsc;

use crate::host::redact;
use crate::stores::Follower;
use plugins::Notifiers;
use webhook::Webhooks;

/// How many notifications may wait to be delivered. Further ones are left out: no user reads that many.
const QUEUE: usize = 64;

/// How long the end of a run waits until everything is decided, and then until everything is delivered.
const DECIDED: Duration = Duration::from_secs(2);
const DELIVERED: Duration = Duration::from_secs(6);

/// What is for the terminal to show, which is not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Words to catch the user's eye with.
    Words(String),
    Bell,
    /// A notification could not be delivered.
    Trouble(String),
}

pub struct Notifier {
    decided: std_mpsc::Receiver<()>,
    delivered: std_mpsc::Receiver<()>,
}

impl Notifier {
    /// Follows a run from here on; `None` where its plan wants no notifications. Sound files are
    /// relative to `directory`.
    pub fn follow(
        id: &RunId,
        run: &Run,
        directory: &Path,
        mut records: Follower,
        shown: mpsc::UnboundedSender<Shown>,
    ) -> Option<Notifier> {
        if run.plan().notifications.is_empty() {
            return None;
        }
        let (queue, waiting) = std_mpsc::sync_channel(QUEUE);
        let mut outbox = Outbox { shown: shown.clone(), queue, directory: directory.to_owned(), left_out: 0 };
        let (done, decided) = std_mpsc::channel::<()>();
        let (id, mut run) = (id.clone(), run.clone());
        std::thread::spawn(move || {
            while let Some(batch) = records.blocking_recv() {
                for record in batch.iter() {
                    // A log that does not fit is the coordinator's to complain of.
                    if run.apply(record).is_ok() {
                        tellings(&id, &run, &record.event)
                            .into_iter()
                            .for_each(|telling| outbox.take(telling));
                    }
                }
            }
            outbox.close();
            drop(done);
        });
        let (done, delivered) = std_mpsc::channel::<()>();
        let directory = directory.to_owned();
        std::thread::spawn(move || {
            deliver(&waiting, &shown, &directory);
            drop(done);
        });
        Some(Notifier { decided, delivered })
    }

    /// Waits, not for long, until all there is to show has been handed over. For when the run is over.
    pub fn settle(&self) {
        let _ = self.decided.recv_timeout(DECIDED);
    }

    /// Waits a limited time until every notification is delivered; returns whether all are.
    pub fn finish(self) -> bool {
        self.delivered.recv_timeout(DELIVERED) != Err(std_mpsc::RecvTimeoutError::Timeout)
    }
}

/// Sorts what is to be told by who does it.
struct Outbox {
    shown: mpsc::UnboundedSender<Shown>,
    queue: std_mpsc::SyncSender<Telling>,
    directory: PathBuf,
    left_out: usize,
}

impl Outbox {
    fn take(&mut self, telling: Telling) {
        let telling = Telling { message: redact::known().string(telling.message), ..telling };
        match &telling.how {
            Notification::Terminal { .. } => self.show(Shown::Words(telling.message)),
            Notification::Sound { file: None } => self.show(Shown::Bell),
            Notification::Sound { file: Some(file) } => {
                if let Err(error) = programs::play(&self.directory.join(file)) {
                    self.show(Shown::Bell);
                    self.show(Shown::Trouble(error));
                }
            }
            Notification::Desktop { .. } | Notification::Webhook { .. } | Notification::Plugin { .. } => {
                if self.queue.try_send(telling).is_err() {
                    self.left_out += 1;
                }
            }
        }
    }

    fn close(self) {
        if self.left_out > 0 {
            let words = format!("{} notifications were left out: too many at once", self.left_out);
            self.show(Shown::Trouble(words));
        }
    }

    fn show(&self, shown: Shown) {
        let _ = self.shown.send(shown);
    }
}

/// One after the other, until there are no more.
fn deliver(waiting: &std_mpsc::Receiver<Telling>, shown: &mpsc::UnboundedSender<Shown>, directory: &Path) {
    let mut webhooks = Webhooks::new();
    let mut notifiers = Notifiers::new(directory);
    while let Ok(telling) = waiting.recv() {
        let troubles = match &telling.how {
            Notification::Webhook { url } => webhooks.send(url, &telling.news).err().map(Shown::Trouble),
            Notification::Plugin { name, .. } => notifiers.send(name, &telling).err().map(Shown::Trouble),
            Notification::Desktop { .. } if programs::notify(&telling.message) => None,
            // Without a desktop, the terminal's own way of catching an eye is the next best.
            _ => Some(Shown::Words(telling.message)),
        };
        if let Some(trouble) = troubles {
            let _ = shown.send(trouble);
        }
    }
}
