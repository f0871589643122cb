//! Secrets that tasks say out loud: nothing of them stays.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::harness::{World, wait_for};

/// One passed on by name, one set by the task, one not passed on but found by a task; `shaped` is known by
/// its shape only. No two have a part in common.
const PASSED: &str = "canary-passed-4f1d9a7c2b";
const OWN: &str = "canary-own-8e3b6d5a0f17";
const KEPT: &str = "canary-kept-c7a2e9b4d136";

/// Put together here, so that no scanner takes this file for a leak.
fn shaped() -> String {
    format!("sk-ant-{}", "q7Zr4Xw9".repeat(5))
}

/// Says everything it knows, plainly and in base64, one secret in two parts.
const LEAK: &str = r#"#!/bin/sh
for secret in "$DATABASE_URL" "$MY_TOKEN" SHAPED; do
    echo "plain: $secret"
    printf '{"json":"%s"}\n' "$secret" >&2
    printf '%s' "$secret" | base64 -w0
    echo
done
cat kept
"#;

/// An agent that says what it knows in everything it says, and fails with it.
const LEAKY: &str = r#"#!/bin/sh
read -r task
for secret in "$DATABASE_URL" "$MY_TOKEN" SHAPED; do
    encoded=$(printf '%s' "$secret" | base64 -w0)
    printf '{"type":"text","text":"the key is %s, or %s"}\n' "$secret" "$encoded"
    printf '{"type":"tool","name":"curl","text":"-H %s"}\n' "$secret"
    printf '{"type":"of a later version","text":"%s"}\n' "$secret"
    echo "warning: $secret" >&2
done
printf '{"type":"result","ok":false,"class":"rejected","text":"%s was refused"}\n' "$DATABASE_URL $MY_TOKEN SHAPED"
"#;

fn world(tasks: &str) -> World {
    let mut world = World::with(tasks);
    for (name, text) in [("leak.sh", LEAK), ("conductor-agent-leaky", LEAKY)] {
        world.write(name, &text.replace("SHAPED", &shaped()));
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", world.path("").display(), std::env::var("PATH").unwrap());
    world.set("PATH", path);
    world.set("DATABASE_URL", PASSED);
    world.set("GITHUB_TOKEN", KEPT);
    world.write("kept", KEPT);
    world
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn holds(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

/// The secret and its base64, up to where that depends on what follows.
fn needles(secret: &str) -> [String; 2] {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |group: &[u8]| {
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift) as usize & 63]))
    };
    [secret.to_owned(), secret.as_bytes().chunks_exact(3).flat_map(encode).collect()]
}

/// Where any of it is left. What a task file says in plain words is in the log with the plan, and not looked for there.
fn found(world: &World, said: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let secrets = [(PASSED, false), (OWN, true), (KEPT, false), (&shaped(), false)];
    for (secret, in_plan) in secrets {
        // A secret that is known only by its shape is not recognised once it is encoded.
        for needle in needles(secret).into_iter().take(if secret.starts_with("sk-") { 1 } else { 2 }) {
            for file in files(&world.home()) {
                let is_log = file.file_name().unwrap().to_string_lossy().starts_with("conductor.db");
                if !(in_plan && is_log) && holds(&fs::read(&file).unwrap(), &needle) {
                    found.push(format!("{needle} in {}", file.display()));
                }
            }
            found.extend(
                said.iter().filter(|text| text.contains(&needle)).map(|text| format!("{needle} in {text}")),
            );
        }
    }
    found
}

#[test]
fn no_secret_is_left_of_what_commands_checks_and_agents_say() {
    let environment =
        format!("env: {{ MY_TOKEN: {OWN} }}, env_pass: [DATABASE_URL], retry_policy: {{ max_attempts: 1 }}");
    let world = world(&format!(
        "
tasks:
  - {{ id: command, run: ./leak.sh, {environment} }}
  - {{ id: fails, run: './leak.sh; exit 3', {environment} }}
  - {{ id: set-up, run: 'true', setup: [./leak.sh], {environment} }}
  - {{ id: checked, run: 'true', verify: ['./leak.sh; false'], fix_rounds: 1, {environment} }}
  - {{ id: agent, prompt: do it, agent: leaky, isolation: none, {environment} }}
"
    ));
    for args in [&["run", "tasks.yaml"][..], &["run", "tasks.yaml", "--json"]] {
        let ended = world.conductor(args).expect(100);
        assert_eq!(found(&world, &[&ended.stdout, &ended.stderr]), [""; 0]);
    }
    // They were said, and what was said is there but for the secrets.
    let run = world.runs().pop().unwrap();
    let kept: Vec<u8> =
        files(&world.home().join("runs").join(run)).iter().flat_map(|file| fs::read(file).unwrap()).collect();
    for words in [
        "plain: ***",
        "{\"json\":\"***",
        "the key is ***",
        "[curl] -H ***",
        "warning: ***",
        "of a later version",
    ] {
        assert!(holds(&kept, words), "{words}");
    }
    assert!(holds(&kept, "*** was refused"), "the failure is told");
}

/// A secret is written in two parts with a long pause in between; neither part stays in the file for long.
#[test]
fn a_secret_is_gone_while_its_task_still_runs() {
    let (head, tail) = PASSED.split_at(11);
    let world = world(&format!(
        "
tasks:
  - id: slow
    run: 'printf \"it is {head}\"; AGENT await more; echo {tail} and no more; AGENT await end'
    env_pass: [DATABASE_URL]
"
    ));
    let live = world.start(&["run", "tasks.yaml"]);
    let spool = world.home().join("runs").join(world.wait_for_run()).join("executor_1/spool.log");
    let now = || fs::read_to_string(&spool).unwrap_or_default();
    wait_for("the first part", || now().contains(head).then_some(()));
    world.write("more", "");
    wait_for("it to be gone", || {
        now().contains(&format!("it is {} and no more", "*".repeat(24))).then_some(())
    });
    world.write("end", "");
    let ended = live.ended().expect(0);
    let left = found(&world, &[&ended.stdout, &ended.stderr]);
    assert_eq!(left, [""; 0]);
}

/// What a coordinator that was killed has left is cleared when its run is taken up.
#[test]
fn a_dead_coordinators_words_are_cleared_when_they_are_rescued() {
    let world = world(
        "tasks: [{ id: t, run: 'echo $DATABASE_URL $(cat key); AGENT touch up then await end', env_pass: [DATABASE_URL] }]",
    );
    world.write("key", &shaped());
    let mut live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    world.write("end", "");
    let ended = world.conductor(&["run", "--resume"]).expect(0);
    assert_eq!(found(&world, &[&ended.stdout, &ended.stderr]), [""; 0]);
    assert_eq!(world.transcripts("t").len(), 2);
    assert!(world.transcript("t").starts_with(b"************************ ****"));
}
