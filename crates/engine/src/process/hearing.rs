//! A program beside the run that is listened to.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{children, exit, pid, tree};

/// What a program said, and how it ended; no status where its time was up.
#[derive(Debug)]
pub struct Heard {
    pub status: Option<ExitStatus>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a program that is no part of a run's work and listens to it. What it leaves running on purpose, such as a server
/// of its own, is left alone; only where its time is up the whole group is killed. Blocks.
pub fn hear_beside(command: &mut Command, limit: Duration) -> io::Result<Heard> {
    const LOOK: Duration = Duration::from_millis(5);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    tree::mark_own(command);
    let starting = children::starting();
    let mut child = command.spawn()?;
    let number = child.id();
    children::remember_beside(number);
    drop(starting);
    let (stdout, stderr) = match (listen(child.stdout.take()), listen(child.stderr.take())) {
        (Ok(stdout), Ok(stderr)) => (stdout, stderr),
        (Err(error), _) | (_, Err(error)) => {
            let _ = child.kill();
            let _ = child.wait();
            children::forget_beside(number);
            return Err(error);
        }
    };
    let begun = Instant::now();
    let mut late = false;
    while let Some(pid) = pid(number).filter(|pid| !exit::is_over(*pid)) {
        if begun.elapsed() > limit {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
            late = true;
            break;
        }
        std::thread::sleep(LOOK);
    }
    let status = child.wait();
    children::forget_beside(number);
    Ok(Heard { status: Some(status?).filter(|_| !late), stdout: heard(&stdout), stderr: heard(&stderr) })
}

type Listening = (mpsc::Receiver<()>, Arc<Mutex<Vec<u8>>>);

fn listen(pipe: Option<impl Read + Send + 'static>) -> io::Result<Listening> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let (sender, ended) = mpsc::channel();
    let kept = said.clone();
    std::thread::Builder::new().spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = [0; 8192];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..length]);
        }
        drop(sender);
    })?;
    Ok((ended, said))
}

/// All output of a program that has ended. Waits only briefly: a process it left may hold the pipe open.
fn heard((ended, said): &Listening) -> Vec<u8> {
    const GRACE: Duration = Duration::from_secs(1);
    let _ = ended.recv_timeout(GRACE);
    std::mem::take(&mut said.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Heard {
        hear_beside(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn both_outputs_and_the_end_are_heard() {
        let heard = shell("echo out; echo err >&2; exit 3", Duration::from_secs(60));
        assert_eq!(heard.status.and_then(|status| status.code()), Some(3));
        assert_eq!((heard.stdout.as_slice(), heard.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        let much = shell("head -c 1000000 /dev/zero", Duration::from_secs(60));
        assert_eq!(much.stdout.len(), 1_000_000);
    }

    #[test]
    fn a_process_it_leaves_behind_is_not_waited_for() {
        let begun = Instant::now();
        let heard = shell("sleep 30 & echo $!", Duration::from_secs(60));
        assert!(heard.status.is_some_and(|status| status.success()));
        assert!(begun.elapsed() < Duration::from_secs(20));
        let left: i32 = String::from_utf8(heard.stdout).unwrap().trim().parse().unwrap();
        let left = rustix::process::Pid::from_raw(left).unwrap();
        rustix::process::kill_process(left, Signal::KILL).unwrap();
    }

    #[test]
    fn one_whose_time_is_up_is_stopped() {
        let heard = shell("echo begun; sleep 60", Duration::from_millis(500));
        assert!(heard.status.is_none());
        assert_eq!(heard.stdout, b"begun\n");
    }
}
