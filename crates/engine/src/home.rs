//! Where state lives: `~/.conductor`, or `CONDUCTOR_HOME`.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use conductor_core::ids::RunId;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum HomeError {
    #[error("cannot tell where to keep state: neither CONDUCTOR_HOME nor HOME is set")]
    Nowhere,
    #[error("cannot use the state directory {path}: {source}")]
    Unusable { path: PathBuf, source: io::Error },
    #[error("run {0} is being worked on by another conductor right now")]
    Busy(RunId),
}

/// Whoever only looks whether a run is live holds its lock for a moment; that is no reason to turn anybody away.
const GLANCE: Duration = Duration::from_millis(50);

#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Finds the place by the environment and makes sure it is there.
    pub fn open() -> Result<Home, HomeError> {
        Home::at(Home::root_of_environment()?)
    }

    /// Where it would be; nothing is made.
    pub fn root_of_environment() -> Result<PathBuf, HomeError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("CONDUCTOR_HOME").or_else(|| set("HOME").map(|home| home.join(".conductor")));
        root.ok_or(HomeError::Nowhere)
    }

    pub fn at(root: impl Into<PathBuf>) -> Result<Home, HomeError> {
        let root = std::path::absolute(root.into())
            .map_err(|source| HomeError::Unusable { path: PathBuf::new(), source })?;
        fs::create_dir_all(root.join("runs"))
            .map_err(|source| HomeError::Unusable { path: root.clone(), source })?;
        Ok(Home { root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("conductor.db")
    }

    pub fn run(&self, run: &RunId) -> PathBuf {
        self.root.join("runs").join(run.as_str())
    }

    /// Waits until no other process is here too. For moments only; the lock goes with the file, or with the process.
    pub(crate) fn alone(&self) -> io::Result<File> {
        let file = File::options().create(true).truncate(false).write(true).open(self.root.join("lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// Takes a run for this process. The lock goes with the process, however it ends.
    pub fn claim(&self, run: &RunId) -> Result<RunClaim, HomeError> {
        let directory = self.run(run);
        let unusable = |source| HomeError::Unusable { path: directory.clone(), source };
        fs::create_dir_all(&directory).map_err(unusable)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(directory.join("lock"))
            .map_err(unusable)?;
        let deadline = Instant::now() + GLANCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(RunClaim { directory, _lock: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => return Err(HomeError::Busy(run.clone())),
                Err(TryLockError::Error(source)) => return Err(unusable(source)),
            }
        }
    }

    /// Whether somebody works on a run right now.
    pub fn is_live(&self, run: &RunId) -> bool {
        let Ok(file) = File::open(self.run(run).join("lock")) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Returns when nobody works on a run any more. Blocks.
    pub fn wait_until_left(&self, run: &RunId) -> io::Result<()> {
        match File::open(self.run(run).join("lock")) {
            Ok(file) => file.lock_shared(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Every run that has a folder, known to the store or not.
    pub fn runs(&self) -> Vec<RunId> {
        let entries = fs::read_dir(self.root.join("runs")).into_iter().flatten().flatten();
        let mut runs: Vec<RunId> =
            entries.filter_map(|entry| RunId::parse(entry.file_name().to_str()?)).collect();
        runs.sort();
        runs
    }
}

/// The right to work on one run, held as long as this lives.
#[derive(Debug)]
pub struct RunClaim {
    directory: PathBuf,
    _lock: File,
}

impl RunClaim {
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The state directory it is in.
    pub fn home(&self) -> PathBuf {
        self.directory.ancestors().nth(2).unwrap_or(&self.directory).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_claimed_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let run = RunId::parse("abc").unwrap();
        let first = home.claim(&run).unwrap();
        assert!(matches!(home.claim(&run), Err(HomeError::Busy(busy)) if busy == run));
        assert!(home.is_live(&run));
        drop(first);
        assert!(!home.is_live(&run));
        assert!(home.claim(&run).is_ok());
        assert_eq!(home.runs(), [run]);
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "").unwrap();
        let error = Home::at(&path).unwrap_err();
        assert!(error.to_string().contains("file"), "{error}");
    }
}
