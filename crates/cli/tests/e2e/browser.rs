//! Agents behind a web page: the real Chromium and the real Playwright MCP drive the site of the testkit, through runs.

use std::fs;
use std::time::Duration;

use conductor_testkit::browsers;
use conductor_testkit::site::{Site, Skin};

use crate::cloud::kills::{Victim, to_the_end};
use crate::cloud::trap::Trap;
use crate::harness::{World, wait_for};
use crate::repository::{command, conductor, git, repository};
use crate::soak::{amount, seeded};

/// A browser on a machine that does other things too.
const LIMIT: Duration = Duration::from_secs(240);

/// A repository with a remote, the site that works on that remote, and a config that leads there.
fn stage(tasks: &str) -> Option<(World, Site)> {
    let mut world = repository(tasks);
    if !browsers::or_skip(&world.home()) {
        return None;
    }
    git(&world, &["clone", "-q", "--bare", ".", "../app.git"]);
    git(&world, &["remote", "add", "origin", &world.path("app.git").display().to_string()]);
    let site = Site::start(Skin::Plain, &[("me/app", world.path("app.git"))]).unwrap();
    let config = format!(
        "auth: {{ timeout: 120, check_interval: 300ms }}\n\
         browser: {{ site: '{}', headless: true, executable: /usr/bin/chromium, look: 500ms, provisioning_timeout: 3 }}\n",
        site.url()
    );
    fs::write(world.home().join("config.yaml"), config).unwrap();
    world.set("CONDUCTOR_CLOUD_POLL", "300ms");
    Some((world, site))
}

fn tasks() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/browser.yaml")).unwrap()
}

#[test]
fn the_example_is_done_by_three_at_once_and_lands() {
    let Some((world, site)) = stage(&tasks()) else { return };
    let run = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "--parallel", "3"]));
    run.ended_within(LIMIT).expect(0);
    assert!(world.statuses().values().all(|status| status == "completed"), "{:?}", world.statuses());
    let sessions = site.sessions();
    assert_eq!(sessions.len(), 4, "each prompt was submitted once");
    let branch = format!("conductor/{}", world.run_id());
    let files = git(&world, &["ls-tree", "-r", "--name-only", &branch]);
    for file in ["db/schema.sql", "api/routes.txt", "web/index.html", "docs/guide.md"] {
        assert!(files.contains(file), "{files}");
    }
    let lines = fs::read_to_string(world.home().join("sessions.jsonl")).unwrap();
    assert!(lines.contains(&format!("{}/code/session_", site.url())), "{lines}");
    let is_gone = || (!world.home().join("browser/host.json").exists()).then_some(());
    wait_for("the browser to end by itself", is_gone);
}

#[test]
fn a_session_that_only_says_it_is_done_is_not_done() {
    let lie = "tasks:\n  - { id: lie, agent: cloud, cloud: { transport: browser, push: true }, repository: me/app, \
               prompt: 'only pretend', retry_policy: { max_attempts: 1 } }\n";
    let Some((world, site)) = stage(lie) else { return };
    let run = world.spawn(&mut command(&world, &["run", "../tasks.yaml"]));
    run.ended_within(LIMIT).expect(100);
    assert_eq!(world.statuses()["lie"], "failed");
    assert_eq!(site.sessions().len(), 1);
}

#[test]
fn what_is_there_is_listed_and_what_is_not_is_told() {
    let Some((world, site)) = stage(&tasks()) else { return };
    conductor(&world, &["browser", "list"]).expect(0).says("no session is driven");
    conductor(&world, &["browser", "peek", "api"]).expect(2).says("no session in a browser is of 'api'");
    conductor(&world, &["browser", "learn", "snd"]).expect(2).says("there is no control 'snd'");
    let probed = conductor(&world, &["browser", "probe", "--json"]).expect(0).json();
    assert_eq!(probed["controls"].as_array().map(Vec::len), Some(4), "{probed}");
    fs::write(
        world.home().join("element_selectors.json"),
        "{ \"version\": 1, \"controls\": { \"send\": [{ \"name\": \"Go\" }] } }",
    )
    .unwrap();
    conductor(&world, &["browser", "probe"]).expect(7).says("missing");
    assert!(site.sessions().is_empty(), "looking submits nothing");
}

