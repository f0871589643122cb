//! Every key of a task file with its form and a line about it: the one table behind reader, did-you-mean and schema.

use crate::plan::MAX_LINES;

/// What a value may look like, as far as an editor can check it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Id,
    Text,
    /// A list, or one text for a list of one.
    Texts,
    Ids,
    Command,
    Duration,
    Priority,
    /// A whole number with its least and greatest value.
    Count(u64, Option<u64>),
    Ratio(f64, f64),
    Cost,
    /// true or false.
    Flag,
    Choice(&'static [&'static str]),
    /// A list of such words, or one of them for a list of one.
    Choices(&'static [&'static str]),
    Dependencies,
    Order,
    Env,
    Resources,
    /// Names to those.
    ResourcesByName,
    /// Names to whole numbers.
    Counts,
    Object(Table),
    /// true, false, or a mapping.
    FlagOrObject(Table),
    /// A text, or a mapping that says more.
    TextOrObject(Table),
    /// Names to mappings.
    Map(Table),
    Objects(Table),
    /// Names, or mappings for those of which more is said.
    Entrants(Table),
    /// Any names to mappings.
    Mapped(Table),
    /// A list, or one mapping for a list of one.
    OneOrObjects(Table),
    /// A list of a program and its arguments.
    Words,
    /// Exit codes.
    Codes,
    /// Names to mappings.
    Named(Table),
    Free,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct KeySpec {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) about: &'static str,
    pub(super) required: bool,
}

/// Several lists of keys that together make one mapping.
pub(super) type Table = &'static [&'static [KeySpec]];

pub(super) fn names(table: Table) -> impl Iterator<Item = &'static str> + Clone {
    table.iter().flat_map(|keys| keys.iter()).map(|key| key.name)
}

const fn key(name: &'static str, shape: Shape, about: &'static str) -> KeySpec {
    KeySpec { name, shape, about, required: false }
}

const fn must(name: &'static str, shape: Shape, about: &'static str) -> KeySpec {
    KeySpec { name, shape, about, required: true }
}

pub(super) const FILE: Table = &[&[
    key("$schema", Shape::Free, "Where an editor finds this schema; not read."),
    key("config", Shape::Object(CONFIG), "Defaults for every task of this file."),
    must("tasks", Shape::Objects(TASK), "What is to be done."),
    key("groups", Shape::Objects(GROUP), "Tasks that belong together and may run side by side."),
    key("epics", Shape::Objects(EPIC), "Larger pieces of work; an epic may wait for others."),
    key(
        "execution_order",
        Shape::Order,
        "Steps one after the other; replaces the dependencies between the tasks it names.",
    ),
    key("limits", Shape::Object(LIMITS), "What the whole run may use."),
    key("notifications", Shape::Object(NOTIFICATIONS), "Whom to tell of what, and how."),
    key("metadata", Shape::Free, "Anything about the file; kept, never interpreted."),
]];

pub(super) const TASK: Table = &[IDENTITY, SETTINGS];
pub(super) const CONFIG: Table = &[DEFAULTS, SETTINGS];

/// A config file: what a task file's `config` has, and what is said of whole runs.
pub(super) const CONFIG_FILE: Table = &[RUNS, DEFAULTS, SETTINGS];

const RUNS: &[KeySpec] = &[
    key("$schema", Shape::Free, "Where an editor finds this schema; not read."),
    key("parallel", Shape::Count(1, Some(MAX_PARALLEL)), "How many tasks run at once."),
    key("limits", Shape::Object(LIMITS), "What a run may use."),
    key("notifications", Shape::Object(NOTIFICATIONS), "Whom to tell when a run ends."),
    key("execution", Shape::Object(EXECUTION), "Another way to say `parallel`."),
    key("retry", Shape::Object(RETRY), "Another word for retry_policy."),
    key("mcp", Shape::Object(MCP), "The MCP server that drives the browser (docs/browser.md)."),
    key("auth", Shape::Object(AUTH), "The user's sign-in to the site, by hand (docs/browser.md)."),
    key("browser", Shape::Object(BROWSER), "The browser and the site for agents in it (docs/browser.md)."),
    key("sync", Shape::Object(SYNC), "Where runs are pushed to and pulled from (docs/sync.md)."),
    key("ui", Shape::Free, "Accepted; without effect so far."),
];

