//! What an agent may do: read anything, edit and run commands in its workspace, and what its task's rules say.

use std::path::{Component, Path, PathBuf};

use conductor_core::plan::permissions::{BLOCKED, EDITS, Rule, SHELL, Verdict, refusal, shell};
use conductor_core::plan::{Otherwise, Permissions};
use conductor_core::run::event::{Failure, FailureClass};
use serde_json::Value;

use super::questions::Questions;

/// Tools that only look, or keep notes for the agent itself.
const HARMLESS: [&str; 13] = [
    "Read",
    "Glob",
    "Grep",
    "LS",
    "TodoWrite",
    "Task",
    "TaskOutput",
    "BashOutput",
    "KillShell",
    "ToolSearch",
    "Skill",
    "NotebookRead",
    "StructuredOutput",
];

/// The policy for one workspace.
#[derive(Debug, Clone)]
pub(super) struct InWorkspace {
    root: PathBuf,
    /// Where else it may write: its folder for temporary files.
    temporary: Option<PathBuf>,
    rules: Permissions,
    questions: Questions,
}

impl InWorkspace {
    pub(super) fn new(root: PathBuf, temporary: Option<PathBuf>) -> InWorkspace {
        InWorkspace { root, temporary, rules: Permissions::default(), questions: Questions::default() }
    }

    pub(super) fn with(self, rules: Permissions, questions: Questions) -> InWorkspace {
        InWorkspace { rules, questions, ..self }
    }

    /// Whether its rules leave it nothing but looking and talking.
    pub(super) fn only_looks(&self) -> bool {
        ["Bash", "Edit", "Write"].iter().all(|tool| self.rules.deny.iter().any(|rule| rule == tool))
    }

    /// Whether a tool is as good as taken away, whatever it is used on.
    pub(super) fn withholds(&self, tool: &str) -> bool {
        let given = self.given();
        let last = given.iter().rev().find(|given| given.pattern == Pattern::Any && given.is_about(tool));
        last.is_some_and(|given| given.action != Action::Allow)
    }

