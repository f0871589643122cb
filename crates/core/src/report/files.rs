//! The run as JSON, for programs.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::batches::ExecutionResult;
use super::measured::{CoverageFigures, LintFigures, average_coverage};
use super::profile::{AttemptProfile, Shares};
use super::races::Contest;
use super::{Accuracy, Held, Summary, TimeSpent, outcome_name};
use crate::forecast::{Basis, foretold};
use crate::plan::Task;
use crate::plan::graph::Graph;
use crate::report::ledger::Ledger;
use crate::run::Decided;
use crate::run::costs;
use crate::run::event::{AgentChoice, Failure, Finding, Planning, Usage};
use crate::run::measure::Measured;
use crate::run::{AgentUse, Issue, Landed, Progress, Run, Secured, TaskState};
use crate::schedule::quality::{self, Quality};
use crate::values::ids::{Attempt, RunId, TaskId};
use crate::values::units::Millis;

pub const SUMMARY_SCHEMA: &str = "conductor.summary/1";

/// `execution_summary.json`.
#[derive(Debug, Serialize)]
pub struct SummaryFile<'a> {
    schema: &'static str,
    run: &'a RunId,
    outcome: &'static str,
    completed: u32,
    failed: u32,
    skipped: u32,
    cancelled: u32,
    open: u32,
    success_rate: Option<f64>,
    /// Tasks of the file that earlier runs had done, and that `--skip-done` left out; not there where none was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    done_before: Vec<&'a TaskId>,
    /// Of what has landed; nothing where nothing is merged and so nothing measured.
    total_files_created: Option<u64>,
    total_lines_of_code: Option<u64>,
    /// In percent, of the tasks that landed and were measured; nothing where none was.
    average_test_coverage: Option<f64>,
    attempts: u32,
    #[serde(flatten)]
    result: ExecutionResult<'a>,
    elapsed_ms: Millis,
    worked_ms: Millis,
    critical_path_ms: Millis,
    /// What the same work takes at the least with so many at a time.
    at_best_ms: Millis,
    time: TimeFigures,
    /// From the first question to the last file.
    time_shares: Shares,
    executors_used: u32,
    tasks_per_executor: Vec<u32>,
    /// Nothing where a part of it has no known price.
    cost_usd: Option<f64>,
    known_cost_usd: f64,
    tokens: u64,
    unpriced_tokens: u64,
    /// What making the plan has used, which is part of all of this; empty where no agent made it.
    planning: Vec<PlanningCost<'a>>,
    cost_by_model: BTreeMap<&'a str, ModelCost>,
    /// Of tasks alone.
    cost_by_agent: BTreeMap<&'a str, AgentCost>,
    /// How estimates compare to what happened; nothing where no estimated task was completed.
    estimates: Option<Estimates>,
    ledger: Option<&'a Ledger>,
    /// What agents found beside their tasks.
    issues: Vec<ReportedIssue<'a>>,
    /// What was done about failures, and why.
    decisions: Vec<ReportedDecision<'a>>,
    /// Made before risky work.
    checkpoints: Vec<ReportedCheckpoint<'a>>,
    results: Results<'a>,
}

/// Each is made when its turn comes: there may be a great many.
#[derive(Debug)]
struct Results<'a>(&'a Run);

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.asked().map(|(place, _, _)| TaskResult::new(self.0, place)))
    }
}

