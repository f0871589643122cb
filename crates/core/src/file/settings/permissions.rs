//! `permissions`: what a task's agent may do.

use super::{Fields, Node, Permissions, Report, choice, flag, shown, text, texts, time_limit};
use crate::file::decode::each;
use crate::file::keys::PERMISSIONS;
use crate::plan::Otherwise;
use crate::plan::permissions::{Rule, TOOLS};

const OTHERWISE: &[(&str, Otherwise)] =
    &[("deny", Otherwise::Deny), ("ask", Otherwise::Ask), ("allow", Otherwise::Allow)];

pub(super) fn read(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Permissions> {
    let mut fields = Fields::of(r, "permissions", PERMISSIONS, node)?;
    let permissions = Permissions {
        deny: fields.get(r, "deny", rules).unwrap_or_default(),
        ask: fields.get(r, "ask", rules).unwrap_or_default(),
        allow: fields.get(r, "allow", rules).unwrap_or_default(),
        otherwise: fields.get(r, "otherwise", choice(OTHERWISE)).unwrap_or_default(),
        blocked_commands: fields.get(r, "blocked_commands", texts),
        answer_within: fields.get(r, "answer_within", time_limit),
        repetition: fields.get(r, "repetition", flag).unwrap_or_default(),
    };
    fields.finish(r, |_| false);
    Some(permissions)
}

fn rules(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    each(r, what, node, "a rule or a list of rules", |r, what, node| {
        let rule = text(r, what, node)?;
        let Some(parsed) = Rule::parse(&rule) else {
            r.error("bad-rule", node.span, format!("{} is not a rule", shown(&rule))).help(
                "write a tool's name, such as WebFetch, or a tool and a pattern, such as Bash(git push*)",
            );
            return None;
        };
        is_of_a_tool(r, node, parsed.tool()).then_some(rule)
    })
}

/// A rule whose tool no agent uses would hold nothing back. Agents of a user's own may have tools of their own, so a name
/// is only wrong where another is near.
fn is_of_a_tool(r: &mut Report<'_>, node: &Node, tool: &str) -> bool {
    let known = || TOOLS.into_iter().chain(FURTHER_TOOLS);
    if tool.contains('*') || tool.starts_with("mcp__") || known().any(|known| known == tool) {
        return true;
    }
    let said = format!("no tool is named {}", shown(tool));
    if let Some(meant) = r.did_you_mean(tool, known()) {
        r.error("unknown-tool", node.span, said).help(meant);
        return false;
    }
    let help = format!("the rule is for an agent with a tool of that name; known are {}", TOOLS.join(", "));
    r.warning("unknown-tool", node.span, said).help(help);
    true
}

/// Further tools of agents, whose rules hold where the agent asks before it uses them.
const FURTHER_TOOLS: [&str; 23] = [
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "KillBash",
    "KillShell",
    "ListMcpResourcesTool",
    "Monitor",
    "PowerShell",
    "ReadMcpResourceTool",
    "SlashCommand",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
];
