//! The coordinator's side: starts a shim, or takes hold of one that another coordinator has started.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use conductor_core::run::event::{Process, Processes};
use conductor_core::schedule::slices::Slice;
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::Millis;
use rustix::process::Signal;
use tokio::sync::watch;

use super::super::children::{self, OfAttempt};
use super::super::control_group::LeftGroups;
use super::super::{Ended, Exit, Launch, Mark, Outputs, exit, located, pid, tree};
use super::frames::{Frame, KNOWS_UNTIL, Kind, READS, VERSION};
use super::records::{EndedBy, ExitRecord, Said, ShimRecord};
use super::{Address, COMMAND, Hello, Start, Welcome, of_shim, passing};

/// How long a shim may take to answer. It has nothing else to do; one that was stopped does not answer at all.
const PATIENCE: Duration = Duration::from_secs(2);

/// A start loads two programs, maybe on a machine that has no time.
const STARTING: Duration = Duration::from_secs(30);

/// How long an agent that was killed may take until its shim says so.
const DYING: Duration = Duration::from_secs(5);

/// By which shim an agent is started.
#[derive(Debug, Clone)]
pub(crate) struct Through {
    /// The program that is a shim, where it is told so.
    pub(crate) program: PathBuf,
    /// There already, and for this shim alone.
    pub(crate) folder: PathBuf,
    /// Only the coordinator that knows it can take hold of the agent later.
    pub(crate) secret: String,
    pub(crate) grace: Millis,
    pub(crate) deadline: Option<Millis>,
    /// What the agent may use without a coordinator, until it is known how much that is.
    pub(crate) slice: Slice,
    /// What listens for the agent's calls of tools.
    pub(crate) tools: Option<Arc<OwnedFd>>,
}

/// How it ended, as far as is known here.
#[derive(Debug, Clone)]
enum End {
    Exited(Box<ExitRecord>),
    /// The shim is gone, and nothing tells how its agent has ended.
    Lost,
}

/// What the shim is told beside what is for the agent.
#[derive(Debug, Clone)]
pub(crate) struct Notes {
    frames: mpsc::Sender<Frame>,
    /// Of what the shim understands.
    version: u32,
    /// The newest grant that holds.
    confirmed: Arc<AtomicU64>,
}

impl Notes {
    pub(crate) fn grant(&self, number: u64, slice: &Slice) {
        if let Ok(bytes) = serde_json::to_vec(slice) {
            let _ = self.frames.send(Frame::new(Kind::Grant, number, bytes));
        }
    }

    /// How much of the run's time is left; nothing where that has no end.
    pub(crate) fn until(&self, left: Option<Duration>) {
        if self.version >= KNOWS_UNTIL {
            let left = left.map_or(u64::MAX, |left| left.as_millis() as u64);
            let _ = self.frames.send(Frame::new(Kind::Until, left, Vec::new()));
        }
    }

    pub(crate) fn confirmed(&self) -> u64 {
        self.confirmed.load(Ordering::Acquire)
    }

    pub(crate) fn heard(&self, place: u64) {
        let _ = self.frames.send(Frame::new(Kind::Heard, place, Vec::new()));
    }

    pub(crate) fn keep(&self, note: String) {
        let _ = self.frames.send(Frame::new(Kind::Keep, 0, note.into_bytes()));
    }

    pub(in super::super) fn say(&self, place: Option<u64>, bytes: Vec<u8>) {
        let number = place.map_or(0, |place| place + 1);
        let _ = self.frames.send(Frame::new(Kind::Say, number, bytes));
    }

    pub(in super::super) fn close(&self) {
        let _ = self.frames.send(Frame::bare(Kind::Close));
    }
}

/// Who holds whom, and what that may use.
struct Held {
    agent: Process,
    shim: Process,
    version: u32,
    slice: Slice,
}

