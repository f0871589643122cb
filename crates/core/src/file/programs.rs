//! Agents a file brings along: any program, by a template of its command.

use std::collections::BTreeMap;

use crate::plan::Program;
use crate::values::template;

use super::decode::{count, each, text, texts, wrong};
use super::diagnostic::{Report, shown};
use super::fields::Fields;
use super::keys::AGENT;
use super::settings::env_pass;
use super::tree::{Node, Value};

pub(super) fn agents(r: &mut Report<'_>, what: &str, node: &Node) -> Option<BTreeMap<String, Program>> {
    let Some(entries) = node.entries() else { return wrong(r, what, node, "a mapping of names to agents") };
    let mut agents = BTreeMap::new();
    for (key, node) in entries {
        let program = agent(r, node);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if key.text.is_empty() || !key.text.chars().all(plain) || *key.text == *"shell" {
            r.error("bad-agent-name", key.span, format!("{} cannot name an agent", shown(&key.text)))
                .help("names are letters, digits, '-' and '_'; shell is taken");
        } else if let Some(program) = program {
            agents.insert(key.text.to_string(), program);
        }
    }
    Some(agents)
}

fn agent(r: &mut Report<'_>, node: &Node) -> Option<Program> {
    let mut fields = Fields::of(r, "an agent", AGENT, node)?;
    let command = fields.need(r, "command", command);
    let program = Program {
        command: Vec::new(),
        resume: fields.get(r, "resume", self::command).unwrap_or_default(),
        env_pass: fields.get(r, "env_pass", env_pass).unwrap_or_default(),
        exit_codes: fields.get(r, "exit_codes", codes).unwrap_or_else(|| vec![0]),
        success_text: fields.get(r, "success_text", texts).unwrap_or_default(),
        failure_text: fields.get(r, "failure_text", texts).unwrap_or_default(),
        rate_limit_text: fields.get(r, "rate_limit_text", texts).unwrap_or_default(),
    };
    fields.finish(r, |_| false);
    Some(Program { command: command?, ..program })
}

fn codes(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<i32>> {
    each(r, what, node, "an exit code or a list of them", count::<i32>(0..=255))
}

/// A program and its arguments; no shell reads them, so that one line would be one word.
fn command(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    let Value::Seq(words) = &node.value else {
        return wrong(r, what, node, "a list of a program and its arguments");
    };
    if words.is_empty() {
        r.error("empty-value", node.span, format!("'{what}' is empty"));
        return None;
    }
    words.iter().map(|word| argument(r, what, word)).collect()
}

fn argument(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let word = text(r, what, node)?;
    let known = |name: &str| Program::NAMES.contains(&name).then(String::new);
    match template::filled(&word, known) {
        Ok(_) => Some(word),
        Err(name) => {
            let names = Program::NAMES.map(|name| format!("{{{name}}}")).join(", ");
            r.error("bad-template", node.span, format!("'{what}' cannot fill in {}", shown(&name)))
                .help(format!("there are {names}; a brace itself is written twice"));
            None
        }
    }
}
