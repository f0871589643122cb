//! Events by the names that clients know: each is made of one record of the log, the plan, and what the run was started
//! with, so that it is the same whenever it is told.

use conductor_core::plan::graph::{Graph, Strategy};
use conductor_core::plan::{Isolation, Plan, Task};
use conductor_core::run::costs;
use conductor_core::run::event::{BatchResult, Event, FailureClass, Options, Outcome, Record};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_engine::records::flat;
use serde_json::{Value, json};

use super::frame::Part;

/// Every name that an event can have.
pub(crate) const NAMES: [&str; 52] = [
    "batch_start",
    "batch_complete",
    "batch_failed",
    "task_start",
    "task_progress",
    "task_complete",
    "task_failed",
    "worktree_created",
    "worktree_merged",
    "worktree_conflict",
    "agent_status",
    "cost_update",
    "budget_warning",
    "parallel_complete",
    "parallel_error",
    "run_created",
    "planning_accounted",
    "run_started",
    "plan_amended",
    "run_handed_over",
    "run_taken_over",
    "run_paused",
    "run_continued",
    "parallel_changed",
    "cap_changed",
    "drain_lifted",
    "expertise_learned",
    "expertise_retired",
    "expertise_used",
    "run_drained",
    "attempt_leased",
    "lease_lost",
    "shim_lost",
    "attempt_reattached",
    "stop_requested",
    "work_set_aside",
    "merge_withdrawn",
    "review_given",
    "recovery_decided",
    "checkpoint_made",
    "race_decided",
    "question_answered",
    "words_sent",
    "priority_changed",
    "task_skipped",
    "task_cancelled",
    "task_reopened",
    "branch_rolled_back",
    "provider_parked",
    "stage_examined",
    "checkout_touched",
    "git_settings_touched",
];

/// Plainer names for what people wait for; such an event has one of `NAMES` too.
pub(crate) const OCCASIONS: [&str; 3] = ["run_finished", "run_stopped", "needs_you"];

/// Which of them an event is.
pub(crate) fn occasion(event: &Event) -> Option<&'static str> {
    match event {
        Event::RunFinished { .. } => Some("run_finished"),
        Event::RunStopped { .. } => Some("run_stopped"),
        Event::ApprovalAsked { .. }
        | Event::ReviewRequested { .. }
        | Event::AttemptEnded { outcome: Outcome::Asked(_), .. } => Some("needs_you"),
        _ => None,
    }
}

/// Where a task works, with what holds in its run for tasks that do not say it.
pub(crate) fn isolation(task: &Task, options: &Options) -> Isolation {
    task.isolation_or(options.isolation.unwrap_or(Isolation::None))
}

