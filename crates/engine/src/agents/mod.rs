//! Who does the work: translators between a task and a program.
//!
//! An agent says what to start and what an exit means. It starts nothing itself and reads no file; `process` and
//! `worker` treat all of them alike.

mod acp;
mod caller;
mod calls;
mod claude;
pub mod cloud;
mod codex;
pub mod conversation;
mod exec;
mod gemini;
mod opencode;
mod plugin;
mod policy;
pub mod prices;
mod questions;
#[cfg(test)]
mod replay;
mod roster;
mod rules;
mod scratch;
mod shell;
mod sieve;
pub mod skills;
pub mod subagents;
mod talk;
pub(crate) mod tool_access;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

use conductor_core::plan::cloud::CLOUD;
use conductor_core::plan::models::{self, Tier};
use conductor_core::plan::{Command, Plan, Task, Work};
use conductor_core::schedule::review;
use conductor_core::values::ids::TaskId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::git::workspaces::Workspace;
use crate::host::redact::{self, Redactor};
use crate::process::Launch;
use crate::process::on_path;
use caller::NETWORK;
use policy::InWorkspace;
use tool_access::ToolAccess;

pub use caller::Caller;
pub use calls::CallSize;
pub use questions::{Questions, told};
pub use roster::{Entry, Kind, Login, known_names, roster};
pub use rules::Keeps;
pub use talk::{Ending, Heard, Said, Tokens, Translator};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AgentError {
    #[error(
        "there is no agent '{0}'; there are shell, for `run:` tasks, claude, codex, gemini, opencode, cloud, \
         acp:PROGRAM, \
         plugins (conductor-agent-NAME), and what the task file's config has under agents"
    )]
    Unknown(String),
    #[error("the {agent} agent cannot do this: {why}")]
    Unfit { agent: &'static str, why: String },
    #[error("{0} cannot be given a home of its own; only claude and codex can (agent_home)")]
    Homeless(String),
    #[error("{agent} cannot keep the rule `{rule}`: {why}")]
    Unkept { agent: String, rule: String, why: String },
    #[error("{0}; {1}")]
    Plugin(String, &'static str),
    #[error("{program} is not installed; {remedy}")]
    Missing { program: String, remedy: &'static str },
}

/// What an agent is asked to do, in which folder, and with which prompt.
pub struct Brief<'a> {
    pub task: &'a Task,
    pub workspace: &'a Workspace,
    pub caller: &'a Caller,
    /// The prompt, with all there is to know; nothing for a command.
    pub words: String,
    /// The same for one that does not know the task, should the conversation to go on with be lost.
    pub anew: Option<String>,
    /// The conversation to begin, or to go on with.
    pub session: &'a Session,
    /// What only a person can allow.
    pub questions: &'a Questions,
    pub earlier: Earlier<'a>,
    /// How to work, beside what to do, for an agent that `knows_specialists`.
    pub manner: Option<&'a str>,
    /// Where it can say more than its work does, for an agent that `takes_tools`.
    pub(crate) tools: Option<&'a ToolAccess>,
}

/// What an attempt that goes on has to know of the one before it: its words do not tell whether that was ever judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Earlier<'a> {
    /// It was cut short: what it handed in last was not judged.
    pub cut_short: bool,
    /// Its work was judged and is to be mended.
    pub sent_back: bool,
    /// What people said while the run was not active, or before the agent was there to hear it.
    pub said: &'a [String],
}

impl Brief<'_> {
    /// How to start the agent's program in the task's folder. Only this program gets these keys of the
    /// caller; what the task sets overrides keys and settings.
    fn launch(&self, program: &str, args: Vec<String>, keys: &[&str], settings: &[(&str, &str)]) -> Launch {
        let mut env = self.caller.environment(self.task, self.workspace).as_ref().clone();
        let keys = keys.iter().chain(&NETWORK).filter_map(|name| self.caller.variable(name));
        if let Some(access) = self.tools {
            env.insert(tool_access::TOKEN.into(), access.token.clone().into());
            env.insert(tool_access::URL.into(), access.url.clone().into());
        }
        for (name, value) in keys.chain(settings.iter().map(|(name, value)| (name.into(), value.into()))) {
            env.entry(name).or_insert(value);
        }
        Launch {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: Arc::new(env),
            directory: self.workspace.directory.clone(),
            limits: shell::limits(self.task, self.workspace),
            converses: true,
            together: false,
        }
    }

    fn policy(&self) -> InWorkspace {
        let temporary =
            self.workspace.env.iter().find(|(name, _)| name == "TMPDIR").map(|(_, path)| path.into());
        let rules = self.task.permissions.as_deref().cloned().unwrap_or_default();
        InWorkspace::new(self.workspace.directory.clone(), temporary).with(rules, self.questions.clone())
    }
}

