//! What is told as it happens: each event once, whatever dies in between.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::Served;
use crate::harness::{World, wait_for};

fn tasks(count: usize, first: &str) -> String {
    let more: String =
        (0..count).map(|n| format!("  - {{ id: t{n}, run: sleep 0.2, dependencies: [first] }}\n")).collect();
    format!("tasks:\n  - {{ id: first, run: {first} }}\n{more}")
}

/// Every number once and none missing.
#[track_caller]
fn expect_whole(events: &[Value], last: u64) {
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event["event"].is_string()) {
        *seen.entry(event["seq"].as_u64().unwrap()).or_default() += 1;
    }
    let missing: Vec<u64> = (1..=last).filter(|seq| !seen.contains_key(seq)).collect();
    let double: Vec<_> = seen.iter().filter(|(_, count)| **count > 1).collect();
    assert!(missing.is_empty() && double.is_empty(), "missing {missing:?}, double {double:?}");
}

#[test]
fn a_projects_socket_tells_of_runs_of_any_terminal() {
    let world = World::in_place(&tasks(3, "AGENT touch started then await go"));
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    let mut socket = served.socket("/api/ws/web");
    assert_eq!(socket.next().unwrap()[0]["type"], "connected");
    let live = world.start(&["run", "tasks.yaml", "--strategy", "batch"]);
    let begun = socket.until("task_start");
    assert!(
        begun.iter().any(|event| event["type"] == "batch_start" && event["batch_number"] == 1),
        "{begun:?}"
    );
    // Another one comes later, and is told how things stand.
    let mut late = served.socket("/api/ws/web");
    let state = late.until("initial_state");
    let state = state.last().unwrap();
    assert_eq!(
        (&state["tasks"][0]["id"], &state["tasks"][0]["status"]),
        (&json!("first"), &json!("running"))
    );
    world.write("go", "");
    for socket in [&mut socket, &mut late] {
        let events = socket.until("parallel_complete");
        for kind in ["task_complete", "batch_complete"] {
            assert!(events.iter().any(|event| event["type"] == kind), "{kind} in {events:?}");
        }
        assert!(events.iter().all(|event| event["seq"].as_u64().is_some()), "{events:?}");
    }
    live.ended().expect(0);
}

#[test]
fn a_client_goes_on_where_it_was() {
    let world = World::in_place(&tasks(20, "'true'"));
    let served = Served::start(&world);
    world.conductor(&["run", "tasks.yaml", "--parallel", "4"]).expect(0);
    let run = world.run_id();
    let last = served.get(&format!("/api/runs/{run}"))["seq"].as_u64().unwrap();
    let mut socket = served.socket(&format!("/api/runs/{run}/ws?since=0"));
    let whole = socket.until("parallel_complete");
    expect_whole(&whole, last);
    // Tasks of this run work in place, because of how it was started and not by what they say.
    assert!(!whole.iter().any(|event| event["type"] == "worktree_created"), "{whole:?}");
    let mut socket = served.socket(&format!("/api/runs/{run}/ws?since={}", last - 2));
    let rest = socket.until("parallel_complete");
    let seqs: Vec<u64> = rest.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, [last - 1, last]);
    // The same without WebSocket.
    let path = format!("/api/runs/{run}/events/stream?since={}", last - 1);
    let bearer = format!("Bearer {}", served.owner());
    let mut stream = std::net::TcpStream::connect(served.address).unwrap();
    let host = format!("localhost:{}", served.address.port());
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\n\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let mut text = String::new();
    wait_for("the event", || {
        let mut part = [0; 4096];
        let length = std::io::Read::read(&mut stream, &mut part).unwrap();
        text += &String::from_utf8_lossy(&part[..length]);
        text.contains("event: parallel_complete\n").then_some(())
    });
    assert!(text.contains(&format!("id: {last}\n")) && text.contains("text/event-stream"), "{text}");
}

