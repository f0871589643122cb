//! `conductor open`: an address that opens the page of a running server once, at a run or a task.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::client::Served;
use crate::harness::World;

/// The code and what is shown behind it.
fn parts(url: &str) -> (String, String) {
    let (page, rest) = url.split_once("/open#").unwrap_or_else(|| panic!("{url}"));
    assert!(page.starts_with("http://conductor.localhost:"), "{page}");
    match rest.split_once('/') {
        Some((code, path)) => (code.to_owned(), format!("/{path}")),
        None => (rest.to_owned(), "/".to_owned()),
    }
}

/// Logs in with a code, as the page that takes it does.
fn redeemed(served: &Served<'_>, code: &str) -> u16 {
    let host = format!("conductor.localhost:{}", served.address.port());
    let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
    served.ask("POST", "/api/login/code", &headers, &json!({ "code": code }).to_string()).status
}

#[test]
fn an_address_is_printed_that_is_good_once_and_shows_what_was_named() {
    let world = World::in_place("tasks: [{ id: api, run: 'true' }]");
    world.conductor(&["open"]).expect(4).says("conductor serve --open");
    let mut served = Served::start(&world);
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let run = world.run_id();
    let print = |words: &[&str]| {
        let printed = world.conductor(&[&["open", "--print"], words].concat()).expect(0).stdout;
        printed.lines().map(parts).collect::<Vec<_>>()
    };
    let inbox = print(&[]);
    assert_eq!(inbox[0].1, "/");
    assert_eq!((redeemed(&served, &inbox[0].0), redeemed(&served, &inbox[0].0)), (200, 401), "good once");
    let several = print(&[&run[..run.len() - 1], "api"]);
    let paths: Vec<&str> = several.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(paths, [format!("/runs/{run}"), format!("/runs/{run}/tasks/api")]);
    assert_ne!(several[0].0, several[1].0);
    let told = world.conductor(&["open", "--json", "--run", &run, "api"]).expect(0).json();
    assert_eq!(told["pages"][0]["path"], format!("/runs/{run}/tasks/api"));
    world.conductor(&["open", "apy"]).expect(2).says("api");
    // A server that was replaced meanwhile takes the code, too.
    let (code, _) = print(&[]).remove(0);
    served.kill();
    world.conductor(&["open"]).expect(4).says("no server is running");
    served.begin();
    assert_eq!(redeemed(&served, &code), 200);
}

#[test]
fn the_browser_is_given_the_address_and_without_one_it_is_printed() {
    let mut world = World::new();
    let bin = world.root().join("bin");
    fs::create_dir(&bin).unwrap();
    let (seen, opener) = (world.path("seen"), bin.join("xdg-open"));
    fs::write(&opener, format!("#!/bin/sh\necho \"$1\" >> '{}'\n", seen.display())).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::split_paths(&world.variable("PATH")).collect::<Vec<_>>();
    world.set("PATH", std::env::join_paths(std::iter::once(bin).chain(path)).unwrap());
    let served = Served::start(&world);
    world.conductor(&["open"]).expect(0);
    let (code, _) = parts(world.read("seen").trim());
    assert_eq!(redeemed(&served, &code), 200);
    fs::write(&opener, "#!/bin/sh\nexit 3\n").unwrap();
    let told = world.conductor(&["open"]).expect(0);
    assert!(
        told.stderr.contains("no browser could be started") && told.stderr.contains("/open#"),
        "{}",
        told.stderr
    );
}
