//! The shim itself: a process that holds one agent, with everything the agent starts, for as long as the agent works.
//!
//! It does one thing at a time and keeps nothing of what the agent says: the agent writes to files itself. While no
//! coordinator is there, it holds the agent to its deadline, to its slice of what the run has left, and to the time within which
//! a coordinator has to come.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use conductor_core::run::event::{Process, Processes};
use conductor_core::schedule::slices::Slice;
use conductor_core::values::units::Millis;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use super::super::control_group::{Group, leave_group_of};
use super::super::limits::{Guard, RunRoots};
use super::super::transcript::Unread;
use super::super::{children, collecting, exit, felling, pid, set_up, tree};
use super::alone::Ending;
use super::callers::Callers;
use super::frames::{Frame, Incoming, Kind};
use super::records::{EndedBy, ExitRecord, SOCKET, Said, ShimRecord, note_alone};
use super::{Address, Meter, Metering, Start, of_shim, passing};
use crate::host::clock::wall;

/// How long a coordinator may take to say who it is, or to take in what it is told.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// How long a coordinator that was announced may take to come. It reads the log of the run first.
const HANDING_OVER: Duration = Duration::from_secs(10);

/// How much is taken in at a time.
const BITE: usize = 64 << 10;

/// From the start of the shim's process to its end. Its standard input is the coordinator, its other two are the agent's.
pub fn keep(folder: &Path, metering: Metering) -> io::Result<()> {
    let mut coordinator = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?);
    // Only what is let go of is seen to be gone at the other side.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let start: Start = Frame::read(&mut coordinator)?.read_json()?;
    let tools = start.brings_tools.then(|| passing::take(&coordinator)).transpose()?;
    children::adopt_orphans();
    leave_group_of(&start.mark.run);
    let group = Group::enter(folder, &start.mark.run);
    match Keeper::start(folder, metering, start, tools, coordinator) {
        Ok(keeper) => keeper.keep(group),
        Err((error, mut coordinator)) => {
            let number = error.raw_os_error().unwrap_or(0) as u64;
            let told =
                Frame::new(Kind::Failed, number, error.to_string().into_bytes()).write(&mut coordinator);
            if let Some(group) = group {
                group.leave();
            }
            told
        }
    }
}

/// Where a coordinator is heard.
struct Link {
    stream: UnixStream,
    incoming: Incoming,
    /// What the coordinators before this one have answered is not said again.
    floor: u64,
}

pub(super) struct Keeper {
    pub(super) folder: PathBuf,
    /// What keeps the agent to its limits, and where that is done.
    guard: Option<Guard>,
    roots: RunRoots,
    pub(super) start: Start,
    pub(super) began: Instant,
    pub(super) agent: Process,
    main: Pid,
    /// Readable when the agent has exited.
    exited: UnixStream,
    pub(super) stdin: Option<ChildStdin>,
    /// Still to be written to it, and whether it is closed behind that.
    pub(super) unsaid: Vec<u8>,
    pub(super) closing: bool,
    pub(super) listener: UnixListener,
    _address: Address,
    pub(super) callers: Callers,
    /// What listens for the agent's calls of tools.
    pub(super) tools: Option<TcpListener>,
    link: Option<Link>,
    pub(super) alone_since: Option<Instant>,
    /// When the time of the run is up, where that has an end.
    pub(super) run_ends: Option<Instant>,
    /// A coordinator is about to come, and is waited for this long.
    pub(super) expects_until: Option<Instant>,
    /// What it may use while it is alone, and who counts that then.
    pub(super) slice: Slice,
    pub(super) metering: Metering,
    pub(super) meter: Option<Box<dyn Meter>>,
    /// There is none that could.
    pub(super) is_uncounted: bool,
    pub(super) ending: Option<Ending>,
    /// Its output and its errors, for as long as no coordinator reads them.
    pub(super) unread: [Unread; 2],
    pub(super) said: Said,
}

impl Keeper {
    fn start(
        folder: &Path,
        metering: Metering,
        start: Start,
        tools: Option<OwnedFd>,
        coordinator: UnixStream,
    ) -> Result<Keeper, (io::Error, UnixStream)> {
        match Keeper::started(folder, metering, start, tools) {
            Ok(mut keeper) => match keeper.welcome_first(coordinator) {
                Ok(()) => Ok(keeper),
                Err((error, coordinator)) => {
                    keeper.kill();
                    Err((error, coordinator))
                }
            },
            Err(error) => Err((error, coordinator)),
        }
    }

