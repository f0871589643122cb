//! Deeds as calls of the tools a CLI offers.
//!
//! Which CLI asks is not known and need not be: the request's list of tools is looked at, and a tool is taken by its
//! name. Its arguments are named as its schema names them.

use serde_json::{Map, Value, json};

use crate::conversation::{Conversation, Form, Offered};
use crate::turns::Deed;

/// In the order they are preferred, should a CLI ever offer two.
const WRITERS: [&str; 3] = ["Write", "write_file", "write"];
const EDITORS: [&str; 3] = ["Edit", "replace", "edit"];
const SHELLS: [&str; 6] = ["Bash", "run_shell_command", "bash", "exec_command", "shell_command", "shell"];
/// Tools that must have seen a file before the editor of the same CLI touches it.
const READERS: [&str; 2] = ["Read", "read"];
const PATCHER: &str = "apply_patch";

/// Names of one argument among the CLIs.
const PATH: [&str; 3] = ["file_path", "filePath", "path"];
const OLD: [&str; 2] = ["old_string", "oldString"];
const NEW: [&str; 2] = ["new_string", "newString"];
const COMMAND: [&str; 2] = ["command", "cmd"];

/// Codex gives a command this long before it goes on without the result; it is the most it allows.
const YIELD: (&str, u64) = ("yield_time_ms", 30_000);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) form: Form,
    pub(crate) input: Value,
    /// Not the deed itself, but what the CLI wants before it.
    pub(crate) preparing: bool,
}

/// No tool of the request can do it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the script wants to {what}, and the request offers no tool for that, only: {offered}")]
pub(crate) struct NoTool {
    what: String,
    offered: String,
}

pub(crate) fn call(deed: &Deed, conversation: &Conversation) -> Result<Call, NoTool> {
    let offered = &conversation.offered;
    match deed {
        Deed::WriteFile { path, content } => write(path, content, offered),
        Deed::Edit { path, old, new } => edit(path, old, new, conversation),
        Deed::Run { command } => run(command, offered),
        Deed::Mcp { server, tool, arguments } => Ok(mcp(server.as_deref(), tool, arguments, conversation)),
        Deed::Delegate { script } => delegate(script, offered),
        Deed::Tool { name, input } => Ok(raw(name, input, offered)),
    }
}

fn write(path: &str, content: &str, offered: &[Offered]) -> Result<Call, NoTool> {
    if let Some(tool) = find(offered, &WRITERS) {
        return Ok(tool.call([(tool.argument(&PATH), json!(path)), ("content", json!(content))]));
    }
    match find(offered, &[PATCHER]) {
        Some(patcher) if content.ends_with('\n') => Ok(patcher.patch(&added(path, content))),
        // A patch cannot say that a file is empty or that its last line has no end.
        Some(_) => run(&format!("printf %s {} > {}", quoted(content), quoted(path)), offered),
        None => Err(no_tool(format!("write {path}"), offered)),
    }
}

fn edit(path: &str, old: &str, new: &str, conversation: &Conversation) -> Result<Call, NoTool> {
    let offered = &conversation.offered;
    if let Some(tool) = find(offered, &EDITORS) {
        if let Some(reader) = find(offered, &READERS)
            && !conversation.has_called_with(path)
        {
            return Ok(reader.call([(reader.argument(&PATH), json!(path))]).preparing());
        }
        let arguments = [
            (tool.argument(&PATH), json!(path)),
            (tool.argument(&OLD), json!(old)),
            (tool.argument(&NEW), json!(new)),
        ];
        return Ok(tool.call(arguments));
    }
    match find(offered, &[PATCHER]) {
        Some(patcher) => Ok(patcher.patch(&updated(path, old, new))),
        None => Err(no_tool(format!("edit {path}"), offered)),
    }
}

fn run(command: &str, offered: &[Offered]) -> Result<Call, NoTool> {
    let tool = find(offered, &SHELLS).ok_or_else(|| no_tool(format!("run `{command}`"), offered))?;
    let name = tool.argument(&COMMAND);
    let wants_words = tool.parameters.get(name).is_some_and(|schema| schema["type"] == "array");
    let value = if wants_words { json!(["bash", "-lc", command]) } else { json!(command) };
    let mut call = tool.call([(name, value)]);
    if tool.parameters.contains_key(YIELD.0) {
        call.input[YIELD.0] = json!(YIELD.1);
    }
    Ok(call)
}

