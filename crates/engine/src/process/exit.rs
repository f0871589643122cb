//! Waiting for a process to exit without collecting it, so that its number stays taken until we are done with it.

use std::io;

use rustix::process::Pid;

#[cfg(target_os = "linux")]
const SCARCE: std::time::Duration = std::time::Duration::from_millis(20);

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "tokio asks us to vouch for the descriptor")]
pub(super) async fn exited(pid: Pid) -> io::Result<()> {
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    let fd = loop {
        match pidfd_open(pid, PidfdFlags::NONBLOCK) {
            // Out of descriptors for the moment; the process must not be lost over that.
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => tokio::time::sleep(SCARCE).await,
            opened => break opened?,
        }
    };
    // SAFETY: an `OwnedFd` is open and stays the same descriptor until it is dropped, which `AsyncFd` does.
    let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE)? };
    fd.readable().await.map(drop)
}

#[cfg(not(target_os = "linux"))]
pub(super) async fn exited(pid: Pid) -> io::Result<()> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    tokio::task::spawn_blocking(move || {
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            .map(drop)
            .map_err(io::Error::from)
    })
    .await
    .map_err(io::Error::other)?
}

/// Whether it has exited, without waiting for that.
pub(super) fn is_over(pid: Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    let looking = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(pid), looking), Ok(None))
}
