//! What a planner's answers say: lenient about their shape, strict about their meaning.

use serde::Serialize;
use serde_json::{Map, Value};

use super::check::Finding;
use crate::file::parse_duration;
use crate::plan::{MAX_LINES, Priority};
use crate::values::json_answer::{Unreadable, extract, short};
use crate::values::units::Millis;

/// How large something is, by how many tasks it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    Simple,
    Moderate,
    Complex,
    Enterprise,
}

impl Size {
    pub fn of(tasks: u32) -> Size {
        match tasks {
            0..=3 => Size::Simple,
            4..=8 => Size::Moderate,
            9..=15 => Size::Complex,
            _ => Size::Enterprise,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Size::Simple => "simple",
            Size::Moderate => "moderate",
            Size::Complex => "complex",
            Size::Enterprise => "enterprise",
        }
    }
}

/// The first answer: how much there is to do, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Analysis {
    pub num_tasks: u32,
    pub size: Size,
    pub reasoning: String,
    pub key_features_detected: Vec<String>,
    pub technical_components: Vec<String>,
}

/// The second answer, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Draft {
    pub tasks: Vec<DraftTask>,
    pub notes: Option<String>,
    /// What the plan says beside its tasks of who waits for whom, as far as it is of none of them.
    #[serde(skip)]
    pub astray: Vec<String>,
}

/// A task as its author wrote it: names may be bad, and point nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct DraftTask {
    pub id: String,
    pub name: String,
    pub description: String,
    pub priority: u8,
    pub dependencies: Vec<String>,
    /// In its author's words, such as `medium`.
    pub effort: Option<String>,
    /// How many it will probably change.
    pub lines: Option<u32>,
    pub duration: Option<Millis>,
    pub files: Vec<String>,
    pub verify: Vec<String>,
}

pub fn read_analysis(answer: &str) -> Result<Analysis, Unreadable> {
    let object = extract(answer, "num_tasks")?;
    let meaningless = |why: String| Unreadable::Meaningless { key: "num_tasks", why };
    let number = object.get("num_tasks").and_then(number);
    let number = number.ok_or_else(|| meaningless("is not a number".into()))?;
    let num_tasks = match u32::try_from(number) {
        Ok(number) if number > 0 => number,
        _ => return Err(meaningless(format!("is {number}, where at least one task is due"))),
    };
    Ok(Analysis {
        num_tasks,
        size: Size::of(num_tasks),
        reasoning: object.get("reasoning").and_then(text).unwrap_or_default(),
        key_features_detected: object.get("key_features_detected").and_then(texts).unwrap_or_default(),
        technical_components: object.get("technical_components").and_then(texts).unwrap_or_default(),
    })
}

/// The tasks of an answer, and what in it could not be read as what it should be.
pub fn read_plan(answer: &str) -> Result<(Draft, Vec<Finding>), Unreadable> {
    let object = extract(answer, "tasks")?;
    let mut findings = Vec::new();
    let items: Vec<(Option<&str>, &Value)> = match &object["tasks"] {
        Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
        Value::Object(items) => items.iter().map(|(id, item)| (Some(id.as_str()), item)).collect(),
        _ => return Err(Unreadable::Meaningless { key: "tasks", why: "is not a list of tasks".into() }),
    };
    let tasks = items.into_iter().enumerate();
    let mut tasks: Vec<DraftTask> =
        tasks.filter_map(|(place, (id, item))| task(place, id, item, &mut findings)).collect();
    let astray = object.get("dependencies").map(|map| add_dependencies(map, &mut tasks)).unwrap_or_default();
    let notes = object.get("notes").and_then(|notes| texts(notes).map(|notes| notes.join("\n")));
    Ok((Draft { tasks, notes: notes.filter(|notes| !notes.is_empty()), astray }, findings))
}

