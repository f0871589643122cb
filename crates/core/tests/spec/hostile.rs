//! Input made to hurt: bombs, depth, size, circles, noise. Times are generous for a debug build on a busy machine.

use std::time::{Duration, Instant};

use conductor_core::file::{Source, load};
use proptest::prelude::*;

use crate::full::FULL;
use crate::{plan, said};

#[track_caller]
fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let took = start.elapsed();
    assert!(took < limit, "took {took:?}, may take {limit:?}");
    result
}

const SOON: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1000 } else { 100 });

#[test]
fn deep_nesting_is_refused_at_once() {
    let dashes = "- ".repeat(100_000);
    let levels: String = (0..2000).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
    let questions = "? ".repeat(100_000);
    let mixed = "- ".repeat(40) + &"{a: ".repeat(100_000);
    for file in
        ["[".repeat(100_000), "{a: ".repeat(100_000), "{".repeat(100_000), dashes, levels, questions, mixed]
    {
        let said = within(SOON, || said(&file));
        assert!(said.contains("too-deep"), "{said}");
    }
    let closed = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(within(SOON, || said(&closed)).contains("too-deep"));
}

#[test]
fn a_hundred_thousand_levels_of_indentation_are_refused_at_once() {
    // Only the first 64 lines are ever read; the rest is 5 GB if written out, so one more space each, capped.
    let levels: String = (0..100_000).map(|i| format!("{}a:\n", " ".repeat(i.min(300)))).collect();
    assert!(within(SOON, || said(&levels)).contains("too-deep"));
}

#[test]
fn sixty_levels_are_fine() {
    let deep = format!("{}1{}", "[".repeat(60), "]".repeat(60));
    assert_eq!(said(&format!("tasks: [{{ id: a, run: x }}]\nmetadata: {{ v: {deep} }}\n")), "");
}

#[test]
fn alias_bombs_are_refused_at_once() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..30 {
        let inner = vec![format!("*a{}", i - 1); 10].join(", ");
        laughs += &format!("a{i}: &a{i} [{inner}]\n");
    }
    assert!(within(SOON, || said(&laughs)).contains("alias-bomb"));

    let wide = format!("a: &a [{}]\nb: [{}]\n", "x, ".repeat(1000), "*a, ".repeat(900));
    assert!(within(SOON, || said(&wide)).contains("alias-bomb"));

    let mut deep = String::from("a0: &a0 [x]\n");
    for i in 1..100 {
        deep += &format!("a{i}: &a{i} [*a{}]\n", i - 1);
    }
    assert!(within(SOON, || said(&deep)).contains("too-deep"));
}

#[test]
fn ordinary_use_of_anchors_is_no_bomb() {
    let tasks: String = (0..500).map(|i| format!("  - {{ <<: *base, id: t{i} }}\n")).collect();
    let base = "x-base: &base { prompt: p, env: { A: 1, B: 2 }, verify: [a, b, c], agent: claude }\n";
    assert_eq!(plan(&format!("{base}tasks:\n{tasks}")).tasks.len(), 500);
}

#[test]
fn texts_full_of_markers_take_no_time() {
    let distinct: String = (0..100_000).map(|i| format!("[P:Group-g{i}]")).collect();
    for prompt in ["[P:Group-".repeat(100_000), "[P:Group-a]".repeat(100_000), distinct] {
        within(SOON, || said(&format!("tasks: [{{ id: a, prompt: '{prompt}' }}]")));
    }
}

#[test]
fn a_hundred_thousand_unknown_keys_are_all_named() {
    let keys: String = (0..100_000).map(|i| format!("    \"zz{i}\": 1,\n")).collect();
    let said = within(Duration::from_secs(20), || said(&format!("tasks: [{{ id: a, run: x,\n{keys} }}]")));
    assert_eq!(said.lines().count(), 100_000);
    assert!(said.len() < 20_000_000);
}

fn many(tasks: usize) -> String {
    let task = |i: usize| {
        let on =
            (1..=3).filter(|back| *back <= i).map(|back| format!("task-{}", i - back)).collect::<Vec<_>>();
        format!(
            "  - id: task-{i}\n    name: Task number {i}\n    prompt: |\n      Do the work of task {i}\n      and test it well.\n    priority: high\n    dependencies: [{}]\n    files: [\"src/m{i}/**\"]\n    timeout: 30m\n    group: g{}\n",
            on.join(", "),
            i % 50
        )
    };
    format!("tasks:\n{}", (0..tasks).map(task).collect::<String>())
}