pub(super) const SYNC: Table = &[&[
    key(
        "remote",
        Shape::Text,
        "A git remote or a directory; `conductor sync` needs --to or --from where absent.",
    ),
    key(
        "recipients",
        Shape::Texts,
        "Public keys (age1…) of all machines and people who may read what is pushed.",
    ),
    key(
        "identity",
        Shape::Text,
        "The file with this machine's key; sync.key in the state directory where absent.",
    ),
    key(
        "transcripts",
        Shape::Flag,
        "Whether what agents and commands said is pushed, too; false where absent.",
    ),
    key(
        "code_remote",
        Shape::Flag,
        "Whether the remote may be one of the repository's own; false where absent.",
    ),
]];

pub(super) const MAX_RETRIES: u64 = 20;

pub(super) const MCP: Table = &[&[
    key(
        "server_url",
        Shape::Text,
        "A server that is there: stdio://PROGRAM …, http(s)://…/mcp or …/sse; one of our own where absent.",
    ),
    key("timeout", Shape::Duration, "How long an answer of the server is waited for; 60 s where absent."),
    key(
        "max_retries",
        Shape::Count(0, Some(MAX_RETRIES)),
        "How often a connection is tried again; 3 where absent.",
    ),
]];

pub(super) const AUTH: Table = &[&[
    key("timeout", Shape::Duration, "How long the user has to sign in; 300 s where absent."),
    key("check_interval", Shape::Duration, "How often it is looked whether the user has; 5 s where absent."),
    key(
        "storage_state",
        Shape::Text,
        "A file with a sign-in that the user has stored, for sites that permit it; with browser.isolated.",
    ),
]];

pub(super) const BROWSER: Table = &[&[
    key("site", Shape::Text, "Scheme and host of the site; https://claude.ai where absent."),
    key("executable", Shape::Text, "The browser's program; Chromium or Chrome of PATH where absent."),
    key("cdp_endpoint", Shape::Text, "A browser of yours that runs with remote debugging."),
    key("headless", Shape::Flag, "Whether the browser has no window; then you cannot sign in by hand."),
    key("isolated", Shape::Flag, "A context for each session instead of tabs that share one sign-in."),
    key("extension", Shape::Flag, "Your own browser, by the extension of Playwright MCP."),
    key("look", Shape::Duration, "How often a session's page is looked at; 5 s where absent."),
    key(
        "provisioning_timeout",
        Shape::Duration,
        "How long a session may stand at one step before its work until its page is loaded again; 300 s where absent.",
    ),
]];

pub(super) const EXECUTION: Table = &[&[
    key("parallel_mode", Shape::Flag, "Whether tasks run side by side at all."),
    key(
        "max_parallel_tasks",
        Shape::Count(1, Some(MAX_PARALLEL)),
        "How many run at once, where parallel_mode is true.",
    ),
]];

const IDENTITY: &[KeySpec] = &[
    must(
        "id",
        Shape::Id,
        "The task's name in dependencies, branches and folders: 1 to 50 of A-Z a-z 0-9 . _ -",
    ),
    key("name", Shape::Text, "What people read, up to 100 characters; the id where absent."),
    key("title", Shape::Text, "Another word for name."),
    key(
        "description",
        Shape::Text,
        "Context put before the prompt; without a prompt or run, the prompt itself.",
    ),
    key("prompt", Shape::Text, "What an agent is asked to do."),
    key(
        "run",
        Shape::Command,
        "A command instead of an agent: one shell line, or a list of program and arguments.",
    ),
    key(
        "survive",
        Shape::Flag,
        "Whether its command goes on when conductor is gone (limits.orphan_grace), for the run to be resumed; agents always do.",
    ),
    key(
        "subagents",
        Shape::Choice(&["on", "off"]),
        "Whether its agent may hand a part of the work to subagents of its own.",
    ),
    key("dependencies", Shape::Dependencies, "Tasks that come first."),
    key("depends_on", Shape::Dependencies, "Another word for dependencies."),
    key(
        "race",
        Shape::Entrants(ENTRANT),
        "Agents that do it side by side, each in a workspace of its own; one of them lands.",
    ),
    key(
        "attempts_in_parallel",
        Shape::Count(MIN_ENTRANTS, Some(MAX_ENTRANTS)),
        "How many do it side by side, where all of them are its own agent.",
    ),
    key(
        "race_for",
        Shape::Choice(&["first", "best"]),
        "Who wins a race: the first to land (first), or the best score when all are done (best).",
    ),
];

