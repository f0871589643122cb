//! What of a config stays when the user does not trust it; which settings those are stands in `file/trust`.

use super::Settings;
use crate::plan::{ACP, Isolation, Network, Sandbox, SandboxMode};

impl Settings {
    pub(in crate::file) fn untrusted(self) -> Settings {
        let is_program = |name: &str| name.starts_with(ACP);
        let mut subagents = self.subagents;
        subagents.retain(|one| !one.agent.as_deref().is_some_and(is_program));
        let reviewer = |agent: &Option<String>| agent.as_deref().is_some_and(is_program);
        Settings {
            setup: self.setup.filter(Vec::is_empty),
            verify: self.verify.filter(Vec::is_empty),
            measure: self.measure.filter(Option::is_none),
            env: None,
            cloud: None,
            env_pass: self.env_pass.filter(Vec::is_empty),
            permissions: None,
            workspace_path: None,
            agents: Default::default(),
            prices: Default::default(),
            agent: self.agent.filter(|name| !is_program(name)),
            fallback_agents: self.fallback_agents.filter(|names| !names.iter().any(|name| is_program(name))),
            review: self
                .review
                .filter(|review| !review.as_ref().is_some_and(|review| reviewer(&review.agent))),
            isolation: self.isolation.filter(|isolation| *isolation != Isolation::None),
            sandbox: self.sandbox.filter(|sandbox| *sandbox == Sandbox::of(SandboxMode::Require)),
            network: self.network.filter(|network| *network == Network::Off),
            subagents,
            ..self
        }
    }
}
