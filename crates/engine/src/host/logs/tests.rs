use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;

use tracing_subscriber::layer::SubscriberExt as _;

use super::*;
use crate::host::redact;

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn silent(wanted: &str) -> Console {
    Console { wanted: wanted.parse().unwrap(), say: |_| {}, call: None }
}

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

fn git(words: &str) {
    tracing::debug!(target: GIT, git = words, took = 3, ok = true, "called git");
}

fn read(folder: &Path) -> String {
    fs::read_to_string(folder.join(FILE)).unwrap_or_default()
}

/// With the lines of a run in a folder of its own.
fn logged(format: Format, wanted: &str, say: impl FnOnce()) -> String {
    let (folder, files) = (tempfile::tempdir().unwrap(), LogFiles::default());
    let subscriber = tracing_subscriber::registry().with(Logs::new(files.clone(), format, silent(wanted)));
    tracing::subscriber::with_default(subscriber, || {
        let open = files.begin(&run("abc"));
        open.write_to(folder.path());
        run_span(&run("abc")).in_scope(say);
    });
    read(folder.path())
}

#[test]
fn each_run_has_a_file_of_its_own() {
    let (one, two, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), LogFiles::default());
    let logs = Logs::new(files.clone(), Format::Text, silent("off"));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(logs), || {
        let (first, second) = (files.begin(&run("abc")), files.begin(&run("xyz")));
        run_span(&run("abc")).in_scope(|| git("before there is a folder"));
        assert_eq!(read(one.path()), "");
        first.write_to(one.path());
        second.write_to(two.path());
        // One inside of the other is about the inner one alone.
        run_span(&run("abc")).in_scope(|| {
            run_span(&run("xyz")).in_scope(|| git("of the second"));
            let span = tracing::info_span!("attempt", task = "a", attempt = 1);
            let other = span.in_scope(|| carried(|| git("on another thread")));
            // As a runtime's threads have it: the subscriber is the same everywhere.
            let here = tracing::dispatcher::get_default(Clone::clone);
            let thread = std::thread::spawn(move || tracing::dispatcher::with_default(&here, other));
            thread.join().unwrap();
        });
        git("of no run");
        drop(first);
        run_span(&run("abc")).in_scope(|| git("too late"));
    });
    let (one, two) = (read(one.path()), read(two.path()));
    let lines: Vec<&str> = one.lines().collect();
    assert_eq!(lines.len(), 2, "{one}");
    assert!(
        lines[0]
            .contains("DEBUG run{id=abc} conductor_engine::git: called git git=\"before there is a folder\"")
    );
    assert!(lines[1].contains("run{id=abc} attempt{task=a attempt=1} "), "{one}");
    assert!(lines[1].ends_with("git=\"on another thread\" took=3 ok=true"), "{one}");
    assert_eq!(two.lines().count(), 1, "{two}");
    assert!(two.contains("run{id=xyz} conductor_engine::git: called git git=\"of the second\""), "{two}");
}

#[test]
fn a_file_has_calls_of_git_and_what_is_worth_knowing_and_more_where_it_is_wanted() {
    let say = || {
        tracing::info!("worth knowing");
        tracing::debug!("a detail");
        tracing::trace!("a tiny detail");
        tracing::warn!(target: "sqlx::query", "slow");
        git("status");
    };
    let count = |wanted: &str| logged(Format::Text, wanted, say).lines().count();
    assert_eq!(count("off"), 2);
    assert_eq!(count("error"), 2);
    assert_eq!(count("debug"), 4);
    assert_eq!(count("trace"), 5);
    assert_eq!(count("conductor_engine::host=trace"), 4);
    assert_eq!(count("sqlx=warn"), 3);
}

