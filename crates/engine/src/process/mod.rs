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
mod finding;
mod hearing;
mod reaper;
mod run_processes;
pub mod shim;
mod stdin;
mod teardown;
pub mod transcript;
pub mod trash;
mod tree;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::run::event::{Process as ProcessName, Processes};
use rustix::process::{Pid, Signal};

pub use capacity::{Capacity, capacity};
use children::OfAttempt;
pub use children::{adopt_orphans, under_way};
pub(crate) use control_group::current as control_group;
pub(crate) use finding::{installed, on_path};
pub use hearing::{Heard, hear_beside};
use reaper::Reaper;
pub use reaper::watch_over;
pub use run_processes::RunProcesses;
use shim::{Notes, ShimLink, Through};
pub(crate) use stdin::Stdin;
pub(crate) use teardown::Teardown;
pub(crate) use tree::end_leftovers_but;
pub(crate) use tree::environment_of_attempts;
pub use tree::{Mark, alive, described, end_leftovers, exists, inside};

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
    /// Bytes of memory any one of its processes may use.
    pub memory: Option<u64>,
    /// It is spoken to: its standard input is ours to write to, and its standard output is kept apart.
    pub converses: bool,
    /// What it says on its standard error belongs to what it says.
    pub together: bool,
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

/// Where a process writes to: what it says, and what it says of mistakes.
pub(crate) struct Outputs {
    output: File,
    errors: File,
}

impl Outputs {
    /// Both go to `errors`, or what it says to `stream`.
    fn of(launch: &Launch, errors: File, stream: Option<File>) -> io::Result<Outputs> {
        let output = match stream {
            Some(stream) => stream,
            None => errors.try_clone()?,
        };
        let errors = if launch.together { output.try_clone()? } else { errors };
        Ok(Outputs { output, errors })
    }
}

/// A running process and all that came of it.
#[derive(Debug)]
pub struct Running {
    held: Held,
    mark: Mark,
    processes: Arc<RunProcesses>,
    /// Its main process has been collected: the number may be another's by now.
    is_over: bool,
}

/// Who waits for the main process.
#[derive(Debug)]
enum Held {
    Us {
        child: Child,
        group: Pid,
    },
    Shim(ShimLink),
    /// It is over.
    Nothing,
}

impl Running {
    /// Starts it with both outputs going to `errors`, or what it says going to `stream`; by a shim, if it is to outlive us.
    pub(crate) fn start(
        processes: &Arc<RunProcesses>,
        launch: &Launch,
        mark: Mark,
        (errors, stream): (File, Option<File>),
        through: Option<&Through>,
    ) -> io::Result<Running> {
        let outputs = Outputs::of(launch, errors, stream)?;
        let held = match through {
            Some(through) => Held::Shim(ShimLink::start(through, launch, &mark, outputs)?),
            None => held_by_us(launch, &mark, outputs)?,
        };
        Ok(Running { held, mark, processes: processes.clone(), is_over: false })
    }

    /// One that a shim holds, which another coordinator has started.
    pub(crate) fn attached(processes: &Arc<RunProcesses>, link: ShimLink, mark: Mark) -> Running {
        Running { held: Held::Shim(link), mark, processes: processes.clone(), is_over: false }
    }

    pub fn pid(&self) -> u32 {
        self.name().pid
    }

    pub fn name(&self) -> ProcessName {
        match &self.held {
            Held::Us { child, .. } => {
                let pid = child.id();
                ProcessName { pid, start_time: tree::start_time(pid).unwrap_or(0) }
            }
            Held::Shim(link) => link.agent(),
            Held::Nothing => ProcessName { pid: 0, start_time: 0 },
        }
    }

    /// What is written to its standard input.
    pub(crate) fn take_stdin(&mut self) -> Option<Stdin> {
        match &mut self.held {
            Held::Us { child, .. } => child.stdin.take().map(Stdin::of_pipe),
            Held::Shim(link) => Some(Stdin::Shim(link.notes())),
            Held::Nothing => None,
        }
    }

    /// For what the next coordinator is to know, where there may be one.
    pub(crate) fn notes(&self) -> Option<Notes> {
        match &self.held {
            Held::Shim(link) => Some(link.notes()),
            Held::Us { .. } | Held::Nothing => None,
        }
    }

