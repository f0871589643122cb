//! What a project teaches: learned from checks, given to later tasks, edited by hand, never another project's.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::harness::World;
use crate::repository::{conductor, git, on_branch, repository};

/// An agent that keeps its prompt for the test to read, and gets its work right only when it is told what is wrong.
fn with_pupil(tasks: &str) -> World {
    let mut world = repository(tasks);
    let bin = world.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("conductor-agent-pupil");
    let script = "#!/bin/sh\nread -r task\nmkdir -p src/api\n\
        test -n \"$CONDUCTOR_ROUND\" || printf '%s' \"$task\" > src/api/told-$CONDUCTOR_TASK.json\n\
        if test -n \"$CONDUCTOR_ROUND\" || test $CONDUCTOR_TASK != first; then echo good; else echo bad; fi \
          > src/api/$CONDUCTOR_TASK.txt\n\
        echo '{\"type\":\"result\",\"ok\":true,\"text\":\"I verified everything; always use foo.\"}'\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    world.set("PATH", format!("{}:{path}", bin.display()));
    world
}

/// How many attempts were recorded as held out.
pub(crate) const HELD_OUT: &str =
    "SELECT count(*) FROM events WHERE json_extract(body, '$.expertise_used.held_out') = 1";

fn tasks(hold_out: u32) -> String {
    format!(
        "
config: {{ agent: pupil, verify: ['! grep -rn bad src/api --include=*.txt'] }}
limits: {{ hold_out: {hold_out} }}
tasks:
  - {{ id: first, prompt: Build the first part, files: ['src/api/**'] }}
  - {{ id: second, prompt: Build the second part, files: ['src/api/**'], dependencies: [first] }}
  - {{ id: third, prompt: Build it, files: ['src/api/**'], dependencies: [second], expertise: false }}
"
    )
}

fn told(world: &World, task: &str) -> String {
    let told: Value = serde_json::from_str(&on_branch(world, &format!("src/api/told-{task}.json"))).unwrap();
    told["words"].as_str().unwrap().to_owned()
}

fn items(world: &World) -> Vec<Value> {
    let listed = conductor(world, &["expertise", "list", "--all", "--json"]).expect(0).json();
    listed["items"].as_array().unwrap().clone()
}

#[test]
fn a_check_that_was_mended_is_in_the_next_prompt_of_that_scope() {
    let world = with_pupil(&tasks(0));
    conductor(&world, &["run", "../tasks.yaml"]).expect(0).says("learned");
    let second = told(&world, "second");
    assert!(second.contains("## Domain Expertise"), "{second}");
    assert!(second.contains("What mended it, in src/api/first.txt: \u{2212} `bad`, + `good`"), "{second}");
    assert!(!told(&world, "first").contains("Domain Expertise"), "nothing was known before");
    assert!(!told(&world, "third").contains("Domain Expertise"), "it does not want any");
    let used = world.logged("expertise_used");
    assert_eq!(used.len(), 1, "{used:?}");
    assert!(
        !items(&world).iter().any(|item| item["claim"].as_str().unwrap().contains("foo")),
        "praise teaches nothing"
    );
    let shown = conductor(&world, &["explain", "second", "--prompt"]).expect(0);
    assert!(
        shown.stdout.contains("What mended it") && shown.stderr.contains("files src/api/**"),
        "{}",
        shown.stderr
    );
    let failure = items(&world).into_iter().find(|item| item["kind"] == "failure").unwrap();
    assert_eq!(failure["evidence"][0]["task"], "first");
    assert_eq!(failure["evidence"][0]["run"], world.run_id());
    conductor(&world, &["expertise", "show", "api"]).expect(0).says("# Expertise: api");
    conductor(&world, &["expertise", "stats"]).expect(0).says("pupil");
}

#[test]
fn tasks_that_are_held_out_get_nothing_and_that_is_recorded() {
    let world = with_pupil(&tasks(100));
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert!(!told(&world, "second").contains("Domain Expertise"));
    assert_eq!(world.logged("expertise_used"), ["second"]);
    assert_eq!(world.sql(HELD_OUT).trim(), "1");
    let stats = conductor(&world, &["expertise", "stats", "--json"]).expect(0).json();
    assert_eq!(stats["comparison"]["without"]["tasks"], 1, "{stats}");
    assert_eq!(stats["comparison"]["with"]["tasks"], 0, "{stats}");
}

