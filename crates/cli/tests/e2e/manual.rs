//! `conductor completions`, `man` and `version --json`: for shells, readers and programs.

use std::fs;

use crate::harness::World;

#[test]
fn every_shell_gets_something_it_understands() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.conductor(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("rehearse"), "{shell}: {script}");
    }
    world.write("c.bash", &world.conductor(&["completions", "bash"]).expect(0).stdout);
    let mut bash = world.command_of("bash");
    bash.args(["-c", ". ./c.bash && COMP_WORDS=(conductor reh) COMP_CWORD=1 && _conductor conductor reh conductor && echo \"${COMPREPLY[@]}\""]);
    world.spawn(&mut bash).ended().expect(0).says("rehearse");
    world.conductor(&["completions", "csh"]).expect(2);
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
