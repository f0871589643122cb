//! A list of issues: JSON, a Markdown list, or a line each.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub id: Option<String>,
    pub title: String,
    pub body: Option<String>,
}

impl Issue {
    fn titled(title: &str) -> Issue {
        Issue { id: None, title: title.to_owned(), body: None }
    }

    /// As requirements name it.
    pub fn words(&self) -> String {
        let id = self.id.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
        let body = self.body.iter().flat_map(|body| body.lines());
        let body: String = body.map(|line| format!("\n  {line}")).collect();
        format!("- {id}{}{body}", self.title)
    }
}

/// The issues of a text. A mistake names its place.
pub fn issues(text: &str) -> Result<Vec<Issue>, String> {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    let issues = match trimmed.starts_with(['[', '{']).then(|| serde_json::from_str::<Value>(trimmed)) {
        Some(Ok(value)) => from_json(&value)?,
        // A list in Markdown may begin with a link; what begins with an object does not.
        Some(Err(error)) if looks_like_json(trimmed) => return Err(format!("this is broken JSON: {error}")),
        _ => from_lines(trimmed),
    };
    match issues.is_empty() {
        true => Err("there is no issue in it".to_owned()),
        false => Ok(issues),
    }
}

fn looks_like_json(text: &str) -> bool {
    text.starts_with('{') || text[1..].trim_start().starts_with(['{', '"', ']'])
}

fn from_json(value: &Value) -> Result<Vec<Issue>, String> {
    let list = value.get("issues").unwrap_or(value);
    let list = list.as_array().ok_or("expected a list of issues: [{\"title\": …, \"body\": …}]")?;
    list.iter().enumerate().map(|(place, item)| one(place, item)).collect()
}

fn one(place: usize, item: &Value) -> Result<Issue, String> {
    let field = |names: &[&str]| {
        let value = names.iter().find_map(|name| item.get(name).filter(|value| !value.is_null()))?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    if let Some(title) = item.as_str().map(str::trim).filter(|title| !title.is_empty()) {
        return Ok(Issue::titled(title));
    }
    let title =
        field(&["title", "name"]).ok_or_else(|| format!("issue number {} has no title", place + 1))?;
    Ok(Issue { id: field(&["id", "number"]), title, body: field(&["body", "description"]) })
}

/// Entries of a Markdown list, with what is indented below them; where there is no such list, every line.
fn from_lines(text: &str) -> Vec<Issue> {
    let mut issues: Vec<Issue> = Vec::new();
    let mut listed = false;
    for line in text.lines() {
        if let Some(title) = entry(line) {
            if !std::mem::replace(&mut listed, true) {
                issues.clear();
            }
            issues.push(Issue::titled(title));
        } else if listed && line.starts_with([' ', '\t']) && !line.trim().is_empty() {
            if let Some(issue) = issues.last_mut() {
                let body = issue.body.get_or_insert_default();
                body.push_str(if body.is_empty() { "" } else { "\n" });
                body.push_str(line.trim());
            }
        } else if !listed && !line.trim().is_empty() && !line.starts_with('#') {
            issues.push(Issue::titled(line.trim()));
        }
    }
    issues
}

/// What an entry of a list at the margin says, without its box.
fn entry(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(['.', ')'])).flatten()
    })?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim();
    let boxes = ["[ ]", "[x]", "[X]"];
    let rest = boxes.iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest).trim();
    (!rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<String> {
        issues(text).unwrap().iter().map(Issue::words).collect()
    }

    #[test]
    fn issues_are_read_from_every_kind_of_list() {
        assert_eq!(
            titles("# Ours\n\nintro\n\n- [ ] one\n  more\n  of it\n* two\n3. three\n"),
            ["- one\n  more\n  of it", "- two", "- three"]
        );
        assert_eq!(titles("fix the login\n\nadd a logout\n"), ["- fix the login", "- add a logout"]);
        assert_eq!(titles(r#"[{"id": 7, "title": "one", "body": "b"}, "two"]"#), ["- 7: one\n  b", "- two"]);
        assert_eq!(titles(r#"{"issues": [{"number": 1, "title": "one"}]}"#), ["- 1: one"]);
        assert_eq!(titles("[link](http://x) is broken"), ["- [link](http://x) is broken"]);
    }

    #[test]
    fn mistakes_name_their_place() {
        for (text, why) in [
            ("", "no issue"),
            ("[]", "no issue"),
            ("# only a heading", "no issue"),
            (r#"[{"title": "a"}, {"body": "b"}]"#, "issue number 2 has no title"),
            (r#"[{"title": "a"},"#, "broken JSON"),
            (r#"{"a": 1}"#, "expected a list"),
        ] {
            let error = issues(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
