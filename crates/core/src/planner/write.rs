//! A draft as a task file that people can read and edit. It reads back as the same tasks.

use std::fmt::Write as _;

use super::answer::{Analysis, Draft, DraftTask};
use crate::plan::Priority;
use crate::values::units::{Millis, Usd};

/// What is told above the tasks.
#[derive(Debug, Clone, Default)]
pub struct Head<'a> {
    pub requirements: &'a str,
    /// Who planned, and with which model, where that is known.
    pub planner: &'a str,
    pub model: Option<&'a str>,
    /// Nothing where a part of it has no known price.
    pub cost: Option<Usd>,
    /// The agent that does the tasks, where it is not the default one.
    pub agent: Option<&'a str>,
    pub agent_model: Option<&'a str>,
    pub analysis: Option<&'a Analysis>,
}

/// More of the requirements than this is not copied into the file.
const LONGEST: usize = 16 << 10;

/// The file, for a draft that has been mended.
pub fn task_file(draft: &Draft, head: &Head<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = comment(&mut out, head)
        .and_then(|()| config(&mut out, head))
        .and_then(|()| writeln!(out, "tasks:"))
        .and_then(|()| draft.tasks.iter().try_for_each(|one| task(&mut out, one)))
        .and_then(|()| metadata(&mut out, draft, head));
    out
}

fn comment(out: &mut String, head: &Head<'_>) -> std::fmt::Result {
    const LINES: usize = 12;
    const WIDTH: usize = 100;
    let mut lines = head.requirements.lines().map(str::trim_end).filter(|line| !line.is_empty());
    writeln!(out, "# What is to be done:")?;
    for line in lines.by_ref().take(LINES) {
        let plain: String = line.chars().take(WIDTH).map(|c| if is_plain(c) { c } else { ' ' }).collect();
        writeln!(out, "#   {}", plain.trim_end())?;
    }
    if lines.next().is_some() {
        writeln!(out, "#   …")?;
    }
    let model = head.model.map(|model| format!(" ({})", line(model))).unwrap_or_default();
    let cost = match head.cost {
        Some(cost) => format!("for ${:.4}", cost.dollars()),
        None => "at a cost that is not known".to_owned(),
    };
    writeln!(
        out,
        "# Planned by {}{model}, {cost}. Change whatever you like, then\n#   conductor validate FILE\n#   conductor run FILE\n",
        line(head.planner)
    )
}

fn line(text: &str) -> String {
    text.chars().map(|c| if is_plain(c) { c } else { ' ' }).collect()
}

fn config(out: &mut String, head: &Head<'_>) -> std::fmt::Result {
    if head.agent.is_none() && head.agent_model.is_none() {
        return Ok(());
    }
    writeln!(out, "config:")?;
    if let Some(agent) = head.agent {
        writeln!(out, "  agent: {}", word(agent))?;
    }
    if let Some(model) = head.agent_model {
        writeln!(out, "  model: {}", word(model))?;
    }
    writeln!(out)
}

fn task(out: &mut String, task: &DraftTask) -> std::fmt::Result {
    writeln!(out, "  - id: {}", word(&task.id))?;
    writeln!(out, "    name: {}", quoted(&task.name))?;
    if task.priority != Priority::default().0 {
        writeln!(out, "    priority: {}", Priority(task.priority).name())?;
    }
    if !task.dependencies.is_empty() {
        let ids: Vec<String> = task.dependencies.iter().map(|id| word(id)).collect();
        writeln!(out, "    dependencies: [{}]", ids.join(", "))?;
    }
    if let Some(effort) = &task.effort {
        writeln!(out, "    # effort: {}", line(effort).trim())?;
    }
    if let Some(duration) = task.duration {
        writeln!(out, "    estimate: {}", length(duration))?;
    }
    if let Some(lines) = task.lines {
        writeln!(out, "    expected_lines: {lines}")?;
    }
    list(out, "files", &task.files)?;
    list(out, "verify", &task.verify)?;
    writeln!(out, "    prompt: {}\n", text(&task.description, "      "))
}

fn list(out: &mut String, key: &str, items: &[String]) -> std::fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "    {key}:")?;
    items.iter().try_for_each(|item| writeln!(out, "      - {}", quoted(item)))
}

fn metadata(out: &mut String, draft: &Draft, head: &Head<'_>) -> std::fmt::Result {
    let end = head.requirements.char_indices().map(|(at, _)| at).take_while(|at| *at <= LONGEST).last();
    let whole = head.requirements.len() <= LONGEST;
    let kept = if whole { head.requirements } else { &head.requirements[..end.unwrap_or(0)] };
    writeln!(out, "metadata:\n  requirements: {}", text(kept.trim(), "    "))?;
    writeln!(out, "  planner: {}", quoted(head.planner))?;
    if let Some(notes) = &draft.notes {
        writeln!(out, "  notes: {}", text(notes, "    "))?;
    }
    let Some(analysis) = head.analysis else { return Ok(()) };
    writeln!(out, "  analysis:\n    num_tasks: {}\n    size: {}", analysis.num_tasks, analysis.size.name())?;
    writeln!(out, "    reasoning: {}", text(&analysis.reasoning, "      "))?;
    writeln!(out, "    key_features_detected: {}", flow(&analysis.key_features_detected))?;
    writeln!(out, "    technical_components: {}", flow(&analysis.technical_components))
}

fn flow(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}

fn length(duration: Millis) -> String {
    match duration.0 {
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}

/// A name as it is, where no reader of YAML could take it for something else.
fn word(text: &str) -> String {
    const OTHERS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let plain = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
    if plain && !OTHERS.contains(&text) { text.to_owned() } else { quoted(text) }
}

/// Several lines stay several lines, as long as nothing in them would be lost that way.
fn text(text: &str, indent: &str) -> String {
    let fits = |line: &str| line.chars().all(is_plain) && line.trim_end() == line && !line.starts_with('\t');
    let begins = text.starts_with(|c: char| !c.is_whitespace());
    if !text.contains('\n') || !begins || text.ends_with('\n') || !text.split('\n').all(fits) {
        return quoted(text);
    }
    let mut out = String::from("|-");
    for line in text.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.push_str(indent);
            out.push_str(line);
        }
    }
    out
}

/// In double quotes, with everything escaped that does not show.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            c if is_plain(c) => write!(out, "{c}"),
            c if (c as u32) < 0x100 => write!(out, "\\x{:02x}", c as u32),
            c if (c as u32) < 0x1_0000 => write!(out, "\\u{:04x}", c as u32),
            c => write!(out, "\\U{:08x}", c as u32),
        };
    }
    out.push('"');
    out
}

/// Whether it stands for itself wherever it is written, and moves nothing around it.
fn is_plain(c: char) -> bool {
    let hidden =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10fffd}')
        && !hidden
}
