//! A credential opens what its role may and no more: every route with every kind of credential, other names, other pages.

use serde_json::{Value, json};

use super::client::{Served, free_port};
use crate::harness::World;

const TASKS: &str = "tasks: [{ id: a, run: 'true' }]";

/// A world with two projects, and one user for each role in the first of them.
pub(super) fn world() -> World {
    let world = World::in_place(TASKS);
    std::fs::create_dir(world.path("other")).unwrap();
    world.write("other/tasks.yaml", TASKS);
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    world.conductor(&["project", "add", "--id", "other", "other"]).expect(0);
    for role in ["viewer", "operator", "admin"] {
        let words = ["user", "add", role, "--role", role, "--project", "web"];
        world.conductor_with_input(&words, b"a long password\n").expect(0);
    }
    world
}

fn token(world: &World, user: &str, more: &[&str]) -> String {
    let mut words = vec!["token", "add", "test", "--user", user];
    words.extend(more);
    world.conductor(&words).expect(0).stdout.trim().to_owned()
}

/// Every route of the API, with its names filled in: of a project and of a run of it.
fn routes(served: &Served<'_>, run: &str) -> Vec<(String, String, String)> {
    let document = served.get("/api/openapi.json");
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let filled = path
            .replace("{project}", "web")
            .replace("{run}", run)
            .replace("{task}", "a")
            .replace(['{', '}'], "");
        for (method, operation) in methods.as_object().unwrap() {
            let role = operation["x-conductor-role"].as_str().expect("a route without a rule").to_owned();
            routes.push((method.to_ascii_uppercase(), filled.clone(), role));
        }
    }
    routes
}