    /// Whether rules deny or ask about anything.
    pub(super) fn restricts(&self) -> bool {
        !self.rules.deny.is_empty() || !self.rules.ask.is_empty()
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where edits are allowed besides the workspace itself.
    pub(super) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Nothing allows it; otherwise why not, in words the agent can act on.
    pub(super) fn judge(&self, tool: &str, input: &Value) -> Option<String> {
        let forms = self.forms(tool, input);
        let said = forms.first().cloned().unwrap_or_default();
        let usual = |text: &str| match tool {
            SHELL => self.judge_command(text),
            _ => self.usual(tool, input),
        };
        let refused = match self.rules.judge(tool, &forms, usual) {
            Verdict::Allow => None,
            Verdict::Deny(why) => Some(why),
            Verdict::Ask(why) => self.questions.put(tool, said.clone(), why),
        };
        refused.or_else(|| self.questions.before(tool, &said))
    }

    /// Why something that an agent did should not have been done: a rule denies it, or asks about it and no person has
    /// allowed it.
    pub(super) fn breach(&self, tool: &str, input: &Value) -> Option<Failure> {
        // Of what one leaves that is only to look, nothing is used.
        if self.only_looks() {
            return None;
        }
        let forms = self.forms(tool, input);
        let said = forms.first().map(String::as_str).unwrap_or_default();
        let rule = match self.rules.restriction(tool, &forms)? {
            Verdict::Ask(_) if self.questions.has_allowed(tool, said) => return None,
            Verdict::Ask(rule) => format!("a person has to allow it, by the rule {rule}"),
            Verdict::Deny(why) => why,
            Verdict::Allow => return None,
        };
        let message = format!("it did what a rule is against: {tool}: {said} ({rule})");
        Some(Failure::new(FailureClass::Unwanted, message))
    }

    /// As `judge`, where no rule says anything.
    fn usual(&self, tool: &str, input: &Value) -> Option<String> {
        match tool {
            tool if HARMLESS.contains(&tool) => None,
            tool if EDITS.contains(&tool) => file(input).and_then(|path| self.outside(path)),
            SHELL => self.judge_command(input["command"].as_str().unwrap_or_default()),
            tool if tool.starts_with("mcp__") => None,
            tool => Some(unusual(tool)),
        }
    }

    fn judge_command(&self, command: &str) -> Option<String> {
        if let Some(blocked) = self.rules.blocked(command) {
            return Some(blocked_words(blocked));
        }
        let files = shell::written(command).into_iter();
        let mut files = files.filter(|file| !is_device(file) && !self.may_edit(file));
        files.find_map(|file| self.outside(&file))
    }

    /// Whether a rule lets the agent edit a file wherever it is.
    fn may_edit(&self, path: &str) -> bool {
        let fits = |rule: &String| Rule::parse(rule).is_some_and(|rule| rule.fits(EDITS[0], path));
        self.rules.allow.iter().any(fits)
    }

    /// Why a file is none of the agent's to write.
    fn outside(&self, path: &str) -> Option<String> {
        let path = resolved(&self.root.join(at_home(path)));
        let inside = |folder: &Path| path.starts_with(resolved(folder));
        let temporary = self.temporary.clone().unwrap_or_else(std::env::temp_dir);
        (!inside(&self.root) && !inside(&temporary)).then(|| {
            let (path, root) = (path.display(), self.root.display());
            let own = temporary.display();
            format!("{path} is outside of the workspace {root}; work there, or for temporary files in {own}")
        })
    }

    /// What a tool is used on, in every form that a rule may name it by; as it was said comes first.
    fn forms(&self, tool: &str, input: &Value) -> Vec<String> {
        if tool == SHELL {
            return shell::forms(input["command"].as_str().unwrap_or_default());
        }
        let Some(file) = file(input) else { return vec![input.to_string()] };
        let whole = flattened(&self.root.join(file));
        let real = resolved(&self.root.join(file));
        let inner =
            |path: &Path, root: &Path| path.strip_prefix(root).ok().map(|inner| inner.display().to_string());
        let inside = [inner(&whole, &flattened(&self.root)), inner(&real, &resolved(&self.root))];
        let mut forms = vec![file.to_owned(), whole.display().to_string()];
        forms.extend(inside.into_iter().flatten().chain([real.display().to_string()]));
        forms.dedup();
        forms
    }

    /// The rules for an agent that keeps them itself, in the order in which a later one counts more.
    pub(super) fn given(&self) -> Vec<Given> {
        let mut all = self.given_by_default();
        let made = |action: Action, rules: &[String]| -> Vec<Given> {
            rules.iter().flat_map(|rule| Given::of(action, rule)).collect()
        };
        all.extend(made(Action::Allow, &self.rules.allow));
        all.extend(made(Action::Ask, &self.rules.ask));
        all.extend(self.questions.answers().flat_map(|(question, answer)| {
            let action = if answer.allow { Action::Allow } else { Action::Deny };
            let commands = shell::commands(&question.what).into_iter().map(|command| command.text);
            let parts: Vec<String> = commands.filter(|_| question.tool == SHELL).collect();
            let why = "a person said no".to_owned();
            let exactly = move |what: String| Given {
                action,
                tool: question.tool.clone(),
                pattern: Pattern::Exactly(what),
                why: why.clone(),
            };
            std::iter::once(question.what.clone()).chain(parts).map(exactly).collect::<Vec<_>>()
        }));
        all.extend(made(Action::Deny, &self.rules.deny));
        all
    }

    /// What is neither usual nor in a rule.
    fn given_by_default(&self) -> Vec<Given> {
        let action = match self.rules.otherwise {
            Otherwise::Allow => return Vec::new(),
            Otherwise::Deny => Action::Deny,
            Otherwise::Ask => Action::Ask,
        };
        let web = WEB.iter().map(|tool| Given {
            action,
            tool: (*tool).to_owned(),
            pattern: Pattern::Any,
            why: unusual(tool),
        });
        let blocked: Vec<&str> = match &self.rules.blocked_commands {
            Some(own) => own.iter().map(String::as_str).collect(),
            None => BLOCKED.to_vec(),
        };
        let blocked = blocked.into_iter().map(|part| Given {
            action,
            tool: SHELL.to_owned(),
            pattern: Pattern::Like(format!("*{part}*")),
            why: blocked_words(part),
        });
        web.chain(blocked).collect()
    }
}

/// Tools that look things up on the network.
const WEB: [&str; 2] = ["WebFetch", "WebSearch"];

/// What becomes of what a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Allow,
    Deny,
    Ask,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    Any,
    /// `*` stands for anything.
    Like(String),
    Exactly(String),
}

/// A rule for an agent that keeps it itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) action: Action,
    /// By our name, in which `*` stands for anything.
    pub(super) tool: String,
    pub(super) pattern: Pattern,
    /// What the agent is told.
    pub(super) why: String,
}

