//! Where the page comes from: the program itself, its own checkout, or nowhere, where it is said how to get it.
//!
//! A program that has its page in it has no use for another one: what is in a fresh checkout is seen with one that was
//! built with `CONDUCTOR_WITHOUT_PAGE=1`, as `cargo xtask test` does for its features.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::json;

use super::client::{Answer, Served, free_port};
use crate::harness::{CONDUCTOR, Live, World, skipped, wait_for};
use crate::tmux::Terminal;

/// Takes the part of npm: notes what it was told, and builds a page.
const NPM: &str = "#!/bin/sh
echo \"$PWD: npm $*\" >> \"$WORLD/npm-calls\"
if [ \"$1\" = run ]; then
  mkdir -p dist/assets
  echo '<!doctype html><title>built here</title>' > dist/index.html
  echo '1' > dist/assets/index-1.js
fi
";

/// Whether the program under test has its page in it.
fn is_embedded(world: &World) -> bool {
    world.conductor(&["version", "--json"]).expect(0).json()["page"] == "embedded"
}

/// A checkout as it is after a plain `cargo build`: the program in its `target`, and the page's source.
fn checkout(world: &World) -> (PathBuf, PathBuf) {
    let root = fs::canonicalize(world.root()).unwrap().join("checkout");
    let program = root.join("target/debug/conductor");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::create_dir_all(root.join("web")).unwrap();
    fs::write(root.join("web/package.json"), "{}").unwrap();
    if fs::hard_link(CONDUCTOR, &program).is_err() {
        fs::copy(CONDUCTOR, &program).unwrap();
    }
    (root, program)
}

/// A folder to look for programs in, with npm or without.
fn programs(world: &mut World, with_npm: bool) {
    let bin = world.root().join("programs");
    fs::create_dir(&bin).unwrap();
    if with_npm {
        let npm = bin.join("npm");
        fs::write(&npm, NPM).unwrap();
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let usual = with_npm.then(|| std::env::split_paths(&world.variable("PATH")).collect::<Vec<_>>());
    let path = std::iter::once(bin).chain(usual.into_iter().flatten());
    let path = std::env::join_paths(path).unwrap();
    world.set("PATH", path);
    let here = world.path("");
    world.set("WORLD", here);
}

/// A world without a page, a program in its checkout; nothing where the program under test has its page in it.
fn fresh(with_npm: bool) -> Option<(World, PathBuf, PathBuf)> {
    let mut world = World::new();
    if is_embedded(&world) {
        skipped(
            "this program has its page in it; build it with CONDUCTOR_WITHOUT_PAGE=1 to see a fresh checkout",
        );
        return None;
    }
    programs(&mut world, with_npm);
    let (root, program) = checkout(&world);
    Some((world, root, program))
}

/// Starts that program as a server.
fn serve(world: &World, program: &Path, more: &[&str]) -> (Live, String) {
    let address = free_port().to_string();
    let mut command = world.command_of(program.to_str().unwrap());
    command.args(["serve", "--json", "--bind", &address]).args(more);
    (world.spawn(&mut command), address)
}

/// What the server says its page is, and the page itself.
fn page_of(world: &World, live: &Live, address: &str) -> (String, Answer) {
    wait_for("the server", || live.stdout().contains("\"url\"").then_some(()));
    let served = Served::of(world, address.parse().unwrap());
    let version = served.get("/api/version");
    (version["page"].as_str().unwrap().to_owned(), served.ask("GET", "/", &[], ""))
}

fn version_of(world: &World, program: &Path) -> String {
    let output = world.command_of(program.to_str().unwrap()).args(["version", "--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    told["page"].as_str().unwrap().to_owned()
}

#[test]
fn a_program_serves_the_page_it_has_in_it_and_builds_none() {
    let mut world = World::new();
    if !is_embedded(&world) {
        skipped("this program was built without its page; cargo xtask web makes it");
        return;
    }
    programs(&mut world, true);
    let (root, program) = checkout(&world);
    let (live, address) = serve(&world, &program, &["--build-page"]);
    let (name, page) = page_of(&world, &live, &address);
    assert_eq!((name.as_str(), page.status), ("embedded", 200));
    assert!(page.body.contains("<div id=\"root\">") || page.body.contains("assets/index-"), "{}", page.body);
    assert!(!root.join("web/dist").exists() && world.read("npm-calls").is_empty());
    live.signal(Signal::TERM);
    live.ended().expect(0);
}

#[test]
fn in_a_fresh_checkout_the_page_is_built_when_asked_for_and_served_from_there() {
    let Some((world, root, program)) = fresh(true) else { return };
    assert_eq!(version_of(&world, &program), "placeholder");
    // Without being asked, and without a terminal to ask on, nothing is built.
    let (live, address) = serve(&world, &program, &[]);
    assert_eq!(page_of(&world, &live, &address).0, "placeholder");
    assert!(world.read("npm-calls").is_empty());
    live.signal(Signal::TERM);
    live.ended().expect(0);
    let (live, address) = serve(&world, &program, &["--build-page"]);
    let (name, page) = page_of(&world, &live, &address);
    assert_eq!((name.as_str(), page.status), ("disk", 200));
    assert!(page.body.contains("built here"), "{}", page.body);
    let web = root.join("web").display().to_string();
    let calls = world.read("npm-calls");
    let called: Vec<&str> = calls.lines().collect();
    let fetched = format!("{web}: npm ci --ignore-scripts --no-audit --no-fund");
    assert_eq!(called, [fetched, format!("{web}: npm run build")]);
    live.signal(Signal::TERM);
    live.ended().expect(0);
    // It is there from now on.
    assert_eq!(version_of(&world, &program), "disk");
    let (live, address) = serve(&world, &program, &["--build-page"]);
    assert_eq!(page_of(&world, &live, &address).0, "disk");
    assert_eq!(world.read("npm-calls"), calls, "built once");
    live.signal(Signal::TERM);
    live.ended().expect(0);
}

#[test]
fn on_a_terminal_the_user_is_asked_whether_to_build_the_page() {
    let Some((mut world, _, program)) = fresh(true) else { return };
    let address = free_port().to_string();
    let typed = format!("{} serve --bind {address}", program.display());
    let Some(terminal) = Terminal::with(&mut world, (100, 30), ":", &typed) else { return };
    terminal.wait_for(&["Build it now with npm? [y/N]"]);
    terminal.press(&["y", "Enter"]);
    terminal.wait_for(&["npm run build", "Conductor serves at"]);
    let served = Served::of(terminal.world, address.parse().unwrap());
    assert_eq!(served.get("/api/version")["page"], "disk");
    terminal.press(&["C-c"]);
    terminal.ended(0);
}

#[test]
fn without_node_a_placeholder_says_how_to_get_the_page_and_the_api_works() {
    let Some((world, root, program)) = fresh(false) else { return };
    let (live, _) = serve(&world, &program, &["--build-page"]);
    live.ended().expect(1).says("npm cannot be started").says("node 20 or newer");
    assert!(!root.join("web/dist").exists());
    let (live, address) = serve(&world, &program, &[]);
    let (name, page) = page_of(&world, &live, &address);
    assert_eq!((name.as_str(), page.status), ("placeholder", 200));
    assert!(page.body.contains("cargo xtask web") && page.body.contains("cargo install"), "{}", page.body);
    let served = Served::of(&world, address.parse().unwrap());
    served.by(&served.owner(), "GET", "/api/projects", &json!({})).expect(200);
    live.signal(Signal::TERM);
    live.ended().expect(0);
}

/// It has its style in it, which the policy of the page does not allow; the page stays as strict as it is.
#[test]
fn a_report_is_shown_with_its_style() {
    let world = World::in_place("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let served = Served::start(&world);
    let policy_at = |path: &str| {
        let answer = served.by(&served.owner(), "GET", path, &serde_json::json!({})).expect(200);
        (answer.header("content-security-policy").unwrap(), answer.body)
    };
    let (policy, report) = policy_at(&format!("/api/runs/{}/report", world.run_id()));
    assert!(policy.starts_with("default-src 'none'; style-src 'unsafe-inline';"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(report.contains("<style>") && !report.contains("<script"), "{report}");
    for path in ["/", "/api/docs", "/api/runs"] {
        let (policy, _) = policy_at(path);
        assert!(policy.starts_with("default-src 'self';") && !policy.contains("unsafe"), "{path}: {policy}");
    }
}

#[test]
fn a_program_outside_of_a_checkout_builds_no_page() {
    let world = World::new();
    if is_embedded(&world) {
        skipped("this program has its page in it; there is nothing to build");
        return;
    }
    let program = world.root().join("conductor");
    if fs::hard_link(CONDUCTOR, &program).is_err() {
        fs::copy(CONDUCTOR, &program).unwrap();
    }
    let (live, _) = serve(&world, &program, &["--build-page"]);
    live.ended().expect(2).says("no source beside this program").says("cargo xtask web");
}
