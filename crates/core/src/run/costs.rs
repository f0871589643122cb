//! What runs have used, in lines by task, epic, model, agent, day or run.
//!
//! A fold over the logs and nothing but that. Commands cost no money and have no lines. What was not
//! reported, and what has no known price, is counted as such and never taken for nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::plan::{Plan, Work};
use crate::run::event::{Event, Planning, Record, Usage};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::Timestamp;

/// What the lines are by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Task,
    Epic,
    Model,
    Agent,
    Day,
    Run,
}

impl By {
    pub const ALL: [By; 6] = [By::Task, By::Epic, By::Model, By::Agent, By::Day, By::Run];

    pub fn name(self) -> &'static str {
        match self {
            By::Task => "task",
            By::Epic => "epic",
            By::Model => "model",
            By::Agent => "agent",
            By::Day => "day",
            By::Run => "run",
        }
    }

    pub fn named(name: &str) -> Option<By> {
        By::ALL.into_iter().find(|by| by.name() == name)
    }
}

/// Where nothing is said of an epic or a model.
pub const NONE: &str = "-";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub key: String,
    /// Whether it is of plans that were made, and not of tasks that were done.
    pub planning: bool,
    /// Of agents. One that used several models counts for each of them.
    pub attempts: u32,
    /// Those that ended without a word of what they used.
    pub untold: u32,
    pub usage: Usage,
}

/// A run's name and its log.
pub type Log<'a> = (&'a str, &'a [Record]);

/// Days and runs in the order of time, everything else by what it cost. `offset` is how many seconds local time is ahead
/// at a moment.
pub fn lines<'a>(
    logs: impl IntoIterator<Item = Log<'a>>,
    by: By,
    offset: impl Fn(Timestamp) -> i64,
) -> Vec<Line> {
    let mut sheet = Sheet { by, offset, places: HashMap::new(), lines: Vec::new() };
    for (run, records) in logs {
        sheet.read(run, records);
    }
    let mut lines = sheet.lines;
    match by {
        By::Run => {}
        By::Day => lines.sort_by(|a, b| a.key.cmp(&b.key)),
        _ => lines.sort_by(|a, b| {
            let weight = |line: &Line| (line.usage.cost, line.usage.tokens);
            weight(b).cmp(&weight(a)).then_with(|| a.key.cmp(&b.key))
        }),
    }
    lines
}

/// In dollars; nothing where a part of it has no known price.
pub fn dollars(usage: Usage) -> Option<f64> {
    (usage.unpriced == 0).then(|| usage.cost.dollars())
}

/// For people. What is not known is never shown as nothing.
pub fn words(usage: Usage) -> String {
    let at_most = if usage.estimated.0 > 0 { "≤" } else { "" };
    match (usage.unpriced, usage.cost.0) {
        (0, 0) => "$0.00".to_owned(),
        (0, cost) => format!("{at_most}{}", exact(cost)),
        (_, 0) => "unknown".to_owned(),
        (_, cost) => format!("{at_most}{} + unknown", exact(cost)),
    }
}

/// With as many digits as a single call needs.
fn exact(cost: u64) -> String {
    match cost {
        0..100 => format!("${:.6}", cost as f64 / 1e6),
        100..1_000_000 => format!("${:.4}", cost as f64 / 1e6),
        cost => format!("${:.2}", cost as f64 / 1e6),
    }
}

/// All of them together.
pub fn total(lines: &[Line]) -> Line {
    lines.iter().fold(Line { key: "total".to_owned(), ..Line::default() }, |mut sum, line| {
        sum.attempts += line.attempts;
        sum.untold += line.untold;
        sum.usage += line.usage;
        sum
    })
}

/// An attempt that has not ended.
struct Open {
    attempt: Attempt,
    agent: String,
    since: Timestamp,
    /// The lines in which it has been counted.
    told: BTreeSet<usize>,
}

struct Sheet<F> {
    by: By,
    offset: F,
    places: HashMap<(bool, String), usize>,
    lines: Vec<Line>,
}