/// A number says nothing without its run, and one that never was is no place to go on from.
#[test]
fn a_client_that_knows_what_never_was_begins_anew() {
    let world = World::in_place(&tasks(1, "'true'"));
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let run = world.run_id();
    let last = served.get(&format!("/api/runs/{run}"))["seq"].as_u64().unwrap();
    let refused = |path: &str| served.by(&served.owner(), "GET", path, &json!({})).expect(422).json();
    for bare in ["0", "500", "500,otter:1"] {
        let problem = refused(&format!("/api/ws/web?since={bare}"));
        assert!(
            problem["field"] == "since" && problem["help"].as_str().unwrap().contains("newest"),
            "{problem}"
        );
    }
    for path in [format!("/api/runs/{run}/ws?since=9999"), format!("/api/ws/web?since={run}:9999")] {
        let told = served.socket(&path).until("initial_state");
        assert_eq!(told.last().unwrap()["seq"], json!(last), "{path}");
    }
    let problem = refused(&format!("/api/runs/{run}/events/stream?since={}", last + 1));
    assert!(problem["field"] == "since" && problem.to_string().contains(&last.to_string()), "{problem}");
}

#[test]
fn a_client_that_was_away_misses_no_run_of_its_project() {
    let world = World::in_place(&tasks(1, "'true'"));
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    let run = || {
        let before = world.runs();
        world.conductor(&["run", "tasks.yaml"]).expect(0);
        world.runs().into_iter().find(|run| !before.contains(run)).unwrap()
    };
    let seq = |run: &str| served.get(&format!("/api/runs/{run}"))["seq"].as_u64().unwrap();
    let known = run();
    let last = seq(&known);
    let missed = [run(), run()];
    let mut socket = served.socket(&format!("/api/ws/web?since={known}:{}", last - 1));
    let of = |events: &[Value], run: &str| -> Vec<Value> {
        events.iter().filter(|event| event["run"] == run).cloned().collect()
    };
    let mut events = Vec::new();
    let is_over = |events: &[Value], run: &str| {
        of(events, run).iter().any(|event| event["type"] == "parallel_complete")
    };
    while ![&known, &missed[0], &missed[1]].iter().all(|run| is_over(&events, run)) {
        events.extend(socket.next().unwrap_or_else(|| panic!("{events:?}")));
    }
    let seqs: Vec<u64> = of(&events, &known).iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, [last]);
    for run in &missed {
        expect_whole(&of(&events, run), seq(run));
    }
}

