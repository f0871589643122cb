//! Webhooks: what happens is told to programs elsewhere, signed, once, in order, whatever is slow or dies in between.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};

use super::client::{Served, free_port};
use super::receiver::{Received, Receiver, Says};
use crate::harness::{World, wait_for};

const TASKS: &str = "tasks: [{ id: a, run: 'true' }, { id: b, run: 'exit 1' }]";
const WEBHOOKS: &str = "/api/projects/web/webhooks";
const GOOD: &[Says] = &[Says::Status(204)];
const QUICK: &[&str] = &["--webhook-retries", "50ms,50ms,50ms"];

fn served<'w>(world: &'w World, more: &[&str]) -> Served<'w> {
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    Served::with(world, more)
}

/// Its path and its secret.
fn register(served: &Served<'_>, url: &str, events: &[&str]) -> (String, String) {
    let made = served.post(WEBHOOKS, json!({ "url": url, "events": events })).expect(201).json();
    (format!("{WEBHOOKS}/{}", made["id"].as_str().unwrap()), made["secret"].as_str().unwrap().to_owned())
}

fn deliveries(served: &Served<'_>, webhook: &str, state: &str) -> Vec<Value> {
    let listed = served.get(&format!("{webhook}/deliveries?state={state}&limit=1000"));
    listed["deliveries"].as_array().unwrap().clone()
}

fn metric(served: &Served<'_>, name: &str) -> u64 {
    let text = served.by(&served.owner(), "GET", "/metrics", &json!({})).expect(200).body;
    let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{name} in {text}"))
}

#[test]
fn what_happens_is_delivered_signed_and_from_now_on() {
    let world = World::in_place(TASKS);
    let (served, receiver) = (served(&world, &[]), Receiver::start(GOOD));
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let before = world.run_id();
    let (webhook, secret) = register(&served, &receiver.url(), &["task_failed", "run_finished"]);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let received = receiver.wait_for(2);
    let names: Vec<String> = received.iter().map(|one| one.header("x-conductor-event")).collect();
    assert_eq!(names, ["task_failed", "run_finished"]);
    for one in &received {
        assert!(one.is_signed_with(&secret) && !one.is_signed_with("another secret"), "{one:?}");
        let body = one.json();
        assert_eq!((&body["project"], &body["delivery"]), (&json!("web"), &json!(one.id())));
        assert_ne!(body["run"], json!(before), "what happened before it was registered is not told");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        assert!(now - one.header("x-conductor-timestamp").parse::<u64>().unwrap() < 300);
        assert_eq!(one.header("content-type"), "application/json");
    }
    // As the WebSocket tells it.
    let failed = received[0].json();
    assert_eq!((&failed["type"], &failed["task_id"]), (&json!("task_failed"), &json!("b")));
    let told = served.get(&format!("/api/runs/{}/events", failed["run"].as_str().unwrap()));
    let record =
        told["events"].as_array().unwrap().iter().find(|event| event["seq"] == failed["seq"]).unwrap();
    assert_eq!((&record["type"], &record["at"]), (&failed["event"], &failed["at"]));
    wait_for("the record", || (deliveries(&served, &webhook, "delivered").len() == 2).then_some(()));
    let listed = deliveries(&served, &webhook, "delivered");
    assert_eq!((&listed[0]["event"], &listed[1]["event"]), (&json!("run_finished"), &json!("task_failed")));
    assert_eq!((&listed[0]["status_code"], &listed[0]["attempts"]), (&json!(204), &json!(1)));
    let page = served.get(&format!("{webhook}/deliveries?limit=1"));
    let rest = served.get(&format!("{webhook}/deliveries?limit=1&cursor={}", page["next_cursor"]));
    assert_eq!((&rest["deliveries"][0]["id"], &rest["next_cursor"]), (&listed[1]["id"], &Value::Null));
    assert_eq!(metric(&served, "conductor_webhook_deliveries_total{result=\"delivered\"}"), 2);
    assert_eq!(metric(&served, "conductor_webhook_queue"), 0);
    let audit = served.get("/api/audit");
    let made = audit["entries"].as_array().unwrap().iter().find(|entry| entry["path"] == WEBHOOKS).unwrap();
    assert_eq!(
        (&made["who"], &made["method"], &made["status"]),
        (&json!("owner"), &json!("POST"), &json!(201))
    );
    for text in [audit.to_string(), served.get(WEBHOOKS).to_string(), served.get(&webhook).to_string()] {
        assert!(!text.contains(&secret), "it is told once: {text}");
    }
}

