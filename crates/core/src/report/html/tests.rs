use std::fmt::Write as _;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::strategy::Strategy as Drawn;

use super::*;
use crate::plan::graph::{Graph, Strategy};
use crate::plan::sketch::id;
use crate::plan::{Command, Dependency, Learned, Plan, Task, Work};
use crate::report::ledger::Ledger;
use crate::report::words::tamed;
use crate::report::{Voice, Voices};
use crate::run::Run;
use crate::run::event::{Change, Failure, FailureClass, Options, Outcome, Phases, Usage};
use crate::schedule::{Input, Scheduler, Stacked};
use crate::values::ids::{Attempt, RunId};
use crate::values::units::{Millis, Now, Tick, Timestamp, Usd};

/// Every text in a report that comes from the user, an agent or a command.
#[derive(Debug, Clone)]
struct Texts {
    names: [String; 4],
    model: String,
    message: String,
    evidence: String,
    said: String,
    transcript: String,
    source: String,
    stray: String,
    rescued: String,
}

impl Texts {
    fn all(word: &str) -> Texts {
        let word = || word.to_owned();
        Texts {
            names: [word(), word(), word(), word()],
            model: word(),
            message: word(),
            evidence: word(),
            said: word(),
            transcript: word(),
            source: word(),
            stray: word(),
            rescued: word(),
        }
    }
}

fn at(secs: u64) -> Now {
    Now { at: Timestamp(1_794_816_479_000 + secs as i64 * 1000), tick: Tick(secs * 1000), jitter: 0.5 }
}

/// `ask` is a prompt with a price, an estimate and work that lands; `make` was done before; `break` fails after `ask`,
/// and `never` waits for it.
fn ended(texts: &Texts) -> Scheduler {
    let mut tasks = vec![
        Task::new(id("ask"), Work::Prompt("words".into())),
        Task::new(id("make"), Work::Run(Command::Line("make".into()))),
        Task::new(id("break"), Work::Run(Command::Line("false".into()))),
        Task::new(id("never"), Work::Run(Command::Line("true".into()))),
    ];
    for (task, name) in tasks.iter_mut().zip(&texts.names) {
        task.name.clone_from(name);
    }
    tasks[0].estimate = Some(Millis::from_secs(4));
    let learned = Learned { expected: Millis::from_secs(5), samples: 3, similar: false };
    tasks[1].preparation.get_or_insert_default().learned_time = Some(learned);
    tasks[2].dependencies = vec![Dependency::on(id("ask"))];
    tasks[3].dependencies = vec![Dependency::on(id("break"))];
    let (run, _) = Run::create(Plan { tasks, ..Plan::default() }, at(0));
    let (mut scheduler, _) = Scheduler::start(run, Options::with_slots(2), at(0)).unwrap();
    let usage = Usage { cost: Usd(1_250_000), tokens: 123_456, turns: 7, ..Usage::default() };
    let taken_back = Usage::default();
    let model = Some(texts.model.clone().into());
    scheduler.handle(
        at(1),
        Input::UsageReported { task: id("ask"), attempt: Attempt(1), usage, model, taken_back },
    );
    let mut end = |secs, task: &str, outcome, change: Option<Change>| {
        let phases = Phases {
            preparing: Millis(500),
            working: Millis(1_500),
            verifying: Millis::from_secs(1),
            ..Phases::default()
        };
        let (task, attempt, change) = (id(task), Attempt(1), change.map(Box::new));
        let input = Input::AttemptEnded { task, attempt, outcome, change, phases: Some(phases) };
        scheduler.handle(at(secs), input);
    };
    end(3, "ask", Outcome::Succeeded, Some(Change::new("base", "work")));
    end(6, "make", Outcome::Succeeded, None);
    let stacked = vec![Stacked { task: id("ask"), attempt: Attempt(1), to: "0123456789abcdef".into() }];
    scheduler.handle(at(7), Input::MergesPrepared { from: "base".into(), stacked, failed: Vec::new() });
    scheduler.handle(at(7), Input::BranchMoved { to: "0123456789abcdef".into(), moved: true });
    let failure = Failure::new(FailureClass::Unverified, texts.message.clone()).with(texts.evidence.clone());
    let (task, attempt, outcome) = (id("break"), Attempt(1), Outcome::Failed(failure));
    let what = vec![texts.stray.clone()];
    scheduler.handle(at(8), Input::CheckoutTouched { tasks: vec![id("break")], what });
    scheduler.handle(at(9), Input::AttemptEnded { task, attempt, outcome, change: None, phases: None });
    scheduler
}