impl Given {
    /// One for each of the patterns of a rule.
    fn of(action: Action, rule: &str) -> Vec<Given> {
        let Some(parsed) = Rule::parse(rule) else { return Vec::new() };
        let why = match action {
            Action::Ask => super::questions::STOP.to_owned(),
            _ => refusal(parsed.tool(), rule),
        };
        let given = |pattern| Given { action, tool: parsed.tool().to_owned(), pattern, why: why.clone() };
        match parsed.pattern() {
            Some(_) => parsed.patterns().into_iter().map(|own| given(Pattern::Like(own))).collect(),
            None => vec![given(Pattern::Any)],
        }
    }

    pub(super) fn is_about(&self, tool: &str) -> bool {
        Rule::parse(&self.tool).is_some_and(|rule| rule.is_about(tool))
    }
}

fn unusual(tool: &str) -> String {
    format!("{tool} is not allowed in this run; edit files and run commands in the workspace")
}

fn blocked_words(part: &str) -> String {
    format!("commands with `{}` are not allowed in this run", part.trim())
}

/// The file a tool is used on.
fn file(input: &Value) -> Option<&str> {
    const NAMES: [&str; 4] = ["file_path", "filePath", "notebook_path", "path"];
    NAMES.iter().find_map(|name| input[*name].as_str())
}

/// What is written to it goes nowhere, or to the output that is read anyway.
fn is_device(path: &str) -> bool {
    const DEVICES: [&str; 6] =
        ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full"];
    DEVICES.contains(&path) || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/")
}

/// With the user's home in place of `~`.
fn at_home(path: &str) -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_else(|| "/".into());
    match path.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with('/') => home().join(rest.trim_start_matches('/')),
        _ => path.into(),
    }
}

