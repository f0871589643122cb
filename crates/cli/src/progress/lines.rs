//! One line for each start and end, with a counter: what every view for people tells of an event.

use std::collections::{BTreeMap, HashMap, HashSet};

use conductor_core::plan::recovery::{Nature, Strategy};
use conductor_core::plan::{Amendment, Task};
use conductor_core::report;
use conductor_core::run::costs;
use conductor_core::run::event::{
    Again, Answerer, Capped, DrainReason, Event, Outcome, Report, ReviewVerdict, SetAside, StopReason, Usage,
};
use conductor_core::run::recovery_words;
use conductor_core::run::{Run, SettingsTouched, Stage, Status, Stray};
use conductor_core::values::counted::counted;
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::{Millis, Timestamp, Usd};

use crate::end_block::one_line;
use crate::output::style::{DIM, GREEN, RED, YELLOW, painted};

pub(super) struct Lines {
    total: usize,
    ended: usize,
    width: usize,
    /// Why and how long: what the end of each attempt said, until the task's own end is told.
    last: HashMap<TaskId, (Outcome, Millis)>,
    /// Why tasks cannot be done that are not begun.
    blocked: BTreeMap<TaskId, String>,
    /// Those who race for a task: their ends are told, and not counted.
    entrants: HashSet<TaskId>,
    colored: bool,
}

impl Lines {
    pub(super) fn new(run: &Run, colored: bool) -> Lines {
        let (total, ended) = (run.total() as usize, run.ended_count() as usize);
        let entrants = entrants(&run.plan().tasks).collect();
        let blocked = run.plan().execution.as_ref().map(|execution| execution.blocked.clone());
        let (width, blocked) = (total.to_string().len(), blocked.unwrap_or_default());
        Lines { total, ended, width, last: HashMap::new(), blocked, entrants, colored }
    }

    /// Whether it is one of those who race for a task.
    pub(super) fn is_entrant(&self, task: &TaskId) -> bool {
        self.entrants.contains(task)
    }

    /// What is told of an event, without the end of its line; nothing of most.
    pub(super) fn of(&mut self, event: &Event) -> Option<String> {
        self.line(event).map(|line| line.trim_end().to_owned())
    }

    fn line(&mut self, event: &Event) -> Option<String> {
        self.of_attempt(event)
            .or_else(|| self.of_retry(event))
            .or_else(|| self.of_question(event))
            .or_else(|| self.of_end(event))
            .or_else(|| self.of_run(event))
    }

    fn again(&self, task: &TaskId, worked: Millis) -> String {
        self.aside(DIM, "again", task, &format!("  its agent has gone on; at work for {worked}"))
    }

