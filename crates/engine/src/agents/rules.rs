//! Which rules of `permissions:` hold for which agent. This is the one place that says so; docs/agents.md has it for people.
//!
//! A rule that denies or asks and cannot be kept is refused before anything starts. A rule that allows needs no such
//! care: what it cannot give stays as it is.

use conductor_core::plan::permissions::{EDITS, Rule, SHELL, TOOLS};
use conductor_core::plan::{Limits, Otherwise, Permissions, Task};

/// How an agent is kept to rules.
#[derive(Debug, Clone, Copy)]
pub enum Keeps {
    /// It asks before it uses any tool, and we answer.
    Everything,
    /// Rules about these tools of its own.
    Some(&'static Kept),
    /// None, and why.
    Nothing(&'static str),
}

/// The tools of one agent that rules can be about.
#[derive(Debug)]
pub struct Kept {
    pub(super) tools: &'static [Tool],
    /// Tools that it does not have, so that there is nothing to deny or to ask about.
    lacks: &'static [&'static str],
    /// Why it is not kept to rules about all of its other tools.
    why: &'static str,
    /// Whether rules can name tools of MCP servers.
    servers: Servers,
    /// Whether it looks at a line of commands as a whole, too.
    reads_whole_lines: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Servers {
    /// Not at all.
    None,
    /// Those of one server, but not those of all.
    Named,
    All,
}

/// A tool by our name and by its own.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) ours: &'static str,
    pub(super) theirs: &'static [&'static str],
    pub(super) on: On,
    /// Whether a person can be asked about it.
    asks: bool,
}

/// What a pattern is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    Commands,
    Files,
    /// Only rules for the whole tool.
    Nothing,
}