/// Who waits for whom, said beside the tasks: `{task: [ids]}`, or a list of `{task, depends_on}`. What of it belongs to
/// no task is given back.
fn add_dependencies(map: &Value, tasks: &mut [DraftTask]) -> Vec<String> {
    let said: Vec<(Option<String>, &Value)> = match map {
        Value::Null => Vec::new(),
        Value::Object(entries) => entries.iter().map(|(id, on)| (Some(clean(id)), on)).collect(),
        Value::Array(items) => items.iter().map(listed).collect(),
        other => vec![(None, other)],
    };
    let mut astray = Vec::new();
    for (id, on) in said.into_iter().filter(|(_, on)| !on.is_null()) {
        let task = id.as_ref().and_then(|id| tasks.iter_mut().find(|task| task.id == *id));
        match (task, ids(on), id) {
            (Some(task), Some(on), _) => {
                let new: Vec<String> = on.into_iter().filter(|on| !task.dependencies.contains(on)).collect();
                task.dependencies.extend(new);
            }
            (_, Some(on), Some(_)) if on.is_empty() => {}
            (_, _, Some(id)) => astray.push(short(&format!("{id}: {on}"))),
            (_, _, None) => astray.push(short(&on.to_string())),
        }
    }
    astray
}

/// One entry of a list, and the task it is of.
fn listed(item: &Value) -> (Option<String>, &Value) {
    let first =
        |names: &[&str]| names.iter().find_map(|name| item.get(*name)).filter(|value| !value.is_null());
    let of = first(&["task", "task_id", "id"]).and_then(text);
    match (of, first(&["depends_on", "dependencies"])) {
        (Some(of), Some(on)) => (Some(of), on),
        _ => (None, item),
    }
}

fn task(place: usize, id: Option<&str>, item: &Value, findings: &mut Vec<Finding>) -> Option<DraftTask> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::String(words) if !words.trim().is_empty() => {
            let id = id.map(str::to_owned).unwrap_or_default();
            return Some(DraftTask {
                id,
                description: clean(words),
                priority: USUAL,
                ..DraftTask::default()
            });
        }
        other => {
            findings.push(Finding::NoTask { place, what: short(&other.to_string()) });
            return None;
        }
    };
    let mut reader = Reader { fields, place, findings };
    let id = reader.text(&["id", "task_id"]).or_else(|| id.map(str::to_owned)).unwrap_or_default();
    let priority = reader.priority();
    let mut files = reader.texts(&["files", "files_to_touch"]);
    files.extend(reader.texts(&["files_to_create"]));
    files.extend(reader.texts(&["files_to_modify"]));
    Some(DraftTask {
        id: id.trim().to_owned(),
        name: reader.text(&["name", "title"]).unwrap_or_default(),
        description: reader.text(&["description", "prompt"]).unwrap_or_default(),
        priority,
        dependencies: reader.dependencies(),
        effort: reader.text(&["estimated_effort", "effort"]).filter(|words| !words.is_empty()),
        duration: reader.duration(),
        lines: reader.lines(),
        files,
        verify: reader.texts(&["verify", "verification"]),
    })
}

const USUAL: u8 = 2;

/// The fields of one task. What has the wrong form is told once, and then missing.
struct Reader<'a> {
    fields: &'a Map<String, Value>,
    place: usize,
    findings: &'a mut Vec<Finding>,
}

