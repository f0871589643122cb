//! Where state lives: `~/.conductor`, or `CONDUCTOR_HOME`; and the store that machines share, if they do.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::values::ids::RunId;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::host::access;
use crate::host::shortage::{Passing, Shortage};

#[derive(Debug, Error)]
pub enum HomeError {
    #[error("cannot tell where to keep state: neither CONDUCTOR_HOME nor HOME is set")]
    Nowhere,
    #[error("cannot use the state directory {path}: {source}")]
    Unusable { path: PathBuf, source: io::Error },
    #[error(
        "the state directory {path} belongs to user {owner}, and this is user {us}: \
         transcripts and prices of one user are no business of another"
    )]
    Foreign { path: PathBuf, owner: u32, us: u32 },
    #[error("{path} is shared by all users of this machine and cannot be a state directory")]
    Shared { path: PathBuf },
    #[error("run {0} is being worked on by another conductor right now")]
    Busy(RunId),
}

impl Passing for HomeError {
    fn shortage(&self) -> Option<Shortage> {
        match self {
            HomeError::Unusable { source, .. } => source.shortage(),
            _ => None,
        }
    }
}

/// What we keep in the state directory.
const FILES: [&str; 13] = [
    "conductor.db",
    "conductor.db-wal",
    "conductor.db-shm",
    "conductor.db-journal",
    "lock",
    "machine",
    "sessions.jsonl",
    "landed.jsonl",
    "beads.lock",
    "beads.claims.lock",
    "trust.json",
    "plugins.lock",
    "sync.key",
];
const FOLDERS: [&str; 6] = ["plans", "ports", "trash", "trusted", "expertise", "sync"];
/// Config files and the like, which are the user's.
const OTHERS: [&str; 8] = [
    "runs",
    "config.yaml",
    "config.yml",
    "templates",
    "plugins",
    "browser",
    "tools",
    "element_selectors.json",
];

/// The mark of folders that all users may put something into, such as `/tmp`.
const STICKY: u32 = 0o1000;

/// Another process has the state directory to itself for moments only.
const ALONE: Duration = Duration::from_secs(4);

/// A process that only checks whether a run is live holds its lock for a moment; a claim waits that long.
const GLANCE: Duration = Duration::from_millis(50);

/// The lock of a process that was killed is free when it is gone, and what it was just starting has become another program:
/// on a busy machine that takes a while.
const GOING: Duration = Duration::from_secs(5);

/// How long a coordinator that has let go of its run may take to be gone.
const LEAVING: Duration = Duration::from_secs(30);

/// The lock of the process that waits for a run, in the run's folder.
const SUCCESSOR: &str = "successor.lock";

/// Where the logs of runs are kept that machines share.
pub const STORE: &str = "CONDUCTOR_STORE";

#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    store: Option<StoreAddress>,
}

/// The address of a server that keeps the logs of runs. It may hold a password, so it is not shown.
#[derive(Clone)]
pub struct StoreAddress(Arc<str>);

impl StoreAddress {
    pub fn new(address: &str) -> StoreAddress {
        StoreAddress(address.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreAddress")
    }
}

impl Home {
    /// Finds the place by the environment and makes sure it is there.
    pub fn open() -> Result<Home, HomeError> {
        Ok(Home { store: store_of_environment(), ..Home::at(Home::root_of_environment()?)? })
    }

    /// As `open`, where something has been kept there already; nothing is made.
    pub fn existing() -> Result<Option<Home>, HomeError> {
        let root = std::path::absolute(Home::root_of_environment()?)
            .map_err(|source| HomeError::Unusable { path: PathBuf::new(), source })?;
        let home = Home { root, store: store_of_environment() };
        home.check_owner()?;
        let is_used = home.store.is_some() || home.root.join("runs").is_dir();
        Ok(is_used.then_some(home))
    }

    /// Where it would be; nothing is made.
    pub fn root_of_environment() -> Result<PathBuf, HomeError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("CONDUCTOR_HOME").or_else(|| set("HOME").map(|home| home.join(".conductor")));
        root.ok_or(HomeError::Nowhere)
    }

    /// This very directory, with a database of its own.
    pub fn at(root: impl Into<PathBuf>) -> Result<Home, HomeError> {
        let root = std::path::absolute(root.into())
            .map_err(|source| HomeError::Unusable { path: PathBuf::new(), source })?;
        let home = Home { root, store: None };
        // First, so that nothing is made in a place that is refused.
        home.check_owner()?;
        access::create_private_dir_all(&home.root.join("runs"))
            .map_err(|source| HomeError::Unusable { path: home.root.clone(), source })?;
        home.close_to_others();
        Ok(home)
    }

    /// A state directory is one user's; what another user could put there would be believed.
    fn check_owner(&self) -> Result<(), HomeError> {
        let Ok(data) = fs::metadata(&self.root) else { return Ok(()) };
        let (path, us) = (self.root.clone(), rustix::process::geteuid().as_raw());
        match data.uid() {
            owner if owner != us => Err(HomeError::Foreign { path, owner, us }),
            // A disk of its own may be mounted like this, and is ours as long as nothing else is on it.
            _ if data.mode() & STICKY != 0 && !self.holds_only_ours() => Err(HomeError::Shared { path }),
            _ => Ok(()),
        }
    }