pub(super) const ENTRANT: Table =
    &[&[must("agent", Shape::Text, "Which agent."), key("model", Shape::Text, "With which model.")]];
pub(super) const MIN_ENTRANTS: u64 = 2;
pub(super) const MAX_ENTRANTS: u64 = 8;

const DEFAULTS: &[KeySpec] = &[
    key("default_repository", Shape::Text, "The repository of tasks that name none, owner/name."),
    key("default_priority", Shape::Priority, "The priority of tasks that name none."),
    key("default_retry_policy", Shape::Object(RETRY), "How tasks are retried, unless they say otherwise."),
    key(
        "default_pr_strategy",
        Shape::Choice(PR_STRATEGIES),
        "How long to wait before a pull request is made.",
    ),
    key("default_auto_pr_timeout", Shape::Duration, "After how long a pull request is made without asking."),
    key(
        "isolation_scope",
        Shape::Choice(SCOPES),
        "Which tasks share a workspace: none (task), or those of an epic, one after the other (epic).",
    ),
    key(
        "epic_landing",
        Shape::Choice(EPIC_LANDINGS),
        "What of an epic with one workspace lands where one of its tasks fails: nothing (all, the usual), or the rest.",
    ),
    key(
        "workspace_path",
        Shape::Text,
        "Where workspaces are made, outside of the repository: a path with {run} and {n}, and {home}, {repo} if wanted.",
    ),
    key(
        "models",
        Shape::Object(MODELS),
        "How models are chosen for tasks that name none; without it, every agent uses its own default.",
    ),
    key("subagents", Shape::Mapped(SUBAGENT), "Specialists, by name, beside those of the repository."),
    key("agents", Shape::Named(AGENT), "Agents of your own by name: any program, and how it is called."),
    key(
        "agent_resources",
        Shape::ResourcesByName,
        "What tasks hold, and their limits, by their agent's name, where they say nothing themselves.",
    ),
    PRICES,
];

const PRICES: KeySpec = key(
    "prices",
    Shape::Map(PRICE),
    "What models cost, by name or by a prefix and *, where the price list is wrong or has nothing.",
);

pub(super) const PRICE: Table = &[&[
    must("input", Shape::Ratio(0.0, MAX_PRICE), "Dollars for a million tokens that go in."),
    must("output", Shape::Ratio(0.0, MAX_PRICE), "Dollars for a million tokens that come out."),
    key("cache_read", Shape::Ratio(0.0, MAX_PRICE), "… that were read from a cache; as input where absent."),
    key("cache_write", Shape::Ratio(0.0, MAX_PRICE), "… that were written to one; as input where absent."),
]];
pub(super) const MAX_PRICE: f64 = 1e6;

