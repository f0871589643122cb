//! Ten TCP ports for each workspace, so that servers of tasks at work at once do not meet.
//!
//! A block is leased by a lock on a file in the state directory; the lock goes with the process, however it ends. The
//! file goes with the lease; that of a killed process goes with another's first lease, or at the end of a run. Who uses the
//! ports, and whether at all, is not known here: a block is only looked at when it is leased.

use crate::host::access;
use std::fs::{self, File, TryLockError};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that systems give out by themselves, above those that services are known by.
const FIRST: u16 = 20_000;
/// How many ports a workspace has.
const SIZE: u16 = 10;
const BLOCKS: u16 = 1_000;

/// Brings processes with neighbouring numbers far apart. Shares no divisor with `BLOCKS`.
const STRIDE: u32 = 617;

/// How many leases this process took: each begins to look behind the one before.
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// A block of ports, ours as long as this lives.
#[derive(Debug)]
pub(super) struct Lease {
    first: u16,
    path: PathBuf,
    _lock: File,
}

/// While it is still locked: a process that opened the file before and locks it after sees that it is gone.
impl Drop for Lease {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Lease {
    pub(super) fn first(&self) -> u16 {
        self.first
    }

    pub(super) fn last(&self) -> u16 {
        self.first + SIZE - 1
    }

    /// What tells a task of them.
    pub(super) fn variables(&self) -> [(&'static str, String); 2] {
        let (first, last) = (self.first(), self.last());
        [("CONDUCTOR_PORT", first.to_string()), ("CONDUCTOR_PORTS", format!("{first}-{last}"))]
    }
}

/// Takes a block that is not leased in this state directory and whose ports no process uses. Leases of
/// another state directory are not seen: its conductor begins at another place and notices used ports.
pub(super) fn lease(home: &Path) -> io::Result<Lease> {
    let taken = TAKEN.fetch_add(1, Ordering::Relaxed);
    if taken == 0 {
        clear_after_the_dead(home);
    }
    let place = std::process::id().wrapping_mul(STRIDE).wrapping_add(taken);
    let start = (place % u32::from(BLOCKS)) as u16;
    lease_among(home, (0..BLOCKS).map(|next| (start + next) % BLOCKS))
}

fn lease_among(home: &Path, blocks: impl Iterator<Item = u16>) -> io::Result<Lease> {
    let folder = home.join("ports");
    access::create_private_dir_all(&folder)?;
    for block in blocks {
        let first = FIRST + block * SIZE;
        let path = folder.join(first.to_string());
        let Some(lock) = locked(&path)? else { continue };
        let lease = Lease { first, path, _lock: lock };
        if (first..first + SIZE).all(is_free) {
            return Ok(lease);
        }
    }
    let last = FIRST + BLOCKS * SIZE - 1;
    let message = format!("no ten ports in a row are free between {FIRST} and {last}");
    Err(io::Error::new(io::ErrorKind::AddrInUse, message))
}

/// A lock counts only on the file that is there by this name: the one that was opened may have been removed since.
fn locked(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = access::private().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, path) => return Ok(Some(file)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(one), Ok(other)) = (file.metadata(), fs::metadata(path)) else { return false };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Removes the files of leases whose processes were killed. What cannot be removed harms nothing.
pub(super) fn clear_after_the_dead(home: &Path) {
    for entry in fs::read_dir(home.join("ports")).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.parse::<u16>().is_ok());
        let Ok(file) = File::options().write(true).open(&path) else { continue };
        if is_ours && file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// A listener on all addresses meets one on any. The two families are asked apart, since not every machine has both.
fn is_free(port: u16) -> bool {
    let can_listen = |address: (std::net::IpAddr, u16)| TcpListener::bind(address).map(drop);
    let taken = |error: io::Error| error.kind() == io::ErrorKind::AddrInUse;
    can_listen((Ipv4Addr::UNSPECIFIED.into(), port)).is_ok()
        && !can_listen((Ipv6Addr::UNSPECIFIED.into(), port)).is_err_and(taken)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn fifty_at_once_have_no_port_in_common() {
        let home = tempfile::tempdir().unwrap();
        let leases: Vec<Lease> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..50).map(|_| scope.spawn(|| lease(home.path()).unwrap())).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let ports: HashSet<u16> = leases.iter().flat_map(|lease| lease.first()..=lease.last()).collect();
        assert_eq!(ports.len(), 500);
        assert!(ports.iter().all(|port| (20_000..30_000).contains(port)));
    }