/// A conversation with an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Session {
    /// Chosen by us, so that it is known before anything can be lost; from its first word on, what the agent calls it.
    pub id: String,
    /// It was begun before, and knows what was said.
    pub begun: bool,
}

/// A program to start, and the translator that understands its output.
pub struct Engagement {
    pub launch: Launch,
    pub translator: Box<dyn Translator>,
}

/// Who can be engaged.
pub trait Agent: Send + Sync {
    /// The program that does this, and who understands what it says.
    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError>;

    /// Whether it could, as far as that can be told without starting anything.
    fn check(&self, task: &Task) -> Result<(), AgentError>;

    /// Whether it takes a manner of work apart from the prompt, and runs skills by their names.
    fn knows_specialists(&self) -> bool {
        false
    }

    /// The variable that gives it another home for its settings and conversations, where there is one.
    fn home_variable(&self) -> Option<&'static str> {
        None
    }

    /// Whether its first start under a user sets something up, which several of its kind at once would spoil.
    fn sets_up_its_home(&self) -> bool {
        false
    }

    /// What it can do beyond the work itself.
    fn abilities(&self) -> Abilities;

    /// Which rules it is kept to.
    fn keeps(&self) -> Keeps;

    /// Whether what its subagents use is known while they work, so that caps hold for them.
    fn counts_subagents(&self) -> bool {
        true
    }

    /// Whether it goes on with a conversation only in the directory where that was begun.
    fn stays_where_it_began(&self) -> bool {
        false
    }

    /// Whether it can commit: some are kept from writing where git keeps its own.
    fn commits(&self) -> bool {
        true
    }

    /// Whether it names its conversations itself: by which name one can be gone on with is known when it has said so.
    fn names_conversations(&self) -> bool {
        false
    }
}

/// What an agent can do beyond the work itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Abilities {
    /// It goes on with a conversation; where not, everything is said again.
    pub resumes: bool,
    /// It asks before it acts, and is answered by us.
    pub asks: bool,
    /// It tells what it uses while it works.
    pub tells_usage: bool,
    /// It can be stopped in its own language, and says what it did.
    pub interrupts: bool,
    /// The task can choose its model.
    pub chooses_model: bool,
    /// It can be given tools of ours for one conversation.
    pub takes_tools: bool,
}

impl Abilities {
    pub const ALL: Abilities = Abilities {
        resumes: true,
        asks: true,
        tells_usage: true,
        interrupts: true,
        chooses_model: true,
        takes_tools: true,
    };
    pub const NONE: Abilities = Abilities {
        resumes: false,
        asks: false,
        tells_usage: false,
        interrupts: false,
        chooses_model: false,
        takes_tools: false,
    };
}

/// Who does the work of a plan under this name: an agent the plan brings along, or one of the list of backends.
pub fn agent<'a>(plan: &'a Plan, name: &str) -> Result<&'a dyn Agent, AgentError> {
    if let Some(program) = plan.agents.get(name) {
        return Ok(program);
    }
    match name {
        "shell" => Ok(&shell::Shell),
        "claude" => Ok(&claude::Agent),
        CLOUD => Ok(&cloud::Agent),
        "codex" => Ok(&codex::Agent),
        "gemini" => Ok(&gemini::Agent),
        "opencode" => Ok(&opencode::Agent),
        name if name.starts_with(acp::PREFIX) => Ok(&acp::Agent),
        other if plugin::exists(other) => Ok(&plugin::Agent),
        other => Err(AgentError::Unknown(other.to_owned())),
    }
}

/// A translator for Claude Code that allows everything, since it only reads a recording.
pub(crate) fn listener() -> Box<dyn Translator> {
    Box::new(claude::Claude::new(String::new(), false, Box::new(|_, _| None)))
}

