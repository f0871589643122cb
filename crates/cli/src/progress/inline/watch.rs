//! What a run looks like at the moment, followed from its records.

use std::collections::BTreeSet;
use std::time::Instant;

use conductor_core::run::event::{DrainReason, Event, StopReason};
use conductor_core::run::{Run, Stage as RunStage, Status, TaskState};
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::{Tick, Timestamp};
use conductor_engine::dispatch::board::Board;
use conductor_engine::host::clock::wall;
use conductor_engine::stores::bus::Records;
use conductor_tui::inline::Glyphs;

use super::super::block::{self, Manner, Picture, ROWS, Row};
use super::super::lines::{Lines, heading, is_colored, short_time};
use super::super::{Stage, terminal};
use super::ahead::Ahead;
use crate::end_block::one_line;

pub(super) struct Watch {
    run: Run,
    board: Board,
    ahead: Ahead,
    lines: Lines,
    manner: Manner,
    /// Those at work by when they began, and those that ask.
    running: BTreeSet<(Tick, usize)>,
    asking: BTreeSet<usize>,
    /// When the coordinator's time began, as far as can be told from here.
    zero: Option<Instant>,
    last: Tick,
    /// Lines that are yet to be shown.
    above: String,
    fresh: bool,
    shown: Vec<(String, usize)>,
}

impl Watch {
    pub(super) fn new(stage: &Stage<'_>) -> Watch {
        let colored = is_colored();
        Watch {
            run: stage.run.clone(),
            board: stage.board.clone(),
            ahead: Ahead::new(stage.graph.clone()),
            lines: Lines::new(stage.run, colored),
            manner: Manner { colored, glyphs: glyphs() },
            running: BTreeSet::new(),
            asking: places(stage.run, needs_person),
            zero: None,
            last: Tick(0),
            above: heading(stage) + "\n",
            fresh: true,
            shown: Vec::new(),
        }
    }

