//! What of a run needs the user now, and what happens if the user does nothing.

use std::collections::HashMap;

use crate::plan::Plan;
use crate::run::event::{
    ASK_HUMAN, Capped, DrainReason, FOLLOW_UP, Failure, FailureClass, Question, RECOVERY, visible,
};
use crate::run::{Progress, Run, Stage, TaskState};
use crate::values::counted::counted;
use crate::values::ids::TaskId;
use crate::values::units::{Millis, Timestamp};

/// So many tasks that are held up are named.
const NAMED: usize = 3;

/// In the order of their urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeedKind {
    /// An agent wants to do something.
    Permission,
    /// An agent wants to know something.
    Question,
    /// May a task be done at all?
    FollowUp,
    /// May a failed task be tried once more?
    Recovery,
    Review,
    /// A provider does not let an agent in.
    Login,
    Conflict,
    Failed,
    /// A cap of the run was reached.
    Budget,
    /// Its coordinator is gone or was told to stop.
    Left,
    /// A provider takes nothing more until then.
    Parked,
}

impl NeedKind {
    pub fn name(self) -> &'static str {
        match self {
            NeedKind::Permission => "permission",
            NeedKind::Question => "question",
            NeedKind::FollowUp => "follow_up",
            NeedKind::Recovery => "recovery",
            NeedKind::Review => "review",
            NeedKind::Login => "login",
            NeedKind::Conflict => "conflict",
            NeedKind::Failed => "failed",
            NeedKind::Budget => "budget",
            NeedKind::Left => "left",
            NeedKind::Parked => "parked",
        }
    }

    pub const ALL: [NeedKind; 11] = [
        NeedKind::Permission,
        NeedKind::Question,
        NeedKind::FollowUp,
        NeedKind::Recovery,
        NeedKind::Review,
        NeedKind::Login,
        NeedKind::Conflict,
        NeedKind::Failed,
        NeedKind::Budget,
        NeedKind::Left,
        NeedKind::Parked,
    ];
}

#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    pub kind: NeedKind,
    pub task: Option<TaskId>,
    pub since: Option<Timestamp>,
    /// What it is about, in a sentence.
    pub words: String,
    /// What there is to see of it: a command, the last lines of a check, hunks.
    pub evidence: String,
    /// By which rule it is asked; of a cap that was reached, its key.
    pub why: String,
    /// When what is said in `otherwise` happens by itself.
    pub due: Option<Timestamp>,
    /// What happens if the user does nothing.
    pub otherwise: String,
    /// How many tasks are held up by it.
    pub held: usize,
}

/// What needs the user in a run, the most urgent first. `is_live`: whether a coordinator drives it.
pub fn of(run: &Run, is_live: bool) -> Vec<Need> {
    let mut looking = Looking { run, is_live, after: None };
    let mut needs: Vec<Need> = Vec::new();
    for (place, task, progress) in run.asked() {
        needs.extend(looking.at_task(place, &task.id, progress));
    }
    needs.extend(looking.at_run());
    for (agent, until) in run.parked().iter().filter(|_| is_live) {
        needs.push(parked(agent, *until));
    }
    needs.sort_by_key(|need| (need.kind, need.due, need.since));
    needs
}

struct Looking<'a> {
    run: &'a Run,
    is_live: bool,
    /// Which tasks come directly after each; made when it is first asked for.
    after: Option<HashMap<&'a TaskId, Vec<usize>>>,
}

impl<'a> Looking<'a> {
    fn at_task(&mut self, place: usize, task: &'a TaskId, progress: &Progress) -> Option<Need> {
        let (kind, since, words, evidence, why) = match &progress.state {
            TaskState::Asking { question, since } => {
                let (kind, words) = asked(question);
                (kind, Some(*since), words, question.what_visible(), question.why_visible())
            }
            TaskState::InReview { since, .. } => {
                let words = "its work is done and checked, and waits for your review".to_owned();
                (NeedKind::Review, Some(*since), words, String::new(), String::new())
            }
            TaskState::Failed(failure) => {
                let kind = failed(failure);
                (kind, progress.ended, failure.message.clone(), failure.evidence.to_string(), String::new())
            }
            _ => return None,
        };
        let held =
            self.held_by(task, matches!(kind, NeedKind::Failed | NeedKind::Conflict | NeedKind::Login));
        let due = self.due(place, kind, since);
        let otherwise = self.otherwise(kind, due.is_some(), &held);
        Some(Need {
            kind,
            task: Some(task.clone()),
            since,
            words,
            evidence,
            why,
            due,
            otherwise,
            held: held.len(),
        })
    }