    fn started(
        folder: &Path,
        metering: Metering,
        start: Start,
        tools: Option<OwnedFd>,
    ) -> io::Result<Keeper> {
        let address = Address::of(folder).map_err(of_shim)?;
        let _ = std::fs::remove_file(folder.join(SOCKET));
        let listener = UnixListener::bind(&address.path).map_err(of_shim)?;
        listener.set_nonblocking(true)?;
        let launch = start.launch();
        let roots = RunRoots::default();
        let guard = Guard::prepare(&launch.limits, &start.mark, &roots, Some(folder))?;
        let mut command = Command::new(&start.program);
        set_up(&mut command, &launch, &start.mark, guard.as_ref())?;
        command.arg0(&launch.program).stdin(Stdio::piped());
        // Both are as the coordinator has opened them.
        command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
        let mut child = command.spawn()?;
        let number = child.id();
        children::remember(number);
        guard.iter().for_each(|guard| guard.watch(number));
        let main = pid(number).ok_or_else(|| io::Error::other("the process has no number"))?;
        let agent = Process { pid: number, start_time: tree::start_time(number).unwrap_or(0) };
        let stdin = child.stdin.take();
        if let Some(stdin) = &stdin {
            rustix::io::ioctl_fionbio(stdin, true)?;
        }
        let output = if start.converses { Unread::stream() } else { Unread::transcript() };
        let (task, attempt, slice) = (start.mark.task.clone(), start.mark.attempt, start.slice);
        let keeper = Keeper {
            folder: folder.to_owned(),
            guard,
            roots,
            start,
            began: Instant::now(),
            agent,
            main,
            exited: watch_for_exit(main)?,
            stdin,
            unsaid: Vec::new(),
            closing: false,
            listener,
            _address: address,
            callers: Callers::default(),
            tools: tools.map(TcpListener::from),
            link: None,
            alone_since: None,
            run_ends: None,
            expects_until: None,
            slice,
            metering,
            meter: None,
            is_uncounted: false,
            ending: None,
            unread: [output, Unread::transcript()],
            said: Said::default(),
        };
        ShimRecord::of_this_process(task, attempt, agent).write(folder).inspect_err(|_| keeper.kill())?;
        Ok(keeper)
    }

    fn welcome_first(&mut self, mut coordinator: UnixStream) -> Result<(), (io::Error, UnixStream)> {
        let said = Frame::json(Kind::Started, &self.agent).and_then(|frame| frame.write(&mut coordinator));
        match said.and_then(|()| coordinator.try_clone()) {
            Ok(stream) => self.link(stream).map_err(|error| (error, coordinator)),
            Err(error) => Err((error, coordinator)),
        }
    }

    pub(super) fn link(&mut self, stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        self.link = Some(Link { stream, incoming: Incoming::default(), floor: self.said.answered });
        (self.alone_since, self.meter, self.is_uncounted) = (None, None, false);
        self.expects_until = None;
        note_alone(&self.folder, None);
        Ok(())
    }

    fn keep(mut self, group: Option<Group>) -> io::Result<()> {
        let mut kept = Ok(());
        while !exit::is_over(self.main) {
            if let Err(error) = self.turn() {
                // Without us it would be free.
                kept = Err(error);
                self.kill();
                break;
            }
        }
        let ended = self.collect(group)?;
        let _ = std::fs::remove_file(self.folder.join(SOCKET));
        let written = ended.write(&self.folder);
        if let (Some(link), Ok(frame)) = (&mut self.link, Frame::json(Kind::Ended, &ended)) {
            let _ = frame.write(&mut link.stream);
        }
        kept.and(written)
    }

    /// Waits until there is something to do, and does it.
    fn turn(&mut self) -> io::Result<()> {
        self.see_to_the_time();
        let (wants_in, wants_out) = (PollFlags::IN, PollFlags::OUT);
        let stdin = self.stdin.as_ref().filter(|_| !self.unsaid.is_empty());
        let mut fds = vec![PollFd::new(&self.exited, wants_in), PollFd::new(&self.listener, wants_in)];
        fds.extend(self.link.as_ref().map(|link| PollFd::new(&link.stream, wants_in)));
        fds.extend(stdin.map(|stdin| PollFd::new(stdin, wants_out)));
        fds.extend(self.callers.streams().map(|stream| PollFd::new(stream, wants_in)));
        let left = self
            .until_due()
            .map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let speaks = self.link.is_some() && !fds[2].revents().is_empty();
        if speaks {
            self.hear();
        }
        self.answer_the_door();
        self.write_on();
        Ok(())
    }

    pub(super) fn ask(&self) {
        let _ = rustix::process::kill_process_group(self.main, Signal::TERM);
    }

    pub(super) fn kill(&self) {
        let _ = rustix::process::kill_process_group(self.main, Signal::KILL);
        let _ = rustix::process::kill_process(self.main, Signal::KILL);
    }