    /// Whether there is anything to show beside the time.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    pub(super) fn look(&mut self) {
        self.shown.clear();
        self.fresh = true;
    }

    pub(super) fn say(&mut self, line: &str) {
        self.above.push_str(line);
        self.above.push('\n');
        self.fresh = true;
    }

    pub(super) fn follow(&mut self, records: &Records) {
        let now = Instant::now();
        for record in records.iter() {
            // Starts are seen in the block.
            let line = self.lines.of(&record.event);
            if let Some(line) = line.filter(|_| !matches!(record.event, Event::AttemptStarted { .. })) {
                self.say(&line);
            }
            self.last = record.tick;
            let zero = now.checked_sub(std::time::Duration::from_millis(record.tick.0));
            self.zero = match record.event {
                Event::RunStarted { .. } => zero,
                _ => self.zero.min(zero).or(zero),
            };
            let place = about(&record.event).and_then(|task| self.run.place(task));
            if let Some(place) = place {
                self.forget(place);
            }
            if self.run.apply(record).is_err() {
                // A log that does not fit is the coordinator's to complain of.
                continue;
            }
            if matches!(record.event, Event::PlanAmended { .. }) {
                self.ahead.look_again(&self.run);
            }
            if let Some(place) = place {
                self.note(place);
            }
        }
        self.fresh = true;
    }

    fn forget(&mut self, place: usize) {
        if let TaskState::Running(running) = &self.run.progress(place).state {
            self.running.remove(&(running.since, place));
        }
        self.asking.remove(&place);
    }

    fn note(&mut self, place: usize) {
        let (task, progress) = self.run.task(place);
        match &progress.state {
            TaskState::Running(running) => {
                self.running.insert((running.since, place));
            }
            state if needs_person(state) => {
                self.asking.insert(place);
            }
            TaskState::Completed => self.ahead.learn(task, progress.worked),
            _ => {}
        }
    }

    pub(super) fn draw(&mut self) {
        self.fresh = false;
        let size = terminal::size();
        let block = block::lines(&self.picture(), size, self.manner);
        if self.above.is_empty() && block == self.shown {
            return;
        }
        terminal::draw(&self.above, &block, size.columns);
        self.above.clear();
        self.shown = block;
    }

    /// Shows what is left to be shown, and takes the block away.
    pub(super) fn leave(mut self) {
        terminal::draw(&std::mem::take(&mut self.above), &[], terminal::size().columns);
    }

    fn picture(&mut self) -> Picture {
        let now = self.now();
        let run = &self.run;
        let count = |status| run.count(status);
        Picture {
            total: run.total(),
            completed: count(Status::Completed),
            failed: count(Status::Failed),
            left_out: count(Status::Skipped) + count(Status::Cancelled),
            running: count(Status::Running),
            landing: self.running.iter().filter(|&&(_, place)| is_landing(run, place)).count() as u32,
            waiting: count(Status::Pending) + count(Status::Waiting),
            elapsed: run.active() + (now - self.last),
            rows: self.running.iter().take(ROWS + 1).map(|&(_, place)| self.row(place, now)).collect(),
            asks: self.asking.iter().filter_map(|&place| asks(run, place)).collect(),
            parked: parked(run, wall()),
            stage: self.stage(),
            path: Some(self.ahead.left(run, now)),
            spent: run.spent(),
            cap: run.options().limits.max_cost,
        }
    }

    fn stage(&self) -> Option<&'static str> {
        match self.run.stage() {
            RunStage::Draining(DrainReason::User) if self.is_stopping() => {
                Some("stopping: Ctrl-C again kills what runs")
            }
            RunStage::Draining(DrainReason::User) => Some("finishing: Ctrl-C again stops what runs"),
            RunStage::Draining(DrainReason::Budget) => Some("budget reached: nothing new starts"),
            RunStage::Draining(DrainReason::Unauthorized) => {
                Some("an agent is not let in: nothing new starts")
            }
            RunStage::Draining(DrainReason::FailFast) => Some("a task failed: nothing new starts"),
            _ if self.run.is_paused() => Some("paused: nothing new starts until conductor resume"),
            _ => None,
        }
    }

    /// Whether a running attempt is being interrupted.
    fn is_stopping(&self) -> bool {
        self.running.iter().any(|&(_, place)| match &self.run.progress(place).state {
            TaskState::Running(running) => running.stopping == Some(StopReason::Interrupted),
            _ => false,
        })
    }

    fn now(&self) -> Tick {
        let passed = self.zero.map(|zero| Tick(zero.elapsed().as_millis() as u64));
        passed.unwrap_or_default().max(self.last)
    }

    fn row(&self, place: usize, now: Tick) -> Row {
        let (task, progress) = self.run.task(place);
        let mut row = Row { task: task.id.to_string(), phase: "preparing", ..Row::default() };
        let TaskState::Running(running) = &progress.state else { return row };
        row.elapsed = now - running.since;
        match self.board.of(&task.id).filter(|doing| doing.attempt == running.attempt) {
            _ if running.ended => row.phase = "merging",
            Some(doing) => {
                row.phase = doing.phase.name();
                row.said = doing.said.map(|said| one_line(&said)).unwrap_or_default();
            }
            None => {}
        }
        if running.stopping.is_some() {
            row.phase = "stopping";
        }
        row
    }
}

fn glyphs() -> Glyphs {
    match terminal::knows_unicode() {
        true => Glyphs::Unicode,
        false => Glyphs::Ascii,
    }
}

/// Whether only its landing is left, of a task that is not one of those who race for another.
fn is_landing(run: &Run, place: usize) -> bool {
    let (task, progress) = run.task(place);
    matches!(&progress.state, TaskState::Running(running) if running.ended) && !task.is_entrant()
}

fn places(run: &Run, wanted: impl Fn(&TaskState) -> bool) -> BTreeSet<usize> {
    run.tasks().enumerate().filter(|(_, (_, progress))| wanted(&progress.state)).map(|(at, _)| at).collect()
}

fn needs_person(state: &TaskState) -> bool {
    matches!(state, TaskState::Asking { .. } | TaskState::InReview { .. })
}

/// The task whose state an event may change.
fn about(event: &Event) -> Option<&TaskId> {
    match event {
        Event::AttemptStarted { task, .. }
        | Event::AttemptEnded { task, .. }
        | Event::RetryScheduled { task, .. }
        | Event::QuestionAnswered { task, .. }
        | Event::ReviewRequested { task, .. }
        | Event::ReviewGiven { task, .. }
        | Event::WorkSetAside { task, .. }
        | Event::TaskCompleted { task, .. }
        | Event::TaskFailed { task, .. }
        | Event::TaskSkipped { task, .. }
        | Event::TaskCancelled { task }
        | Event::TaskReopened { task }
        | Event::TaskResolved { task, .. } => Some(task),
        _ => None,
    }
}

fn asks(run: &Run, place: usize) -> Option<(String, String)> {
    let (task, progress) = run.task(place);
    match &progress.state {
        TaskState::Asking { question, .. } => Some((task.id.to_string(), one_line(&question.to_string()))),
        TaskState::InReview { .. } => {
            Some((task.id.to_string(), "its work waits for your review: conductor review".to_owned()))
        }
        _ => None,
    }
}

