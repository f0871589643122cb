//! Collecting a process that has exited, with what it and all it waited for took of the machine.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use conductor_core::run::event::Processes;
use conductor_core::values::units::Millis;
use rustix::process::Pid;

/// Waits for it where it has not exited yet. Its number may be another's from then on.
#[expect(unsafe_code, reason = "no crate here hands on what wait4 says of use")]
pub(super) fn collect(pid: Pid) -> io::Result<(ExitStatus, Processes)> {
    let mut status = 0;
    // SAFETY: plain numbers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both point to what is ours and lives until the call returns.
        let collected =
            unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage) };
        if collected != -1 {
            return Ok((ExitStatus::from_raw(status), took(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn took(usage: &libc::rusage) -> Processes {
    let micros = |time: libc::timeval| whole(time.tv_sec) * 1_000_000 + whole(time.tv_usec);
    Processes {
        cpu: Millis((micros(usage.ru_utime) + micros(usage.ru_stime)) / 1000),
        memory: Some(peak(usage)).filter(|memory| *memory > our_peak()).unwrap_or_default(),
        memory_together: 0,
        read: whole(usage.ru_inblock) * BLOCK,
        written: whole(usage.ru_oublock) * BLOCK,
    }
}

/// What the system counts reading and writing by.
const BLOCK: u64 = 512;

fn peak(usage: &libc::rusage) -> u64 {
    // In units of 1,024 bytes, but on a Mac.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    whole(usage.ru_maxrss) * unit
}

/// A process has our own memory until its program is loaded, and the system counts that: what is not more cannot be told.
#[expect(unsafe_code, reason = "no crate here hands on what getrusage says")]
fn our_peak() -> u64 {
    // SAFETY: plain numbers, for which all zeros is a value; the call writes to what is ours.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        peak(&usage)
    }
}

/// None of them is ever below zero.
fn whole(figure: impl TryInto<u64>) -> u64 {
    figure.try_into().unwrap_or(0)
}