#[test]
fn every_route_is_closed_to_those_who_may_not() {
    let world = world();
    let served = Served::start(&world);
    let revoked = token(&world, "admin", &["--role", "admin"]);
    let id = world.conductor(&["token", "list", "--json"]).expect(0).json()["tokens"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    world.conductor(&["token", "revoke", &id]).expect(0);
    let roles = ["viewer", "operator", "admin"];
    let tokens: Vec<String> = roles.iter().map(|role| token(&world, role, &["--role", "admin"])).collect();
    let expired = token(&world, "admin", &["--role", "admin"]);
    world.try_sql("select 1").ok();
    expire(&world, &expired);
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let routes = routes(&served, &world.run_id());
    assert!(routes.len() > 80, "{}", routes.len());
    for (method, path, role) in &routes {
        if role == "none" {
            continue;
        }
        let status = |token: &str| served.by(token, method, path, &json!({})).status;
        let without = served.ask(method, path, &[("Content-Type", "application/json")], "{}").status;
        assert_eq!(without, 401, "{method} {path} without a credential");
        for (kind, token) in
            [("wrong", "cdt_0000"), ("revoked", &revoked), ("expired", &expired), ("odd", "x")]
        {
            assert_eq!(status(token), 401, "{method} {path} with a {kind} token");
        }
        let needed = roles.iter().position(|name| name == role).unwrap();
        for (has, token) in tokens.iter().enumerate() {
            // A stream has no end to wait for.
            let is_of_it =
                (path.contains("/web") || path.starts_with("/api/runs/")) && !path.ends_with("/stream");
            if has < needed {
                assert_eq!(status(token), 403, "{method} {path} as {}", roles[has]);
            } else if has == needed && method == "GET" && is_of_it {
                assert_ne!(status(token), 403, "{method} {path} as {}", roles[has]);
            }
        }
    }
}

/// As if its time were over.
fn expire(world: &World, token: &str) {
    let database = world.home().join("server/server.db");
    let hash = sha256(token);
    let query = format!("update tokens set expires = 1 where hash = '{hash}'");
    let done = std::process::Command::new("sqlite3").arg(&database).arg(query).status().unwrap();
    assert!(done.success());
}

fn sha256(text: &str) -> String {
    use std::io::Write as _;
    let mut child = std::process::Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()[..64].to_owned()
}

#[test]
fn a_role_reaches_its_project_and_no_other() {
    let world = world();
    let served = Served::start(&world);
    let viewer = token(&world, "viewer", &["--role", "admin"]);
    let see = |path: &str| served.by(&viewer, "GET", path, &json!({}));
    see("/api/projects/web").expect(200);
    see("/api/projects/other").expect(403);
    let projects = see("/api/projects").expect(200).json();
    let ids: Vec<&Value> = projects["projects"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["web"]);
    // Runs of other projects, and of none, are not there for such a user.
    world.conductor(&["-C", "other", "run", "tasks.yaml"]).expect(0);
    let hidden = world.run_id();
    assert_eq!(see("/api/runs").expect(200).json()["runs"], json!([]));
    see(&format!("/api/runs/{hidden}")).expect(403);
    served.get(&format!("/api/runs/{hidden}"));
    // Metrics are summed over all projects.
    see("/metrics").expect(403);
    let all =
        world.conductor_with_input(&["user", "add", "watcher", "--role", "viewer"], b"a long password\n");
    all.expect(0);
    let watcher = token(&world, "watcher", &[]);
    served.by(&watcher, "GET", "/metrics", &json!({})).expect(200);
    // A token may less than its user, never more.
    let narrow = token(&world, "admin", &["--role", "viewer", "--project", "web"]);
    served.by(&narrow, "POST", "/api/projects/web/parallel/start", &json!({})).expect(403);
    served
        .by(&viewer, "POST", "/api/tokens", &json!({ "name": "more", "role": "admin", "project": "web" }))
        .expect(403);
}

#[test]
fn other_names_and_other_pages_are_refused() {
    let world = world();
    let served = Served::start(&world);
    let bearer = format!("Bearer {}", served.owner());
    let port = served.address.port();
    let ask = |method: &str, headers: &[(&str, &str)]| {
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend(headers);
        served.ask(method, "/api/projects", &all, "").status
    };
    for host in ["evil.example", "localhost", "localhost.evil.example", &format!("evil.example:{port}")] {
        assert_eq!(ask("GET", &[("Host", host)]), 403, "{host}");
    }
    for origin in
        ["http://evil.example", "null", "http://localhost:3000", &format!("https://localhost:{port}")]
    {
        assert_eq!(ask("POST", &[("Origin", origin)]), 403, "{origin}");
        assert_eq!(
            ask("GET", &[("Origin", origin), ("Upgrade", "websocket"), ("Connection", "Upgrade")]),
            403,
            "{origin}"
        );
    }
    assert_eq!(ask("GET", &[("Origin", &format!("http://localhost:{port}"))]), 200);
    // Forms of other pages come without asking first; they are no JSON.
    for kind in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"] {
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", kind)];
        assert_eq!(served.ask("POST", "/api/projects", &headers, "a=b").status, 415, "{kind}");
    }
    let answer = served.by(&served.owner(), "GET", "/api/projects", &json!({}));
    assert!(answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    assert_eq!(answer.header("x-content-type-options").as_deref(), Some("nosniff"));
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[test]
fn a_cookie_is_only_for_the_servers_own_name() {
    let world = world();
    let served = Served::start(&world);
    let port = served.address.port();
    let login = |host: &str| {
        let body = json!({ "name": "viewer", "password": "a long password" }).to_string();
        served.ask("POST", "/api/login", &[("Content-Type", "application/json"), ("Host", host)], &body)
    };
    assert!(login(&format!("localhost:{port}")).expect(422).body.contains("conductor.localhost"));
    let own = format!("conductor.localhost:{port}");
    let cookie = login(&own).expect(200).header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let me = |host: &str| served.ask("GET", "/api/me", &[("Host", host), ("Cookie", cookie)], "").status;
    assert_eq!((me(&own), me(&format!("localhost:{port}"))), (200, 401));
    let out = served.ask("POST", "/api/logout", &[("Host", &own), ("Cookie", cookie)], "");
    out.expect(200);
    assert_eq!(me(&own), 401);
}

#[test]
fn a_code_opens_the_page_once() {
    let world = world();
    let served = Served::start(&world);
    let code = served.post("/api/login/codes", json!({})).expect(200).json();
    assert!(code["url"].as_str().unwrap().starts_with("http://conductor.localhost:"), "{code}");
    let own = format!("conductor.localhost:{}", served.address.port());
    let redeem = || {
        let body = json!({ "code": code["code"] }).to_string();
        served
            .ask("POST", "/api/login/code", &[("Content-Type", "application/json"), ("Host", &own)], &body)
            .status
    };
    assert_eq!((redeem(), redeem()), (200, 401));
}

#[test]
fn what_was_done_is_recorded_also_what_was_refused() {
    let world = world();
    let served = Served::start(&world);
    let viewer = token(&world, "viewer", &["--role", "admin"]);
    served.by(&viewer, "POST", "/api/projects/web/parallel/start", &json!({})).expect(403);
    served.post("/api/users", json!({ "name": "new", "password": "another password" })).expect(201);
    for elsewhere in [("Host", "evil.example"), ("Origin", "http://evil.example")] {
        served.ask("POST", "/api/hooks/cdh_secret", &[elsewhere], "").expect(403);
        served.ask("POST", "/api/no/such/cdh_secret", &[elsewhere], "").expect(403);
        served.ask("GET", "/api/projects", &[elsewhere], "").expect(403);
    }
    let entries = served.get("/api/audit")["entries"].clone();
    let found = |who: &str, path: &str, status: u64| {
        entries.as_array().unwrap().iter().any(|entry| {
            entry["who"] == who
                && entry["path"] == path
                && entry["status"] == status
                && entry["from"] == "127.0.0.1"
        })
    };
    assert!(found("viewer", "/api/projects/web/parallel/start", 403), "{entries}");
    assert!(found("owner", "/api/users", 201), "{entries}");
    let of_strangers: Vec<&Value> = entries
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["who"] == "")
        .map(|entry| &entry["path"])
        .collect();
    assert_eq!(of_strangers, ["", "/api/hooks/{token}", "", "/api/hooks/{token}"]);
    assert!(found("", "/api/hooks/{token}", 403), "{entries}");
    assert!(!entries.to_string().contains("another password") && !entries.to_string().contains("cdh_secret"));
}

/// Also of those who have no credential yet, and of commands that need no server.
#[test]
fn logins_and_commands_are_recorded_with_who_it_was() {
    let world = world();
    let served = Served::start(&world);
    let login = |name: &str, password: &str| {
        let body = json!({ "name": name, "password": password, "as": "token" }).to_string();
        served.ask("POST", "/api/login", &[("Content-Type", "application/json")], &body).status
    };
    assert_eq!(login("viewer", "a long password"), 200);
    assert_eq!(login("operator", "a wrong password"), 401);
    assert_eq!(login("hunter2 by mistake", "x"), 401);
    let admin = token(&world, "admin", &["--role", "admin"]);
    world.conductor(&["user", "grant", "admin", "admin"]).expect(0);
    let code = served.by(&admin, "POST", "/api/login/codes", &json!({})).expect(200).json()["code"].clone();
    let own = format!("conductor.localhost:{}", served.address.port());
    let headers = [("Content-Type", "application/json"), ("Host", own.as_str())];
    let opened = served.ask("POST", "/api/login/code", &headers, &json!({ "code": code }).to_string());
    assert_eq!(opened.expect(200).json()["user"], "admin", "a code opens the page as who made it");
    let entries = served.get("/api/audit?limit=1000")["entries"].clone();
    let said: Vec<(String, String, u64)> = (entries.as_array().unwrap().iter())
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap().to_owned();
            (text("who"), format!("{} {}", text("by"), text("path")), entry["status"].as_u64().unwrap())
        })
        .collect();
    for (who, what, status) in [
        ("viewer", "password /api/login", 200),
        ("operator", "password /api/login", 401),
        ("", "none /api/login", 401),
        ("admin", "code /api/login/code", 200),
        ("owner", "command line user grant admin", 200),
        ("owner", "command line user add viewer", 200),
    ] {
        assert!(said.contains(&(who.into(), what.into(), status)), "{who}, {what}: {said:#?}");
    }
    assert!(!entries.to_string().contains("hunter2"), "what stands in place of a name may be a password");
}