/// What a record tells, each part with the record's number.
pub(crate) fn told(run: &RunId, plan: &Plan, options: &Options, record: &Record) -> Vec<Part> {
    let (name, more) = named(plan, record);
    let mut first = flat::event(run, record);
    first["event"] = first["type"].take();
    first["type"] = json!(name);
    shorten(&record.event, &mut first);
    add(&mut first, more);
    let also = beside(plan, options, record).map(|(name, more)| {
        let mut other = json!({ "schema": flat::SCHEMA, "run": run, "seq": record.seq,
            "at": flat::timestamp(record.at.0), "type": name });
        add(&mut other, more);
        (name, other)
    });
    let part =
        |(name, value): (&'static str, Value)| Part { seq: record.seq, name, text: value.to_string().into() };
    std::iter::once((name, first)).chain(also).map(part).collect()
}

fn add(event: &mut Value, more: Value) {
    if let (Value::Object(event), Value::Object(more)) = (event, more) {
        event.extend(more);
    }
}

/// A whole plan is looked at in the run, not in its events.
fn shorten(event: &Event, value: &mut Value) {
    let Value::Object(fields) = value else { return };
    match event {
        Event::RunCreated { plan, .. } => {
            fields.remove("plan");
            fields.insert("task_count".into(), json!(plan.tasks.len()));
        }
        Event::PlanAmended { amendment, .. } => {
            let ids: Vec<&TaskId> = amendment.tasks.iter().map(|task| &task.id).collect();
            fields.insert("amendment".into(), json!({ "tasks": ids }));
        }
        Event::RunStarted { options } => {
            fields.insert("options".into(), json!({ "slots": options.slots, "strategy": options.strategy }));
        }
        _ => {}
    }
}

/// How many batches there are, with the tasks that have joined by now.
fn levels(plan: &Plan) -> Option<usize> {
    Graph::new(plan, Strategy::Queue).ok().map(|graph| graph.batches().len())
}

fn of_batch(number: u32, result: &BatchResult) -> Value {
    let (cost, duration) = (costs::dollars(result.usage), result.elapsed.0 as f64 / 1_000.0);
    let more = json!({ "batch_number": number, "failed": result.failed, "duration": duration, "cost": cost });
    json!({ "batch_number": number, "result": with(json!(result), more), "cost_usd": cost })
}

fn of_task(plan: &Plan, id: &TaskId) -> Value {
    let task = plan.tasks.iter().find(|task| task.id == *id);
    json!({ "task_id": id, "epic_id": task.and_then(|task| task.epic.as_deref()) })
}

fn with(mut value: Value, more: Value) -> Value {
    add(&mut value, more);
    value
}

/// The name of what happened, and what clients want to know of it.
fn named(plan: &Plan, record: &Record) -> (&'static str, Value) {
    match &record.event {
        Event::BatchStarted { number, tasks } => (
            "batch_start",
            json!({ "batch_number": number, "total_batches": levels(plan), "task_count": tasks.len() }),
        ),
        Event::BatchCompleted { number, result } => {
            let name = if result.failed.is_empty() { "batch_complete" } else { "batch_failed" };
            (name, of_batch(*number, result))
        }
        Event::AttemptStarted { task, choice, .. } => {
            let (agent, model) = choice.as_ref().map_or((None, None), |c| (Some(&c.agent), c.model.as_ref()));
            ("task_start", with(of_task(plan, task), json!({ "agent": agent, "model": model })))
        }
        Event::ProcessStarted { task, .. } => {
            ("agent_status", with(of_task(plan, task), json!({ "status": "working" })))
        }
        Event::SessionStarted { task, .. } => {
            ("agent_status", with(of_task(plan, task), json!({ "status": "in session" })))
        }
        Event::TaskReported { task, .. } => {
            ("agent_status", with(of_task(plan, task), json!({ "status": "reported" })))
        }
        Event::UsageReported { task, usage, taken_back, .. } => {
            let cost = usage.cost.dollars() - taken_back.cost.dollars();
            (
                "cost_update",
                with(of_task(plan, task), json!({ "cost_usd": cost, "more_tokens": usage.tokens })),
            )
        }
        Event::AttemptEnded { task, .. } => {
            ("task_progress", with(of_task(plan, task), json!({ "phase": "ended" })))
        }
        Event::MergeIntended { task, .. } => {
            ("task_progress", with(of_task(plan, task), json!({ "phase": "merging" })))
        }
        Event::ReviewRequested { task, .. } => {
            ("task_progress", with(of_task(plan, task), json!({ "phase": "in review" })))
        }
        Event::ApprovalAsked { task, .. } => {
            ("task_progress", with(of_task(plan, task), json!({ "phase": "asking" })))
        }
        Event::RetryScheduled { task, .. } => {
            ("task_progress", with(of_task(plan, task), json!({ "phase": "waiting" })))
        }
        Event::TaskCompleted { task, .. } | Event::TaskResolved { task, .. } => {
            ("task_complete", with(of_task(plan, task), json!({ "status": "completed" })))
        }
        Event::TaskFailed { task, failure } => {
            ("task_failed", with(of_task(plan, task), json!({ "error": failure.message })))
        }
        Event::MergeFailed { task, failure, .. } => {
            let name =
                if failure.class == FailureClass::Conflict { "worktree_conflict" } else { "task_progress" };
            (name, with(of_task(plan, task), json!({ "error": failure.message })))
        }
        Event::ConflictForeseen { task, .. } => {
            ("worktree_conflict", with(of_task(plan, task), json!({ "foreseen": true })))
        }
        Event::BudgetNeared { .. } => ("budget_warning", json!({})),
        Event::RunFinished { .. } => ("parallel_complete", json!({})),
        Event::RunStopped { .. } => ("parallel_error", json!({ "can_be_resumed": true })),
        event => (own_name(event), json!({})),
    }
}

/// What else the same record means to clients.
fn beside(plan: &Plan, options: &Options, record: &Record) -> Option<(&'static str, Value)> {
    let find = |id: &TaskId| plan.tasks.iter().find(|task| task.id == *id);
    match &record.event {
        Event::ProcessStarted { task, attempt, .. } => find(task)
            .filter(|task| isolation(task, options) != Isolation::None)
            .map(|_| ("worktree_created", with(of_task(plan, task), json!({ "attempt": attempt })))),
        Event::TaskCompleted { task, commit: Some(commit) } | Event::TaskResolved { task, commit, .. } => {
            Some(("worktree_merged", with(of_task(plan, task), json!({ "commit": commit }))))
        }
        _ => None,
    }
}

/// An event that has no other name is told by its own.
fn own_name(event: &Event) -> &'static str {
    match event {
        Event::RunCreated { .. } => "run_created",
        Event::PlanningAccounted { .. } => "planning_accounted",
        Event::RunStarted { .. } => "run_started",
        Event::PlanAmended { .. } => "plan_amended",
        Event::RunHandedOver { .. } => "run_handed_over",
        Event::RunTakenOver { .. } => "run_taken_over",
        Event::RunPaused { .. } => "run_paused",
        Event::RunContinued {} => "run_continued",
        Event::ParallelChanged { .. } => "parallel_changed",
        Event::CapChanged { .. } => "cap_changed",
        Event::DrainLifted {} => "drain_lifted",
        Event::RunDrained { .. } => "run_drained",
        Event::AttemptLeased { .. } => "attempt_leased",
        Event::LeaseLost { .. } => "lease_lost",
        Event::ShimLost { .. } => "shim_lost",
        Event::AttemptReattached { .. } => "attempt_reattached",
        Event::StopRequested { .. } => "stop_requested",
        Event::WorkSetAside { .. } => "work_set_aside",
        Event::MergeWithdrawn { .. } => "merge_withdrawn",
        Event::ReviewGiven { .. } => "review_given",
        Event::RecoveryDecided { .. } => "recovery_decided",
        Event::CheckpointMade { .. } => "checkpoint_made",
        Event::RaceDecided { .. } => "race_decided",
        Event::QuestionAnswered { .. } => "question_answered",
        Event::WordsSent { .. } => "words_sent",
        Event::PriorityChanged { .. } => "priority_changed",
        Event::TaskSkipped { .. } => "task_skipped",
        Event::TaskCancelled { .. } => "task_cancelled",
        Event::TaskReopened { .. } => "task_reopened",
        Event::BranchRolledBack { .. } => "branch_rolled_back",
        Event::ProviderParked { .. } => "provider_parked",
        Event::StageExamined { .. } => "stage_examined",
        Event::CheckoutTouched { .. } => "checkout_touched",
        Event::GitSettingsTouched { .. } => "git_settings_touched",
        Event::ExpertiseUsed { .. } => "expertise_used",
        Event::ExpertiseLearned { .. } => "expertise_learned",
        Event::ExpertiseRetired { .. } => "expertise_retired",
        _ => "event",
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::run::event::DrainReason;
    use conductor_core::values::ids::Attempt;

    use super::*;

    #[test]
    fn what_needs_a_person_has_a_name_of_its_own() {
        let (task, attempt) = (TaskId::parse("a").unwrap(), Attempt(1));
        assert_eq!(occasion(&Event::ReviewRequested { task: task.clone(), attempt }), Some("needs_you"));
        assert_eq!(occasion(&Event::RunStopped { why: DrainReason::Budget }), Some("run_stopped"));
        assert_eq!(occasion(&Event::TaskCancelled { task }), None);
    }

    /// Read from the text of this file, so that a name that is added above cannot be forgotten in the list.
    #[test]
    fn every_name_is_in_the_list() {
        let code = include_str!("events.rs");
        let code = &code[code.find("/// The name of what happened").unwrap()..];
        let code = &code[..code.find("#[cfg(test)]").unwrap()];
        let mut found: Vec<&str> = Vec::new();
        for (at, _) in code.match_indices('"') {
            let before = code[..at].trim_end();
            let word = code[at + 1..].split('"').next().unwrap();
            let is_name = before.ends_with("=>")
                || before.ends_with("((")
                || before.ends_with('(')
                || before.ends_with("{")
                    && code[..at].lines().last().is_some_and(|line| line.contains("if "))
                || before.ends_with("else {");
            let is_word =
                word.contains('_') && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
            if is_name && is_word {
                found.push(word);
            }
        }
        found.sort_unstable();
        found.dedup();
        let mut listed = NAMES.to_vec();
        listed.sort_unstable();
        assert_eq!(found, listed);
    }
}
