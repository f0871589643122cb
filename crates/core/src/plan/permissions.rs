//! What an agent may do: rules, and what follows from them.

pub mod shell;

use crate::plan::{Otherwise, Permissions};
use crate::values::pattern::matches;

/// What is denied to an agent that may only look: it writes nothing and runs nothing, as far as it asks.
pub const READ_ONLY: [&str; 5] = ["Bash", "Edit", "Write", "MultiEdit", "NotebookEdit"];

/// Commands that no agent should run, as parts of a command line.
pub const BLOCKED: [&str; 12] = [
    "rm -rf /",
    "rm -rf ~",
    "sudo ",
    "mkfs",
    "dd of=/dev/",
    "shutdown",
    "reboot",
    ":(){",
    "git push",
    "git worktree",
    "> /dev/sd",
    "chmod -R 777 /",
];

/// Tools that change files. A rule about one of them is about all: agents do not agree on which is for what.
pub const EDITS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

/// The tool that runs commands.
pub const SHELL: &str = "Bash";

/// Tools that rules can name, by their names in them.
pub const TOOLS: [&str; 16] = [
    SHELL,
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "NotebookRead",
    "Glob",
    "Grep",
    "LS",
    "WebFetch",
    "WebSearch",
    "Task",
    "TodoWrite",
    "Skill",
    "ToolSearch",
];

/// Behind a command, it stands for any arguments, none included: `Bash(make:*)`.
const ANY_ARGUMENTS: &str = ":*";

/// A tool, and what it is used on where that matters: `Bash(git push*)`. In patterns, `*` stands for anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule<'a> {
    tool: &'a str,
    pattern: Option<&'a str>,
}

impl<'a> Rule<'a> {
    pub fn parse(text: &'a str) -> Option<Rule<'a>> {
        let (tool, pattern) = match text.trim().split_once('(') {
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')')?)),
            None => (text.trim(), None),
        };
        let named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '*' | ':' | '.');
        (!tool.is_empty() && tool.chars().all(named)).then_some(Rule { tool, pattern })
    }

    pub fn tool(&self) -> &'a str {
        self.tool
    }

    pub fn pattern(&self) -> Option<&'a str> {
        self.pattern
    }

    /// The pattern, and what it stands for besides; none for all that the tool is used on.
    pub fn patterns(&self) -> Vec<String> {
        let Some(pattern) = self.pattern else { return Vec::new() };
        let mut all = vec![pattern.to_owned()];
        match self.command() {
            Some("") => all.push("*".to_owned()),
            Some(command) => all.extend([command.to_owned(), format!("{command} *")]),
            None => {}
        }
        all
    }

    /// The command of a rule about it with any arguments.
    fn command(&self) -> Option<&'a str> {
        self.pattern.filter(|_| self.tool == SHELL).and_then(|pattern| pattern.strip_suffix(ANY_ARGUMENTS))
    }

    /// Whether it is about a tool, whatever that is used on.
    pub fn is_about(&self, tool: &str) -> bool {
        matches(self.tool, tool) || (EDITS.contains(&self.tool) && EDITS.contains(&tool))
    }

    pub fn fits(&self, tool: &str, what: &str) -> bool {
        let is_meant = || self.patterns().iter().any(|pattern| matches(pattern, what));
        self.is_about(tool) && (self.pattern.is_none() || is_meant())
    }
}

/// What is to become of something an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// Why not, in words the agent can act on.
    Deny(String),
    /// A person is to say; by which rule.
    Ask(String),
}

impl Permissions {
    /// By the rules first; then by what is usual, which is none where it is fine and a reason where it is not. What the
    /// tool is used on may have several forms, the first of them as it was said: a rule that denies or asks holds where it
    /// fits any of them.
    pub fn judge(&self, tool: &str, forms: &[String], usual: impl Fn(&str) -> Option<String>) -> Verdict {
        let said = forms.first().map(String::as_str).unwrap_or_default();
        if let Some(verdict) = self.restriction(tool, forms) {
            return verdict;
        }
        let Some(why) = usual(said) else { return Verdict::Allow };
        match self.otherwise {
            _ if self.allows(tool, forms, usual) => Verdict::Allow,
            Otherwise::Allow => Verdict::Allow,
            Otherwise::Deny => Verdict::Deny(why),
            Otherwise::Ask => Verdict::Ask(why),
        }
    }

    /// What the rules that deny or ask say of it, where one of them fits.
    pub fn restriction(&self, tool: &str, forms: &[String]) -> Option<Verdict> {
        let by = |rules: &[String]| {
            let fits = |rule: &Rule<'_>| forms.iter().any(|form| rule.fits(tool, form));
            rules.iter().find(|rule| Rule::parse(rule).is_some_and(|rule| fits(&rule))).cloned()
        };
        let denied = by(&self.deny);
        denied.map(|rule| Verdict::Deny(refusal(tool, &rule))).or_else(|| by(&self.ask).map(Verdict::Ask))
    }