/// What is sent as a command is run: that is more than an operator may.
#[test]
fn an_operator_sends_no_commands_and_reaches_no_run_of_another_project() {
    let world = world();
    let served = Served::start(&world);
    let [operator, admin] = ["operator", "admin"].map(|user| token(&world, user, &["--role", "admin"]));
    let tests = json!({ "tests": ["touch owned"] });
    let path = "/api/projects/web/groups/execute";
    assert_eq!(served.by(&operator, "POST", path, &tests).expect(403).json()["needed_role"], "admin");
    served.by(&operator, "POST", path, &json!({ "tests": ["none"] })).expect(202);
    served.by(&admin, "POST", path, &json!({ "tests": ["true"] })).expect(202);
    assert!(!world.path("owned").exists());
    world.conductor(&["-C", "other", "run", "tasks.yaml"]).expect(0);
    let other = world.path("other").display().to_string();
    let runs = served.get("/api/runs")["runs"].clone();
    let hidden = runs.as_array().unwrap().iter().find(|run| run["directory"] == other.as_str()).unwrap();
    let hidden = hidden["run"].as_str().unwrap().to_owned();
    let wanted = json!({ "name": "mine", "run": hidden });
    served.by(&operator, "POST", "/api/projects/web/checkpoints", &wanted).expect(404);
    served.by(&operator, "GET", &format!("/api/projects/web/groups/g?run={hidden}"), &json!({})).expect(404);
}

