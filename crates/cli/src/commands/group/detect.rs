//! `conductor group detect`: which tasks belong together, each told as it is written.
//!
//! It reads any list of tasks that have an id, whether or not it could be run.

use std::collections::BTreeMap;

use conductor_core::plan::groups::{self, Detected, Marked};
use conductor_core::values::counted::counted;
use serde_json::{Map, Value};

use crate::args::{GroupDetect, Shown};
use crate::commands::{answer, answer_json, talk};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;

/// The texts a mark may be in, the one that counts most first.
const TEXTS: [&str; 4] = ["description", "name", "title", "prompt"];

pub(super) fn run(args: &GroupDetect) -> Result<Exit, CliError> {
    let (source, value) = diagnostics::values(&args.tasks_file)?;
    let bad = |why: String| CliError::new(Exit::InvalidFile, format!("{}: {why}", source.name()));
    let tasks = tasks(&value).map_err(bad)?;
    let declared = declared(&value);
    let ids: Vec<String> = tasks.iter().map(|task| id(task)).collect();
    let marked: Vec<Marked<'_>> =
        tasks.iter().zip(&ids).map(|(task, id)| marked(id, task, &declared)).collect();
    let detected = groups::detect(&marked);
    detected.warnings.iter().for_each(|warning| talk(one_line(warning)));
    match args.json || args.output == Shown::Json {
        true => answer_json(&by_group(&detected, &tasks))?,
        false => answer(&text(&detected, &tasks))?,
    }
    Ok(Exit::Done)
}

/// The tasks of a file: the file itself where it is a list, or its `tasks`.
fn tasks(value: &Value) -> Result<Vec<&Map<String, Value>>, String> {
    let list = value.as_array().or_else(|| value.get("tasks")?.as_array());
    let list = list.ok_or("it has no list of tasks")?;
    let task = |(place, value): (usize, &'_ Value)| match value {
        Value::Object(task) if !id(task).is_empty() => Ok(place),
        Value::Object(_) => Err(format!("task {} has no id", place + 1)),
        _ => Err(format!("task {} is no mapping", place + 1)),
    };
    let good: Vec<usize> = list.iter().enumerate().map(task).collect::<Result<_, _>>()?;
    Ok(good.into_iter().filter_map(|place| list[place].as_object()).collect())
}

/// As it is written, a number too.
fn id(task: &Map<String, Value>) -> String {
    task.get("id").and_then(name_of).unwrap_or_default()
}

fn name_of(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Number(name) => Some(name.to_string()),
        _ => None,
    }
}

/// What the file's own `groups` say.
fn declared(value: &Value) -> BTreeMap<String, &str> {
    let groups = value.get("groups").and_then(Value::as_array).into_iter().flatten();
    let each = groups.flat_map(|group| {
        let name = group.get("name").and_then(Value::as_str);
        let tasks = group.get("tasks").and_then(Value::as_array).into_iter().flatten();
        tasks.filter_map(move |task| Some((name_of(task)?, name?)))
    });
    each.collect()
}

fn marked<'t>(id: &'t str, task: &'t Map<String, Value>, declared: &BTreeMap<String, &'t str>) -> Marked<'t> {
    let text = |name: &str| task.get(name).and_then(Value::as_str);
    let texts = TEXTS.into_iter().filter_map(|name| Some((name, text(name)?))).collect();
    Marked { id, group: text("group").or_else(|| declared.get(id).copied()), texts }
}

/// Every task as it is in the file.
fn by_group(detected: &Detected, tasks: &[&Map<String, Value>]) -> Map<String, Value> {
    let each = |(group, places): &(String, Vec<usize>)| {
        let tasks = places.iter().map(|&place| Value::Object(tasks[place].clone())).collect();
        (group.clone(), tasks)
    };
    detected.groups.iter().map(each).collect()
}

fn text(detected: &Detected, tasks: &[&Map<String, Value>]) -> String {
    let mut text = String::new();
    for (group, places) in &detected.groups {
        text += &format!("{group} ({})\n", counted(places.len(), "task"));
        let width = places.iter().map(|&place| id(tasks[place]).chars().count()).max().unwrap_or_default();
        for task in places.iter().map(|&place| tasks[place]) {
            let line = format!("  {:<width$}  {}", one_line(&id(task)), first_line(task));
            text += &format!("{}\n", line.trim_end());
        }
    }
    text
}

/// What it is about, without its mark.
fn first_line(task: &Map<String, Value>) -> String {
    let texts = ["name", "title", "description", "prompt", "run"];
    let said = texts.iter().filter_map(|name| task.get(*name).and_then(Value::as_str)).next();
    let line = groups::unmarked(said.unwrap_or_default()).trim().lines().next().unwrap_or_default();
    one_line(line)
}
