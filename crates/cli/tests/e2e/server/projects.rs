//! Projects, their runs, and every way to look at them.

use serde_json::json;

use super::client::Served;
use crate::harness::{World, wait_for};

const TASKS: &str = "
tasks:
  - { id: a, run: 'echo hello from a' }
  - { id: b, run: 'exit 3', epic: late, dependencies: [a] }
  - { id: c, run: 'true', epic: late, dependencies: [b] }
";

#[test]
fn a_project_is_added_seen_and_forgotten() {
    let world = World::in_place(TASKS);
    let served = Served::start(&world);
    let directory = world.path("").display().to_string();
    let added = served
        .post("/api/projects", json!({ "directory": directory, "name": "The page" }))
        .expect(201)
        .json();
    let id = added["id"].as_str().unwrap().to_owned();
    assert_eq!((id.as_str(), &added["name"]), ("work", &json!("The page")));
    served.post("/api/projects", json!({ "directory": directory })).expect(409);
    served.post("/api/projects", json!({ "directory": "/nowhere" })).expect(422);
    served
        .post("/api/projects", json!({ "directory": directory, "file": "other.yaml", "id": "x" }))
        .expect(422);
    let shown = served.get("/api/projects/work");
    assert_eq!(shown["tasks"], 3);
    let unknown = served.by(&served.owner(), "GET", "/api/projects/wrok", &json!({})).expect(404).json();
    assert_eq!(unknown["did_you_mean"], "work");
    assert_eq!(
        served.get("/api/projects/work/epics")["epics"],
        json!([{ "id": "late", "name": null, "tasks": ["b", "c"], "dependencies": [] }])
    );
    assert_eq!(
        served.get("/api/projects/work/dependencies/batches")["batches"],
        json!([["a"], ["b"], ["c"]])
    );
    assert_eq!(served.get("/api/projects/work/dependencies/critical-path")["tasks"], json!(["a", "b", "c"]));
    assert_eq!(served.get("/api/projects/work/dependencies/validate")["errors"], 0);
    world.write("tasks.yaml", "tasks: [{ id: a, rum: x }]");
    assert!(served.get("/api/projects/work/dependencies/validate")["findings"][0]["code"].is_string());
    assert!(served.get("/api/projects/work")["file_error"].is_string());
    served.by(&served.owner(), "GET", "/api/projects/work/tasks", &json!({})).expect(422);
    served.by(&served.owner(), "DELETE", "/api/projects/work", &json!({})).expect(200);
    served.by(&served.owner(), "GET", "/api/projects/work", &json!({})).expect(404);
    assert!(world.path("tasks.yaml").exists());
}

#[test]
fn a_run_of_a_terminal_is_seen_in_every_way() {
    let world = World::in_place(TASKS);
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let run = world.run_id();
    let runs = served.get("/api/runs");
    assert_eq!((&runs["runs"][0]["run"], &runs["runs"][0]["project"]), (&json!(run), &json!("web")));
    let status = served.get(&format!("/api/runs/{run}"));
    assert_eq!(
        (&status["live"], &status["state"], &status["counts"]["failed"]),
        (&json!(false), &json!("failed"), &json!(1))
    );
    let tasks = served.get(&format!("/api/runs/{run}/tasks?limit=2"));
    assert_eq!((tasks["tasks"].as_array().unwrap().len(), &tasks["next_cursor"]), (2, &json!("2")));
    let rest = served.get(&format!("/api/runs/{run}/tasks?limit=2&cursor=2"));
    assert_eq!((&rest["tasks"][0]["id"], &rest["next_cursor"]), (&json!("c"), &json!(null)));
    assert_eq!(served.get(&format!("/api/runs/{run}/tasks?status=failed"))["tasks"][0]["id"], "b");
    assert_eq!(served.get(&format!("/api/runs/{run}/tasks/b"))["task"]["failure"]["class"], "exit");
    assert_eq!(served.get(&format!("/api/runs/{run}/tasks/a/attempts"))["attempts"][0]["end"], "succeeded");
    let log =
        served.by(&served.owner(), "GET", &format!("/api/runs/{run}/tasks/a/log"), &json!({})).expect(200);
    assert!(log.body.contains("hello from a"), "{}", log.body);
    let bearer = format!("Bearer {}", served.owner());
    let headers = [("Authorization", bearer.as_str()), ("Range", "bytes=0-4")];
    let part = served.ask("GET", &format!("/api/runs/{run}/tasks/a/log"), &headers, "").expect(206);
    assert_eq!(part.body.len(), 5);
    let events = served.get(&format!("/api/runs/{run}/events?limit=3"));
    let since = events["next_since"].as_u64().unwrap();
    let rest = served.get(&format!("/api/runs/{run}/events?since={since}"));
    assert_eq!(rest["events"][0]["seq"], since + 1);
    assert_eq!(served.get(&format!("/api/runs/{run}/graph"))["schema"], "conductor.graph/1");
    assert_eq!(served.get(&format!("/api/runs/{run}/summary"))["failed"], 1);
    assert_eq!(served.get(&format!("/api/runs/{run}/costs"))["schema"], "conductor.cost/1");
    let report =
        served.by(&served.owner(), "GET", &format!("/api/runs/{run}/report"), &json!({})).expect(200);
    assert!(report.body.contains("<html"), "{}", report.head);
    // The state of tasks in the project is that of its newest run.
    let tasks = served.get("/api/projects/web/tasks");
    assert_eq!((&tasks["tasks"][1]["status"], &tasks["tasks"][1]["run"]), (&json!("failed"), &json!(run)));
    assert!(served.get(&format!("/api/runs/{}", &run[..4]))["run"] == json!(run), "a beginning names it too");
}

