//! Whom to tell of what: which of a plan's notifications an event calls for, and with which words.

use serde::Serialize;

use crate::plan::{Notification, Notifications};
use crate::report;
use crate::run::costs;
use crate::run::event::{Capped, DrainReason, Event, Outcome, Question, RunOutcome};
use crate::run::{Run, Status};
use crate::values::ids::{RunId, TaskId};
use crate::values::template::{filled, names};

pub const SCHEMA: &str = "conductor.notification/1";

/// Words with one of these are about a task each.
const OF_A_TASK: [&str; 2] = ["task_id", "task_name"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    Complete,
    Failure,
    Input,
    Budget,
}

impl Occasion {
    pub fn name(self) -> &'static str {
        match self {
            Occasion::Complete => "complete",
            Occasion::Failure => "failure",
            Occasion::Input => "input",
            Occasion::Budget => "budget",
        }
    }

    fn list(self, all: &Notifications) -> &[Notification] {
        match self {
            Occasion::Complete => &all.on_complete,
            Occasion::Failure => &all.on_failure,
            Occasion::Input => &all.on_input,
            Occasion::Budget => &all.on_budget,
        }
    }
}

/// One thing to be told, in one way.
#[derive(Debug, Clone, PartialEq)]
pub struct Telling {
    pub how: Notification,
    pub message: String,
    pub news: News,
}

/// What happened, as a webhook gets it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct News {
    pub schema: &'static str,
    pub event: Occasion,
    pub run: RunId,
    pub task: Option<TaskId>,
    pub task_name: Option<String>,
    pub status: String,
    pub error: Option<String>,
    pub question: Option<String>,
    pub completed: u32,
    pub failed: u32,
    pub total: u32,
    pub elapsed_ms: u64,
    pub cost_usd: Option<f64>,
    /// In a sentence; chat services that take a webhook show this.
    pub text: String,
}

/// What an event calls for, with the run as it is after it.
pub fn tellings(id: &RunId, run: &Run, event: &Event) -> Vec<Telling> {
    let all = &run.plan().notifications;
    if all.is_empty() {
        return Vec::new();
    }
    let Some(news) = news(id, run, event) else { return Vec::new() };
    let of_a_task = news.task.is_some();
    let called_for = |how: &&Notification| {
        // An end is told of the whole run, unless it is to be told by its task's name.
        news.event != Occasion::Complete || of_a_task == names_a_task(how)
    };
    let list = news.event.list(all).iter().filter(called_for);
    list.map(|how| Telling { how: how.clone(), message: message(how, &news, run), news: news.clone() })
        .collect()
}

fn names_a_task(how: &Notification) -> bool {
    let words = words(how).unwrap_or_default();
    OF_A_TASK.iter().any(|name| names(words, name))
}

fn words(how: &Notification) -> Option<&str> {
    match how {
        Notification::Terminal { message }
        | Notification::Desktop { message }
        | Notification::Plugin { message, .. } => message.as_deref(),
        Notification::Sound { .. } | Notification::Webhook { .. } => None,
    }
}

fn news(id: &RunId, run: &Run, event: &Event) -> Option<News> {
    let bare = |event: Occasion, task: Option<&TaskId>, status: &str, text: String| {
        let name = task.and_then(|task| run.plan().task(task)).map(|task| task.name.clone());
        News {
            schema: SCHEMA,
            event,
            run: id.clone(),
            task: task.cloned(),
            task_name: name,
            status: status.to_owned(),
            error: None,
            question: None,
            completed: run.count(Status::Completed),
            failed: run.count(Status::Failed),
            total: run.total(),
            elapsed_ms: run.active().0,
            cost_usd: costs::dollars(run.spent()),
            text,
        }
    };
    // The end of an entrant is not announced; the end of the task it races for is.
    if is_end_of_entrant(run, event) {
        return None;
    }
    Some(match event {
        Event::TaskCompleted { task, .. } => {
            bare(Occasion::Complete, Some(task), Status::Completed.name(), format!("{task} is done"))
        }
        Event::RunFinished { outcome: RunOutcome::Completed } => {
            let text =
                format!("run {id} is done: {} of {} completed", run.count(Status::Completed), run.total());
            bare(Occasion::Complete, None, report::outcome_name(run.stage()), text)
        }
        Event::TaskFailed { task, failure } => {
            let text = format!("{task} failed: {}", failure.message);
            let error = Some(failure.message.clone());
            News { error, ..bare(Occasion::Failure, Some(task), Status::Failed.name(), text) }
        }
        Event::AttemptEnded { task, outcome: Outcome::Asked(question), .. } => {
            let text = format!("{task} asks: {question} (conductor task approve {task}, or deny {task})");
            let question = Some(question.to_string());
            News { question, ..bare(Occasion::Input, Some(task), Status::Waiting.name(), text) }
        }
        Event::ApprovalAsked { task, question } => {
            let text = approval_text(run, task, question);
            let question = Some(question.to_string());
            News { question, ..bare(Occasion::Input, Some(task), Status::Waiting.name(), text) }
        }
        Event::ReviewRequested { task, .. } => {
            let text = format!("{task} is done and waits for your review (conductor review)");
            bare(Occasion::Input, Some(task), Status::Waiting.name(), text)
        }
        Event::BudgetNeared { task, what, used, cap } => {
            let whose = task.as_ref().map_or_else(|| format!("run {id}"), ToString::to_string);
            let percent = u128::from(*used) * 100 / u128::from((*cap).max(1));
            let text = format!("{whose} has used {percent} % of its {}", budget(*what));
            bare(Occasion::Budget, task.as_ref(), "nears its budget", text)
        }
        Event::RunDrained { why: DrainReason::Budget } => {
            let text = format!("run {id} has reached its budget and starts nothing new");
            bare(Occasion::Budget, None, "budget reached", text)
        }
        _ => return None,
    })
}