#[test]
fn a_receiver_in_trouble_is_tried_again_with_the_same_id() {
    let world = World::in_place(TASKS);
    let trouble = Says::More(500, String::new(), "the disk is full".into());
    let receiver = Receiver::start(&[trouble.clone(), trouble, Says::Status(200)]);
    let served = served(&world, QUICK);
    let (webhook, secret) = register(&served, &receiver.url(), &["run_finished"]);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    wait_for("the third attempt", || deliveries(&served, &webhook, "delivered").pop());
    let received = receiver.received();
    let ids: BTreeSet<String> = received.iter().map(Received::id).collect();
    assert_eq!((received.len(), ids.len()), (3, 1));
    assert!(received.iter().all(|one| one.is_signed_with(&secret) && one.body == received[0].body));
    assert_eq!(deliveries(&served, &webhook, "delivered")[0]["attempts"], 3);
    assert_eq!(metric(&served, "conductor_webhook_deliveries_total{result=\"retried\"}"), 2);
}

#[test]
fn one_that_is_refused_lets_others_pass_and_is_not_sent_for_ever() {
    let world = World::in_place(TASKS);
    let refuses = Says::More(422, String::new(), "no such task".into());
    let receiver = Receiver::start(&[refuses, Says::Status(200)]);
    let served = served(&world, &["--webhook-retries", "1h"]);
    let (webhook, _) = register(&served, &receiver.url(), &["task_failed", "run_finished"]);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let done = wait_for("the other", || deliveries(&served, &webhook, "delivered").pop());
    assert_eq!(done["event"], "run_finished");
    let waiting = deliveries(&served, &webhook, "waiting").pop().unwrap();
    assert_eq!((&waiting["event"], &waiting["attempts"]), (&json!("task_failed"), &json!(1)));
    assert_eq!((&waiting["status_code"], &waiting["answer"]), (&json!(422), &json!("no such task")));
    assert!(waiting["next_attempt_at"].is_string(), "{waiting}");
}

#[test]
fn a_receiver_that_is_not_there_holds_up_its_own_and_no_other() {
    let world = World::in_place(TASKS);
    let served = served(&world, &["--webhook-retries", "1h"]);
    let (silent, good) = (Receiver::start(&[Says::Nothing]), Receiver::start(GOOD));
    let gone = free_port();
    let (silent_webhook, _) = register(&served, &silent.url(), &["*"]);
    let (refused, _) = register(&served, &format!("http://{gone}/"), &["*"]);
    let (told, _) = register(&served, &good.url(), &["*"]);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let last = wait_for("the end", || {
        let all = good.received();
        all.last().filter(|one| one.json()["type"] == "parallel_complete").map(|_| all.len())
    });
    assert!(last > 5, "{last}");
    // The one that never answers has been asked once, and is still being waited for.
    assert_eq!(silent.received().len(), 1);
    wait_for("the record", || (deliveries(&served, &told, "delivered").len() == last).then_some(()));
    let waiting = deliveries(&served, &refused, "waiting");
    assert_eq!(waiting.len(), last, "all of them wait with the first");
    let attempts: Vec<u64> = waiting.iter().rev().map(|one| one["attempts"].as_u64().unwrap()).collect();
    assert_eq!((attempts[0], attempts[1..].iter().sum::<u64>()), (1, 0));
    assert!(waiting[last - 1]["error"].as_str().unwrap().starts_with("no connection: "), "{waiting:?}");
    assert_eq!(metric(&served, "conductor_webhook_queue"), 2 * last as u64);
    let slow = wait_for("the end of patience", || {
        let first = deliveries(&served, &silent_webhook, "waiting").pop()?;
        (first["attempts"] == 1).then_some(first)
    });
    assert_eq!(slow["error"], "no answer within 10 s");
}

