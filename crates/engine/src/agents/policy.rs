//! What an agent may do without asking anybody: read anything, edit and run commands in its workspace.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// Commands nobody means to have run by an agent, as parts of a command line.
pub(super) const BLOCKED: [&str; 12] = [
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
}

impl InWorkspace {
    pub(super) fn new(root: PathBuf, temporary: Option<PathBuf>) -> InWorkspace {
        InWorkspace { root, temporary }
    }

    /// Where edits are allowed besides the workspace itself.
    pub(super) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Nothing allows it; otherwise why not, in words the agent can act on.
    pub(super) fn judge(&self, tool: &str, input: &Value) -> Option<String> {
        match tool {
            tool if HARMLESS.contains(&tool) => None,
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => self.judge_edit(input),
            "Bash" => judge_command(input["command"].as_str().unwrap_or_default()),
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

fn judge_command(command: &str) -> Option<String> {
    let blocked = BLOCKED.iter().find(|part| command.contains(**part))?;
    Some(format!("commands with `{}` are not allowed in this run", blocked.trim()))
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
}
