//! `conductor import`: exports of other tools as task files; where they are from is said beside them, in `fixtures`.

use std::fs;
use std::path::PathBuf;

use super::{hello, made, script};
use crate::harness::{World, skipped};

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/plugins/fixtures").join(name);
    path.display().to_string()
}

/// Each task of the file that was written: its id, its priority, what it needs.
fn tasks(world: &World) -> Vec<String> {
    world.conductor(&["validate", "tasks.yaml"]).expect(0);
    let plan = world
        .conductor(&["run", "tasks.yaml", "--isolation", "none", "--dry-run", "--json"])
        .expect(0)
        .json();
    let told = |task: &serde_json::Value| {
        let id = task["id"].as_str().unwrap();
        let needs = task["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
        let needs: Vec<&str> =
            needs.iter().filter_map(|need| need.as_str().or_else(|| need["id"].as_str())).collect();
        format!("{id} {} [{}]", task["priority"], needs.join(" "))
    };
    plan["tasks"].as_array().unwrap().iter().map(told).collect()
}

#[test]
fn a_list_in_markdown_becomes_tasks() {
    let world = World::new();
    world.write(
        "PLAN.md",
        "# Plan\n\n- [ ] Write the parser\n  - [ ] numbers\n- [x] Set up\n- [ ] Say \"hi\": #1\n",
    );
    world.conductor(&["import", "markdown", "PLAN.md"]).expect(0).says("wrote tasks.yaml with 2 issues");
    assert_eq!(tasks(&world).len(), 2);
    let text = world.read("tasks.yaml");
    assert!(
        text.contains("read from PLAN.md")
            && text.contains("- [ ] numbers")
            && text.contains(r#"Say \"hi\": #1"#),
        "{text}"
    );
    world.conductor(&["import", "markdown", "PLAN.md"]).expect(2).says("is there already");
    world.write("EMPTY.md", "nothing\n");
    world.conductor(&["import", "markdown", "EMPTY.md", "--force"]).expect(3).says("it has no list");
    world.conductor(&["import", "markdown", "none.md", "--force"]).expect(3).says("cannot read none.md");
    world.write("DONE.md", "- [x] all of it\n");
    world.conductor(&["import", "markdown", "DONE.md", "--force"]).expect(4).says("nothing to do");
}

#[test]
fn issues_of_linear_become_tasks() {
    let world = World::new();
    let told = world.conductor(&["import", "linear", &fixture("linear.json")]).expect(0);
    told.says("left out: SHOP-4 is cancelled");
    assert_eq!(tasks(&world), ["shop-2 1 []", "shop-3 2 [shop-2]"]);
    world.write(
        "list.json",
        r#"[{"id": 7, "title": "Only", "description": "x", "priority": 4, "status": "todo"}]"#,
    );
    world.conductor(&["import", "linear", "list.json", "--force"]).expect(0);
    assert_eq!(tasks(&world), ["7 3 []"]);
    world.write("other.json", r#"{"tasks": 1}"#);
    world
        .conductor(&["import", "linear", "other.json", "--force"])
        .expect(3)
        .says("is not what Linear writes");
}

#[test]
fn tasks_of_task_master_become_tasks() {
    let world = World::new();
    fs::create_dir_all(world.path(".taskmaster/tasks")).unwrap();
    fs::copy(fixture("task-master.json"), world.path(".taskmaster/tasks/tasks.json")).unwrap();
    world.conductor(&["import", "task-master"]).expect(0).says("left out: 4 is deferred");
    assert_eq!(tasks(&world), ["2.2 1 []", "2.3 1 [2.2]", "3 3 [2.2 2.3]"]);
    let text = world.read("tasks.yaml");
    assert!(text.contains("This is a part of: Authentication") && text.contains("Log in and out."), "{text}");
    world.conductor(&["import", "task-master", "--tag", "search", "--force"]).expect(0);
    assert_eq!(tasks(&world), ["1 2 []"]);
    world
        .conductor(&["import", "task-master", "--tag", "none", "--force"])
        .expect(3)
        .says("but master, search");
    world.conductor(&["import", "task-master", &fixture("task-master-legacy.json"), "--force"]).expect(0);
    assert_eq!(tasks(&world), ["1 2 []"]);
}

#[test]
fn tasks_of_vibe_kanban_become_tasks() {
    let world = World::new();
    let sql = fs::read_to_string(fixture("vibe-kanban.sql")).unwrap();
    let made = world.command_of("sqlite3").arg(world.path("db.sqlite")).arg(&sql).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return skipped("sqlite3 is not here");
    }
    let before = fs::read(world.path("db.sqlite")).unwrap();
    let told = world.conductor(&["import", "vibe-kanban", "db.sqlite", "--project", "shop"]).expect(0);
    told.says("is in progress there").says("is cancelled there");
    assert_eq!(tasks(&world), ["vk-a01122334455 2 []"]);
    world.conductor(&["import", "vibe-kanban", "db.sqlite", "--force"]).expect(0);
    assert_eq!(tasks(&world).len(), 2);
    world
        .conductor(&["import", "vibe-kanban", "db.sqlite", "--project", "x", "--force"])
        .expect(3)
        .says("but blog, shop");
    assert_eq!(fs::read(world.path("db.sqlite")).unwrap(), before, "it is only read");
    world.write("no.sqlite", "no database");
    world
        .conductor(&["import", "vibe-kanban", "no.sqlite", "--force"])
        .expect(3)
        .says("is not what vibe-kanban writes");
    world.conductor(&["import", "vibe-kanban", "--force"]).expect(3).says("vibe-kanban/db.sqlite");
}

/// A `gh` that answers with the recorded list, or with what it is told to.
fn with_gh(body: &str) -> World {
    let mut world = World::new();
    script(
        &world.path("bin/gh"),
        &format!("#!/bin/sh\necho \"$@\" > {}\n{body}\n", world.path("asked").display()),
    );
    let path = format!("{}:{}", world.path("bin").display(), world.variable("PATH").to_str().unwrap());
    world.set("PATH", path);
    world
}

#[test]
fn issues_of_github_become_tasks() {
    let world = with_gh(&format!("cat {}", fixture("github.json")));
    let told = world
        .conductor(&["import", "github", "--repo", "acme/shop", "--label", "bug", "--limit", "50"])
        .expect(0);
    told.says("left out: issue-9's dependency on issue-99 is not among what is to be done");
    assert_eq!(tasks(&world), ["issue-14 1 [issue-12]", "issue-12 2 []", "issue-9 3 []"]);
    assert_eq!(
        world.read("asked").trim(),
        "issue list --state open --json number,title,body,labels,url --limit 50 --repo acme/shop --label bug"
    );
    assert!(world.read("tasks.yaml").contains("https://github.com/acme/shop/issues/14"));
    let world = with_gh("echo 'gh: To use GitHub CLI, please run gh auth login' >&2; exit 4");
    world.conductor(&["import", "github"]).expect(7).says("please run gh auth login");
    let world = with_gh("echo 'no json'");
    world.conductor(&["import", "github"]).expect(7).says("something else than a list");
}

#[test]
fn an_importer_gives_tasks() {
    let world = World::new();
    let plugin = made(&world, "importer", "sh");
    world.conductor(&["plugin", "add", plugin.to_str().unwrap(), "--yes"]).expect(0);
    world.conductor(&["import", "plugin", "mine"]).expect(4).says("there is no TODO.txt here");
    world.write("TODO.txt", "Write the parser\n\nSay \"hi\"\n");
    world.conductor(&["import", "plugin", "mine"]).expect(0).says("2 issues");
    assert_eq!(tasks(&world), ["todo-1 2 []", "todo-3 2 []"]);
    let text = format!(
        "#!/bin/sh\n{}read -r line; echo '{{\"type\":\"error\",\"text\":\"no login\"}}'; cat\n",
        hello("importer")
    );
    script(&world.home().join("plugins/conductor-importer-out"), &text);
    world
        .conductor(&["import", "plugin", "out", "--force"])
        .expect(1)
        .says("conductor-importer-out failed: no login");
}
