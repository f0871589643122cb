//! What a task may reach and use, and who sees to that.

use conductor_core::confinement::{confines_itself, is_unconfinable};
use conductor_core::plan::{Network, Resource, SandboxMode, Task, Work};
use conductor_core::values::counted::{counted, size};
use conductor_engine::process::confinement::{self, Tier};
use conductor_engine::process::limits::{self, How};

use super::Subject;

/// What its agent reaches, here and as it is written.
pub(super) fn sandbox(task: &Task) -> String {
    let mode = task.sandbox_mode();
    if mode == SandboxMode::Off {
        return match task.work {
            _ if task.is_for_cloud() => "off: it works elsewhere".to_owned(),
            Work::Prompt(_) => format!("off; it stops {}", Tier::None.stops()),
            Work::Run(_) => "off: a command is your own".to_owned(),
        };
    }
    if confines_itself(task.agent_name()) {
        let agent = task.agent_name();
        return match is_unconfinable(task) {
            true => {
                format!("{}: it does not start, {agent} does not work inside of a sandbox", mode.name())
            }
            false => {
                format!("{agent}'s own: its commands read all that you can, and write to the workspace alone")
            }
        };
    }
    let found = confinement::findings();
    let why = found.why.as_deref().unwrap_or_default();
    let mut told = match found.tier {
        tier if mode == SandboxMode::Require && !tier.is_enough_for(mode) => {
            format!("require: it does not start here, {why}")
        }
        Tier::None => format!("none (prefer): its agent reaches all that you can; {why}"),
        tier => format!("{tier} ({}): it does not reach {}", mode.name(), tier.stops()),
    };
    if found.tier.is_enough_for(mode) {
        told += &format!("\nnot stopped: {} (docs/security.md)", found.tier.leaves());
    }
    if found.tier == Tier::Landlock && mode == SandboxMode::Prefer {
        told += &format!("\nthe strongest is not to be had: {why}");
    }
    if let Some(remedy) = found.remedy {
        told += &format!("\n{remedy}");
    }
    match task.network() {
        Network::Full => told + "\nnetwork: all of it, services of this machine too",
        network if found.tier == Tier::Landlock && mode == SandboxMode::Prefer => {
            told + &format!("\nnetwork: {network} is asked for, and landlock limits no hosts")
        }
        network => told + &format!("\nnetwork: {network}, and its model"),
    }
}

pub(super) fn tries(task: &Task) -> String {
    match task.retry.max_attempts {
        1 => "one".to_owned(),
        most => format!("up to {most}, the second after {}", task.retry.initial_delay),
    }
}

pub(super) fn limits(task: &Task) -> String {
    let limits = [
        task.timeout.map(|time| format!("{time} for an attempt")),
        task.max_cost.map(|cost| format!("{cost} in all")),
        task.max_subagent_cost().map(|cost| match task.may_delegate() {
            true => format!("{cost} of it by subagents"),
            false => "no subagents".to_owned(),
        }),
        task.max_tokens.map(|tokens| format!("{} in all", counted(tokens, "token"))),
        task.max_turns.map(|turns| counted(turns, "turn")),
    ];
    limits.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What its processes may use of the machine, who sees to that, and what the newest attempt has used.
pub(super) fn resources(subject: &Subject) -> String {
    let (task, found) = (subject.task(), limits::findings());
    let of = task.limits();
    if of.is_none() {
        return String::new();
    }
    if task.is_for_cloud() {
        return format!("{of}: for the scheduler alone, it works elsewhere");
    }
    let names = |how: How| {
        let names = of.all().map(|(resource, _)| resource).filter(|one| found.how(*one) == how);
        names.map(Resource::name).collect::<Vec<_>>().join(", ")
    };
    let by_kernel = format!("kept by the kernel ({})", found.tier.name());
    let by_kernel = if found.tier == limits::Tier::Sampled { "kept by the kernel" } else { &by_kernel };
    let told = [
        (by_kernel, names(How::Kernel)),
        ("looked at, and ended for", names(How::Sampled)),
        ("not limited on this machine", names(How::Not)),
    ];
    let mut lines = vec![of.to_string()];
    lines.extend(
        told.iter().filter(|(_, names)| !names.is_empty()).map(|(how, names)| format!("{how}: {names}")),
    );
    lines.extend(used(subject));
    lines.join("\n")
}

fn used(subject: &Subject) -> Option<String> {
    let found = subject.found.as_ref()?;
    let run = &found.found.run;
    let span = run.spans_of(run.place(&subject.task().id)?).find(|span| span.to.is_some())?;
    let took = span.phases?.processes?;
    let memory = match (took.peak_together(), took.peak()) {
        (Some(all), _) => format!(", {} of memory at most", size(all)),
        (None, Some(one)) => format!(", {} of memory at most in one process", size(one)),
        (None, None) => String::new(),
    };
    Some(format!("attempt {} used {} of processor time{memory}", span.attempt, took.cpu))
}
