//! The examples, each run as its own first lines say.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::World;
use crate::repository::{command, git, repository};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn examples() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|kind| kind == "yaml")).collect();
    files.sort();
    assert!(files.len() > 9, "{files:?}");
    files
}

/// The commands in a file's first remark, and the exit code each ends with.
fn commands(text: &str) -> Vec<(Vec<String>, i32)> {
    let lines = text.lines().take_while(|line| line.starts_with('#'));
    let commands = lines.filter_map(|line| line.strip_prefix("#   conductor "));
    commands
        .map(|line| {
            let (words, code) = line.split_once(" # exit ").unwrap_or((line, "0"));
            let words = words.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect();
            (words, code.trim().parse().unwrap())
        })
        .collect()
}

/// A repository that has the examples in it.
fn world() -> World {
    let world = repository("");
    fs::create_dir(world.path("repo/examples")).unwrap();
    for file in examples() {
        fs::copy(&file, world.path("repo/examples").join(file.file_name().unwrap())).unwrap();
    }
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "examples"]);
    world
}

#[test]
fn every_example_is_valid() {
    let world = world();
    for file in examples() {
        let name = format!("examples/{}", file.file_name().unwrap().display());
        world.spawn(&mut command(&world, &["validate", &name])).ended().expect(0);
    }
}

/// Two are not among them. The quickstart needs cargo, and `cargo xtask test` runs it as the README says; agents behind a
/// page need the page, and have a test of their own.
#[test]
fn every_example_does_what_it_says() {
    for file in examples() {
        let name = file.file_name().unwrap().display().to_string();
        let found = commands(&fs::read_to_string(&file).unwrap());
        let is_elsewhere = ["quickstart.yaml", "browser.yaml"].contains(&name.as_str());
        assert_eq!(found.is_empty(), is_elsewhere, "{name} says no command");
        for (words, code) in found {
            assert!(words.iter().any(|word| word.ends_with(&name)), "{name}: {words:?}");
            let world = world();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            eprintln!("conductor {}", words.join(" "));
            world.spawn(&mut command(&world, &words)).ended().expect(code);
        }
    }
}

#[test]
fn the_config_is_good() {
    let world = world();
    fs::create_dir(world.path("repo/.conductor")).unwrap();
    fs::copy(folder().join("config/config.yaml"), world.path("repo/.conductor/config.yaml")).unwrap();
    world
        .spawn(&mut command(&world, &["config", "show", "--origin"]))
        .ended()
        .expect(0)
        .says("limits.max_cost");
}