fn delegate(script: &str, offered: &[Offered]) -> Result<Call, NoTool> {
    let kinds = [
        ("Agent", "general-purpose"),
        ("Task", "general-purpose"),
        ("task", "general"),
        ("invoke_agent", "generalist"),
    ];
    let found = kinds.iter().find_map(|(name, kind)| Some((find(offered, &[name])?, kind)));
    let (tool, kind) = found.ok_or_else(|| no_tool(format!("delegate {script}"), offered))?;
    let prompt = ("prompt", json!(format!("[[script:{script}]] Do your part.")));
    match tool.parameters.contains_key("agent_name") {
        true => Ok(tool.call([prompt, ("agent_name", json!(kind))])),
        false => Ok(tool.call([prompt, ("description", json!(script)), ("subagent_type", json!(kind))])),
    }
}

/// CLIs hide MCP tools until they are searched for, so a search may have to come first.
fn mcp(server: Option<&str>, tool: &str, arguments: &Value, conversation: &Conversation) -> Call {
    let input = object(arguments);
    if let Some(found) = conversation.offered.iter().find(|offered| is_of_server(offered, server, tool)) {
        return Call { input, ..found.call([]) };
    }
    let searcher = conversation.offered.iter().find(|offered| offered.is_search());
    match searcher {
        Some(searcher) if !conversation.is_prepared() => search(searcher, server, tool),
        _ => Call { input, ..Call::function(&convention(server, tool)) },
    }
}

fn search(searcher: &Offered, server: Option<&str>, tool: &str) -> Call {
    let query = match (searcher.form, server) {
        (Form::Search, _) | (_, None) => tool.replace('_', " "),
        (_, Some(_)) => format!("select:{}", convention(server, tool)),
    };
    searcher.call([("query", json!(query))]).preparing()
}

fn convention(server: Option<&str>, tool: &str) -> String {
    server.map_or_else(|| tool.to_owned(), |server| format!("mcp__{server}__{tool}"))
}

/// `mcp__tasks__note`, `mcp_tasks_note`, `tasks_note`, or `note` in the namespace `mcp__tasks`.
fn is_of_server(offered: &Offered, server: Option<&str>, tool: &str) -> bool {
    if let Some(space) = &offered.namespace {
        let its_server = space.strip_prefix("mcp__").map(|name| name.trim_end_matches('_'));
        return offered.name == tool && its_server.is_some() && (server.is_none() || its_server == server);
    }
    let Some(before) = offered.name.strip_suffix(tool).and_then(|rest| rest.strip_suffix('_')) else {
        return false;
    };
    let its_server = before.strip_prefix("mcp_").unwrap_or(before).trim_matches('_');
    server.is_none_or(|server| server == its_server)
}

fn raw(name: &str, input: &Value, offered: &[Offered]) -> Call {
    let form = find(offered, &[name]).map_or(Form::Function, |tool| tool.form);
    let input = if form == Form::Freeform { input.clone() } else { object(input) };
    Call { form, input, ..Call::function(name) }
}

fn find<'a>(offered: &'a [Offered], names: &[&str]) -> Option<&'a Offered> {
    names.iter().find_map(|name| offered.iter().find(|tool| tool.namespace.is_none() && tool.name == *name))
}

fn no_tool(what: String, offered: &[Offered]) -> NoTool {
    let names: Vec<String> = offered.iter().map(Offered::full_name).collect();
    NoTool { what, offered: names.join(", ") }
}

fn object(value: &Value) -> Value {
    if value.is_null() { json!({}) } else { value.clone() }
}

impl Call {
    fn function(name: &str) -> Call {
        Call {
            name: name.to_owned(),
            namespace: None,
            form: Form::Function,
            input: json!({}),
            preparing: false,
        }
    }

    fn preparing(self) -> Call {
        Call { preparing: true, ..self }
    }
}