const SETTINGS: &[KeySpec] = &[
    key("expected_deliverable", Shape::Text, "What should exist when it is done."),
    key("expected_lines", Shape::Count(1, Some(MAX_LINES as u64)), "How many lines it will probably change."),
    key(
        "priority",
        Shape::Priority,
        "Who goes first when slots are scarce: critical, high, medium, low, backlog or 0 to 4.",
    ),
    key("epic", Shape::Text, "The epic it belongs to."),
    key("group", Shape::Text, "The group it belongs to; also read from a leading [P:Group-NAME]."),
    key("agent", Shape::Text, "Which agent works on it."),
    key(
        "agent_home",
        Shape::Choice(&["shared", "own"]),
        "Whether its agent uses your settings and conversations, or has a home of its own; shared where absent.",
    ),
    key(
        "fallback_agents",
        Shape::Texts,
        "Agents to try when the first cannot; a specialist among them is for when the first does not exist.",
    ),
    key(
        "fallback_models",
        Shape::Texts,
        "Models its agent goes on with, in this order, where the one before is not there, overloaded or too small.",
    ),
    key(
        "model",
        Shape::Text,
        "Which model the agent uses: its name, small, medium or large, or auto to have one chosen.",
    ),
    key(
        "subagent_type",
        Shape::Text,
        "The specialist it is for, or none; chosen by the words of its prompt where absent.",
    ),
    key("applicable_skills", Shape::Texts, "Skills the agent should use."),
    key("files", Shape::Texts, "Globs of what it will touch; tasks whose sets meet do not run side by side."),
    key("setup", Shape::Texts, "Commands that make the workspace ready before the work begins."),
    key("keep", Shape::Texts, "Ignored files that stay when a workspace is used again, such as target."),
    key(
        "conflict_markers",
        Shape::Texts,
        "Files, by their paths in the repository, in which the marks of a conflict are meant and land.",
    ),
    key(
        "verify",
        Shape::Texts,
        "Commands that must succeed on the result before it counts; auto takes those the project's files suggest, plugin:NAME asks a verifier.",
    ),
    key(
        "fix_rounds",
        Shape::Count(0, Some(MAX_FIX_ROUNDS)),
        "How often failing checks or a conflict go back to be mended: 2 for a prompt, 0 for a run where absent.",
    ),
    key(
        "check_base",
        Shape::Flag,
        "Whether verify is tried on the untouched base before an agent works; true unless it is said.",
    ),
    key("gate_proof", Shape::Flag, "Whether verify is put to the test on damaged work."),
    key("review", Shape::FlagOrObject(REVIEW), "Whether a reviewing agent checks the work before it lands."),
    key(
        "measure",
        Shape::FlagOrObject(MEASURE),
        "What is measured of the work before it lands; true for all there is a tool for.",
    ),
    key(
        "merge_strategy",
        Shape::Choice(&["merge", "squash", "rebase"]),
        "How the work is put on the branch.",
    ),
    key(
        "on_conflict",
        Shape::Choice(&["manual", "ours", "theirs", "retry-later"]),
        "Who wins an unresolved conflict: a person, what landed before, the task, or another attempt later.",
    ),
    key(
        "land",
        Shape::Choice(&["auto", "approve"]),
        "Whether work that passed its checks lands by itself, or a person approves it first (conductor review).",
    ),
    key(
        "report",
        Shape::Flag,
        "Whether its agent is offered tools to report how its task stands and what it found beside it; also without limits.follow_ups.",
    ),
    key(
        "expertise",
        Shape::Flag,
        "Whether its agent is given what earlier tasks of the project taught, and teaches in turn (conductor expertise); true.",
    ),
    key(
        "preempt",
        Shape::Flag,
        "Whether an agent that works on something of a lower priority is stopped where there is no room for it; that one keeps its work and goes on later.",
    ),
    key(
        "speculate",
        Shape::Flag,
        "Whether it begins on top of work it depends on that still waits for a person's approval. It lands after that; if that work is dropped, sent back or changed, it begins anew.",
    ),
    key("timeout", Shape::Duration, "How long one attempt may take."),
    key("retry_policy", Shape::Object(RETRY), "How often and how fast it is tried again."),
    key("recovery", Shape::Object(RECOVERY), "What is done about failures, by their nature."),
    key("env", Shape::Env, "Environment variables for the work."),
    key("env_pass", Shape::Texts, "Variables handed through from the caller; a trailing * matches a prefix."),
    key(
        "requires",
        Shape::Texts,
        "Labels of the worker that carries it out, such as gpu: for runs whose workers are on other machines (conductor run --queue).",
    ),
    key("permissions", Shape::Object(PERMISSIONS), "What its agent may do, beyond or below the usual."),
    key("max_cost", Shape::Cost, "Dollars all its attempts may cost together."),
    key("max_tokens", Shape::Count(1, None), "Tokens all its attempts may use together."),
    key(
        "max_subagent_cost",
        Shape::Ratio(0.0, f64::MAX),
        "Dollars that subagents of its agent may cost together, as part of max_cost; with 0 it has none.",
    ),
    key("max_turns", Shape::Count(1, Some(MAX_TURNS)), "Turns an agent may take over all attempts."),
    key(
        "resources",
        Shape::Resources,
        "What it holds while it runs, such as browser: 1. Of cpu, memory, processes, disk and open_files its processes also get no more (docs/security.md).",
    ),
    key("isolation", Shape::Choice(&["worktree", "clone", "none"]), "Where the work happens."),
    key(
        "sandbox",
        Shape::TextOrObject(SANDBOX),
        "Whether its processes are kept from the rest of the machine: require, prefer or off (docs/security.md); prefer for prompts, off for commands.",
    ),
    key(
        "network",
        Shape::TextOrObject(NETWORK),
        "What of the network it reaches: full, off, or a list of hosts under allow; full where absent.",
    ),
    key(
        "changes",
        Shape::Choice(&["required", "optional", "forbidden", "discarded"]),
        "Whether the result must change the tree; what is discarded does not land.",
    ),
    key("estimate", Shape::Duration, "How long it will probably take."),
    key("repository", Shape::Text, "The repository an agent in the cloud works on, owner/name."),
    key(
        "pr_strategy",
        Shape::Choice(PR_STRATEGIES),
        "How long an agent in the cloud waits before it makes a pull request.",
    ),
    key(
        "auto_pr_timeout",
        Shape::Duration,
        "After how long an agent in the cloud makes a pull request without asking.",
    ),
    key(
        "cloud",
        Shape::Object(CLOUD),
        "How an agent in the cloud is reached, and what it may do (docs/cloud.md).",
    ),
];

