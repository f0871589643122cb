//! Open issues of a GitHub repository, asked for through `gh`, which knows the user.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::{ImportError, Item, State, text, word};
use crate::process;

/// How long `gh` may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// `owner/name`; the repository of the directory where absent.
    pub repository: Option<String>,
    pub labels: Vec<String>,
    pub most: u32,
}

/// The open issues.
pub fn items(directory: &Path, wanted: &Wanted) -> Result<Vec<Item>, ImportError> {
    let failed = |why: String| ImportError::Gh(why);
    let mut command = Command::new("gh");
    command.current_dir(directory).args(["issue", "list", "--state", "open"]);
    command.args(["--json", "number,title,body,labels,url", "--limit", &wanted.most.to_string()]);
    command.args(wanted.repository.iter().flat_map(|name| ["--repo", name]));
    command.args(wanted.labels.iter().flat_map(|label| ["--label", label]));
    let heard = process::hear_beside(&mut command, PATIENCE).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => failed("it is not installed; see https://cli.github.com".to_owned()),
        _ => failed(error.to_string()),
    })?;
    let Some(status) = heard.status else {
        return Err(failed(format!("it did not answer within {} s", PATIENCE.as_secs())));
    };
    if !status.success() {
        let said = process::transcript::shown(&heard.stderr);
        let said = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it does not say why");
        return Err(failed(said.to_owned()));
    }
    parse(&heard.stdout)
        .ok_or_else(|| failed("it answered with something else than a list of issues".to_owned()))
}

fn parse(said: &[u8]) -> Option<Vec<Item>> {
    let list: Value = serde_json::from_slice(said).ok()?;
    Some(list.as_array()?.iter().map(item).collect())
}

fn item(issue: &Value) -> Item {
    let number = word(&issue["number"]).unwrap_or_default();
    let body = text(&issue["body"]);
    let url = text(&issue["url"]);
    let from = if url.is_empty() { String::new() } else { format!("\n\nThe issue: {url}") };
    Item {
        id: format!("issue-{number}"),
        title: text(&issue["title"]),
        needs: needs(&body).into_iter().map(|number| format!("issue-{number}")).collect(),
        body: format!("{}{from}", body.trim()),
        priority: issue["labels"]
            .as_array()
            .into_iter()
            .flatten()
            .find_map(|label| priority(&text(&label["name"]))),
        state: State::Open,
        group: None,
    }
}

/// Issues that are said to come first: `depends on #12`, `blocked by #3`.
fn needs(body: &str) -> Vec<String> {
    let text = body.to_lowercase();
    let mut found = Vec::new();
    for words in ["depends on", "blocked by"] {
        for (at, _) in text.match_indices(words) {
            let rest = text[at + words.len()..].trim_start_matches([' ', ':']);
            // Several may follow, with commas or words in between.
            for part in rest.split(['\n', '.']).next().unwrap_or_default().split([',', ' ']) {
                let Some(number) = part.strip_prefix('#') else { continue };
                let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
                if !digits.is_empty() && !found.contains(&digits) {
                    found.push(digits);
                }
            }
        }
    }
    found
}

fn priority(label: &str) -> Option<u8> {
    let label = label.to_lowercase();
    let word = label.rsplit([':', '/', ' ', '-']).next().unwrap_or_default();
    match word {
        "p0" | "critical" | "urgent" => Some(0),
        "p1" | "high" => Some(1),
        "p2" | "medium" => Some(2),
        "p3" | "low" => Some(3),
        "p4" | "backlog" => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_is_read_from_the_words() {
        assert_eq!(needs("Depends on #12, #13 and #14. See #15"), ["12", "13", "14"]);
        assert_eq!(needs("It is blocked by: #3\n#4"), ["3"]);
        assert_eq!(needs("closes #1"), [""; 0]);
        assert_eq!((priority("priority: high"), priority("P0"), priority("bug")), (Some(1), Some(0), None));
    }
}
