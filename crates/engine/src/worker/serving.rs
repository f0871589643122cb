//! A worker in a process of its own: it carries out what a coordinator elsewhere orders, over a line between them.
//!
//! It holds nothing that its coordinator does not know: where the line ends, everything it had started is ended. What it is
//! ordered to do it offers to do, and starts when that is granted.

mod elsewhere;
mod places;
mod server;
mod speaking;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use conductor_core::values::ids::WorkerId;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::dispatch::wire::{self, FromWorker, ToWorker};
use crate::process;
pub(crate) use places::Quarters;
pub use places::ReaperCommand;
use server::Server;

/// How often it tells what its attempts are doing.
const SHOW: Duration = Duration::from_millis(250);

/// Serves the coordinator at the other end until the line ends. `beat` is how often it gives a sign of life: often enough that a
/// few can be late before a lease ends.
pub async fn serve(
    name: WorkerId,
    from: impl AsyncRead + Send + Unpin + 'static,
    mut to: impl AsyncWrite + Send + Unpin + 'static,
    beat: Duration,
) -> io::Result<()> {
    process::raise_descriptor_limit();
    process::adopt_orphans();
    let mut from = BufReader::new(from);
    wire::send(&mut to, &FromWorker::Hello { version: wire::VERSION, worker: name }).await?;
    match wire::receive(&mut from).await? {
        Some(ToWorker::Hello { version }) if version == wire::VERSION => {}
        Some(ToWorker::Hello { version }) => {
            let why = format!("the coordinator speaks version {version}, this worker {}", wire::VERSION);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "a coordinator says hello first")),
    }
    // Read by a task of its own: a line that is half read when something else happens would be lost.
    let (heard, orders) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(line) = wire::receive(&mut from).await.transpose() {
            let is_last = line.is_err();
            if heard.send(line).is_err() || is_last {
                return;
            }
        }
    });
    let (said, mut lines) = mpsc::unbounded_channel::<FromWorker>();
    let attending = attend(orders, said, beat, None);
    let writing = async {
        while let Some(line) = lines.recv().await {
            wire::send(&mut to, &line).await?;
        }
        Ok(())
    };
    // Where it cannot be written any more, the other side is gone.
    tokio::pin!(attending);
    tokio::select! {
        attended = &mut attending => attended.map(drop),
        written = writing => attending.await.and(written),
    }
}

/// Until the line ends; then all that was begun over it is ended. With quarters of its own, the worker is on another machine.
pub(crate) async fn attend(
    mut orders: mpsc::UnboundedReceiver<io::Result<ToWorker>>,
    say: mpsc::UnboundedSender<FromWorker>,
    beat: Duration,
    quarters: Option<Arc<Quarters>>,
) -> io::Result<Served> {
    let mut server = Server::new(quarters);
    let (mut beats, mut shows) = (interval(beat), interval(SHOW));
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    shows.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let served = 'served: loop {
        let lines = tokio::select! {
            order = orders.recv() => match order {
                Some(Ok(order)) => server.hear(order),
                Some(Err(error)) => break Err(error),
                None => break Ok(()),
            },
            Some(message) = server.messages.recv() => server.forward(message),
            Some(done) = server.done.recv() => server.go_on(done),
            Some(text) = server.notices.recv() => vec![FromWorker::Notice { text }],
            _ = beats.tick() => vec![server.alive()],
            _ = shows.tick() => server.news(),
        };
        for line in lines {
            if say.send(line).is_err() {
                break 'served Ok(());
            }
        }
    };
    server.end_all().await;
    served.map(|()| Served(server))
}

/// What is left when a line has ended.
pub(crate) struct Served(Server);

impl Served {
    /// The run is over.
    pub(crate) async fn clear(mut self) {
        self.0.clear().await;
    }
}