/// `acp:PROGRAM …` as an agent starts that program, whatever it is: that is more than an operator may, too.
#[test]
fn an_operator_names_no_program_as_an_agent() {
    let world = world();
    let served = Served::start(&world);
    let [operator, admin] = ["operator", "admin"].map(|user| token(&world, user, &["--role", "admin"]));
    let program = format!("acp:touch {}", world.path("owned").display());
    let plan = json!({ "requirements": "x", "max_cost": 1, "agent": program });
    let asks = [
        ("/api/agents/test", json!({ "name": program })),
        ("/api/projects/web/parallel/start", json!({ "agent": program })),
        ("/api/projects/web/plans", plan.clone()),
        ("/api/projects/web/orchestrations", plan),
    ];
    for (path, body) in &asks {
        let refused = served.by(&operator, "POST", path, body).expect(403).json();
        assert_eq!(refused["needed_role"], "admin", "{path}: {refused}");
    }
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let run = served.get("/api/runs")["runs"][0]["run"].as_str().unwrap().to_owned();
    let retry = format!("/api/runs/{run}/tasks/a/retry");
    let refused = served.by(&operator, "POST", &retry, &json!({ "agent": program })).expect(403).json();
    assert_eq!((&refused["needed_role"], &refused["field"]), (&json!("admin"), &json!("agent")));
    assert!(!world.path("owned").exists());
    // Who may edit tasks may.
    served.by(&admin, "POST", "/api/agents/test", &json!({ "name": program })).expect(200);
}

/// A role in one project is no role in all, and that is what is said.
#[test]
fn what_a_role_in_one_project_does_not_reach_is_said_so() {
    let world = world();
    let served = Served::start(&world);
    let admin = token(&world, "admin", &["--role", "admin"]);
    let refused = served.by(&admin, "GET", "/api/users", &json!({})).expect(403).json();
    let words = "this needs the role admin in all projects; admin has admin in web";
    assert_eq!(refused["detail"], words, "{refused}");
}

