//! An agent's review of a task's work: what the reviewer is asked, and what its answer means.

use std::fmt::Write as _;

use serde_json::Value;

use crate::plan::permissions::READ_ONLY;
use crate::plan::{Permissions, Review, Task, Work};
use crate::run::event::Reviewed;
use crate::values::json_answer::extract;

/// As much of a change as a reviewer is shown; the rest is in the workspace.
const LONGEST: usize = 60_000;

/// How many findings go back, and how much of each.
const FINDINGS: usize = 20;
const WORDS: usize = 1000;

/// What work is held against where the task says nothing of its own.
const RUBRIC: &str = "It does what the task asks, all of it and nothing else. It is correct, also in the \
    cases the task does not mention. It breaks nothing that worked. It reads like the code around it, and \
    its tests would fail if it were wrong.";

/// What a reviewer is told. The change is a patch.
pub fn words(task: &Task, review: &Review, patch: &str) -> String {
    let asked = match &task.work {
        Work::Prompt(words) => words.clone(),
        Work::Run(command) => format!("{}\n\nIt was done by this command: {command}", task.name),
    };
    let mut out = String::from(
        "You review a change that you did not make. You are in a copy of the repository with the change in it. Look, \
         and change nothing.\n",
    );
    let rubric = review.rubric.as_deref().unwrap_or(RUBRIC);
    let _ = write!(out, "\n## What it is held against\n\n{}\n", rubric.trim());
    let _ = write!(out, "\n## The task\n\n{}\n", asked.trim());
    if let Some(deliverable) = &task.expected_deliverable {
        let _ = write!(out, "\nWhat there is to be in the end: {}\n", deliverable.trim());
    }
    if !task.verify.is_empty() {
        let _ = write!(out, "\nThese checks have passed: {}\n", task.verify.join("; "));
    }
    let shown = &patch[..patch.floor_char_boundary(LONGEST.min(patch.len()))];
    let rest = if shown.len() < patch.len() { "\n(cut here; the rest is in the files)" } else { "" };
    let _ = write!(out, "\n## The change\n\n````diff\n{}{rest}\n````\n", shown.trim_end());
    out.push_str(
        "\n## Your answer\n\nA JSON object and nothing else: \
         {\"verdict\": \"accept\" or \"reject\", \"score\": 0 to 100, \"findings\": [\"…\"]}. Reject only for what must be \
         mended before this is merged; each finding says where and what, so that it can be mended.\n",
    );
    out
}

/// The task as its reviewer gets it: the agent that the review names, the first of the task's fallbacks, or
/// the agent that does the task, in a conversation of its own.
pub fn reviewer(task: &Task, review: &Review) -> Task {
    let own = task.agent.clone().filter(|_| matches!(task.work, Work::Prompt(_)));
    let agent = review.agent.clone().or_else(|| task.fallback_agents.first().cloned()).or(own.clone());
    let model = review.model.clone().or_else(|| task.model.clone().filter(|_| agent == own));
    let deny = READ_ONLY.iter().map(|tool| (*tool).to_owned()).collect();
    Task {
        work: Work::Prompt(String::new()),
        agent,
        model,
        fallback_agents: Vec::new(),
        permissions: Some(Box::new(Permissions { deny, ..Permissions::default() })),
        review: None,
        ..task.clone()
    }
}

/// A reviewer's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub accepted: bool,
    pub reviewed: Reviewed,
}

/// What an answer means; why not, where it cannot be told.
pub fn read(answer: &str, by: &str) -> Result<Verdict, String> {
    let object = extract(answer, "verdict").map_err(|why| why.to_string())?;
    let accepted = match object.get("verdict").and_then(Value::as_str).map(str::to_lowercase).as_deref() {
        Some("accept" | "accepted" | "approve" | "approved") => true,
        Some("reject" | "rejected" | "request_changes") => false,
        other => return Err(format!("its verdict is neither accept nor reject, but {other:?}")),
    };
    let score = object.get("score").and_then(Value::as_f64).filter(|score| (0.0..=100.0).contains(score));
    let findings = object.get("findings").and_then(Value::as_array).into_iter().flatten();
    let findings = findings.filter_map(Value::as_str).map(|words| words.trim().chars().take(WORDS).collect());
    let findings: Vec<String> = findings.filter(|words: &String| !words.is_empty()).take(FINDINGS).collect();
    if !accepted && findings.is_empty() {
        return Err("it rejects the work and does not say why".to_owned());
    }
    let score = score.map(|score| score.round() as u8);
    Ok(Verdict { accepted, reviewed: Reviewed { by: by.to_owned(), score, findings } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::ids::TaskId;

    #[test]
    fn an_answer_is_read_wherever_it_stands() {
        let good = read("Fine. ```json\n{\"verdict\": \"accept\", \"score\": 90}\n```", "codex").unwrap();
        assert!(good.accepted);
        assert_eq!(good.reviewed, Reviewed { by: "codex".into(), score: Some(90), findings: Vec::new() });
        let bad =
            read(r#"{"verdict":"Reject","score":150,"findings":["a.rs:3 is off by one",""]}"#, "x").unwrap();
        assert!(!bad.accepted);
        assert_eq!(bad.reviewed.findings, ["a.rs:3 is off by one"]);
        assert_eq!(bad.reviewed.score, None, "no such score");
    }

    #[test]
    fn another_agent_reviews_where_there_is_one() {
        let mut task = Task::new(TaskId::parse("a").unwrap(), Work::Prompt("Add a parser".into()));
        (task.agent, task.model) = (Some("claude".into()), Some("opus".into()));
        let who = |task: &Task, review: &Review| {
            let reviewer = reviewer(task, review);
            (reviewer.agent_name().to_owned(), reviewer.model)
        };
        assert_eq!(who(&task, &Review::default()), ("claude".into(), Some("opus".into())));
        task.fallback_agents = vec!["codex".into()];
        assert_eq!(who(&task, &Review::default()), ("codex".into(), None), "its own model is not another's");
        let named = Review { agent: Some("gemini".into()), model: Some("pro".into()), rubric: None };
        assert_eq!(who(&task, &named), ("gemini".into(), Some("pro".into())));
    }

    #[test]
    fn what_says_nothing_is_no_review() {
        for answer in
            ["", "Looks good to me!", "{\"verdict\": 3}", "{\"verdict\": \"reject\", \"findings\": []}"]
        {
            assert!(read(answer, "x").is_err(), "{answer}");
        }
    }

    #[test]
    fn a_reviewer_knows_the_task_the_rubric_and_the_change() {
        let mut task = Task::new(TaskId::parse("a").unwrap(), Work::Prompt("Add a parser".into()));
        task.verify = vec!["cargo test".into()];
        let review = Review { rubric: Some("No panics.".into()), ..Review::default() };
        let words = words(&task, &review, &"+é".repeat(LONGEST));
        for part in ["Add a parser", "No panics.", "cargo test", "+é", "cut here"] {
            assert!(words.contains(part), "{part}");
        }
        assert!(words.len() < 2 * LONGEST);
    }
}