fn flattened(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// How many links are followed on the way to a file; the system gives up at the same number.
const MOST_LINKS: u32 = 40;

/// Where a path leads, as far as anything of it exists: a link in the workspace may lead out of it.
fn resolved(path: &Path) -> PathBuf {
    let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let mut left = parts(path);
    left.reverse();
    let (mut out, mut links) = (PathBuf::new(), 0);
    while let Some(part) = left.pop() {
        match part.to_str() {
            Some(".") => {}
            Some("..") => {
                out.pop();
            }
            _ => {
                out.push(part);
                if links < MOST_LINKS
                    && let Ok(to) = std::fs::read_link(&out)
                {
                    links += 1;
                    out.pop();
                    left.extend(parts(&to).into_iter().rev());
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn edits_stay_in_the_workspace_and_commands_within_reason() {
        let policy = InWorkspace::new("/work/a".into(), Some("/tmp/x".into()));
        for (tool, input) in [
            ("Read", json!({ "file_path": "/etc/passwd" })),
            ("Write", json!({ "file_path": "/work/a/src/x.rs" })),
            ("Edit", json!({ "file_path": "src/../x.rs" })),
            ("Write", json!({ "file_path": "/tmp/x/y" })),
            ("Bash", json!({ "command": "cargo test && rm -rf target" })),
            ("Bash", json!({ "command": "ls > /dev/null 2>&1; echo x > /tmp/x/y; cp /etc/hosts a" })),
            ("Bash", json!({ "command": "cd src && echo x > ../x.rs" })),
            ("mcp__tasks__add", json!({})),
        ] {
            assert_eq!(policy.judge(tool, &input), None, "{tool} {input}");
        }
        for (tool, input) in [
            ("Write", json!({ "file_path": "/work/b/x" })),
            ("Write", json!({ "file_path": "../b/x" })),
            ("Edit", json!({ "file_path": "/work/abc" })),
            ("Bash", json!({ "command": "cd x && sudo make install" })),
            ("Bash", json!({ "command": "git push origin main" })),
            ("Bash", json!({ "command": "echo x > /work/b/x" })),
            ("Bash", json!({ "command": "ls | tee -a ../b/x" })),
            ("Bash", json!({ "command": "cd .. && touch x" })),
            ("Bash", json!({ "command": "cp a ~/.profile" })),
            ("CronCreate", json!({})),
        ] {
            assert!(policy.judge(tool, &input).is_some(), "{tool} {input}");
        }
    }

    #[test]
    fn a_link_in_the_workspace_does_not_lead_out_of_it() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let (root, outside) = (place.path().join("work"), place.path().join("outside"));
        for folder in [&root.join("src"), &root.join("secrets"), &outside] {
            std::fs::create_dir_all(folder).unwrap();
        }
        symlink(&outside, root.join("out")).unwrap();
        symlink("../outside/not-yet", root.join("dangling")).unwrap();
        symlink("src", root.join("in")).unwrap();
        symlink("secrets", root.join("harmless")).unwrap();
        symlink("around", root.join("around")).unwrap();
        let rules = Permissions { deny: vec!["Edit(secrets/*)".into()], ..Permissions::default() };
        let policy = InWorkspace::new(root.clone(), Some(root.join("tmp"))).with(rules, Questions::default());
        for path in ["out/x", "dangling", "in/../../outside/x", "out/../x", "harmless/key"] {
            assert!(policy.judge("Write", &json!({ "file_path": path })).is_some(), "{path}");
            let command = format!("echo x > {path}");
            let is_refused = policy.judge("Bash", &json!({ "command": command })).is_some();
            assert!(is_refused || path == "harmless/key", "{command}");
        }
        for path in ["in/x", "in/../x", "src/new/x", "around"] {
            assert_eq!(policy.judge("Write", &json!({ "file_path": path })), None, "{path}");
        }
        // The workspace itself may be reached by a link.
        symlink(&root, place.path().join("seen")).unwrap();
        let policy = InWorkspace::new(place.path().join("seen"), Some(root.join("tmp")));
        assert_eq!(policy.judge("Write", &json!({ "file_path": root.join("x") })), None);
    }

    #[test]
    fn a_file_is_meant_by_its_path_from_anywhere() {
        let rules = Permissions { deny: vec!["Edit(secrets/*)".into()], ..Permissions::default() };
        let policy = InWorkspace::new("/w".into(), None).with(rules, Questions::default());
        for path in ["secrets/key", "/w/secrets/key", "./secrets/key", "src/../secrets/key"] {
            assert!(policy.judge("Write", &json!({ "file_path": path })).is_some(), "{path}");
            assert!(policy.breach("Write", &json!({ "filePath": path })).is_some(), "{path}");
        }
        assert_eq!(policy.judge("Write", &json!({ "file_path": "src/secrets/key" })), None);
    }

    #[test]
    fn a_folder_that_may_be_edited_may_be_written_by_commands_too() {
        let rules = Permissions { allow: vec!["Edit(/srv/*)".into()], ..Permissions::default() };
        let policy = InWorkspace::new("/w".into(), None).with(rules, Questions::default());
        assert_eq!(policy.judge("Bash", &json!({ "command": "echo x > /srv/a" })), None);
        assert!(policy.judge("Bash", &json!({ "command": "echo x > /srv/a; echo x > /b" })).is_some());
    }

    #[test]
    fn a_rule_can_ask_a_person_and_the_answer_holds_for_that_and_nothing_else() {
        use conductor_core::run::event::{Answer, Answerer};
        let rules = Permissions { ask: vec!["Bash(terraform*)".into()], ..Permissions::default() };
        let policy =
            |questions: Questions| InWorkspace::new("/w".into(), None).with(rules.clone(), questions);
        let apply = json!({ "command": "terraform apply" });
        let questions = Questions::default();
        assert!(policy(questions.clone()).judge("Bash", &apply).unwrap().contains("a person"));
        assert_eq!(policy(questions.clone()).judge("Bash", &json!({ "command": "ls" })), None);
        let question = questions.open().unwrap();
        assert_eq!(question.to_string(), "Bash: terraform apply");
        for (allow, words) in [(true, None), (false, Some("not on a Friday".to_owned()))] {
            let answer = Answer { allow, words, by: Answerer::Person };
            let questions = Questions::answered(vec![(question.clone(), answer)]);
            let told = policy(questions.clone()).judge("Bash", &apply);
            assert_eq!(told.is_none(), allow, "{told:?}");
            assert!(allow || told.unwrap().contains("not on a Friday"));
            assert_eq!(questions.open(), None);
            assert!(
                policy(questions.clone()).judge("Bash", &json!({ "command": "terraform destroy" })).is_some()
            );
            assert!(questions.open().is_some(), "another question");
        }
    }

    #[test]
    fn an_answer_holds_for_a_question_whose_secret_is_not_kept() {
        use conductor_core::run::event::{Answer, Answerer, Outcome};
        let rules = Permissions { ask: vec!["Bash(curl*)".into()], ..Permissions::default() };
        let policy =
            |questions: Questions| InWorkspace::new("/w".into(), None).with(rules.clone(), questions);
        let call = json!({ "command": "curl -u x https://me:hunter2hunter2@host/" });
        let questions = Questions::default();
        assert!(policy(questions.clone()).judge("Bash", &call).is_some());
        let asked = Outcome::Asked(Box::new(questions.open().unwrap()));
        let Outcome::Asked(kept) = crate::host::redact::known().outcome(asked) else { unreachable!() };
        assert!(!kept.what.contains("hunter2"));
        let answer = Answer { allow: true, words: None, by: Answerer::Person };
        assert_eq!(policy(Questions::answered(vec![(*kept, answer)])).judge("Bash", &call), None);
    }
}
