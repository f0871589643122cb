//! What tools of every kind really wrote, read back. `samples/` is the output of the tools named, on small projects of our
//! own with 11 (Python), 6 (JavaScript), 10 (Rust) and 5 (Go) lines or statements; paths alone were changed.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use conductor_core::run::measure::{Lint, Percent, coverage, lint};
use proptest::prelude::*;

fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measure/samples").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn covered(text: &str) -> Option<f64> {
    coverage::read(text).map(Percent::percent)
}

#[test]
fn coverage_is_read_from_what_every_tool_writes() {
    for (name, percent) in [
        ("coverage-py.json", 81.82),
        ("coverage-py.txt", 82.0),
        ("coverage-py.lcov", 81.82),
        ("cobertura.xml", 81.82),
        ("pytest-cov.txt", 73.0),
        ("llvm-cov.json", 90.0),
        ("llvm-cov.txt", 90.0),
        ("llvm-cov.lcov", 90.0),
        ("nyc-summary.json", 66.66),
        ("nyc-summary.txt", 66.66),
        ("nyc-table.txt", 66.66),
        ("nyc.lcov", 66.67),
        ("go-cover-func.txt", 40.0),
    ] {
        assert_eq!(covered(&sample(name)), Some(percent), "{name}");
    }
    assert_eq!(
        covered(&sample("go-test-cover.txt")),
        None,
        "two packages and no total: 25 would be wrong, it is 40"
    );
    let first = sample("go-test-cover.txt").lines().next().unwrap().to_owned();
    assert_eq!(covered(&first), Some(50.0), "one package is all there is");
}

#[test]
fn coverage_is_found_among_other_words() {
    let build = "   Compiling shape v0.1.0\nrunning 1 test\ntest result: ok. 1 passed\n";
    for name in ["llvm-cov.json", "coverage-py.txt", "nyc.lcov", "cobertura.xml"] {
        let text = sample(name);
        assert_eq!(covered(&format!("{build}{text}\ndone in 3s\n")), covered(&text), "{name}");
    }
    assert_eq!(covered("\u{1b}[32mLines        : 66.66% ( 4/6 )\u{1b}[0m\n"), Some(66.66));
    assert_eq!(covered("|| Tested/Total Lines:\n87.50% coverage, 7/8 lines covered"), Some(87.5));
    let twice = format!("{}{}", sample("nyc.lcov"), sample("nyc.lcov").replace("DA:4,0", "DA:4,3"));
    assert_eq!(covered(&twice), Some(83.33), "a line counts once, and is covered where any run covers it");
}

#[test]
fn what_is_no_coverage_is_no_figure() {
    for text in [
        "",
        "all good",
        "TOTAL 3 apples",
        "TOTAL 120% 10% 400%",
        "coverage: 181% of statements",
        r#"{"total": {"lines": {"total": 0, "covered": 0, "skipped": 0, "pct": "Unknown"}}}"#,
        r#"{"data": [{"totals": {"lines": {"count": 0, "covered": 0}}}]}"#,
        "SF:a\nLF:0\nLH:0\nend_of_record",
        "<coverage>\n<coverage version=\"1\">",
        "Lines : Unknown% ( 0/0 )",
    ] {
        assert_eq!(covered(text), None, "{text}");
    }
}

#[test]
fn findings_are_counted_in_what_every_linter_writes() {
    for (name, count) in [
        ("clippy-short.txt", 2),
        ("clippy-human.txt", 2),
        ("clippy.jsonl", 2),
        ("eslint-stylish.txt", 7),
        ("eslint-unix.txt", 7),
        ("eslint.json", 7),
        ("flake8.txt", 5),
        ("ruff-concise.txt", 4),
        ("ruff-full.txt", 4),
        ("ruff.json", 4),
        ("ruff.sarif", 4),
        ("shellcheck-gcc.txt", 2),
        ("shellcheck.json", 2),
        ("shellcheck.json1", 2),
        ("go-vet.txt", 1),
    ] {
        let found = lint::read(&sample(name), false);
        assert_eq!(found, Lint { findings: Some(count), passed: false }, "{name}");
    }
}

