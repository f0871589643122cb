//! What the machine is short of for a while: no task's failure, and waited for. And how much of it there is.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// With less than this, a disk counts as full: no task's work fits any more.
const HARDLY_ANY: u64 = 64 << 10;

/// How often something is tried again.
pub(crate) const PAUSE: Duration = Duration::from_millis(250);

/// How long the first and last steps of a run wait. What could not be done by then is done when it is taken up.
const A_WHILE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// The disk, or the user's part of it, is full.
    Room,
    /// Processes, memory or file descriptors: too much is going on right now.
    Means,
}

impl Shortage {
    /// What is waited for.
    pub fn awaited(self) -> &'static str {
        match self {
            Shortage::Room => "room on the disk",
            Shortage::Means => "processes, memory or file descriptors (see ulimit -a)",
        }
    }
}

/// An error that may come of a shortage, and goes away with it.
pub trait Passing {
    fn shortage(&self) -> Option<Shortage>;
}

impl Passing for io::Error {
    fn shortage(&self) -> Option<Shortage> {
        use rustix::io::Errno;
        const SCARCE: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
        let is_full = matches!(self.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let is_scarce = |code| SCARCE.iter().any(|scarce| scarce.raw_os_error() == code);
        match self.raw_os_error() {
            _ if is_full => Some(Shortage::Room),
            Some(code) if is_scarce(code) => Some(Shortage::Means),
            _ => None,
        }
    }
}

/// Does one of the first or last steps of a run, until no shortage keeps it from being done, but not for ever. `tell` hears
/// what is waited for.
pub async fn for_a_while<T, E: Passing + Display, F: Future<Output = Result<T, E>>>(
    tell: impl Fn(String),
    mut step: impl FnMut() -> F,
) -> Result<T, E> {
    let begun = Instant::now();
    let mut told = false;
    loop {
        match step().await {
            Err(error) if begun.elapsed() < A_WHILE && error.shortage().is_some() => {
                if !std::mem::replace(&mut told, true) {
                    let awaited = error.shortage().map_or("", Shortage::awaited);
                    tell(format!("{error}; waiting for {awaited}"));
                }
                tokio::time::sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}

/// What a program says that was short of something; there is nothing else to know it by.
pub fn told_in(words: &str) -> Option<Shortage> {
    const ROOM: [&str; 3] = ["No space left on device", "Disk quota exceeded", "Out of diskspace"];
    const MEANS: [&str; 3] =
        ["Too many open files", "Resource temporarily unavailable", "Cannot allocate memory"];
    let any = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    match (any(&ROOM), any(&MEANS)) {
        (true, _) => Some(Shortage::Room),
        (_, true) => Some(Shortage::Means),
        _ => None,
    }
}

/// The first of these folders whose disk is full.
pub fn full_disk<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Option<PathBuf> {
    folders.into_iter().find(|folder| is_full(folder)).map(Path::to_owned)
}

fn is_full(folder: &Path) -> bool {
    let Ok(disk) = rustix::fs::statvfs(folder) else { return false };
    // What is kept back for the system's own user is there for them.
    let blocks = if rustix::process::geteuid().is_root() { disk.f_bfree } else { disk.f_bavail };
    // Some file systems do not count their files.
    let no_files = disk.f_files > 0 && disk.f_favail == 0;
    no_files || blocks.saturating_mul(disk.f_frsize) < HARDLY_ANY
}