/// An agent that a shim holds.
#[derive(Debug)]
pub(crate) struct ShimLink {
    folder: PathBuf,
    agent: Process,
    shim: Option<Process>,
    /// Where it is a child of ours.
    child: Option<Child>,
    stream: Option<UnixStream>,
    notes: Notes,
    /// What it was started with, or held when it was taken hold of.
    slice: Slice,
    end: watch::Receiver<Option<End>>,
    /// It is for another coordinator to take hold of.
    is_let_go: bool,
}

impl ShimLink {
    pub(in super::super) fn start(
        through: &Through,
        launch: &Launch,
        mark: &Mark,
        Outputs { output, errors }: Outputs,
    ) -> io::Result<ShimLink> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&through.program);
        command.arg(COMMAND).arg(&through.folder).env_clear().envs(mark.of_shim(&through.folder));
        command.current_dir("/").stdin(OwnedFd::from(theirs)).stdout(output).stderr(errors).process_group(0);
        let starting = children::starting();
        let mut child = command.spawn().map_err(of_shim)?;
        let number = child.id();
        let start_time = tree::start_time(number).unwrap_or(0);
        let shim = Process { pid: number, start_time };
        remember(shim, mark);
        drop(starting);
        drop(command);
        match begin(&ours, through, launch, mark) {
            Ok(agent) => {
                let held = Held { agent, shim, version: VERSION, slice: through.slice };
                ShimLink::over(&through.folder, held, Some(child), ours)
            }
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                children::forget(number);
                Err(error)
            }
        }
    }

    fn over(folder: &Path, held: Held, child: Option<Child>, stream: UnixStream) -> io::Result<ShimLink> {
        let Held { agent, shim, version, slice } = held;
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(None)?;
        let (notes, to_say) = mpsc::channel::<Frame>();
        let mut writing = stream.try_clone()?;
        let write = move || {
            while let Ok(frame) = to_say.recv() {
                if frame.write(&mut writing).is_err() {
                    return;
                }
            }
        };
        let (ended, end) = watch::channel(None);
        let confirmed = Arc::new(AtomicU64::new(0));
        let hears = confirmed.clone();
        let (mut reading, place) = (stream.try_clone()?, folder.to_owned());
        let read = move || {
            let end = loop {
                match Frame::read(&mut reading) {
                    Ok(frame) if frame.kind == Kind::Ended => break frame.read_json().ok(),
                    Ok(frame) if frame.kind == Kind::Granted => hears.store(frame.number, Ordering::Release),
                    Ok(_) => {}
                    Err(_) => break ExitRecord::read(&place),
                }
            };
            let _ = ended.send(Some(end.map_or(End::Lost, |record| End::Exited(Box::new(record)))));
        };
        std::thread::Builder::new().name("to shim".into()).spawn(write)?;
        std::thread::Builder::new().name("from shim".into()).spawn(read)?;
        let (folder, stream, shim) = (folder.to_owned(), Some(stream), Some(shim));
        let notes = Notes { frames: notes, version, confirmed };
        Ok(ShimLink { folder, agent, shim, child, stream, notes, slice, end, is_let_go: false })
    }

    /// One that has ended while no coordinator was there.
    fn ended(folder: &Path, record: ExitRecord) -> ShimLink {
        let agent = record.agent;
        let (_, end) = watch::channel(Some(End::Exited(Box::new(record))));
        let notes = Notes { frames: mpsc::channel().0, version: VERSION, confirmed: Arc::default() };
        let (folder, slice) = (folder.to_owned(), Slice::WITHOUT_END);
        let (shim, child, stream, is_let_go) = (None, None, None, false);
        ShimLink { folder, agent, shim, child, stream, notes, slice, end, is_let_go }
    }

    /// How long the agent's output was when it ended; nothing while it goes on.
    pub(crate) fn length(&self) -> Option<u64> {
        match &*self.end.borrow() {
            Some(End::Exited(record)) => Some(record.length),
            Some(End::Lost) | None => None,
        }
    }

    pub(in super::super) fn agent(&self) -> Process {
        self.agent
    }

    pub(in super::super) fn notes(&self) -> Notes {
        self.notes.clone()
    }

    pub(in super::super) fn slice(&self) -> Slice {
        self.slice
    }

    pub(in super::super) async fn exited(&self) {
        let mut end = self.end.clone();
        // Where the other side is dropped, it has told the end before.
        let _ = end.wait_for(Option::is_some).await;
    }

    pub(in super::super) fn signal(&self, signal: Signal) {
        if self.end.borrow().is_none() {
            tree::end_group(self.agent, signal);
        }
    }

    /// The shim ends the rest of the tree. One that does not do even that goes, too.
    pub(in super::super) async fn kill(&self) {
        self.signal(Signal::KILL);
        if tokio::time::timeout(DYING, self.exited()).await.is_err() {
            self.kill_shim();
            self.exited().await;
        }
    }

    /// Leaves the agent to its shim, which has taken in all that was said by then when this returns. One that does not answer
    /// is left all the same: the next coordinator deals with it.
    pub(in super::super) async fn let_go(&mut self) {
        self.is_let_go = true;
        let _ = self.notes.frames.send(Frame::bare(Kind::Leave));
        let _ = tokio::time::timeout(PATIENCE, self.exited()).await;
    }

    fn kill_shim(&self) {
        let is_that = |shim: &Process| tree::start_time(shim.pid) == Some(shim.start_time);
        if let Some(shim) = self.shim.filter(is_that) {
            tree::kill(shim.pid);
        }
    }

    pub(in super::super) fn is_lost(&self) -> bool {
        matches!(*self.end.borrow(), Some(End::Lost))
    }

    /// After its end: nothing of it is left behind.
    pub(in super::super) async fn finish(mut self, mark: &Mark) -> io::Result<Ended> {
        let end = self.end.borrow().clone();
        let is_there = |shim: &Process| tree::start_time(shim.pid) == Some(shim.start_time);
        if let Some(number) = self.shim.filter(is_there).and_then(|shim| pid(shim.pid)) {
            let _ = tokio::time::timeout(DYING, exit::exited(number)).await;
        }
        if let Some(child) = &mut self.child {
            child.wait()?;
        }
        let is_left = match &end {
            Some(End::Exited(record)) => record.survived > 0,
            None | Some(End::Lost) => true,
        };
        if is_left {
            let (mark, folder) = (mark.clone(), self.folder.clone());
            let _ = tokio::task::spawn_blocking(move || end_held(&mark, &folder)).await;
        }
        self.forget();
        Ok(match end {
            Some(End::Exited(record)) => {
                Ended { exit: record.exit(), took: record.took, reached: record.reached }
            }
            None | Some(End::Lost) => {
                let exit = Exit::Signal(Signal::KILL.as_raw());
                Ended { exit, took: Processes::default(), reached: None }
            }
        })
    }

    fn forget(&self) {
        self.shim.inspect(|shim| children::forget(shim.pid));
    }
}

