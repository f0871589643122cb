//! Keys and what they want done, on a run that was made of events alone.

use std::path::PathBuf;

use conductor_core::Run;
use conductor_core::plan::{Command, Dependency, Plan, Priority, Task, Work};
use conductor_core::run::event::{Capped, Failure, FailureClass, Options, Outcome, Question, Record, Usage};
use conductor_core::schedule::{Input, Request, Scheduler};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::{Now, Tick, Timestamp, Usd};
use conductor_engine::dispatch::LiveView;
use conductor_engine::stores::StoredRun;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{App, Effect, Message, Mode, Purpose, Watched};
use crate::app::pane::Tab;
use crate::data::state::{Glyphs, State};
use crate::theme::{Depth, Theme};
use crate::{KnownCommand, NamesRun};

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

fn task(name: &str, epic: &str, after: &[&str]) -> Task {
    let mut task = Task::new(id(name), Work::Run(Command::Line("true".into())));
    task.group = Some(epic.to_owned());
    task.dependencies = after.iter().map(|on| Dependency::on(id(on))).collect();
    task
}

/// A scheduler that is told what happens, and all that it decided.
pub(crate) struct Script {
    scheduler: Scheduler,
    records: Vec<Record>,
    now: Now,
}

impl Script {
    pub(crate) fn new(tasks: Vec<Task>, slots: u32) -> Script {
        let plan = Plan { tasks, ..Plan::default() };
        let now = Now { at: Timestamp(1_700_000_000_000), tick: Tick(0), jitter: 0.0 };
        let (run, created) = Run::create(plan, now);
        let (scheduler, first) = Scheduler::start(run, Options::with_slots(slots), now).unwrap();
        let records = std::iter::once(created).chain(first.records).collect();
        Script { scheduler, records, now }
    }

    pub(crate) fn hears(&mut self, input: Input) {
        self.now.at.0 += 61_000;
        self.now.tick.0 += 61_000;
        self.records.extend(self.scheduler.handle(self.now, input).records);
    }

    pub(crate) fn ends(&mut self, task: &str, outcome: Outcome) {
        let (task, attempt) = (id(task), Attempt(1));
        self.hears(Input::AttemptEnded { task, attempt, outcome, change: None, phases: None });
    }

    fn uses(&mut self, task: &str, cents: u64) {
        let usage = Usage { cost: Usd(cents * 10_000), tokens: 1200, ..Usage::default() };
        let (task, attempt) = (id(task), Attempt(1));
        self.hears(Input::UsageReported { task, attempt, usage, model: None, taken_back: Usage::default() });
    }

    pub(crate) fn live(&self) -> LiveView {
        LiveView {
            run: RunId::parse("r1").unwrap(),
            directory: PathBuf::from("/project"),
            pid: 1,
            snapshot: self.scheduler.snapshot(self.now),
            away: None,
            appends: Default::default(),
            workers: Vec::new(),
        }
    }
}

/// A task in every state that commands can be in: landed ones, one that failed with those it took along, two at work, one
/// that asks, one that waits for a slot.
pub(crate) fn script() -> Script {
    let tasks = vec![
        task("schema", "Foundation", &[]),
        task("errors", "Foundation", &[]),
        task("api", "Payments", &["schema"]),
        task("webhooks", "Payments", &["schema"]),
        task("refunds", "Payments", &["webhooks", "api"]),
        task("address-form", "Storefront", &["errors"]),
        task("order-page", "Storefront", &["address-form"]),
        task("cart-drawer", "Storefront", &[]),
        task("mail-templates-of-every-language", "Storefront", &[]),
    ];
    let mut script = Script::new(tasks, 3);
    script.uses("schema", 97);
    script.ends("schema", Outcome::Succeeded);
    script.ends("errors", Outcome::Succeeded);
    script.uses("webhooks", 193);
    let question = Question {
        tool: "Bash".into(),
        what: "pnpm --filter payments add raw-body@3.0.0".into(),
        why: "permissions.ask: Bash(pnpm*)".into(),
    };
    script.ends("webhooks", Outcome::Asked(Box::new(question)));
    let failure = Failure::new(FailureClass::Exit, "exit code 3").with("expected 2 forms\nfound 1");
    script.ends("address-form", Outcome::Failed(failure));
    script
}