impl Reader<'_> {
    fn first(&self, names: &[&'static str]) -> Option<(&'static str, &Value)> {
        let there = names.iter().filter_map(|name| Some((*name, self.fields.get(*name)?)));
        there.into_iter().find(|(_, value)| !value.is_null())
    }

    fn read<T>(
        &mut self,
        names: &[&'static str],
        form: &'static str,
        as_: fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let (key, value) = self.first(names)?;
        let read = as_(value);
        if read.is_none() {
            let found = short(&value.to_string());
            self.findings.push(Finding::WrongForm { place: self.place, key, form, found });
        }
        read
    }

    fn text(&mut self, names: &[&'static str]) -> Option<String> {
        self.read(names, "a text", text)
    }

    fn texts(&mut self, names: &[&'static str]) -> Vec<String> {
        self.read(names, "a list of texts", texts).unwrap_or_default()
    }

    fn dependencies(&mut self) -> Vec<String> {
        let mut all = self.read(&["dependencies"], "a list of task ids", ids).unwrap_or_default();
        all.extend(self.read(&["depends_on"], "a list of task ids", ids).unwrap_or_default());
        let mut seen = std::collections::HashSet::new();
        all.retain(|id| seen.insert(id.clone()));
        all
    }

    fn priority(&mut self) -> u8 {
        let form = "critical, high, medium, low or backlog";
        self.read(&["priority"], form, priority).unwrap_or(USUAL)
    }

    /// What is no number is no estimate, and no mistake either.
    fn lines(&mut self) -> Option<u32> {
        let (_, value) = self.first(&["estimated_lines", "expected_lines"])?;
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())?;
        u32::try_from(number).ok().filter(|lines| (1..=MAX_LINES).contains(lines))
    }

    /// Words such as "a while" are no estimate, and no mistake either.
    fn duration(&mut self) -> Option<Millis> {
        let (_, value) = self.first(&["estimated_duration", "duration", "estimate"])?;
        let words = value.as_str()?.trim().to_lowercase();
        let short = words
            .replace("minutes", "m")
            .replace("minute", "m")
            .replace("mins", "m")
            .replace("min", "m")
            .replace("hours", "h")
            .replace("hour", "h")
            .replace(' ', "");
        parse_duration(&short).ok().filter(|duration| (1..=LONGEST.0).contains(&duration.0))
    }
}

/// A longer estimate is not credible.
const LONGEST: Millis = Millis::from_secs(30 * 24 * 60 * 60);

fn priority(value: &Value) -> Option<u8> {
    if let Some(number) = number(value) {
        // From 1, the most urgent, to 5; a 0 is meant as urgent too.
        return u8::try_from(number)
            .ok()
            .filter(|number| *number <= 5)
            .map(|number| number.saturating_sub(1));
    }
    let name = value.as_str()?.trim().to_lowercase();
    Priority::NAMES.iter().position(|known| *known == name).and_then(|place| u8::try_from(place).ok())
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            number.as_i64().or_else(|| number.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64))
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(clean(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// A list, or one text for a list of one; empty ones are passed over.
fn texts(value: &Value) -> Option<Vec<String>> {
    let all = match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(text).collect::<Option<Vec<_>>>()?,
        one => vec![text(one)?],
    };
    Some(all.into_iter().filter(|text| !text.is_empty()).collect())
}

/// As texts, or objects that have an id.
fn ids(value: &Value) -> Option<Vec<String>> {
    let id = |item: &Value| text(item.get("id").or_else(|| item.get("task_id")).unwrap_or(item));
    let all = match value {
        Value::Array(items) => items.iter().map(id).collect::<Option<Vec<_>>>()?,
        Value::String(text) => text.split(',').map(clean).collect(),
        one => vec![id(one)?],
    };
    Some(all.into_iter().filter(|id| !id.is_empty() && id != "none").collect())
}

/// Without what no text for people has in it, and without the marks by which a task file puts tasks into groups.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || c == '\u{feff}');
    let text: String = text.chars().filter(|c| kept(*c)).collect();
    text.replace("[P:Group-", "[P: Group-").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_analysis_is_read_in_many_shapes() {
        let full = r#"{"num_tasks": "6", "reasoning": "it is a todo app", "key_features_detected": ["crud", "ui"],
            "technical_components": "database", "more": 1}"#;
        let analysis = read_analysis(full).unwrap();
        assert_eq!((analysis.num_tasks, analysis.size.name()), (6, "moderate"));
        assert_eq!(analysis.key_features_detected, ["crud", "ui"]);
        assert_eq!(analysis.technical_components, ["database"]);
        for (answer, why) in [
            (r#"{"num_tasks": 0}"#, "is 0"),
            (r#"{"num_tasks": -3}"#, "is -3"),
            (r#"{"num_tasks": "many"}"#, "not a number"),
            (r#"{"num_tasks": 2.5}"#, "not a number"),
            ("six tasks", "no JSON"),
        ] {
            let error = read_analysis(answer).unwrap_err().to_string();
            assert!(error.contains(why), "{answer}: {error}");
        }
    }

    #[test]
    fn a_size_is_told_by_the_number_of_tasks() {
        let names: Vec<&str> = [1, 3, 4, 8, 9, 15, 16, 500].map(|n| Size::of(n).name()).into();
        let expected =
            ["simple", "simple", "moderate", "moderate", "complex", "complex", "enterprise", "enterprise"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_task_is_read_in_many_shapes() {
        let (draft, findings) = read_plan(
            r#"{"tasks": [
                {"id": 1, "title": "One", "prompt": "Do one", "priority": "1", "estimated_duration": "20 minutes", "estimated_lines": "120"},
                {"id": "two", "description": "Do two", "depends_on": "1", "priority": "HIGH", "estimated_duration": "a while",
                 "estimated_effort": "small", "estimated_lines": "many", "files_to_create": ["a"], "files_to_modify": "b", "verify": "make test"},
                "Do three"
            ], "notes": ["n1", "n2"]}"#,
        )
        .unwrap();
        assert_eq!(findings, []);
        assert_eq!(draft.notes.as_deref(), Some("n1\nn2"));
        let [one, two, three] = &draft.tasks[..] else { panic!("{draft:?}") };
        assert_eq!((one.id.as_str(), one.name.as_str(), one.priority), ("1", "One", 0));
        assert_eq!((one.duration, one.lines, two.lines), (Some(Millis::from_secs(20 * 60)), Some(120), None));
        assert_eq!((two.dependencies.as_slice(), two.priority), (&["1".to_owned()][..], 1));
        assert_eq!(
            (two.files.join(" "), two.verify.join(" "), two.duration),
            ("a b".into(), "make test".into(), None)
        );
        assert_eq!((three.id.as_str(), three.description.as_str()), ("", "Do three"));
    }

    /// Some planners say who waits for whom beside the tasks, as their plans are kept.
    #[test]
    fn dependencies_beside_the_tasks_are_read() {
        let waits = |dependencies: &str| {
            let tasks = r#"[{"id": 1, "description": "x"}, {"id": "b", "description": "x", "dependencies": [1]},
                {"id": "c", "description": "x"}]"#;
            let (draft, _) =
                read_plan(&format!("{{\"tasks\": {tasks}, \"dependencies\": {dependencies}}}")).unwrap();
            let waits: Vec<String> = draft.tasks.iter().map(|task| task.dependencies.join("+")).collect();
            (waits.join(" "), draft.astray.join(" | "))
        };
        let told = |waits: &str, astray: &str| (waits.to_owned(), astray.to_owned());
        assert_eq!(waits(r#"{"b": [1], "c": ["1", "b"]}"#), told(" 1 1+b", ""));
        assert_eq!(waits(r#"{"c": "b", "1": []}"#), told(" 1 b", ""));
        assert_eq!(waits(r#"[{"task": "c", "depends_on": ["b"]}]"#), told(" 1 b", ""));
        assert_eq!(waits("{}"), told(" 1 ", ""));
        assert_eq!(waits("null"), told(" 1 ", ""));
        assert_eq!(waits(r#"{"d": ["b"], "e": []}"#), told(" 1 ", r#"d: ["b"]"#));
        assert_eq!(waits(r#"[["c", "b"]]"#), told(" 1 ", r#"["c","b"]"#));
        assert_eq!(waits(r#""b before c""#), told(" 1 ", r#""b before c""#));
    }

    #[test]
    fn what_has_the_wrong_form_is_told_and_missing() {
        let (draft, findings) = read_plan(
            r#"{"tasks": [{"id": {}, "description": ["x", {}], "priority": "soon", "files": 7, "dependencies": {"a": 1}}, 5]}"#,
        )
        .unwrap();
        assert_eq!(draft.tasks.len(), 1);
        assert_eq!(draft.tasks[0].priority, 2);
        let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 5, "{told:#?}");
        assert!(told[0].starts_with("task number 1: 'id' must be a text"), "{}", told[0]);
    }
}