#[test]
fn json_is_one_object_a_line_with_run_task_and_attempt() {
    let text = logged(Format::Json, "off", || {
        let span = tracing::info_span!("attempt", task = "a", attempt = 2);
        span.in_scope(|| tracing::info!(why = "two\nlines \u{9b}", none = None::<&str>, "it is \"so\""));
    });
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    let at: jiff::Timestamp = line["at"].as_str().unwrap().parse().unwrap();
    assert!(at > jiff::Timestamp::UNIX_EPOCH);
    let wanted = serde_json::json!({
        "at": line["at"], "level": "info", "target": "conductor_engine::host::logs::tests",
        "run": "abc", "task": "a", "attempt": 2, "message": "it is \"so\"", "why": "two\nlines \u{9b}",
    });
    assert_eq!(line, wanted);
}

#[test]
fn a_line_is_one_line_and_gives_a_terminal_no_commands() {
    let text = logged(Format::Text, "off", || {
        tracing::info!(a = "x\ny\u{1b}[31m\u{9b}2J", b = "", c = "q\"\\", "two\nlines");
    });
    assert_eq!(text.lines().count(), 1);
    assert!(text.ends_with("two\\nlines a=\"x\\ny\\u001b[31m\\u009b2J\" b=\"\" c=\"q\\\"\\\\\"\n"), "{text}");
}

#[test]
fn secrets_are_blotted_out_in_both_forms() {
    let secret = "canary \"of the\\ logs\" 41";
    redact::learn(vec![secret.as_bytes().to_vec()]);
    for format in [Format::Text, Format::Json] {
        let text = logged(format, "off", || {
            git(&format!("push https://{secret}@host"));
            tracing::info!("said {secret}");
            tracing::info_span!("attempt", task = secret).in_scope(|| tracing::info!(?secret, "debugged"));
        });
        assert_eq!(text.lines().count(), 3);
        assert!(!text.contains("of the") && !text.contains("canary"), "{text}");
        assert!(text.contains("******"), "{text}");
        if format == Format::Json {
            text.lines().for_each(|line| drop(serde_json::from_str::<serde_json::Value>(line).unwrap()));
        }
    }
}

#[test]
fn the_console_is_told_what_is_wanted_and_calls_of_git_once() {
    let say: fn(&str) = |line| SAID.lock().unwrap().push(line.to_owned());
    let call: fn(&str, u64, bool) =
        |words, took, ok| SAID.lock().unwrap().push(format!("{words} {took} {ok}"));
    let said = |wanted: &str| {
        let console = Console { wanted: wanted.parse().unwrap(), say, call: Some(call) };
        let logs = Logs::new(LogFiles::default(), Format::Text, console);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(logs), || {
            git("status");
            tracing::debug!("a detail");
        });
        std::mem::take(&mut *SAID.lock().unwrap())
    };
    assert_eq!(said("off"), ["status 3 true"]);
    let lines = said("debug");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].ends_with("DEBUG conductor_engine::git: called git git=status took=3 ok=true"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("a detail"), "{lines:?}");
}

#[test]
fn levels_are_checked() {
    for good in ["off", "INFO", "debug", "info,conductor_engine::git=trace", "sqlx=warn", " warn , a-b=off"] {
        assert!(good.parse::<Wanted>().is_ok(), "{good}");
    }
    for bad in ["", "deubg", "conductor_engine::git", "git=loud", "=info", "a b=info", "info,,debug", "3"] {
        let error = bad.parse::<Wanted>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("'{bad}' is no level: use off, error, warn, info,")), "{error}");
    }
    assert!("off".parse::<Wanted>().unwrap().is_nothing());
    assert!(!"off,conductor=info".parse::<Wanted>().unwrap().is_nothing());
}

#[test]
fn the_file_is_the_users_own() {
    let (folder, files) = (tempfile::tempdir().unwrap(), LogFiles::default());
    let logs = Logs::new(files.clone(), Format::Text, silent("off"));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(logs), || {
        let open = files.begin(&run("abc"));
        open.write_to(folder.path());
        run_span(&run("abc")).in_scope(|| git("status"));
    });
    let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
