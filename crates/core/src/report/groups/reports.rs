//! What a group came to, with every decision about it, for people and for programs.

use serde::Serialize;

use super::decisions::{Decided, decisions};
use super::status::{Metadata, landed, landed_words};
use crate::run::Run;
use crate::run::costs;
use crate::run::event::{Record, Touched, Usage};
use crate::values::counted::counted;
use crate::values::ids::{RunId, TaskId};
use crate::values::units::Millis;

const SCHEMA: &str = "conductor.group-report/1";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub run: RunId,
    pub group: Metadata,
    /// How many of its tasks have landed.
    pub landed: usize,
    /// In words.
    #[serde(skip)]
    landed_words: String,
    /// Of its tasks and steps together; null where no cost was reported.
    pub cost_usd: Option<f64>,
    pub tokens: u64,
    pub worked_ms: Millis,
    pub tasks: Vec<Line>,
    pub decisions: Vec<Decided>,
}

/// A task, or a step of ours around them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    pub task_id: String,
    pub name: String,
    pub status: &'static str,
    pub agent: String,
    pub attempts: u32,
    pub worked_ms: Millis,
    pub commit: Option<String>,
    pub files: usize,
    pub added: u64,
    pub removed: u64,
    pub note: String,
}

impl Report {
    /// Nothing where the run does not carry this group out.
    pub fn of(id: &RunId, run: &Run, records: &[Record], group: &str) -> Option<Report> {
        let group = run.plan().group_meant(group);
        let metadata = Metadata::of(run, group)?;
        let execution = run.plan().execution.as_ref()?;
        let mut all: Vec<&TaskId> = Vec::new();
        for stage in execution.stages_of(group) {
            all.extend(stage.refresh.iter().chain(&stage.tasks).chain(&stage.tests));
        }
        let places: Vec<usize> = all.into_iter().filter_map(|task| run.place(task)).collect();
        let mut used = Usage::default();
        let mut worked = Millis(0);
        for &place in &places {
            used += run.usage(place);
            worked += run.took(place);
        }
        Some(Report {
            schema: SCHEMA,
            run: id.clone(),
            landed: landed(run, group),
            landed_words: landed_words(run, &metadata),
            group: metadata,
            cost_usd: costs::dollars(used),
            tokens: used.tokens,
            worked_ms: worked,
            tasks: places.into_iter().map(|place| line(run, place)).collect(),
            decisions: decisions(records, group),
        })
    }

    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn markdown(&self) -> String {
        let group = &self.group;
        let mut out = format!("# Group {}: {}\n\n", cell(&group.group_id), group.status.name());
        out += &format!("{}, in run `{}`.", self.landed_words, self.run);
        out += &format!(" Worked {}", self.worked_ms);
        out += &match self.cost_usd {
            Some(cost) => format!(", {}, ${cost:.4}.\n", counted(self.tokens, "token")),
            None => format!(", {}, cost not known.\n", counted(self.tokens, "token")),
        };
        out += &format!(
            "\n| | |\n|---|---|\n| phase | {} |\n| created | {} |\n| started | {} |\n| ended | {} |\n| context refreshed | {} |\n",
            group.phase.name(),
            group.created_at,
            group.started_at.as_deref().unwrap_or("not yet"),
            group.completed_at.as_deref().unwrap_or("not yet"),
            if group.pre_group_refresh_completed { "yes" } else { "no" },
        );
        out += "\n## Tasks\n\n| task | status | agent | attempts | worked | commit | change | note |\n|---|---|---|---|---|---|---|---|\n";
        for task in &self.tasks {
            let commit = task.commit.as_deref().map(|commit| &commit[..commit.floor_char_boundary(10)]);
            out += &format!(
                "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
                cell(&task.task_id),
                task.status,
                cell(&task.agent),
                task.attempts,
                task.worked_ms,
                commit.unwrap_or_default(),
                change(task),
                cell(&task.note),
            );
        }
        if !group.errors.is_empty() {
            out += "\n## Errors\n\n";
            out.extend(group.errors.iter().map(|error| format!("- {}\n", cell(error))));
        }
        out += "\n## Decisions\n\n| when | task | decision | reason |\n|---|---|---|---|\n";
        for Decided { at, task, decision, reason } in &self.decisions {
            let task = cell(task.as_deref().unwrap_or("the group"));
            out += &format!("| {at} | {task} | {} | {} |\n", cell(decision), cell(reason));
        }
        out
    }
}

fn line(run: &Run, place: usize) -> Line {
    let (task, progress) = run.task(place);
    let landed = progress.landed.as_deref();
    let touched = landed.map(|landed| &landed.touched);
    let entrants = run.entrants(place).iter().copied();
    Line {
        task_id: task.id.to_string(),
        name: task.name.clone(),
        status: progress.state.status().name(),
        agent: run
            .agent_choice(run.doer(place))
            .map_or_else(|| task.agent_name(), |choice| &choice.agent)
            .to_owned(),
        attempts: progress.last_attempt + entrants.map(|place| run.progress(place).last_attempt).sum::<u32>(),
        worked_ms: run.took(place),
        commit: landed.map(|landed| landed.commit.clone()),
        files: touched.map_or(0, Touched::count),
        added: touched.map_or(0, |touched| touched.added),
        removed: touched.map_or(0, |touched| touched.removed),
        note: crate::report::note(run.plan(), task, &progress.state),
    }
}

fn change(task: &Line) -> String {
    match task.commit {
        Some(_) => {
            format!("{}, +{} −{}", counted(task.files, "file"), task.added, task.removed)
        }
        None => String::new(),
    }
}

/// Text that stays in its cell.
fn cell(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.replace('|', "\\|").trim().to_owned()
}
