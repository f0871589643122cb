//! Plugins: the contract, those that break it, and what each kind does in a run.

mod bad;
mod imports;
mod setup;
mod transcripts;
mod trusted;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{World, skipped};
use crate::repository::{conductor, git, repository};

const KINDS: [&str; 4] = ["agent", "notifier", "importer", "verifier"];

/// Whether a program that a plugin is written in is there.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A new plugin as `plugin new` writes it, ready to be started.
fn made(world: &World, kind: &str, lang: &str) -> PathBuf {
    let folder = format!("new-{lang}");
    let args = ["plugin", "new", "mine", "--kind", kind, "--lang", lang, "-o", &folder];
    world.conductor(&args).expect(0).says("conductor plugin test");
    let program = world.path(&folder).join(format!("conductor-{kind}-mine"));
    if lang != "rust" {
        return program;
    }
    // As cargo would build it, without asking a registry for anything.
    let built = world.path("built");
    fs::create_dir_all(&built).unwrap();
    let built = built.join(program.file_name().unwrap());
    let output = Command::new("rustc")
        .args(["--edition", "2021", "-o"])
        .arg(&built)
        .arg(program.join("src/main.rs"))
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    built
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn hello(kind: &str) -> String {
    format!(
        "echo '{{\"type\":\"hello\",\"protocol\":1,\"version\":\"1.0\",\"capabilities\":[\"{kind}\"]}}'\n"
    )
}

#[test]
fn what_is_written_to_begin_with_keeps_the_contract() {
    for (lang, program) in [("sh", "sh"), ("python", "python3"), ("rust", "rustc")] {
        if lang != "sh" && !has(program) {
            skipped(&format!("{program} is not here"));
            continue;
        }
        for kind in KINDS {
            let world = World::new();
            let plugin = made(&world, kind, lang);
            let tested = world.conductor(&["plugin", "test", plugin.to_str().unwrap(), "--json"]);
            assert_eq!(tested.code, Some(0), "{kind} in {lang}: {}\n{}", tested.stdout, tested.stderr);
            let json = tested.json();
            assert_eq!(json["passed"], true, "{kind} in {lang}: {json}");
            assert_eq!(json["cases"].as_array().unwrap().len(), if kind == "agent" { 5 } else { 6 });
        }
    }
}

/// Does a run with a plugin of each kind, as it is written to begin with.
#[test]
fn what_is_written_to_begin_with_works() {
    for lang in ["sh", "python"] {
        if lang == "python" && !has("python3") {
            return skipped("python3 is not here");
        }
        let mut world = repository(
            "config: { agent: mine }\n\
             tasks:\n\
             - { id: good, prompt: Write it }\n\
             - { id: bad, run: 'echo DO NOT LAND > bad.txt', changes: required, verify: ['plugin:mine'] }\n\
             - { id: fine, run: 'echo land > fine.txt', changes: required, verify: ['plugin:mine'] }\n\
             notifications: { on_failure: { type: plugin, name: mine, message: '{task_id} failed' } }\n",
        );
        world.set("CONDUCTOR_PLUGIN_FILE", world.path("told"));
        for kind in ["agent", "notifier", "verifier"] {
            let plugin = made(&world, kind, lang);
            world.conductor(&["plugin", "add", plugin.to_str().unwrap(), "--yes"]).expect(0).says("added");
        }
        let ended = conductor(&world, &["run", "../tasks.yaml", "--isolation", "worktree"]).expect(100);
        ended.says("`plugin:mine` failed");
        let summary = world.summary();
        let of = |task: &str| {
            summary["results"].as_array().unwrap().iter().find(|one| one["task_id"] == task).unwrap().clone()
        };
        assert_eq!(
            (of("good")["status"].as_str(), of("fine")["status"].as_str()),
            (Some("completed"), Some("completed"))
        );
        assert_eq!(of("good")["agent"], "mine");
        let found = &of("bad")["findings"][0];
        assert_eq!((found["file"].as_str(), found["line"].as_u64()), (Some("bad.txt"), Some(1)), "{found}");
        assert_eq!(
            (found["level"].as_str(), found["code"].as_str(), found["by"].as_str()),
            (Some("error"), Some("mark"), Some("mine"))
        );
        assert_eq!(world.read("told"), "bad failed\n");
        let report =
            fs::read_to_string(world.home().join("runs").join(world.run_id()).join("report.md")).unwrap();
        assert!(report.contains("| bad | error | bad.txt:1"), "{report}");
        let transcript = String::from_utf8(world.transcript("bad")).unwrap();
        assert!(
            transcript.contains("bad.txt:1") && transcript.contains("error: this is not to land [mark]"),
            "{transcript}"
        );
    }
}

#[test]
fn findings_are_annotations_on_github() {
    let mut world = repository(
        "tasks: [{ id: a, run: 'echo DO NOT LAND > x.txt', changes: required, verify: ['plugin:mine'] }]",
    );
    let plugin = made(&world, "verifier", "sh");
    world.conductor(&["plugin", "add", plugin.to_str().unwrap(), "--yes"]).expect(0);
    world.set("GITHUB_ACTIONS", "true");
    conductor(&world, &["run", "../tasks.yaml"])
        .expect(100)
        .says("::error file=x.txt,line=1,title=a%3A mine mark::this is not to land");
}

#[test]
fn a_verifier_is_asked_by_hand() {
    let world = World::new();
    let plugin = made(&world, "verifier", "sh");
    world.conductor(&["plugin", "add", plugin.to_str().unwrap(), "--yes"]).expect(0);
    fs::create_dir(world.path("here")).unwrap();
    world.write("here/a.txt", "x\nDO NOT LAND\n");
    let asked = world.conductor(&["-C", "here", "plugin", "verify", "mine"]).expect(100);
    asked.says("a.txt:2: error: this is not to land [mark]").says("mine 0.1.0: failed, 1 error");
    world.write("here/a.txt", "x\n");
    let json = world.conductor(&["-C", "here", "plugin", "verify", "mine", "--json"]).expect(0).json();
    assert_eq!((&json["passed"], json["findings"].as_array().unwrap().len()), (&true.into(), 0));
    world
        .conductor(&["plugin", "verify", "none"])
        .expect(7)
        .says("there is no verifier 'none'")
        .says("plugin list");
}

/// A check that is not there is found before anything starts.
#[test]
fn a_missing_plugin_is_told_before_anything_starts() {
    for tasks in [
        "tasks: [{ id: a, run: 'true', verify: ['plugin:nowhere'] }]",
        "tasks: [{ id: a, run: 'true' }]\nnotifications: { on_failure: { type: plugin, name: nowhere } }",
        "tasks: [{ id: a, prompt: x, agent: nowhere }]",
    ] {
        let world = World::in_place(tasks);
        world.conductor(&["validate", "tasks.yaml"]).expect(0).says("nowhere");
        world.conductor(&["run", "tasks.yaml"]).expect(7).says("nowhere");
        assert!(world.runs().is_empty(), "{tasks}");
    }
}

#[test]
fn a_command_of_others_is_a_command_of_ours() {
    let mut world = World::new();
    script(&world.path("bin/conductor-greet"), "#!/bin/sh\necho \"hello $*\"\nexit 9\n");
    let path = format!("{}:{}", world.path("bin").display(), world.variable("PATH").to_str().unwrap());
    world.set("PATH", path);
    let ended = world.conductor(&["greet", "you", "--json", "-C"]).expect(9);
    assert_eq!(ended.stdout, "hello you --json -C\n");
    world.conductor(&["-q", "greet"]).expect(2).says("put them behind it");
    world.conductor(&["task", "greet"]).expect(2).says("there is no command 'greet'");
    // A repository's own programs are no commands.
    script(&world.path(".conductor/plugins/conductor-mine"), "#!/bin/sh\ntouch ran\n");
    world.conductor(&["mine"]).expect(2);
    assert!(!world.path("ran").exists());
}

#[test]
fn a_plugin_is_started_fast_and_ten_thousand_findings_are_read_fast() {
    if !has("python3") {
        return skipped("python3 is not here");
    }
    let world = World::new();
    let text = format!(
        "#!/usr/bin/env python3\nimport sys\nprint('{{\"type\":\"hello\",\"protocol\":1,\"version\":\"1.0\",\"capabilities\":[\"verifier\"]}}', flush=True)\nsys.stdin.readline()\n\
         print('\\n'.join('{{\"type\":\"finding\",\"level\":\"warning\",\"file\":\"src/f%d.py\",\"line\":%d,\"message\":\"a finding of the usual length, number %d\"}}' % (i, i, i) for i in range(1, {n} + 1)))\n\
         print('{{\"type\":\"done\",\"ok\":true}}', flush=True)\n",
        n = 10_500
    );
    script(&world.home().join("plugins/conductor-verifier-many"), &text);
    let json = world.conductor(&["plugin", "verify", "many", "--json"]).expect(0).json();
    assert_eq!((json["findings"].as_array().unwrap().len(), json["more"].as_u64()), (10_000, Some(500)));
    assert_eq!(json["findings"][9_999]["line"], 10_000);
}

/// What the user's environment has in secrets is no business of a plugin, unless it is meant for plugins.
#[test]
fn a_plugin_gets_no_secrets() {
    let mut world = World::new();
    world.set("SHOP_API_KEY", "sk-secret-secret");
    world.set("CONDUCTOR_PLUGIN_TOKEN", "for-plugins-only");
    let text = format!(
        "#!/bin/sh\n{}read -r line\nenv > {}\necho '{{\"type\":\"done\"}}'\n",
        hello("importer"),
        world.path("seen").display()
    );
    script(&world.home().join("plugins/conductor-importer-nosy"), &text);
    world.conductor(&["import", "plugin", "nosy"]).expect(4).says("nothing to do");
    let seen = world.read("seen");
    assert!(
        seen.contains("CONDUCTOR_PLUGIN_TOKEN=for-plugins-only") && !seen.contains("sk-secret"),
        "{seen}"
    );
}

/// One from before there was a hello.
#[test]
fn an_agent_without_a_hello_still_works() {
    let world = repository("tasks: [{ id: a, prompt: x, agent: old }]");
    let text = "#!/bin/sh\nread -r task\necho hello > hello.txt\necho '{\"type\":\"result\",\"ok\":true,\"text\":\"done\"}'\n";
    script(&world.home().join("plugins/conductor-agent-old"), text);
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert_eq!(git(&world, &["show", &format!("conductor/{}:hello.txt", world.run_id())]), "hello");
    conductor(&world, &["agents", "list"]).expect(0).says("old");
}