const PR_STRATEGIES: &[&str] = &["aggressive", "normal", "patient", "manual"];
pub(super) const MAX_TURNS: u64 = 100_000;
pub(super) const MAX_FIX_ROUNDS: u64 = 20;
const SCOPES: &[&str] = &["task", "epic"];
const EPIC_LANDINGS: &[&str] = &["all", "what_succeeded"];

pub(super) const CLOUD: Table = &[&[
    key(
        "transport",
        Shape::Choice(&["browser", "routine", "managed", "runner"]),
        "By which route sessions are started.",
    ),
    key(
        "push",
        Shape::Flag,
        "Whether the commits that the task builds on may be pushed to the remote, where the session finds them; without it nothing starts.",
    ),
    key("remote", Shape::Text, "The remote that is pushed to and looked at; origin where absent."),
    key(
        "environment",
        Shape::Text,
        "managed: the environment's id; runner: the pool, ccpool_…; browser: the environment's name.",
    ),
    key("routine", Shape::Text, "routine: its id."),
    key("agent", Shape::Text, "managed: the id of the agent that works in the session."),
    key(
        "token_variable",
        Shape::Text,
        "The environment variable that has the token: CLAUDE_ROUTINE_TOKEN for routine, ANTHROPIC_API_KEY for managed where absent.",
    ),
    key(
        "max_sessions",
        Shape::Count(1, Some(MAX_SESSIONS)),
        "How many sessions all attempts of the task may start together; needed under a max_cost where costs are unknown.",
    ),
    key(
        "settle",
        Shape::Duration,
        "How long nothing new may be pushed before a session that cannot be watched counts as done; 5m where absent.",
    ),
    key("keep_tabs", Shape::Flag, "browser: whether the tab stays open when the task is over."),
]];
pub(super) const MAX_SESSIONS: u64 = 10_000;

pub(super) const SANDBOX: Table = &[&[
    must("mode", Shape::Choice(&["require", "prefer", "off"]), "What `sandbox: MODE` says."),
    key("read", Shape::Texts, "More files and folders to read: absolute, below ~/, or below the workspace."),
    key("write", Shape::Texts, "More files and folders to write, likewise."),
]];

pub(super) const NETWORK: Table =
    &[&[must("allow", Shape::Texts, "Hosts that are reached: host, *.host or host:port; none is as `off`.")]];

pub(super) const PERMISSIONS: Table = &[&[
    key("deny", Shape::Texts, "Never: rules such as WebFetch or Bash(curl*)."),
    key("ask", Shape::Texts, "Only when a person allows it."),
    key("allow", Shape::Texts, "Without asking, also outside of the workspace."),
    key(
        "otherwise",
        Shape::Choice(&["deny", "ask", "allow"]),
        "What becomes of what is neither usual nor in a rule; deny where absent.",
    ),
    key(
        "blocked_commands",
        Shape::Texts,
        "Parts of commands that are never run, in place of the usual ones.",
    ),
    key(
        "answer_within",
        Shape::Duration,
        "How long a question waits for a person before it counts as denied.",
    ),
    key("repetition", Shape::Flag, "Whether it may do the same over and over without being stopped."),
]];

