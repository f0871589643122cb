//! `conductor worker`: attempts of runs that another machine drives.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_engine::dispatch::broker;
use conductor_engine::dispatch::distant::enrolment::Token;
use conductor_engine::host::home::Home;
use conductor_engine::worker::distant::{BEAT, Identity, Leaving, Terms, WorkerFolder, work};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::workers::named;
use super::{block_on, reaper, talk};
use crate::args;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &args::Worker) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let all = home.root().join("worker");
    if args.drain {
        return drain(&all, args.name.as_deref());
    }
    match (&args.queue, &args.git) {
        (Some(queue), Some(git)) => block_on(serve(&all, args, queue, git)),
        _ => Err(CliError::new(Exit::Usage, "a worker needs --queue and --git")),
    }
}

/// The worker of another process is told, and waited for.
fn drain(all: &Path, name: Option<&str>) -> Result<Exit, CliError> {
    let path = at(all, name)?;
    match WorkerFolder::drain(&path)? {
        Some(draining) => {
            talk("the worker takes nothing more; waits until what it is at is done");
            draining.wait()?;
            talk("the worker has ended");
            Ok(Exit::Done)
        }
        None => {
            let message = format!("no worker is at work at {}", path.display());
            Err(CliError::new(Exit::NothingToDo, message))
        }
    }
}

async fn serve(all: &Path, args: &args::Worker, queue: &str, git: &str) -> Result<Exit, CliError> {
    let broker = broker::open(queue)?;
    broker.examine().await?;
    let token = args.join.as_deref().map(Token::parse).transpose()?;
    let (folder, identity) = match &token {
        Some(token) => {
            let folder = WorkerFolder::take(&all.join(token.worker.as_str()))?;
            let known = folder.identity()?.filter(|known| known.fleet == token.fleet);
            let identity = match known {
                // A token that is given again, as with every start of a service, is used no second time.
                Some(known) => known,
                None => folder.join(token, &*broker, &|word| talk(word)).await?,
            };
            (folder, identity)
        }
        None => known_one(all, args.name.as_deref())?,
    };
    let Identity { worker, .. } = &identity;
    talk(format!(
        "worker {worker} waits for runs, for {} at once; Ctrl-C finishes what it is at and ends",
        args.slots
    ));
    let labels =
        args.labels.iter().map(|label| label.trim().to_owned()).filter(|label| !label.is_empty()).collect();
    let terms = Terms {
        broker,
        git: git.to_owned(),
        slots: args.slots,
        labels,
        exit_when_idle: args.exit_when_idle,
        beat: BEAT,
        reaper: Some(Arc::new(reaper::of_worker)),
    };
    work(&folder, identity, terms, leaving()?, Arc::new(talk)).await?;
    Ok(Exit::Done)
}

/// The folder of the worker of this name, or of the only one.
fn at(all: &Path, name: Option<&str>) -> Result<PathBuf, CliError> {
    match name {
        Some(name) => Ok(all.join(named(name)?.as_str())),
        None => only(all),
    }
}

/// The worker of this name, or the only one.
fn known_one(all: &Path, name: Option<&str>) -> Result<(WorkerFolder, Identity), CliError> {
    let path = at(all, name)?;
    let unknown = || {
        CliError::new(Exit::Usage, format!("no worker was taken in at {}", path.display()))
            .help("get a token where the runs are driven, conductor workers token, and give it here once: --join TOKEN")
    };
    if !path.is_dir() {
        return Err(unknown());
    }
    let folder = WorkerFolder::take(&path)?;
    let identity = folder.identity()?.ok_or_else(unknown)?;
    Ok((folder, identity))
}

fn only(all: &Path) -> Result<PathBuf, CliError> {
    let there = std::fs::read_dir(all).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = there.filter(|path| path.join("identity.json").is_file()).collect();
    found.sort();
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => Ok(all.to_owned()),
        several => {
            let names: Vec<_> = several.iter().filter_map(|path| path.file_name()?.to_str()).collect();
            let message = format!("several workers were taken in on this machine: {}", names.join(", "));
            Err(CliError::new(Exit::Usage, message).help("say which one this is: --name NAME"))
        }
    }
}

/// The first signal lets what is at work come to its end, the second does not. `conductor worker --drain` has one of its own,
/// which may come as often as it likes.
fn leaving() -> Result<watch::Receiver<Leaving>, CliError> {
    let (mut interrupts, mut terminations) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut drains = signal(SignalKind::user_defined2())?;
    let (wish, leaving) = watch::channel(Leaving::No);
    tokio::spawn(async move {
        loop {
            let is_drain = tokio::select! {
                _ = interrupts.recv() => false,
                _ = terminations.recv() => false,
                _ = drains.recv() => true,
            };
            let next = match *wish.borrow() {
                Leaving::No => Leaving::Drained,
                current if is_drain => current,
                _ => Leaving::Now,
            };
            if *wish.borrow() == next {
                continue;
            }
            if next == Leaving::Drained {
                talk("takes nothing more; ends when what it is at is done, or at once with a second signal");
            }
            if wish.send(next).is_err() {
                return;
            }
        }
    });
    Ok(leaving)
}
