//! Issues as `bd --json` and its export tell them. Fields we do not know are passed over.

use serde_json::{Map, Value};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Issue {
    pub id: String,
    pub title: String,
    pub description: String,
    pub design: String,
    pub acceptance_criteria: String,
    pub notes: String,
    pub status: String,
    pub close_reason: String,
    /// 0 to 4.
    pub priority: u8,
    pub kind: String,
    pub estimated_minutes: Option<u64>,
    pub metadata: Map<String, Value>,
    pub links: Vec<Link>,
    /// How many links there are, where that is told.
    pub link_count: usize,
    /// Not a piece of work: something to be remembered, or a pattern for others.
    pub is_aside: bool,
}

/// A dependency on another issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    pub on: String,
    pub kind: String,
}

impl Issue {
    pub fn is_closed(&self) -> bool {
        matches!(self.status.as_str(), "closed" | "tombstone")
    }

    pub(super) fn read(value: &Value) -> Result<Issue, String> {
        let Some(fields) = value.as_object() else { return Err(format!("{} is no issue", shown(value))) };
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let flag = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or_default();
        let id = text("id");
        if id.is_empty() {
            return Err(format!("{} has no id", shown(value)));
        }
        let priority = match fields.get("priority") {
            None | Some(Value::Null) => 2,
            Some(number) => match number.as_u64().and_then(|number| u8::try_from(number).ok()) {
                Some(priority @ 0..=4) => priority,
                _ => return Err(format!("{id} has the priority {number}")),
            },
        };
        let status = Some(text("status")).filter(|status| !status.is_empty());
        let links = links(fields, &id);
        Ok(Issue {
            title: text("title"),
            description: text("description"),
            design: text("design"),
            acceptance_criteria: text("acceptance_criteria"),
            notes: text("notes"),
            status: status.unwrap_or_else(|| "open".to_owned()),
            close_reason: text("close_reason"),
            priority,
            kind: text("issue_type"),
            estimated_minutes: fields.get("estimated_minutes").and_then(Value::as_u64),
            metadata: metadata(fields.get("metadata")),
            link_count: fields.get("dependency_count").and_then(Value::as_u64).unwrap_or_default() as usize,
            links,
            is_aside: flag("pinned") || flag("is_template") || flag("ephemeral"),
            id,
        })
    }
}

/// An object; or one that was written as a text, as some exports do.
fn metadata(value: Option<&Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(fields)) => fields.clone(),
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        _ => Map::new(),
    }
}

/// `{issue_id, depends_on_id, type}` as lists have them, or `{id, dependency_type}` as `show` has them.
fn links(fields: &Map<String, Value>, own: &str) -> Vec<Link> {
    let all = fields.get("dependencies").and_then(Value::as_array).into_iter().flatten();
    let read = |value: &Value| {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        if text("issue_id").is_some_and(|issue| issue != own) {
            return None;
        }
        let on = text("depends_on_id").or_else(|| text("id"))?;
        let kind = text("type").or_else(|| text("dependency_type")).unwrap_or("blocks");
        Some(Link { on: on.to_owned(), kind: kind.to_owned() })
    };
    all.filter_map(read).collect()
}

/// The issues in an answer: a list, a single one, or either of them in an envelope.
pub fn issues(answer: &[u8]) -> Result<Vec<Issue>, String> {
    let value: Value = serde_json::from_slice(answer).map_err(|error| format!("it is no JSON: {error}"))?;
    list(&value)?.iter().map(Issue::read).collect()
}

fn list(value: &Value) -> Result<Vec<Value>, String> {
    let mut value = value;
    // An envelope may hold another; bd nests them no deeper.
    for _ in 0..3 {
        match value {
            Value::Array(all) => return Ok(all.clone()),
            Value::Null => return Ok(Vec::new()),
            Value::Object(fields) => {
                if let Some(error) = fields.get("error") {
                    return Err(error.as_str().map_or_else(|| error.to_string(), str::to_owned));
                }
                match fields.get("data").or_else(|| fields.get("issues")) {
                    Some(inside) if !fields.contains_key("id") => value = inside,
                    _ => return Ok(vec![value.clone()]),
                }
            }
            other => return Err(format!("{} is no list of issues", shown(other))),
        }
    }
    Err("its envelopes have no end".to_owned())
}

fn shown(value: &Value) -> String {
    const MOST: usize = 60;
    value.to_string().chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(answer: &str) -> Result<Vec<String>, String> {
        issues(answer.as_bytes()).map(|all| all.into_iter().map(|issue| issue.id).collect())
    }

    #[test]
    fn every_form_of_an_answer() {
        let one = r#"{"id":"a-1","title":"T"}"#;
        for answer in [
            format!("[{one}]"),
            one.to_owned(),
            format!(r#"{{"schema_version":1,"data":[{one}]}}"#),
            format!(r#"{{"schema_version":1,"data":{one}}}"#),
            format!(r#"{{"result":"ready","data":{{"issues":[{one}]}}}}"#),
            r#"{"schema_version":1,"id":"a-1","title":"T"}"#.to_owned(),
        ] {
            assert_eq!(ids(&answer), Ok(vec!["a-1".to_owned()]), "{answer}");
        }
        assert_eq!(ids("[]"), Ok(vec![]));
        assert_eq!(ids(r#"{"schema_version":1,"data":null}"#), Ok(vec![]));
    }

    #[test]
    fn what_is_no_answer_is_never_no_issues() {
        for (answer, why) in [
            ("", "it is no JSON"),
            ("Error: x", "it is no JSON"),
            (r#"{"schema_version":1,"error":"database is locked"}"#, "database is locked"),
            (r#"{"schema_version":1,"data":{"error":"no such issue"}}"#, "no such issue"),
            ("3", "3 is no list of issues"),
            ("{}", "{} has no id"),
            ("[{\"title\":\"x\"}]", "has no id"),
            ("[{\"id\":\"a\",\"priority\":7}]", "a has the priority 7"),
            ("[null]", "null is no issue"),
        ] {
            assert!(ids(answer).unwrap_err().contains(why), "{answer}: {:?}", ids(answer));
        }
    }

    #[test]
    fn both_forms_of_a_dependency() {
        let read = |dependencies: &str| {
            let answer = format!(r#"[{{"id":"b","title":"B","dependencies":{dependencies}}}]"#);
            issues(answer.as_bytes()).unwrap().remove(0).links
        };
        let link = |on: &str, kind: &str| Link { on: on.to_owned(), kind: kind.to_owned() };
        assert_eq!(
            read(r#"[{"issue_id":"b","depends_on_id":"a","type":"waits-for"}]"#),
            [link("a", "waits-for")]
        );
        assert_eq!(
            read(r#"[{"id":"proj-auth.0","dependency_type":"blocks"}]"#),
            [link("proj-auth.0", "blocks")]
        );
        assert_eq!(read(r#"[{"issue_id":"other","depends_on_id":"b","type":"blocks"}]"#), []);
    }

    #[test]
    fn metadata_may_be_a_text() {
        let read = |metadata: &str| {
            let answer = format!(r#"[{{"id":"b","title":"B","metadata":{metadata}}}]"#);
            issues(answer.as_bytes()).unwrap().remove(0).metadata
        };
        assert_eq!(read(r#"{"subagent_type":"x"}"#)["subagent_type"], "x");
        assert_eq!(read(r#""{\"subagent_type\":\"x\"}""#)["subagent_type"], "x");
        assert!(read("[1]").is_empty() && read("null").is_empty());
    }
}