/// A translator that only reads what was recorded of this agent: it answers nothing that counts. Nothing for one whose
/// words are plain text.
fn recorded(plan: &Plan, name: &str, goes_on: bool) -> Option<Box<dyn Translator>> {
    if plan.agents.contains_key(name) || name == "shell" {
        return None;
    }
    let (task, session) = (some_prompt(), Session { id: String::new(), begun: goes_on });
    let brief = Brief {
        task: &task,
        workspace: &Workspace::default(),
        caller: &Caller::default(),
        words: String::new(),
        anew: None,
        session: &session,
        questions: &Questions::default(),
        earlier: Earlier::default(),
        manner: None,
        tools: None,
    };
    Some(match name {
        "claude" => listener(),
        "gemini" => gemini::listener(),
        "opencode" => opencode::listener(),
        name => heard_by(name, &brief),
    })
}

/// A translator that is only to count what the agent of a task uses, wherever its program is by now. It answers nothing
/// that counts. Nothing for one that does not tell what it uses.
pub(crate) fn counting(
    task: &Task,
    session: &Session,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Option<Box<dyn Translator>> {
    let caller = Caller::new(environment);
    let brief = Brief {
        task,
        workspace: &Workspace::default(),
        caller: &caller,
        words: String::new(),
        anew: None,
        session,
        questions: &Questions::default(),
        earlier: Earlier::default(),
        manner: None,
        tools: None,
    };
    let translator: Box<dyn Translator> = match task.agent_name() {
        "claude" => Box::new(claude::Claude::new(String::new(), session.begun, Box::new(|_, _| None))),
        "gemini" => gemini::counting(&brief),
        "opencode" => opencode::counting(&brief),
        name if name.starts_with(acp::PREFIX) => return None,
        name => heard_by(name, &brief),
    };
    Some(translator)
}

/// Of those whose translator needs to know what it is about.
fn heard_by(name: &str, brief: &Brief<'_>) -> Box<dyn Translator> {
    match name {
        CLOUD => cloud::listener(brief),
        "codex" => codex::listener(brief),
        name if name.starts_with(acp::PREFIX) => acp::listener(brief),
        _ => plugin::listener(brief),
    }
}

/// A command of ours, such as a check, in a task's place and environment.
pub fn command(line: &str, task: &Task, workspace: &Workspace, caller: &Caller) -> Launch {
    shell::launch(&Command::Line(line.to_owned()), task, workspace, caller)
}

/// Whether this agent can do the task, without starting anything.
fn fits(plan: &Plan, task: &Task) -> Result<(), AgentError> {
    let agent = agent(plan, task.agent_name())?;
    agent.check(task)?;
    match task.has_own_agent_home() && agent.home_variable().is_none() {
        true => Err(AgentError::Homeless(task.agent_name().to_owned())),
        false => Ok(()),
    }
}

/// What to remove from a task's output: secrets, as far as this process's environment names them.
pub fn redactor(plan: &Plan, task: &Task) -> Arc<Redactor> {
    Caller::new(std::env::vars_os()).redactor(plan, task)
}

/// From now on nothing is told of what tasks of this plan keep to themselves.
pub fn keep_secrets_of(plan: &Plan) {
    let is_plain = |task: &Task| task.env.is_empty() && task.env_pass.is_empty();
    if plan.agents.is_empty() && plan.tasks.iter().all(is_plain) {
        return;
    }
    let caller = Caller::new(std::env::vars_os());
    redact::learn(plan.tasks.iter().flat_map(|task| caller.values(plan, task)).collect());
}

/// What to do about a rule that an agent cannot keep.
pub const KEPT_BY: &str = "leave the rule out, or give the task agents that keep it: docs/agents.md has a table, and claude keeps every rule";

/// The first rule or cap of a task that one of its agents cannot keep. One that is unknown is told of elsewhere.
pub fn check_rules(plan: &Plan, task: &Task) -> Result<(), AgentError> {
    if matches!(task.work, Work::Run(_)) {
        return Ok(());
    }
    for name in task.agents() {
        let Ok(agent) = agent(plan, name) else { continue };
        let rules = task.permissions.as_deref();
        let broken = rules.and_then(|rules| rules::broken(rules, agent.keeps()));
        let unheld = || rules::unheld(&plan.limits, task).filter(|_| !agent.counts_subagents());
        if let Some((rule, why)) = broken.or_else(unheld) {
            return Err(AgentError::Unkept { agent: name.to_owned(), rule, why });
        }
    }
    Ok(())
}

/// Whether an agent can do this task, without starting anything; gives those of its agents that are missing.
pub fn check(plan: &Plan, task: &Task) -> Result<BTreeSet<String>, AgentError> {
    // Others do it, and they are asked for themselves.
    if task.race().is_some() {
        return Ok(BTreeSet::new());
    }
    check_rules(plan, task)?;
    let first = match task.model.as_deref() {
        Some(model) if model == models::AUTO || Tier::named(model).is_some() => {
            as_done_by(plan, task, task.agent_name())
        }
        _ => fits(plan, task),
    };
    if let Some(review) = &task.review {
        let reviewer = review::reviewer(task, review);
        as_done_by(plan, &reviewer, reviewer.agent_name())?;
    }
    let missing = |name: &&String| as_done_by(plan, task, name).is_err();
    let mut absent: BTreeSet<String> = task.fallback_agents.iter().filter(missing).cloned().collect();
    let Err(error) = first else { return Ok(absent) };
    absent.insert(task.agent_name().to_owned());
    match task.agents().all(|name| absent.contains(name)) {
        true => Err(error),
        false => Ok(absent),
    }
}

/// Whether one agent could do the task by itself, without starting anything.
pub fn check_alone(plan: &Plan, task: &Task, name: &str) -> Result<(), AgentError> {
    as_done_by(plan, task, name)
}

/// A task for an agent, where it is only asked whether that is there.
pub fn some_prompt() -> Task {
    let id = TaskId::parse("any").unwrap_or_else(|_| unreachable!("letters only"));
    Task::new(id, Work::Prompt("anything".to_owned()))
}

fn as_done_by(plan: &Plan, task: &Task, name: &str) -> Result<(), AgentError> {
    // Whichever model it will be, it is one of this agent's own.
    fits(plan, &Task { agent: Some(name.to_owned()), model: None, ..task.clone() })
}

/// Whether an agent that is told in words can do the task.
fn takes_prompts(
    agent: &'static str,
    task: &Task,
    program: &str,
    remedy: &'static str,
) -> Result<(), AgentError> {
    match task.work {
        Work::Run(_) => Err(AgentError::Unfit { agent, why: "it takes a prompt, not a command".into() }),
        Work::Prompt(_) if !on_path(program) => {
            Err(AgentError::Missing { program: program.to_owned(), remedy })
        }
        Work::Prompt(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_to_whom_they_are_for_and_the_tasks_own_come_first() {
        let mut task = Task::new(TaskId::parse("t").unwrap(), Work::Prompt("do it".into()));
        task.env.insert("OPENAI_BASE_URL".into(), "mine".into());
        let caller = [("OPENAI_API_KEY", "sk"), ("OPENAI_BASE_URL", "theirs"), ("GEMINI_API_KEY", "g")];
        let caller = Caller::new(caller.into_iter().map(|(name, value)| (name.into(), value.into())));
        let (workspace, session) = (Workspace::default(), Session { id: "s".into(), begun: false });
        let brief = Brief {
            task: &task,
            workspace: &workspace,
            caller: &caller,
            words: String::new(),
            anew: None,
            session: &session,
            questions: &Questions::default(),
            earlier: Earlier::default(),
            manner: None,
            tools: None,
        };
        let keys = ["OPENAI_API_KEY", "OPENAI_BASE_URL"];
        let launch = brief.launch("x", Vec::new(), &keys, &[("QUIET", "1"), ("OPENAI_API_KEY", "none")]);
        let shown: Vec<String> = launch
            .env
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        assert_eq!(shown, ["OPENAI_API_KEY=sk", "OPENAI_BASE_URL=mine", "QUIET=1"]);
    }

    #[test]
    fn an_unknown_agent_is_an_error_that_names_the_known_ones() {
        let plan = Plan::default();
        let Err(error) = agent(&plan, "unheard-of") else { panic!("there is no such agent") };
        let told = error.to_string();
        for name in ["shell", "claude", "codex", "gemini", "opencode", "acp:ls"] {
            assert!(agent(&plan, name).is_ok(), "{name}");
            assert!(told.contains(name.split(':').next().unwrap()), "{name}: {told}");
        }
        let mut task = Task::new(TaskId::parse("t").unwrap(), Work::Prompt("do it".into()));
        task.agent = Some("acp:no-such-program-anywhere".into());
        assert!(
            check(&plan, &task)
                .unwrap_err()
                .to_string()
                .contains("no-such-program-anywhere is not installed")
        );
        task.agent = Some("../codex".into());
        assert!(matches!(check(&plan, &task), Err(AgentError::Unknown(_))));
    }
}