    /// What an older version let others read is the user's own from now on. Costs two looks where that is done.
    fn close_to_others(&self) {
        let runs = self.root.join("runs");
        if access::is_open(&self.root) && self.holds_only_ours() {
            let _ = access::close(&self.root);
        }
        if !access::is_open(&runs) {
            return;
        }
        for name in FILES {
            let _ = access::close(&self.root.join(name));
        }
        for name in FOLDERS {
            let _ = access::close_all(&self.root.join(name), &["workspaces", "tmp", "git"]);
        }
        // Last, for it says that all of this is done. Where it cannot be, the next start tries again.
        for run in self.runs() {
            let _ = access::close_all(&self.run(&run), &["workspaces", "tmp", "git"]);
        }
        let _ = access::close(&runs);
    }

    /// Whether nothing is in it but what we put there, and config files of the user's: a folder that is used for
    /// something else too is not ours to close.
    fn holds_only_ours(&self) -> bool {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let ours = |name: &str| {
            FILES.contains(&name)
                || FOLDERS.contains(&name)
                || OTHERS.contains(&name)
                || name.starts_with('.')
        };
        entries.into_iter().all(|entry| entry.file_name().to_str().is_some_and(ours))
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The same place, with the logs of its runs in another store: at this address, or in its own database.
    pub fn with_store(self, store: Option<StoreAddress>) -> Home {
        Home { store, ..self }
    }

    /// By which the store that the logs are in is told from others. It gives nothing of its address away.
    pub fn store_name(&self) -> String {
        let Some(address) = &self.store else { return "here".to_owned() };
        Sha256::digest(address.as_str()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The store that machines share; nothing where the logs are in the database here.
    pub fn store(&self) -> Option<&StoreAddress> {
        self.store.as_ref()
    }

    /// Whether anything can be put there, and why not.
    pub fn check_writable(&self) -> io::Result<()> {
        access::check_writable(&self.root)
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("conductor.db")
    }

    pub fn run(&self, run: &RunId) -> PathBuf {
        self.root.join("runs").join(run.as_str())
    }

    /// Waits until no other process is here too. For moments only; the lock goes with the file, or with the process.
    pub(crate) fn alone(&self) -> io::Result<File> {
        let path = self.root.join("lock");
        let file = access::private().create(true).truncate(false).write(true).open(&path)?;
        lock_within(&file, ALONE).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(
                io::ErrorKind::WouldBlock,
                format!("{} is held by another process for more than {ALONE:?}", path.display()),
            ),
            _ => error,
        })?;
        Ok(file)
    }

    /// Takes a run for this process. The lock goes with the process, however it ends. One that waits for the run has it first.
    pub fn claim(&self, run: &RunId) -> Result<RunClaim, HomeError> {
        match self.is_awaited(run) {
            true => Err(HomeError::Busy(run.clone())),
            false => self.claim_within(run, GLANCE),
        }
    }

    /// Announces that this process waits for a run that another one drives: no other takes it then, and it is not seen to be left in
    /// between.
    pub fn succeed(&self, run: &RunId) -> Result<Successor, HomeError> {
        let directory = self.run(run);
        let unusable = |source| HomeError::Unusable { path: directory.clone(), source };
        let path = directory.join(SUCCESSOR);
        let file = access::private().create(true).truncate(false).write(true).open(path).map_err(unusable)?;
        match lock_within(&file, GLANCE) {
            Ok(()) => Ok(Successor { run: run.clone(), place: self.clone(), _lock: file }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(HomeError::Busy(run.clone())),
            Err(source) => Err(unusable(source)),
        }
    }

    fn claim_within(&self, run: &RunId, time: Duration) -> Result<RunClaim, HomeError> {
        let directory = self.run(run);
        let unusable = |source| HomeError::Unusable { path: directory.clone(), source };
        access::create_private_dir_all(&directory).map_err(unusable)?;
        let file = access::private()
            .create(true)
            .truncate(false)
            .write(true)
            .open(directory.join("lock"))
            .map_err(unusable)?;
        let is_held = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        let locked = lock_within(&file, time).or_else(|error| {
            match is_held(&error) && self.holder(run).is_some_and(is_going) {
                true => lock_within(&file, GOING),
                false => Err(error),
            }
        });
        match locked {
            Ok(()) => Ok(RunClaim { directory, place: self.clone(), _lock: file }),
            Err(error) if is_held(&error) => Err(HomeError::Busy(run.clone())),
            Err(source) => Err(unusable(source)),
        }
    }

    /// Whether a process works on a run right now, or is just being left the run by one that did.
    pub fn is_live(&self, run: &RunId) -> bool {
        // In this order: who waits has the run before it does not wait any more.
        self.is_awaited(run) || self.is_held(run)
    }

    /// Whether a process has the run.
    pub(crate) fn is_held(&self, run: &RunId) -> bool {
        is_run_held(&self.run(run))
    }

    fn is_awaited(&self, run: &RunId) -> bool {
        is_locked(&self.run(run).join(SUCCESSOR))
    }

    /// The process that holds a run's lock, where the system tells.
    pub fn holder(&self, run: &RunId) -> Option<u32> {
        // The table is handed out in pieces: where locks come and go meanwhile, one may be passed over.
        const LOOKS: usize = 5;
        let inode = fs::metadata(self.run(run).join("lock")).ok()?.ino().to_string();
        (0..LOOKS).find_map(|_| {
            let locks = fs::read_to_string("/proc/locks").ok()?;
            locks.lines().find_map(|line| {
                // 1: FLOCK  ADVISORY  WRITE 4711 fd:01:123456 0 EOF
                let mut words = line.split_whitespace().skip(4);
                let (pid, file) = (words.next()?, words.next()?);
                (file.rsplit(':').next()? == inode).then(|| pid.parse().ok())?
            })
        })
    }

    /// Returns when no process works on a run any more. Blocks.
    pub fn wait_until_left(&self, run: &RunId) -> io::Result<()> {
        let wait_for = |name: &str| match File::open(self.run(run).join(name)) {
            Ok(file) => file.lock_shared(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        loop {
            wait_for("lock")?;
            // One that waits for the run has it before it does not wait any more.
            wait_for(SUCCESSOR)?;
            if !self.is_live(run) {
                return Ok(());
            }
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

/// Whether a process has the run of this folder.
pub(crate) fn is_run_held(directory: &Path) -> bool {
    is_locked(&directory.join("lock"))
}

fn is_locked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn store_of_environment() -> Option<StoreAddress> {
    let set = std::env::var_os(STORE).filter(|address| !address.is_empty())?;
    Some(StoreAddress::new(&set.to_string_lossy()))
}

/// Takes a lock that others hold for moments only; `WouldBlock` where that is not so.
pub(crate) fn lock_within(file: &File, time: Duration) -> io::Result<()> {
    let deadline = Instant::now() + time;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Whether a process is gone, or has come to its end and only the system is still busy with it.
fn is_going(process: u32) -> bool {
    const EXITING: u32 = 0x4;
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    // Its name, which may have any characters, is in brackets before these.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let (state, flags) = (fields.next(), fields.nth(5).and_then(|flags| flags.parse::<u32>().ok()));
    matches!(state, Some("Z" | "X")) || flags.is_some_and(|flags| flags & EXITING != 0)
}

/// The right to have a run next, held as long as this lives.
#[derive(Debug)]
pub struct Successor {
    run: RunId,
    place: Home,
    _lock: File,
}

impl Successor {
    /// As soon as the one that has the run is gone. Blocks.
    pub fn claim(self) -> Result<RunClaim, HomeError> {
        self.place.claim_within(&self.run, LEAVING)
    }
}

/// The right to work on one run, held as long as this lives.
#[derive(Debug)]
pub struct RunClaim {
    directory: PathBuf,
    place: Home,
    _lock: File,
}

impl RunClaim {
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The state directory it is in.
    pub fn home(&self) -> PathBuf {
        self.place.root().to_owned()
    }

    /// The same, with the store that its logs are in.
    pub(crate) fn place(&self) -> &Home {
        &self.place
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
    fn a_run_that_is_waited_for_is_never_seen_to_be_left() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let run = RunId::parse("abc").unwrap();
        let first = home.claim(&run).unwrap();
        let successor = home.succeed(&run).unwrap();
        assert!(matches!(home.succeed(&run), Err(HomeError::Busy(_))), "one waits for it already");
        drop(first);
        assert!(home.is_live(&run) && !home.is_held(&run));
        assert!(matches!(home.claim(&run), Err(HomeError::Busy(_))), "it is for the one who waits");
        let (waiting, name) = (home.clone(), run.clone());
        let waiting = std::thread::spawn(move || waiting.wait_until_left(&name));
        let second = successor.claim().unwrap();
        assert!(home.is_live(&run) && home.is_held(&run) && !waiting.is_finished());
        drop(second);
        waiting.join().unwrap().unwrap();
        assert!(!home.is_live(&run));
        drop(home.succeed(&run).unwrap());
        assert!(
            !home.is_live(&run) && home.claim(&run).is_ok(),
            "who does not wait any more is not waited for"
        );
    }

    /// As a child that a killed coordinator had forked and that has not become its program yet.
    #[test]
    fn a_lock_that_outlives_its_killed_owner_for_a_moment_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let run = RunId::parse("abc").unwrap();
        drop(home.claim(&run).unwrap());
        let script = "exec 9>>lock; flock 9; sleep 0.5 & kill -KILL $$";
        let mut owner = std::process::Command::new("sh");
        let ended = owner.args(["-c", script]).current_dir(home.run(&run)).status().unwrap();
        assert!(!ended.success() && home.is_live(&run), "the lock is held by what it has left");
        assert!(home.claim(&run).is_ok());
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
