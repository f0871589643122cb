//! What a program of ours puts on itself before it becomes the agent's: rules of the kernel's, no privileges, a filter of
//! system calls. All of it stays with what it becomes and with all that that starts.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use conductor_core::confinement::Grant;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{FileType, fstat};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

use super::seccomp;

/// Without cutting files short there are no rules about writing.
const OLDEST: ABI = ABI::V3;

/// The newest that is known here. Signals and abstract sockets are kept in from the sixth on, TCP from the fourth.
const NEWEST: ABI = ABI::V7;

const ABSENT: &str = "this kernel has none, has it switched off, or is older than Linux 6.2";

/// What is opened.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Rules {
    pub(super) grants: Vec<Grant>,
    /// No network at all.
    pub(super) offline: bool,
}

impl Rules {
    pub(super) fn read(file: &Path) -> io::Result<Rules> {
        Ok(serde_json::from_slice(&fs::read(file)?)?)
    }

    /// From here on they hold for this process, which must have one thread.
    pub(super) fn apply(&self) -> io::Result<()> {
        without_capabilities()?;
        let ruleset = self.opened().map_err(|error| match error {
            RulesetError::HandleAccesses(_) => io::Error::other(ABSENT),
            error => io::Error::other(error),
        })?;
        let status = ruleset.restrict_self().map_err(io::Error::other)?;
        if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
            return Err(io::Error::other(ABSENT));
        }
        seccomp::put_on(if self.offline { seccomp::Sockets::None } else { seccomp::Sockets::Internet })
    }

    fn opened(&self) -> Result<RulesetCreated, RulesetError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(OLDEST))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            .scope(Scope::from_all(NEWEST))?;
        if self.offline {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
        }
        let mut ruleset = ruleset.create()?;
        for Grant { path, writes } in &self.grants {
            // What went away meanwhile needs no rule.
            let (Ok(opened), Ok(found)) = (PathFd::new(path), fs::metadata(path)) else { continue };
            ruleset = ruleset.add_rule(PathBeneath::new(opened, rights(*writes, found.is_dir())))?;
        }
        for output in [io::stdout().as_fd(), io::stderr().as_fd()] {
            // Programs open it again by `/dev/stdout`. Anything but a file on the disk needs no rule.
            if fstat(output).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_file()) {
                ruleset = ruleset.add_rule(PathBeneath::new(output, rights(true, false)))?;
            }
        }
        Ok(ruleset)
    }
}

/// What a namespace of its own for files, processes and sockets on the disk leaves, where the network is not one, too: abstract
/// sockets belong to the network. Where the kernel is too old for that, they stay open.
pub(super) fn keep_from_abstract_sockets() -> io::Result<()> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::AbstractUnixSocket)
        .and_then(Ruleset::create)
        .map_err(io::Error::other)?;
    ruleset.restrict_self().map(drop).map_err(io::Error::other)
}

fn rights(writes: bool, is_folder: bool) -> BitFlags<AccessFs> {
    let all = if writes { AccessFs::from_all(NEWEST) } else { AccessFs::from_read(NEWEST) };
    if is_folder { all } else { all & AccessFs::from_file(NEWEST) }
}

/// Root without them is a user who owns much.
fn without_capabilities() -> io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        // Who has none cannot do it, and need not; a kernel knows some of them alone.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Closes what was open in the program that started this one: an open file is reached whatever the rules say.
pub(super) fn close_all_but_the_usual() -> io::Result<()> {
    let numbers: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in numbers {
        // The folder that was just read is among them, and closed already.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}
