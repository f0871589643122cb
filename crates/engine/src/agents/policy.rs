//! What an agent may do: read anything, edit and run commands in its workspace, and what its task's rules say.

use std::path::{Component, Path, PathBuf};

use conductor_core::permissions::Verdict;
use conductor_core::plan::Permissions;
use serde_json::Value;

use super::questions::Questions;

pub(super) use conductor_core::permissions::BLOCKED;

/// Tools that only look, or keep notes for the agent itself.
const HARMLESS: [&str; 11] = [
    "Read",
    "Glob",
    "Grep",
    "LS",
    "TodoWrite",
    "Task",
    "TaskOutput",
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

    /// Where edits are allowed besides the workspace itself.
    pub(super) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Nothing allows it; otherwise why not, in words the agent can act on.
    pub(super) fn judge(&self, tool: &str, input: &Value) -> Option<String> {
        let what = what(tool, input);
        let refused = match self.rules.judge(tool, &what, || self.usual(tool, input)) {
            Verdict::Allow => None,
            Verdict::Deny(why) => Some(why),
            Verdict::Ask(why) => self.questions.put(tool, what.clone(), why),
        };
        refused.or_else(|| self.questions.before(tool, &what))
    }

    /// As `judge`, where no rule says anything.
    fn usual(&self, tool: &str, input: &Value) -> Option<String> {
        match tool {
            tool if HARMLESS.contains(&tool) => None,
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => self.judge_edit(input),
            "Bash" => {
                let blocked = self.rules.blocked(input["command"].as_str().unwrap_or_default())?;
                Some(format!("commands with `{}` are not allowed in this run", blocked.trim()))
            }
            tool if tool.starts_with("mcp__") => None,
            tool => Some(format!(
                "{tool} is not allowed in this run; edit files and run commands in the workspace"
            )),
        }
    }

    fn judge_edit(&self, input: &Value) -> Option<String> {
        let path = ["file_path", "notebook_path", "path"].iter().find_map(|name| input[*name].as_str())?;
        let path = flattened(&self.root.join(path));
        let inside = |folder: &Path| path.starts_with(flattened(folder));
        let fine = inside(&self.root) || self.temporary.as_deref().is_some_and(inside);
        (!fine).then(|| {
            format!("{} is outside of the workspace {}; work there only", path.display(), self.root.display())
        })
    }
}

/// What a tool is used on: the command, the file, or all it is given.
fn what(tool: &str, input: &Value) -> String {
    const FILES: [&str; 3] = ["file_path", "notebook_path", "path"];
    match tool {
        "Bash" => input["command"].as_str().unwrap_or_default().to_owned(),
        _ => match FILES.iter().find_map(|name| input[*name].as_str()) {
            Some(file) => file.to_owned(),
            None => input.to_string(),
        },
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
            ("CronCreate", json!({})),
        ] {
            assert!(policy.judge(tool, &input).is_some(), "{tool} {input}");
        }
    }

    #[test]
    fn a_rule_can_ask_a_person_and_the_answer_holds_for_that_and_nothing_else() {
        use conductor_core::event::{Answer, Answerer};
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
}
