//! How long frames take, for `cargo xtask bench`: the view as it is, drawn into memory.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use conductor_core::Run;
use conductor_core::plan::{Command, Plan, Task, Work};
use conductor_core::run::event::{Options, Outcome, Record};
use conductor_core::schedule::{Input, Scheduler};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::{Now, Tick, Timestamp};
use conductor_engine::stores::StoredRun;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use crate::app::{App, Message, Watched};
use crate::data::state::Glyphs;
use crate::screens;
use crate::theme::{Depth, Theme};

const SIZE: (u16, u16) = (200, 50);
const SCROLLED: usize = 200;

/// Of a run with so many tasks, half of which are done.
#[derive(Debug, Clone, Copy)]
pub struct Frames {
    /// From the records of the log to the first frame.
    pub first: Duration,
    /// The mean and the longest of those in which the list is scrolled.
    pub scrolling: Duration,
    pub longest: Duration,
    /// From one more record to its frame.
    pub news: Duration,
}

/// Nothing where a run of so many tasks cannot be made.
pub fn measure(tasks: usize) -> Option<Frames> {
    let (records, stored) = recorded(tasks)?;
    let (before, last) = records.split_at(records.len() - 1);
    let begun = Instant::now();
    let watched = Watched::new(stored, before.to_vec()).ok()?;
    let mut app = App::new(Theme::named("default", Depth::True), Glyphs::Unicode, false, Vec::new());
    app.hear(Message::Opened(Box::new(watched)));
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).ok()?;
    terminal.draw(|frame| screens::draw(frame, &mut app)).ok()?;
    let first = begun.elapsed();
    let mut longest = Duration::ZERO;
    let all = Instant::now();
    for _ in 0..SCROLLED {
        let begun = Instant::now();
        app.key(&KeyEvent::new(KeyCode::PageDown, KeyModifiers::NONE));
        terminal.draw(|frame| screens::draw(frame, &mut app)).ok()?;
        longest = longest.max(begun.elapsed());
    }
    let scrolling = all.elapsed() / SCROLLED as u32;
    let begun = Instant::now();
    app.hear(Message::Records { run: RunId::parse("r1")?, records: last.to_vec() });
    terminal.draw(|frame| screens::draw(frame, &mut app)).ok()?;
    Some(Frames { first, scrolling, longest, news: begun.elapsed() })
}

/// A run of which half the tasks have ended.
fn recorded(tasks: usize) -> Option<(Vec<Record>, StoredRun)> {
    let id = |n: usize| TaskId::parse(&format!("task-{n:05}")).ok();
    let task = |n: usize| {
        let mut task = Task::new(id(n)?, Work::Run(Command::Line("true".into())));
        task.group = Some(format!("group {}", n / 50));
        Some(task)
    };
    let plan = Plan { tasks: (0..tasks).map(task).collect::<Option<_>>()?, ..Plan::default() };
    let mut now = Now { at: Timestamp(1_700_000_000_000), tick: Tick(0), jitter: 0.0 };
    let (run, created) = Run::create(plan, now);
    let (mut scheduler, first) = Scheduler::start(run, Options::with_slots(8), now).ok()?;
    let mut records: Vec<Record> = std::iter::once(created).chain(first.records).collect();
    for n in 0..tasks / 2 {
        now.tick.0 += 10;
        let (task, attempt, outcome) = (id(n)?, Attempt(1), Outcome::Succeeded);
        let ended = Input::AttemptEnded { task, attempt, outcome, change: None, phases: None };
        records.extend(scheduler.handle(now, ended).records);
    }
    let stored = StoredRun {
        id: RunId::parse("r1")?,
        directory: PathBuf::from("/"),
        source: "/tasks.yaml".to_owned(),
        tasks: tasks as u64,
        status: "running".to_owned(),
        created: now.at,
        shared: None,
    };
    Some((records, stored))
}