/// Said before anything is pushed or opened, with what to install.
#[test]
fn without_npm_or_a_browser_it_is_told_what_is_missing() {
    let mut world = World::new();
    fs::create_dir(world.path("empty")).unwrap();
    let path = world.path("empty");
    world.set("PATH", path);
    world.conductor(&["browser", "probe"]).expect(7).says("npm is needed").says("install Node.js");
    if browsers::or_skip(&world.home()) {
        world.conductor(&["browser", "probe"]).expect(7).says("no Chromium or Chrome was found");
    }
}

/// One run that is killed once before its submission, once around it, and once after it.
fn killed_behind_a_page(steps: [&str; 3], delay: Duration, victim: Victim) {
    println!("{steps:?} after {delay:?}: {victim:?}");
    let Some((world, site)) = stage("tasks: []\n") else { return };
    let trap = Trap::new(world.path("trap"));
    let check = trap.command("verifying");
    world.write(
        "tasks.yaml",
        &format!(
            "config: {{ agent: cloud, cloud: {{ transport: browser, push: true }}, repository: me/app, check_base: false, \
             retry_policy: {{ max_attempts: 9, initial_delay: 0 }} }}\n\
             tasks: [{{ id: a, prompt: \"Write a.txt: good\", verify: ['{check}', 'grep good a.txt'] }}]\n"
        ),
    );
    trap.hook_into(&world.path("app.git"));
    let held = trap.clone();
    site.watch(move |moment| {
        held.pass(moment);
    });
    let mut args = vec!["run", "../tasks.yaml", "--leave-unanswered"];
    for (number, step) in steps.into_iter().enumerate() {
        let moment = if step == "composing" { "listed" } else { step };
        trap.arm(moment);
        let live = world.spawn(&mut command(&world, &args));
        let run = world.wait_for_run();
        trap.wait(moment);
        if step == "composing" {
            trap.let_go();
            std::thread::sleep(delay);
        }
        let victim = if step == "verifying" { Victim::Coordinator } else { victim };
        // A run whose driver alone is killed goes on by itself.
        if victim == Victim::Driver && number < 2 {
            Victim::Both.kill(&live, &run);
        } else {
            victim.kill(&live, &run);
        }
        trap.let_go();
        args = vec!["run", "--resume", "--leave-unanswered"];
        if number == 2 {
            let ended = to_the_end(&world, live.ended_within(LIMIT), &|| site.sessions().len());
            assert_eq!(site.sessions().len(), 1, "{steps:?}, {victim:?}: {}", ended.stderr);
        }
    }
    let branch = format!("conductor/{}", world.run_id());
    let commits = git(&world, &["log", "--format=%h", &branch, "--", "a.txt"]);
    assert_eq!(commits.lines().count(), 1, "{steps:?}, {victim:?}: {commits}");
}

/// Counted by the site. A soak test asks for as many kills as it likes.
#[test]
fn killed_at_any_step_behind_a_page_a_prompt_is_submitted_once() {
    let runs = amount("CONDUCTOR_BROWSER_KILLS", 3).div_ceil(3);
    let mut rng = seeded();
    for _ in 0..runs {
        let before = ["opened", "listed", "composing"][rng.usize(..3)];
        let around = ["asked", "taken", "looked"][rng.usize(..3)];
        let after = ["lifting", "verifying"][rng.usize(..2)];
        let delay = Duration::from_millis(rng.u64(..2500));
        killed_behind_a_page([before, around, after], delay, Victim::ALL[rng.usize(..3)]);
    }
    println!("{} kills, and each prompt was submitted once", runs * 3);
}
