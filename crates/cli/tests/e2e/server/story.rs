//! Seed 003's story from outside, in a git repository: only `curl` and a WebSocket client speak to the server.

use serde_json::{Value, json};

use super::client::{Served, Socket};
use crate::harness::{World, wait_for};
use crate::questions;
use crate::repository::{checkout, git};

/// Does its task and says what that cost. `slow` waits to be let go.
const HOUSE: &str = r#"
read -r task
echo "$CONDUCTOR_TASK" >> HERE/calls
if [ "$CONDUCTOR_TASK" = slow ]; then
  touch HERE/started
  while [ ! -e HERE/go ]; do sleep 0.05; done
fi
ls > "$CONDUCTOR_TASK.txt"
echo '{"type":"usage","model":"house-1","input":1000000,"output":0,"turns":1}'
echo '{"type":"result","ok":true,"text":"done"}'
"#;

const TASKS: &str = "
config: { agent: house, model: house-1, prices: { 'house-*': { input: 0.5, output: 2 } } }
tasks:
  - { id: one, prompt: one }
  - { id: two, prompt: two }
  - { id: slow, prompt: slow, dependencies: [one, two], epic: late }
  - { id: last, prompt: last, dependencies: [slow] }
";

fn world() -> World {
    let world = questions::world(TASKS, &[("house", HOUSE)]);
    let asked = world.command_of("curl").arg("--version").output();
    assert!(asked.is_ok_and(|asked| asked.status.success()), "curl is missing; `cargo xtask test` gets it");
    world
}

/// A user at a terminal, with `curl`.
struct Caller<'s> {
    served: &'s Served<'s>,
    token: String,
}

impl Caller<'_> {
    /// The status and what is answered.
    fn call(&self, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut curl = self.served.world.command_of("curl");
        curl.args(["-sS", "--max-time", "60", "-w", "\n%{http_code}"]);
        curl.args(["-H", &format!("Authorization: Bearer {}", self.token)]);
        if let Some(body) = body {
            curl.args(["-H", "Content-Type: application/json", "-d", &body.to_string()]);
        }
        let said =
            curl.arg(format!("http://localhost:{}{path}", self.served.address.port())).output().unwrap();
        assert!(said.status.success(), "{path}: {}", String::from_utf8_lossy(&said.stderr));
        let said = String::from_utf8(said.stdout).unwrap();
        let (answer, status) = said.rsplit_once('\n').unwrap();
        (
            status.parse().unwrap(),
            serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}")),
        )
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.call(path, None);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    #[track_caller]
    fn post(&self, path: &str, body: Value, expected: u16) -> Value {
        let (status, answer) = self.call(path, Some(body));
        assert_eq!(status, expected, "{path}: {answer}");
        answer
    }

    fn wait_until_over(&self) -> Value {
        wait_for("the run's end", || {
            Some(self.get("/api/projects/web/parallel/status")).filter(|status| status["running"] == false)
        })
    }
}

/// One event of this type has all of these fields.
#[track_caller]
fn expect_event<'e>(events: &'e [Value], kind: &str, fields: &[&str]) -> &'e Value {
    let found = events.iter().find(|event| event["type"] == kind);
    let event = found.unwrap_or_else(|| panic!("no {kind} in {events:?}"));
    for field in fields {
        assert!(event.get(field).is_some(), "{kind} has no {field}: {event}");
    }
    event
}

#[track_caller]
fn expect_fields(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "no {field} in {value}");
    }
}

/// Begins as its first messages tell: who is connected, then how things stand.
#[track_caller]
fn expect_beginning(socket: &mut Socket) {
    assert_eq!(socket.next().unwrap()[0]["type"], "connected");
}