fn page(texts: &Texts) -> String {
    let scheduler = ended(texts);
    let (run, graph) = (scheduler.run(), scheduler.graph());
    let ledger = Ledger { landed: 1, rescued: vec![texts.rescued.clone()], ..Ledger::claimed(run) };
    let voice = Voice { transcript: texts.transcript.clone(), lines: vec![texts.said.clone()] };
    let voices = Voices::from([(2, voice)]);
    let run_id = RunId::parse("r1").unwrap();
    let source = Some(texts.source.as_str());
    html(&Subject {
        id: &run_id,
        run,
        graph,
        ledger: Some(&ledger),
        source,
        voices: &voices,
        aggregation: None,
    })
}

fn parse(page: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(page, options).unwrap()
}

/// The page without its texts.
fn skeleton(page: &str) -> String {
    let mut out = String::new();
    for node in parse(page).root().descendants().filter(|node| node.is_element()) {
        let _ = write!(out, "{}", node.tag_name().name());
        for attribute in node.attributes() {
            let _ = write!(out, " {}", attribute.name());
        }
        out.push('\n');
    }
    out
}

#[test]
fn the_page_reads_well() {
    let texts = Texts { message: "2 of 3 checks failed".into(), ..Texts::all("Some <words> & more") };
    let page = page(&texts);
    let style = page.find("<style>").unwrap()..page.find("</style>").unwrap();
    insta::assert_snapshot!([&page[..style.start], &page[style.end..]].concat());
}

#[test]
fn it_needs_nothing_but_itself() {
    let page = page(&Texts::all("plain"));
    let there = parse(&page);
    for node in there.root().descendants().filter(|node| node.is_element()) {
        let name = node.tag_name().name();
        assert!(!["script", "link", "img", "iframe", "object", "image", "use"].contains(&name), "{name}");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "href" && name != "src", "{name}");
            assert!(!value.contains("//"), "{value}");
        }
    }
    let style = there.descendants().find(|node| node.has_tag_name(("http://www.w3.org/1999/xhtml", "style")));
    let style = style.and_then(|style| style.text()).unwrap();
    assert!(
        !style.contains("url(") && !style.contains("@import") && style.contains("prefers-color-scheme: dark")
    );
}

#[test]
fn what_was_not_measured_is_called_so() {
    let task = Task::new(id("ask"), Work::Prompt("words".into()));
    let (run, _) = Run::create(Plan { tasks: vec![task], ..Plan::default() }, at(0));
    let (scheduler, _) = Scheduler::start(run, Options::with_slots(1), at(0)).unwrap();
    let run_id = RunId::parse("r1").unwrap();
    let (run, graph, voices) = (scheduler.run(), scheduler.graph(), Voices::new());
    let page = html(&Subject {
        id: &run_id,
        run,
        graph,
        ledger: None,
        source: None,
        voices: &voices,
        aggregation: None,
    });
    for words in
        ["not measured", "No task was estimated.", "Not looked up", "not ended when this was written"]
    {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("$0"), "what it costs is not known");
}

