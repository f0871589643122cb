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

#[test]
fn nobody_is_asked_without_a_terminal() {
    let world = World::new();
    world.conductor(&["init", "--wizard"]).expect(2).says("needs a terminal");
    assert!(!world.path("tasks.yaml").exists());
}

/// At a terminal, which `script` plays.
#[test]
fn at_a_terminal_it_asks() {
    let world = World::new();
    let answers = "gemini\nmake check\n2\nSay hello\n";
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
    for part in ["agent: \"gemini\"", "- \"make check\"", "parallel: 2"] {
        assert!(config.contains(part), "no {part} in {config}");
    }
    assert!(world.read("tasks.yaml").contains("Say hello"));
    typed("init", "n\n").expect(2).says("nothing was written");
    typed("init", "y\ny\n").expect(0);
    assert!(!world.read("tasks.yaml").contains("Say hello"));
}
