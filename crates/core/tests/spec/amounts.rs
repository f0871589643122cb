//! Durations, sizes, counts, costs and ranges.

use conductor_core::file::{parse_duration, parse_size};
use conductor_core::values::units::Millis;

use crate::{check, task, with};

#[test]
fn durations_as_people_write_them() {
    for (text, millis) in [
        ("30m", 1_800_000),
        ("500ms", 500),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("2.5h", 9_000_000),
        ("90", 90_000),
        ("1.5", 1_500),
        (" 20 min ", 1_200_000),
        ("1d", 86_400_000),
        ("0", 0),
        ("1 hour 5 seconds", 3_605_000),
    ] {
        assert_eq!(parse_duration(text), Ok(Millis(millis)), "{text}");
    }
}

#[test]
fn what_is_no_duration() {
    for (text, why) in [
        ("", "a duration cannot be empty"),
        ("soon", "\"soon\" is not a number"),
        ("-5s", "\"-5s\" is not a number"),
        ("5 parsecs", "\"parsecs\" is not a unit of time; ms, s, m, h and d are"),
        ("1h30", "\"30\" is not a unit of time; ms, s, m, h and d are"),
        ("1..5h", "\"1..5h\" is not a number"),
        ("999999d", "a duration cannot be longer than ten years"),
    ] {
        assert_eq!(parse_duration(text).unwrap_err().to_string(), why, "{text}");
    }
}

#[test]
fn sizes_as_people_write_them() {
    for (text, bytes) in [
        ("4GiB", 4 << 30),
        ("512MiB", 512 << 20),
        ("2GB", 2_000_000_000),
        ("1.5 GiB", 3 << 29),
        ("10k", 10 << 10),
        ("77", 77),
    ] {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    for text in ["", "lots", "4 GiBs", "1GiB 2", "-1", "9999999999TiB"] {
        assert!(parse_size(text).is_err(), "{text}");
    }
}

#[test]
fn numbers_have_bounds() {
    for (lines, expect) in [
        ("timeout: 0", "4:14 out-of-range 'timeout' must be more than 0"),
        ("timeout: -5", "4:14 out-of-range 'timeout' cannot be negative"),
        ("timeout: .nan", "4:14 out-of-range 'timeout' cannot be negative"),
        ("timeout: []", "4:14 wrong-type 'timeout' wants a duration such as 90, 30m or 1h30m, found a list"),
        (
            "timeout: true",
            "4:14 wrong-type 'timeout' wants a duration such as 90, 30m or 1h30m, found true or false",
        ),
        ("max_cost: 0", "4:15 out-of-range 'max_cost' must be more than 0 dollars"),
        ("max_cost: .inf", "4:15 out-of-range 'max_cost' must be more than 0 dollars"),
        ("max_cost: cheap", "4:15 wrong-type 'max_cost' wants a number of dollars, found text"),
        ("max_turns: 0", "4:16 out-of-range 'max_turns' must be between 1 and 100000"),
        ("max_turns: 2.5", "4:16 wrong-type 'max_turns' wants a whole number, found a number"),
        ("max_tokens: -1", "4:17 out-of-range 'max_tokens' must be at least 1"),
        ("priority: 5", "4:15 out-of-range 'priority' must be between 0 and 4 (0 is critical, 4 is backlog)"),
        ("retry_policy: { max_attempts: 101 }", "4:35 out-of-range 'max_attempts' must be between 1 and 100"),
        (
            "retry_policy: { backoff_factor: 0.5 }",
            "4:37 out-of-range 'backoff_factor' must be between 1 and 100",
        ),
        ("retry_policy: { jitter: 1.1 }", "4:29 out-of-range 'jitter' must be between 0 and 1"),
        ("retry_policy: { jitter: .nan }", "4:29 out-of-range 'jitter' must be between 0 and 1"),
        ("retry_policy: { initial_delay: -1 }", "4:36 out-of-range 'initial_delay' cannot be negative"),
        ("resources: { cpu: 0 }", "4:23 out-of-range 'cpu' must be at least 1"),
        ("resources: { cpu: 2GB }", "4:23 wrong-type 'cpu' wants a whole number, found text"),
        ("resources: { memory: 0GB }", "4:26 out-of-range 'memory' must be at least 1"),
        (
            "resources: { memory: 4 chunks }",
            "4:26 bad-size 'memory' is not an amount of memory: \"chunks\" is not a unit of memory; KiB, MiB, GiB, TiB, KB, MB, GB and TB are",
        ),
        (
            "resources: { memory: 4 }",
            "4:26 out-of-range 'memory' is 4 bytes: nothing runs with less than 1.0 MiB (a plain number is bytes; write memory: 4GiB for that many GiB)",
        ),
        (
            "resources: { disk: many }",
            "4:24 bad-size 'disk' is not an amount of disk space: \"many\" is not a number",
        ),
        ("resources: { disk: 0 }", "4:24 out-of-range 'disk' must be at least 1"),
        (
            "resources: { processes: 1 }",
            "4:29 out-of-range 'processes' is 1 processes and threads: nothing runs with less than 2 processes and threads",
        ),
        ("resources: { processes: 2GB }", "4:29 wrong-type 'processes' wants a whole number, found text"),
        (
            "resources: { open_files: 5000000 }",
            "4:30 out-of-range 'open_files' is 5000000 open files: more than 1048576 open files is no limit",
        ),
        (
            "resources: { cpu: 100000 }",
            "4:23 out-of-range 'cpu' is 100000 CPU: more than 8192 CPU is no limit",
        ),
    ] {
        check(&with(lines), expect);
    }
}

#[test]
fn a_delay_in_milliseconds_is_suspected() {
    check(
        &with("retry_policy: { initial_delay: 5000, max_delay: 2h }"),
        "4:36 long-delay? 'initial_delay' is 1h23m; plain numbers are seconds (if milliseconds were meant, write 5000ms; otherwise write it with its unit)",
    );
    check(&with("retry_policy: { initial_delay: 3600 }"), "");
}

#[test]
fn numbers_where_texts_stand_are_taken_as_written() {
    let task = task(&with("model: 4.10\nname: 007\nverify: true"));
    assert_eq!((task.model.as_deref(), task.name.as_str()), (Some("4.10"), "007"));
    assert_eq!(task.verify, ["true"]);
}

#[test]
fn a_grace_of_days_without_a_cap_and_a_deadline_is_told_of() {
    let with = |limits: &str| format!("limits: {{ orphan_grace: {limits} }}\ntasks: [{{ id: a, run: x }}]\n");
    let told = "1:25 long-grace? 'orphan_grace' is 100h00m, without a cap and a deadline here (a run with it starts only with max_cost or max_tokens, and with max_time)";
    check(&with("100h"), told);
    check(&with("100h, max_cost: 5"), told);
    check(&with("100h, max_cost: 5, max_time: 9h"), "");
    check(&with("12h"), "");
}