#[test]
fn a_user_logs_in_starts_watches_cancels_and_starts_what_is_left() {
    let world = world();
    let served = Served::start(&world);
    let repository = world.path("repo").display().to_string();
    let owner = Caller { served: &served, token: served.owner() };
    owner.post(
        "/api/projects",
        json!({ "directory": repository, "file": world.path("tasks.yaml"), "id": "web" }),
        201,
    );
    owner.post(
        "/api/users",
        json!({ "name": "ann", "password": "correct horse battery", "role": "operator", "project": "web" }),
        201,
    );
    let before = checkout(&world);
    let stranger = Caller { served: &served, token: "cdt_none".to_owned() };
    assert_eq!(stranger.call("/api/projects/web/parallel/start", Some(json!({}))).0, 401);
    let login = json!({ "name": "ann", "password": "correct horse battery", "as": "token" });
    let token = stranger.post("/api/login", login, 200)["token"].as_str().unwrap().to_owned();
    let ann = Caller { served: &served, token };
    let mut socket = served.socket_of(&ann.token, "/api/ws/web");
    expect_beginning(&mut socket);

    let begun = ann.post("/api/projects/web/parallel/start", json!({ "max_concurrency": 3 }), 202);
    let first = begun["run"].as_str().unwrap().to_owned();
    assert_eq!((&begun["running"], &begun["max_concurrency"]), (&json!(true), &json!(3)));
    let mut events = socket.until("worktree_merged");
    world.wait_for_file("started");
    let status = ann.get("/api/projects/web/parallel/status");
    assert_eq!((&status["running"], &status["active_agents"]), (&json!(true), &json!(1)));
    assert_eq!(status["max_concurrency"], 3);
    let agent = &status["agents"][0];
    let known = (&agent["task_id"], &agent["epic_id"], &agent["model"]);
    assert_eq!(known, (&json!("slow"), &json!("late"), &json!("house-1")));
    assert!(agent["duration"].is_number(), "{agent}");
    let batches = ann.get("/api/projects/web/parallel/batches")["batches"].clone();
    let told: Vec<_> =
        batches.as_array().unwrap().iter().map(|one| (&one["status"], &one["task_ids"])).collect();
    assert_eq!(
        json!(told),
        json!([["completed", ["one", "two"]], ["running", ["slow"]], ["pending", ["last"]]])
    );
    let mut late = served.socket_of(&ann.token, "/api/ws/web");
    let state = late.until("initial_state");
    expect_event(&state, "initial_state", &["run", "seq", "state", "tasks", "cost"]);

    let cancelled = ann.post("/api/projects/web/parallel/cancel", json!({}), 200);
    assert_eq!((&cancelled["run"], &cancelled["cancelled"]), (&json!(first), &json!(2)));
    let over = ann.wait_until_over();
    assert_eq!((&over["result"]["completed_tasks"], &over["result"]["total_tasks"]), (&json!(2), &json!(4)));
    events.extend(socket.until("parallel_complete"));
    let start = expect_event(&events, "batch_start", &["batch_number", "total_batches", "task_count"]);
    assert_eq!(
        (&start["batch_number"], &start["total_batches"], &start["task_count"]),
        (&json!(1), &json!(3), &json!(2))
    );
    expect_event(&events, "task_start", &["task_id", "epic_id", "model"]);
    let complete = expect_event(&events, "task_complete", &["task_id", "status"]);
    assert_eq!(complete["status"], "completed");
    expect_event(&events, "cost_update", &["task_id", "cost_usd"]);
    expect_fields(
        &expect_event(&events, "batch_complete", &["batch_number", "result"])["result"],
        &["batch_number", "completed", "failed", "duration", "cost"],
    );

    // Only what is left runs, and it begins with what is done.
    world.write("go", "");
    let next = ann.post("/api/projects/web/parallel/start", json!({ "max_concurrency": 3 }), 202);
    let second = next["run"].as_str().unwrap().to_owned();
    assert_ne!(second, first);
    let result = ann.wait_until_over()["result"].clone();
    expect_fields(
        &result,
        &[
            "total_batches",
            "completed_batches",
            "total_tasks",
            "completed_tasks",
            "failed_tasks",
            "batch_results",
        ],
    );
    expect_fields(&result, &["total_duration", "total_cost"]);
    assert_eq!((&result["total_tasks"], &result["completed_tasks"]), (&json!(2), &json!(2)));
    assert_eq!((&result["failed_tasks"], &result["total_cost"]), (&json!([]), &json!(1.0)));
    let mut calls: Vec<String> = world.read("calls").lines().map(str::to_owned).collect();
    calls[..2].sort();
    assert_eq!(calls, ["one", "two", "slow", "slow", "last"], "nothing that was done is done again");
    let seen = git(&world, &["show", &format!("conductor/{second}:last.txt")]);
    assert_eq!(seen, "f.txt\nlast.txt\none.txt\nslow.txt\ntwo.txt");
    assert_eq!(checkout(&world), before);
    let nothing = ann.post("/api/projects/web/parallel/start", json!({}), 409);
    assert!(nothing["detail"].as_str().unwrap().contains("nothing is left to do"), "{nothing}");
    let costs = ann.get("/api/projects/web/costs?by=model");
    // A cancelled attempt that has said nothing has no model.
    let lines = costs["lines"].as_array().unwrap().iter().filter(|line| line["tokens"] != 0);
    let lines: Vec<_> = lines.map(|line| (&line["key"], &line["cost_usd"])).collect();
    assert_eq!(json!(lines), json!([["house-1", 2.0]]));
}