    /// What attempts do.
    fn of_attempt(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::StopRequested { task, why: StopReason::Preempted, .. } => {
                Some(self.aside(YELLOW, "yields", task, "  to something more urgent, and goes on later"))
            }
            Event::AttemptStarted { task, attempt, on, .. } => {
                let again = if attempt.0 > 1 { format!("  attempt {attempt}") } else { String::new() };
                let below: Vec<&str> = on.keys().map(TaskId::as_str).collect();
                let below = match below.is_empty() {
                    true => String::new(),
                    false => format!("  on the work of {}, which has not landed", below.join(", ")),
                };
                Some(self.aside(DIM, "start", task, &format!("{again}{below}")))
            }
            Event::LeaseLost { task, worker, .. } => {
                Some(self.aside(YELLOW, "lost", task, &format!("  its worker {worker} is gone or silent")))
            }
            Event::ShimLost { task, .. } => {
                Some(self.aside(YELLOW, "lost", task, "  the process that held its agent was ended"))
            }
            Event::AttemptReattached { task, worked, .. } => Some(self.again(task, *worked)),
            Event::WorkSetAside { task, why, .. } => {
                let words = match why {
                    SetAside::Changed { task } => {
                        format!("  the work of {task} below it has changed; it begins anew")
                    }
                    SetAside::DoesNotFit => {
                        "  it waits: work that it would begin on conflicts with what has landed".to_owned()
                    }
                };
                Some(self.aside(YELLOW, "aside", task, &words))
            }
            Event::AttemptEnded { outcome, elapsed, task, .. } => {
                self.last.insert(task.clone(), (outcome.clone(), *elapsed));
                if let Outcome::Asked(question) = outcome {
                    let words = one_line(&question.to_string());
                    let how = format!("conductor task approve {task}, or deny {task}");
                    return Some(self.aside(YELLOW, "asks", task, &format!("  {words}\n{:>18}{how}", "")));
                }
                matches!(outcome, Outcome::Interrupted)
                    .then(|| self.aside(YELLOW, "stopped", task, "  to be resumed"))
            }
            Event::RecoveryDecided { task, nature, strategy, reason, .. } => {
                let words = format!("  {}", one_line(&recovery_words(*nature, reason)));
                is_news(*nature, *strategy).then(|| self.aside(YELLOW, "decide", task, &words))
            }
            Event::CheckpointMade { task, name, reason, .. } => {
                let words = format!("  checkpoint {name} before {}", one_line(reason));
                Some(self.aside(DIM, "safe", task, &words))
            }
            Event::TaskReported { task, report: Report::Issue { severity, words }, .. } => {
                let words = format!("  {}: {}", severity.name(), one_line(words));
                Some(self.aside(YELLOW, "issue", task, &words))
            }
            Event::TaskReported { task, report: Report::Status(words), .. } => {
                Some(self.aside(DIM, "says", task, &format!("  {}", one_line(words))))
            }
            Event::ExpertiseLearned { task, lessons, .. } => {
                // What counts only once the task has landed is no news yet.
                let lesson = lessons.iter().find(|lesson| !lesson.once_landed)?;
                Some(self.aside(DIM, "learned", task, &format!("  {}", one_line(&lesson.draft.claim))))
            }
            Event::ConflictForeseen { task, with, files } => {
                let with = with.as_ref().map_or("what has landed", TaskId::as_str);
                let files = one_line(&files.join(", "));
                Some(self.aside(YELLOW, "ahead", task, &format!("  will conflict with {with} in {files}")))
            }
            _ => None,
        }
    }

    /// What is done once more, and why.
    fn of_retry(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::RetryScheduled { task, again: Again::Mend(round), .. } => {
                let why = one_line(&round.failure.message);
                Some(self.aside(YELLOW, "mend", task, &format!("  {why}")))
            }
            Event::RetryScheduled { task, again: Again::SentBack(round), .. } => {
                let why = one_line(&round.failure.message);
                Some(self.aside(YELLOW, "again", task, &format!("  {why}")))
            }
            Event::RetryScheduled { task, again: Again::Back, .. } => {
                let why = self.why(task);
                Some(self.aside(YELLOW, "again", task, &format!("  from a clean beginning: {why}")))
            }
            Event::RetryScheduled { task, again: Again::Model, .. } => {
                let why = self.why(task);
                Some(self.aside(YELLOW, "over", task, &format!("  to its next model: {why}")))
            }
            Event::RetryScheduled { task, again: Again::Other, .. } => {
                let why = self.why(task);
                Some(self.aside(YELLOW, "over", task, &format!("  to its next agent: {why}")))
            }
            Event::RetryScheduled { task, again: Again::Anew, .. } => {
                Some(self.aside(YELLOW, "again", task, "  does not fit what landed meanwhile, done anew"))
            }
            Event::RetryScheduled { task, delay, .. } => {
                let why = self.why(task);
                Some(self.aside(YELLOW, "retry", task, &format!("  in {delay}: {why}")))
            }
            _ => None,
        }
    }

    /// What the user is asked, and says.
    fn of_question(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::ApprovalAsked { task, question } => {
                let words = one_line(&format!("{}: {}", question.why_visible(), question.what_visible()));
                let how = format!("conductor task approve {task}, or deny {task}");
                Some(self.aside(YELLOW, "asks", task, &format!("  {words}\n{:>18}{how}", "")))
            }
            Event::ReviewRequested { task, .. } => {
                let how = format!("conductor review approve {task}, send-back {task} or drop {task}");
                let words = format!("  its work waits for you\n{:>18}{how}", "");
                Some(self.aside(YELLOW, "review", task, &words))
            }
            Event::ReviewGiven { task, verdict, .. } => {
                let words = match verdict {
                    ReviewVerdict::Approved { commit } => format!("approved as {commit:.10}"),
                    ReviewVerdict::Edited { change } => format!("edited, {:.10}", change.commit),
                    ReviewVerdict::SentBack { .. } => "sent back".to_owned(),
                    ReviewVerdict::Dropped => "dropped".to_owned(),
                };
                Some(self.aside(YELLOW, "review", task, &format!("  {words}")))
            }
            Event::QuestionAnswered { task, answer } => {
                let words = match (answer.allow, answer.by) {
                    (true, _) => "allowed",
                    (false, Answerer::Person) => "not allowed",
                    (false, Answerer::Deadline) => "denied: no answer within the time limit",
                };
                Some(self.aside(YELLOW, "answer", task, &format!("  {words}")))
            }
            _ => None,
        }
    }

    /// What became of a task.
    fn of_end(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::TaskCompleted { task, .. } => {
                let elapsed = self.last.get(task).map(|(_, elapsed)| elapsed.to_string()).unwrap_or_default();
                if !self.entrants.contains(task) {
                    self.last.remove(task);
                }
                Some(self.end(GREEN, "ok", task, &elapsed))
            }
            Event::TaskFailed { task, failure } => {
                let message = one_line(&failure.message);
                Some(self.end(RED, "FAILED", task, &message))
            }
            Event::TaskSkipped { task, culprit } => {
                let blocked = || self.blocked.get(task).map(|why| format!("blocked: {}", one_line(why)));
                let needs = culprit.as_ref().map(|culprit| format!("needs {culprit}"));
                let why = needs.or_else(blocked).unwrap_or_default();
                Some(self.end(YELLOW, "skip", task, &why))
            }
            Event::TaskCancelled { task } => Some(self.end(YELLOW, "cancel", task, "")),
            Event::TaskReopened { task } if self.entrants.contains(task) => None,
            Event::RaceDecided { task, winner, why, .. } => {
                if let Some(last) = self.last.remove(winner) {
                    self.last.insert(task.clone(), last);
                }
                Some(self.aside(GREEN, "wins", winner, &format!("  {}", one_line(why))))
            }
            Event::TaskReopened { .. } => {
                self.ended = self.ended.saturating_sub(1);
                None
            }
            _ => None,
        }
    }

    /// What concerns the whole run.
    fn of_run(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::PlanAmended { amendment, joined } => self.amended(amendment, *joined as usize),
            Event::BatchStarted { number, tasks } => {
                Some(format!("conductor: batch {number}, {}", counted(tasks.len(), "task")))
            }
            Event::BatchCompleted { number, result } => {
                let parts = [
                    (result.completed as usize, "completed"),
                    (result.unlanded.len(), "not landed yet"),
                    (result.failed.len(), "failed"),
                    (result.left_out.len(), "left out"),
                ];
                let parts = parts.into_iter().filter(|(count, _)| *count > 0);
                let parts = parts.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>();
                let (elapsed, cost) = (result.elapsed, costs::words(result.usage));
                let cost = if result.usage.is_nothing() { String::new() } else { format!(", {cost}") };
                Some(format!("conductor: batch {number} is over: {} in {elapsed}{cost}", parts.join(", ")))
            }
            Event::RunHandedOver { from, to } => {
                Some(format!("conductor: the run is handed over to another process{}", versions(from, to)))
            }
            Event::RunTakenOver { from, to } => {
                Some(format!("conductor: the run was taken over while it goes on{}", versions(from, to)))
            }
            Event::RunPaused { by: Some(task) } => {
                Some(format!("conductor: nothing new starts before {task} is answered"))
            }
            Event::ProviderParked { agent, until, outage: Some(why) } => {
                let (why, at) = (one_line(why), local_time(*until));
                Some(format!(
                    "conductor: {agent} does not answer ({why}); one task asks again at {at}, others wait"
                ))
            }
            Event::ProviderParked { agent, until, outage: None } => {
                let words = format!("{agent} takes nothing more until {}", local_time(*until));
                Some(format!("conductor: {words}; its tasks wait or go to others"))
            }
            Event::CheckoutTouched { tasks, what } => {
                let stray = Stray { tasks: tasks.clone(), what: what.clone() };
                Some(format!("conductor: {}", one_line(&report::stray_words(&stray))))
            }
            Event::GitSettingsTouched { tasks, what, .. } => {
                let (tasks, what) = (tasks.clone(), what.clone());
                let touched = SettingsTouched { tasks, what, undo: Vec::new() };
                Some(format!("conductor: {}", one_line(&touched.words())))
            }
            Event::BudgetNeared { task, what, used, cap } => {
                let whose = task.as_ref().map_or("the run".to_owned(), ToString::to_string);
                Some(format!("conductor: {}", near(&whose, *what, *used, *cap)))
            }
            Event::CapChanged { what, cap } => {
                Some(format!("conductor: the run may use {} from now on", amount(*what, *cap)))
            }
            Event::DrainLifted {} => Some("conductor: no cap is reached any more, the run goes on".into()),
            Event::PriorityChanged { task, priority } => {
                Some(format!("conductor: {task} has priority {} from now on", priority.name()))
            }
            Event::RunDrained { why: DrainReason::Budget } => {
                Some("budget reached, starting nothing new".into())
            }
            Event::RunDrained { why: DrainReason::Unauthorized } => {
                Some("an agent is not let in by its provider, starting nothing new".into())
            }
            Event::RunDrained { why: DrainReason::FailFast } => {
                Some("a task failed, starting nothing new".into())
            }
            _ => None,
        }
    }

    fn amended(&mut self, amendment: &Amendment, joined: usize) -> Option<String> {
        let (changed, new) = amendment.tasks.split_at(amendment.tasks.len() - joined);
        self.entrants.extend(entrants(new));
        self.total += new.iter().filter(|task| !task.is_entrant()).count();
        self.width = self.total.to_string().len();
        let told = [(new, "joined"), (changed, "updated")].into_iter();
        let told = told.filter(|(tasks, _)| !tasks.is_empty());
        let words: Vec<String> =
            told.map(|(tasks, how)| format!("{} {how}: {}", some(tasks), names(tasks))).collect();
        let by = amendment.by.as_ref().map(|task| format!(", as {task} proposed")).unwrap_or_default();
        (!words.is_empty()).then(|| format!("conductor: {}{by}", words.join("; ")))
    }

    fn why(&self, task: &TaskId) -> String {
        match self.last.get(task) {
            Some((Outcome::Failed(failure), _)) => one_line(&failure.message),
            _ => String::new(),
        }
    }

    fn end(&mut self, color: &str, word: &str, task: &TaskId, rest: &str) -> String {
        if self.entrants.contains(task) {
            let rest = if rest.is_empty() { String::new() } else { format!("  {rest}") };
            return self.aside(DIM, &word.to_lowercase(), task, &rest);
        }
        self.ended += 1;
        let (ended, total, width) = (self.ended, self.total, self.width);
        format!("[{ended:>width$}/{total}] {} {task:<20} {rest}", self.word(color, word))
    }

    fn aside(&self, color: &str, word: &str, task: &TaskId, rest: &str) -> String {
        let gap = 2 * self.width + 3;
        format!("{:gap$} {} {task}{rest}", "", self.word(color, word))
    }

    fn word(&self, color: &str, word: &str) -> String {
        painted(if self.colored { color } else { "" }, &format!("{word:<7}"))
    }
}