#[test]
fn items_are_edited_by_hand_and_every_version_comes_back_byte_by_byte() {
    let world = repository("tasks: [{ id: a, run: 'true', verify: ['test -f f.txt'] }]");
    let add =
        ["expertise", "add", "Handlers return Problem.", "--domain", "api", "--scope", "f.txt", "--json"];
    let added = conductor(&world, &add).expect(0).json();
    let id = added["id"].as_str().unwrap().to_owned();
    conductor(&world, &add).expect(2).says("says this already");
    let first = conductor(&world, &["expertise", "show", &id, "--version", "1"]).expect(0).stdout;
    conductor(&world, &["expertise", "edit", &id, "--claim", "Handlers return Result."]).expect(0);
    conductor(&world, &["expertise", "edit", &id, "--claim", "Handlers return Result."]).expect(4);
    conductor(&world, &["expertise", "retire", &id[..6]]).expect(0).says("is retired");
    conductor(&world, &["expertise", "list"]).expect(0).says("nothing was learned here yet");
    conductor(&world, &["expertise", "restore", &id]).expect(0).says("is given again");
    conductor(&world, &["expertise", "restore", &id, "--version", "1"]).expect(0);
    let back = conductor(&world, &["expertise", "history", &id, "--json"]).expect(0).json();
    let versions = back["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 5);
    assert_eq!(format!("{}\n", versions[4]["body"].as_str().unwrap()), first);
    conductor(&world, &["expertise", "restore", &id, "--version", "99"]).expect(2).says("has no version 99");
    conductor(&world, &["expertise", "show", "nothing"]).expect(2).says("there is no item 'nothing'");
    conductor(&world, &["expertise", "add", "x", "--scope", "/etc"]).expect(2).says("scope:");
    let secret = concat!("gh", "p_CANARYcanaryCANARYcanary0123456789ab");
    conductor(&world, &["expertise", "add", secret]).expect(2).says("looks like a secret");
}

#[test]
fn what_does_not_hold_any_more_is_found_and_only_own_checks_are_run() {
    let world = repository("tasks: [{ id: a, run: 'true', verify: ['test -f gone.txt'] }]");
    let evil = format!("touch {}", world.path("ran").display());
    for (claim, more) in [
        ("Own check.", ["--check", "test -f gone.txt"]),
        ("Not its own.", ["--check", evil.as_str()]),
        ("About nothing.", ["--scope", "no/such/folder/**"]),
        ("Holds.", ["--scope", "f.txt"]),
    ] {
        conductor(&world, &[&["expertise", "add", claim][..], &more].concat()).expect(0);
    }
    let looked = conductor(&world, &["expertise", "validate", "--file", "../tasks.yaml"]).expect(0);
    let told = looked.stdout.clone();
    for words in
        ["its check `test -f gone.txt` fails", "it was not run", "none of its files", "2 of 4 items hold"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!world.path("ran").exists(), "only a verify command is ever run");
    assert_eq!(
        items(&world).iter().filter(|item| item["retired"].is_null()).count(),
        4,
        "it changes nothing"
    );
    conductor(&world, &["expertise", "improve", "--file", "../tasks.yaml"]).expect(0).says("restore");
    assert_eq!(items(&world).iter().filter(|item| item["retired"].is_null()).count(), 2);
}

#[test]
fn the_file_of_a_repository_is_shared_and_no_other_project_sees_it() {
    let world = repository("tasks: [{ id: a, run: 'true' }]");
    conductor(&world, &["expertise", "add", "Only here.", "--scope", "f.txt"]).expect(0);
    conductor(&world, &["expertise", "export", "--share"]).expect(0).says("1 items are in");
    let text = world.read("repo/.conductor/expertise.yaml");
    assert!(text.contains("Only here.") && text.contains("version: 1"), "{text}");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "share"]);
    let other = world.path("other");
    fs::create_dir_all(&other).unwrap();
    let mut there = world.command(&["expertise", "list", "--all", "--json"]);
    let listed = world.spawn(there.current_dir(&other)).ended().expect(0).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 0, "{listed}");
    let clone = world.path("clone");
    let mut cloning = world.command_of("git");
    cloning.args(["clone", "-q"]).arg(world.path("repo")).arg(&clone);
    assert!(cloning.status().unwrap().success());
    let mut there = world.command(&["expertise", "list", "--json"]);
    let listed = world.spawn(there.current_dir(&clone)).ended().expect(0).json();
    assert_eq!(listed["items"][0]["claim"], "Only here.", "a clone has the file, and with it the items");
    fs::write(clone.join(".conductor/expertise.yaml"), "version: 1\nitems:\n  - claim: ''\n").unwrap();
    let mut there = world.command(&["expertise", "list"]);
    world.spawn(there.current_dir(&clone)).ended().expect(3).says("items[1]: claim:");
    world.write("bad.yaml", "version: 1\nitems:\n  - claim: x\n    kind: essay\n");
    conductor(&world, &["expertise", "import", "../bad.yaml"]).expect(3).says("kind:");
}

/// Times, models and files are learned from the same logs, and shown with the runs that say so.
#[test]
fn what_estimates_models_and_overlap_rest_on_is_shown() {
    let world = with_pupil(&tasks(0));
    conductor(&world, &["expertise", "evidence"]).expect(0).says("no run has taught anything here yet");
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let run = world.run_id();
    let shown =
        conductor(&world, &["expertise", "evidence", "--file", "../tasks.yaml", "--json"]).expect(0).json();
    let times = &shown["times"][0];
    assert_eq!((times["agent"].as_str(), times["tasks"].as_u64()), (Some("pupil"), Some(3)), "{shown}");
    assert_eq!((times["size"].as_str(), times["kind"].as_str()), (Some("small"), Some("feat")), "{shown}");
    assert_eq!(times["runs"][0], run.as_str());
    let touched = shown["touched"].as_array().unwrap();
    let first = touched.iter().find(|one| one["task"] == "first").unwrap();
    let files: Vec<&str> = first["files"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(files.contains(&"src/api/first.txt") && first["run"] == run.as_str(), "{first}");
    assert_eq!(shown["models"].as_array().unwrap().len(), 0, "this agent names no model");
    conductor(&world, &["expertise", "evidence", "--file", "../tasks.yaml"])
        .expect(0)
        .says("how long tasks take")
        .says("src/api/first.txt");
    // The next run is told the same.
    let told = conductor(&world, &["rehearse", "../tasks.yaml", "--json"]).expect(0).json();
    assert!(told.to_string().contains("\"history\""), "{told}");
}
