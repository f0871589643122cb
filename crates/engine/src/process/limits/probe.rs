//! Which limits work on this machine: found out by doing it, once for each process.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use conductor_core::plan::{Resource, Task, TaskLimits};
use conductor_core::values::ids::RunId;

use super::super::children;
use super::groups::{Controller, Version};
use super::roots::Roots;

/// By what limits are brought about, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// The kernel's single tree of control groups.
    Groups,
    /// Its older trees.
    OldGroups,
    /// A look at the process table, again and again.
    Sampled,
}

impl Tier {
    pub fn name(self) -> &'static str {
        match self {
            Tier::Groups => "cgroup v2",
            Tier::OldGroups => "cgroup v1",
            Tier::Sampled => "sampling",
        }
    }
}

/// Who sees to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It cannot be gone beyond.
    Kernel,
    /// It is looked at, and what has gone beyond is ended.
    Sampled,
    /// It counts for the scheduler alone.
    Not,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Findings {
    pub tier: Tier,
    kernel: Vec<Resource>,
    /// Why the kernel does not see to all of them.
    pub why: Option<String>,
    pub remedy: Option<&'static str>,
}

impl Findings {
    pub fn how(&self, resource: Resource) -> How {
        match resource {
            // Of each process, which any user may have limited.
            Resource::OpenFiles => How::Kernel,
            resource if self.kernel.contains(&resource) => How::Kernel,
            Resource::Cpu => How::Not,
            Resource::Memory | Resource::Processes | Resource::Disk => How::Sampled,
        }
    }

    pub(super) fn has_groups(&self) -> bool {
        self.tier != Tier::Sampled
    }

    /// Those that are brought about so.
    pub fn all(&self, how: How) -> Vec<Resource> {
        Resource::ALL.into_iter().filter(|resource| self.how(*resource) == how).collect()
    }
}

/// What is to be told of limits that these tasks ask for: which of them the kernel does not keep here, why, and the remedy. Where none is asked
/// for, nothing is tried.
pub fn unkept<'t>(tasks: impl Iterator<Item = &'t Task>) -> Option<String> {
    let asked = tasks.flat_map(|task| task.limits().all().map(|(one, _)| one).collect::<Vec<_>>());
    // There is no other way for the disk, on any machine.
    let asked: BTreeSet<Resource> = asked.filter(|one| *one != Resource::Disk).collect();
    if asked.is_empty() {
        return None;
    }
    let found = findings();
    let of = |how: How| {
        let names = asked.iter().filter(|one| found.how(**one) == how).map(|one| one.name());
        names.collect::<Vec<_>>().join(", ")
    };
    let told: Vec<String> =
        [(of(How::Not), "not limited here"), (of(How::Sampled), "limited by looking at it alone")]
            .into_iter()
            .filter(|(names, _)| !names.is_empty())
            .map(|(names, how)| format!("{names}: {how}"))
            .collect();
    let (why, remedy) = (found.why.as_deref().unwrap_or_default(), found.remedy.unwrap_or_default());
    (!told.is_empty()).then(|| format!("{}; {why} ({remedy}; docs/security.md)", told.join("; ")))
}

static FOUND: OnceLock<Findings> = OnceLock::new();

/// Blocks for a moment the first time.
pub fn findings() -> &'static Findings {
    FOUND.get_or_init(look)
}

fn look() -> Findings {
    let (tier, kernel, why) = match tried() {
        Ok((Version::Two, kernel)) => (Tier::Groups, kernel, None),
        Ok((Version::One, kernel)) => (Tier::OldGroups, kernel, None),
        Err(why) => (Tier::Sampled, Vec::new(), Some(why)),
    };
    let missing = Controller::ALL.into_iter().find(|controller| !kernel.contains(&controller.resource()));
    let why = why.or_else(|| {
        missing.map(|controller| format!("the system hands on no limit of {}", controller.name()))
    });
    let remedy = why.is_some().then(remedy);
    Findings { tier, kernel, why, remedy }
}

fn remedy() -> &'static str {
    match super::scope::has_systemd() {
        true if rustix::process::geteuid().is_root() => {
            "start it by: systemd-run --scope -p Delegate=yes conductor …"
        }
        true => "start it by: systemd-run --user --scope -p Delegate=yes conductor …",
        false => {
            "let its control group be its own: in a container, mount /sys/fs/cgroup writable (--cgroupns=private)"
        }
    }
}

/// A process is started with limits, and has to be where they hold.
fn tried() -> Result<(Version, Vec<Resource>), String> {
    let run = RunId::parse("probe").ok_or("it has no name")?;
    let roots = Roots::make(&run, None)?;
    let limits =
        TaskLimits { cpu: Some(1), memory: Some(64 << 20), processes: Some(16), ..TaskLimits::default() };
    let group = roots.group(&limits).map_err(|error| error.to_string())?;
    let group = group.ok_or("no limit can be handed on")?;
    let started = started_in(&group);
    group.remove();
    started.map_err(|error| format!("a process cannot be put into a control group: {error}"))?;
    let kernel = roots.controllers().map(Controller::resource).collect();
    Ok((roots.version(), kernel))
}

#[expect(unsafe_code, reason = "what runs between fork and exec has to be vouched for")]
fn started_in(group: &super::groups::Group) -> std::io::Result<()> {
    use std::os::unix::process::CommandExt as _;

    let doors = group.doors()?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read line"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    super::super::tree::mark_own(&mut command);
    let enter = move || doors.iter().try_for_each(|door| Ok(rustix::io::write(door, b"0").map(drop)?));
    // SAFETY: nothing but system calls on what was opened before; it takes no lock and allocates nothing.
    unsafe { command.pre_exec(enter) };
    let starting = children::starting();
    let mut child = command.spawn()?;
    let number = child.id();
    children::remember_beside(number);
    drop(starting);
    let is_in = group.members().contains(&number);
    let ended =
        child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(b"\n")).and_then(|()| child.wait());
    let _ = child.kill();
    let _ = child.wait();
    children::forget_beside(number);
    ended?;
    match is_in {
        true => Ok(()),
        false => Err(std::io::Error::other("it is not in there")),
    }
}
