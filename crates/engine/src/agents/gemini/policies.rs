//! Our rules in the words of its policy engine, which denies and does not ask.
//!
//! The rule with the highest priority that fits a call counts. It holds an argument's pattern, a regular expression,
//! against the call's arguments as JSON, each between two zero characters; of several commands in one line against the
//! line and each of them.

use std::fmt::Write as _;
use std::path::Path;

use super::super::policy::{Action, Given, InWorkspace, Pattern};
use super::super::rules::{GEMINI, On, Tool};

/// Above what it has been told to allow for ever, which is 950.
const LOWEST: usize = 951;
const HIGHEST: usize = 999;

/// Between a call's arguments.
const ZERO: &str = r"\u0000";

/// Anything within an argument, and a program's folder.
const ANYTHING: &str = r"[^\u0000]*";
const FOLDER: &str = r"[^\u0000 ]*/";

/// Fits any call. A tool that is denied without a pattern is not even offered, so no question could come of it.
const ANY_CALL: &str = r"^\u007b";

/// Our name for one of its tools.
pub(super) fn ours(theirs: &str) -> Option<String> {
    let known = GEMINI.tools.iter().find(|tool| tool.theirs.contains(&theirs));
    let server = || theirs.strip_prefix("mcp_").map(|rest| format!("mcp__{}", rest.replacen('_', "__", 1)));
    known.map(|tool| tool.ours.to_owned()).or_else(server)
}

/// By which it hands parts of its work to subagents.
const DELEGATES: &str = "invoke_agent";

/// The text of a file of policies.
pub(super) fn policies(policy: &InWorkspace, may_delegate: bool) -> String {
    let mut out = String::new();
    if !may_delegate {
        push(&mut out, &[DELEGATES], None, Action::Deny, HIGHEST, "this task has no subagents");
    }
    let given = policy.given();
    let mut priority = LOWEST;
    for (place, rule) in given.iter().enumerate() {
        if place > 0 && given[place - 1].action != rule.action {
            priority = (priority + 1).min(HIGHEST - 1);
        }
        write(&mut out, rule, priority, policy.root());
    }
    let names_files = |rule: &Given| {
        let about = |tool: &Tool| tool.on == On::Files && rule.is_about(tool.ours);
        rule.action != Action::Allow && rule.pattern != Pattern::Any && GEMINI.tools.iter().any(about)
    };
    if given.iter().any(names_files) {
        let pattern = format!(r#"{ZERO}"file_path":"{ANYTHING}\u002e\u002e/"#);
        let tools = GEMINI.tools.iter().filter(|tool| tool.on == On::Files);
        let tools: Vec<&str> = tools.flat_map(|tool| tool.theirs).copied().collect();
        let why = "name the file by its own path, without ..";
        push(&mut out, &tools, Some(&pattern), Action::Deny, HIGHEST, why);
    }
    out
}

fn write(out: &mut String, rule: &Given, priority: usize, root: &Path) {
    let any = (rule.action == Action::Ask).then_some(ANY_CALL);
    if rule.tool == "*" || rule.tool.starts_with("mcp__") {
        let tool = rule.tool.replacen("__", "_", 2);
        push(out, &[&tool], any, rule.action, priority, &rule.why);
        return;
    }
    for tool in GEMINI.tools.iter().filter(|tool| rule.is_about(tool.ours)) {
        let patterns = match (&rule.pattern, tool.on) {
            (Pattern::Any, _) => {
                push(out, tool.theirs, any, rule.action, priority, &rule.why);
                continue;
            }
            (Pattern::Like(pattern), On::Commands) => commands(pattern),
            (Pattern::Exactly(command), On::Commands) => vec![argument("command", &literal(command))],
            (Pattern::Like(pattern), On::Files) => files(pattern, root),
            (Pattern::Exactly(file), On::Files) => vec![argument("file_path", &literal(file))],
            // Only rules that allow come here; see `rules`.
            (_, On::Nothing) => continue,
        };
        for pattern in patterns {
            push(out, tool.theirs, Some(&pattern), rule.action, priority, &rule.why);
        }
    }
}

fn push(out: &mut String, tools: &[&str], args: Option<&str>, action: Action, priority: usize, why: &str) {
    let decision = if action == Action::Allow { "allow" } else { "deny" };
    let tools: Vec<String> = tools.iter().map(|tool| quoted(tool)).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "[[rule]]\ntoolName = [{}]\ndecision = \"{decision}\"", tools.join(", "));
    let _ = writeln!(out, "priority = {priority}\nallowRedirection = true\ndenyMessage = {}", quoted(why));
    if let Some(args) = args {
        let _ = writeln!(out, "argsPattern = {}", quoted(args));
    }
    out.push('\n');
}