#[test]
fn what_is_not_there_is_said_with_what_may_be_meant() {
    let world = World::in_place("tasks: [{ id: a, run: exit 1 }, { id: publish, run: 'true' }]");
    let served = Served::start(&world);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let run = world.run_id();
    let ask = |path: &str| served.by(&served.owner(), "GET", path, &json!({}));
    ask("/api/runs/nothing").expect(404);
    ask("/api/nothing").expect(404);
    ask(&format!("/api/runs/{run}/tasks/zz")).expect(404);
    let near = format!("{}x", &run[..run.len() - 1]);
    assert_eq!(ask(&format!("/api/runs/{near}")).expect(404).json()["did_you_mean"], json!(run));
    let near = ask(&format!("/api/runs/{run}/tasks/publsih")).expect(404);
    assert_eq!(near.json()["did_you_mean"], "publish");
    // Nothing leads out of where it belongs.
    for path in
        ["%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%2f..%2fserver%2fowner-token", "%2fetc%2fpasswd", "a%00b"]
    {
        let answer = ask(&format!("/api/runs/{run}/tasks/{path}/log"));
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.body.contains("root:") && !answer.body.contains(&served.owner()));
        assert!(matches!(ask(&format!("/api/projects/{path}/file")).status, 400 | 404));
        assert!(matches!(ask(&format!("/api/runs/{path}")).status, 400 | 404));
    }
    served.by(&served.owner(), "PUT", "/api/runs", &json!({})).expect(405);
}

/// E7: what an agent links to from where its output is kept is not what the API shows.
#[test]
fn a_link_in_place_of_an_output_leads_nowhere() {
    let world = World::in_place(TASKS);
    let served = Served::start(&world);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let run = world.run_id();
    let secret = served.owner();
    let outside = world.home().join("server/owner-token");
    let mut linked = 0;
    for file in files_below(&world.home().join("runs").join(&run)) {
        if file.extension().is_some_and(|kind| kind == "log" || kind == "jsonl") {
            std::fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink(&outside, &file).unwrap();
            linked += 1;
        }
    }
    assert!(linked > 0, "there is an output to put a link in place of");
    let looked_at = || {
        for path in ["log", "tasks/a/log", "tasks/a/log?tail=5", "tasks/a/conversation", "tasks/a", "report"]
        {
            let answer = served.by(&served.owner(), "GET", &format!("/api/runs/{run}/{path}"), &json!({}));
            assert!(!answer.body.contains(&secret), "{path}: {}", answer.body);
        }
    };
    looked_at();
    let folder = world.home().join("runs").join(&run).join("executor_1/a");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir(world.path("elsewhere")).unwrap();
    std::fs::copy(&outside, world.path("elsewhere/transcript.log")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), &folder).unwrap();
    looked_at();
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => files.extend(files_below(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    files
}

#[test]
fn a_newer_database_is_told_and_nothing_is_changed() {
    let world = World::in_place(TASKS);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let newer = "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
                 values (999, 'later', 1, x'00', 0)";
    let done = std::process::Command::new("sqlite3").arg(world.database()).arg(newer).status().unwrap();
    assert!(done.success());
    let before = std::fs::read(world.database()).unwrap();
    let served = Served::start(&world);
    let answer = served.by(&served.owner(), "GET", "/api/runs", &json!({})).expect(503);
    assert!(answer.json()["detail"].as_str().unwrap().contains("newer conductor"), "{}", answer.body);
    assert_eq!(served.ask("GET", "/readyz", &[], "").status, 503);
    assert!(std::fs::read(world.database()).unwrap() == before, "the file was changed");
}

#[test]
fn a_damaged_database_is_told() {
    let world = World::in_place(TASKS);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let served = Served::start(&world);
    // All of it may still be in the log beside it, and is read from there then.
    for name in ["conductor.db-wal", "conductor.db-shm"] {
        let _ = std::fs::remove_file(world.home().join(name));
    }
    std::fs::write(world.database(), "this is no database, and longer than a hundred bytes. ".repeat(9))
        .unwrap();
    let answer = wait_for("the damage to be seen", || {
        Some(served.by(&served.owner(), "GET", "/api/runs", &json!({}))).filter(|answer| answer.status == 503)
    });
    assert!(answer.json()["detail"].as_str().unwrap().contains("conductor.db"), "{}", answer.body);
    assert_eq!(served.ask("GET", "/readyz", &[], "").status, 503);
    assert_eq!(served.ask("GET", "/healthz", &[], "").status, 200);
}

/// Each mistake of a file is told with its place, wherever the file is read.
#[test]
fn a_file_with_mistakes_is_refused_with_their_places() {
    let world = World::in_place("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["project", "add", "--id", "shop"]).expect(0);
    let served = Served::start(&world);
    world
        .write("tasks.yaml", "tasks:\n  - { id: a, run: 'true' }\n  - { id: a, run: 'true', colour: red }\n");
    let listed = served.by(&served.owner(), "GET", "/api/projects/shop/tasks", &json!({})).expect(422).json();
    let started = served.post("/api/projects/shop/parallel/start", json!({})).expect(422).json();
    for refused in [&listed, &started] {
        assert!(refused["detail"].as_str().unwrap().contains("has errors: line 3, column "), "{refused}");
        let errors = refused["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 2, "{refused}");
        for error in errors {
            assert!(error["place"].as_str().unwrap().starts_with("line 3, column "), "{error}");
        }
    }
    let shown = served.get("/api/projects/shop");
    assert!(shown["file_error"].as_str().unwrap().contains("line 3, column "), "{shown}");
    assert!(world.runs().is_empty());
}
