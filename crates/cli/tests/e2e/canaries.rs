//! Canaries: secrets of every kind in every text that reaches Conductor, and none readable in what is stored
//! or shown.
//!
//! Each canary stands for one place. A text is read with escapes decoded, and without what a terminal does
//! not show.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::harness::{Ended, World};
use crate::repository::{command, conductor, git, on_branch, repository};

/// One that is known by its value: passed on by name.
pub(crate) const PASSED: &str = "tangerine/submarine+carousel=9";

/// One of a shape of its own for each place. Put together here, so that no scanner takes this file for a leak.
pub(crate) fn canary(place: usize) -> String {
    let letters = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let made = |length: usize| -> String {
        let letter = |n: usize| letters[(place * 11 + n * (place % 9 + 4) + n * n) % letters.len()];
        (0..length).map(|n| char::from(letter(n))).collect()
    };
    match place % 12 {
        0 => format!("ghp_{}7aB", made(33)),
        1 => format!("sk-ant-api03-{}", made(60)),
        2 => format!("sk-proj-{}9aZ", made(50)),
        3 => format!("github_pat_{}", made(40)),
        4 => format!("glpat-{}", made(20)),
        5 => format!("xoxb-{}", made(30)),
        6 => format!("AIza{}", made(35)),
        7 => format!("npm_{}7", made(35)),
        8 => format!("AKIA{}", made(16).to_ascii_uppercase()),
        9 => format!("eyJ{}.eyJ{}.{}", made(20), made(24), made(30)),
        10 => format!("gho_{}9bC", made(33)),
        _ => format!("ghs_{}5dE", made(33)),
    }
}

/// How it is written, line after line.
pub(crate) fn disguised(secret: &str) -> Vec<String> {
    let strewn = |what: &str| -> String {
        let letters = secret.chars().enumerate();
        letters.map(|(n, c)| if n % 4 == 1 { format!("{what}{c}") } else { c.to_string() }).collect()
    };
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let coloured = strewn("\u{1b}[1;31m");
    let points: String = secret.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    vec![
        secret.to_owned(),
        format!("KEY={secret};"),
        format!("word\u{1b}[0m{secret}\u{1b}[0mword"),
        format!("{{\"text\":{}}}", json(&format!("line\n{secret}\nline"))),
        json(&json(&format!("line\n{secret}\nline"))),
        format!("\"{points}\""),
        coloured.clone(),
        json(&coloured),
        strewn("\u{1b}]8;;http://x\u{1b}\\"),
        strewn("\u{1b}]0;t\u{7}"),
        strewn("\r"),
        strewn("\u{8}"),
        strewn("X\u{8}"),
        strewn("\0"),
        strewn("\u{200b}"),
        json(&strewn("\r")),
        format!("{}{secret}", "x ".repeat(95)),
        format!("{}{coloured}", "x ".repeat(95)),
    ]
}

/// The value as it is encoded by others.
pub(crate) fn encoded(value: &str) -> Vec<String> {
    let percent: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let address = value.replace('/', "%2f").replace('+', "%2b").replace('=', "%3d");
    let mut all = vec![percent, address];
    all.extend(["", "u", "us"].map(|before| base64(format!("{before}{value}..").as_bytes())));
    all
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |group: &[u8]| {
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift) as usize & 63]))
    };
    bytes.chunks_exact(3).flat_map(encode).collect()
}

/// What can be read in it: with what is erased, and without.
pub(crate) fn read(bytes: &[u8]) -> [String; 3] {
    let raw = String::from_utf8_lossy(bytes).into_owned();
    let mut text = raw.clone();
    for _ in 0..3 {
        text = unescaped(&text);
    }
    let seen = without_sequences(&text);
    let mut shown = String::with_capacity(seen.len());
    for c in seen.chars() {
        match c {
            '\u{8}' => drop(shown.pop()),
            c => shown.push(c),
        }
    }
    let is_hidden = |c: &char| c.is_control() && *c != '\n' || *c == '\u{200b}';
    let [seen, shown] = [seen, shown].map(|text| text.chars().filter(|c| !is_hidden(c)).collect());
    [raw, seen, shown]
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = || u32::from_str_radix(rest.get(at + 2..at + 6)?, 16).ok().and_then(char::from_u32);
        let (c, length) = match rest[at + 1..].chars().next() {
            Some('n') => (Some('\n'), 2),
            Some('r') => (Some('\r'), 2),
            Some('b') => (Some('\u{8}'), 2),
            Some(c @ ('"' | '\\' | '/')) => (Some(c), 2),
            Some('u') if code().is_some() => (code(), 6),
            _ => (Some('\\'), 1),
        };
        out.extend(c);
        rest = &rest[at + length..];
    }
    out + rest
}

fn without_sequences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let length = match rest.chars().next() {
            Some('[') => rest.find(|c: char| c.is_ascii_alphabetic()).map(|end| end + 1),
            Some(']') => rest
                .find(['\u{7}', '\u{1b}'])
                .map(|end| if rest[end..].starts_with("\u{1b}\\") { end + 2 } else { end + 1 }),
            _ => None,
        };
        rest = &rest[length.unwrap_or(0)..];
    }
    out + rest
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() && !path.is_symlink() { files(&path) } else { vec![path] })
        .collect()
}