pub(super) const AGENT: Table = &[&[
    must(
        "command",
        Shape::Words,
        "A list of the program and its arguments, with {prompt}, {prompt_file}, {model}, {session} and {directory} filled in; the prompt goes to its standard input where it is not among them.",
    ),
    key(
        "resume",
        Shape::Words,
        "The command where a conversation goes on; without it every round begins anew.",
    ),
    key(
        "env_pass",
        Shape::Texts,
        "Variables of the caller's environment that only it gets; a trailing * matches a prefix.",
    ),
    key("exit_codes", Shape::Codes, "Exit codes that mean success; 0 where absent."),
    key("success_text", Shape::Texts, "Its output must have one of these."),
    key("failure_text", Shape::Texts, "Its output may have none of these."),
    key(
        "rate_limit_text",
        Shape::Texts,
        "Where it failed with one of these in its output, it is tried again later.",
    ),
]];

pub(super) const REVIEW: Table = &[&[
    key("agent", Shape::Text, "Who looks at it; the first of fallback_agents, or else its own agent."),
    key("model", Shape::Text, "With which model."),
    key("rubric", Shape::Text, "What the work is held against."),
]];

pub(super) const MEASURE: Table = &[&[
    key(
        "coverage",
        Shape::TextOrObject(COVERAGE),
        "A command that tells how much of the code is tested; auto takes the one the project's files suggest.",
    ),
    key("lint", Shape::Texts, "Commands that count what is wrong with the code, or auto."),
    key("within", Shape::Duration, "How long each of these commands may take; 10 minutes where absent."),
]];

pub(super) const COVERAGE: Table = &[&[
    must("run", Shape::Text, "The command, or auto."),
    key("report", Shape::Text, "The file it writes, below where it is run; its output where absent."),
]];

const WAYS: &[&str] = &["retry", "alternative", "rollback", "skip", "ask", "escalate", "fail"];

pub(super) const RECOVERY: Table = &[&[
    key("transient", Shape::Choices(WAYS), "Ways out of what passes by itself, in the order they are tried."),
    key("permanent", Shape::Choices(WAYS), "Ways out of what stays until something is changed."),
    key("ambiguous", Shape::Choices(WAYS), "Ways out of what may or may not pass by itself."),
    key(
        "patterns",
        Shape::OneOrObjects(PATTERN),
        "Words by which its failures are known, before the usual ones.",
    ),
]];

pub(super) const PATTERN: Table = &[&[
    must("match", Shape::Text, "Words of a line, whatever their case; * stands for anything."),
    must("as", Shape::Choice(&["transient", "permanent", "ambiguous"]), "Of which nature such a failure is."),
]];

pub(super) const RETRY: Table = &[&[
    key("max_attempts", Shape::Count(1, Some(100)), "Attempts in all, the first included."),
    key("initial_delay", Shape::Duration, "How long to wait before the second attempt."),
    key("backoff_factor", Shape::Ratio(1.0, 100.0), "By how much each delay is longer than the one before."),
    key("max_delay", Shape::Duration, "The longest delay."),
    key("jitter", Shape::Ratio(0.0, 1.0), "Part of the delay by which it is spread."),
]];

pub(super) const MODELS: Table = &[&[
    key(
        "choice",
        Shape::Choice(&["auto", "agent"]),
        "Who chooses: conductor by what follows, or each agent by its own settings.",
    ),
    key("tiers", Shape::Mapped(TIERS), "The models of each agent by tier, over those that are built in."),
    key("by_priority", Shape::Object(BY_PRIORITY), "Tiers of tasks with these priorities."),
    key("by_type", Shape::Object(BY_TYPE), "Tiers of tasks of these types, told by how their names begin."),
    key("weights", Shape::Object(WEIGHTS), "How much each part of a task's complexity counts."),
    key("cuts", Shape::Object(CUTS), "From which complexity on a task is for a medium or a large model."),
    key("escalate", Shape::Flag, "Whether bad work is tried again with a model of the next tier."),
]];

pub(super) const TIERS: Table = &[&[
    key("small", Shape::Text, "The cheapest model."),
    key("medium", Shape::Text, "The model in between."),
    key("large", Shape::Text, "The most able model."),
]];

const TIER: Shape = Shape::Choice(&["small", "medium", "large"]);

pub(super) const BY_PRIORITY: Table = &[&[
    key("critical", TIER, "Of critical tasks."),
    key("high", TIER, "Of tasks with high priority."),
    key("medium", TIER, "Of tasks with medium priority."),
    key("low", TIER, "Of tasks with low priority."),
    key("backlog", TIER, "Of tasks in the backlog."),
]];