/// Those whose time has not come; the others are asked again.
fn parked(run: &Run, now: Timestamp) -> Vec<(String, String)> {
    let waits = run.parked().iter().filter(|(_, until)| **until > now);
    waits.map(|(agent, until)| (agent.clone(), short_time(*until))).collect()
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::graph::Graph;
    use conductor_core::plan::{Command, Plan, Task, Work};
    use conductor_core::run::event::{Options, Outcome, Question};
    use conductor_core::schedule::{Decision, Input, Scheduler};
    use conductor_core::values::ids::{Attempt, RunId};
    use conductor_core::values::units::Now;

    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::parse(text).unwrap()
    }

    fn at(secs: u64) -> Now {
        Now { at: Timestamp(secs as i64 * 1000), tick: Tick(secs * 1000), jitter: 0.5 }
    }

    /// Three tasks of which two run at once, seen from their first record on.
    fn watched() -> (Scheduler, Watch) {
        let task = |name: &str| Task::new(id(name), Work::Run(Command::Line("true".into())));
        let plan = Plan { tasks: ["a", "b", "c"].map(task).into(), ..Plan::default() };
        let (run, _) = Run::create(plan, at(0));
        let options = Options::with_slots(2);
        let (scheduler, first) = Scheduler::start(run.clone(), options.clone(), at(1)).unwrap();
        let graph: Graph = scheduler.graph().clone();
        let name = RunId::parse("r1").unwrap();
        let stage = Stage {
            id: &name,
            run: &run,
            options: &options,
            graph: &graph,
            board: Board::default(),
            output: std::path::Path::new("/nowhere"),
            is_own: true,
        };
        let mut watch = Watch::new(&stage);
        follow(&mut watch, first);
        (scheduler, watch)
    }

    fn follow(watch: &mut Watch, decision: Decision) {
        watch.follow(&decision.records.into());
    }

    fn ended(scheduler: &mut Scheduler, secs: u64, task: &str, outcome: Outcome) -> Decision {
        let (task, attempt) = (id(task), Attempt(1));
        scheduler.handle(at(secs), Input::AttemptEnded { task, attempt, outcome, change: None, phases: None })
    }

    fn rows(watch: &mut Watch) -> Vec<String> {
        watch.picture().rows.into_iter().map(|row| row.task).collect()
    }

    #[test]
    fn those_at_work_are_shown_and_their_ends_stay_above() {
        let (mut scheduler, mut watch) = watched();
        assert_eq!(rows(&mut watch), ["a", "b"]);
        assert_eq!(watch.above, "run r1: 3 tasks, 2 at a time\n", "starts are seen in the block");
        follow(&mut watch, ended(&mut scheduler, 4, "a", Outcome::Succeeded));
        assert_eq!(rows(&mut watch), ["b", "c"]);
        let picture = watch.picture();
        assert_eq!((picture.completed, picture.running, picture.waiting), (1, 2, 0));
        assert!(watch.above.ends_with("[1/3] ok      a                    3.0s\n"), "{}", watch.above);
    }

    #[test]
    fn a_provider_that_takes_nothing_is_called_out_as_long_as_it_does() {
        let (mut scheduler, mut watch) = watched();
        let until = Timestamp(i64::MAX / 2);
        let parked = Input::ProviderParked { agent: "claude".into(), until };
        follow(&mut watch, scheduler.handle(at(2), parked));
        assert_eq!(watch.picture().parked[0].0, "claude");
        assert!(parked_at(&watch, until).is_empty());
    }

    fn parked_at(watch: &Watch, now: Timestamp) -> Vec<(String, String)> {
        parked(&watch.run, now)
    }

    #[test]
    fn a_question_is_called_out_until_it_is_answered() {
        let (mut scheduler, mut watch) = watched();
        let question =
            Question { tool: "Bash".into(), what: "rm\n-r \u{1b}]x\u{7}".into(), why: String::new() };
        follow(&mut watch, ended(&mut scheduler, 2, "b", Outcome::Asked(Box::new(question))));
        assert_eq!(watch.picture().asks, [("b".to_owned(), r"Bash: rm -r \x1b]x\x07".to_owned())]);
        assert_eq!(rows(&mut watch), ["a", "c"]);
        let answer = conductor_core::schedule::Request::Cancel(id("b"));
        follow(&mut watch, scheduler.handle(at(3), Input::Asked(answer)));
        assert!(watch.picture().asks.is_empty());
    }
}
