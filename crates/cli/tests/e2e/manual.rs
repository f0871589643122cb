//! `conductor completions`, `man` and `version --json`: for shells, readers and programs.

use std::fs;

use crate::harness::{CONDUCTOR, Ended, World};

/// What bash offers after these words, the last of which is being typed; and what was said beside it.
fn completed(world: &World, words: &[&str]) -> Vec<String> {
    let ended = ask_bash(world, words).expect(0);
    assert_eq!(ended.stderr, "", "{words:?}");
    ended.stdout.lines().map(str::to_owned).collect()
}

fn ask_bash(world: &World, words: &[&str]) -> Ended {
    let quoted = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let (place, typed) = (words.len() - 1, words[words.len() - 1]);
    let script = format!(
        ". ./c.bash && complete -p conductor > /dev/null && COMP_WORDS=({quoted}) COMP_CWORD={place} \
         && _clap_complete_conductor conductor '{typed}' '' && printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let mut bash = world.command_of("bash");
    world.spawn(bash.args(["--norc", "-c", &script])).ended()
}

/// A world whose shell finds the program by its name, and has our script.
fn with_a_shell(mut world: World) -> World {
    let bin = std::path::Path::new(CONDUCTOR).parent().unwrap().display();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    world.set("PATH", path);
    world.write("c.bash", &world.conductor(&["completions", "bash"]).expect(0).stdout);
    world
}

#[test]
fn every_shell_gets_something_it_understands() {
    let world = with_a_shell(World::new());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.conductor(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("conductor") && script.contains("CONDUCTOR_COMPLETE"), "{shell}: {script}");
        world.write(shell, &script);
        // Where the shell is there, it reads it.
        if let (true, Ok(status)) =
            (shell != "powershell" && shell != "elvish", world.command_of(shell).args(["-n", shell]).status())
        {
            assert!(status.success(), "{shell}");
        }
    }
    // Nushell asks nothing of us: its script has all commands and options in it.
    let script = world.conductor(&["completions", "nushell"]).expect(0).stdout;
    for part in ["export extern conductor [", "\"conductor task retry\"", "--parallel"] {
        assert!(script.contains(part), "no {part}");
    }
    assert_eq!(completed(&world, &["conductor", "reh"]), ["rehearse"]);
    assert!(completed(&world, &["conductor", "run", "--paral"]).contains(&"--parallel".to_owned()));
    world.conductor(&["completions", "csh"]).expect(2);
}

#[test]
fn completions_know_runs_tasks_groups_templates_and_agents() {
    let mut world = with_a_shell(World::with(
        "
tasks:
  - { id: build, run: 'true', group: infra }
  - { id: bundle, run: 'true' }
  - { id: deploy, run: 'true', group: release }
",
    ));
    fs::remove_dir(world.home()).unwrap();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    // Before the first run the task file is what there is.
    assert_eq!(sorted(completed(&world, &["conductor", "logs", "bu"])), ["build", "bundle"]);
    assert!(completed(&world, &["conductor", "status", ""]).iter().all(|word| word.starts_with('-')));
    assert!(!world.home().exists(), "completing makes no state directory");
    world.conductor(&["run", "tasks.yaml", "-q"]).expect(0);
    let run = world.run_id();
    for words in [
        &["conductor", "status", &run[..2]][..],
        &["conductor", "logs", "build", "--run", ""],
        &["conductor", "run", "--resume", &run[..4]],
        &["conductor", "-C", ".", "runs", "show", &run[..3]],
    ] {
        assert_eq!(completed(&world, words), [run.as_str()], "{words:?}");
    }
    fs::remove_file(world.path("tasks.yaml")).unwrap();
    assert_eq!(completed(&world, &["conductor", "task", "retry", "dep"]), ["deploy"]);
    assert_eq!(completed(&world, &["conductor", "cancel", "--group", "in"]), ["infra"]);
    assert_eq!(completed(&world, &["conductor", "group", "status", "--group-id", "rel"]), ["release"]);
    assert_eq!(completed(&world, &["conductor", "template", "new", "ref"]), ["refactor"]);
    assert_eq!(completed(&world, &["conductor", "agents", "test", "op"]), ["opencode"]);
    // What cannot be read completes to nothing, without a word. A log beside it would hold every page of it.
    for beside in ["conductor.db-wal", "conductor.db-shm"] {
        let _ = fs::remove_file(world.home().join(beside));
    }
    fs::write(world.database(), "no database").unwrap();
    assert!(completed(&world, &["conductor", "status", &run[..2]]).iter().all(String::is_empty));
    world.unset("HOME");
    world.unset("CONDUCTOR_HOME");
    assert_eq!(ask_bash(&world, &["conductor", "status", "x"]).expect(0).stderr, "");
}

#[test]
fn there_is_a_page_for_every_command() {
    let world = World::new();
    assert!(world.conductor(&["man"]).expect(0).stdout.contains(".TH conductor 1"));
    world.conductor(&["man", "--dir", "pages/man1"]).expect(0);
    let mut pages: Vec<String> = fs::read_dir(world.path("pages/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    for page in ["conductor.1", "conductor-run.1", "conductor-config-show.1", "conductor-doctor.1"] {
        assert!(pages.iter().any(|name| name == page), "no {page} in {pages:?}");
    }
    world.write("file", "");
    world.conductor(&["man", "--dir", "file/man1"]).expect(1).says("cannot write pages into file/man1");
}

#[test]
fn the_version_tells_what_it_is_made_of() {
    let json = World::new().conductor(&["version", "--json"]).expect(0).json();
    assert_eq!(json["os"], std::env::consts::OS);
    assert_eq!(json["agent_protocol"], 1);
    assert!(json["sqlite"].as_str().unwrap().starts_with("3."), "{json}");
    assert!(json["database_schema"].as_i64().unwrap() >= 1, "{json}");
}