pub(super) const BY_TYPE: Table = &[&[
    key("fix", TIER, "Of repairs: fix, repair, correct, resolve."),
    key("feat", TIER, "Of what is new: add, build, implement, create."),
    key("docs", TIER, "Of documentation: document, docs, explain, describe."),
    key("test", TIER, "Of tests: test, cover."),
    key("refactor", TIER, "Of changes of form: refactor, rename, split, extract, simplify, move."),
    key("perf", TIER, "Of what makes it faster: optimise, speed."),
    key("build", TIER, "Of new versions of others' work: upgrade, bump, update."),
    key("chore", TIER, "Of chores that say so."),
]];

pub(super) const MAX_WEIGHT: f64 = 1000.0;

pub(super) const WEIGHTS: Table = &[&[
    key("reasoning", Shape::Ratio(0.0, MAX_WEIGHT), "How much is to be thought out; 0.35 where absent."),
    key("code", Shape::Ratio(0.0, MAX_WEIGHT), "How much is to be written; 0.30 where absent."),
    key("domain", Shape::Ratio(0.0, MAX_WEIGHT), "How much special knowledge it takes; 0.20 where absent."),
    key("context", Shape::Ratio(0.0, MAX_WEIGHT), "How much else has to be known; 0.15 where absent."),
]];

pub(super) const CUTS: Table = &[&[
    key("medium", Shape::Ratio(0.0, 1.0), "From here on a medium model; 0.3 where absent."),
    key("large", Shape::Ratio(0.0, 1.0), "From here on a large model; 0.7 where absent."),
]];

pub(super) const SUBAGENT: Table = &[&[
    key("description", Shape::Text, "What they are good at."),
    key("words", Shape::Texts, "Words of a task that call for them."),
    key("agent", Shape::Text, "Which agent does their tasks, unless a task says it."),
    key("model", Shape::Text, "Which model that agent uses, unless a task says it."),
    key("prompt", Shape::Text, "How they work: instructions that go along with the task."),
]];

pub(super) const DEPENDENCY: Table = &[&[
    must("id", Shape::Id, "The task that comes first."),
    key(
        "when",
        Shape::Choice(&["landed", "finished"]),
        "What must have become of it: its result is in, or it ended in any way.",
    ),
    key("kind", Shape::Choice(&["hard", "soft"]), "Whether its failure keeps this task from running."),
    key(
        "dependency_type",
        Shape::Text,
        "As beads names it; one that holds nothing back there does not here.",
    ),
]];

pub(super) const GROUP: Table = &[&[
    must("name", Shape::Text, "The group's name, up to 80 characters; in paths and ids a safe form of it."),
    key("tasks", Shape::Ids, "Tasks that belong to it."),
    key("description", Shape::Text, "What it is about."),
    key("max_parallel", Shape::Count(1, Some(MAX_PARALLEL)), "How many of its tasks run at once."),
]];
pub(super) const MAX_PARALLEL: u64 = 100_000;

pub(super) const EPIC: Table = &[&[
    must("id", Shape::Text, "The epic's name in tasks and other epics."),
    key("name", Shape::Text, "What people read."),
    key("dependencies", Shape::Texts, "Epics whose tasks all land before this one starts."),
    key("isolation_scope", Shape::Choice(SCOPES), "Whether its tasks share one workspace and land together."),
    key(
        "epic_landing",
        Shape::Choice(EPIC_LANDINGS),
        "With one workspace: whether nothing lands where one of its tasks fails (all), or what_succeeded.",
    ),
    key(
        "land",
        Shape::Choice(&["auto", "approve"]),
        "Whether its tasks land by themselves; a task's own word counts more.",
    ),
]];

pub(super) const STEP: Table = &[&[
    key("parallel", Shape::Ids, "Tasks that run side by side."),
    key("sequential", Shape::Ids, "Tasks one after the other."),
]];