/// As JSON writes it, which is how TOML does, too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn argument(name: &str, pattern: &str) -> String {
    format!(r#"{ZERO}"{name}":"{pattern}"{ZERO}"#)
}

/// A program goes by its name, and by its name in any folder.
fn commands(pattern: &str) -> Vec<String> {
    let like = like(pattern, " +");
    let mut all = vec![argument("command", &format!(" *{like}"))];
    if !pattern.starts_with(['*', '/']) {
        all.push(argument("command", &format!(" *{FOLDER}{like}")));
    }
    all
}

/// A file goes by its path from the workspace, and by its whole path.
fn files(pattern: &str, root: &Path) -> Vec<String> {
    let root = root.display().to_string();
    let inner = pattern.strip_prefix(&root).and_then(|rest| rest.strip_prefix('/'));
    let inner = inner.or_else(|| (!pattern.starts_with(['*', '/'])).then_some(pattern));
    let mut all = vec![pattern.to_owned()];
    if let Some(inner) = inner {
        all.extend([inner.to_owned(), format!("./{inner}"), format!("{root}/{inner}")]);
    }
    all.sort_unstable();
    all.dedup();
    all.iter().map(|pattern| argument("file_path", &like(pattern, " "))).collect()
}

fn like(pattern: &str, space: &str) -> String {
    let parts: Vec<String> = pattern.split('*').map(|part| literal(part).replace(' ', space)).collect();
    parts.join(ANYTHING)
}

/// A text as it stands in JSON, without a character that means something in a regular expression.
fn literal(text: &str) -> String {
    let json = quoted(text);
    let inner = json.get(1..json.len() - 1).unwrap_or_default();
    let plain = |c: char| !c.is_ascii_punctuation() || matches!(c, '_' | '/' | ':' | '=' | '@' | '%' | ',');
    let escaped = |c: char| if plain(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
    inner.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::Permissions;

    use super::super::super::Questions;
    use super::*;

    #[test]
    fn our_policy_in_its_words() {
        let rules = Permissions {
            deny: vec!["Bash(terraform apply*)".into(), "mcp__db__*".into()],
            ask: vec!["Edit(secrets/*)".into()],
            blocked_commands: Some(vec!["git push".into()]),
            ..Permissions::default()
        };
        let policy = InWorkspace::new("/work/a".into(), None).with(rules, Questions::default());
        insta::assert_snapshot!(policies(&policy, true));
    }

    #[test]
    fn a_command_with_any_arguments_is_one_with_none_too() {
        let rules = Permissions { deny: vec!["Bash(make:*)".into()], ..Permissions::default() };
        let policy = InWorkspace::new("/work/a".into(), None).with(rules, Questions::default());
        let told = policies(&policy, true);
        for pattern in ["make", "make *"] {
            let pattern = argument("command", &format!(" *{}", like(pattern, " +")));
            assert!(told.contains(&quoted(&pattern)), "{pattern} {told}");
        }
    }

    #[test]
    fn its_tools_have_names_of_ours() {
        assert_eq!(ours("run_shell_command").as_deref(), Some("Bash"));
        assert_eq!(ours("mcp_db_drop_all").as_deref(), Some("mcp__db__drop_all"));
        assert_eq!(ours("something_new"), None);
    }
}
