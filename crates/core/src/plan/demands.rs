//! What carrying out a plan starts, hands out or allows: what a person has to agree to where a model wrote the plan.
//!
//! It is the same list as that of keys which need trust in a repository's config (`file/trust`); a test holds the two
//! together. What the tasks' prompts ask for is not among it: agents keep to rules of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::{
    Command, Isolation, Network, Notification, Otherwise, Permissions, Plan, Program, Sandbox, SandboxMode,
    Task, Work,
};

/// An agent that is named by its program: what follows is started.
pub const ACP: &str = "acp:";

/// Notifications that stay on the user's own screen.
pub const ON_SCREEN: [&str; 2] = ["terminal", "desktop"];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// A command that is run. A project may well use it already.
    Command(String),
    /// A setting that starts something else, hands something out or allows more than usual.
    Setting { key: &'static str, value: String },
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Demand::Command(command) => f.write_str(command),
            Demand::Setting { key, value } => write!(f, "{key}: {value}"),
        }
    }
}

impl Notification {
    /// Whether something is started or sent for it.
    pub fn leaves_the_screen(&self) -> bool {
        !matches!(self, Notification::Terminal { .. } | Notification::Desktop { .. })
    }
}

impl Plan {
    /// All of them, each once.
    pub fn demands(&self) -> BTreeSet<Demand> {
        let mut found = Found::default();
        self.tasks.iter().for_each(|task| found.task(task));
        self.agents.iter().for_each(|(name, program)| found.program(name, program));
        self.subagents.iter().for_each(|subagent| found.agent(subagent.agent.as_deref()));
        let told = &self.notifications;
        for way in
            [&told.on_complete, &told.on_failure, &told.on_input, &told.on_budget].into_iter().flatten()
        {
            found.setting("notifications", way, way.leaves_the_screen());
        }
        found.isolation(self.isolation);
        found.setting("workspace_path", &self.workspace_path, self.workspace_path.is_some());
        for (model, price) in &self.prices {
            found.setting("prices", &BTreeMap::from([(model, price)]), true);
        }
        found.setting("limits.learn_cost", &self.limits.learn_cost, self.limits.learn_cost.is_some());
        found.0
    }
}

#[derive(Default)]
struct Found(BTreeSet<Demand>);

impl Found {
    fn task(&mut self, task: &Task) {
        if let Work::Run(command) = &task.work {
            self.command(match command {
                Command::Line(line) => line.clone(),
                Command::Argv(words) => words.join(" "),
            });
        }
        let measured = task.measure.as_deref();
        let coverage = measured.and_then(|measure| measure.coverage.as_ref()).map(|coverage| &coverage.run);
        let lint = measured.map_or(&[][..], |measure| &measure.lint);
        let commands = task.setup().iter().chain(&task.verify).chain(coverage).chain(lint);
        commands.for_each(|command| self.command(command.clone()));
        let reviewer = task.review.as_ref().and_then(|review| review.agent.as_deref());
        task.agents().map(Some).chain([reviewer]).for_each(|agent| self.agent(agent));
        for (name, value) in &task.env {
            self.setting("env", &BTreeMap::from([(name, value)]), true);
        }
        task.env_pass.iter().for_each(|name| self.setting("env_pass", name, true));
        if let Some(permissions) = &task.permissions {
            self.setting("permissions", permissions, allows_more(permissions));
        }
        self.isolation(task.isolation);
        let sandbox = task.sandbox.as_deref();
        let weakens = sandbox.is_some_and(|sandbox| *sandbox != Sandbox::of(SandboxMode::Require));
        self.setting("sandbox", &sandbox, weakens);
        let network = task.network.as_deref();
        self.setting("network", &network, network.is_some_and(|network| *network != Network::Off));
        self.setting("cloud", &task.cloud, task.cloud.is_some());
    }

    fn program(&mut self, name: &str, program: &Program) {
        self.command(program.command.join(" "));
        if !program.resume.is_empty() {
            self.command(program.resume.join(" "));
        }
        let passed = BTreeMap::from([(name, &program.env_pass)]);
        self.setting("agents", &passed, !program.env_pass.is_empty());
    }

    fn agent(&mut self, name: Option<&str>) {
        if let Some(name) = name.filter(|name| name.starts_with(ACP)) {
            self.setting("agent", &name, true);
        }
    }

    fn isolation(&mut self, isolation: Option<Isolation>) {
        self.setting("isolation", &isolation, isolation == Some(Isolation::None));
    }

    fn command(&mut self, command: String) {
        self.0.insert(Demand::Command(command));
    }

    fn setting(&mut self, key: &'static str, value: &impl Serialize, counts: bool) {
        if counts {
            let value = serde_json::to_string(value).unwrap_or_default();
            self.0.insert(Demand::Setting { key, value });
        }
    }
}

/// Rules that deny or ask take nothing from the user.
fn allows_more(permissions: &Permissions) -> bool {
    !permissions.allow.is_empty()
        || permissions.otherwise != Otherwise::Deny
        || permissions.blocked_commands.is_some()
        || permissions.repetition
}
