//! Ends all that is below a process, also where that forks faster than it can be killed one by one.
//!
//! Whatever is found is stopped first: what is stopped starts nothing more, so that a look that finds nothing new has found
//! all. Only then it is killed.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions};

use super::{pid, tree};

/// How long that is tried. On a machine that a fork bomb has brought to its knees every step takes its time.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long what starts ever more is stopped, before all that was found is killed and the rest is looked for anew.
const STOPPING: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(2);

/// Every orphan of what is below us comes to us. Says how many are left.
pub(super) fn end_all_below_us() -> usize {
    let us = std::process::id();
    end_below(us, collect)
}

/// Ends until a look finds nothing; `collect` takes in what has died and is ours, and says whether anything is left that could be
/// below it. Says how many are left.
fn end_below(root: u32, collect: impl Fn() -> bool) -> usize {
    let begun = Instant::now();
    loop {
        // Most leave nothing: that is found without a look at all processes.
        if !collect() {
            return 0;
        }
        let found = stop_all(root);
        if found.is_empty() || begun.elapsed() > PATIENCE {
            return found.len();
        }
        found.into_iter().for_each(tree::kill);
        std::thread::sleep(PAUSE);
    }
}

/// Stops whatever is below a process until there is nothing that was not stopped before.
fn stop_all(root: u32) -> HashSet<u32> {
    let (begun, mut stopped) = (Instant::now(), HashSet::new());
    loop {
        let new: Vec<u32> = below(root).into_iter().filter(|process| !stopped.contains(process)).collect();
        if new.is_empty() || begun.elapsed() > STOPPING {
            return stopped;
        }
        for process in new {
            if let Some(pid) = pid(process) {
                let _ = rustix::process::kill_process(pid, Signal::STOP);
            }
            stopped.insert(process);
        }
    }
}

/// The living processes below one, found by their parents.
fn below(root: u32) -> HashSet<u32> {
    let table: Vec<(u32, u32)> = tree::processes()
        .filter_map(|process| Some((process, tree::stat(process)?)))
        .filter(|(_, stat)| stat.state != 'Z')
        .map(|(process, stat)| (process, stat.parent))
        .collect();
    let mut found = HashSet::from([root]);
    loop {
        let before = found.len();
        found.extend(
            table
                .iter()
                .filter(|(_, parent)| found.contains(parent))
                .map(|(process, _)| *process)
                .collect::<Vec<_>>(),
        );
        if found.len() == before {
            found.remove(&root);
            return found;
        }
    }
}

/// Takes in all of our children that have died; whether there are others.
fn collect() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Forks on and on, but never more than so many, and none lives longer than a minute.
    const BOMB: &str = r#"
        bomb() { if [ "$1" -gt 0 ]; then bomb $(($1 - 1)) & bomb $(($1 - 1)) & fi; exec sleep 60; }
        bomb 6 &
        echo lit
        exec sleep 60
    "#;

    #[test]
    fn what_forks_on_and_on_is_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", BOMB]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lit = [0; 4];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut lit).unwrap();
        let root = child.id();
        assert_eq!(end_below(root, || true), 0);
        assert!(below(root).is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
