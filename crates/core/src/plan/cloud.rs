//! What a task says of a session in the cloud: by which route it is started, and what it may do there.

use serde::{Deserialize, Serialize};

use super::{PrStrategy, Task};
use crate::values::units::Millis;

/// The name of the agent that works in the cloud.
pub const CLOUD: &str = "cloud";

/// By which route sessions are started and watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A web page in the user's own browser.
    Browser,
    /// A routine of the user's, fired by its own token.
    Routine,
    /// Sessions of an API, with an API key.
    Managed,
    /// The `claude` program, which starts a session on a pool of runners.
    Runner,
}

impl Transport {
    pub const NAMES: [(&'static str, Transport); 4] = [
        ("browser", Transport::Browser),
        ("routine", Transport::Routine),
        ("managed", Transport::Managed),
        ("runner", Transport::Runner),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Transport::Browser => "browser",
            Transport::Routine => "routine",
            Transport::Managed => "managed",
            Transport::Runner => "runner",
        }
    }

    /// Whether it says what a session costs; otherwise that is unknown, and caps on money cannot be held.
    pub fn tells_cost(self) -> bool {
        self == Transport::Managed
    }
}

/// What a task or a config says of sessions in the cloud. What is absent has no default but the one that is told here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cloud {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Whether commits that the task builds on may be pushed to the remote, where a session finds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<bool>,
    /// The remote that is pushed to and looked at; `origin` where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// `managed`: the environment's id. `runner`: the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// `routine`: its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routine: Option<String>,
    /// `managed`: the id of the agent that works in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The variable of the caller's environment that has the token; a token itself is never written in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_variable: Option<String>,
    /// How many sessions all attempts of a task may start together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<u32>,
    /// How long nothing new may be pushed before a session that cannot be watched counts as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Millis>,
    /// `browser`: whether the tab stays open when the task is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_tabs: Option<bool>,
}

impl Cloud {
    pub fn remote(&self) -> &str {
        self.remote.as_deref().unwrap_or("origin")
    }

    /// What this one says, and where it says nothing, what the weaker one does.
    pub fn over(self, weaker: &Cloud) -> Cloud {
        let weaker = weaker.clone();
        Cloud {
            transport: self.transport.or(weaker.transport),
            push: self.push.or(weaker.push),
            remote: self.remote.or(weaker.remote),
            environment: self.environment.or(weaker.environment),
            routine: self.routine.or(weaker.routine),
            agent: self.agent.or(weaker.agent),
            token_variable: self.token_variable.or(weaker.token_variable),
            max_sessions: self.max_sessions.or(weaker.max_sessions),
            settle: self.settle.or(weaker.settle),
            keep_tabs: self.keep_tabs.or(weaker.keep_tabs),
        }
    }

    /// Keys that some transports do not read.
    pub const KEYS: [&'static str; 5] = ["environment", "routine", "agent", "token_variable", "keep_tabs"];

    /// Whether one of these keys is said.
    pub fn says(&self, key: &str) -> bool {
        match key {
            "environment" => self.environment.is_some(),
            "routine" => self.routine.is_some(),
            "agent" => self.agent.is_some(),
            "token_variable" => self.token_variable.is_some(),
            "keep_tabs" => self.keep_tabs.is_some(),
            _ => false,
        }
    }

    /// Whether its transport reads one of these keys. Without a transport that is not known, and an error already.
    pub fn heeds(&self, key: &str) -> bool {
        use Transport::{Browser, Managed, Routine, Runner};
        let Some(transport) = self.transport else { return true };
        match key {
            "environment" => matches!(transport, Managed | Runner),
            "routine" => transport == Routine,
            "agent" => transport == Managed,
            "token_variable" => matches!(transport, Routine | Managed),
            "keep_tabs" => transport == Browser,
            _ => true,
        }
    }

    /// What is missing for its transport, with what to do about it.
    pub fn missing(&self) -> Option<String> {
        let lacks = |key: &str, what: &str| Some(format!("say `cloud: {{{key}: …}}`, {what}"));
        match self.transport {
            None => lacks("transport", "one of routine, managed, runner and browser"),
            _ if self.push != Some(true) => Some(
                "it pushes the commits that the task builds on to the remote, where the session finds them; \
                 allow that with `cloud: {push: true}`"
                    .to_owned(),
            ),
            Some(Transport::Routine) if self.routine.is_none() => lacks("routine", "the routine's id"),
            Some(Transport::Managed) if self.agent.is_none() => {
                lacks("agent", "the id of the agent that works")
            }
            Some(Transport::Managed) if self.environment.is_none() => {
                lacks("environment", "the id of the environment it works in")
            }
            Some(Transport::Runner) if self.environment.is_none() => {
                lacks("environment", "the pool of runners, ccpool_…")
            }
            Some(_) => None,
        }
    }
}

impl PrStrategy {
    /// After how long at work a pull request is opened for what was pushed; nothing for one that a person opens.
    pub fn patience(self) -> Option<Millis> {
        match self {
            PrStrategy::Aggressive => Some(Millis::from_secs(1800)),
            PrStrategy::Normal => Some(Millis::from_secs(3600)),
            PrStrategy::Patient => Some(Millis::from_secs(7200)),
            PrStrategy::Manual => None,
        }
    }
}

impl Task {
    /// Whether an agent in the cloud does it, first or as a fallback.
    pub fn is_for_cloud(&self) -> bool {
        self.agents().any(|agent| agent == CLOUD)
    }