#[test]
fn nothing_found_is_told_apart_from_not_understood() {
    let count = |text: &str, passed| lint::read(text, passed).findings;
    for clean in [
        "",
        "[]",
        "All checks passed!\n",
        "0 issues.\n",
        "    Checking shape v0.1.0\n    Finished `dev` profile [unoptimized] target(s) in 0.2s\n",
        r#"{"Issues":null,"Report":{}}"#,
        r#"{"reason":"build-finished","success":true}"#,
        "3 files inspected, no offenses detected",
    ] {
        assert_eq!(count(clean, true), Some(0), "{clean}");
    }
    assert_eq!(count("3 files inspected, 2 offenses detected", false), Some(2));
    for unknown in ["some words", "{\"a\": 1}", "[{\"a\": 1}]", "[1, 2]", "12:30:15: began\n"] {
        assert_eq!(count(unknown, true), None, "{unknown}");
    }
    assert_eq!(count("", false), None, "it failed and does not say why");
}

#[test]
fn remarks_to_a_finding_are_none() {
    let gcc = "a.c:1:5: warning: unused\na.c:9:1: note: declared here\na.c: In function 'f':\n";
    assert_eq!(lint::read(gcc, true).findings, Some(1));
    let suppressed =
        r#"{"runs": [{"results": [{"suppressions": [{"kind": "inSource"}]}, {"kind": "pass"}, {}]}]}"#;
    assert_eq!(lint::read(suppressed, true).findings, Some(1));
}

/// Of this thread: other programs that keep the machine busy do not count.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn floods_are_read_in_a_moment() {
    let floods = [
        "[\n".repeat(1 << 19),
        "{\"a\":".repeat(1 << 19),
        "[{\"messages\":[\n".repeat(1 << 16),
        "a.c:1:1: x\n".repeat(1 << 17),
        ":1:".repeat(1 << 19),
        "1:".repeat(1 << 19),
        "<coverage line-rate=".repeat(1 << 17),
        "DA:1,1\n".repeat(1 << 18),
        "SF:a\nDA:1,1\n".repeat(1 << 17),
        "\u{1b}[".repeat(1 << 20),
        "% Lines|".repeat(1 << 18),
        "TOTAL 1% 2% 3%\n".repeat(1 << 17),
        format!("[{}", "1,\n".repeat(1 << 19)),
        format!("[\"{}", "x".repeat(4 << 20)),
    ];
    for flood in &floods {
        let before = processor_time();
        let _ = (coverage::read(flood), lint::read(flood, true));
        let took = processor_time() - before;
        assert!(took < Duration::from_secs(5), "{took:?} for {:?}…", flood.get(..20));
    }
}

proptest! {
    #[test]
    fn any_words_are_survived(text in "\\PC*", lines in proptest::collection::vec("[{}\\[\\]:,\"%| a-zA-Z0-9./-]{0,40}", 0..40)) {
        for text in [text, lines.join("\n")] {
            let _ = coverage::read(&text);
            let _ = lint::read(&text, true);
        }
    }

    /// Real output with a piece cut out of it.
    #[test]
    fn what_is_cut_short_is_survived(which in 0..29_usize, from in 0.0..1.0_f64, length in 0..400_usize) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measure/samples");
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
        files.sort();
        let bytes = fs::read(&files[which % files.len()]).unwrap();
        let at = (bytes.len() as f64 * from) as usize;
        let cut = [&bytes[..at], &bytes[(at + length).min(bytes.len())..]].concat();
        let text = String::from_utf8_lossy(&cut);
        if let Some(percent) = coverage::read(&text) {
            prop_assert!(percent.percent() <= 100.0);
        }
        let _ = lint::read(&text, false);
    }
}