fn is_end_of_entrant(run: &Run, event: &Event) -> bool {
    let (Event::TaskCompleted { task, .. } | Event::TaskFailed { task, .. }) = event else { return false };
    run.place(task).is_some_and(|place| run.raced_by(place).is_some())
}

fn approval_text(run: &Run, task: &TaskId, question: &Question) -> String {
    let held_up = match run.escalation() == Some(task) {
        true => "; nothing new starts before the answer",
        false => "",
    };
    let (why, what) = (question.why_visible(), question.what_visible());
    format!("{why}: {what}{held_up} (conductor task approve {task}, or deny {task})")
}

fn budget(what: Capped) -> &'static str {
    match what {
        Capped::Cost => "money",
        Capped::Tokens => "tokens",
        Capped::Turns => "turns",
        Capped::Time => "time",
        Capped::Attempts => "attempts",
    }
}

/// An unknown name stays as it is written.
fn message(how: &Notification, news: &News, run: &Run) -> String {
    let Some(words) = words(how) else { return news.text.clone() };
    let value = |name: &str| {
        Some(match name {
            "task_id" => news.task.as_ref().map(ToString::to_string).unwrap_or_default(),
            "task_name" => news.task_name.clone().unwrap_or_default(),
            "run_id" => news.run.to_string(),
            "event" => news.event.name().to_owned(),
            "status" => news.status.clone(),
            "error" => news.error.clone().unwrap_or_default(),
            "question" => news.question.clone().unwrap_or_default(),
            "completed" => news.completed.to_string(),
            "failed" => news.failed.to_string(),
            "total" => news.total.to_string(),
            "elapsed" => run.active().to_string(),
            "cost" => costs::words(run.spent()),
            other => format!("{{{other}}}"),
        })
    };
    filled(words, value).unwrap_or_else(|_| words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sketch::id;
    use crate::plan::{Command, Plan, Task, Work};
    use crate::run::event::{Failure, FailureClass, Options};
    use crate::schedule::{Input, Scheduler};
    use crate::values::ids::Attempt;
    use crate::values::units::{Now, Tick, Timestamp};

    fn terminal(message: Option<&str>) -> Notification {
        Notification::Terminal { message: message.map(str::to_owned) }
    }

    fn at(secs: u64) -> Now {
        Now { at: Timestamp(secs as i64 * 1000), tick: Tick(secs * 1000), jitter: 0.5 }
    }

    /// Everything that is told while these tasks come to these ends, one after the other.
    fn told(notifications: Notifications, ends: &[(&str, Outcome)]) -> Vec<String> {
        let task = |(name, _): &(&str, Outcome)| Task::new(id(name), Work::Run(Command::Line("x".into())));
        let plan = Plan { tasks: ends.iter().map(task).collect(), notifications, ..Plan::default() };
        let (mut run, _) = Run::create(plan, at(0));
        let (mut scheduler, first) = Scheduler::start(run.clone(), Options::with_slots(1), at(0)).unwrap();
        let mut records = first.records;
        for (number, (task, outcome)) in ends.iter().enumerate() {
            let (task, attempt, outcome) = (id(task), Attempt(1), outcome.clone());
            let ended = Input::AttemptEnded { task, attempt, outcome, change: None, phases: None };
            records.extend(scheduler.handle(at(number as u64 + 1), ended).records);
        }
        let name = RunId::parse("r1").unwrap();
        let mut told = Vec::new();
        for record in &records {
            run.apply(record).unwrap();
            told.extend(tellings(&name, &run, &record.event).into_iter().map(|telling| telling.message));
        }
        told
    }

    fn failed() -> Outcome {
        Outcome::Failed(Failure::new(FailureClass::Unauthorized, "exit code 1"))
    }

    #[test]
    fn an_end_is_told_once_unless_it_is_told_by_the_tasks_name() {
        let on_complete = vec![
            terminal(None),
            terminal(Some("{task_id} ({task_name}) is {status}, {completed}/{total}")),
            terminal(Some("{run_id}: {completed} after {elapsed}, {{braces}} {cost} {unknown}")),
        ];
        let all = Notifications { on_complete, ..Notifications::default() };
        let good = Outcome::Succeeded;
        assert_eq!(
            told(all.clone(), &[("a", good.clone()), ("b", good.clone())]),
            [
                "a (a) is completed, 1/2",
                "b (b) is completed, 2/2",
                "run r1 is done: 2 of 2 completed",
                "r1: 2 after 2.0s, {braces} $0.00 {unknown}",
            ]
        );
        assert_eq!(told(all, &[("a", good), ("b", failed())]), ["a (a) is completed, 1/2"]);
    }

    #[test]
    fn every_failure_and_every_question_is_told() {
        let all = Notifications {
            on_failure: vec![terminal(Some("{event} {task_id}: {error}")), terminal(None)],
            on_input: vec![terminal(Some("{task_id} {status}: {question}"))],
            ..Notifications::default()
        };
        let question = Question { tool: "Bash".into(), what: "make".into(), why: String::new() };
        let ends = [("a", failed()), ("b", Outcome::Asked(Box::new(question)))];
        assert_eq!(
            told(all, &ends),
            ["failure a: exit code 1", "a failed: exit code 1", "b waiting: Bash: make"]
        );
    }

    #[test]
    fn a_question_that_holds_everything_up_says_so() {
        use crate::plan::recovery::{Recovery, Strategy};
        let told = |way: Strategy| {
            let mut task = Task::new(TaskId::parse("a").unwrap(), Work::Run(Command::Line("x".into())));
            task.recovery = Some(Box::new(Recovery { ambiguous: vec![way], ..Recovery::default() }));
            let notifications = Notifications { on_input: vec![terminal(None)], ..Notifications::default() };
            let plan = Plan { tasks: vec![task], notifications, ..Plan::default() };
            let (mut run, _) = Run::create(plan, at(0));
            let (mut scheduler, first) =
                Scheduler::start(run.clone(), Options::with_slots(1), at(0)).unwrap();
            let outcome = Outcome::Failed(Failure::new(FailureClass::Exit, "exit code 1"));
            let (task, attempt) = (TaskId::parse("a").unwrap(), Attempt(1));
            let ended = Input::AttemptEnded { task, attempt, outcome, change: None, phases: None };
            let records = [first.records, scheduler.handle(at(1), ended).records].concat();
            let mut told = Vec::new();
            for record in &records {
                run.apply(record).unwrap();
                let all = tellings(&RunId::parse("r1").unwrap(), &run, &record.event);
                told.extend(all.into_iter().map(|telling| telling.message));
            }
            told
        };
        let how = "(conductor task approve a, or deny a)";
        let asks = "a failed and may be tried once more: exit code 1";
        assert_eq!(told(Strategy::Ask), [format!("{asks} {how}")]);
        let held = format!("{asks}; nothing new starts before the answer {how}");
        assert_eq!(told(Strategy::Escalate), [held]);
    }

    #[test]
    fn a_budget_is_told_of_when_it_is_near_and_when_it_is_reached() {
        let words = Notification::Terminal { message: Some("{event} {task_id}: {status}".into()) };
        let notifications =
            Notifications { on_budget: vec![words, terminal(None)], ..Notifications::default() };
        let (run, _) = Run::create(Plan { notifications, ..Plan::default() }, at(0));
        let name = RunId::parse("r1").unwrap();
        let told = |event: Event| {
            let all = tellings(&name, &run, &event).into_iter();
            all.map(|telling| telling.message).collect::<Vec<_>>()
        };
        let task = Some(TaskId::parse("a").unwrap());
        assert_eq!(
            told(Event::BudgetNeared { task, what: Capped::Turns, used: 9, cap: 10 }),
            ["budget a: nears its budget", "a has used 90 % of its turns"]
        );
        assert_eq!(
            told(Event::RunDrained { why: DrainReason::Budget }),
            ["budget : budget reached", "run r1 has reached its budget and starts nothing new"]
        );
        assert!(told(Event::RunDrained { why: DrainReason::User }).is_empty());
    }

    #[test]
    fn a_stray_brace_is_no_reason_to_say_nothing() {
        let all =
            Notifications { on_failure: vec![terminal(Some("{task_id} }"))], ..Notifications::default() };
        assert_eq!(told(all, &[("a", failed())]), ["{task_id} }"]);
    }
}
