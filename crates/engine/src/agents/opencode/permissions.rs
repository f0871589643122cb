//! Our rules in its own words. The last of its rules that fits counts; of several commands in one line each is held
//! against them.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::super::policy::{Action, Given, InWorkspace, Pattern};
use super::super::rules::{OPENCODE, On, Tool};

/// Folders that programs are usually called by.
const FOLDERS: [&str; 4] = ["./", "/bin/", "/usr/bin/", "/usr/local/bin/"];

/// What begins a script for another shell.
const SCRIPTS: [&str; 2] = ["*-*c '", "*-*c \""];

/// Our name for one of its tools.
pub(super) fn ours(theirs: &str) -> Option<String> {
    let edits = ["write", "patch", "multiedit", "apply_patch"].contains(&theirs).then_some("Edit");
    let known = || OPENCODE.tools.iter().find(|tool| tool.theirs.contains(&theirs)).map(|tool| tool.ours);
    let server = || theirs.split_once('_').map(|(server, tool)| format!("mcp__{server}__{tool}"));
    edits.or_else(known).map(str::to_owned).or_else(server)
}

/// Over what the user says in the same place. What it would ask about by default ends its work, so that is denied instead:
/// then it looks for another way. Only where a person is to be asked should it end there.
pub(super) fn permissions(policy: &InWorkspace, own: Option<&str>) -> Value {
    let own = own.and_then(|own| serde_json::from_str::<Value>(own).ok());
    let mut all = own.and_then(|own| own.as_object().cloned()).unwrap_or_default();
    for tool in [("bash", "allow"), ("edit", "allow"), ("external_directory", "deny")] {
        all.entry(tool.0).or_insert_with(|| json!({ "*": tool.1 }));
    }
    all.insert("doom_loop".to_owned(), json!("deny"));
    all.insert("question".to_owned(), json!("deny"));
    if let Some(folder) = policy.temporary() {
        put(&mut all, "external_directory", &folder.join("*").display().to_string(), "allow");
    }
    for given in policy.given() {
        write(&mut all, &given, policy.root());
    }
    if policy.only_looks() {
        all.insert("bash".to_owned(), json!("deny"));
        all.insert("edit".to_owned(), json!("deny"));
    }
    Value::Object(all)
}

fn write(all: &mut Map<String, Value>, given: &Given, root: &Path) {
    let action = match given.action {
        Action::Allow => "allow",
        Action::Deny => "deny",
        Action::Ask => "ask",
    };
    if let Some(tool) = given.tool.strip_prefix("mcp__") {
        all.insert(tool.replacen("__", "_", 1), json!(action));
        return;
    }
    for tool in OPENCODE.tools.iter().filter(|tool| given.is_about(tool.ours)) {
        for key in tool.theirs {
            for pattern in patterns(&given.pattern, tool, root) {
                put(all, key, &pattern, action);
            }
            if tool.on == On::Files && given.action == Action::Allow {
                allow_outside(all, &given.pattern);
            }
            if given.pattern == Pattern::Any {
                all.insert((*key).to_owned(), json!(action));
            }
        }
    }
}

/// A folder elsewhere needs leave of its own.
fn allow_outside(all: &mut Map<String, Value>, pattern: &Pattern) {
    if let Pattern::Like(path) | Pattern::Exactly(path) = pattern
        && path.starts_with('/')
    {
        put(all, "external_directory", path, "allow");
    }
}

/// Behind all that is there: the last one counts.
fn put(all: &mut Map<String, Value>, key: &str, pattern: &str, action: &str) {
    let rules = all.entry(key).or_insert_with(|| json!({}));
    if let Value::String(whole) = rules {
        *rules = json!({ "*": whole });
    }
    if let Value::Object(rules) = rules {
        rules.shift_remove(pattern);
        rules.insert(pattern.to_owned(), json!(action));
    }
}

fn patterns(pattern: &Pattern, tool: &Tool, root: &Path) -> Vec<String> {
    match (pattern, tool.on) {
        (Pattern::Any, _) | (_, On::Nothing) => Vec::new(),
        (Pattern::Like(pattern), On::Commands) => commands(pattern),
        (Pattern::Like(pattern), On::Files) => files(pattern, root),
        // Nothing in it stands for more than one character.
        (Pattern::Exactly(what), _) => vec![what.replace('*', "?")],
    }
}