const fn tool(ours: &'static str, theirs: &'static [&'static str], on: On) -> Tool {
    Tool { ours, theirs, on, asks: true }
}

/// It asks about commands and edits. It looks at files by commands, too.
pub(super) const CODEX: Kept = Kept {
    tools: &[
        tool(SHELL, &[], On::Commands),
        tool("Edit", &[], On::Files),
        Tool { asks: false, ..tool("WebSearch", &["web_search"], On::Nothing) },
    ],
    lacks: &["WebFetch", "LS"],
    why: "it asks before it runs commands and edits files, and not before it does anything else",
    servers: Servers::None,
    reads_whole_lines: true,
};

/// By its policy engine, in a file that we write.
pub(super) const GEMINI: Kept = Kept {
    tools: &[
        tool(SHELL, &["run_shell_command"], On::Commands),
        tool("Edit", &["replace", "write_file"], On::Files),
        tool("Read", &["read_file"], On::Files),
        tool("Glob", &["glob"], On::Nothing),
        tool("Grep", &["grep_search"], On::Nothing),
        tool("LS", &["list_directory"], On::Nothing),
        tool("WebFetch", &["web_fetch"], On::Nothing),
        tool("WebSearch", &["google_web_search"], On::Nothing),
        tool("TodoWrite", &["write_todos"], On::Nothing),
        tool("Skill", &["activate_skill"], On::Nothing),
    ],
    lacks: &["NotebookRead"],
    why: "none of its tools goes by that name",
    servers: Servers::All,
    reads_whole_lines: true,
};

/// By its own permissions, which we set.
pub(super) const OPENCODE: Kept = Kept {
    tools: &[
        tool(SHELL, &["bash"], On::Commands),
        tool("Edit", &["edit"], On::Files),
        tool("Read", &["read"], On::Files),
        tool("Glob", &["glob"], On::Nothing),
        tool("Grep", &["grep"], On::Nothing),
        tool("LS", &["list"], On::Nothing),
        tool("WebFetch", &["webfetch"], On::Nothing),
        tool("WebSearch", &["websearch"], On::Nothing),
        tool("Task", &["task"], On::Nothing),
        tool("TodoWrite", &["todowrite"], On::Nothing),
        tool("Skill", &["skill"], On::Nothing),
    ],
    lacks: &["NotebookRead"],
    why: "none of its tools goes by that name",
    servers: Servers::Named,
    reads_whole_lines: false,
};

/// Its own rules must not grow longer than it reads.
const LONGEST: usize = 150;

/// Joins several commands.
const OPERATORS: [char; 4] = ['&', '|', ';', '\n'];

/// The first rule that an agent cannot keep, and why.
pub(super) fn broken(rules: &Permissions, keeps: Keeps) -> Option<(String, String)> {
    let denied = rules.deny.iter().map(|rule| (rule, false));
    let asked = rules.ask.iter().map(|rule| (rule, true));
    let mut all = denied.chain(asked);
    match keeps {
        Keeps::Everything => None,
        Keeps::Nothing(why) => {
            let whole = || match (&rules.blocked_commands, rules.otherwise) {
                (Some(own), _) if !own.is_empty() => Some("blocked_commands"),
                (_, Otherwise::Ask) => Some("otherwise: ask"),
                _ => None,
            };
            let rule = all.next().map(|(rule, _)| rule.clone()).or_else(|| whole().map(str::to_owned));
            rule.map(|rule| (rule, why.to_owned()))
        }
        Keeps::Some(kept) => {
            let own = rules.blocked_commands.iter().flatten();
            let blocked = own.map(|part| (format!("blocked_commands: {part}"), part.as_str()));
            let mut blocked = blocked.filter_map(|(rule, part)| Some((rule, kept.misses_part(part)?)));
            let missed = |(rule, asks): (&String, bool)| Some((rule.clone(), kept.misses(rule, asks)?));
            all.find_map(missed).or_else(|| blocked.next())
        }
    }
}

/// A cap that does not hold where subagents are wanted of an agent that tells nothing of them, and why.
pub(super) fn unheld(limits: &Limits, task: &Task) -> Option<(String, String)> {
    if !task.wants_subagents() || !task.may_delegate() {
        return None;
    }
    let caps = [
        ("max_cost", task.max_cost.is_some() || limits.max_cost.is_some()),
        ("max_tokens", task.max_tokens.is_some() || limits.max_tokens.is_some()),
        ("max_subagent_cost", task.max_subagent_cost().is_some()),
    ];
    let (cap, _) = caps.into_iter().find(|(_, is_set)| *is_set)?;
    let why = "it tells nothing of what its subagents use; leave out the cap, or `subagents: on`";
    Some((cap.to_owned(), why.to_owned()))
}

impl Kept {
    /// Why it cannot keep a rule.
    fn misses(&self, rule: &str, asks: bool) -> Option<String> {
        let rule = Rule::parse(rule)?;
        if rule.pattern().is_some_and(|pattern| pattern.len() > LONGEST) {
            return Some(too_long());
        }
        let named: Vec<&str> = TOOLS.into_iter().filter(|tool| rule.is_about(tool)).collect();
        if rule.tool().starts_with("mcp__") || rule.tool() == "*" {
            return self.misses_server(&rule).or_else(|| self.misses_tools(&rule, &named, asks));
        }
        match named.is_empty() {
            true => Some(self.why.to_owned()),
            false => self.misses_tools(&rule, &named, asks),
        }
    }

    fn misses_tools(&self, rule: &Rule<'_>, named: &[&str], asks: bool) -> Option<String> {
        named.iter().find_map(|name| {
            let name = if EDITS.contains(name) { EDITS[0] } else { name };
            if self.lacks.contains(&name) || (rule.tool() == "*" && name == "ToolSearch") {
                return None;
            }
            let Some(tool) = self.tools.iter().find(|tool| tool.ours == name) else {
                return Some(self.why.to_owned());
            };
            match (rule.pattern(), tool.on) {
                _ if asks && !tool.asks => Some(format!("it does not ask before it uses its {name}")),
                (Some(_), On::Nothing) => {
                    Some(format!("it knows no patterns for {name}; name the tool alone"))
                }
                (Some(pattern), On::Commands) => self.misses_part(pattern),
                _ => None,
            }
        })
    }

    fn misses_server(&self, rule: &Rule<'_>) -> Option<String> {
        let is_named = || rule.tool().trim_start_matches("mcp__").trim_start_matches('*').contains("__");
        match self.servers {
            _ if rule.pattern().is_some() => {
                Some("it knows no patterns for tools of MCP servers; name the tool alone".to_owned())
            }
            Servers::None => Some(self.why.to_owned()),
            Servers::Named if !is_named() => {
                Some("it knows rules for one MCP server only, such as mcp__NAME__*".to_owned())
            }
            _ => None,
        }
    }

    /// Why a pattern of commands cannot be kept.
    fn misses_part(&self, pattern: &str) -> Option<String> {
        if pattern.len() > LONGEST {
            return Some(too_long());
        }
        (!self.reads_whole_lines && pattern.contains(OPERATORS)).then(|| {
            "it looks at the commands of a line one by one; write a rule for each of them".to_owned()
        })
    }
}

fn too_long() -> String {
    format!("a pattern of more than {LONGEST} characters is too long for it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_by(keeps: Keeps, deny: &[&str], ask: &[&str]) -> Option<String> {
        let own = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
        let rules = Permissions { deny: own(deny), ask: own(ask), ..Permissions::default() };
        broken(&rules, keeps).map(|(rule, _)| rule)
    }

    #[test]
    fn each_agent_is_refused_what_it_cannot_keep_and_nothing_else() {
        let (codex, gemini, opencode) = (Keeps::Some(&CODEX), Keeps::Some(&GEMINI), Keeps::Some(&OPENCODE));
        let all = [Keeps::Everything, codex, gemini, opencode];
        for rule in ["Bash", "Bash(terraform*)", "Edit", "Write(secrets/*)", "MultiEdit", "WebFetch"] {
            for keeps in all {
                assert_eq!(broken_by(keeps, &[rule], &[]), None, "{rule} {keeps:?}");
                assert_eq!(broken_by(keeps, &[], &[rule]), None, "{rule} {keeps:?}");
            }
            let none = Keeps::Nothing("it cannot");
            assert_eq!(broken_by(none, &[], &[rule]).as_deref(), Some(rule));
        }
        assert_eq!(broken_by(codex, &["WebSearch"], &[]), None);
        for (keeps, rule) in [
            (codex, "WebSearch"),
            (codex, "Read(secrets/*)"),
            (codex, "mcp__x__*"),
            (codex, "*"),
            (codex, "Task"),
            (gemini, "WebFetch(http:*)"),
            (gemini, "CronCreate"),
            (opencode, "mcp__*"),
            (opencode, "Bash(curl*|*sh)"),
            (opencode, "*"),
        ] {
            assert_eq!(broken_by(keeps, &[], &[rule]).as_deref(), Some(rule), "{keeps:?}");
        }
        for (keeps, rule) in [(gemini, "mcp__*"), (opencode, "mcp__x__y"), (gemini, "Bash(curl*|*sh)")] {
            assert_eq!(broken_by(keeps, &[rule], &[]), None, "{rule} {keeps:?}");
        }
    }

    #[test]
    fn what_blocks_or_asks_without_a_rule_is_none_of_a_programs_either() {
        let none = Keeps::Nothing("it cannot");
        let blocked = Permissions { blocked_commands: Some(vec!["curl ".into()]), ..Permissions::default() };
        assert!(broken(&blocked, none).is_some());
        assert!(broken(&Permissions { otherwise: Otherwise::Ask, ..Permissions::default() }, none).is_some());
        assert!(broken(&Permissions::default(), none).is_none());
    }
}