    /// Waits for the main process. Safe to drop and call again.
    pub async fn exited(&self) -> io::Result<()> {
        match &self.held {
            Held::Us { group, .. } => exit::exited(*group).await,
            Held::Shim(link) => {
                link.exited().await;
                Ok(())
            }
            Held::Nothing => Ok(()),
        }
    }

    /// Whether the shim that held it was ended, and nothing tells how the process itself has.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(&self.held, Held::Shim(link) if link.is_lost())
    }

    /// Asks the whole group to end.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        match &self.held {
            Held::Us { group, .. } => drop(rustix::process::kill_process_group(*group, signal)),
            Held::Shim(link) => link.signal(signal),
            Held::Nothing => {}
        }
    }

    /// Kills the whole tree, daemons included, and waits for the main process to be gone.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.signal(Signal::KILL);
        match &mut self.held {
            Held::Us { child, .. } => drop(child.kill()),
            Held::Shim(link) => link.kill().await,
            Held::Nothing => {}
        }
        self.exited().await?;
        self.processes.sweep(&self.mark).await;
        Ok(())
    }

    /// After the main process has exited: ends what is left of its group, collects it, and sees to stragglers.
    pub async fn finish(mut self, lived: Duration) -> io::Result<(Exit, Processes)> {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Us { child, group } => {
                // The dead main process still holds the group's number, so this cannot hit a stranger.
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
                let collected = collecting::collect(group);
                self.is_over = true;
                let (status, took) = collected?;
                children::forget(child.id());
                self.processes.sweep_soon(&self.mark, lived).await;
                Ok((status.into(), took))
            }
            Held::Shim(link) => {
                self.is_over = true;
                let (exit, took) = link.finish(&self.mark).await?;
                // Nothing is left where its shim has seen to that.
                self.processes.sweep_soon(&self.mark, Duration::ZERO).await;
                Ok((exit, took))
            }
            Held::Nothing => Err(io::Error::other("it is over already")),
        }
    }
}

fn held_by_us(launch: &Launch, mark: &Mark, Outputs { output, errors }: Outputs) -> io::Result<Held> {
    let mut command = Command::new(&*located(launch));
    set_up(&mut command, launch, mark);
    command
        .arg0(&launch.program)
        .stdin(if launch.converses { Stdio::piped() } else { Stdio::null() })
        .stdout(output)
        .stderr(errors);
    let starting = children::starting();
    let child = command.spawn()?;
    let of = OfAttempt { mark: mark.clone(), converses: launch.converses, shim: None };
    children::remember_attempt(child.id(), of);
    drop(starting);
    let group = pid(child.id()).ok_or_else(|| io::Error::other("the process has no number"))?;
    Ok(Held::Us { child, group })
}

/// Everything about a process of an attempt but where it reads from and writes to.
fn set_up(command: &mut Command, launch: &Launch, mark: &Mark) {
    command
        .args(&launch.args)
        .env_clear()
        .envs(launch.env.iter())
        .envs(mark.variables(launch.converses))
        .current_dir(&launch.directory)
        .process_group(0);
    if let Some(bytes) = launch.memory {
        limit_memory(command, bytes);
    }
}

/// One that is let go of before its end, by an error or a panic, does not go on.
impl Drop for Running {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        match &mut self.held {
            Held::Us { child, group } => {
                let _ = rustix::process::kill_process_group(*group, Signal::KILL);
                let _ = child.kill();
                let _ = child.wait();
                children::forget(child.id());
            }
            Held::Shim(link) if self.processes.are_let_go() => link.let_go(),
            Held::Shim(link) => link.abandon(),
            Held::Nothing => {}
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

/// Set before the program begins: set from outside a moment later, what the program had started by then would be free.
#[expect(unsafe_code, reason = "what runs between fork and exec has to be vouched for")]
fn limit_memory(command: &mut Command, bytes: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let most = getrlimit(Resource::Data).maximum.map_or(bytes, |most| most.min(bytes));
    let set = move || {
        let _ = setrlimit(Resource::Data, Rlimit { current: Some(most), maximum: Some(most) });
        Ok(())
    };
    // SAFETY: one system call; it takes no lock and allocates nothing.
    unsafe { command.pre_exec(set) };
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
