//! Issues as a task file, for people to read and change.

use std::fmt::Write as _;

use super::draft::{Drafted, TaskDraft};

/// The file. Where there is no task, it has none either and cannot be run.
pub fn text(drafted: &Drafted, from: &str) -> String {
    text_under(drafted, &format!("The open issues of beads, read from {from}."))
}

/// As `text`, with another first line.
pub fn text_under(drafted: &Drafted, heading: &str) -> String {
    let mut text = format!("# {}\ntasks:\n", one_line(heading));
    if drafted.tasks.is_empty() {
        text.truncate(text.len() - 1);
        text += " []\n";
    }
    for task in &drafted.tasks {
        write_task(&mut text, task);
    }
    if !drafted.epics.is_empty() {
        text += "epics:\n";
        for (id, name) in &drafted.epics {
            let _ = writeln!(text, "  - {{ id: {}, name: {} }}", quoted(id), quoted(name));
        }
    }
    if !drafted.left_out.is_empty() {
        text += "# Left out:\n";
        for left in &drafted.left_out {
            let _ = writeln!(text, "#   {}: {}", one_line(&left.id), one_line(&left.why));
        }
    }
    text
}

fn write_task(text: &mut String, task: &TaskDraft) {
    let mut line = |key: &str, value: String| {
        let start = if key == "id" { "  - " } else { "    " };
        let _ = writeln!(text, "{start}{key}: {value}");
    };
    line("id", quoted(&task.id));
    line("name", quoted(&task.name));
    line("prompt", block(&task.prompt));
    line("priority", task.priority.to_string());
    for (key, values) in [
        ("dependencies", &task.dependencies),
        ("fallback_agents", &task.fallback_agents),
        ("applicable_skills", &task.applicable_skills),
    ] {
        if !values.is_empty() {
            let all: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            line(key, format!("[{}]", all.join(", ")));
        }
    }
    for (key, value) in [
        ("epic", &task.epic),
        ("group", &task.group),
        ("subagent_type", &task.subagent_type),
        ("model", &task.model),
    ] {
        if let Some(value) = value {
            line(key, quoted(value));
        }
    }
    if let Some(minutes) = task.estimate {
        line("estimate", format!("{minutes}m"));
    }
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// As JSON writes it, which is YAML too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// As a block of lines where nothing in it could be lost that way.
fn block(text: &str) -> String {
    let plain = |c: char| {
        c == '\n' || !(c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'))
    };
    let kept = text.chars().all(plain)
        && text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.ends_with('\n')
        && text.lines().all(|line| !line.ends_with(' '));
    if !kept {
        return quoted(text);
    }
    let lines = text.split('\n').map(|line| match line {
        "" => String::new(),
        line => format!("      {line}"),
    });
    format!("|-\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use conductor_core::file::{Source, load};
    use conductor_core::plan::Work;
    use proptest::prelude::*;

    use super::*;

    fn loaded(drafted: &Drafted) -> conductor_core::plan::Plan {
        let text = text(drafted, "bd");
        match load(&Source::new("t", text.clone().into_bytes()).unwrap()) {
            Ok(loaded) => loaded.plan,
            Err(found) => panic!("{found:?}\n{text}"),
        }
    }

    #[test]
    fn a_file_says_what_the_issues_say() {
        let task = TaskDraft {
            id: "app-1.2".to_owned(),
            name: "Say \"hi\": #1".to_owned(),
            prompt: "Do it:\n\n- one # not a remark\n  - two\n---\nAcceptance criteria:\nx".to_owned(),
            priority: 0,
            epic: Some("app-1".to_owned()),
            group: Some("1.0".to_owned()),
            fallback_agents: vec!["codex".to_owned()],
            applicable_skills: vec!["flow:summary".to_owned()],
            model: Some("opus".to_owned()),
            estimate: Some(90),
            ..TaskDraft::default()
        };
        let after = TaskDraft {
            id: "b".to_owned(),
            name: "b".to_owned(),
            prompt: "x".to_owned(),
            dependencies: vec!["app-1.2".to_owned()],
            ..TaskDraft::default()
        };
        let epics = vec![("app-1".to_owned(), "All: of it".to_owned())];
        let left = super::super::LeftOut { id: "c".to_owned(), why: "is\nblocked".to_owned() };
        let plan = loaded(&Drafted { tasks: vec![task.clone(), after], epics, left_out: vec![left] });
        let read = &plan.tasks[0];
        assert_eq!(read.work, Work::Prompt(task.prompt));
        assert_eq!((&*read.name, read.priority.0), ("Say \"hi\": #1", 0));
        assert_eq!((read.epic.as_deref(), read.group.as_deref()), (Some("app-1"), Some("1.0")));
        assert_eq!(read.estimate, Some(conductor_core::values::units::Millis::from_secs(90 * 60)));
        assert_eq!(plan.epics[0].name.as_deref(), Some("All: of it"));
        assert_eq!(plan.tasks[1].dependencies[0].id.as_str(), "app-1.2");
    }

    proptest! {
        #[test]
        fn no_words_are_lost(prompt in "[ -~\\n\t\u{e4}\u{2028}\u{7}\u{1f600}]{1,80}", name in "[ -~\u{e4}]{1,20}") {
            prop_assume!(!prompt.trim().is_empty() && !name.trim().is_empty());
            let task = TaskDraft { id: "a".to_owned(), name: name.clone(), prompt: prompt.clone(), ..TaskDraft::default() };
            let plan = loaded(&Drafted { tasks: vec![task], ..Drafted::default() });
            prop_assert_eq!(&plan.tasks[0].work, &Work::Prompt(prompt));
            prop_assert_eq!(plan.tasks[0].name.as_str(), name.trim());
        }
    }
}