    /// What the coordinator wants. One that is gone leaves us alone.
    fn hear(&mut self) {
        let Some(mut link) = self.link.take() else { return };
        let mut bytes = vec![0; BITE];
        match link.stream.read(&mut bytes) {
            Ok(read) if read > 0 => link.incoming.add(&bytes[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return self.is_alone(),
        }
        loop {
            match link.incoming.next() {
                Ok(Some(Frame { kind: Kind::Grant, number, bytes })) => {
                    if self.grant(&bytes)
                        && Frame::new(Kind::Granted, number, Vec::new()).write(&mut link.stream).is_err()
                    {
                        return self.is_alone();
                    }
                }
                Ok(Some(Frame { kind: Kind::Leave, .. })) => return self.is_handed_over(),
                Ok(Some(frame)) => self.carry_out(frame, link.floor),
                Ok(None) => break,
                Err(_) => return self.is_alone(),
            }
        }
        self.link = Some(link);
    }

    /// Whether that could be read.
    fn grant(&mut self, slice: &[u8]) -> bool {
        match serde_json::from_slice(slice) {
            Ok(slice) => {
                self.slice = slice;
                true
            }
            Err(_) => false,
        }
    }

    /// What it may use, and for how long, is seen to only where none comes.
    fn is_handed_over(&mut self) {
        self.is_alone();
        self.expects_until = Instant::now().checked_add(HANDING_OVER);
    }

    fn is_alone(&mut self) {
        self.alone_since = Some(Instant::now());
        note_alone(&self.folder, Some(wall()));
    }

    fn carry_out(&mut self, frame: Frame, floor: u64) {
        let Frame { kind, number, bytes } = frame;
        match kind {
            Kind::Say if number != 0 && number <= floor => {}
            Kind::Say => {
                self.said.answered = self.said.answered.max(number);
                self.unsaid.extend(bytes);
            }
            Kind::Close => self.closing = true,
            Kind::Heard => self.said.heard = self.said.heard.max(number),
            Kind::Until => self.run_ends = Instant::now().checked_add(Duration::from_millis(number)),
            Kind::Keep => self.said.kept.push(String::from_utf8_lossy(&bytes).into_owned()),
            _ => {}
        }
    }

    /// Writes as much as the agent takes now.
    fn write_on(&mut self) {
        while let Some(stdin) = self.stdin.as_mut().filter(|_| !self.unsaid.is_empty()) {
            match stdin.write(&self.unsaid) {
                Ok(written) => drop(self.unsaid.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // It has closed it.
                Err(_) => (self.unsaid, self.closing) = (Vec::new(), true),
            }
        }
        if self.closing && self.unsaid.is_empty() {
            self.stdin = None;
        }
    }

    pub(super) fn worked(&self) -> Millis {
        Millis(self.began.elapsed().as_millis() as u64)
    }

    /// After the agent: ends what is left of it, and says how it was.
    fn collect(&mut self, group: Option<Group>) -> io::Result<ExitRecord> {
        self.kill();
        self.guard.iter().for_each(Guard::over);
        let (status, mut took): (ExitStatus, Processes) = collecting::collect(self.main)?;
        children::forget(self.agent.pid);
        let reached = self.guard.take().and_then(|guard| guard.finish(status.into(), &mut took));
        self.roots.leave();
        // All of it at once, where there is a group; what has left that is found by its parents.
        if let Some(group) = group {
            group.leave();
        }
        let survived = felling::end_all_below_us() as u32;
        let length = rustix::fs::fstat(io::stdout()).map_or(0, |stat| stat.st_size as u64);
        let said = Said { worked: self.worked(), ..std::mem::take(&mut self.said) };
        Ok(ExitRecord {
            code: status.code(),
            signal: std::os::unix::process::ExitStatusExt::signal(&status),
            took,
            length,
            ended_by: self.ending.map_or(EndedBy::Itself, |ending| ending.why),
            agent: self.agent,
            state: said,
            reached,
            survived,
        })
    }
}

/// What the other side reads the end of when a process has exited; it is still to be collected then.
fn watch_for_exit(main: Pid) -> io::Result<UnixStream> {
    const STACK: usize = 64 << 10;
    let (ours, theirs) = UnixStream::pair()?;
    let waiting = move || {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let _held = theirs;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(main), options) {}
    };
    std::thread::Builder::new().stack_size(STACK).spawn(waiting)?;
    Ok(ours)
}

/// The agent's words are not for the shim's own standard output.
pub fn silence(error: &io::Error, folder: &Path) {
    let line = format!("{error}\n");
    let _ = File::create(folder.join("trouble")).and_then(|mut file| file.write_all(line.as_bytes()));
}