/// One that is let go of before its end, by an error or a panic, does not go on.
impl Drop for ShimLink {
    fn drop(&mut self) {
        if !self.is_let_go {
            self.signal(Signal::KILL);
        }
        self.forget();
        // The threads that read and write are let out.
        self.stream.as_ref().inspect(|stream| drop(stream.shutdown(std::net::Shutdown::Both)));
    }
}

fn remember(shim: Process, mark: &Mark) {
    let name = format!("{}.{}", shim.pid, shim.start_time);
    children::remember_attempt(shim.pid, OfAttempt { mark: mark.clone(), converses: true, shim: Some(name) });
}

/// Tells the shim what to start, and waits until that is started.
fn begin(mut stream: &UnixStream, through: &Through, launch: &Launch, mark: &Mark) -> io::Result<Process> {
    stream.set_read_timeout(Some(STARTING))?;
    let start = Start {
        secret: through.secret.clone(),
        mark: mark.clone(),
        program: located(launch).into_owned(),
        name: launch.program.clone(),
        args: launch.args.clone(),
        env: launch.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        directory: launch.directory.clone(),
        limits: launch.limits.clone(),
        grace: through.grace,
        deadline: through.deadline,
        slice: through.slice,
        converses: launch.converses,
        brings_tools: through.tools.is_some(),
    };
    Frame::json(Kind::Start, &start)?.write(&mut stream).map_err(of_shim)?;
    if let Some(tools) = &through.tools {
        passing::give(stream, tools.as_fd()).map_err(of_shim)?;
    }
    let answer = Frame::read(&mut stream).map_err(of_shim)?;
    match answer.kind {
        Kind::Started => answer.read_json(),
        Kind::Failed if answer.number != 0 => Err(io::Error::from_raw_os_error(answer.number as i32)),
        _ => Err(io::Error::other(String::from_utf8_lossy(&answer.bytes).into_owned())),
    }
}