impl<'a> SummaryFile<'a> {
    pub fn new(id: &'a RunId, run: &'a Run, graph: &Graph, ledger: Option<&'a Ledger>) -> SummaryFile<'a> {
        let (summary, spent) = (Summary::of(run, graph), TimeSpent::of(run, graph));
        let landed = |figure: fn(&Landed) -> u64| {
            let all = run.asked().filter_map(|(_, _, progress)| progress.landed.as_deref());
            ledger.map(|_| all.map(figure).sum())
        };
        SummaryFile {
            schema: SUMMARY_SCHEMA,
            run: id,
            outcome: outcome_name(run.stage()),
            completed: summary.completed,
            failed: summary.failed,
            skipped: summary.skipped,
            cancelled: summary.cancelled,
            open: summary.open,
            success_rate: rate(&summary),
            done_before: run.options().selection.iter().flat_map(|chosen| chosen.done.keys()).collect(),
            total_files_created: landed(|landed| landed.touched.created),
            total_lines_of_code: landed(|landed| landed.touched.added),
            average_test_coverage: average_coverage(run),
            attempts: summary.attempts,
            result: ExecutionResult::of(run, graph),
            elapsed_ms: summary.elapsed,
            worked_ms: summary.worked,
            critical_path_ms: summary.critical_path,
            at_best_ms: spent.at_best,
            time: TimeFigures::new(&spent),
            time_shares: Shares::of(run, None),
            tasks_per_executor: spent.per_slot,
            executors_used: summary.executors,
            cost_usd: costs::dollars(summary.spent),
            known_cost_usd: summary.spent.cost.dollars(),
            tokens: summary.spent.tokens,
            unpriced_tokens: summary.spent.unpriced,
            planning: run.planning().iter().map(PlanningCost::new).collect(),
            cost_by_model: run
                .models()
                .iter()
                .map(|(model, usage)| (&**model, ModelCost::new(*usage)))
                .collect(),
            cost_by_agent: run
                .agents()
                .iter()
                .map(|(agent, used)| (&**agent, AgentCost::new(*used)))
                .collect(),
            estimates: Estimates::new(&Accuracy::of(run)),
            ledger,
            issues: run.issues().iter().map(ReportedIssue::new).collect(),
            decisions: run.decisions().iter().map(ReportedDecision::new).collect(),
            checkpoints: run.secured().iter().map(ReportedCheckpoint::new).collect(),
            results: Results(run),
        }
    }

    /// This one, with how long it took to put the results together.
    pub fn with_aggregation(mut self, aggregation: Option<Millis>) -> SummaryFile<'a> {
        self.time_shares.aggregation = aggregation;
        self
    }
}

/// Of all tasks together; what was not measured is null.
#[derive(Debug, Serialize)]
struct TimeFigures {
    waited_ms: Option<Millis>,
    preparing_ms: Option<Millis>,
    working_ms: Option<Millis>,
    verifying_ms: Option<Millis>,
    merging_ms: Millis,
    retrying_ms: Millis,
    asking_ms: Millis,
    /// Of all processes of all attempts.
    cpu_ms: Option<Millis>,
    /// The most that any one of them held.
    peak_memory_bytes: Option<u64>,
    /// The most that all processes of one task with limits held at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_together_bytes: Option<u64>,
}

impl TimeFigures {
    fn new(spent: &TimeSpent) -> TimeFigures {
        let times = &spent.times;
        let told = |length: Millis| (times.attempts > 0).then_some(length);
        TimeFigures {
            waited_ms: spent.waited,
            preparing_ms: told(times.preparing),
            working_ms: told(times.working),
            verifying_ms: told(times.verifying),
            merging_ms: times.merging,
            retrying_ms: times.retrying,
            asking_ms: times.asking,
            cpu_ms: times.processes.map(|processes| processes.cpu),
            peak_memory_bytes: times.processes.and_then(|processes| processes.peak()),
            peak_memory_together_bytes: times.processes.and_then(|processes| processes.peak_together()),
        }
    }
}

#[derive(Debug, Serialize)]
struct ModelCost {
    cost_usd: Option<f64>,
    tokens: u64,
    turns: u32,
}

impl ModelCost {
    fn new(usage: Usage) -> ModelCost {
        ModelCost { cost_usd: costs::dollars(usage), tokens: usage.tokens, turns: usage.turns }
    }
}

#[derive(Debug, Serialize)]
struct PlanningCost<'a> {
    plan: &'a str,
    agent: &'a str,
    /// Whether it has told what it used.
    told: bool,
    #[serde(flatten)]
    cost: ModelCost,
}