pub(super) const LIMITS: Table = &[&[
    key("max_cost", Shape::Cost, "Dollars for the whole run."),
    key(
        "on_budget",
        Shape::Choice(&["stop", "finish"]),
        "Whether agents at work are interrupted when cost or tokens are used up, or may finish.",
    ),
    key("max_tokens", Shape::Count(1, None), "Tokens for the whole run."),
    key("max_time", Shape::Duration, "How long the whole run may take."),
    key("max_attempts", Shape::Count(1, Some(MAX_RUN_ATTEMPTS)), "Attempts of all tasks together."),
    key(
        "hold_out",
        Shape::Count(0, Some(100)),
        "Of 100 prompts, so many are given no expertise, so that it can be told whether it helps (15); 0 withholds nothing and measures nothing.",
    ),
    key(
        "learn_cost",
        Shape::Cost,
        "Dollars for a model that reads what agents and their tools said once the run is over, and makes expertise of it; none is asked unless it is said.",
    ),
    key(
        "outage_patience",
        Shape::Duration,
        "How long tasks wait for a provider that fails or refuses everything before they fail; an hour unless it is said.",
    ),
    key(
        "orphan_grace",
        Shape::Duration,
        "How long agents go on when the program that runs them is gone, for the run to be resumed; a minute unless it is said, and with 0 they end with it. More than 12 hours need a cap and max_time.",
    ),
    key(
        "follow_ups",
        Shape::Count(0, Some(MAX_FOLLOW_UPS)),
        "Tasks that agents may add to the run while they work; none unless it is said.",
    ),
    key(
        "approve_follow_ups",
        Shape::Flag,
        "Whether a person has to allow each of those; true unless it is said.",
    ),
    key("agents", Shape::Counts, "Tasks at once, per agent."),
    key("groups", Shape::Counts, "Tasks at once, per group."),
    key("resources", Shape::Resources, "How much there is of each resource."),
]];
pub(super) const MAX_RUN_ATTEMPTS: u64 = u32::MAX as u64;
pub(super) const MAX_FOLLOW_UPS: u64 = 1000;

pub(super) const NOTIFICATIONS: Table = &[&[
    key(
        "on_complete",
        Shape::OneOrObjects(NOTIFICATION),
        "When every task is completed; with {task_id} or {task_name} in the message, when a task is.",
    ),
    key("on_failure", Shape::OneOrObjects(NOTIFICATION), "When a task has failed."),
    key("on_input", Shape::OneOrObjects(NOTIFICATION), "When a question needs a person."),
    key("on_budget", Shape::OneOrObjects(NOTIFICATION), "When a budget is nearly used up, or reached."),
]];

pub(super) const NOTIFICATION: Table = &[&[
    must("type", Shape::Choice(&["terminal", "sound", "desktop", "webhook", "plugin"]), "How to tell."),
    key(
        "message",
        Shape::Text,
        "For terminal, desktop and plugin: the words, with {task_id}, {task_name}, {run_id}, {event}, {status}, {error}, \
         {question}, {completed}, {failed}, {total}, {elapsed} and {cost} filled in.",
    ),
    key("file", Shape::Text, "For sound: what to play; the terminal's bell where absent."),
    key("url", Shape::Text, "For webhook: where to send it."),
    key("name", Shape::Text, "For plugin: the notifier, conductor-notifier-NAME."),
]];

/// What our own plans have beside a task file's keys: figures for people and for programs that read `execution_plan.json`, and what
/// config files say.
pub(super) const OWN_PLAN: Table = &[
    FOREIGN_PLAN[0],
    FOREIGN_PLAN[1],
    &[
        key("schema", Shape::Free, ""),
        key("parallel", Shape::Count(1, Some(MAX_PARALLEL)), ""),
        key("isolation", Shape::Choice(&["worktree", "clone", "none"]), ""),
        key("execution", Shape::Free, ""),
    ],
];

pub(super) const OWN_TASK: Table = &[IDENTITY, SETTINGS, &[key("estimated_duration_ms", Shape::Free, "")]];

/// What plans have that planners make as JSON (`num_tasks`, `execution_strategy`), beside our keys; an import, so not in the schema.
pub(super) const FOREIGN_PLAN: Table = &[
    FILE[0],
    &[
        key("num_tasks", Shape::Free, ""),
        key("executor_budget", Shape::Free, ""),
        key("execution_model", Shape::Free, ""),
        key("execution_strategy", Shape::Free, ""),
        key("notes", Shape::Free, ""),
        key("dependencies", Shape::Free, ""),
    ],
];

pub(super) const FOREIGN_TASK: Table = &[
    IDENTITY,
    SETTINGS,
    &[
        key("estimated_effort", Shape::Free, ""),
        key("estimated_duration", Shape::Free, ""),
        key("files_to_create", Shape::Free, ""),
        key("files_to_modify", Shape::Free, ""),
    ],
];