impl Offered {
    /// The name its schema gives an argument.
    fn argument<'a>(&self, names: &[&'a str]) -> &'a str {
        names.iter().find(|name| self.parameters.contains_key(**name)).unwrap_or(&names[0])
    }

    /// A call with these arguments; whatever else the schema insists on is filled in.
    fn call<const N: usize>(&self, arguments: [(&str, Value); N]) -> Call {
        let mut input: Map<String, Value> =
            arguments.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        for name in &self.required {
            if self.parameters.get(name).is_some_and(|schema| schema["type"] == "string") {
                input.entry(name.as_str()).or_insert_with(|| json!("scripted"));
            }
        }
        Call {
            namespace: self.namespace.clone(),
            form: self.form,
            input: Value::Object(input),
            ..Call::function(&self.name)
        }
    }

    fn patch(&self, hunk: &str) -> Call {
        let patch = format!("*** Begin Patch\n{hunk}*** End Patch\n");
        let input = if self.form == Form::Freeform { json!(patch) } else { json!({ "input": patch }) };
        Call { form: self.form, input, ..Call::function(&self.name) }
    }

    fn is_search(&self) -> bool {
        self.form == Form::Search || self.name == "ToolSearch"
    }
}

fn added(path: &str, content: &str) -> String {
    format!("*** Add File: {path}\n{}", lines('+', content))
}

fn updated(path: &str, old: &str, new: &str) -> String {
    format!("*** Update File: {path}\n@@\n{}{}", lines('-', old), lines('+', new))
}

fn lines(mark: char, text: &str) -> String {
    text.lines().map(|line| format!("{mark}{line}\n")).collect()
}

