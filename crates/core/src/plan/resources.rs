//! What the processes of a task may use of the machine. The amounts are those of `resources:` that the scheduler counts
//! with; five of their names are also limits.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Task;
use crate::values::counted::{counted, size};

/// What of the machine can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// In processors.
    Cpu,
    /// In bytes, of all processes together.
    Memory,
    /// Threads count, too.
    Processes,
    /// In bytes, beyond what was there at the start.
    Disk,
    /// Of each process.
    OpenFiles,
}

impl Resource {
    pub const ALL: [Resource; 5] =
        [Resource::Cpu, Resource::Memory, Resource::Processes, Resource::Disk, Resource::OpenFiles];

    pub fn of(name: &str) -> Option<Resource> {
        Resource::ALL.into_iter().find(|resource| resource.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Resource::Cpu => "cpu",
            Resource::Memory => "memory",
            Resource::Processes => "processes",
            Resource::Disk => "disk",
            Resource::OpenFiles => "open_files",
        }
    }

    /// What an amount of it means, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Resource::Cpu => "Processors that all its processes may use together.",
            Resource::Memory => "Memory that all its processes may have together, such as 4GiB.",
            Resource::Processes => "Processes and threads that it may have.",
            Resource::Disk => "What its workspace and temporary folder may grow by, such as 10GiB.",
            Resource::OpenFiles => "Files that each of its processes may have open.",
        }
    }

    /// Whether its amounts are bytes.
    pub fn is_size(self) -> bool {
        matches!(self, Resource::Memory | Resource::Disk)
    }

    /// The least and the most that make sense: with less nothing runs, and no machine has more.
    pub fn bounds(self) -> (u64, u64) {
        match self {
            Resource::Cpu => (1, 8192),
            Resource::Memory => (1 << 20, 1 << 50),
            Resource::Processes => (2, 1 << 22),
            Resource::Disk => (1 << 20, 1 << 60),
            Resource::OpenFiles => (16, 1 << 20),
        }
    }

    /// Whether the scheduler counts it only where it was said how much there is: a limit to each task alone is no reason
    /// for tasks to wait for one another.
    pub fn counts_if_stated(self) -> bool {
        matches!(self, Resource::Processes | Resource::Disk | Resource::OpenFiles)
    }

    /// An amount of it, in words.
    pub fn amount(self, amount: u64) -> String {
        match self {
            Resource::Cpu => format!("{amount} CPU"),
            Resource::Memory | Resource::Disk if amount < 1024 => counted(amount, "byte"),
            Resource::Memory | Resource::Disk => size(amount),
            Resource::Processes => format!("{amount} processes and threads"),
            Resource::OpenFiles => counted(amount, "open file"),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the processes of one task may use. Nothing where there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
}

impl TaskLimits {
    pub fn is_none(&self) -> bool {
        *self == TaskLimits::default()
    }

    pub fn get(&self, resource: Resource) -> Option<u64> {
        match resource {
            Resource::Cpu => self.cpu,
            Resource::Memory => self.memory,
            Resource::Processes => self.processes,
            Resource::Disk => self.disk,
            Resource::OpenFiles => self.open_files,
        }
    }

    /// Each with its amount.
    pub fn all(&self) -> impl Iterator<Item = (Resource, u64)> + '_ {
        Resource::ALL.into_iter().filter_map(|resource| Some((resource, self.get(resource)?)))
    }
}

/// `2 CPU, 4 GiB memory, …`.
impl fmt::Display for TaskLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.all().map(|(resource, amount)| match resource {
            Resource::Memory | Resource::Disk => format!("{} of {resource}", resource.amount(amount)),
            _ => resource.amount(amount),
        });
        f.write_str(&words.collect::<Vec<_>>().join(", "))
    }
}

impl Task {
    /// What is below the least that can be written now comes from a log of before, in which it was a count for the
    /// scheduler alone.
    pub fn limits(&self) -> TaskLimits {
        let of = |resource: Resource| {
            let amount = self.resources.get(resource.name()).copied();
            amount.filter(|&amount| amount >= resource.bounds().0)
        };
        TaskLimits {
            cpu: of(Resource::Cpu),
            memory: of(Resource::Memory),
            processes: of(Resource::Processes),
            disk: of(Resource::Disk),
            open_files: of(Resource::OpenFiles),
        }
    }
}

/// A limit that a task has come up against, and was ended for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    pub resource: Resource,
    pub limit: u64,
    /// The most that was seen in use; nothing where only the refusal was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<u64>,
}

/// The limit, the peak, and the key that raises it.
impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reached { resource, limit, peak } = *self;
        let limit = resource.amount(limit);
        match resource {
            Resource::Memory => write!(f, "out of memory: it may use {limit}")?,
            Resource::Disk => write!(f, "its limit was reached: it may write {limit} to the disk")?,
            _ => write!(f, "its limit was reached: it may have {limit}")?,
        }
        if let Some(peak) = peak {
            write!(f, " and had {}", resource.amount(peak))?;
        }
        write!(f, "; `resources: {{ {resource}: … }}` raises that")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Command, Work};
    use crate::values::ids::TaskId;

    fn task(resources: &[(&str, u64)]) -> Task {
        let work = Work::Run(Command::Line("true".into()));
        let mut task = Task::new(TaskId::parse("t").unwrap(), work);
        task.resources = resources.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
        task
    }

    #[test]
    fn five_names_are_limits_and_all_others_are_not() {
        let limits = task(&[("cpu", 2), ("memory", 4 << 30), ("browser", 1), ("open_files", 64)]).limits();
        let expect =
            TaskLimits { cpu: Some(2), memory: Some(4 << 30), open_files: Some(64), ..TaskLimits::default() };
        assert_eq!(limits, expect);
        assert_eq!(limits.to_string(), "2 CPU, 4.0 GiB of memory, 64 open files");
        assert!(task(&[("browser", 1)]).limits().is_none());
    }

    #[test]
    fn what_was_a_count_in_a_log_of_before_is_no_limit() {
        assert!(task(&[("disk", 1), ("processes", 1), ("open_files", 3)]).limits().is_none());
    }

    #[test]
    fn a_limit_that_was_reached_says_how_much_and_by_which_key() {
        let of = |resource, limit, peak| Reached { resource, limit, peak }.to_string();
        assert_eq!(
            of(Resource::Memory, 64 << 20, Some(64 << 20)),
            "out of memory: it may use 64.0 MiB and had 64.0 MiB; `resources: { memory: … }` raises that"
        );
        assert_eq!(
            of(Resource::Processes, 20, None),
            "its limit was reached: it may have 20 processes and threads; `resources: { processes: … }` raises that"
        );
        assert_eq!(
            of(Resource::Disk, 2 << 20, Some(3 << 20)),
            "its limit was reached: it may write 2.0 MiB to the disk and had 3.0 MiB; `resources: { disk: … }` raises \
             that"
        );
    }
}
