//! One set of defaults laid over a weaker one.

use super::{ByAgent, Retry, Settings, joined};
use crate::plan::subagents::Subagent;

impl Settings {
    /// What this one says, and where it says nothing, what the weaker one does. Variables, resources, agents, prices and
    /// subagents go name by name, a retry policy field by field, everything else whole.
    pub(in crate::file) fn over(self, weaker: Settings) -> Settings {
        let (mut agents, mut prices) = (weaker.agents, weaker.prices);
        agents.extend(self.agents);
        prices.extend(self.prices);
        let subagents = more(self.subagents, weaker.subagents);
        Settings {
            expected_deliverable: self.expected_deliverable.or(weaker.expected_deliverable),
            expected_lines: self.expected_lines.or(weaker.expected_lines),
            priority: self.priority.or(weaker.priority),
            epic: self.epic.or(weaker.epic),
            group: self.group.or(weaker.group),
            agent: self.agent.or(weaker.agent),
            own_agent_home: self.own_agent_home.or(weaker.own_agent_home),
            fallback_agents: self.fallback_agents.or(weaker.fallback_agents),
            fallback_models: self.fallback_models.or(weaker.fallback_models),
            model: self.model.or(weaker.model),
            subagent_type: self.subagent_type.or(weaker.subagent_type),
            applicable_skills: self.applicable_skills.or(weaker.applicable_skills),
            files: self.files.or(weaker.files),
            setup: self.setup.or(weaker.setup),
            keep: self.keep.or(weaker.keep),
            conflict_markers: self.conflict_markers.or(weaker.conflict_markers),
            verify: self.verify.or(weaker.verify),
            fix_rounds: self.fix_rounds.or(weaker.fix_rounds),
            check_base: self.check_base.or(weaker.check_base),
            gate_proof: self.gate_proof.or(weaker.gate_proof),
            review: self.review.or(weaker.review),
            measure: self.measure.or(weaker.measure),
            merge_strategy: self.merge_strategy.or(weaker.merge_strategy),
            on_conflict: self.on_conflict.or(weaker.on_conflict),
            land: self.land.or(weaker.land),
            report: self.report.or(weaker.report),
            expertise: self.expertise.or(weaker.expertise),
            preempt: self.preempt.or(weaker.preempt),
            speculate: self.speculate.or(weaker.speculate),
            timeout: self.timeout.or(weaker.timeout),
            retry: Retry::over(self.retry, weaker.retry),
            recovery: super::recovery::over(self.recovery, weaker.recovery),
            env: either(self.env, weaker.env, |own, weaker| joined(Some(own), &Some(weaker))),
            env_pass: self.env_pass.or(weaker.env_pass),
            requires: self.requires.or(weaker.requires),
            permissions: self.permissions.or(weaker.permissions),
            max_cost: self.max_cost.or(weaker.max_cost),
            max_tokens: self.max_tokens.or(weaker.max_tokens),
            survives: self.survives.or(weaker.survives),
            may_delegate: self.may_delegate.or(weaker.may_delegate),
            max_subagent_cost: self.max_subagent_cost.or(weaker.max_subagent_cost),
            max_turns: self.max_turns.or(weaker.max_turns),
            resources: either(self.resources, weaker.resources, |own, weaker| {
                joined(Some(own), &Some(weaker))
            }),
            isolation: self.isolation.or(weaker.isolation),
            sandbox: self.sandbox.or(weaker.sandbox),
            network: self.network.or(weaker.network),
            changes: self.changes.or(weaker.changes),
            estimate: self.estimate.or(weaker.estimate),
            repository: self.repository.or(weaker.repository),
            pr_strategy: self.pr_strategy.or(weaker.pr_strategy),
            auto_pr_timeout: self.auto_pr_timeout.or(weaker.auto_pr_timeout),
            cloud: either(self.cloud, weaker.cloud, |own, weaker| own.over(&weaker)),
            epic_landing: self.epic_landing.or(weaker.epic_landing),
            isolation_scope: self.isolation_scope.or(weaker.isolation_scope),
            workspace_path: self.workspace_path.or(weaker.workspace_path),
            models: self.models.or(weaker.models),
            subagents,
            agents,
            prices,
            agent_resources: by_agent(self.agent_resources, weaker.agent_resources),
        }
    }
}

/// Agent by agent, and of each name by name.
fn by_agent(own: ByAgent, weaker: ByAgent) -> ByAgent {
    let mut all = weaker;
    for (agent, amounts) in own {
        all.entry(agent).or_default().extend(amounts);
    }
    all
}

/// Those of another name behind our own.
fn more(mut own: Vec<Subagent>, weaker: Vec<Subagent>) -> Vec<Subagent> {
    for subagent in weaker {
        if own.iter().all(|one| one.name != subagent.name) {
            own.push(subagent);
        }
    }
    own
}

impl Retry {
    fn over(own: Option<Retry>, weaker: Option<Retry>) -> Option<Retry> {
        either(own, weaker, |own, weaker| Retry {
            max_attempts: own.max_attempts.or(weaker.max_attempts),
            initial_delay: own.initial_delay.or(weaker.initial_delay),
            backoff_factor: own.backoff_factor.or(weaker.backoff_factor),
            max_delay: own.max_delay.or(weaker.max_delay),
            jitter: own.jitter.or(weaker.jitter),
        })
    }
}

/// The one there is, or both together.
fn either<T>(own: Option<T>, weaker: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (own, weaker) {
        (Some(own), Some(weaker)) => Some(both(own, weaker)),
        (own, weaker) => own.or(weaker),
    }
}