/// Everything that is kept below the state directory, and what the database holds.
fn kept(world: &World) -> Vec<(String, Vec<u8>)> {
    let read = |path: PathBuf| Some((path.display().to_string(), fs::read(&path).ok()?));
    let mut all: Vec<(String, Vec<u8>)> = files(&world.home()).into_iter().filter_map(read).collect();
    let names = all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join("\n");
    all.push(("the names of files".to_owned(), names.into_bytes()));
    all.push(("the log".to_owned(), world.sql("SELECT body FROM events").into_bytes()));
    all
}

/// What every command says that tells of a run.
fn told(world: &World, tasks: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut commands: Vec<Vec<&str>> = [
        "status",
        "status --json",
        "events",
        "report --json",
        "report --format md",
        "report --format html -o -",
        "runs list",
        "runs list --json",
        "runs show",
        "runs show --json",
        "cost",
        "cost --json",
    ]
    .map(|line| line.split(' ').collect())
    .to_vec();
    for task in tasks {
        commands.extend([vec!["logs", task], vec!["logs", task, "--stream"], vec!["explain", task]]);
    }
    let said = |args: Vec<&str>| {
        let Ended { stdout, stderr, .. } = conductor(world, &args);
        (args.join(" "), (stdout + &stderr).into_bytes())
    };
    commands.into_iter().map(said).collect()
}

/// Where any of them can be read.
pub(crate) fn found(world: &World, tasks: &[&str], ended: &Ended, secrets: &[(&str, String)]) -> Vec<String> {
    let mut all = kept(world);
    all.extend(told(world, tasks));
    all.push(("the run".to_owned(), format!("{}{}", ended.stdout, ended.stderr).into_bytes()));
    let mut found = Vec::new();
    for (place, bytes) in all {
        let texts = read(&bytes);
        for (name, secret) in secrets {
            if texts.iter().any(|text| text.contains(secret.as_str())) {
                found.push(format!("{name} ({secret}) in {place}"));
            }
        }
    }
    found
}

/// Says what is in a file beside the task file, in every way its language has, and fails with it.
pub(crate) const LEAKY: &str = r#"#!/bin/sh
read -r task
cat HERE/lines
cat HERE/said >&2
"#;

/// Asks for something that it cannot name without a secret.
const ASKER: &str = r#"#!/bin/sh
read -r task
case "$task" in
  *"not allowed"*) echo '{"type":"result","ok":true,"text":"done"}'; exit 0 ;;
esac
cat HERE/question
read -r refused
exit 1
"#;

const TASKS: &str = "
config:
  permissions: { ask: ['Bash(curl*)'], answer_within: 1s }
  retry_policy: { max_attempts: 1 }
  env_pass: [DATABASE_URL]
notifications: { on_failure: [{ type: terminal }] }
tasks:
  - { id: says, run: 'cat HERE/said' }
  - { id: fails, run: 'cat HERE/said >&2; cat HERE/last; exit 3' }
  - { id: named, run: 'while read -r name; do echo x > \"$name\"; done < HERE/names' }
  - { id: outside, run: 'while read -r name; do echo x > \"HERE/repo/$name\"; done < HERE/outside; echo 1 > one.txt' }
  - { id: checked, run: 'echo 1 > c.txt', verify: ['cat HERE/said; false'], fix_rounds: 1 }
  - { id: prepared, run: 'true', setup: ['cat HERE/last >&2; exit 1'] }
  - { id: agent, prompt: Do it, agent: leaky }
  - { id: asks, prompt: Do it, agent: asker }
";

const ALL: [&str; 8] = ["says", "fails", "named", "outside", "checked", "prepared", "agent", "asks"];

