//! Bad input, large input, slow input.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::client::Served;
use crate::harness::World;

#[test]
fn bad_bodies_are_refused_with_the_place_of_the_mistake() {
    let world = World::new();
    let served = Served::start(&world);
    let bearer = format!("Bearer {}", served.owner());
    let post = |kind: &str, body: &str| {
        served.ask("POST", "/api/projects", &[("Authorization", &bearer), ("Content-Type", kind)], body)
    };
    let json = "application/json";
    assert!(
        post(json, "{\"directory\": }").expect(400).json()["place"].as_str().unwrap().starts_with("line 1")
    );
    assert_eq!(post(json, "{\"directroy\": \"/\"}").expect(422).json()["did_you_mean"], "directory");
    assert_eq!(post(json, "{\"directory\": 7}").expect(422).json()["field"], "directory");
    assert_eq!(post(json, "[]").status, 422);
    assert_eq!(post("text/plain", "{}").status, 415);
    assert_eq!(post(json, &format!("{{\"directory\": \"{}\"}}", "x".repeat(2 << 20))).status, 413);
    let problem = post(json, "[]");
    assert_eq!(problem.header("content-type").as_deref(), Some("application/problem+json"));
    for name in ["type", "title", "status", "code", "detail"] {
        assert!(!problem.json()[name].is_null(), "{name} in {}", problem.body);
    }
}