impl<'a> PlanningCost<'a> {
    fn new(planning: &'a Planning) -> PlanningCost<'a> {
        let Planning { plan, agent, usage, .. } = planning;
        PlanningCost { plan, agent, told: !usage.is_empty(), cost: ModelCost::new(planning.total()) }
    }
}

#[derive(Debug, Serialize)]
struct AgentCost {
    attempts: u32,
    /// Attempts that ended without a word of what they used.
    untold_attempts: u32,
    #[serde(flatten)]
    cost: ModelCost,
}

impl AgentCost {
    fn new(used: AgentUse) -> AgentCost {
        AgentCost { attempts: used.attempts, untold_attempts: used.untold, cost: ModelCost::new(used.usage) }
    }
}

#[derive(Debug, Serialize)]
struct Estimates {
    /// Completed, and with an estimate.
    tasks: usize,
    median_error_percent: Option<f64>,
    within_25_percent: u32,
}

impl Estimates {
    fn new(accuracy: &Accuracy) -> Option<Estimates> {
        (!accuracy.held.is_empty()).then(|| Estimates {
            tasks: accuracy.held.len(),
            median_error_percent: accuracy.median_error().map(tenths),
            within_25_percent: accuracy.within(),
        })
    }
}

/// With one decimal.
pub(super) fn tenths(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

/// What a task was expected to take.
#[derive(Debug, Serialize)]
struct Expectation {
    expected_ms: Millis,
    /// `estimate`, `history` or `similar`.
    basis: &'static str,
    samples: Option<u32>,
    /// What it took, as a multiple of that; nothing where it was not completed.
    ratio: Option<f64>,
}

impl Expectation {
    fn new(run: &Run, place: usize) -> Option<Expectation> {
        let (expected_ms, basis) = foretold(run.task(place).0)?;
        let (basis, samples) = match basis {
            Basis::Given => ("estimate", None),
            Basis::History(samples) => ("history", Some(samples)),
            Basis::Similar(samples) => ("similar", Some(samples)),
            Basis::Default => return None,
        };
        let ratio =
            Held::of(run, place).and_then(|held| held.ratio()).map(|ratio| (ratio * 100.0).round() / 100.0);
        Some(Expectation { expected_ms, basis, samples, ratio })
    }
}

/// One task's entry in the summary, and its own `result.json`.
#[derive(Debug, Serialize)]
pub struct TaskResult<'a> {
    task_id: &'a TaskId,
    name: &'a str,
    status: &'static str,
    error: Option<TaskError<'a>>,
    /// Of all who raced for it, where several did.
    pub(super) attempts: u32,
    interruptions: u32,
    executor: Option<u32>,
    /// Who did it in the end; of a task that never began, who is to.
    pub(super) agent: &'a str,
    /// As it calls itself, where it was heard of; else as it was asked for.
    pub(super) model: Option<&'a str>,
    worked_ms: Millis,
    /// Attempt by attempt.
    profile: Vec<AttemptProfile>,
    estimate: Option<Expectation>,
    cost_usd: Option<f64>,
    tokens: u64,
    /// Where its work is on the run's branch.
    commit: Option<&'a str>,
    files_touched: Option<&'a [String]>,
    lines_added: Option<u64>,
    lines_removed: Option<u64>,
    /// Whether its checks notice damage, where that was put to the test.
    gate_holds: Option<bool>,
    /// As tools told it before and after; nothing where none did.
    coverage: Option<CoverageFigures>,
    lint: Option<LintFigures>,
    /// What verifiers found in what landed, or in what failed; not there where they found nothing.
    #[serde(skip_serializing_if = "<[Finding]>::is_empty")]
    findings: &'a [Finding],
    /// Of what landed, in parts; nothing where nothing did.
    quality: Option<Quality>,
    /// Who raced for it, where several did.
    #[serde(skip_serializing_if = "Option::is_none")]
    race: Option<Contest<'a>>,
}

#[derive(Debug, Serialize)]
struct ReportedIssue<'a> {
    task_id: &'a TaskId,
    severity: &'static str,
    description: &'a str,
}

