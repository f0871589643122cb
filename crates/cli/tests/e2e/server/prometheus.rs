//! The real Prometheus scrapes a live server, and what it has stored is what the API says.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::client::{Served, free_port};
use crate::harness::{Live, World, wait_for};

const TASKS: &str = "
tasks:
  - { id: a, run: 'true' }
  - { id: b, run: 'true' }
  - { id: bad, run: exit 3, retry_policy: { max_attempts: 1 } }
  - { id: slow, run: AGENT touch started then await go, dependencies: [a, b] }
";

fn scraping(world: &World, port: u16) -> (Live, u16) {
    let own = free_port().port();
    let token = world.path("token").display().to_string();
    world.write(
        "prometheus.yml",
        &format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\nscrape_configs:\n  - job_name: conductor\n    \
             authorization: {{ credentials_file: {token} }}\n    static_configs: [{{ targets: ['localhost:{port}'] }}]\n"
        ),
    );
    let mut prometheus = world.command_of("prometheus");
    prometheus.args(["--config.file=prometheus.yml", "--storage.tsdb.path=tsdb"]);
    prometheus.arg(format!("--web.listen-address=127.0.0.1:{own}"));
    let started = prometheus.stdin(Stdio::null());
    let found = world.command_of("prometheus").arg("--version").output();
    assert!(
        found.is_ok_and(|found| found.status.success()),
        "prometheus is missing; `cargo xtask test` gets it"
    );
    (world.spawn(started), own)
}

/// What Prometheus answers.
fn ask(world: &World, port: u16, path: &str, query: &str) -> Option<Value> {
    let mut curl = world.command_of("curl");
    curl.args(["-sS", "--max-time", "10", "-G", "--data-urlencode", &format!("query={query}")]);
    let said = curl.arg(format!("http://127.0.0.1:{port}{path}")).output().unwrap();
    serde_json::from_slice::<Value>(&said.stdout).ok().filter(|answer| answer["status"] == "success")
}

fn queried(world: &World, port: u16, query: &str) -> Option<f64> {
    let answer = ask(world, port, "/api/v1/query", query)?;
    answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
}

#[track_caller]
fn wait_for_value(world: &World, port: u16, query: &str, value: f64) {
    let mut last = None;
    let fits = || {
        last = queried(world, port, query);
        (last == Some(value)).then_some(())
    };
    wait_for(&format!("{query} to be {value}"), fits);
}

/// Prometheus's own program has nothing to say against it.
#[track_caller]
fn expect_well_formed(world: &World, text: &str) {
    world.write("metrics.txt", text);
    let mut promtool = world.command_of("promtool");
    promtool.args(["check", "metrics"]).stdin(std::fs::File::open(world.path("metrics.txt")).unwrap());
    let told = promtool.output().expect("promtool is missing; `cargo xtask test` gets it");
    let said = format!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success() && said.is_empty(), "{said}\n{text}");
}

#[test]
fn prometheus_stores_what_the_api_says() {
    let world = World::in_place(TASKS);
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    world
        .conductor_with_input(&["user", "add", "watcher", "--role", "viewer"], b"a long password\n")
        .expect(0);
    let token = world.conductor(&["token", "add", "prometheus", "--user", "watcher"]).expect(0).stdout;
    let served = Served::start(&world);
    let (prometheus, port) = {
        // Not yet a credential: it is told so, and stores nothing.
        world.write("token", "cdt_wrong");
        scraping(&world, served.address.port())
    };
    let up = "up{job=\"conductor\"}";
    wait_for_value(&world, port, up, 0.0);
    world.write("token", token.trim());
    std::fs::set_permissions(world.path("token"), std::fs::Permissions::from_mode(0o600)).unwrap();
    wait_for_value(&world, port, up, 1.0);

    served.post("/api/projects/web/parallel/start", json!({ "max_concurrency": 2 })).expect(202);
    world.wait_for_file("started");
    wait_for_value(&world, port, "conductor_tasks_running", 1.0);
    let metrics = || served.by(&served.owner(), "GET", "/metrics", &json!({})).expect(200).body;
    expect_well_formed(&world, &metrics());
    world.write("go", "");
    let result = wait_for("the run's end", || {
        let status = served.get("/api/projects/web/parallel/status");
        (status["running"] == false).then(|| status["result"].clone())
    });
    let completed = result["completed_tasks"].as_f64().unwrap();
    assert_eq!(completed, 3.0);
    wait_for_value(&world, port, "sum(conductor_tasks_total{state=\"completed\"})", completed);
    let failed = result["failed_tasks"].as_array().unwrap().len() as f64;
    wait_for_value(&world, port, "sum(conductor_tasks_total{state=\"failed\"})", failed);
    wait_for_value(&world, port, "conductor_tasks_running", 0.0);
    expect_well_formed(&world, &metrics());
    let target = ask(&world, port, "/api/v1/targets", "").unwrap()["data"]["activeTargets"][0].clone();
    assert_eq!((&target["health"], &target["lastError"]), (&json!("up"), &json!("")));
    assert_eq!(
        queried(&world, port, &format!("min_over_time({up}[1h])")),
        Some(0.0),
        "it was refused at first"
    );
    drop(prometheus);
}

#[test]
fn counters_know_a_run_that_was_taken_up_again_and_one_that_is_removed() {
    let world = World::in_place(
        "tasks: [{ id: a, run: 'true' }, { id: b, run: 'test -e go', retry_policy: { max_attempts: 1 } }]",
    );
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    let completed = || -> u64 {
        let text = served.by(&served.owner(), "GET", "/metrics", &json!({})).expect(200).body;
        let lines = text.lines().filter(|line| {
            line.starts_with("conductor_tasks_total{") && line.contains("state=\"completed\"")
        });
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum::<f64>() as u64
    };
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    assert_eq!(completed(), 1);
    world.write("go", "");
    world.conductor(&["run", "--retry-failed"]).expect(0);
    assert_eq!(completed(), 2);
    std::fs::remove_file(world.path("go")).unwrap();
    world.write("tasks.yaml", "tasks: [{ id: a, run: 'true' }, { id: b, run: AGENT touch started then await go, dependencies: [a] }]");
    let mut live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    assert_eq!(completed(), 3);
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    world.conductor(&["runs", "prune", "--keep", "0", "--force", "--yes"]).expect(0);
    assert_eq!(completed(), 3, "of a run that was never over");
}