/// What is accepted does something: a name that is none and a change of nothing are refused.
#[test]
fn what_says_nothing_is_refused() {
    let world = World::in_place("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    world.conductor_with_input(&["user", "add", "ann"], b"a long password\n").expect(0);
    let served = Served::start(&world);
    for (path, body, field) in [
        ("/api/projects/web/hooks", json!({ "name": "", "max_cost": 1 }), "name"),
        ("/api/tokens", json!({ "name": " " }), "name"),
        ("/api/projects/web/plans", json!({ "requirements": "\n", "max_cost": 1 }), "requirements"),
    ] {
        let refused = served.post(path, body).expect(422).json();
        assert_eq!(
            (&refused["field"], &refused["detail"]),
            (&json!(field), &json!(format!("'{field}' is empty")))
        );
    }
    assert!(served.get("/api/projects/web/hooks")["hooks"].as_array().unwrap().is_empty());
    let change = |body| served.by(&served.owner(), "PATCH", "/api/users/ann", &body);
    for nothing in [json!({}), json!({ "project": "web" }), json!({ "role": null })] {
        let refused = change(nothing).expect(422);
        assert!(refused.body.contains("`none` takes it away"), "{}", refused.body);
    }
    change(json!({ "role": "none" })).expect(200);
}

/// Too long to be read as a request at all: the status that the API's document has for it.
#[test]
fn an_address_that_is_far_too_long_is_refused_by_its_length() {
    let world = World::new();
    let served = Served::start(&world);
    let document = served.get("/api/openapi.json");
    for length in [66_000, 100 << 10] {
        let long = format!("/api/runs?cursor={}", "x".repeat(length));
        // Which of the two depends on how much of it had come when it was looked at.
        let status = served.by(&served.owner(), "GET", &long, &json!({})).status;
        assert!([414, 431].contains(&status), "{status}");
        let described = &document["paths"]["/api/runs"]["get"]["responses"][status.to_string()]["$ref"];
        assert_eq!(described, "#/components/responses/too_long");
    }
    assert!(document["components"]["responses"]["too_long"]["description"].is_string());
}

/// What is wrong with an address, or with the folder of a project, is no mistake of the server.
#[test]
fn what_the_caller_or_the_folder_has_wrong_is_told_as_that() {
    let world = World::in_place("tasks: [{ id: a, run: 'true' }]");
    std::fs::create_dir(world.path("gone")).unwrap();
    world.write("gone/tasks.yaml", "tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["project", "add", "--id", "web", "gone"]).expect(0);
    world.conductor(&["-C", "gone", "run"]).expect(0);
    let run = world.run_id();
    let served = Served::start(&world);
    let status = |path: &str| served.by(&served.owner(), "GET", path, &json!({})).status;
    let diff = format!("/api/runs/{run}/tasks/a/diff");
    assert_eq!(status(&format!("/api/runs/{run}/tasks/a%00/diff")), 400);
    assert_eq!(status("/api/projects/web%0a/doctor"), 400);
    std::fs::remove_dir_all(world.path("gone")).unwrap();
    assert_eq!((status(&diff), status("/api/projects/web/doctor")), (409, 409));
}

/// Without a project it is about the machine; of a project it looks at its repository and its tasks.
#[test]
fn the_doctor_looks_at_what_is_asked_about() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    let checks = |path: &str| {
        let found = served.get(path);
        let findings = found["findings"].as_array().unwrap().clone();
        findings.iter().map(|one| one["check"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (machine, project) = (checks("/api/doctor"), checks("/api/projects/web/doctor"));
    assert!(
        machine.iter().any(|check| check == "agents") && !machine.iter().any(|check| check == "repository")
    );
    assert!(project.iter().any(|check| check == "repository"), "{project:?}");
    assert!(project.len() > machine.len());
}

/// E12: those who only begin a request, and one who sends far too much, hold no other client up.
#[test]
fn slow_and_endless_requests_hold_no_other_client_up() {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).unwrap();
    let world = World::new();
    let served = Served::start(&world);
    let bearer = served.owner();
    let slow: Vec<TcpStream> = (0..1_000)
        .map(|_| {
            let mut stream = TcpStream::connect(served.address).unwrap();
            stream.write_all(b"POST /api/projects HTTP/1.1\r\nHost: localh").unwrap();
            stream
        })
        .collect();
    let host = format!("localhost:{}", served.address.port());
    let head = format!(
        "POST /api/projects HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {bearer}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let part = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    // Until it is cut off; a gigabyte would be a thousand times what is taken.
    let endless = || {
        let mut endless = TcpStream::connect(served.address).unwrap();
        endless.write_all(head.as_bytes()).unwrap();
        let sent = (0..16_384).take_while(|_| endless.write_all(part.as_bytes()).is_ok()).count();
        assert!(sent < 16_384, "a gigabyte was taken");
    };
    let (cut_off, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut times: Vec<_> = std::thread::scope(|scope| {
        // One after the other, for as long as the others are asked for.
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                endless();
                cut_off.fetch_add(1, Ordering::SeqCst);
            }
        });
        let times = (0..100).map(|_| {
            let begun = Instant::now();
            let status = served.by(&bearer, "GET", "/api/projects", &json!({})).status;
            (begun.elapsed(), status)
        });
        let times = times.collect();
        is_over.store(true, Ordering::SeqCst);
        times
    });
    times.sort();
    assert!(cut_off.into_inner() > 0);
    assert!(times.iter().all(|(_, status)| *status == 200), "{times:?}");
    assert!(times[98].0.as_millis() < 500, "{:?}", times[98]);
    drop(slow);
}

/// As systemd starts a service whose socket it holds.
#[test]
fn a_socket_that_was_opened_before_is_taken_over() {
    let world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut shell = world.command_of("sh");
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve --json";
    shell.args(["-c", script, crate::harness::CONDUCTOR]).stdin(std::os::fd::OwnedFd::from(listener));
    let live = world.spawn(&mut shell);
    // A connection waits at the socket until there is a server.
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    live.signal(rustix::process::Signal::TERM);
    live.ended().expect(0);
}

/// Who has the socket could answer in the server's place, and be told what is meant for it.
#[test]
fn a_socket_that_was_opened_before_is_in_no_run() {
    let world = World::in_place("tasks: [{ id: a, run: AGENT touch started then await go }]");
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut shell = world.command_of("sh");
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve --json";
    shell.args(["-c", script, crate::harness::CONDUCTOR]).stdin(std::os::fd::OwnedFd::from(listener));
    shell.env("CONDUCTOR_METRICS_FILE", world.path("metrics")).env("LISTEN_FDNAMES", "conductor");
    let live = world.spawn(&mut shell);
    crate::harness::wait_for("the server", || live.stdout().contains("\"url\"").then_some(()));
    let served = Served::of(&world, address);
    let begun = served.post("/api/projects/web/parallel/start", json!({})).expect(202).json();
    world.wait_for_file("started");
    let socket = std::fs::read_link(format!("/proc/{}/fd/3", live.pid())).unwrap();
    let run = format!("/proc/{}", begun["pid"]);
    let files = std::fs::read_dir(format!("{run}/fd")).unwrap().flatten();
    let files: Vec<_> = files.filter_map(|file| std::fs::read_link(file.path()).ok()).collect();
    assert!(!files.is_empty() && !files.contains(&socket), "{socket:?} in {files:?}");
    let variables = String::from_utf8_lossy(&std::fs::read(format!("{run}/environ")).unwrap()).into_owned();
    for name in ["LISTEN_", "CONDUCTOR_METRICS_FILE"] {
        assert!(variables.contains("CONDUCTOR_HOME=") && !variables.contains(name), "{name} in {variables}");
    }
    world.write("go", "");
    let path = format!("/api/runs/{}", begun["run"].as_str().unwrap());
    crate::harness::wait_for("its end", || (served.get(&path)["live"] == false).then_some(()));
    live.signal(rustix::process::Signal::TERM);
    live.ended().expect(0);
}

/// E9, also where systemd has opened the socket.
#[test]
fn a_socket_that_other_machines_reach_is_taken_over_only_where_that_is_wanted() {
    let world = World::new();
    let start = |more: &str| {
        let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let mut shell = world.command_of("sh");
        let script =
            format!("exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve --json {more}");
        shell.args(["-c", &script, crate::harness::CONDUCTOR]).stdin(std::os::fd::OwnedFd::from(listener));
        world.spawn(&mut shell)
    };
    start("").ended().expect(2).says("--insecure-i-know");
    let wanted = start("--insecure-i-know");
    crate::harness::wait_for("the server", || wanted.stdout().contains("\"url\"").then_some(()));
    wanted.signal(rustix::process::Signal::TERM);
    wanted.ended().expect(0);
}
