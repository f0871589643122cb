//! Pull requests: opened once for each branch, brought up to date, and their checks looked at.
//!
//! The forge is asked through `gh` where that is installed and signed in, which knows the user's own login; else by its API
//! with a token of the environment. Both speak the same requests.

mod asking;

use serde_json::{Value, json};
use thiserror::Error;

use crate::git::courier::{host_of, repository_of};
use asking::Way;

#[derive(Debug, Error)]
pub enum ForgeError {
    #[error(
        "no forge can be asked: `gh` is not installed or not signed in, and neither GH_TOKEN nor GITHUB_TOKEN is set \
         (GH_ENTERPRISE_TOKEN for a host other than github.com); sign in with `gh auth login`, or set a token"
    )]
    NoLogin,
    #[error(
        "the remote {0} is not a repository on a forge; name it with `repository: owner/name` or -r OWNER/NAME"
    )]
    NoRepository(String),
    #[error("the forge answered {status}: {said}")]
    Refused { status: u16, said: String },
    #[error("the forge cannot be asked: {0}")]
    Broken(String),
}

/// A repository on a forge.
pub struct Forge {
    repository: String,
    way: Way,
}

/// What a pull request is to say.
#[derive(Debug, Clone)]
pub struct PullRequest<'a> {
    pub head: &'a str,
    pub base: &'a str,
    pub title: &'a str,
    pub body: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub number: u64,
    pub url: String,
    /// Nothing was there for this branch before.
    pub is_new: bool,
}

/// How the checks of a commit stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checks {
    /// There are none, as far as is known yet.
    None,
    Pending,
    Passed,
    /// Each with what it says.
    Failed(Vec<(String, String)>),
}

impl Forge {
    /// The forge of a remote, or of the repository that the user names.
    pub fn of(url: &str, repository: Option<&str>) -> Result<Forge, ForgeError> {
        let own = repository.map(str::to_owned).or_else(|| repository_of(url));
        let shown = || crate::git::courier::shown_url(url);
        let repository = own.ok_or_else(|| ForgeError::NoRepository(shown()))?;
        // A path has no host: then the one counts that `gh` is set to.
        let usual = || std::env::var("GH_HOST").ok().filter(|host| !host.is_empty());
        let host = host_of(url).or_else(usual).unwrap_or_else(|| "github.com".to_owned());
        Ok(Forge { repository, way: Way::find(&host).ok_or(ForgeError::NoLogin)? })
    }

    pub fn repository(&self) -> &str {
        &self.repository
    }

    fn path(&self, rest: &str) -> String {
        format!("repos/{}{rest}", self.repository)
    }

    /// The branch that pull requests usually go to.
    pub fn default_branch(&self) -> Result<String, ForgeError> {
        let answer = self.way.ask("GET", &self.path(""), None)?;
        Ok(answer["default_branch"].as_str().unwrap_or("main").to_owned())
    }

    /// The one open pull request of a branch.
    fn find(&self, head: &str) -> Result<Option<Value>, ForgeError> {
        let owner = self.repository.split('/').next().unwrap_or_default();
        let path = self.path(&format!("/pulls?state=open&head={owner}:{head}"));
        let answer = self.way.ask("GET", &path, None)?;
        let is_it = |found: &&Value| found["head"]["ref"].as_str().is_none_or(|name| name == head);
        Ok(answer.as_array().and_then(|all| all.iter().find(is_it)).cloned())
    }

    /// Opens a pull request, or brings the one of this branch up to date: there is never a second one, whatever is asked
    /// again after a crash.
    pub fn ensure(&self, wanted: &PullRequest<'_>) -> Result<Opened, ForgeError> {
        if let Some(found) = self.find(wanted.head)? {
            return self.update(&found, wanted);
        }
        let body =
            json!({ "title": wanted.title, "head": wanted.head, "base": wanted.base, "body": wanted.body });
        match self.way.ask("POST", &self.path("/pulls"), Some(&body)) {
            Ok(made) => Ok(opened(&made, true)),
            // Another one was faster, or the answer to an earlier request was lost.
            Err(error @ (ForgeError::Refused { status: 422, .. } | ForgeError::Broken(_))) => {
                match self.find(wanted.head)? {
                    Some(found) => self.update(&found, wanted),
                    None => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    fn update(&self, found: &Value, wanted: &PullRequest<'_>) -> Result<Opened, ForgeError> {
        let path = self.path(&format!("/pulls/{}", found["number"]));
        let body = json!({ "title": wanted.title, "body": wanted.body });
        self.way.ask("PATCH", &path, Some(&body))?;
        Ok(opened(found, false))
    }

    /// How the checks of a commit stand, of both kinds that forges know.
    pub fn checks(&self, commit: &str) -> Result<Checks, ForgeError> {
        let runs = self.way.ask("GET", &self.path(&format!("/commits/{commit}/check-runs")), None)?;
        let status = self.way.ask("GET", &self.path(&format!("/commits/{commit}/status")), None)?;
        Ok(judged(&runs, &status))
    }
}

fn opened(answer: &Value, is_new: bool) -> Opened {
    let url = answer["html_url"].as_str().unwrap_or_default().to_owned();
    Opened { number: answer["number"].as_u64().unwrap_or_default(), url, is_new }
}

fn judged(runs: &Value, status: &Value) -> Checks {
    const GOOD: [&str; 3] = ["success", "neutral", "skipped"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (runs, statuses) = (list(&runs["check_runs"]), list(&status["statuses"]));
    let (mut failed, mut pending) = (Vec::new(), false);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for run in &runs {
        match run["conclusion"].as_str() {
            None => pending = true,
            Some(good) if GOOD.contains(&good) => {}
            Some(bad) => {
                let summary = run["output"]["summary"].as_str().unwrap_or(bad);
                failed.push((text(&run["name"]), format!("{summary} {}", text(&run["html_url"]))));
            }
        }
    }
    for one in &statuses {
        match one["state"].as_str() {
            Some("success") => {}
            Some("failure" | "error") => failed.push((text(&one["context"]), text(&one["description"]))),
            _ => pending = true,
        }
    }
    match (failed.is_empty(), pending, runs.is_empty() && statuses.is_empty()) {
        (false, ..) => Checks::Failed(failed),
        (true, _, true) => Checks::None,
        (true, true, _) => Checks::Pending,
        (true, false, _) => Checks::Passed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_judged_together() {
        let run = |conclusion: Value| json!({ "check_runs": [{ "name": "ci", "conclusion": conclusion, "output": {} }] });
        let status =
            |state: &str| json!({ "statuses": [{ "context": "lint", "state": state, "description": "d" }] });
        let none = json!({});
        assert_eq!(judged(&none, &none), Checks::None);
        assert_eq!(judged(&run(Value::Null), &none), Checks::Pending);
        assert_eq!(judged(&run("success".into()), &status("pending")), Checks::Pending);
        assert_eq!(judged(&run("skipped".into()), &status("success")), Checks::Passed);
        assert_eq!(
            judged(&run("success".into()), &status("error")),
            Checks::Failed(vec![("lint".into(), "d".into())])
        );
        let Checks::Failed(failed) = judged(&run("timed_out".into()), &none) else { panic!("it failed") };
        assert_eq!(failed[0].0, "ci");
    }
}
