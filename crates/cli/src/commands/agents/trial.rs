//! A trial: an agent is asked for one word in a file, as a run asks it, in a repository and a home made for that.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use conductor_core::plan::{Plan, Task, Work};
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::Millis;
use conductor_engine::agents;
use conductor_engine::process;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::settings::variables;

const FILE: &str = "conductor-test.txt";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Result {
    pub(super) agent: String,
    pub(super) verdict: Verdict,
    pub(super) seconds: f64,
    pub(super) tokens: u64,
    /// Nothing where no price is known, or it did not tell what it used.
    pub(super) cost_usd: Option<f64>,
    /// What went wrong.
    pub(super) message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Works,
    Missing,
    NotLoggedIn,
    Failed,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Works => "works",
            Verdict::Missing => "missing",
            Verdict::NotLoggedIn => "not logged in",
            Verdict::Failed => "FAILED",
        }
    }
}

pub(super) struct Trial<'a> {
    pub(super) plan: &'a Plan,
    pub(super) model: Option<&'a str>,
    pub(super) timeout: Millis,
}

impl Trial<'_> {
    /// Tests all agents at once, each in a folder of its own.
    pub(super) fn hold(&self, names: &[String]) -> std::result::Result<Vec<Result>, CliError> {
        std::thread::scope(|scope| {
            let held: Vec<_> = names.iter().map(|name| scope.spawn(move || self.one(name))).collect();
            let panicked = || CliError::new(Exit::Unexpected, "a test came to an unexpected end");
            held.into_iter().map(|held| held.join().unwrap_or_else(|_| Err(panicked()))).collect()
        })
    }

    fn one(&self, name: &str) -> std::result::Result<Result, CliError> {
        let begun = Instant::now();
        let done = |verdict, spent: (u64, Option<f64>), message| Result {
            agent: name.to_owned(),
            verdict,
            seconds: begun.elapsed().as_secs_f64(),
            tokens: spent.0,
            cost_usd: spent.1,
            message,
        };
        if let Err(error) = self.check(name) {
            return Ok(done(Verdict::Missing, (0, Some(0.0)), Some(error)));
        }
        let place = Place::new()?;
        let output = self.drive(name, &place)?;
        let result = place.summary().map(|summary| summary["results"][0].clone()).unwrap_or_default();
        let spent = (result["tokens"].as_u64().unwrap_or(0), result["cost_usd"].as_f64());
        let error = &result["error"];
        Ok(match (output.status.success(), error["class"].as_str()) {
            (true, _) => done(Verdict::Works, spent, None),
            (false, class) => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                let message = error["message"].as_str().map_or(said, str::to_owned);
                let verdict =
                    if class == Some("unauthorized") { Verdict::NotLoggedIn } else { Verdict::Failed };
                done(verdict, spent, Some(message))
            }
        })
    }

    fn check(&self, name: &str) -> std::result::Result<(), String> {
        let id = TaskId::parse("test").map_err(|error| error.to_string())?;
        let task = Task { agent: Some(name.to_owned()), ..Task::new(id, Work::Prompt(String::new())) };
        agents::check(self.plan, &task).map(drop).map_err(|error| error.to_string())
    }

    /// A run like any other, by this very program.
    fn drive(&self, name: &str, place: &Place) -> std::result::Result<std::process::Output, CliError> {
        let word: String = (0..12).map(|_| fastrand::lowercase()).collect();
        std::fs::write(place.0.join("tasks.json"), self.tasks(name, &word).to_string())?;
        let repository = place.0.join("repository");
        let made = process::run_own(Command::new("git").args(["init", "-q"]).arg(&repository), b"")?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr).into_owned();
            return Err(CliError::new(Exit::Unexpected, format!("no repository for the test: {said}")));
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["run", "../tasks.json", "--first-commit", "--ui", "plain"]).current_dir(repository);
        command.env("CONDUCTOR_HOME", place.0.join("home"));
        for variable in variables::of_settings() {
            command.env_remove(variable);
        }
        Ok(process::run_own(&mut command, b"")?)
    }

    fn tasks(&self, name: &str, word: &str) -> Value {
        let prompt = format!(
            "Write the word {word} into a new file named {FILE} in the current directory, and nothing else into it. \
             Change no other file, and ask nothing."
        );
        let mut task = json!({
            "id": "test",
            "prompt": prompt,
            "agent": name,
            "verify": [format!("test \"$(tr -d '[:space:]' < {FILE})\" = {word}")],
            "fix_rounds": 0,
            "retry_policy": { "max_attempts": 1 },
            "timeout": format!("{}ms", self.timeout.0),
        });
        if let Some(model) = self.model {
            task["model"] = json!(model);
        }
        json!({ "config": { "agents": self.plan.agents }, "tasks": [task] })
    }
}

/// A folder that is gone with it.
struct Place(PathBuf);

impl Place {
    fn new() -> std::io::Result<Place> {
        let place = std::env::temp_dir().join(format!("conductor-test-{:016x}", fastrand::u64(..)));
        std::fs::create_dir(&place)?;
        Ok(Place(place))
    }

    fn summary(&self) -> Option<Value> {
        let mut runs = std::fs::read_dir(self.0.join("home/runs")).ok()?;
        let file = runs.next()?.ok()?.path().join("execution_summary.json");
        serde_json::from_slice(&std::fs::read(Path::new(&file)).ok()?).ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
