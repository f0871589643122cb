//! What a planner is asked.

use super::answer::{Analysis, Draft};
use super::check::{Bounds, Finding};
use crate::values::counted::counted;

/// More findings than this are not listed one by one: a planner that made so many starts again.
const MOST_FINDINGS: usize = 40;

/// What is to be planned, and for where.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    pub requirements: &'a str,
    /// The repository, in words.
    pub repository: &'a str,
    /// How many may work at once, where that is known.
    pub budget: Option<u32>,
    pub bounds: Bounds,
    /// A plan that is to be changed, and not made anew.
    pub existing: Option<&'a Draft>,
}

/// The first question: how much is there to do?
pub fn analysis(request: &Request<'_>) -> String {
    let Bounds { least, most } = request.bounds;
    let least = match least {
        0 | 1 => String::new(),
        least => format!(" There are {least} issues, each of which needs at least one task of its own."),
    };
    format!(
        "You plan work for coding agents that work in parallel, each task in a workspace of its own. You only plan: change no \
         file and run no command. Everything you need to know is written here.\n\n{}\
         Tell how many tasks this comes to: 1 to 3 if it is simple, 3 to 8 if it is moderate, 8 to 15 if it is complex, more \
         if it is larger still, and never more than {most}.{least}{} Tasks are best where they touch different files and can \
         be checked on their own.\n\n\
         Answer with one JSON object and nothing else:\n\
         {{\"num_tasks\": 6, \"reasoning\": \"why so many\", \"key_features_detected\": [\"…\"], \
         \"technical_components\": [\"…\"]}}\n",
        subject(request),
        budget(request)
    )
}

/// The second: which tasks? `known` says that the same conversation goes on.
pub fn plan(request: &Request<'_>, analysis: Option<&Analysis>, known: bool) -> String {
    let subject = match known {
        true => String::new(),
        false => format!(
            "You plan work for coding agents that work in parallel, each task in a workspace of its own. You only plan: change \
             no file and run no command. Everything you need to know is written here.\n\n{}",
            subject(request)
        ),
    };
    let number = match analysis {
        Some(analysis) => format!("Write the plan, with {}", counted(analysis.num_tasks, "task")),
        None => "Write the plan".to_owned(),
    };
    format!(
        "{subject}{number} and never more than {}.{}\n\n\
         Answer with one JSON object and nothing else:\n\
         {{\"tasks\": [{{\"id\": \"database-schema\", \"name\": \"Design the database schema\", \"description\": \"all that \
         an agent must know to do it, in full sentences; it sees no other task and not this conversation\", \
         \"priority\": \"high\", \"dependencies\": [\"ids of tasks that must be done before\"], \
         \"estimated_effort\": \"small\", \"estimated_duration\": \"20m\", \"estimated_lines\": 150, \"files\": [\"src/schema/**\"], \
         \"verify\": [\"a command that fails if it is not done\"]}}], \"notes\": \"what a person should know\"}}\n\n\
         Ids are letters, digits, '-', '_' and '.', each used once. Priority is critical, high, medium, low or backlog. \
         Dependencies name ids of this plan and make no circle. Files are paths or globs within the repository. Two tasks \
         that touch the same files need a dependency between them. Leave `verify` out where you know no command.\n",
        request.bounds.most,
        budget(request)
    )
}

/// The last: what was wrong is to be put right.
pub fn repair(request: &Request<'_>, answer: &str, wrong: &str, known: bool) -> String {
    const LONGEST: usize = 200_000;
    let before = match known {
        true => String::new(),
        false => {
            let answer: String = answer.chars().take(LONGEST).collect();
            format!("{}\nYou answered:\n\n{answer}\n\n", plan(request, None, false))
        }
    };
    format!(
        "{before}This plan cannot be used as it is:\n\n{wrong}\n\n\
         Answer again with the whole plan as one JSON object with \"tasks\", put right, and nothing else. Change nothing that \
         was not found wrong.\n"
    )
}

/// What was found, a line each.
pub fn findings(findings: &[Finding]) -> String {
    let mut lines: Vec<String> =
        findings.iter().take(MOST_FINDINGS).map(|finding| format!("- {finding}")).collect();
    if findings.len() > MOST_FINDINGS {
        lines.push(format!("- and {} more of the kind", findings.len() - MOST_FINDINGS));
    }
    lines.join("\n")
}

fn subject(request: &Request<'_>) -> String {
    let existing = match request.existing {
        None => "What is to be done".to_owned(),
        Some(draft) => {
            let plan =
                serde_json::to_string(&serde_json::json!({ "tasks": shown(draft) })).unwrap_or_default();
            format!(
                "There is a plan already:\n\n{plan}\n\nKeep the ids, and everything else of it that need not change. What is \
                 to change about it"
            )
        }
    };
    format!(
        "{existing}:\n\n<requirements>\n{}\n</requirements>\n\nThe repository:\n\n<repository>\n{}\n</repository>\n\n",
        request.requirements.trim(),
        request.repository.trim()
    )
}

/// A plan in the words an answer has.
fn shown(draft: &Draft) -> Vec<serde_json::Value> {
    let task = |task: &super::DraftTask| {
        serde_json::json!({
            "id": task.id,
            "name": task.name,
            "description": task.description,
            "priority": crate::plan::Priority(task.priority).name(),
            "dependencies": task.dependencies,
            "estimated_duration": task.duration.map(|duration| format!("{}s", duration.0 / 1000)),
            "estimated_lines": task.lines,
            "files": task.files,
            "verify": task.verify,
        })
    };
    draft.tasks.iter().map(task).collect()
}

fn budget(request: &Request<'_>) -> String {
    match request.budget {
        Some(budget) => format!(
            " At most {} may work at once; that says how many tasks should be independent of each other, not how many \
             there may be.",
            counted(budget, "agent")
        ),
        None => String::new(),
    }
}