    /// Tasks that cannot go on without it: all that need it and have not ended, or were skipped for it.
    fn held_by(&mut self, task: &'a TaskId, has_failed: bool) -> Vec<&'a TaskId> {
        let run = self.run;
        let plan: &'a Plan = run.plan();
        let after = self.after.get_or_insert_with(|| {
            let mut after: HashMap<&TaskId, Vec<usize>> = HashMap::new();
            for (place, task) in plan.tasks.iter().enumerate() {
                for on in &task.dependencies {
                    after.entry(&on.id).or_default().push(place);
                }
            }
            after
        });
        let mut held: Vec<&TaskId> = Vec::new();
        let mut looked_at = std::collections::HashSet::new();
        let mut ahead: Vec<&TaskId> = vec![task];
        while let Some(next) = ahead.pop() {
            for &place in after.get(next).map_or(&[][..], Vec::as_slice) {
                let state = &run.progress(place).state;
                let waits = matches!(state, TaskState::Pending | TaskState::Waiting { .. });
                let fell = has_failed && matches!(state, TaskState::Skipped { .. });
                if (waits || fell) && looked_at.insert(place) {
                    held.push(&plan.tasks[place].id);
                    ahead.push(&plan.tasks[place].id);
                }
            }
        }
        held
    }

    /// When it counts as denied.
    fn due(&self, place: usize, kind: NeedKind, since: Option<Timestamp>) -> Option<Timestamp> {
        if !self.is_live || kind >= NeedKind::Review {
            return None;
        }
        let own = self.run.plan().tasks[place].permissions.as_ref().and_then(|rules| rules.answer_within);
        let within: Millis = own.or(self.run.options().answer_within)?;
        Some(Timestamp(since?.0 + i64::try_from(within.0).unwrap_or(i64::MAX / 2)))
    }

    fn otherwise(&self, kind: NeedKind, has_time: bool, held: &[&TaskId]) -> String {
        let waiting = match held.len() {
            0 => String::new(),
            _ => format!("; {} waiting for it", list(held, "is", "are")),
        };
        match kind {
            NeedKind::Permission | NeedKind::Question if has_time => {
                "it counts as denied, and the agent goes on without it".to_owned()
            }
            NeedKind::FollowUp if has_time => "it counts as denied, and the task is skipped".to_owned(),
            NeedKind::Recovery if has_time => "it counts as denied, and the task stays failed".to_owned(),
            _ if kind < NeedKind::Review => match (self.is_live, self.run.options().leave_unanswered) {
                (false, _) => format!("it waits until the run is resumed; nothing is lost{waiting}"),
                (true, true) => {
                    format!(
                        "the rest goes on, then the run stops and can be resumed; nothing is lost{waiting}"
                    )
                }
                (true, false) => format!("it waits and takes no slot; nothing is lost{waiting}"),
            },
            NeedKind::Review => format!("it does not land; nothing is lost{waiting}"),
            NeedKind::Conflict => format!("its work is kept and does not land{}", fallen(held)),
            // Of a run that is over, its end is known.
            _ if matches!(self.run.stage(), Stage::Finished(_)) => format!("it stays failed{}", fallen(held)),
            _ => format!("it stays failed, and the run ends incomplete{}", fallen(held)),
        }
    }

    fn at_run(&self) -> Option<Need> {
        let run = self.run;
        let open = run.total() - run.ended_count();
        let left = |kind, words: String, otherwise: &str| Need {
            kind,
            task: None,
            since: run.ended(),
            words,
            evidence: String::new(),
            why: String::new(),
            due: None,
            otherwise: otherwise.to_owned(),
            held: open as usize,
        };
        let stays = "nothing goes on and nothing more is spent; what has landed stays on its branch";
        let open_tasks = counted(u64::from(open), "task");
        match run.stage() {
            Stage::Finished(_) | Stage::Created => None,
            Stage::Stopped(DrainReason::Budget) | Stage::Draining(DrainReason::Budget) => {
                let otherwise = match self.is_live {
                    true => "what runs ends, nothing new starts, and then the run stops; it can be resumed",
                    false => stays,
                };
                let words = format!("the run reached its cap with {open_tasks} open");
                let why = reached(run).map_or_else(String::new, str::to_owned);
                Some(Need { why, ..left(NeedKind::Budget, words, otherwise) })
            }
            Stage::Stopped(DrainReason::Unauthorized) => Some(left(
                NeedKind::Login,
                format!("a provider does not let its agent in; {open_tasks} open"),
                stays,
            )),
            // The questions themselves are told. When none is left, the run still waits to be resumed.
            Stage::Stopped(DrainReason::Person) => {
                let waits = |progress: &Progress| {
                    matches!(progress.state, TaskState::Asking { .. } | TaskState::InReview { .. })
                };
                let is_answered = !run.asked().any(|(_, _, progress)| waits(progress));
                let words =
                    format!("what it waited for is decided, and it was not resumed; {open_tasks} open");
                is_answered.then(|| left(NeedKind::Left, words, stays))
            }
            Stage::Stopped(_) => {
                Some(left(NeedKind::Left, format!("the run was stopped with {open_tasks} open"), stays))
            }
            Stage::Active | Stage::Draining(_) if !self.is_live => {
                Some(left(NeedKind::Left, format!("the coordinator is gone, with {open_tasks} open"), stays))
            }
            Stage::Active | Stage::Draining(_) => None,
        }
    }
}

/// The key of the cap for which the run is left; of its time where none of the others is reached.
fn reached(run: &Run) -> Option<&'static str> {
    let (options, spent) = (run.options(), run.spent());
    let used = [
        (Capped::Cost, spent.cost.0, "max_cost"),
        (Capped::Tokens, spent.tokens, "max_tokens"),
        (Capped::Attempts, u64::from(run.attempts()), "max_attempts"),
    ];
    let is_reached = |what: Capped, used: u64| options.cap(what).is_some_and(|cap| used >= cap);
    let known = used.into_iter().find(|(what, used, _)| is_reached(*what, *used)).map(|(_, _, key)| key);
    // Attempts count from their beginning for the scheduler, and here from their end.
    let begun = || options.cap(Capped::Attempts).map(|_| "max_attempts");
    known.or_else(|| options.cap(Capped::Time).map(|_| "max_time")).or_else(begun)
}