/// What is followed has no end by itself: it is ended, and the server does not wait for it.
#[test]
fn a_server_that_stops_takes_leave_of_its_listeners() {
    let world = World::in_place(&tasks(1, "AGENT touch started then await go"));
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let run = world.run_id();
    let mut sockets = [
        served.socket(&format!("/api/runs/{run}/ws?since=0")),
        served.socket("/api/ws/web"),
        served.socket("/api/ws"),
    ];
    sockets.iter_mut().for_each(|socket| drop(socket.until("connected")));
    let (bearer, address) = (format!("Bearer {}", served.owner()), served.address);
    let followed = ["/events/stream", "/tasks/first/log?follow=true"].map(|path| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let request = format!(
            "GET /api/runs/{run}{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: {bearer}\r\n\r\n"
        );
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        // It has begun.
        let mut head = [0; 12];
        std::io::Read::read_exact(&mut stream, &mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        stream
    });
    let begun = std::time::Instant::now();
    let pid = rustix::process::Pid::from_raw(i32::try_from(served.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    for socket in &mut sockets {
        assert_eq!(socket.closed(), Some(1001));
    }
    for mut stream in followed {
        std::io::Read::read_to_end(&mut stream, &mut Vec::new()).unwrap();
    }
    served.stop().expect(0);
    // Requests are waited for up to five seconds.
    assert!(begun.elapsed().as_secs() < 4, "{:?}", begun.elapsed());
    world.write("go", "");
    live.ended().expect(0);
}

/// E11.
#[test]
fn a_server_that_is_killed_twenty_times_loses_no_event() {
    let world = World::in_place(&tasks(250, "AGENT touch started then await go"));
    let mut served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml", "--parallel", "4"]);
    world.wait_for_file("started");
    let run = world.run_id();
    let (mut events, mut last, mut kills) = (Vec::new(), 0, 0);
    world.write("go", "");
    while !events.iter().any(|event: &Value| event["type"] == "parallel_complete") {
        let mut socket = served.socket(&format!("/api/runs/{run}/ws?since={last}"));
        // Fewer than a twentieth of them: events come in batches.
        let enough = events.len() + 25;
        while let Some(told) = socket.next() {
            last = told.iter().filter_map(|event| event["seq"].as_u64()).max().unwrap_or(last).max(last);
            events.extend(told);
            let over = events.iter().any(|event| event["type"] == "parallel_complete");
            if over || (kills < 20 && events.len() >= enough) {
                break;
            }
        }
        if kills < 20 {
            kills += 1;
            served.kill();
            served.begin();
        }
    }
    live.ended().expect(0);
    assert_eq!(kills, 20);
    let told = served.get(&format!("/api/runs/{run}"))["seq"].as_u64().unwrap();
    assert!(told >= 1_000, "{told}");
    expect_whole(&events, told);
}

/// Who may not listen any more hears nothing more, though the connection was made when that was allowed.
#[test]
fn a_listener_is_let_go_when_its_token_is_revoked_or_its_role_is_taken() {
    let world = World::in_place(&tasks(1, "AGENT touch started then await go"));
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    let mut tokens = Vec::new();
    for user in ["ann", "bob", "eve"] {
        let add = ["user", "add", user, "--role", "viewer", "--project", "web"];
        world.conductor_with_input(&add, b"a long password\n").expect(0);
        tokens
            .push(world.conductor(&["token", "add", "t", "--user", user]).expect(0).stdout.trim().to_owned());
    }
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let run = world.run_id();
    let mut of_run = served.socket_of(&tokens[0], &format!("/api/runs/{run}/ws"));
    let mut of_project = served.socket_of(&tokens[1], "/api/ws/web");
    let mut good = served.socket_of(&tokens[2], "/api/ws");
    for socket in [&mut of_run, &mut of_project, &mut good] {
        socket.until("connected");
    }
    let known = world.conductor(&["token", "list", "--json"]).expect(0).json();
    let of_ann = known["tokens"].as_array().unwrap().iter().find(|token| token["user"] == "ann").unwrap();
    world.conductor(&["token", "revoke", of_ann["id"].as_str().unwrap()]).expect(0);
    let grant = json!({ "role": "none", "project": "web" });
    served.by(&served.owner(), "PATCH", "/api/users/bob", &grant).expect(200);
    assert_eq!(of_run.closed(), Some(4003));
    assert_eq!(of_project.closed(), Some(4003));
    world.write("go", "");
    good.until("parallel_complete");
    live.ended().expect(0);
}

/// E5: it is cut off, the others hear everything, and it has missed nothing when it comes back.
#[test]
fn a_client_that_reads_nothing_is_cut_off_and_holds_no_other_up() {
    let world = World::in_place(
        "tasks: [{ id: a, run: sh talk.sh }, { id: b, run: sh talk.sh }, { id: c, run: AGENT await go }]",
    );
    let talk =
        "for i in $(seq 400); do head -c 60000 /dev/zero | tr '\\0' x | fold -w 1000; sleep 0.1; done\n";
    world.write("talk.sh", talk);
    let served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml", "-p", "3"]);
    let run = wait_for("the run", || world.runs().first().cloned());
    let stalled = served.socket(&format!("/api/runs/{run}/ws?since=0&output=true"));
    rustix::net::sockopt::set_socket_recv_buffer_size(stalled.0.get_ref(), 4096).unwrap();
    let mut other = served.socket(&format!("/api/runs/{run}/ws?since=0&output=true"));
    let begun = std::time::Instant::now();
    // The other one hears what is said all the while.
    let peer = stalled.0.get_ref().local_addr().unwrap();
    wait_for("the cut", || {
        other.next();
        let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let port = format!(":{:04X} ", peer.port());
        // Of the server's side: gone, or no longer established.
        let is_open = sockets.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.len() > 3 && format!("{} ", fields[2]).ends_with(&port) && fields[3] == "01"
        });
        (!is_open).then_some(())
    });
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    world.write("go", "");
    world.conductor(&["cancel", "--all", "--run", &run]).expect(0);
    other.until("parallel_complete");
    let last = served.get(&format!("/api/runs/{run}"))["seq"].as_u64().unwrap();
    let mut again = served.socket(&format!("/api/runs/{run}/ws?since=0"));
    expect_whole(&again.until("parallel_complete"), last);
    live.ended();
}