fn commands(pattern: &str) -> Vec<String> {
    // Written so that no rule of the user's own is the same: it would keep its place, and later ones would count more.
    let own = pattern.replacen('*', "**", 1);
    let mut all = vec![own.clone()];
    if !pattern.starts_with(['*', '/']) {
        all.extend(FOLDERS.iter().map(|folder| format!("{folder}{own}")));
        let in_scripts = |script: &&str| all.iter().map(|own| format!("{script}{own}")).collect::<Vec<_>>();
        let in_scripts: Vec<String> = SCRIPTS.iter().flat_map(in_scripts).collect();
        all.extend(in_scripts);
    }
    all
}

/// It names files by their paths from the workspace, or by their whole paths.
fn files(pattern: &str, root: &Path) -> Vec<String> {
    let own = pattern.replacen('*', "**", 1);
    let root = root.display().to_string();
    let inner = own.strip_prefix(&root).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned);
    let whole = (!own.starts_with(['*', '/'])).then(|| format!("{root}/{own}"));
    [inner, whole].into_iter().flatten().chain([own]).collect()
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::Permissions;
    use conductor_core::run::event::{Answer, Answerer, Question};

    use super::super::super::Questions;
    use super::*;

    fn told(rules: Permissions, questions: Questions, own: Option<&str>) -> Value {
        let policy = InWorkspace::new("/work/a".into(), Some("/tmp/x".into())).with(rules, questions);
        permissions(&policy, own)
    }

    #[test]
    fn our_policy_in_its_words() {
        let told = |rules| told(rules, Questions::default(), None);
        let usual = told(Permissions::default());
        assert_eq!(usual["bash"]["*"], "allow");
        assert_eq!(usual["bash"]["**git push*"], "deny");
        assert_eq!(usual["external_directory"], json!({ "*": "deny", "/tmp/x/*": "allow" }));
        assert_eq!((&usual["edit"], &usual["webfetch"]), (&json!({ "*": "allow" }), &json!("deny")));
        let deny = ["Bash", "Edit", "Write"].map(str::to_owned).to_vec();
        let none = told(Permissions { deny, ..Permissions::default() });
        assert_eq!((&none["bash"], &none["edit"]), (&json!("deny"), &json!("deny")));
        let rules = Permissions {
            deny: vec!["Edit(secrets/*)".into(), "mcp__db__drop".into()],
            allow: vec!["WebFetch".into(), "Edit(/srv/*)".into()],
            ..Permissions::default()
        };
        let some = told(rules);
        assert_eq!(some["edit"]["secrets/**"], "deny");
        assert_eq!(some["edit"]["/work/a/secrets/**"], "deny");
        assert_eq!((&some["db_drop"], &some["webfetch"]), (&json!("deny"), &json!("allow")));
        assert_eq!(some["external_directory"]["/srv/*"], "allow");
    }

    #[test]
    fn what_counts_most_comes_last() {
        let rules = Permissions {
            deny: vec!["Bash(terraform destroy*)".into()],
            ask: vec!["Bash(terraform*)".into()],
            ..Permissions::default()
        };
        let question = Question { tool: "Bash".into(), what: "terraform plan *".into(), why: String::new() };
        let answer = Answer { allow: true, words: None, by: Answerer::Person };
        let own = r#"{"bash": {"terraform*": "allow"}, "lsp": "deny"}"#;
        let told = told(rules, Questions::answered(vec![(question, answer)]), Some(own));
        let order: Vec<(&str, &str)> = told["bash"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(pattern, action)| (pattern.as_str(), action.as_str().unwrap()))
            .filter(|(pattern, _)| pattern.starts_with("terraform"))
            .collect();
        let expected = [
            ("terraform*", "allow"),
            ("terraform**", "ask"),
            ("terraform plan ?", "allow"),
            ("terraform destroy**", "deny"),
        ];
        assert_eq!(order, expected);
        assert_eq!(told["lsp"], "deny", "what the user says of others stays");
    }
}