fn asked(question: &Question) -> (NeedKind, String) {
    let kind = match question.tool.as_str() {
        FOLLOW_UP => NeedKind::FollowUp,
        ASK_HUMAN => NeedKind::Question,
        RECOVERY => NeedKind::Recovery,
        _ => NeedKind::Permission,
    };
    let words = match kind {
        NeedKind::Permission => format!("may it use {}?", visible(&question.tool)),
        _ => question.put(),
    };
    (kind, words)
}

fn failed(failure: &Failure) -> NeedKind {
    match failure.class {
        FailureClass::Conflict => NeedKind::Conflict,
        FailureClass::Unauthorized => NeedKind::Login,
        _ => NeedKind::Failed,
    }
}

fn fallen(held: &[&TaskId]) -> String {
    match held.len() {
        0 => String::new(),
        _ => format!("; {} not done", list(held, "is", "are")),
    }
}

fn list(tasks: &[&TaskId], one: &str, several: &str) -> String {
    match tasks {
        [task] => format!("{task} {one}"),
        [first @ .., last] if tasks.len() <= NAMED => {
            let first: Vec<&str> = first.iter().map(|task| task.as_str()).collect();
            format!("{} and {last} {several}", first.join(", "))
        }
        _ => format!("{} {several}", counted(tasks.len() as u64, "task")),
    }
}

fn parked(agent: &str, until: Timestamp) -> Need {
    Need {
        kind: NeedKind::Parked,
        task: None,
        since: None,
        words: format!("the provider of {agent} takes nothing more for now"),
        evidence: agent.to_owned(),
        why: String::new(),
        due: Some(until),
        otherwise: "it goes on by itself, in the same session".to_owned(),
        held: 0,
    }
}