#[test]
fn a_token_makes_none_that_outlives_it() {
    let world = world();
    let served = Served::start(&world);
    let short = token(&world, "admin", &["--role", "admin", "--days", "2"]);
    let made =
        served.by(&short, "POST", "/api/tokens", &json!({ "name": "long", "days": 3650, "project": "web" }));
    let made = made.expect(201);
    let own = world.conductor(&["token", "list", "--json"]).expect(0).json()["tokens"][0].clone();
    assert_eq!(made.json()["expires_at"], own["expires_at"]);
}

#[test]
fn a_token_has_to_do_with_itself_and_with_what_it_could_make() {
    let world = world();
    let served = Served::start(&world);
    let admin = token(&world, "admin", &["--role", "admin"]);
    let viewer = token(&world, "admin", &["--role", "viewer", "--project", "web"]);
    let ids = |token: &str| -> Vec<String> {
        let listed = served.by(token, "GET", "/api/tokens", &json!({})).expect(200).json();
        let listed = listed["tokens"].as_array().unwrap();
        listed.iter().map(|token| token["id"].as_str().unwrap().to_owned()).collect()
    };
    let id = |token: &str| sha256(token)[..12].to_owned();
    let revoke =
        |token: &str, id: &str| served.by(token, "DELETE", &format!("/api/tokens/{id}"), &json!({})).status;
    assert_eq!(ids(&viewer), [id(&viewer)]);
    assert_eq!(ids(&admin).len(), 2);
    assert_eq!(revoke(&viewer, &id(&admin)), 404);
    let make = |token: &str, role: &str| {
        let body = json!({ "name": "made", "role": role, "project": "web" });
        let made = served.by(token, "POST", "/api/tokens", &body).expect(201).json();
        made["token"].as_str().unwrap().to_owned()
    };
    let made = make(&admin, "operator");
    let of_that = make(&made, "viewer");
    let me = |token: &str| served.by(token, "GET", "/api/me", &json!({})).status;
    assert_eq!((me(&made), me(&of_that)), (200, 200));
    assert_eq!(revoke(&admin, &id(&admin)), 200);
    assert_eq!((me(&admin), me(&made), me(&of_that), me(&viewer)), (401, 401, 401, 200));
    assert_eq!(revoke(&viewer, &id(&viewer)), 200, "itself");
}

#[test]
fn what_was_given_in_a_project_ends_with_it() {
    let world = world();
    let served = Served::start(&world);
    let viewer = token(&world, "viewer", &["--role", "admin"]);
    let limited = token(&world, "admin", &["--role", "admin", "--project", "web"]);
    let hook =
        served.post("/api/projects/web/hooks", json!({ "name": "ci", "max_cost": 1 })).expect(201).json();
    let path = format!("/api/hooks/{}", hook["url"].as_str().unwrap().rsplit_once('/').unwrap().1);
    served.by(&viewer, "GET", "/api/projects/web", &json!({})).expect(200);
    world.conductor(&["project", "remove", "web"]).expect(0);
    std::fs::create_dir(world.path("third")).unwrap();
    world.write("third/tasks.yaml", TASKS);
    world.conductor(&["project", "add", "--id", "web", "third"]).expect(0);
    assert_ne!(served.by(&viewer, "GET", "/api/projects/web", &json!({})).status, 200);
    served.by(&limited, "GET", "/api/me", &json!({})).expect(401);
    served.ask("POST", &path, &[("Content-Type", "application/json")], "{}").expect(404);
}

#[test]
fn other_machines_are_let_in_only_where_that_is_safe_or_wanted() {
    let world = World::new();
    let port = free_port().port();
    let open = format!("0.0.0.0:{port}");
    world.conductor(&["serve", "--bind", &open]).expect(2).says("--insecure-i-know");
    let served = Served::start(&world);
    let taken = served.address.to_string();
    let ended = world.conductor(&["serve", "--bind", &taken]).expect(1);
    assert!(ended.stderr.contains(&format!("process {}", served.pid())), "{}", ended.stderr);
    served.stop().expect(0);
}

#[test]
fn the_owners_token_is_for_the_owners_eyes() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let served = Served::start(&world);
    for name in ["server/owner-token", "server/server.db"] {
        let mode = std::fs::metadata(served.world.home().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