#[test]
fn a_receiver_says_when_it_wants_to_be_asked_again() {
    let world = World::in_place(TASKS);
    let busy = Says::More(503, "retry-after: 3600\r\n".into(), String::new());
    let (served, receiver) = (served(&world, QUICK), Receiver::start(&[busy]));
    let (webhook, _) = register(&served, &receiver.url(), &["run_finished"]);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let waiting = wait_for("the answer", || {
        deliveries(&served, &webhook, "waiting").pop().filter(|one| one["attempts"] == 1)
    });
    let at = |name: &str| waiting[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
    let pause = at("next_attempt_at") - at("created_at");
    assert!((3_600..3_700).contains(&pause), "{waiting}");
    assert_eq!(receiver.received().len(), 1);
}

#[test]
fn a_server_that_is_killed_loses_nothing_and_sends_little_twice() {
    let tasks: String =
        (0..30).map(|n| format!("  - {{ id: t{n}, run: 'true', dependencies: [first] }}\n")).collect();
    let world = World::in_place(&format!(
        "tasks:\n  - {{ id: first, run: AGENT touch started then await go }}\n{tasks}  - {{ id: last, run: AGENT touch late then await end, dependencies: [t29] }}\n"
    ));
    let (mut served, receiver) = (served(&world, QUICK), Receiver::start(GOOD));
    register(&served, &receiver.url(), &["*"]);
    let live = world.start(&["run", "tasks.yaml", "--parallel", "2"]);
    world.wait_for_file("started");
    let run = world.run_id();
    world.write("go", "");
    const KILLS: usize = 4;
    for kill in 1..=KILLS {
        receiver.wait_for(10 * kill);
        served.kill();
        served.begin();
    }
    world.wait_for_file("late");
    served.kill();
    // The run comes to its end while there is no server.
    world.write("end", "");
    live.ended().expect(0);
    served.begin();
    let last = served.get(&format!("/api/runs/{run}"))["seq"].as_u64().unwrap();
    wait_for("the end", || {
        receiver.received().iter().any(|one| one.json()["type"] == "parallel_complete").then_some(())
    });
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let (mut seqs, mut order) = (BTreeSet::new(), Vec::new());
    for one in receiver.received() {
        let times = times.entry(one.id()).or_default();
        *times += 1;
        let seq = one.json()["seq"].as_u64().unwrap();
        seqs.insert(seq);
        if *times == 1 {
            order.push(seq);
        }
    }
    assert_eq!(seqs, (1..=last).collect(), "none is missing");
    assert!(order.is_sorted(), "{order:?}");
    let twice: usize = times.values().map(|times| times - 1).sum();
    assert!(twice <= KILLS + 1, "{twice} were sent twice in {} kills", KILLS + 1);
}

#[test]
fn a_dead_delivery_is_listed_and_sent_again_by_hand() {
    let world = World::in_place(TASKS);
    let (served, receiver) =
        (served(&world, &["--webhook-retries", "20ms"]), Receiver::start(&[Says::Status(500)]));
    let (webhook, _) = register(&served, &receiver.url(), &["run_finished"]);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let dead = wait_for("its death", || deliveries(&served, &webhook, "dead").pop());
    assert_eq!((&dead["attempts"], &dead["error"]), (&json!(2), &json!("it answered 500")));
    assert_eq!(dead["next_attempt_at"], Value::Null);
    assert_eq!(metric(&served, "conductor_webhook_deliveries_total{result=\"dead\"}"), 1);
    receiver.says(GOOD);
    let retry = format!("{webhook}/deliveries/{}/retry", dead["id"].as_str().unwrap());
    assert_eq!(served.post(&retry, json!({})).expect(200).json()["state"], "waiting");
    let done = wait_for("its arrival", || deliveries(&served, &webhook, "delivered").pop());
    assert_eq!(done["id"], dead["id"]);
    assert!(served.post(&retry, json!({})).expect(409).body.contains("only a dead one"));
    served.post(&format!("{webhook}/deliveries/whd_0/retry"), json!({})).expect(404);
}

#[test]
fn redirects_are_not_followed() {
    let world = World::in_place(TASKS);
    let (served, elsewhere) = (served(&world, &[]), Receiver::start(GOOD));
    let location = format!("location: {}\r\n", elsewhere.url());
    let receiver = Receiver::start(&[Says::More(307, location, String::new())]);
    let (webhook, _) = register(&served, &receiver.url(), &["*"]);
    let answer = served.post(&format!("{webhook}/test"), json!({})).expect(200).json();
    assert_eq!((&answer["status_code"], &answer["state"]), (&json!(307), &json!("dead")), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("redirects are not followed"), "{answer}");
    assert_eq!((receiver.received().len(), elsewhere.received().len()), (1, 0));
}

#[test]
fn a_ping_tries_a_webhook_and_its_secret_can_be_changed() {
    let world = World::in_place(TASKS);
    let served = served(&world, &[]);
    let (webhook, secret) = {
        let receiver = Receiver::start(GOOD);
        register(&served, &receiver.url(), &["*"])
    };
    let receiver = Receiver::start(&[Says::More(200, String::new(), format!("your secret is {secret}"))]);
    let patch = |body: Value| served.by(&served.owner(), "PATCH", &webhook, &body);
    patch(json!({ "url": receiver.url(), "events": ["needs_you"], "description": "the chat" })).expect(200);
    let shown = served.get(&webhook);
    assert_eq!((&shown["events"], &shown["description"]), (&json!(["needs_you"]), &json!("the chat")));
    let ping = || served.post(&format!("{webhook}/test"), json!({})).expect(200).json();
    let answer = ping();
    assert_eq!((&answer["event"], &answer["state"]), (&json!("ping"), &json!("delivered")));
    assert_eq!(answer["answer"], "your secret is ***");
    assert!(receiver.received()[0].is_signed_with(&secret));
    let rotated = served.post(&format!("{webhook}/rotate"), json!({})).expect(200).json();
    let secret = rotated["secret"].as_str().unwrap();
    ping();
    assert!(receiver.received()[1].is_signed_with(secret));
    let own = "a-secret-that-i-have-chosen";
    served.post(&format!("{webhook}/rotate"), json!({ "secret": own })).expect(200);
    ping();
    assert!(receiver.received()[2].is_signed_with(own));
    patch(json!({ "enabled": false })).expect(200);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    served.by(&served.owner(), "DELETE", &webhook, &json!({})).expect(200);
    served.post(&format!("{webhook}/test"), json!({})).expect(404);
}

#[test]
fn one_that_was_disabled_is_told_what_happens_from_then_on() {
    let world = World::in_place(TASKS);
    let (served, receiver) = (served(&world, &[]), Receiver::start(GOOD));
    let body = json!({ "url": receiver.url(), "enabled": false });
    let id = served.post(WEBHOOKS, body).expect(201).json()["id"].as_str().unwrap().to_owned();
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let path = format!("{WEBHOOKS}/{id}");
    served.by(&served.owner(), "PATCH", &path, &json!({ "enabled": true })).expect(200);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let received = wait_for("the end", || {
        let all = receiver.received();
        all.last().is_some_and(|one| one.json()["type"] == "parallel_complete").then_some(all)
    });
    let runs: BTreeSet<String> = received.iter().map(|one| one.json()["run"].to_string()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
}

#[test]
fn mistakes_are_named_with_their_field_and_a_remedy() {
    let world = World::in_place(TASKS);
    let served = served(&world, &[]);
    let wrong = |body: Value| served.post(WEBHOOKS, body).expect(422).json();
    let url = "https://example.org/";
    let event = wrong(json!({ "url": url, "events": ["task_faild"] }));
    assert_eq!((&event["field"], &event["did_you_mean"]), (&json!("events"), &json!("task_failed")));
    assert_eq!(wrong(json!({ "url": url, "events": [] }))["field"], "events");
    assert_eq!(wrong(json!({ "url": url, "secret": "too short" }))["field"], "secret");
    for url in [
        "example.org",
        "ftp://example.org/",
        "http://example.org/",
        "https://user:pw@example.org/",
        "https://169.254.169.254/latest",
        "https://[fe80::1]/",
    ] {
        let problem = wrong(json!({ "url": url }));
        assert_eq!(problem["field"], "url", "{url}: {problem}");
    }
    served.post("/api/projects/wbe/webhooks", json!({ "url": url })).expect(404);
    world
        .conductor(&["webhook", "add", "web", "https://example.org/", "--events", "run_finish"])
        .expect(2)
        .says("did you mean 'run_finished'?");
}

#[test]
fn only_an_admin_registers_webhooks() {
    let world = World::in_place(TASKS);
    let served = served(&world, &[]);
    let made = world.conductor(&["token", "add", "ci", "--role", "operator"]).expect(0);
    let token = made.stdout.trim().to_owned();
    let body = json!({ "url": "https://example.org/" });
    let refused = served.by(&token, "POST", WEBHOOKS, &body).expect(403).json();
    assert_eq!(refused["needed_role"], "admin");
    served.by(&token, "GET", WEBHOOKS, &json!({})).expect(403);
    assert_eq!(served.get(WEBHOOKS)["webhooks"], json!([]));
}

#[test]
fn no_secret_leaves_by_a_webhook() {
    const CANARY: &str = "sk-ant-api03-CanaryCanaryCanaryCanaryCanary-1234567890";
    let mut world = World::in_place("tasks: [{ id: a, run: 'echo the key is $(cat key); exit 1' }]");
    world.write("key", CANARY);
    world.set("ANTHROPIC_API_KEY", CANARY);
    let receiver = Receiver::start(&[Says::More(200, String::new(), format!("I know {CANARY}"))]);
    let served = served(&world, &[]);
    let (webhook, _) = register(&served, &receiver.url(), &["*"]);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    wait_for("the end", || {
        let all = deliveries(&served, &webhook, "delivered");
        all.iter().any(|one| one["event"] == "parallel_complete").then_some(())
    });
    let sent: String = receiver.received().iter().map(|one| one.body.clone()).collect();
    assert!(sent.contains("\"task_failed\"") && !sent.contains(CANARY), "{sent}");
    assert!(!sent.contains(&served.owner()));
    let listed = served.get(&format!("{webhook}/deliveries")).to_string();
    assert!(listed.contains("I know ***") && !listed.contains(CANARY), "{listed}");
    for name in ["server.db", "server.db-wal"] {
        let bytes = std::fs::read(world.home().join("server").join(name)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(CANARY), "{name}");
    }
}

/// Another Conductor plays the receiver: it refuses a stranger, and that is an answer.
#[test]
fn with_tls_the_receivers_certificate_has_to_be_trusted() {
    let mut world = World::in_place(TASKS);
    let (key, certificate) = (world.path("key.pem"), world.path("cert.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let other = World::new();
    let (key, certificate) = (key.display().to_string(), certificate.display().to_string());
    let receiver = Served::with(&other, &["--tls-cert", &certificate, "--tls-key", &key]);
    let url = format!("https://localhost:{}/api/projects", receiver.address.port());
    let ping = |world: &World| {
        let served = Served::start(world);
        let (webhook, _) = register(&served, &url, &["*"]);
        served.post(&format!("{webhook}/test"), json!({})).expect(200).json()
    };
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let refused = ping(&world);
    assert!(refused["error"].as_str().unwrap().starts_with("no safe connection: "), "{refused}");
    world.set("SSL_CERT_FILE", &certificate);
    assert_eq!(ping(&world)["status_code"], 401);
}

#[test]
fn webhooks_are_kept_from_the_command_line_too() {
    let world = World::in_place(TASKS);
    let (served, receiver) = (served(&world, &[]), Receiver::start(GOOD));
    let url = receiver.url();
    let words = ["webhook", "add", "web", &url, "--events", "run_finished,needs_you"];
    let secret = world.conductor(&words).expect(0).stdout.trim().to_owned();
    let listed = world.conductor(&["webhook", "list", "web", "--json"]).expect(0).json();
    assert_eq!(listed["webhooks"], served.get(WEBHOOKS)["webhooks"]);
    let id = listed["webhooks"][0]["id"].as_str().unwrap().to_owned();
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    assert!(receiver.wait_for(1)[0].is_signed_with(&secret));
    let delivered = || {
        let told = world.conductor(&["webhook", "deliveries", "web", &id, "--json"]).expect(0).json();
        (told["deliveries"][0]["state"] == "delivered").then_some(told)
    };
    let told = wait_for("the record", delivered);
    assert_eq!(told["deliveries"], served.get(&format!("{WEBHOOKS}/{id}/deliveries"))["deliveries"]);
    let table = world.conductor(&["webhook", "deliveries", "web", &id]).expect(0).stdout;
    assert!(table.contains("run_finished") && table.contains("delivered"), "{table}");
    world.conductor(&["webhook", "remove", "web", &id]).expect(0);
    world.conductor(&["webhook", "remove", "web", &id]).expect(2).says("`conductor webhook list PROJECT`");
    assert_eq!(served.get(WEBHOOKS)["webhooks"], json!([]));
    // A project of the same name is not told what was meant for the one before.
    world.conductor(&words).expect(0);
    world.conductor(&["project", "remove", "web"]).expect(0);
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    assert_eq!(served.get(WEBHOOKS)["webhooks"], json!([]));
}