    #[test]
    fn a_task_is_told_of_them() {
        let home = tempfile::tempdir().unwrap();
        let lease = free_block(home.path());
        let (first, last) = (lease.first(), lease.first() + 9);
        let told = [("CONDUCTOR_PORT", first.to_string()), ("CONDUCTOR_PORTS", format!("{first}-{last}"))];
        assert_eq!(lease.variables(), told);
        assert_eq!(first % 10, 0);
    }

    /// One of those nothing on this machine uses now.
    fn free_block(home: &Path) -> Lease {
        lease(home).unwrap()
    }

    fn block(lease: &Lease) -> u16 {
        (lease.first() - FIRST) / SIZE
    }

    #[test]
    fn a_block_is_leased_once_and_can_be_had_again() {
        let home = tempfile::tempdir().unwrap();
        let held = free_block(home.path());
        let only = [block(&held)];
        let error = lease_among(home.path(), only.into_iter()).unwrap_err();
        assert_eq!(error.to_string(), "no ten ports in a row are free between 20000 and 29999");
        drop(held);
        assert_eq!(block(&lease_among(home.path(), only.into_iter()).unwrap()), only[0]);
    }

    #[test]
    fn a_block_with_a_port_in_use_is_passed_over() {
        let home = tempfile::tempdir().unwrap();
        let both = [free_block(home.path()), free_block(home.path())].map(|lease| block(&lease));
        for address in ["127.0.0.1", "0.0.0.0", "[::1]", "[::]"] {
            let port = FIRST + both[0] * SIZE + 7;
            let server = match TcpListener::bind(format!("{address}:{port}")) {
                Err(error) if error.kind() != io::ErrorKind::AddrInUse && address.starts_with('[') => {
                    continue;
                }
                bound => bound.unwrap(),
            };
            assert_eq!(block(&lease_among(home.path(), both.into_iter()).unwrap()), both[1], "{address}");
            drop(server);
            assert_eq!(block(&lease_among(home.path(), both.into_iter()).unwrap()), both[0], "{address}");
        }
    }

    #[test]
    fn no_file_stays_behind_a_lease_and_none_of_a_live_one_is_taken() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("ports");
        let names = || fs::read_dir(&folder).unwrap().count();
        let held = free_block(home.path());
        let other = free_block(home.path());
        assert_eq!(names(), 2);
        drop(other);
        // That of a killed process, and something that is none of ours.
        fs::write(folder.join("20000"), "").unwrap();
        fs::write(folder.join("notes"), "").unwrap();
        clear_after_the_dead(home.path());
        assert!(folder.join(held.first().to_string()).exists() && folder.join("notes").exists());
        assert_eq!(names(), 2);
        drop(held);
        assert_eq!(names(), 1);
    }

    #[test]
    fn a_lock_on_a_file_that_was_removed_is_no_lease() {
        let home = tempfile::tempdir().unwrap();
        let blocks = [5, 6, 7, 8];
        let again = || {
            let leases = (0..40).filter_map(|_| lease_among(home.path(), blocks.into_iter()).ok());
            leases
                .map(|lease| assert!(is_at(&lease._lock, &lease.path), "it holds the file that is there"))
                .count()
        };
        let leases: usize = std::thread::scope(|scope| {
            let started = [(); 4].map(|()| scope.spawn(again));
            started.map(|thread| thread.join().unwrap()).into_iter().sum()
        });
        assert_ne!(leases, 0);
        assert_eq!(fs::read_dir(home.path().join("ports")).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_process_had_leased_is_free_again() {
        let home = tempfile::tempdir().unwrap();
        let lease = free_block(home.path());
        let (file, only) = (home.path().join("ports").join(lease.first().to_string()), [block(&lease)]);
        drop(lease);
        let mut holder = Command::new("flock")
            .args(["--no-fork", file.to_str().unwrap(), "sh", "-c", "echo up; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        assert!(lease_among(home.path(), only.into_iter()).is_err());
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert!(lease_among(home.path(), only.into_iter()).is_ok());
    }
}