    /// Whether rules allow what is unusual. Of several commands in one line each that is unusual must be allowed, unless a
    /// rule spells the combination out.
    fn allows(&self, tool: &str, forms: &[String], usual: impl Fn(&str) -> Option<String>) -> bool {
        let rules = || self.allow.iter().filter_map(|rule| Rule::parse(rule));
        let fits = |what: &str| rules().any(|rule| rule.fits(tool, what));
        let said = forms.first().map(String::as_str).unwrap_or_default();
        if tool != SHELL {
            return forms.iter().any(|form| fits(form));
        }
        let spells_out = |rule: &Rule<'_>| rule.pattern().is_some_and(|p| p.contains(['&', ';', '|', '\n']));
        if rules().any(|rule| spells_out(&rule) && rule.fits(tool, said)) {
            return true;
        }
        let commands = shell::commands(said);
        match commands.len() {
            0 | 1 => fits(said),
            _ => {
                let fine = |command: &shell::Simple| fits(&command.text) || usual(&command.text).is_none();
                commands.iter().all(fine) && commands.iter().any(|command| fits(&command.text))
            }
        }
    }

    /// The part of a command that is never run, if it has one.
    pub fn blocked<'c>(&'c self, command: &str) -> Option<&'c str> {
        match &self.blocked_commands {
            Some(own) => own.iter().map(String::as_str).find(|part| command.contains(part)),
            None => BLOCKED.into_iter().find(|part| command.contains(part)),
        }
    }
}

/// What an agent is told that may not use a tool.
pub fn refusal(tool: &str, rule: &str) -> String {
    format!("{tool} is not allowed here, by the rule {rule}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_a_tool_and_perhaps_a_pattern() {
        for bad in ["", "(x)", "Bash(x", "two words", "Bash)x("] {
            assert_eq!(Rule::parse(bad), None, "{bad}");
        }
        let fits = |rule: &str, tool: &str, what: &str| Rule::parse(rule).unwrap().fits(tool, what);
        assert!(fits("WebFetch", "WebFetch", "anything"));
        assert!(fits("mcp__*", "mcp__tasks__add", "{}"));
        assert!(fits("Bash(git push*)", "Bash", "git push --force"));
        assert!(fits("Bash(*terraform*apply*)", "Bash", "cd x && terraform -v apply"));
        assert!(fits("Edit(/etc/*.conf)", "Edit", "/etc/a/b.conf"));
        for command in ["make", "make test", "make:x"] {
            assert!(fits("Bash(make:*)", "Bash", command), "{command}");
        }
        assert!(fits("Bash(npm run test:*)", "Bash", "npm run test:unit --all"));
        assert!(fits("Bash(:*)", "Bash", "ls"));
        for (rule, tool, what) in [
            ("WebFetch", "WebFetcher", ""),
            ("Bash(git push*)", "Bash", "a git push"),
            ("Bash(git push*)", "Edit", "git push"),
            ("Bash(ls)", "Bash", "ls -l"),
            ("Bash(a*a)", "Bash", "a"),
            ("Bash(make:*)", "Bash", "makeinfo"),
            ("Bash(make:*)", "Bash", "cmake"),
            ("WebFetch(http:*)", "WebFetch", "http"),
        ] {
            assert!(!fits(rule, tool, what), "{rule} {tool} {what}");
        }
    }

    #[test]
    fn denying_comes_before_asking_and_that_before_allowing() {
        let rules = |deny: &[&str], ask: &[&str], allow: &[&str], otherwise| {
            let own = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
            Permissions {
                deny: own(deny),
                ask: own(ask),
                allow: own(allow),
                otherwise,
                ..Permissions::default()
            }
        };
        let said = ["git push".to_owned()];
        let judge = |rules: Permissions| rules.judge("Bash", &said, |_| Some("unusual".into()));
        let all = ["Bash"];
        assert!(matches!(judge(rules(&all, &all, &all, Otherwise::Allow)), Verdict::Deny(_)));
        assert_eq!(judge(rules(&[], &all, &all, Otherwise::Allow)), Verdict::Ask("Bash".into()));
        assert_eq!(judge(rules(&[], &[], &all, Otherwise::Deny)), Verdict::Allow);
        assert_eq!(judge(rules(&["Edit"], &[], &[], Otherwise::Deny)), Verdict::Deny("unusual".into()));
        assert_eq!(judge(rules(&[], &[], &[], Otherwise::Ask)), Verdict::Ask("unusual".into()));
        assert_eq!(judge(rules(&[], &[], &[], Otherwise::Allow)), Verdict::Allow);
        assert_eq!(Permissions::default().judge("Read", &said, |_| None), Verdict::Allow);
    }

    #[test]
    fn a_rule_about_one_way_to_edit_is_about_all_of_them() {
        let rule = Rule::parse("Write(secrets/*)").unwrap();
        assert!(EDITS.iter().all(|tool| rule.fits(tool, "secrets/key")));
        assert!(!rule.fits("Read", "secrets/key") && !rule.fits("Edit", "src/key"));
    }

    #[test]
    fn what_is_allowed_does_not_bring_other_commands_along() {
        let rules = |rule: &str| Permissions { allow: vec![rule.into()], ..Permissions::default() };
        let judge = |rule: &str, line: &str| {
            let usual =
                |line: &str| (line.contains("push") || line.contains("sudo")).then(|| "no".to_owned());
            rules(rule).judge("Bash", &shell::forms(line), usual) == Verdict::Allow
        };
        assert!(judge("Bash(git push*)", "git push origin"));
        assert!(judge("Bash(git push*)", "cd x && git push origin"));
        assert!(!judge("Bash(git push*)", "git push && sudo reboot"));
        assert!(judge("Bash(git push && sudo*)", "git push && sudo reboot"));
        assert!(judge("Bash", "git push && sudo reboot"));
    }
}
