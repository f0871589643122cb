//! What happens to a run from outside: kills, a store that is locked, a full disk, a terminal that goes away, and a user
//! who goes on working.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::process::Signal;

use super::Round;
use super::disk::SmallDisk;
use super::truth::{User, deaf};
use crate::harness::{Ended, Live, World};
use crate::odd::Place;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disturbance {
    Kill,
    Interrupt,
    Terminate,
    LockStore(u64),
    FillDisk(u64),
    CloseTerminal,
    Freeze(u64),
    UserCommits,
    UserEdits,
    UserAddsFile,
    UserPacks,
    UserPrunesWorktrees,
    UserBranches,
    UserLooks,
}

impl Disturbance {
    pub(super) fn draw(rng: &mut Rng, small_disk: bool) -> Disturbance {
        match rng.u32(..17) {
            0..=2 => Disturbance::Kill,
            3 => Disturbance::Interrupt,
            4 => Disturbance::Terminate,
            5 => Disturbance::LockStore(rng.u64(200..2500)),
            6 if small_disk => Disturbance::FillDisk(rng.u64(200..1500)),
            7 => Disturbance::CloseTerminal,
            8 => Disturbance::Freeze(rng.u64(100..1000)),
            9 | 10 => Disturbance::UserCommits,
            11 => Disturbance::UserEdits,
            12 => Disturbance::UserAddsFile,
            13 => Disturbance::UserPacks,
            14 => Disturbance::UserPrunesWorktrees,
            15 => Disturbance::UserBranches,
            _ => Disturbance::UserLooks,
        }
    }

    pub(super) fn play(
        self,
        world: &World,
        place: &Place,
        disk: Option<&SmallDisk>,
        session: &mut Session,
        user: &mut User,
    ) {
        match self {
            Disturbance::Kill => session.kill(),
            Disturbance::Interrupt => session.signal(Signal::INT),
            Disturbance::Terminate => session.signal(Signal::TERM),
            Disturbance::LockStore(millis) => lock_store(world, millis),
            Disturbance::FillDisk(millis) => {
                disk.inspect(|disk| disk.fill());
                std::thread::sleep(Duration::from_millis(millis));
                disk.inspect(|disk| disk.make_room());
            }
            Disturbance::CloseTerminal => session.close_terminal(),
            Disturbance::Freeze(millis) => {
                session.signal(Signal::STOP);
                std::thread::sleep(Duration::from_millis(millis));
                session.signal(Signal::CONT);
            }
            Disturbance::UserCommits => user.commits(world, place),
            Disturbance::UserEdits => user.edits(place),
            Disturbance::UserAddsFile => user.adds_file(place),
            Disturbance::UserPacks => drop(place.try_git(world, &deaf(&["pack-refs", "--all"]))),
            Disturbance::UserPrunesWorktrees => drop(place.try_git(world, &deaf(&["worktree", "prune"]))),
            Disturbance::UserBranches => user.branches(world, place),
            Disturbance::UserLooks => {
                for args in [&["status"][..], &["runs", "list"]] {
                    place.start(world, args).ended_within(Duration::from_secs(30));
                }
            }
        }
    }
}

/// Another program holds the write lock for a while. Where there is no database yet, there is nothing to lock.
fn lock_store(world: &World, millis: u64) {
    let script = format!("BEGIN IMMEDIATE;\n.shell sleep {}\nROLLBACK;\n", millis as f64 / 1000.0);
    if world.database().exists() {
        let mut command = world.command_of("sqlite3");
        command.args(["-cmd", ".timeout 2000"]).arg(world.database()).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let _ = child.wait();
    }
}

/// The program at work on a round's run, at a terminal that can be taken away.
pub(super) struct Session {
    live: Live,
    terminal: Option<Terminal>,
    was_killed: bool,
}

impl Session {
    pub(super) fn begin(round: &Round, world: &World, place: &Place, file: &Path) -> Session {
        let (file, slots) = (file.display().to_string(), round.slots.to_string());
        let mut args = vec!["run", &file, "-p", &slots, "--conflict-monitor", "300ms"];
        if round.home {
            args.extend(["--merge", "branch"]);
        }
        if round.clone {
            args.extend(["--isolation", "clone"]);
        }
        let (ours, theirs) = open_terminal();
        let live = world.spawn_at(&mut place.command(world, &args), theirs);
        let terminal = Terminal::read(ours, live.stderr_file());
        Session { live, terminal: Some(terminal), was_killed: false }
    }

    /// Waits, or less where it has ended.
    pub(super) fn live_until(&mut self, end: Instant) {
        while Instant::now() < end && self.live.is_running() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn signal(&mut self, signal: Signal) {
        if self.live.is_running() {
            self.live.signal(signal);
        }
    }

    fn kill(&mut self) {
        let _ = self.live.child.kill();
        let ended = self.live.child.wait().unwrap();
        self.was_killed = ended.signal() == Some(Signal::KILL.as_raw());
    }

    /// Whether a kill found it at work: one that comes after the end shows nothing.
    pub(super) fn was_killed(&self) -> bool {
        self.was_killed
    }

    fn close_terminal(&mut self) {
        self.terminal = None;
    }

    pub(super) fn ended(self) -> Ended {
        self.live.ended()
    }
}

/// Reads what a terminal shows into a file until it is closed.
struct Terminal {
    closed: Arc<AtomicBool>,
    reading: Option<JoinHandle<()>>,
}

impl Terminal {
    fn read(ours: OwnedFd, mut into: File) -> Terminal {
        let closed = Arc::new(AtomicBool::new(false));
        let over = closed.clone();
        let reading = std::thread::spawn(move || {
            rustix::io::ioctl_fionbio(&ours, true).unwrap();
            let mut buffer = [0; 4096];
            while !over.load(Ordering::Relaxed) {
                match rustix::io::read(&ours, &mut buffer) {
                    Ok(length) if length > 0 => into.write_all(&buffer[..length]).unwrap(),
                    _ => std::thread::sleep(Duration::from_millis(5)),
                }
            }
        });
        Terminal { closed, reading: Some(reading) }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        let _ = self.reading.take().map(JoinHandle::join);
    }
}

/// A terminal that no process has for its own: closing it sends no signal, and writing to it fails from then on.
fn open_terminal() -> (OwnedFd, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let noctty = rustix::fs::OFlags::NOCTTY.bits() as i32;
    let theirs = File::options().read(true).write(true).custom_flags(noctty).open(name).unwrap();
    (ours, theirs)
}