impl<'a> ReportedIssue<'a> {
    fn new(issue: &'a Issue) -> ReportedIssue<'a> {
        let Issue { task, severity, words } = issue;
        ReportedIssue { task_id: task, severity: severity.name(), description: words }
    }
}

#[derive(Debug, Serialize)]
struct ReportedDecision<'a> {
    task_id: &'a TaskId,
    attempt: Attempt,
    nature: &'static str,
    strategy: &'static str,
    reason: &'a str,
}

impl<'a> ReportedDecision<'a> {
    fn new(decided: &'a Decided) -> ReportedDecision<'a> {
        let Decided { task, attempt, nature, strategy, reason } = decided;
        let (nature, strategy) = (nature.name(), strategy.name());
        ReportedDecision { task_id: task, attempt: *attempt, nature, strategy, reason }
    }
}

#[derive(Debug, Serialize)]
struct ReportedCheckpoint<'a> {
    task_id: &'a TaskId,
    name: &'a str,
    commit: &'a str,
    reason: &'a str,
}

impl<'a> ReportedCheckpoint<'a> {
    fn new(secured: &'a Secured) -> ReportedCheckpoint<'a> {
        let Secured { task, name, commit, reason } = secured;
        ReportedCheckpoint { task_id: task, name, commit, reason }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum TaskError<'a> {
    Failed(&'a Failure),
    Skipped { class: &'static str, culprit: Option<&'a TaskId> },
}

impl<'a> TaskResult<'a> {
    pub fn new(run: &'a Run, place: usize) -> TaskResult<'a> {
        let (task, progress): (&Task, &Progress) = run.task(place);
        let doer = run.doer(place);
        let choice = run.agent_choice(doer);
        let landed = progress.landed.as_deref();
        let measured: Option<&Measured> = landed.and_then(|landed| landed.measured.as_deref());
        let each = |of: fn(&Progress) -> u32| {
            run.entrants(place).iter().map(|&at| of(run.progress(at))).sum::<u32>()
        };
        let usage = run.usage(place);
        TaskResult {
            task_id: &task.id,
            name: &task.name,
            status: progress.state.status().name(),
            error: match &progress.state {
                TaskState::Failed(failure) => Some(TaskError::Failed(failure)),
                TaskState::Skipped { culprit } => {
                    Some(TaskError::Skipped { class: "skipped", culprit: culprit.as_ref() })
                }
                _ => None,
            },
            attempts: progress.last_attempt + each(|one| one.last_attempt),
            interruptions: progress.interruptions + each(|one| one.interruptions),
            executor: run.progress(doer).executor,
            agent: choice.map_or_else(|| task.agent_name(), |choice: &AgentChoice| &choice.agent),
            model: run.model(doer).or_else(|| choice.and_then(|choice| choice.model.as_deref())),
            worked_ms: if run.is_raced(place) { run.took(place) } else { progress.worked },
            profile: AttemptProfile::all(run, place),
            estimate: Expectation::new(run, place),
            cost_usd: costs::dollars(usage),
            tokens: usage.tokens,
            commit: landed.map(|landed| landed.commit.as_str()),
            files_touched: landed.map(|landed| landed.touched.files.as_slice()),
            lines_added: landed.map(|landed| landed.touched.added),
            lines_removed: landed.map(|landed| landed.touched.removed),
            gate_holds: landed.and_then(|landed| landed.gate.as_ref()).map(|gate| gate.holds),
            coverage: measured.and_then(|measured| measured.coverage).map(CoverageFigures::new),
            lint: measured.and_then(|measured| measured.lint).map(LintFigures::new),
            findings: findings_of(progress),
            quality: quality::of(run, place),
            race: Contest::of(run, place),
        }
    }
}

/// What verifiers found in a task's work.
pub fn findings_of(progress: &Progress) -> &[Finding] {
    match (&progress.state, &progress.landed) {
        (TaskState::Failed(failure), _) => &failure.findings,
        (_, Some(landed)) => &landed.findings,
        _ => &[],
    }
}

/// Of all tasks, in percent with one decimal.
fn rate(summary: &Summary) -> Option<f64> {
    let (completed, total) = (f64::from(summary.completed), f64::from(summary.total));
    (summary.total > 0).then(|| (completed * 1000.0 / total).round() / 10.0)
}