impl<F: Fn(Timestamp) -> i64> Sheet<F> {
    fn read(&mut self, run: &str, records: &[Record]) {
        let mut plan = None;
        let mut open: BTreeMap<&TaskId, Open> = BTreeMap::new();
        for record in records {
            match &record.event {
                Event::RunCreated { plan: made, .. } => plan = Some(made.as_ref()),
                Event::PlanningAccounted { planning } => self.planned(run, planning),
                Event::AttemptStarted { task, attempt, choice, .. } => {
                    let agent = match choice {
                        Some(choice) => Some(choice.agent.clone()),
                        None => plan.and_then(|plan| prompted(plan, task)),
                    };
                    if let Some(agent) = agent {
                        let begun =
                            Open { attempt: *attempt, agent, since: record.at, told: BTreeSet::new() };
                        open.insert(task, begun);
                    }
                }
                Event::UsageReported { task, attempt, usage, model, taken_back } => {
                    let Some(of) = open.get_mut(task).filter(|open| open.attempt == *attempt) else {
                        continue;
                    };
                    let key = self.key(run, plan, task, of, model.as_deref(), record.at);
                    let line = self.line(key, false);
                    self.lines[line].usage += *usage;
                    if of.told.insert(line) {
                        self.lines[line].attempts += 1;
                    }
                    // It may have been told on another day.
                    let (mut rest, told) = (*taken_back, of.told.iter().copied());
                    for line in std::iter::once(line).chain(told.filter(|told| *told != line)) {
                        let before = std::mem::take(&mut self.lines[line].usage);
                        self.lines[line].usage = before.less(rest);
                        rest = rest.less(before);
                    }
                }
                Event::AttemptEnded { task, .. } => {
                    if let Some(of) = open.remove(task).filter(|open| open.told.is_empty()) {
                        let key = self.key(run, plan, task, &of, None, of.since);
                        let line = self.line(key, false);
                        self.lines[line].attempts += 1;
                        self.lines[line].untold += 1;
                    }
                }
                _ => {}
            }
        }
    }

    /// In lines of its own, so that it is not taken for a task's.
    fn planned(&mut self, run: &str, planning: &Planning) {
        let key = |model: Option<&str>| match self.by {
            By::Task | By::Epic => NONE.to_owned(),
            By::Model => model.unwrap_or(NONE).to_owned(),
            By::Agent => planning.agent.clone(),
            By::Day => day(planning.at, (self.offset)(planning.at)),
            By::Run => run.to_owned(),
        };
        let used: Vec<(String, Usage)> =
            planning.usage.iter().map(|one| (key(one.model.as_deref()), one.usage)).collect();
        let untold = used.is_empty().then(|| key(None));
        let mut told = BTreeSet::new();
        for (key, usage) in used {
            let line = self.line(key, true);
            self.lines[line].usage += usage;
            self.lines[line].attempts += u32::from(told.insert(line));
        }
        if let Some(key) = untold {
            let line = self.line(key, true);
            self.lines[line].attempts += 1;
            self.lines[line].untold += 1;
        }
    }

    fn key(
        &self,
        run: &str,
        plan: Option<&Plan>,
        task: &TaskId,
        of: &Open,
        model: Option<&str>,
        at: Timestamp,
    ) -> String {
        match self.by {
            By::Task => {
                let race = plan.and_then(|plan| plan.task(task)).and_then(|task| task.entrant_of());
                race.unwrap_or(task).to_string()
            }
            By::Epic => {
                let epic = plan.and_then(|plan| plan.task(task)).and_then(|task| task.epic.clone());
                epic.unwrap_or_else(|| NONE.to_owned())
            }
            By::Model => model.unwrap_or(NONE).to_owned(),
            By::Agent => of.agent.clone(),
            By::Day => day(at, (self.offset)(at)),
            By::Run => run.to_owned(),
        }
    }

    fn line(&mut self, key: String, planning: bool) -> usize {
        let next = self.lines.len();
        let place = *self.places.entry((planning, key.clone())).or_insert(next);
        if place == next {
            self.lines.push(Line { key, planning, ..Line::default() });
        }
        place
    }
}

/// Who does a prompt by the plan, for logs that do not say who did.
fn prompted(plan: &Plan, task: &TaskId) -> Option<String> {
    let task = plan.task(task)?;
    matches!(task.work, Work::Prompt(_)).then(|| task.agent_name().to_owned())
}