/// For a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Entry;

    fn tool(name: &str, parameters: &[&str]) -> Offered {
        let properties: Map<String, Value> =
            parameters.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        Offered::function(name, &json!({"properties": properties, "required": parameters}))
    }

    fn talk(offered: Vec<Offered>) -> Conversation {
        Conversation { offered, ..Conversation::default() }
    }

    fn claude() -> Conversation {
        talk(vec![
            tool("Bash", &["command"]),
            tool("Edit", &["file_path", "old_string", "new_string"]),
            tool("Read", &["file_path"]),
            tool("ToolSearch", &["query"]),
            tool("Write", &["file_path", "content"]),
        ])
    }

    fn codex() -> Conversation {
        let patcher = Offered { form: Form::Freeform, ..tool("apply_patch", &[]) };
        let searcher = Offered { form: Form::Search, ..tool("tool_search", &["query"]) };
        let mut shell = tool("exec_command", &["cmd"]);
        shell.parameters.insert("yield_time_ms".into(), json!({"type": "number"}));
        talk(vec![shell, patcher, searcher])
    }

    fn gemini() -> Conversation {
        talk(vec![
            tool("replace", &["file_path", "instruction", "old_string", "new_string"]),
            tool("write_file", &["file_path", "content"]),
            tool("run_shell_command", &["command"]),
        ])
    }

    fn opencode() -> Conversation {
        talk(vec![
            tool("bash", &["command", "description"]),
            tool("edit", &["filePath", "oldString", "newString"]),
            tool("read", &["filePath"]),
            tool("write", &["filePath", "content"]),
        ])
    }

    fn writing() -> Deed {
        Deed::WriteFile { path: "a.txt".into(), content: "one\ntwo\n".into() }
    }

    fn editing() -> Deed {
        Deed::Edit { path: "a.txt".into(), old: "one".into(), new: "1".into() }
    }

    fn running() -> Deed {
        Deed::Run { command: "ls".into() }
    }

    #[track_caller]
    fn check(deed: &Deed, conversation: &Conversation, name: &str, input: Value) {
        let call = call(deed, conversation).unwrap();
        assert_eq!((call.name.as_str(), call.input), (name, input));
    }

    #[test]
    fn each_cli_is_asked_to_write_with_its_own_tool() {
        let file = json!({"file_path": "a.txt", "content": "one\ntwo\n"});
        check(&writing(), &claude(), "Write", file.clone());
        check(&writing(), &gemini(), "write_file", file);
        check(&writing(), &opencode(), "write", json!({"filePath": "a.txt", "content": "one\ntwo\n"}));
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch\n";
        check(&writing(), &codex(), "apply_patch", json!(patch));
    }

    #[test]
    fn what_no_patch_can_say_is_written_by_the_shell() {
        let deed = Deed::WriteFile { path: "a b".into(), content: "it's".into() };
        let input = json!({"cmd": r"printf %s 'it'\''s' > 'a b'", "yield_time_ms": 30_000});
        check(&deed, &codex(), "exec_command", input);
    }

    #[test]
    fn each_cli_is_asked_to_run_with_its_own_tool() {
        check(&running(), &claude(), "Bash", json!({"command": "ls"}));
        check(&running(), &gemini(), "run_shell_command", json!({"command": "ls"}));
        check(&running(), &opencode(), "bash", json!({"command": "ls", "description": "scripted"}));
        check(&running(), &codex(), "exec_command", json!({"cmd": "ls", "yield_time_ms": 30_000}));
    }

    #[test]
    fn a_shell_that_wants_words_gets_words() {
        let schema = json!({"properties": {"command": {"type": "array"}}});
        let old_codex = talk(vec![Offered::function("shell", &schema)]);
        check(&running(), &old_codex, "shell", json!({"command": ["bash", "-lc", "ls"]}));
    }

    #[test]
    fn a_file_not_seen_yet_is_read_before_it_is_edited() {
        let mut conversation = claude();
        let first = call(&editing(), &conversation).unwrap();
        assert_eq!((first.name.as_str(), first.preparing), ("Read", true));
        let read = Entry::Called { id: String::new(), name: "Read".into(), input: first.input };
        conversation.entries = vec![read, Entry::Returned];
        let input = json!({"file_path": "a.txt", "old_string": "one", "new_string": "1"});
        check(&editing(), &conversation, "Edit", input);
    }

    #[test]
    fn editors_that_need_no_look_are_called_at_once() {
        let input = json!({
            "file_path": "a.txt", "old_string": "one", "new_string": "1", "instruction": "scripted",
        });
        check(&editing(), &gemini(), "replace", input);
        let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n";
        check(&editing(), &codex(), "apply_patch", json!(patch));
    }

    #[test]
    fn mcp_tools_are_known_by_every_name_they_go_by() {
        let in_space = Offered { namespace: Some("mcp__tasks".into()), ..tool("note", &[]) };
        for offered in
            [tool("mcp__tasks__note", &[]), tool("mcp_tasks_note", &[]), tool("tasks_note", &[]), in_space]
        {
            for server in [Some("tasks"), None] {
                assert!(is_of_server(&offered, server, "note"), "{offered:?}");
            }
            assert!(!is_of_server(&offered, Some("others"), "note"), "{offered:?}");
            assert!(!is_of_server(&offered, None, "ote"), "{offered:?}");
        }
    }

    #[test]
    fn an_mcp_tool_that_is_hidden_is_searched_for_once() {
        let deed =
            Deed::Mcp { server: Some("tasks".into()), tool: "add_note".into(), arguments: json!({"x": 1}) };
        check(&deed, &claude(), "ToolSearch", json!({"query": "select:mcp__tasks__add_note"}));
        check(&deed, &codex(), "tool_search", json!({"query": "add note"}));
        let mut searched = claude();
        searched.entries =
            vec![Entry::Called { id: "toolu_prep_1".into(), name: "ToolSearch".into(), input: json!({}) }];
        check(&deed, &searched, "mcp__tasks__add_note", json!({"x": 1}));
    }

    #[test]
    fn a_deed_without_a_tool_says_what_there_is() {
        let few = talk(vec![tool("Read", &["file_path"])]);
        let said = call(&running(), &few).unwrap_err().to_string();
        assert!(said.contains("run `ls`") && said.ends_with("only: Read"), "{said}");
    }

    #[test]
    fn a_raw_call_is_made_offered_or_not() {
        let deed = Deed::Tool { name: "Nope".into(), input: Value::Null };
        check(&deed, &claude(), "Nope", json!({}));
        let deed = Deed::Tool { name: "apply_patch".into(), input: json!("text") };
        assert_eq!(call(&deed, &codex()).unwrap().form, Form::Freeform);
    }
}
