//! `conductor init`: what it writes, by what, and that it takes nothing away.

use std::fs;
use std::process::Command;

use crate::harness::World;

fn config(world: &World) -> String {
    fs::read_to_string(world.path(".conductor/config.yaml")).unwrap()
}

#[test]
fn what_is_written_is_valid_and_fits_the_project() {
    for (file, text, verify) in [
        ("Cargo.toml", "[package]\nname = \"x\"\n", "cargo test"),
        ("package.json", "{ \"scripts\": { \"test\": \"node t.js\" } }", "npm"),
        ("go.mod", "module x\n", "go test ./..."),
    ] {
        let world = World::new();
        world.write(file, text);
        world.conductor(&["init"]).expect(0).says("conductor run tasks.yaml");
        assert!(config(&world).contains(verify), "{file}: {}", config(&world));
        world.conductor(&["validate", "tasks.yaml"]).expect(0);
        let shown = world.conductor(&["config", "show", "--origin"]).expect(0).stdout;
        assert!(
            shown.lines().any(|line| line.starts_with("verify") && line.contains(".conductor/config.yaml")),
            "{shown}"
        );
    }
}

#[test]
fn python_with_tests_is_known_too() {
    let world = World::new();
    fs::create_dir(world.path("tests")).unwrap();
    world.write("pyproject.toml", "[tool.pytest.ini_options]\n");
    world.write("tests/test_x.py", "def test_x(): pass\n");
    world.conductor(&["init"]).expect(0);
    assert!(config(&world).contains("pytest"), "{}", config(&world));
}

#[test]
fn a_project_nothing_is_known_of_gets_no_checks_invented() {
    let world = World::new();
    world.conductor(&["init"]).expect(0).says("nothing here tells how this project is tested");
    assert!(config(&world).contains("# verify:"), "{}", config(&world));
}

#[test]
fn files_that_are_there_stay_unless_that_is_forced() {
    let world = World::with("tasks: []");
    world.conductor(&["init"]).expect(2).says("tasks.yaml is there already").says("--force");
    assert_eq!(world.read("tasks.yaml"), "tasks: []");
    assert!(!world.path(".conductor").exists(), "half of it was written");
    world.conductor(&["init", "--force"]).expect(0);
    assert!(world.read("tasks.yaml").contains("prompt:"));
}

/// The `PATH` with nothing on it but what runs need.
fn without_agents(world: &mut World) {
    let bin = world.root().join("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["git", "sh", "ls", "date"] {
        let path = world.variable("PATH");
        let found =
            std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
        std::os::unix::fs::symlink(found.unwrap(), bin.join(program)).unwrap();
    }
    world.set("PATH", bin);
}

/// A user without an agent has a file that runs, and is told how to add one.
#[test]
fn without_an_agent_what_is_written_runs() {
    let mut world = World::new();
    without_agents(&mut world);
    let told = world.conductor(&["init"]).expect(0);
    told.says("no agent is installed, so the tasks are commands")
        .says("install claude, codex, gemini or opencode");
    world.conductor(&["validate", "tasks.yaml"]).expect(0).says("2 tasks");
    world.conductor(&["run", "tasks.yaml"]).expect(0).says("2 of 2 completed");
    let mut world = crate::repository::repository("");
    without_agents(&mut world);
    world.write("repo/Cargo.toml", "[package]\nname = \"x\"\n");
    crate::repository::conductor(&world, &["init"]).expect(0);
    crate::repository::conductor(&world, &["run", "tasks.yaml"]).expect(0).says("2 of 2 completed");
}

/// One after the other: what is there stays, and the way on is another file.
#[test]
fn a_template_goes_into_a_file_of_its_own() {
    let world = World::new();
    world.conductor(&["init"]).expect(0);
    let new = ["template", "new", "docs", "--var", "target=README.md"];
    let template = world.conductor(&new).expect(2);
    let told = template.says("tasks.yaml is there already").says("-o OTHER.yaml").stderr.clone();
    assert!(told.find("-o OTHER.yaml") < told.find("--force"), "{told}");
    world.conductor(&[&new[..], &["-o", "docs.yaml"]].concat()).expect(0).says("conductor run docs.yaml");
    world
        .conductor(&[&new[..], &["-o", "the docs.yaml"]].concat())
        .expect(0)
        .says("conductor run 'the docs.yaml'");
    let told = world.conductor(&["init"]).expect(2).stderr;
    assert!(told.find("-o OTHER.yaml") < told.find("--force"), "{told}");
}