#[test]
fn no_canary_can_be_read_in_anything_that_is_kept_or_told() {
    let here = |name: &'static str, place: usize| (name, canary(place));
    let (name, outside, remote, last) = (canary(20), canary(21), canary(22), canary(23));
    let (question, tool, trouble, result) = (canary(24), canary(25), canary(26), canary(27));
    let mut world = repository(TASKS);
    world.set("DATABASE_URL", PASSED);
    install(&mut world, &[("leaky", LEAKY), ("asker", ASKER)]);
    let said: Vec<String> = (0..12).flat_map(|place| disguised(&canary(place))).collect();
    let known = disguised(PASSED).into_iter().chain(encoded(PASSED));
    let said = said.into_iter().chain(known).collect::<Vec<_>>().join("\n") + "\n";
    world.write("said", &said);
    world.write("last", &format!("error: {last} was refused\n"));
    world.write("names", &format!("{name}.txt\nsub-{name}\n"));
    world.write("outside", &format!("{outside}.txt\n"));
    let line = |kind: &str, text: String| {
        serde_json::json!({ "type": kind, "name": "curl", "text": text }).to_string()
    };
    let long = |secret: &str| format!("{} {secret}", "x".repeat(185));
    let mut lines: Vec<String> = said.lines().map(|words| line("text", words.to_owned())).collect();
    lines.extend((0..9).map(|_| line("tool", long(&tool))));
    lines.extend((0..5).map(|_| line("error", format!("{} {trouble}", "x".repeat(70)))));
    lines.push(
        serde_json::json!({ "type": "result", "ok": false, "class": "rejected", "text": long(&result) })
            .to_string(),
    );
    world.write("lines", &(lines.join("\n") + "\n"));
    let asked = serde_json::json!({ "command": format!("curl -H 'X: {question}' http://127.0.0.1:9/") });
    let asked = serde_json::json!({ "type": "question", "id": 1, "tool": "Bash", "input": asked });
    world.write("question", &format!("{asked}\n"));
    git(&world, &["remote", "add", "origin", &format!("https://user:{remote}@127.0.0.1:9/x.git")]);
    git(
        &world,
        &["config", "http.extraHeader", &format!("Authorization: Basic {}", base64(remote.as_bytes()))],
    );

    let ended = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "3"])).ended().expect(100);

    let mut secrets: Vec<(&str, String)> = (0..12).map(|place| here("said", place)).collect();
    secrets.push(("a value", PASSED.to_owned()));
    secrets.extend(encoded(PASSED).into_iter().map(|value| ("an encoded value", value[4..28].to_owned())));
    secrets.extend([
        ("a file's name", name.clone()),
        ("a name outside", outside),
        ("a remote", remote.clone()),
        ("a header", base64(remote.as_bytes())),
        ("the last line", last),
        ("a question", question),
        ("a tool's arguments", tool.clone()),
        ("a tool's error", trouble.clone()),
        ("the result", result.clone()),
    ]);
    // Cut in two, half of it would be left.
    let halves =
        [("half of an argument", tool), ("half of an error", trouble), ("half of the result", result)];
    secrets.extend(halves.map(|(name, secret)| (name, secret[..14].to_owned())));
    assert_eq!(found(&world, &ALL, &ended, &secrets), [""; 0]);

    // All of it was said, and what is no secret is there.
    let run = world.home().join("runs").join(world.run_id());
    let all: Vec<u8> = files(&run).into_iter().flat_map(|path| fs::read(path).unwrap_or_default()).collect();
    let all = String::from_utf8_lossy(&all);
    for words in ["KEY=****", "error: ****", "was refused", "curl -H 'X: ****", "[curl] xxx"] {
        assert!(all.contains(words), "{words}");
    }
    // A file whose name is not told has landed under it all the same.
    assert_eq!(on_branch(&world, &format!("{name}.txt")), "x");
    let summary = world.summary();
    assert_eq!(summary["ledger"]["lost"], serde_json::json!([]));
    assert!(summary.to_string().contains("****.txt"), "it is told that there is one");
}

/// Puts agents of these names on the PATH.
pub(crate) fn install(world: &mut World, agents: &[(&str, &str)]) {
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    for (name, script) in agents {
        let path = bin.join(format!("conductor-agent-{name}"));
        fs::write(&path, script.replace("HERE", &world.path("").display().to_string())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    world.set("PATH", path);
}

/// What does not merge is shown, line by line, and no line longer than 200 letters.
#[test]
fn no_canary_can_be_read_in_a_conflict() {
    let (left, right, long) = (canary(30), canary(31), canary(32));
    let write = |secret: &str| format!("printf \"%s\\\\n\" a \"{secret}\" \"$(cat HERE/long)\" c > f.txt");
    let mut world = repository(&format!(
        "
tasks:
  - {{ id: left, run: '{}; AGENT make HERE/left' }}
  - {{ id: right, run: 'AGENT await HERE/left; {}; AGENT await HERE/landed' }}
",
        write("$(cat HERE/a)"),
        write("$(cat HERE/b)"),
    ));
    world.set("UNRELATED", "1");
    world.write("a", &left);
    world.write("b", &right);
    world.write("long", &format!("{}{long}", "x ".repeat(95)));
    let live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "2"]));
    live.wait_for_stderr("ok      left");
    world.write("landed", "");
    let ended = live.ended().expect(101);
    let secrets =
        [("left", left), ("right", right), ("a long line", long.clone()), ("half", long[..14].to_owned())];
    assert_eq!(found(&world, &["left", "right"], &ended, &secrets), [""; 0]);
}

/// What the program itself says of what it was given.
#[test]
fn no_canary_can_be_read_in_errors_about_arguments_and_files() {
    let world = repository("tasks: [{ id: a, run: 'true' }]");
    let secret = canary(40);
    world.write("bad.yaml", &format!("tasks: [{{ id: a, run: 'true', tokn: '{secret}' }}]"));
    let file = format!("{secret}.yaml");
    let bad = format!("--{secret}");
    for args in [
        vec!["run", &file],
        vec!["run", &bad],
        vec!["run", "../bad.yaml"],
        vec!["validate", "../bad.yaml"],
        vec!["validate", "../bad.yaml", "--json"],
        vec!["status", &secret],
        vec!["logs", &secret],
        vec!["runs", "show", &secret],
        vec!["explain", &secret],
    ] {
        let ended = conductor(&world, &args);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!said.contains(&secret), "{args:?}: {said}");
    }
}