pub(crate) fn app_of(script: &Script, is_live: bool, theme: &str) -> App {
    let stored = StoredRun {
        id: RunId::parse("r1").unwrap(),
        directory: PathBuf::from("/project"),
        source: "/project/checkout.yaml".to_owned(),
        tasks: 9,
        status: "running".to_owned(),
        created: Timestamp(1_700_000_000_000),
        shared: None,
    };
    let watched = Watched::new(stored, script.records.clone()).unwrap();
    let known = |words: &str, names_run| KnownCommand {
        words: words.split(' ').map(str::to_owned).collect(),
        names_run,
    };
    let commands = vec![
        known("cancel", NamesRun::ByOption),
        known("logs", NamesRun::ByOption),
        known("status", NamesRun::ByWord),
        known("tui", NamesRun::ByWord),
        known("worktree list", NamesRun::Never),
        known("worktree path", NamesRun::ByOption),
    ];
    let mut app = App::new(Theme::named(theme, Depth::True), Glyphs::Unicode, false, commands);
    app.hear(Message::Opened(Box::new(watched)));
    if is_live {
        let (run, view) = (RunId::parse("r1").unwrap(), Some(Box::new(script.live())));
        app.hear(Message::Live { run, view });
    }
    app
}

fn app() -> App {
    app_of(&script(), true, "default")
}

pub(crate) fn press(app: &mut App, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\x1b' => KeyCode::Esc,
            c => KeyCode::Char(c),
        };
        effects.extend(app.key(&KeyEvent::new(code, KeyModifiers::NONE)));
    }
    effects
}

fn selected(app: &App) -> String {
    app.watched.as_ref().unwrap().selected().unwrap().1.to_string()
}