/// What breaks out of elements, attributes, comments, style sheets and pictures.
fn hostile() -> impl Drawn<Value = String> {
    let bait = prop::sample::select(vec![
        "</td>",
        "</title>",
        "</style>",
        "</svg>",
        "<script>alert(1)</script>",
        "\"",
        "'",
        "&",
        "&lt;",
        "&#x3c;",
        "]]>",
        "<!--",
        "-->",
        "<![CDATA[",
        "\u{0}",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{2066}",
        "\u{feff}",
        "\u{fffe}",
        "\u{85}",
        "\r",
        "\n",
        "%",
        "{}",
        "onload=",
        "javascript:",
    ]);
    let word = prop_oneof![bait.prop_map(str::to_owned), "\\PC{0,3}", any::<char>().prop_map(String::from)];
    // Never empty, and never as long as what is cut off or repeated in full.
    prop::collection::vec(word, 1..4)
        .prop_map(|words| format!("x{}", words.concat()).chars().take(40).collect())
}

prop_compose! {
    fn texts()(all in prop::collection::vec(hostile(), 12)) -> Texts {
        let [a, b, c, d, model, message, evidence, said, transcript, source, stray, rescued] =
            <[String; 12]>::try_from(all).unwrap();
        Texts { names: [a, b, c, d], model, message, evidence, said, transcript, source, stray, rescued }
    }
}

static HARMLESS: LazyLock<String> = LazyLock::new(|| skeleton(&page(&Texts::all("harmless"))));

proptest! {
    #[test]
    fn no_text_breaks_out(texts in texts()) {
        let page = page(&texts);
        prop_assert_eq!(skeleton(&page), HARMLESS.as_str());
        let parsed = parse(&page);
        for text in texts.names.iter().chain([&texts.message, &texts.source, &texts.transcript]) {
            let shown = tamed(text);
            prop_assert!(parsed.descendants().any(|node| node.text() == Some(shown.as_str())), "{:?} is not shown", text);
        }
    }
}

fn large(count: usize) -> String {
    let tasks: Vec<Task> = (0..count)
        .map(|at| {
            let mut task = Task::new(id(&format!("task-{at:05}")), Work::Run(Command::Line("true".into())));
            task.name = format!("Do thing number {at} of a plan with a great many of them");
            task.dependencies =
                (at >= 8).then(|| Dependency::on(id(&format!("task-{:05}", at - 8)))).into_iter().collect();
            task
        })
        .collect();
    let graph = Graph::new(&Plan { tasks: tasks.clone(), ..Plan::default() }, Strategy::Queue).unwrap();
    let (run, _) = Run::create(Plan { tasks, ..Plan::default() }, at(0));
    let (mut scheduler, _) = Scheduler::start(run, Options::with_slots(8), at(0)).unwrap();
    for at_task in 0..count {
        let task = id(&format!("task-{at_task:05}"));
        let phases = Some(Phases {
            preparing: Millis(100),
            working: Millis(700),
            verifying: Millis(100),
            ..Phases::default()
        });
        let outcome = Outcome::Succeeded;
        let (attempt, now) = (Attempt(1), at(at_task as u64 / 8 + 1));
        scheduler.handle(now, Input::AttemptEnded { task, attempt, outcome, change: None, phases });
    }
    assert!(scheduler.run().all_ended());
    let (run_id, voices) = (RunId::parse("r1").unwrap(), Voices::new());
    html(&Subject {
        id: &run_id,
        run: scheduler.run(),
        graph: &graph,
        ledger: None,
        source: None,
        voices: &voices,
        aggregation: None,
    })
}

#[test]
fn a_thousand_tasks_are_told_in_full_and_ten_thousand_bounded() {
    let page = large(1000);
    assert!(page.len() < 2 << 20, "{}", page.len());
    assert!(!page.contains("Not drawn") && page.matches("<tr class=").count() == 1000);
    let page = large(10_000);
    assert!(page.len() < 10 << 20, "{}", page.len());
    assert!(
        page.contains("Not drawn: 7000 of 10000 attempts")
            && page.contains("10000 tasks are too many to be drawn")
    );
    assert_eq!(page.matches("<tr class=").count(), 10_000);
}
