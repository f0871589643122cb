//! What is done by one request at a time, also among several servers of the same home.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use conductor_engine::host::access;
use tokio::sync::{Mutex, MutexGuard};

use crate::problem::{Problem, Result};

pub(crate) struct Turns {
    /// It holds nothing: it is what servers lock.
    file: PathBuf,
    /// Within this server requests wait without a thread.
    here: Mutex<()>,
}

/// Over when it is dropped, or its process dies.
pub(crate) struct Turn<'t> {
    _here: MutexGuard<'t, ()>,
    _file: File,
}

impl Turns {
    pub(crate) fn new(folder: &Path, what: &str) -> Turns {
        Turns { file: folder.join(format!("{what}.lock")), here: Mutex::new(()) }
    }

    pub(crate) async fn take(&self) -> Result<Turn<'_>> {
        let here = self.here.lock().await;
        let file = self.file.clone();
        let locked = tokio::task::spawn_blocking(move || lock(&file)).await.map_err(io::Error::other);
        let failed = |error: io::Error| Problem::new(503, format!("{}: {error}", self.file.display()));
        Ok(Turn { _here: here, _file: locked.and_then(|locked| locked).map_err(failed)? })
    }
}

/// Waits until no other process has it.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let file = access::private().create(true).append(true).open(path)?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn another_server_waits_for_its_turn() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Turns::new(folder.path(), "x"), Turns::new(folder.path(), "x"));
        let turn = one.take().await.ok().unwrap();
        let mut waiting = Box::pin(other.take());
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut waiting).await.is_err());
        drop(turn);
        assert!(waiting.await.is_ok());
    }
}