    /// By which route it is done in the cloud, and in which environment; for people.
    pub fn cloud_route(&self) -> Option<String> {
        let cloud = self.cloud.as_deref().filter(|_| self.is_for_cloud())?;
        let transport = cloud.transport.map_or("cloud", Transport::name);
        let place = cloud.environment.as_ref().or(cloud.routine.as_ref());
        Some(place.map_or_else(|| transport.to_owned(), |place| format!("{transport} ({place})")))
    }

    /// After how long a pull request is opened for a session's work, where one is wanted at all.
    pub fn pull_request_after(&self) -> Option<Millis> {
        match self.pr_strategy {
            Some(PrStrategy::Manual) => None,
            strategy => self.auto_pr_timeout.or_else(|| strategy.and_then(PrStrategy::patience)),
        }
    }

    /// Why a cap on money cannot be held for it, where it has one or the run has.
    pub fn uncapped(&self, run_is_capped: bool) -> Option<String> {
        let cloud = self.cloud.as_deref()?;
        let transport = cloud.transport.filter(|transport| !transport.tells_cost())?;
        let is_capped = run_is_capped || self.max_cost.is_some();
        (self.is_for_cloud() && is_capped && cloud.max_sessions.is_none()).then(|| {
            format!(
                "what a session of the transport '{}' costs is not known, so that max_cost cannot be held; cap the \
                 sessions instead: `cloud: {{max_sessions: N}}`, or leave max_cost out",
                transport.name()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Work;
    use crate::values::ids::TaskId;
    use crate::values::units::Usd;

    fn task(cloud: Cloud) -> Task {
        let mut task = Task::new(TaskId::parse("t").unwrap(), Work::Prompt("do it".into()));
        task.agent = Some(CLOUD.into());
        task.cloud = Some(Box::new(cloud));
        task
    }

    #[test]
    fn each_transport_says_what_it_lacks_and_push_is_asked_for() {
        let of = |transport, push| Cloud { transport: Some(transport), push: Some(push), ..Cloud::default() };
        let lacks = |cloud: Cloud| cloud.missing().unwrap_or_default();
        assert!(lacks(Cloud::default()).contains("transport"));
        assert!(lacks(of(Transport::Routine, false)).contains("cloud: {push: true}"));
        assert!(lacks(of(Transport::Routine, true)).contains("routine"));
        assert!(lacks(of(Transport::Managed, true)).contains("agent"));
        assert!(lacks(of(Transport::Runner, true)).contains("ccpool_"));
        assert_eq!(of(Transport::Browser, true).missing(), None);
        let routine = Cloud { routine: Some("trig_1".into()), ..of(Transport::Routine, true) };
        assert_eq!(routine.missing(), None);
    }

    #[test]
    fn a_task_takes_back_what_the_config_allows_and_an_old_log_still_tells_it() {
        let said = |text: &str| serde_json::from_str::<Cloud>(text).unwrap();
        let config = said(r#"{"transport":"browser","push":true,"keep_tabs":true}"#);
        let own = said(r#"{"push":false,"keep_tabs":false}"#).over(&config);
        assert_eq!((own.push, own.keep_tabs), (Some(false), Some(false)));
        assert!(own.missing().unwrap().contains("push: true"));
        assert_eq!(Cloud::default().over(&config), config);
    }

    #[test]
    fn what_a_transport_does_not_read_is_known() {
        let idle = |transport| {
            let cloud = Cloud { transport: Some(transport), ..Cloud::default() };
            Cloud::KEYS.into_iter().filter(|key| !cloud.heeds(key)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(idle(Transport::Browser), "environment routine agent token_variable");
        assert_eq!(idle(Transport::Routine), "environment agent keep_tabs");
        assert_eq!(idle(Transport::Managed), "routine keep_tabs");
        assert_eq!(idle(Transport::Runner), "routine agent token_variable keep_tabs");
        assert!(Cloud::KEYS.into_iter().all(|key| Cloud::default().heeds(key)));
    }

    #[test]
    fn what_has_an_unknown_cost_is_capped_by_sessions() {
        let routine = Cloud { transport: Some(Transport::Routine), ..Cloud::default() };
        assert_eq!(task(routine.clone()).uncapped(false), None);
        assert!(task(routine.clone()).uncapped(true).is_some());
        let own = Task { max_cost: Some(Usd(1)), ..task(routine.clone()) };
        assert!(own.uncapped(false).is_some());
        assert_eq!(task(Cloud { max_sessions: Some(1), ..routine }).uncapped(true), None);
        let managed = Cloud { transport: Some(Transport::Managed), ..Cloud::default() };
        assert_eq!(task(managed).uncapped(true), None);
    }

    #[test]
    fn where_it_is_done_is_told_in_a_few_words() {
        let managed = Cloud {
            transport: Some(Transport::Managed),
            environment: Some("env_1".into()),
            ..Cloud::default()
        };
        assert_eq!(task(managed.clone()).cloud_route().as_deref(), Some("managed (env_1)"));
        let browser = Cloud { transport: Some(Transport::Browser), ..Cloud::default() };
        assert_eq!(task(browser).cloud_route().as_deref(), Some("browser"));
        assert_eq!(Task { agent: Some("claude".into()), ..task(managed) }.cloud_route(), None);
    }

    #[test]
    fn a_pull_request_comes_by_strategy_or_time() {
        let mut task = task(Cloud::default());
        assert_eq!(task.pull_request_after(), None);
        task.pr_strategy = Some(PrStrategy::Normal);
        assert_eq!(task.pull_request_after(), Some(Millis::from_secs(3600)));
        task.auto_pr_timeout = Some(Millis::from_secs(5));
        assert_eq!(task.pull_request_after(), Some(Millis::from_secs(5)));
        task.pr_strategy = Some(PrStrategy::Manual);
        assert_eq!(task.pull_request_after(), None);
    }
}