/// What an editor is pointed at is there, and is what `conductor schema` tells.
#[test]
fn editors_find_the_schemas_without_a_network() {
    let world = crate::repository::repository("");
    fs::create_dir(world.path("repo/sub")).unwrap();
    let mut init = world.command(&["init"]);
    world.spawn(init.current_dir(world.path("repo/sub"))).ended().expect(0);
    for (file, verb) in
        [("sub/tasks.yaml", &["schema"][..]), (".conductor/config.yaml", &["schema", "--config"])]
    {
        let text = world.read(&format!("repo/{file}"));
        let line = text.lines().next().unwrap();
        let path = line.strip_prefix("# yaml-language-server: $schema=").expect(line);
        let schema = world.path("repo").join(file).with_file_name("").join(path);
        let schema: serde_json::Value = serde_json::from_slice(&fs::read(&schema).expect(path)).unwrap();
        assert_eq!(schema, world.conductor(verb).expect(0).json(), "{file}");
    }
}

#[test]
fn the_wizard_is_refused_without_a_terminal() {
    let world = World::new();
    world.conductor(&["init", "--wizard"]).expect(2).says("needs a terminal");
    assert!(!world.path("tasks.yaml").exists());
}

/// At a terminal, which `script` plays.
#[test]
fn at_a_terminal_it_asks() {
    let world = World::new();
    let answers = "gemini\nmake check\n2\n7.50\nSay hello\n";
    let typed = |command: &str, answers: &str| {
        let mut script: Command = world.command_of("script");
        script.args(["-qec", &format!("{} {command}", crate::harness::CONDUCTOR), "/dev/null"]);
        let path = world.root().join("typed");
        fs::write(&path, answers).unwrap();
        script.stdin(fs::File::open(path).unwrap());
        world.spawn(&mut script).ended()
    };
    typed("init --wizard", answers).expect(0).says("Which agent does the work?");
    let config = config(&world);
    for part in ["agent: \"gemini\"", "- \"make check\"", "parallel: 2", "max_cost: 7.5"] {
        assert!(config.contains(part), "no {part} in {config}");
    }
    assert!(world.read("tasks.yaml").contains("Say hello"));
    typed("init", "n\n").expect(2).says("nothing was written");
    typed("init", "y\ny\n").expect(0);
    assert!(!world.read("tasks.yaml").contains("Say hello"));
}

/// Whatever is answered: the file that the questions end in is one that runs, here on a machine without an agent.
#[test]
fn the_questions_end_in_a_file_that_runs() {
    let mut world = crate::repository::repository("");
    without_agents(&mut world);
    let program = format!("{0} init --wizard && {0} run tasks.yaml --ui plain", crate::harness::CONDUCTOR);
    // Beside the few programs of the world: what the terminal's own shell needs.
    for name in ["tmux", "stty", "sleep"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join(name))
            .find(|file| file.is_file());
        if let Some(found) = found {
            std::os::unix::fs::symlink(found, world.root().join("bin").join(name)).unwrap();
        }
    }
    let Some(terminal) = crate::tmux::Terminal::with(&mut world, (120, 40), "cd repo", &program) else {
        return;
    };
    for (asked, answer) in [
        ("Which agent does the work? [none is installed]", "claud"),
        ("did you mean claude?", "claude"),
        ("Which command checks the work?", ""),
        ("How many tasks at once? [3]", "2"),
        ("How many dollars may a run cost?", "a lot"),
        ("a sum in dollars", "4"),
        ("What is to be done first? [an example]", "Write a poem about worktrees"),
    ] {
        terminal.wait_for(&[asked]);
        terminal.tmux(&["send-keys", "-l", answer]);
        terminal.press(&["Enter"]);
    }
    terminal.wait_for(&["claude is not installed here, so the tasks are commands"]);
    terminal.wait_for(&["2 of 2 completed"]);
    terminal.ended(0);
    assert!(terminal.world.read("repo/tasks.yaml").contains("Write a poem about worktrees"));
    terminal.world.conductor(&["validate", "repo/tasks.yaml"]).expect(0);
}
