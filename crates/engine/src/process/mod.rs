//! Processes: started in a group of their own, marked, and ended with everything they started.
//!
//! It knows nothing of agents or tasks beyond the mark; what a process is for and what its exit means is not its matter.

mod capacity;
mod children;
mod collecting;
pub mod confinement;
mod control_group;
mod descent;
mod exit;
mod felling;
mod finding;
mod hearing;
pub mod limits;
mod reaper;
mod run_folder;
mod run_processes;
mod running;
pub mod shim;
mod stdin;
mod teardown;
pub mod transcript;
pub mod trash;
mod tree;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::Reached;
use conductor_core::run::event::Processes;
use rustix::process::{Pid, Signal};

pub use capacity::{Capacity, capacity};
pub use children::{adopt_orphans, under_way};
pub(crate) use control_group::current as control_group;
pub(crate) use finding::{installed, on_path};
pub use hearing::{Heard, hear_beside};
use limits::Limits;
use reaper::Reaper;
pub use reaper::watch_over;
pub use run_processes::RunProcesses;
pub use running::Running;
use running::{Outputs, set_up};
pub(crate) use stdin::Stdin;
pub(crate) use teardown::Teardown;
pub(crate) use tree::end_leftovers_but;
pub(crate) use tree::environment_of_attempts;
pub use tree::{Mark, alive, alive_of, described, end_leftovers, exists, inside};

/// How long a process that was asked to end may take before it is made to.
pub const GRACE: Duration = Duration::from_secs(10);

/// What to start and how.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// Shared by all that have the same.
    pub env: Arc<BTreeMap<OsString, OsString>>,
    pub directory: PathBuf,
    /// What its processes may use of the machine together.
    pub limits: Limits,
    /// It is spoken to: its standard input is ours to write to, and its standard output is kept apart.
    pub converses: bool,
    /// What it says on its standard error belongs to what it says.
    pub together: bool,
}

/// What came of a process that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub exit: Exit,
    pub took: Processes,
    /// The limit it was ended for.
    pub reached: Option<Reached>,
}

/// How the main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Exit {
        match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        }
    }
}

/// Where the program is, by the `PATH` it gets: a name that is still to be looked up would have all our memory's tables
/// copied for each process, as it cannot be started in any other way then.
fn located(launch: &Launch) -> Cow<'_, Path> {
    let name = Path::new(&launch.program);
    let is_bare = !launch.program.as_encoded_bytes().contains(&b'/');
    let Some(path) = launch.env.get(OsStr::new("PATH")).filter(|_| is_bare) else {
        return Cow::Borrowed(name);
    };
    // Relative folders depend on the directory the program starts in: the system looks through those.
    let folders = std::env::split_paths(path).take_while(|folder| folder.is_absolute());
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    folders.map(|folder| folder.join(name)).find(is_program).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// What fits into any pipe without a reader.
const PIPE: usize = 4096;

/// Runs a program of our own, such as git, to its end and gives what it said. It is known as long as it lives: a look
/// for stragglers would otherwise take it for one. Blocks.
pub fn run_own(command: &mut Command, input: &[u8]) -> io::Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    tree::mark_own(command);
    let starting = children::starting();
    let mut child = command.spawn()?;
    let number = child.id();
    children::remember(number);
    drop(starting);
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // A program that answers before it has read everything must not wait for us while we wait for it. One that
        // went away early says why by its exit.
        let write = move || stdin.map(|mut stdin| stdin.write_all(input));
        if input.len() > PIPE {
            let writing = std::thread::Builder::new().spawn_scoped(scope, move || drop(write()));
            if let Err(error) = writing {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        } else {
            drop(write());
        }
        child.wait_with_output()
    });
    children::forget(number);
    output
}

/// The same for one that runs programs we do not know: after this long, all of them are ended. Nothing, then. Blocks.
pub fn run_own_within(command: &mut Command, limit: Duration) -> io::Result<Option<Output>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let starting = children::starting();
    let mut child = command.spawn()?;
    let number = child.id();
    children::remember(number);
    drop(starting);
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let (output, late) = std::thread::scope(|scope| {
        let watch = std::thread::Builder::new().spawn_scoped(scope, move || {
            let late = waits.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            if let (true, Some(group)) = (late, pid(number)) {
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
            late
        });
        let watch = match watch {
            Ok(watch) => watch,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return (Err(error), false);
            }
        };
        let output = child.wait_with_output();
        drop(done);
        (output, watch.join().unwrap_or(false))
    });
    children::forget(number);
    output.map(|output| (!late).then_some(output))
}

/// Runs a program that is no part of a run's work, such as one that makes a sound; whether it ended well, and within the
/// time it has, if any. Blocks.
pub fn run_beside(command: &mut Command, limit: Option<Duration>) -> io::Result<bool> {
    const LOOK: Duration = Duration::from_millis(20);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    tree::mark_own(command);
    let starting = children::starting();
    let mut child = command.spawn()?;
    let number = child.id();
    children::remember_beside(number);
    drop(starting);
    let begun = std::time::Instant::now();
    while let (Some(limit), Some(pid)) = (limit, pid(number))
        && !exit::is_over(pid)
    {
        if begun.elapsed() > limit {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
            break;
        }
        std::thread::sleep(LOOK);
    }
    let status = child.wait();
    children::forget_beside(number);
    status.map(|status| status.success())
}

/// A process that is no part of a run's work, as long as this is held. A program that drives runs starts its others so: an
/// unknown child is taken for what an attempt has left, and ended.
pub struct Beside(std::process::Child);

impl Beside {
    pub fn start(command: &mut Command) -> io::Result<Beside> {
        tree::mark_own(command);
        let _starting = children::starting();
        let child = command.spawn()?;
        children::remember_beside(child.id());
        Ok(Beside(child))
    }

    pub fn child(&mut self) -> &mut std::process::Child {
        &mut self.0
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        children::forget_beside(self.0.id());
    }
}

/// What a program says on its standard output, if it ends well within a time. Blocks.
pub fn answer(command: &mut Command, limit: Duration) -> Option<Vec<u8>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    tree::mark_own(command);
    let starting = children::starting();
    let mut child = command.spawn().ok()?;
    let number = child.id();
    children::remember_beside(number);
    drop(starting);
    let said = answered(&mut child, limit);
    children::forget_beside(number);
    said
}

fn answered(child: &mut Child, limit: Duration) -> Option<Vec<u8>> {
    const LOOK: Duration = Duration::from_millis(10);
    let group = pid(child.id())?;
    let begun = std::time::Instant::now();
    while begun.elapsed() < limit && !exit::is_over(group) {
        std::thread::sleep(LOOK);
    }
    // Dead or alive it still holds the group's number, and nothing of it is to keep the pipe open.
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let status = child.wait().ok()?;
    let mut said = Vec::new();
    child.stdout.take()?.read_to_end(&mut said).ok()?;
    status.success().then_some(said)
}

/// Starts a program that may outlive us, and does not wait for it.
pub fn leave_behind(program: &str, args: &[&std::ffi::OsStr]) {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    tree::mark_own(&mut command);
    let _starting = children::starting();
    // One that cannot be started is no loss: its work is done by the next.
    let _ = command.spawn();
}

/// What was freed goes back to the system. The allocator keeps it otherwise, and after a large plan was read that is more than
/// the run needs.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no crate here offers it")]
pub fn give_memory_back() {
    // SAFETY: it touches nothing that is in use, from any thread.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_memory_back() {}

/// Takes as many file descriptors as we may have: each process under way needs a few.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Bytes of memory this machine has, where that can be told.
pub fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(number as i32)
}

#[cfg(test)]
mod tests;
