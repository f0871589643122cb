//! A process that stays when a coordinator is killed: agents it left behind go on spending, uncounted. If no coordinator
//! takes the run up in time, they are ended.
//!
//! The reaper is a process of our own that waits at a pipe. A word on it means that all is well; its end without a word
//! means that the coordinator at the other side is gone. Agents that were spoken to over a pipe of the coordinator's cannot work
//! without it and are ended at once; commands get a while, in which another coordinator can take the run up and end them.
//! What a shim holds is left to it: it keeps the time itself. Only of a shim that was killed the reaper ends what is left; and
//! one that is stopped, and so keeps no time, it kills when that time has long been over.

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use conductor_core::values::ids::RunId;

use super::children;
use super::control_group::LeftGroups;
use super::descent::Recorded;
use super::run_folder::RunFolder;
use super::shim;
use super::tree::{self, Left};
use crate::host::home::Home;

const LOOK: Duration = Duration::from_millis(500);

/// How long after the grace a shim that moves has ended its agent for sure: it asks, waits, kills and collects.
const MARGIN: Duration = Duration::from_secs(20);

/// How often a coordinator whose pipe is gone is looked at until it is dead.
const DEATH: Duration = Duration::from_millis(5);

/// The word that all is well, and the one that another coordinator is about to take the run over.
const WELL: u8 = b'.';
const HANDED_OVER: u8 = b'>';

pub(crate) struct Reaper {
    child: Child,
}

impl Reaper {
    pub(crate) fn start(command: &mut Command) -> io::Result<Reaper> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env(tree::COORDINATOR, children::us());
        let starting = children::starting();
        let child = command.spawn()?;
        // Not known as one that is waited for: while it lives, orphans are still recognised as such.
        children::remember_beside(child.id());
        drop(starting);
        Ok(Reaper { child })
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// All is well: everything it would end is ended. Only that is a word to it; where a reaper is merely dropped, as by
    /// a panic, its pipe is closed without one, and it ends what is left.
    pub(crate) fn dismiss(mut self) {
        if let Some(mut pipe) = self.child.stdin.take() {
            let _ = pipe.write_all(&[WELL]);
        }
        let _ = self.child.wait();
        children::forget_beside(self.child.id());
    }

    /// It stays until another coordinator has the run, which has a reaper of its own, and sees to what is left if none comes.
    pub(crate) fn hand_over(mut self) {
        if let Some(mut pipe) = self.child.stdin.take() {
            let _ = pipe.write_all(&[HANDED_OVER]);
        }
        children::forget_beside(self.child.id());
    }
}

/// What the reaper does, from its start to its end.
pub fn watch_over(home: &Home, run: &RunId, word: &mut impl Read, grace: Duration) {
    // A terminal that is closed, or a signal to all in front of it, is not meant for us.
    let _ = rustix::process::setsid();
    let mut said = [0];
    let is_handed_over = matches!(word.read(&mut said), Ok(1)) && said == [HANDED_OVER];
    if said == [WELL] {
        return;
    }
    let gone = Instant::now();
    let coordinator = std::env::var(tree::COORDINATOR).unwrap_or_default();
    // Its pipe goes with it, but not in the same instant. One that let go of the pipe and lives sees to its processes itself.
    while tree::lives(&coordinator) && home.is_held(run) {
        std::thread::sleep(DEATH);
    }
    // What another coordinator of the run starts meanwhile is none of ours: it carries that one's name.
    let folder = home.run(run);
    let groups = LeftGroups::of(&folder, Some(&coordinator));
    let recorded = Recorded::of(&folder);
    let left = Left { run, folder: RunFolder::of(&folder), coordinator: &coordinator, recorded, groups };
    loop {
        // Of an agent whose shim was killed, nothing goes on either.
        left.end_talking();
        let (is_due, has_shims) = (gone.elapsed() >= grace, !shim::living(&folder).is_empty());
        if is_due {
            left.end();
        }
        if gone.elapsed() >= grace + MARGIN && !home.is_held(run) {
            shim::end_stopped(&folder);
        }
        if !has_shims && (is_due || left.is_over()) {
            break;
        }
        // What shims hold is the matter of the coordinator that has taken the run up.
        if (is_due || is_handed_over) && home.is_held(run) {
            return;
        }
        std::thread::sleep(LOOK);
    }
    // Nothing is in it any more; the folder goes.
    left.groups.end();
    let dead = shim::folders(&folder);
    for folder in dead {
        LeftGroups::of(&folder, None).end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes down what it hears, and that it has heard the end.
    fn listener(folder: &std::path::Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "cat > heard && mv heard whole"]).current_dir(folder);
        command
    }

    fn heard(folder: &std::path::Path) -> String {
        let begun = Instant::now();
        loop {
            match std::fs::read_to_string(folder.join("whole")) {
                Ok(words) => return words,
                Err(error) if begun.elapsed() > Duration::from_secs(60) => panic!("{error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    #[test]
    fn only_a_keeper_that_is_dismissed_is_told_that_all_is_well() {
        let folder = tempfile::tempdir().unwrap();
        Reaper::start(&mut listener(folder.path())).unwrap().dismiss();
        assert_eq!(heard(folder.path()), ".");
        let folder = tempfile::tempdir().unwrap();
        let unwound = std::panic::catch_unwind(|| {
            let _keeper = Reaper::start(&mut listener(folder.path())).unwrap();
            panic!("as it is meant to");
        });
        assert!(unwound.is_err());
        assert_eq!(heard(folder.path()), "", "a coordinator that fails has not said that all is well");
    }
}
