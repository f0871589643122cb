//! What expertise costs: the choice of items for a task, and the rules by which an attempt teaches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::expertise::{
    Attempted, Draft, Item, ItemId, Kind, Lesson, Mended, Need, Ran, Source, Trouble, lessons, words_of,
};
use conductor_core::plan::{Plan, Task, Work};
use conductor_core::run::event::{AgentChoice, Event, Record};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::{Tick, Timestamp};
use conductor_engine::expertise::{Expertise, Project};

use super::report::Goal;
use super::scratch::Scratch;
use crate::Result;

const ITEMS: usize = 10_000;
const TURNS: usize = 200;

pub(super) struct Figures {
    /// The median of many.
    selection: Duration,
    /// The rules alone, and what they found taken into the store.
    learning: Duration,
    keeping: Duration,
}

pub(super) fn measure(scratch: &mut Scratch) -> Result<Figures> {
    eprintln!("measuring expertise: {ITEMS} items");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let folder = scratch.directory()?;
    let (selection, keeping) = runtime.block_on(async {
        let project = Project { key: folder.join("project"), root: folder.join("project") };
        let store = Expertise::open(&folder, project).await?;
        store.put_many(&(0..ITEMS).map(item).collect::<Vec<_>>()).await?;
        let mut times = Vec::new();
        for turn in 0..TURNS {
            let need = need(turn);
            let begun = Instant::now();
            let chosen = store.select(&need, ("run", &turn.to_string()), 15).await?.chosen;
            times.push(begun.elapsed());
            if chosen.is_empty() {
                return Err("nothing was chosen".into());
            }
        }
        let mut kept = Vec::new();
        for turn in 0..TURNS {
            let (run, log) = (RunId::parse(&format!("r{turn}")).ok_or("no name of a run")?, log(turn));
            let begun = Instant::now();
            store.take_log(&run, &log).await?;
            kept.push(begun.elapsed());
        }
        Ok::<_, Box<dyn std::error::Error>>((median(times), median(kept)))
    })?;
    Ok(Figures { selection, learning: learning(), keeping })
}

/// The log of a run with one task, which was given an item, taught three and landed.
fn log(turn: usize) -> Vec<Record> {
    let Ok(id) = TaskId::parse("t") else { return Vec::new() };
    let plan = Plan { tasks: vec![Task::new(id.clone(), Work::Prompt("Fix it".into()))], ..Plan::default() };
    let choice = AgentChoice { agent: "claude".into(), model: None, why: String::new() };
    let attempt = Attempt(1);
    let given = vec![item(turn).id];
    let lesson = |number: usize| Lesson {
        key: format!("{turn} {number}"),
        draft: item(ITEMS + turn * 3 + number).draft,
        source: Source::Rule,
        commit: Some("c".into()),
        quote: None,
        once_landed: number == 0,
    };
    let events = vec![
        Event::RunCreated { plan: Arc::new(plan), options: None },
        Event::AttemptStarted {
            task: id.clone(),
            attempt,
            executor: 1,
            choice: Some(Box::new(choice)),
            on: Default::default(),
        },
        Event::ExpertiseUsed { task: id.clone(), attempt, given, withheld: Vec::new(), held_out: false },
        Event::ExpertiseLearned { task: id.clone(), attempt, lessons: (0..3).map(lesson).collect() },
        Event::TaskCompleted { task: id, commit: None },
    ];
    let record =
        |(seq, event)| Record { seq: seq as u64 + 1, at: Timestamp(turn as i64), tick: Tick(0), event };
    events.into_iter().enumerate().map(record).collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

const WORDS: [&str; 24] = [
    "payment", "webhook", "retry", "token", "schema", "index", "cache", "queue", "worker", "report",
    "export", "import", "search", "filter", "render", "upload", "notify", "session", "invoice", "order",
    "stock", "price", "user", "group",
];

fn item(number: usize) -> Item {
    let word = |place: usize| WORDS[(number * 7 + place * (number % 11 + 1)) % WORDS.len()];
    let claim = format!("The {} of the {} needs the {} of case {number}.", word(0), word(1), word(2));
    let id = ItemId::of(Kind::Pattern, &claim);
    let scope = vec![format!("src/part{}/**", number % 200)];
    let draft = Draft { claim, kind: Kind::Pattern, domain: "api".to_owned(), scope, check: None };
    Item::new(id, draft, Source::User)
}

fn need(turn: usize) -> Need {
    let words = words_of("Make the payment webhook retry when the queue is full, with a report");
    Need { files: vec![format!("src/part{}/x.rs", turn % 200)], words, domain: "api".to_owned() }
}

/// An attempt with all that the rules look at: ten checks that were mended, 500 commands.
fn learning() -> Duration {
    let said = "warning: unused\n".repeat(39) + "error[E0433]: failed to resolve\n";
    let patch = "-use crate::x;\n+use super::x;\n".repeat(500);
    let mended: Vec<Mended> = (0..10)
        .map(|number| Mended {
            trouble: Trouble::Check { command: format!("cargo test -p part{number}") },
            said: said.clone(),
            files: vec![format!("src/part{number}/a.rs")],
            patch: patch.clone(),
        })
        .collect();
    let ran: Vec<Ran> =
        (0..500).map(|n| Ran { line: format!("cargo test case{n}"), failed: n % 3 == 0 }).collect();
    let files = ["a.rs", "b.rs", "c.rs"].map(str::to_owned);
    let words = words_of("Make the payment webhook retry");
    let attempt = Attempted { words: &words, files: &files, commit: Some("c"), mended: &mended, ran: &ran };
    let turn = |_| {
        let begun = Instant::now();
        std::hint::black_box(lessons(&attempt));
        begun.elapsed()
    };
    median((0..TURNS).map(turn).collect())
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let goal = |what: &str, limit: u64, time: Duration| Goal {
        what: what.to_owned(),
        limit: format!("< {limit} ms"),
        measured: format!("{:.2} ms", time.as_secs_f64() * 1000.0),
        met: time < Duration::from_millis(limit),
    };
    vec![
        goal("choosing a task's items among 10,000", 2, figures.selection),
        goal("the rules by which an attempt teaches", 5, figures.learning),
        goal("what an attempt taught, taken in beside 10,000 items", 5, figures.keeping),
    ]
}
