//! Confinement brought about: a program that was to be started is started within what its attempt may see.
//!
//! A `Launch` becomes another one, so that what starts, stops and finds processes knows nothing of it. The core says what
//! is reached (`conductor_core::confinement`); here are the ways to see to that, the strongest first, and the probe that
//! tells which of them this machine has.

mod bwrap;
mod facts;
mod files;
mod held;
pub mod inner;
mod landlock;
mod probe;
pub mod proxy;
mod seccomp;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use conductor_core::confinement::Confinement;
use conductor_core::plan::SandboxMode;

use super::{Exit, Launch};
pub use facts::{Works, executable, plain, surroundings};
pub use files::Place;
pub use probe::{Findings, findings};
pub use proxy::Hearer;
use proxy::Proxy;

/// A way to confine, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Namespaces: what is not named is not there.
    Bubblewrap,
    /// Rules of the kernel's: what is not opened refuses. docs/security.md lists what they leave open.
    Landlock,
    None,
}

impl Tier {
    pub fn name(self) -> &'static str {
        match self {
            Tier::Bubblewrap => "bwrap",
            Tier::Landlock => "landlock",
            Tier::None => "none",
        }
    }

    /// Whether a task that is to be confined in this way is: one that must be gets the strongest, or does not start.
    pub fn is_enough_for(self, mode: SandboxMode) -> bool {
        match mode {
            SandboxMode::Require => self == Tier::Bubblewrap,
            SandboxMode::Prefer => self != Tier::None,
            SandboxMode::Off => true,
        }
    }

    /// What is kept from an agent, in words.
    pub fn stops(self) -> &'static str {
        match self {
            Tier::Bubblewrap => {
                "files beside its workspace, its tools and its own sign-in, other processes, or sockets of this machine's programs"
            }
            Tier::Landlock => {
                "files beside its workspace, its tools and its own sign-in, or sockets of this machine's programs"
            }
            Tier::None => "nothing: its agent reaches all that you can",
        }
    }
}

impl Tier {
    /// What stays open all the same, in words; of all of it, what users would not expect.
    pub fn leaves(self) -> &'static str {
        match self {
            Tier::Bubblewrap => {
                "it reads its own sign-in and conversations, and `verify:` and `setup:` run unconfined what it wrote"
            }
            Tier::Landlock => {
                "it reads its own sign-in, and writes settings of git and of agents in its workspace that your own then go by"
            }
            Tier::None => "everything",
        }
    }

    /// Whether it keeps to what of the network is asked for: rules know ports, no hosts.
    pub fn limits(self, confinement: &Confinement) -> bool {
        match self {
            Tier::Bubblewrap => true,
            Tier::Landlock => confinement.reach.is_none() || confinement.is_offline(),
            Tier::None => confinement.reach.is_none(),
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The program that is started inside, before the agent's own.
static INNER: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Says by which program, with which word, `inner::run` is reached. Without it nothing is confined.
pub fn inner_is(program: PathBuf, word: &str) {
    let _ = INNER.set(vec![program, PathBuf::from(word)]);
}

fn inner_program() -> Option<&'static [PathBuf]> {
    INNER.get().map(Vec::as_slice)
}

/// The same, to be started confined. It is to be held as long as the process lives.
pub struct Confined {
    pub launch: Launch,
    proxy: Option<Proxy>,
}

impl Confined {
    /// Its way to the network is in this process: it cannot work on without it.
    pub fn needs_us(&self) -> bool {
        self.proxy.is_some()
    }
}

/// `place` is where its files are; it must outlive the process. With a limited network, `hearer` is told of every connection.
pub fn confined(
    launch: &Launch,
    confinement: &Confinement,
    place: &Place,
    hearer: Hearer,
) -> io::Result<Confined> {
    let found = findings();
    let Some(within) = inner_program() else { return Err(unavailable(found)) };
    let (bwrap, socket) = match (found.tier, &found.bwrap) {
        (Tier::Bubblewrap, Some(bwrap)) => (bwrap, place.socket()),
        (Tier::Landlock, _) => {
            let launch = landlock::launch(within, launch, confinement, place)?;
            return Ok(Confined { launch, proxy: None });
        }
        _ => return Err(unavailable(found)),
    };
    // Where nothing is reached there is nothing to ask.
    let rules = confinement.reach.as_ref().filter(|rules| !rules.is_empty());
    let socket = rules.map(|_| socket);
    let proxy = match (rules, &socket) {
        (Some(rules), Some(socket)) => Some(Proxy::start(socket, rules.clone(), hearer)?),
        _ => None,
    };
    let launch = bwrap::launch(bwrap, within, launch, confinement, (place, socket.as_deref()))?;
    Ok(Confined { launch, proxy })
}

fn unavailable(found: &Findings) -> io::Error {
    io::Error::other(found.why.clone().unwrap_or_default())
}

/// How the program inside has ended, by the exit of what confined it: a kill is told by a number there.
pub fn exit_inside(exit: Exit) -> Exit {
    const KILLED: i32 = 128 + libc::SIGKILL;
    match exit {
        Exit::Code(KILLED) => Exit::Signal(libc::SIGKILL),
        exit => exit,
    }
}

/// A path as text, which is what the core computes with.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
