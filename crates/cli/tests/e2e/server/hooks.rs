//! Hooks, jobs and metrics: what programs outside use.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::client::Served;
use crate::harness::{World, wait_for};

const TASKS: &str = "tasks: [{ id: a, run: 'true' }, { id: b, run: 'exit 1' }]";

fn served(world: &World) -> Served<'_> {
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    Served::start(world)
}

#[test]
fn a_hook_starts_what_is_stored_with_it_and_nothing_else() {
    let world = World::in_place(TASKS);
    let served = served(&world);
    served.post("/api/projects/web/hooks", json!({ "name": "ci" })).expect(422);
    let made = served
        .post("/api/projects/web/hooks", json!({ "name": "ci", "max_cost": 2.5, "only": "a" }))
        .expect(201)
        .json();
    let path =
        made["url"].as_str().unwrap().split_once("/api/").map(|(_, rest)| format!("/api/{rest}")).unwrap();
    let call = || {
        served.ask("POST", &path, &[("Content-Type", "text/plain")], "{\"only\": \"b\", \"max_cost\": 1000}")
    };
    let run = call().expect(202).json()["run"].as_str().unwrap().to_owned();
    wait_for("its end", || (served.get(&format!("/api/runs/{run}"))["live"] == false).then_some(()));
    let status = served.get(&format!("/api/runs/{run}"));
    assert_eq!((&status["total"], &status["max_cost_usd"]), (&json!(1), &json!(2.5)));
    assert!(!served.get("/api/projects/web/hooks").to_string().contains("cdh_"), "the secret is not kept");
    let noted = served.get("/api/audit")["entries"].to_string();
    assert!(noted.contains("ci of web") && noted.contains("/api/hooks/{token}"), "{noted}");
    assert_eq!(holding(&world.home().join("server"), "cdh_"), Vec::<PathBuf>::new(), "the secret is kept");
    let id = made["id"].as_str().unwrap();
    served.by(&served.owner(), "DELETE", &format!("/api/projects/web/hooks/{id}"), &json!({})).expect(200);
    assert_eq!(call().status, 404);
    served.ask("POST", "/api/hooks/cdh_0000", &[], "").expect(404);
}

/// The files below a folder in which a word is, whatever else they are made of.
fn holding(folder: &Path, word: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(holding(&path, word));
        } else if std::fs::read(&path).unwrap().windows(word.len()).any(|part| part == word.as_bytes()) {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_hook_is_not_called_for_ever() {
    let world = World::in_place("tasks: [{ id: a, run: AGENT await go }]");
    let served = served(&world);
    let made =
        served.post("/api/projects/web/hooks", json!({ "name": "ci", "max_cost": 1 })).expect(201).json();
    let path =
        made["url"].as_str().unwrap().split_once("/api/").map(|(_, rest)| format!("/api/{rest}")).unwrap();
    let statuses: Vec<u16> = (0..12).map(|_| served.ask("POST", &path, &[], "").status).collect();
    assert_eq!(statuses[0], 202);
    assert!(statuses[1..10].iter().all(|status| *status == 409), "{statuses:?}");
    assert_eq!(statuses[10..], [429, 429]);
    // Another one, called from the same place, has its own ten.
    let other =
        served.post("/api/projects/web/hooks", json!({ "name": "cd", "max_cost": 1 })).expect(201).json();
    let path = format!("/api/hooks/{}", other["url"].as_str().unwrap().rsplit_once('/').unwrap().1);
    served.ask("POST", &path, &[], "").expect(409);
    world.write("go", "");
}

#[test]
fn counters_of_all_runs_never_go_back() {
    let world = World::in_place(TASKS);
    let served = served(&world);
    let failed = || {
        let text = served.by(&served.owner(), "GET", "/metrics", &json!({})).expect(200).body;
        let line = text.lines().find(|line| line.starts_with("conductor_tasks_total{state=\"failed\""));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    wait_for("both runs", || (failed() == 2).then_some(()));
    world.conductor(&["runs", "prune", "--keep", "0", "--force", "--yes"]).expect(0);
    assert_eq!(failed(), 2, "of runs that are removed too");
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    wait_for("the third run", || (failed() == 3).then_some(()));
    let text = served.by(&served.owner(), "GET", "/metrics", &json!({})).expect(200).body;
    let run = world.runs()[0].clone();
    assert!(!text.contains(&run) && text.contains("conductor_build_info"), "{text}");
}

#[test]
fn groups_are_run_as_a_job_that_outlives_the_server() {
    let world =
        World::in_place("tasks: [{ id: a, title: '[P:Group-1] a', run: AGENT touch started then await go }]");
    let mut served = served(&world);
    let job =
        served.post("/api/projects/web/groups/execute", json!({ "tests": ["none"] })).expect(202).json();
    let path = format!("/api/projects/web/jobs/{}", job["job"].as_str().unwrap());
    world.wait_for_file("started");
    served.kill();
    served.begin();
    assert_eq!(served.get(&path)["state"], "running");
    world.write("go", "");
    let over = wait_for("its end", || Some(served.get(&path)).filter(|job| job["state"] != "running"));
    assert_eq!(over["state"], "done", "{over}");
    let jobs = || served.get("/api/projects/web/jobs")["jobs"].as_array().unwrap().len();
    assert_eq!(jobs(), 1);
    // Another project of that id has no part in them.
    world.conductor(&["project", "remove", "web"]).expect(0);
    assert!(!world.home().join("server/jobs/web").exists());
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    assert_eq!(jobs(), 0);
    served.by(&served.owner(), "GET", &path, &json!({})).expect(404);
}