/// Whether a decision says more than the line of what follows from it.
fn is_news(nature: Nature, strategy: Strategy) -> bool {
    nature != Nature::Ambiguous || !matches!(strategy, Strategy::Retry | Strategy::Fail | Strategy::Mend)
}

fn entrants(tasks: &[Task]) -> impl Iterator<Item = TaskId> {
    tasks.iter().filter(|task| task.is_entrant()).map(|task| task.id.clone())
}

fn some(tasks: &[Task]) -> String {
    let count = tasks.iter().filter(|task| !task.is_entrant()).count();
    counted(count, "task")
}

/// The first of them by their names.
fn names(tasks: &[Task]) -> String {
    const MOST: usize = 10;
    let names: Vec<&str> = tasks.iter().take(MOST).map(|task| task.id.as_str()).collect();
    let more = if tasks.len() > MOST { ", …" } else { "" };
    names.join(", ") + more
}

fn local_time(at: Timestamp) -> String {
    in_words(at, "%Y-%m-%d %H:%M:%S")
}

/// For where there is little room.
pub(super) fn short_time(at: Timestamp) -> String {
    in_words(at, "%a %H:%M")
}

fn in_words(at: Timestamp, form: &str) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::system()).strftime(form).to_string()
}

pub(super) fn near(whose: &str, what: Capped, used: u64, cap: u64) -> String {
    let percent = u128::from(used) * 100 / u128::from(cap.max(1));
    let of = if what == Capped::Time { "time" } else { "budget" };
    format!("{whose} has used {percent} % of its {of}: {} of {}", amount(what, used), amount(what, cap))
}

/// So much of something that there is a cap on.
pub(crate) fn amount(what: Capped, amount: u64) -> String {
    match what {
        Capped::Cost => costs::words(Usage { cost: Usd(amount), ..Usage::default() }),
        Capped::Tokens => counted(amount, "token"),
        Capped::Turns => counted(amount, "turn"),
        Capped::Attempts => counted(amount, "attempt"),
        Capped::Time => Millis(amount).to_string(),
    }
}

/// What is said first.
pub(super) fn heading(shown: &super::Stage<'_>) -> String {
    let super::Stage { id, run, options, .. } = shown;
    let total = counted(run.total(), "task");
    // What was spent on planning is in the log of a new run too.
    let verb = match run.stage() {
        _ if !shown.is_own => "attached to run",
        Stage::Created => "run",
        _ => "resuming",
    };
    let done = match run.count(Status::Completed) {
        0 => String::new(),
        done => format!(", {done} done before"),
    };
    format!("{verb} {id}: {total}, {} at a time{done}", options.tasks_at_once())
}

pub(super) fn is_colored() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Where they are not the same.
fn versions(from: &str, to: &str) -> String {
    if from == to { String::new() } else { format!(" (version {from} to {to})") }
}
