//! Git, agents, file descriptors, clock: what the machine brings along.

use std::process::Command;
use std::time::Duration;

use conductor_core::plan::{Resource as CoreResource, SandboxMode};
use conductor_engine::agents::{Entry, Login, roster};
use conductor_engine::host::clock::wall;
use conductor_engine::process;
use conductor_engine::process::confinement::{self, Tier};
use conductor_engine::process::limits::{self, How};
use rustix::process::{Resource, getrlimit};

use super::Finding;
use crate::settings::{diagnostics, variables};

/// The first that merges without a checkout over a base it is told.
const OLDEST_GIT: (u32, u32) = (2, 40);
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn git() -> Finding {
    let Some(said) = process::answer(Command::new("git").arg("--version"), PATIENCE) else {
        return Finding::problem("git", "git is not there, or does not answer")
            .remedy("install git, or make sure it is on PATH");
    };
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    match version(&said) {
        Some(version) if version >= OLDEST_GIT => Finding::ok("git", said),
        _ => Finding::problem("git", format!("{said} is too old, or tells no version"))
            .remedy(format!("install git {}.{} or newer", OLDEST_GIT.0, OLDEST_GIT.1)),
    }
}

/// Major and minor of `git version 2.47.3`.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut parts = said.split_whitespace().nth(2)?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

pub(super) fn agents() -> Finding {
    let plan = diagnostics::plan_of_good_configs();
    let entries = roster(&plan);
    let installed: Vec<&Entry> = entries.iter().filter(|entry| entry.path.is_some()).collect();
    let shown = |entry: &&Entry| match entry.login {
        Login::No => format!("{} (not logged in)", entry.name),
        Login::Yes | Login::Unknown => entry.name.clone(),
    };
    let told = installed.iter().map(shown).collect::<Vec<_>>().join(", ");
    if installed.is_empty() {
        return Finding::warning("agents", "none is installed; commands can be run, prompts cannot")
            .remedy("install one: claude, codex, gemini or opencode; see `conductor agents list`");
    }
    if installed.iter().all(|entry| entry.login == Login::No) {
        return Finding::warning("agents", told).remedy("start one of them and log in, or set its key");
    }
    Finding::ok("agents", told)
}

/// Whether agents can be kept from the rest of the machine.
pub(super) fn sandbox() -> Finding {
    if let Some(by) = switched_off() {
        return Finding::ok("sandbox", format!("off, by {by}: agents reach all that you can"));
    }
    let found = confinement::findings();
    let stops = format!("{}: agents do not reach {}", found.tier, found.tier.stops());
    let stops = format!("{stops}; not stopped: {} (docs/security.md)", found.tier.leaves());
    let (told, why) = match (&found.why, found.tier) {
        (None, _) => return Finding::ok("sandbox", stops),
        (Some(why), Tier::None) => ("agents reach all that you can".to_owned(), why),
        (Some(why), _) => (stops, why),
    };
    let remedy = found.remedy.unwrap_or("see docs/security.md");
    Finding::warning("sandbox", format!("{told}: {why}")).remedy(remedy)
}

/// Whether tasks can be kept to the memory, processors and processes that they may use.
pub(super) fn limits() -> Finding {
    let found = limits::findings();
    let names = |how| counted_out(&found.all(how));
    match &found.why {
        None => {
            let told = format!("{}: the kernel keeps tasks to {}", found.tier.name(), names(How::Kernel));
            Finding::ok("limits", told + &format!("; {} is looked at", names(How::Sampled)))
        }
        Some(why) => {
            let not = names(How::Not);
            let not = if not.is_empty() { not } else { format!(", and {not} is not limited") };
            let told = format!("{} are looked at, not kept by the kernel{not}: {why}", names(How::Sampled));
            Finding::warning("limits", told).remedy(found.remedy.unwrap_or("see docs/security.md"))
        }
    }
}

/// By what agents are not confined, where tasks say nothing.
fn switched_off() -> Option<&'static str> {
    const VARIABLE: &str = "CONDUCTOR_SANDBOX";
    if let Some(word) = variables::standard(VARIABLE) {
        return (word == SandboxMode::Off.name()).then_some(VARIABLE);
    }
    let plan = diagnostics::plan_of_one_prompt(&std::env::current_dir().ok()?).ok()??;
    let task = plan.tasks.first()?;
    (task.sandbox.is_some() && task.sandbox_mode() == SandboxMode::Off).then_some("the config")
}

/// `cpu, memory and disk`.
fn counted_out(resources: &[CoreResource]) -> String {
    let names: Vec<&str> = resources.iter().map(|resource| resource.name()).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}

/// Each running task holds a few, the store and the bus some more.
const FEW: u64 = 1024;

pub(super) fn descriptors() -> Finding {
    let limits = getrlimit(Resource::Nofile);
    match limits.maximum {
        Some(most) if most < FEW => {
            Finding::warning("descriptors", format!("a process may open no more than {most} files"))
                .remedy("raise the hard limit (ulimit -Hn), or run few tasks at once")
        }
        Some(most) => Finding::ok("descriptors", format!("a process may open {most} files")),
        None => Finding::ok("descriptors", "a process may open any number of files"),
    }
}

/// 2025-01-01: no clock that is right shows less.
const BEFORE_US: i64 = 1_735_689_600_000;

pub(super) fn clock() -> Finding {
    match wall().0 < BEFORE_US {
        true => Finding::warning("clock", "it shows a time before this program was made")
            .remedy("set it: records and pauses until a provider's reset go by it"),
        false => Finding::ok("clock", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_git() {
        assert_eq!(version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("git version 3.0.rc1"), Some((3, 0)));
        assert_eq!(version("gti"), None);
    }
}
