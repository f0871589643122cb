//! What a task says about its confinement: whether its processes are kept from the rest of the machine, and what of the
//! network they reach. What follows from it is in `confinement`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::cloud::CLOUD;
use super::{Isolation, Task, Work};

/// Whether the processes of a task are confined, and what they get beyond the usual.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    pub mode: SandboxMode,
    /// Further files and folders to read: absolute, below `~/`, or below the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Likewise, to write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
}

impl Sandbox {
    pub fn of(mode: SandboxMode) -> Sandbox {
        Sandbox { mode, read: Vec::new(), write: Vec::new() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// It does not start where the strongest confinement is not to be had.
    Require,
    /// As far as this machine can.
    Prefer,
    Off,
}

impl SandboxMode {
    pub fn name(self) -> &'static str {
        match self {
            SandboxMode::Require => "require",
            SandboxMode::Prefer => "prefer",
            SandboxMode::Off => "off",
        }
    }
}

/// What of the network is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    Full,
    Off,
    /// These hosts (`host`, `*.host`, `host:port`) and those of the agent's model.
    Allow(Vec<String>),
}

impl Network {
    /// Without any host on its list there is nothing to allow.
    pub fn is_restricted(&self) -> bool {
        *self != Network::Full
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::Full => f.write_str("full"),
            Network::Off => f.write_str("off"),
            Network::Allow(hosts) => f.write_str(&hosts.join(", ")),
        }
    }
}

impl Task {
    /// A prompt is carried out by commands that a model wrote; a command is the user's own. A limit to the network is a
    /// wish for confinement, and one that is not to be passed over: nothing but a sandbox keeps to it, so `off` is not off then.
    pub fn sandbox_mode(&self) -> SandboxMode {
        let is_limited = self.network().is_restricted();
        match (&self.sandbox, &self.work) {
            _ if self.agent_name() == CLOUD => SandboxMode::Off,
            (Some(sandbox), _) if sandbox.mode != SandboxMode::Off => sandbox.mode,
            _ if is_limited => SandboxMode::Require,
            (None, Work::Prompt(_)) => SandboxMode::Prefer,
            (Some(_), _) | (None, Work::Run(_)) => SandboxMode::Off,
        }
    }

    /// Where it works, with what holds for tasks that do not say it. A worktree shares the repository's git directory, which
    /// one that must be confined does not reach.
    pub fn isolation_or(&self, default: Isolation) -> Isolation {
        match self.isolation.unwrap_or(default) {
            Isolation::Worktree if self.sandbox_mode() == SandboxMode::Require => Isolation::Clone,
            isolation => isolation,
        }
    }

    pub fn network(&self) -> &Network {
        self.network.as_deref().unwrap_or(&Network::Full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Command;
    use crate::values::ids::TaskId;

    fn task(work: Work) -> Task {
        Task::new(TaskId::parse("t").unwrap(), work)
    }

    #[test]
    fn prompts_are_confined_where_that_can_be_had_and_commands_are_not() {
        let prompt = || task(Work::Prompt("Do it".into()));
        let command = || task(Work::Run(Command::Line("make".into())));
        assert_eq!(prompt().sandbox_mode(), SandboxMode::Prefer);
        assert_eq!(command().sandbox_mode(), SandboxMode::Off);
        let off = |task: Task| Task { network: Some(Box::new(Network::Off)), ..task };
        assert_eq!(off(prompt()).sandbox_mode(), SandboxMode::Require, "a limit is not passed over");
        assert_eq!(off(command()).sandbox_mode(), SandboxMode::Require);
        let switched_off =
            |task: Task| Task { sandbox: Some(Box::new(Sandbox::of(SandboxMode::Off))), ..task };
        assert_eq!(switched_off(prompt()).sandbox_mode(), SandboxMode::Off);
        assert_eq!(
            off(switched_off(prompt())).sandbox_mode(),
            SandboxMode::Require,
            "nothing else keeps to it"
        );
        assert_eq!(off(switched_off(command())).sandbox_mode(), SandboxMode::Require);
        let preferred = Task { sandbox: Some(Box::new(Sandbox::of(SandboxMode::Prefer))), ..off(prompt()) };
        assert_eq!(preferred.sandbox_mode(), SandboxMode::Prefer, "as far as this machine can, and told");
        let sandbox = Some(Box::new(Sandbox::of(SandboxMode::Require)));
        assert_eq!(Task { sandbox, ..command() }.sandbox_mode(), SandboxMode::Require);
        let isolations = [Isolation::Worktree, Isolation::Clone, Isolation::None];
        let required = off(prompt());
        let there = isolations.map(|default| required.isolation_or(default));
        assert_eq!(there, [Isolation::Clone, Isolation::Clone, Isolation::None]);
        assert_eq!(isolations.map(|default| prompt().isolation_or(default)), isolations);
        let cloud = Task { agent: Some("cloud".into()), ..prompt() };
        assert_eq!(cloud.sandbox_mode(), SandboxMode::Off, "its work is not on this machine");
    }
}