/// The date, as `2026-11-16`.
pub(crate) fn day(at: Timestamp, offset: i64) -> String {
    let days = (at.0.div_euclid(1000) + offset).div_euclid(86_400);
    // Years are taken to begin in March, so that the leap day is their last.
    let (era, of_era) = ((days + 719_468).div_euclid(146_097), (days + 719_468).rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Command, Task};
    use crate::run::Run;
    use crate::run::event::{AgentChoice, ModelUsage, Options, Outcome};
    use crate::values::units::{Millis, Now, Tick, Usd};

    const NOON: i64 = 1_794_830_400_000;

    struct Book {
        records: Vec<Record>,
    }

    impl Book {
        /// Two prompts, one of them in an epic, and a command.
        fn new() -> Book {
            let id = |name: &str| TaskId::parse(name).unwrap();
            let mut ui = Task::new(id("ui"), Work::Prompt("do it".into()));
            ui.epic = Some("front".into());
            let api = Task::new(id("api"), Work::Prompt("do it".into()));
            let make = Task::new(id("make"), Work::Run(Command::Line("make".into())));
            let plan = Plan { tasks: vec![ui, api, make], ..Plan::default() };
            let at = Timestamp(NOON);
            let (_, created) = Run::create(plan, Now { at, tick: Tick(0), jitter: 0.0 });
            let mut book = Book { records: vec![created] };
            book.add(0, Event::RunStarted { options: Box::new(Options::with_slots(1)) });
            book
        }

        fn add(&mut self, hours: i64, event: Event) {
            let at = Timestamp(NOON + hours * 3_600_000);
            self.records.push(Record { seq: self.records.len() as u64 + 1, at, tick: Tick(0), event });
        }

        fn attempt(
            &mut self,
            hours: i64,
            task: &str,
            number: u32,
            agent: Option<&str>,
            used: &[(&str, u64, u64)],
        ) {
            let (task, attempt) = (TaskId::parse(task).unwrap(), Attempt(number));
            let choice = agent
                .map(|agent| Box::new(AgentChoice { agent: agent.into(), model: None, why: String::new() }));
            self.add(
                hours,
                Event::AttemptStarted {
                    task: task.clone(),
                    attempt,
                    executor: 1,
                    choice,
                    on: Default::default(),
                },
            );
            for &(model, cost, unpriced) in used {
                let usage = Usage { cost: Usd(cost), tokens: 100, turns: 1, unpriced, ..Usage::default() };
                let (task, model) = (task.clone(), Some(model.into()));
                let taken_back = Usage::default();
                self.add(hours, Event::UsageReported { task, attempt, usage, model, taken_back });
            }
            let (outcome, elapsed) = (Outcome::Succeeded, Millis(5));
            self.add(
                hours,
                Event::AttemptEnded {
                    task,
                    attempt,
                    outcome,
                    elapsed,
                    executor: 1,
                    change: None,
                    phases: None,
                },
            );
        }
    }

    fn book() -> Book {
        let mut book = Book::new();
        book.attempt(0, "ui", 1, Some("claude"), &[("opus", 40, 0), ("haiku", 2, 0), ("opus", 10, 0)]);
        book.attempt(1, "ui", 2, Some("codex"), &[("unpriced", 0, 100)]);
        book.attempt(12, "api", 1, None, &[]);
        book.attempt(13, "make", 1, None, &[]);
        book
    }

    fn told(by: By, offset: i64) -> Vec<String> {
        let book = book();
        let lines = lines([("r1", book.records.as_slice())], by, |_| offset);
        let total = total(&lines);
        let line = |line: &Line| {
            let Usage { cost, tokens, turns, unpriced, .. } = line.usage;
            format!("{} {}-{} {} {tokens}/{unpriced} {turns}", line.key, line.attempts, line.untold, cost.0)
        };
        assert_eq!(
            (total.usage.cost, total.usage.tokens, total.usage.unpriced),
            (Usd(52), 400, 100),
            "{by:?}"
        );
        lines.iter().map(line).collect()
    }

    #[test]
    fn each_kind_of_line_has_all_of_it() {
        assert_eq!(told(By::Task, 0), ["ui 2-0 52 400/100 4", "api 1-1 0 0/0 0"]);
        assert_eq!(told(By::Epic, 0), ["front 2-0 52 400/100 4", "- 1-1 0 0/0 0"]);
        assert_eq!(told(By::Agent, 0), ["claude 2-1 52 300/0 3", "codex 1-0 0 100/100 1"]);
        assert_eq!(
            told(By::Model, 0),
            ["opus 1-0 50 200/0 2", "haiku 1-0 2 100/0 1", "unpriced 1-0 0 100/100 1", "- 1-1 0 0/0 0"]
        );
        assert_eq!(told(By::Run, 0), ["r1 3-1 52 400/100 4"]);
    }

    #[test]
    fn a_day_is_as_long_as_the_reader_has_it() {
        assert_eq!(told(By::Day, 0), ["2026-11-16 2-0 52 400/100 4", "2026-11-17 1-1 0 0/0 0"]);
        assert_eq!(told(By::Day, -3600), ["2026-11-16 3-1 52 400/100 4"]);
        assert_eq!(told(By::Day, 12 * 3600), ["2026-11-17 3-1 52 400/100 4"]);
        for (seconds, date) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (951_782_400, "2000-02-29"),
            (4_107_542_399, "2100-02-28"),
        ] {
            assert_eq!(day(Timestamp(seconds * 1000), 0), date);
        }
    }

    #[test]
    fn what_is_not_known_is_not_nothing() {
        let usage = |cost, unpriced| Usage { cost: Usd(cost), unpriced, ..Usage::default() };
        let told =
            [usage(0, 0), usage(5_500, 0), usage(1_234_567, 0), usage(0, 9), usage(5_500, 9)].map(words);
        assert_eq!(told, ["$0.00", "$0.0055", "$1.23", "unknown", "$0.0055 + unknown"]);
        assert_eq!((dollars(usage(5_500, 0)), dollars(usage(5_500, 9))), (Some(0.0055), None));
    }

    #[test]
    fn planning_has_lines_of_its_own() {
        let planning = |usage: &[(Option<&str>, u64)]| Planning {
            plan: "p1".into(),
            agent: "claude".into(),
            at: Timestamp(NOON),
            analysed_in: Millis(0),
            planned_in: Millis(0),
            usage: usage
                .iter()
                .map(|(model, cost)| ModelUsage {
                    model: model.map(Into::into),
                    usage: Usage { cost: Usd(*cost), tokens: 7, turns: 1, ..Usage::default() },
                })
                .collect(),
        };
        let made = |planning| {
            let event = Event::PlanningAccounted { planning: Box::new(planning) };
            vec![Record { seq: 1, at: Timestamp(0), tick: Tick(0), event }]
        };
        let (told, silent) = (made(planning(&[(Some("opus"), 30), (Some("haiku"), 1)])), made(planning(&[])));
        let mut book = book();
        book.records.insert(1, told[0].clone());
        let all = |by| {
            let logs = [("r1", book.records.as_slice()), ("p2", silent.as_slice())];
            let lines = lines(logs, by, |_| 0);
            assert_eq!(total(&lines).usage.cost, Usd(83), "{by:?}");
            let planned = lines.iter().filter(|line| line.planning);
            planned
                .map(|line| format!("{} {}-{} {}", line.key, line.attempts, line.untold, line.usage.cost.0))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(By::Task), ["- 2-1 31"]);
        assert_eq!(all(By::Agent), ["claude 2-1 31"]);
        assert_eq!(all(By::Model), ["opus 1-0 30", "haiku 1-0 1", "- 1-1 0"]);
        assert_eq!(all(By::Day), ["2026-11-16 2-1 31"]);
        assert_eq!(all(By::Run), ["r1 1-0 31", "p2 1-1 0"]);
    }

    #[test]
    fn runs_are_added_up() {
        let (one, two) = (book(), book());
        let lines = lines([("r1", one.records.as_slice()), ("r2", two.records.as_slice())], By::Task, |_| 0);
        assert_eq!((lines[0].key.as_str(), lines[0].attempts, lines[0].usage.cost), ("ui", 4, Usd(104)));
    }
}
