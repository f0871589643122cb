//! The control groups of one attempt: one in the kernel's single tree of groups, or one in each of its older trees.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use conductor_core::plan::{Reached, Resource, TaskLimits};
use conductor_core::values::units::Millis;

use super::super::{control_group, tree};

/// A part of the kernel that limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Pids,
    Cpu,
}

impl Controller {
    pub(super) const ALL: [Controller; 3] = [Controller::Memory, Controller::Pids, Controller::Cpu];

    pub(super) fn name(self) -> &'static str {
        match self {
            Controller::Memory => "memory",
            Controller::Pids => "pids",
            Controller::Cpu => "cpu",
        }
    }

    pub(super) fn resource(self) -> Resource {
        match self {
            Controller::Memory => Resource::Memory,
            Controller::Pids => Resource::Processes,
            Controller::Cpu => Resource::Cpu,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// A tree for each controller.
    One,
    /// One tree for all.
    Two,
}

/// A folder of the tree of groups, and which controllers limit what is in it.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) folder: PathBuf,
    pub(super) controllers: Vec<Controller>,
}

#[derive(Debug)]
pub(super) struct Group {
    version: Version,
    parts: Vec<Part>,
}

/// Of what a share of processors is counted by.
const PERIOD: u64 = 100_000;

impl Group {
    /// Makes the folders, and writes the limits to them.
    pub(super) fn make(version: Version, parts: Vec<Part>, limits: &TaskLimits) -> io::Result<Group> {
        let group = Group { version, parts };
        let made = group.parts.iter().try_for_each(|part| {
            fs::create_dir(&part.folder)?;
            part.controllers.iter().try_for_each(|controller| write(version, part, *controller, limits))
        });
        if made.is_err() {
            group.remove();
        }
        made.map(|()| group)
    }

    /// What a process writes to, to be in it.
    pub(super) fn doors(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |part: &Part| {
            let file = File::options().write(true).open(part.folder.join(control_group::PROCESSES))?;
            Ok(OwnedFd::from(file))
        };
        self.parts.iter().map(open).collect()
    }

    pub(super) fn members(&self) -> Vec<u32> {
        self.parts.first().map(|part| control_group::members(&part.folder)).unwrap_or_default()
    }

    #[cfg(test)]
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.parts.iter().map(|part| part.folder.clone()).collect()
    }

    /// Whether the kernel sees to this one.
    pub(super) fn limits(&self, resource: Resource) -> bool {
        self.controllers().any(|controller| controller.resource() == resource)
    }

    fn controllers(&self) -> impl Iterator<Item = Controller> + '_ {
        self.parts.iter().flat_map(|part| part.controllers.iter().copied())
    }

    fn folder(&self, controller: Controller) -> Option<&Path> {
        let part = self.parts.iter().find(|part| part.controllers.contains(&controller))?;
        Some(&part.folder)
    }

    /// What all of them have of memory now.
    pub(super) fn memory(&self) -> u64 {
        let file = match self.version {
            Version::One => "memory.usage_in_bytes",
            Version::Two => "memory.current",
        };
        self.folder(Controller::Memory).and_then(|folder| number(&folder.join(file))).unwrap_or(0)
    }

    /// The most they ever had, where the kernel tells.
    pub(super) fn peak(&self) -> u64 {
        let file = match self.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        self.folder(Controller::Memory).and_then(|folder| number(&folder.join(file))).unwrap_or(0)
    }

    /// Processor time of all of them, those included that none waited for.
    pub(super) fn cpu(&self) -> Option<Millis> {
        let part = self.parts.first().filter(|_| self.version == Version::Two)?;
        field(&part.folder.join("cpu.stat"), "usage_usec").map(|micros| Millis(micros / 1000))
    }

    /// A limit that the kernel has held them to, but for that of processor time, at which they only wait.
    pub(super) fn reached(&self, limits: &TaskLimits) -> Option<Reached> {
        let memory = || {
            let limit = limits.memory?;
            let file = match self.version {
                Version::One => "memory.oom_control",
                Version::Two => "memory.events",
            };
            let killed = field(&self.folder(Controller::Memory)?.join(file), "oom_kill")?;
            let peak = Some(self.peak()).filter(|peak| *peak > 0);
            (killed > 0).then_some(Reached { resource: Resource::Memory, limit, peak })
        };
        let processes = || {
            let limit = limits.processes?;
            let refused = field(&self.folder(Controller::Pids)?.join("pids.events"), "max")?;
            (refused > 0).then_some(Reached { resource: Resource::Processes, limit, peak: None })
        };
        memory().or_else(processes)
    }

    /// Ends all that is in it.
    pub(super) fn kill(&self) {
        let one = self.parts.first().map(|part| part.folder.join("cgroup.kill"));
        if self.version == Version::Two && one.is_some_and(|file| fs::write(file, "1").is_ok()) {
            return;
        }
        self.parts.iter().flat_map(|part| control_group::members(&part.folder)).for_each(tree::kill);
    }

    /// Ends what is left in it, and takes it away. Blocks.
    pub(super) fn remove(&self) {
        let begun = Instant::now();
        while !self.parts.iter().all(|part| control_group::remove(&part.folder)) {
            if begun.elapsed() > tree::CHASE {
                // The next coordinator tries again.
                tracing::warn!(group = ?self.parts, "a control group of an attempt could not be removed");
                return;
            }
            self.kill();
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn write(version: Version, part: &Part, controller: Controller, limits: &TaskLimits) -> io::Result<()> {
    let Some(limit) = limits.get(controller.resource()) else { return Ok(()) };
    let set = |file: &str, words: String| {
        fs::write(part.folder.join(file), words).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", part.folder.join(file).display()))
        })
    };
    // Not every kernel counts what was swapped out.
    let set_if_there = |file: &str, words: String| match part.folder.join(file).exists() {
        true => set(file, words),
        false => Ok(()),
    };
    match (controller, version) {
        (Controller::Memory, Version::Two) => {
            set("memory.max", limit.to_string())?;
            set_if_there("memory.swap.max", "0".into())?;
            set_if_there("memory.oom.group", "1".into())
        }
        (Controller::Memory, Version::One) => {
            set("memory.limit_in_bytes", limit.to_string())?;
            set_if_there("memory.memsw.limit_in_bytes", limit.to_string())
        }
        (Controller::Pids, _) => set("pids.max", limit.to_string()),
        (Controller::Cpu, Version::Two) => set("cpu.max", format!("{} {PERIOD}", limit * PERIOD)),
        (Controller::Cpu, Version::One) => {
            set("cpu.cfs_period_us", PERIOD.to_string())?;
            set("cpu.cfs_quota_us", (limit * PERIOD).to_string())
        }
    }
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// A line of a name and a number.
fn field(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}
