//! What it asks, and our answers.

use conductor_core::plan::permissions::{SHELL, shell};
use conductor_core::run::event::Failure;
use serde_json::{Value, json};

use super::super::talk::{Heard, Said, line, text};
use super::Codex;

/// JSON-RPC's word for a request we do not know.
const NO_SUCH_METHOD: i64 = -32601;

impl Codex {
    /// It waits for ever for an answer that does not come.
    pub(super) fn on_question(&self, method: &str, id: &Value, params: &Value) -> Heard {
        let refusal = match method {
            "item/commandExecution/requestApproval" | "execCommandApproval" => {
                self.judge_command(&params["command"])
            }
            "item/fileChange/requestApproval" => {
                let files = params["itemId"].as_str().and_then(|item| self.edits.get(item));
                let root = text(&params["grantRoot"]);
                self.judge_edits(files.into_iter().flatten().cloned().chain(root))
            }
            "applyPatchApproval" => {
                let files = params["fileChanges"].as_object().into_iter().flat_map(|files| files.keys());
                self.judge_edits(files.cloned().chain(text(&params["grantRoot"])))
            }
            _ => return otherwise(method, id),
        };
        let decision = match (method.starts_with("item/"), &refusal) {
            (true, None) => json!("accept"),
            (true, Some(_)) => json!("decline"),
            (false, None) => json!("approved"),
            (false, Some(why)) => json!({ "denied": { "rejection": why } }),
        };
        let reply = line(&json!({ "id": id, "result": { "decision": decision } }));
        Heard { reply, said: refusal.map(Said::Denied).into_iter().collect(), ..Heard::default() }
    }

    fn judge_command(&self, command: &Value) -> Option<String> {
        let words = command.as_array().into_iter().flatten().filter_map(Value::as_str);
        let command = text(command).unwrap_or_else(|| words.collect::<Vec<_>>().join(" "));
        match command.is_empty() {
            true => Some("it does not say which command".to_owned()),
            false => self.policy.judge(SHELL, &json!({ "command": shell::unwrapped(&command) })),
        }
    }

    /// Why what it did should not have been done. What rules of its own allow it does unasked.
    pub(super) fn breach(&self, item: &Value) -> Option<Failure> {
        if !matches!(item["status"].as_str(), Some("completed" | "failed")) {
            return None;
        }
        match item["type"].as_str() {
            Some("commandExecution") => {
                let command = shell::unwrapped(item["command"].as_str().unwrap_or_default());
                self.policy.breach(SHELL, &json!({ "command": command }))
            }
            Some("fileChange") => {
                let mut files = super::notices::paths(item).into_iter();
                files.find_map(|file| self.policy.breach("Edit", &json!({ "file_path": file })))
            }
            _ => None,
        }
    }

    fn judge_edits(&self, files: impl Iterator<Item = String>) -> Option<String> {
        let mut files = files.peekable();
        if files.peek().is_none() {
            return Some("it does not say which files".to_owned());
        }
        files.find_map(|file| self.policy.judge("Edit", &json!({ "file_path": file })))
    }
}

/// Declines a request that no rule decides: no person is there to answer it.
fn otherwise(method: &str, id: &Value) -> Heard {
    let answer = match method {
        "item/permissions/requestApproval" => json!({ "permissions": {}, "scope": "turn" }),
        "item/tool/requestUserInput" => json!({ "answers": {} }),
        "mcpServer/elicitation/request" => json!({ "action": "decline", "content": null, "_meta": null }),
        _ => {
            let error = json!({ "code": NO_SUCH_METHOD, "message": "not supported" });
            return Heard { reply: line(&json!({ "id": id, "error": error })), ..Heard::default() };
        }
    };
    let reply = line(&json!({ "id": id, "result": answer }));
    Heard { reply, said: vec![Said::Denied(method.to_owned())], ..Heard::default() }
}
