//! What Claude Code is started with: its arguments, its tools and its variables.

use conductor_core::plan::Task;
use serde_json::json;

use super::super::Session;
use crate::agents::tool_access::{self, ToolAccess};

/// Variables that this agent needs and no other program gets.
pub(super) const KEYS: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_MAX_RETRIES",
];

/// Six tries more are half a minute; its own ten are several, in which it holds a place for nothing. A
/// subagent in the background would go on when the conversation is over.
pub(super) const SETTINGS: [(&str, &str); 4] = [
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "6"),
];

/// What it is given to work with; the rest of its many tools is of no use to a task.
const TOOLS: &str = "Bash,Edit,Glob,Grep,NotebookEdit,Read,Skill,Task,TodoWrite,Write";

/// The tool by which it has a subagent do something.
const DELEGATES: &str = "Task";

pub(super) fn arguments(task: &Task, session: &Session) -> Vec<String> {
    let mut args: Vec<String> = [
        "--print",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--permission-prompt-tool",
        "stdio",
        "--permission-mode",
        "default",
        "--tools",
    ]
    .map(str::to_owned)
    .into();
    args.push(tools(task));
    args.extend([if session.begun { "--resume" } else { "--session-id" }.to_owned(), session.id.clone()]);
    if let Some(model) = &task.model {
        args.extend(["--model".to_owned(), model.clone()]);
    }
    if let Some(turns) = task.max_turns {
        args.extend(["--max-turns".to_owned(), turns.to_string()]);
    }
    args
}

/// Our tools, in sight from the start instead of behind a search.
pub(super) fn server(access: &ToolAccess) -> String {
    let headers = json!({ "Authorization": format!("Bearer ${{{}}}", tool_access::TOKEN) });
    let server = json!({ "type": "http", "url": access.url, "headers": headers, "alwaysLoad": true });
    json!({ "mcpServers": { tool_access::NAME: server } }).to_string()
}

/// With those its rules allow or ask about; those they deny are not even offered.
fn tools(task: &Task) -> String {
    let may_have = |tool: &&str| *tool != DELEGATES || task.may_delegate();
    let usual = TOOLS.split(',').filter(may_have);
    let Some(rules) = &task.permissions else { return usual.collect::<Vec<_>>().join(",") };
    let named = rules.allow.iter().chain(&rules.ask).filter_map(|rule| rule.split('(').next());
    let ours = named.map(str::trim).filter(|name| !name.contains(['*', '_']));
    let mut tools: Vec<&str> = usual.chain(ours.filter(may_have)).collect();
    tools.retain(|tool| !rules.deny.iter().any(|denied| denied == tool));
    tools.sort_unstable();
    tools.dedup();
    tools.join(",")
}