/// The request that is asked, and the command that says the same.
fn asked(effects: Vec<Effect>) -> (Request, String) {
    match effects.as_slice() {
        [Effect::Ask { request, words, .. }] => (*request.clone(), words.join(" ")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_needs_the_user_is_selected_first() {
    assert_eq!(selected(&app()), "webhooks");
}

/// The first tries, with the keys counted.
#[test]
fn few_keys_are_enough() {
    let mut app = app();
    press(&mut app, "f");
    assert_eq!(selected(&app), "address-form");
    let pane = &app.watched.as_ref().unwrap().pane;
    assert_eq!(pane.tab(), Tab::Log);
    assert!(pane.text().plain().contains("expected 2 forms\n"), "{}", pane.text().plain());
    let (request, words) = asked(press(&mut app, "na"));
    assert!(
        matches!(request, Request::Answer { ref task, ref answer } if *task == id("webhooks") && answer.allow)
    );
    assert_eq!(words, "task approve webhooks --run r1");
    press(&mut app, "jw");
    assert_eq!(selected(&app), "refunds");
    let why = app.watched.as_ref().unwrap().pane.text().plain();
    assert!(why.contains("waits for webhooks (needs you)"), "{why}");
    assert_eq!(asked(press(&mut app, "+")), (Request::SetSlots(4), "parallel 4 --run r1".to_owned()));
    assert_eq!(press(&mut app, "q"), [Effect::Leave]);
}

#[test]
fn every_key_of_a_task_asks_for_what_the_command_does() {
    let run = |task: &str, verb: &str| format!("task {verb} {task} --run r1");
    let mut app = app();
    assert_eq!(
        asked(press(&mut app, "fR")),
        (Request::Retry(id("address-form")), run("address-form", "retry"))
    );
    assert!(press(&mut app, "rx").is_empty(), "it is asked first");
    assert!(press(&mut app, "n").is_empty(), "no");
    let at_work = selected(&app);
    assert_eq!(asked(press(&mut app, "xy")), (Request::Cancel(id(&at_work)), run(&at_work, "cancel")));
    let told = Request::Tell { task: id(&at_work), words: "mind the tests".into() };
    let words = format!("task send {at_work} mind the tests --run r1");
    assert_eq!(asked(press(&mut app, "smind the tests\n")), (told, words));
    let (request, words) = asked(press(&mut app, "nD"));
    assert!(matches!(request, Request::Answer { answer, .. } if !answer.allow));
    assert_eq!(words, "task deny webhooks --run r1");
    assert_eq!(asked(press(&mut app, "p")), (Request::Pause, "pause r1".to_owned()));
    assert_eq!(asked(press(&mut app, "-")).0, Request::SetSlots(2));
    let caps = Request::SetCaps([(Capped::Cost, 12_500_000)].into());
    assert_eq!(asked(press(&mut app, "c12.50\n")), (caps, "cap r1 --max-cost 12.5".to_owned()));
    press(&mut app, ":why refunds\n");
    let urgent = Request::SetPriority { task: id("refunds"), priority: Priority(0) };
    let words = "task priority refunds critical --run r1".to_owned();
    assert_eq!(asked(press(&mut app, "ucritical\n")), (urgent, words));
    press(&mut app, ":skip refunds\n");
    assert_eq!(asked(press(&mut app, "y")), (Request::Skip(id("refunds")), run("refunds", "skip")));
    assert_eq!(
        press(&mut app, "L"),
        [Effect::Page(["logs", "refunds", "--run", "r1"].map(str::to_owned).to_vec())]
    );
    assert_eq!(press(&mut app, "Y"), [Effect::Copy("refunds".to_owned())]);
    assert_eq!(press(&mut app, "t"), [Effect::Remember]);
    assert_eq!(app.theme.name(), "cyberpunk");
}

#[test]
fn what_makes_no_sense_is_said_and_not_asked() {
    let mut app = app();
    assert!(press(&mut app, "fa").is_empty());
    assert_eq!(app.said, Some(("address-form is failed; there is nothing to approve".to_owned(), true)));
    press(&mut app, ":nonsense\n");
    assert!(app.said.as_ref().unwrap().0.contains("no command 'nonsense'"), "{:?}", app.said);
    press(&mut app, "P");
    assert!(app.said.as_ref().unwrap().0.contains("nothing has landed yet"), "{:?}", app.said);
    let mut left = app_of(&script(), false, "default");
    press(&mut left, "+");
    assert!(left.said.as_ref().unwrap().0.contains("not active"), "{:?}", left.said);
    let words = ["run", "--resume", "r1", "--detach", "--json"].map(str::to_owned).to_vec();
    assert_eq!(press(&mut left, "py"), [Effect::Program { words, purpose: Purpose::Start }]);
}

/// A line that is no amount and no priority stays, so that it can be mended.
#[test]
fn amounts_and_priorities_are_asked_for_until_they_are_some() {
    let mut app = app();
    assert!(press(&mut app, "cmuch\n").is_empty());
    assert!(app.said.as_ref().unwrap().0.contains("an amount of dollars above 0"), "{:?}", app.said);
    assert!(matches!(&app.mode, Mode::Cap(input) if input.text() == "much"), "{:?}", app.mode);
    press(&mut app, "\x1b");
    assert!(press(&mut app, "c+5\n").is_empty(), "there is no cap to add to");
    assert!(press(&mut app, "\x1bc\n").is_empty(), "nothing typed is nothing wanted");
    assert!(matches!(app.mode, Mode::Keys));
    assert!(press(&mut app, "uurgent\n").is_empty());
    assert!(app.said.as_ref().unwrap().0.contains("one of critical, high"), "{:?}", app.said);
    assert!(app.priority_prompt(&id("refunds")).contains("instead of medium"));
}

#[test]
fn a_filter_hides_what_is_not_meant_and_leaving_it_shows_all() {
    let mut app = app();
    let shown = |app: &App| app.watched.as_ref().unwrap().tree.nodes().len();
    let all = shown(&app);
    press(&mut app, "/payments ");
    assert_eq!(shown(&app), 4, "three tasks and their heading");
    press(&mut app, "needs");
    assert_eq!((shown(&app), selected(&app).as_str()), (2, "webhooks"));
    press(&mut app, "\n\x1b");
    assert_eq!(shown(&app), all);
    press(&mut app, "/xyz\x1b");
    assert_eq!(shown(&app), all);
}

#[test]
fn groups_are_folded_and_a_jump_unfolds_them() {
    let mut app = app();
    let all = app.watched.as_ref().unwrap().tree.nodes().len();
    press(&mut app, "g\n");
    assert_eq!(app.watched.as_ref().unwrap().tree.nodes().len(), all - 2);
    press(&mut app, ":why errors\n");
    assert_eq!(selected(&app), "errors");
    assert_eq!(app.watched.as_ref().unwrap().tree.nodes().len(), all);
}

#[test]
fn the_past_is_gone_through_event_by_event_and_nothing_is_asked_of_it() {
    let mut app = app();
    let state = |app: &App, name: &str| {
        let run = app.watched.as_ref().unwrap().run();
        State::of(run.progress(run.place(&id(name)).unwrap()))
    };
    assert_eq!(state(&app, "address-form"), State::Failed);
    let mut seen = Vec::new();
    while app.watched.as_ref().unwrap().course.place().0 > 1 {
        press(&mut app, "[");
        seen.push(state(&app, "address-form"));
    }
    assert!(seen.contains(&State::Running) && seen.last() == Some(&State::Pending), "{seen:?}");
    assert_eq!(state(&app, "schema"), State::Pending);
    assert!(press(&mut app, "R").is_empty());
    assert!(app.said.as_ref().unwrap().0.contains("this is the past"), "{:?}", app.said);
    let (_, all) = app.watched.as_ref().unwrap().course.place();
    for _ in 0..all {
        press(&mut app, "]");
    }
    assert!(!app.watched.as_ref().unwrap().course.is_past());
    assert_eq!(state(&app, "address-form"), State::Failed);
    press(&mut app, "{{{\x1b");
    assert!(!app.watched.as_ref().unwrap().course.is_past(), "Esc goes back to now");
}

#[test]
fn commands_are_completed_as_far_as_is_certain() {
    let app = app();
    let check = |line: &str, completed: &str| assert_eq!(app.completed(line).0, completed, "{line}");
    check("appr", "approve ");
    check("theme dra", "theme dracula ");
    check("retry addr", "retry address-form ");
    check("retry w", "retry webhooks ");
    check("xyz", "xyz");
    assert_eq!(app.completed("lo").1, ["log", "logs"]);
    let mut app = app;
    press(&mut app, ":them\tmin\t\n");
    assert_eq!(app.theme.name(), "minimal");
    let words = ["logs", "api", "--run", "r1"].map(str::to_owned).to_vec();
    let shown = Purpose::Show("conductor logs api --run r1".to_owned());
    assert_eq!(press(&mut app, ":logs api --run r1\n"), [Effect::Program { words, purpose: shown }]);
    app.key(&KeyEvent::new(KeyCode::Char(':'), KeyModifiers::NONE));
    app.key(&KeyEvent::new(KeyCode::Up, KeyModifiers::NONE));
    assert!(
        matches!(&app.mode, Mode::Command(input) if input.text() == "logs api --run r1"),
        "{:?}",
        app.mode
    );
}

#[test]
fn a_command_means_the_run_that_is_looked_at() {
    let mut app = app();
    let mut run = |line: &str| match press(&mut app, &format!(":{line}\n")).pop() {
        Some(Effect::Program { words, .. }) => words.join(" "),
        other => panic!("{other:?}"),
    };
    assert_eq!(run("cancel --all"), "cancel --all --run r1");
    assert_eq!(run("cancel --all --run r2"), "cancel --all --run r2");
    assert_eq!(run("status --json"), "status --json r1");
    assert_eq!(run("status r2"), "status r2");
    assert_eq!(run("worktree list"), "worktree list");
    assert_eq!(app.completed("work").0, "worktree ");
    assert_eq!(app.completed("worktree p").0, "worktree path ");
    press(&mut app, ":worktree\n");
    assert_eq!(app.said.as_ref().unwrap().0, "'worktree' is followed by list, path");
    press(&mut app, ":tui\n");
    assert!(app.said.as_ref().unwrap().0.contains("a terminal of its own"));
}

/// Records come in many times a second; what is selected and how far it is scrolled stays.
#[test]
fn the_selection_stays_while_the_run_goes_on() {
    let mut script = script();
    let mut app = app_of(&script, true, "default");
    press(&mut app, ":why cart-drawer\n");
    let last = script.records.len();
    script.ends("api", Outcome::Succeeded);
    let records = script.records[last..].to_vec();
    app.hear(Message::Records { run: RunId::parse("r1").unwrap(), records: records.clone() });
    // Once more is no news, and what is of another run is none either.
    app.hear(Message::Records { run: RunId::parse("r1").unwrap(), records });
    app.hear(Message::Live { run: RunId::parse("other").unwrap(), view: None });
    assert_eq!(selected(&app), "cart-drawer");
    assert!(app.watched.as_ref().unwrap().is_live());
    assert_eq!(app.watched.as_ref().unwrap().figures.done(), 3);
}

/// Ten thousand tasks, of which each second one is over.
pub(crate) fn large(count: usize) -> Script {
    let tasks =
        (0..count).map(|n| task(&format!("task-{n:05}"), &format!("group {}", n / 50), &[])).collect();
    let mut script = Script::new(tasks, 8);
    for n in 0..count / 2 {
        script.ends(&format!("task-{n:05}"), Outcome::Succeeded);
    }
    script
}