#[test]
fn ten_thousand_tasks_load() {
    let file = many(10_000);
    let plan = within(Duration::from_secs(10), || plan(&file));
    assert_eq!((plan.tasks.len(), plan.groups.len()), (10_000, 50));
}

#[test]
fn ten_thousand_mistakes_do_not_take_a_minute() {
    let file = many(10_000).replace("[task-", "[tusk-").replace("priority:", "prioritty:");
    let said = within(Duration::from_secs(20), || said(&file));
    assert!(said.lines().count() >= 19_000);
}

#[test]
fn a_circle_of_ten_thousand_is_named() {
    let task = |i: usize| format!("  - {{ id: t{i}, run: x, dependencies: [t{}] }}\n", (i + 1) % 10_000);
    let file = format!("tasks:\n{}", (0..10_000).map(task).collect::<String>());
    let said = within(Duration::from_secs(10), || said(&file));
    assert!(
        said.contains("t0 → t1 → t2 → t3 → t4 → t5 → … → t9997 → t9998 → t9999 → t0 (10000 in all)"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn huge_scalars_and_keys_are_quoted_short() {
    let file = format!("tasks: [{{ id: {}, run: x }}]", "y".repeat(1_000_000));
    let said = within(Duration::from_secs(5), || said(&file));
    assert!(said.len() < 300, "{}", said.len());
    let colours = "tasks: [{ id: \"\\e[31m\", run: x }]";
    assert!(!crate::said(colours).contains('\u{1b}'));
}

/// A parser that looks back or ahead without bound shows it here.
#[test]
fn much_of_any_one_thing_takes_no_time() {
    let size = if cfg!(debug_assertions) { 100_000 } else { 500_000 };
    let more = [
        "a: b\n",
        "? a\n",
        "- a\n",
        "\"\n",
        "a, ",
        "a: b, ",
        "[a], ",
        "{a: b}, ",
        "&a ",
        "!t ",
        "%TAG ! a\n",
        "\\\n",
        "\r",
        "\u{2028}",
        "'' ",
        "...\n",
        "a\n",
        "a ",
        "k: |\n ",
        "- &x 1\n",
        "- *x\n",
        "<<: {a: 1}\n",
        "\u{feff}",
    ];
    for piece in PIECES.into_iter().chain(more) {
        for start in ["", "[", "{", "k: ", "k: \"", "k: |\n ", "tasks: [{ id: a, prompt: "] {
            let file = format!("{start}{}", piece.repeat(size / piece.len()));
            let took = Instant::now();
            survives(file.into_bytes());
            assert!(took.elapsed() < 10 * SOON, "{start:?} and {piece:?} took {:?}", took.elapsed());
        }
    }
}

/// Loading must come back with something, whatever it was given, and every place must be inside the text.
fn survives(bytes: Vec<u8>) {
    let Ok(source) = Source::new("noise", bytes) else { return };
    let found = match load(&source) {
        Ok(loaded) => loaded.warnings,
        Err(found) => {
            assert!(!found.is_empty());
            found
        }
    };
    assert!(found.windows(2).all(|pair| pair[0].span.start <= pair[1].span.start));
    for found in found {
        assert!(source.text().get(found.span.start..found.span.end).is_some(), "{found:?}");
        assert!(conductor_core::file::explain(found.code).is_some(), "{}", found.code);
    }
}

/// Pieces that noise alone would hardly ever put together.
const PIECES: [&str; 28] = [
    "tasks:",
    "- ",
    "id: ",
    "a",
    "prompt: ",
    "run: ",
    "[",
    "]",
    "{",
    "}",
    ",",
    ": ",
    "\n",
    "  ",
    "&a ",
    "*a",
    "<<: ",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "# c\n",
    "---\n",
    "!!str ",
    "dependencies: ",
    "[P:Group-",
    "😀",
    "\t",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        survives(text.into_bytes());
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(bytes);
    }

    #[test]
    fn any_heap_of_yaml_is_survived(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        survives(pieces.concat().into_bytes());
    }

    #[test]
    fn a_damaged_file_is_survived(edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&PIECES[..]), 0usize..6), 1..6)) {
        let mut text = FULL.as_bytes().to_vec();
        for (place, piece, cut) in edits {
            let at = place.index(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, piece.bytes());
        }
        survives(text);
    }

    #[test]
    fn any_duration_and_size_is_survived(text in "[0-9.a-zµ -]{0,12}") {
        let _ = conductor_core::file::parse_duration(&text);
        let _ = conductor_core::file::parse_size(&text);
    }
}