/// What a shim that was killed has left, or could not end.
fn end_held(mark: &Mark, folder: &Path) {
    tree::end_attempt(mark);
    LeftGroups::of(folder, None).end();
    if let Some(run) = folder.parent().and_then(Path::parent) {
        tree::end_recorded(run);
    }
}

/// An agent that another coordinator had engaged, and what its shim knows of it.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) link: ShimLink,
    pub(crate) said: Said,
    /// Where its calls of tools wait.
    pub(crate) tools: Option<OwnedFd>,
    /// The shim and its folder, where it lives.
    pub(crate) spared: Option<(PathBuf, String)>,
}

/// Takes hold of it, if it lives and goes on, or has come to its end by itself. Blocks.
pub(crate) fn attach(folder: &Path, secret: &str, mark: &Mark) -> Option<Attached> {
    let left = || ExitRecord::read(folder).and_then(|record| after(folder, record));
    left().or_else(|| taken(folder, secret, mark).ok().flatten()).or_else(left)
}

/// Why its shim has ended an agent while no coordinator was there, if it has.
pub(crate) fn why_ended(folder: &Path) -> Option<&'static str> {
    match ExitRecord::read(folder)?.ended_by {
        EndedBy::Itself => None,
        EndedBy::Grace => Some("was ended: no coordinator came within its orphan_grace"),
        EndedBy::Deadline => Some("was ended without a coordinator: its time-out was reached"),
        EndedBy::RunTime => Some("was ended without a coordinator: the time of the run was up"),
        EndedBy::Budget => {
            Some("was ended without a coordinator: it had used its part of what the caps leave")
        }
        EndedBy::Uncounted => {
            Some("was ended without a coordinator: a cap holds, and it does not tell what it uses")
        }
    }
}

fn after(folder: &Path, record: ExitRecord) -> Option<Attached> {
    let said = record.state.clone();
    (record.ended_by == EndedBy::Itself).then(|| {
        let link = ShimLink::ended(folder, record);
        Attached { link, said, tools: None, spared: None }
    })
}

fn taken(folder: &Path, secret: &str, mark: &Mark) -> io::Result<Option<Attached>> {
    let Some(record) = ShimRecord::read(folder).filter(ShimRecord::lives) else { return Ok(None) };
    let address = Address::of(folder)?;
    let mut stream = UnixStream::connect(&address.path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (task, attempt): (TaskId, Attempt) = (mark.task.clone(), mark.attempt);
    let hello = Hello { secret: secret.to_owned(), task, attempt };
    Frame::json(Kind::Hello, &hello)?.write(&mut stream)?;
    let welcome: Welcome = Frame::read(&mut stream)?.read_json()?;
    let tools = welcome.has_tools.then(|| passing::take(&stream)).transpose()?;
    if !READS.contains(&welcome.version) || welcome.agent != record.agent || welcome.ending.is_some() {
        return Ok(None);
    }
    remember(record.shim, mark);
    let Welcome { version, slice, .. } = welcome;
    let held = Held { agent: record.agent, shim: record.shim, version, slice };
    let link = ShimLink::over(folder, held, None, stream)?;
    let spared = Some((folder.to_owned(), record.name()));
    Ok(Some(Attached { link, said: welcome.said, tools, spared }))
}

/// A folder for a new shim: nothing of the one before is left in it.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    crate::host::access::create_private_dir_all(folder)
}
