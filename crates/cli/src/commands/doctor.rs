//! `conductor doctor`: whether everything a run needs is there and in order, and what to do where it is not.

mod content;
mod machine;
mod repository;
mod state;
mod tasks;
mod traces;
mod witnesses;

pub(super) use content::troubles;
use serde::Serialize;
use serde_json::json;

use super::{answer, answer_json, block_on};
use crate::args;
use crate::error::{CliError, Exit};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Ok,
    /// Worth knowing; runs work all the same.
    Warning,
    /// Runs will fail over it.
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    level: Level,
    told: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// What was done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<String>,
}

impl Finding {
    fn new(check: &'static str, level: Level, told: impl Into<String>) -> Finding {
        Finding { check, level, told: told.into(), remedy: None, fixed: None }
    }

    fn ok(check: &'static str, told: impl Into<String>) -> Finding {
        Finding::new(check, Level::Ok, told)
    }

    fn warning(check: &'static str, told: impl Into<String>) -> Finding {
        Finding::new(check, Level::Warning, told)
    }

    fn problem(check: &'static str, told: impl Into<String>) -> Finding {
        Finding::new(check, Level::Problem, told)
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = Some(remedy.into());
        self
    }

    /// It is in order now, for this was done.
    fn mended(mut self, done: impl Into<String>) -> Finding {
        (self.level, self.remedy, self.fixed) = (Level::Ok, None, Some(done.into()));
        self
    }

    fn text(&self) -> String {
        let mark = match self.level {
            Level::Ok => "\x1b[32mok\x1b[0m      ",
            Level::Warning => "\x1b[33mwarning\x1b[0m ",
            Level::Problem => "\x1b[31mproblem\x1b[0m ",
        };
        let mut text = format!("{mark} {:<12} {}\n", self.check, self.told);
        let below = " ".repeat(22);
        if let Some(remedy) = &self.remedy {
            text += &format!("{below}→ {remedy}\n");
        }
        if let Some(fixed) = &self.fixed {
            text += &format!("{below}✓ {fixed}\n");
        }
        text
    }
}

pub(crate) fn run(args: &args::Doctor) -> Result<Exit, CliError> {
    let findings = block_on(examine(args))?;
    let problems = findings.iter().filter(|finding| finding.level == Level::Problem).count();
    if args.json {
        let healthy = problems == 0;
        answer_json(&json!({ "schema": "conductor.doctor/1", "healthy": healthy, "findings": findings }))?;
    } else {
        answer(&findings.iter().map(Finding::text).collect::<String>())?;
    }
    Ok(if problems == 0 { Exit::Done } else { Exit::Unexpected })
}

async fn examine(args: &args::Doctor) -> Result<Vec<Finding>, CliError> {
    let here = std::env::current_dir()?;
    let mut findings = vec![machine::git()];
    if !args.machine {
        findings.extend(repository::state(&here, args.fix));
        findings.extend(content::state(&here));
    }
    findings.extend(state::configs());
    if !args.machine {
        findings.extend(tasks::state(&here));
    }
    findings.extend(state::home(args.fix).await);
    findings.push(machine::agents());
    findings.push(machine::sandbox());
    findings.push(machine::limits());
    findings.push(machine::descriptors());
    findings.push(machine::clock());
    findings.extend(traces::state());
    Ok(findings)
}
