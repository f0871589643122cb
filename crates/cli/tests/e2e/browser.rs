//! Agents behind a web page: the real Chromium and the real Playwright MCP drive the site of the testkit, through runs.

use std::fs;
use std::time::Duration;

use conductor_browser::page::Page;
use conductor_browser::records::{self, Record};
use conductor_browser::server::Source;
use conductor_browser::settings::{Places, Settings};
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
    stage_of(tasks, &["me/app"])
}

/// Likewise, with all of these repositories at that remote.
fn stage_of(tasks: &str, repositories: &[&str]) -> Option<(World, Site)> {
    let mut world = repository(tasks);
    if !browsers::or_skip(&world.home()) {
        return None;
    }
    git(&world, &["clone", "-q", "--bare", ".", "../app.git"]);
    git(&world, &["remote", "add", "origin", &world.path("app.git").display().to_string()]);
    let at_remote: Vec<_> = repositories.iter().map(|name| (*name, world.path("app.git"))).collect();
    let site = Site::start(Skin::Plain, &at_remote).unwrap();
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

/// The example that such files came with, as it is, with three at once; each of its tasks wants a pull request, for which there
/// is no forge here but the page's own button.
#[test]
fn a_whole_sprint_of_ten_tasks_in_two_repositories_lands_with_its_pull_requests() {
    let sprint = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/spec/corpus/sprint.yaml");
    let sprint = fs::read_to_string(sprint).unwrap();
    let Some((world, site)) = stage_of(&sprint, &["acme/shop.web", "acme/login-service"]) else { return };
    let config = world.home().join("config.yaml");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, before + "agent: cloud\ncloud: { transport: browser, push: true }\n").unwrap();
    let run = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "--parallel", "3"]));
    run.ended_within(LIMIT * 2).expect(0);
    assert!(world.statuses().values().all(|status| status == "completed"), "{:?}", world.statuses());
    let sessions = site.sessions();
    assert_eq!(sessions.len(), 10, "each prompt was submitted once");
    let login = sessions.iter().filter(|session| session.repository == "acme/login-service");
    assert_eq!((login.count(), site.pulls().len()), (1, 10));
}

/// A banner of the page, before a session is begun: nothing more is begun until the time that it tells.
#[test]
fn a_limit_that_the_page_shows_parks_the_provider() {
    let one = "tasks:\n  - { id: a, agent: cloud, cloud: { transport: browser, push: true }, repository: me/app, \
               prompt: 'Write a.txt: a' }\n";
    let Some((world, site)) = stage(one) else { return };
    site.set(|faults| faults.limit = Some("You have reached your limit, resets in 5 seconds".to_owned()));
    let run = world.spawn(&mut command(&world, &["run", "../tasks.yaml"]));
    wait_for("the provider to be parked", || world.logged("provider_parked").pop());
    assert!(site.sessions().is_empty());
    site.set(|faults| faults.limit = None);
    run.ended_within(LIMIT).expect(0);
    assert_eq!((site.sessions().len(), world.logged("provider_parked").len()), (1, 1));
}

/// The config lies in the user's checkout only: the drivers, each in a worktree, go by it all the same.
#[test]
fn a_config_that_is_not_committed_counts_for_the_drivers_too_and_the_tab_of_a_task_that_is_over_is_closed() {
    let two = "tasks:\n  - { id: first, agent: cloud, cloud: { transport: browser, push: true }, repository: me/app, \
               prompt: 'Write a.txt: a' }\n  - { id: second, agent: cloud, cloud: { transport: browser, push: true }, \
               repository: me/app, prompt: 'Write b.txt: b', dependencies: [first] }\n";
    let Some((world, site)) = stage(two) else { return };
    let config = fs::read_to_string(world.home().join("config.yaml")).unwrap();
    fs::remove_file(world.home().join("config.yaml")).unwrap();
    fs::create_dir(world.path("repo/.conductor")).unwrap();
    fs::write(world.path("repo/.conductor/config.yaml"), config).unwrap();
    fs::write(world.path("repo/.git/info/exclude"), ".conductor/\n").unwrap();
    conductor(&world, &["trust", "--yes"]).expect(0);
    let hands = Hands { world: &world, site: &site };
    let run = world.spawn(&mut command(&world, &["run", "../tasks.yaml"]));
    let first = hands.watched(1).remove(0);
    let is_pushed = || site.sessions()[0].pushed.is_some().then_some(());
    wait_for("the work of the first", is_pushed);
    site.set(|faults| faults.work = Duration::from_secs(600));
    let second = || hands.addresses().into_iter().find(|address| *address != first);
    let second = wait_for("the second session", second);
    let mut page = hands.page();
    let tabs: Vec<String> = page.tabs().unwrap().into_iter().map(|tab| tab.url).collect();
    page.close();
    assert!(tabs.contains(&second) && !tabs.contains(&first), "{first}: {tabs:?}");
    conductor(&world, &["cancel", "--all"]).expect(0);
    drop(run.ended_within(LIMIT));
    assert_eq!(site.sessions().len(), 2);
}

/// In the words of the format that such files are in, from a user who has no other.
const SPRINT: &str = r#"
config:
  default_repository: "me/app"
  default_pr_strategy: "manual"
  default_retry_policy: { max_attempts: 1, backoff_factor: 2.0, initial_delay: 100, max_delay: 1000 }
tasks:
  - id: "BASE-001"
    name: "Layout"
    prompt: "Write base/readme.txt: a shop"
    expected_deliverable: "base/readme.txt"
    priority: high
  - id: "API-001"
    name: "Routes"
    prompt: "Write api/routes.txt: GET /orders"
  - id: "PAGE-001"
    name: "First page"
    prompt: "Write web/index.html: orders"
  - id: "DOCS-001"
    name: "Guide"
    prompt: "Write docs/guide.md: all of it"
    dependencies: ["BASE-001", "API-001", "PAGE-001"]
  - id: "LIE-001"
    name: "All talk"
    prompt: "only pretend"
    dependencies: ["DOCS-001"]
  - id: "LAST-001"
    name: "Built on talk"
    prompt: "Write last.txt: never"
    dependencies: ["LIE-001"]
"#;

/// The browser that a run has opened, in the hands of its user.
struct Hands<'a> {
    world: &'a World,
    site: &'a Site,
}

impl Hands<'_> {
    fn places(&self) -> Places {
        Places::in_home(&self.world.home())
    }

    fn page(&self) -> Page {
        let settings = Settings { site: self.site.url(), headless: true, ..Settings::default() };
        Source::new(&settings, &self.places()).connect().unwrap()
    }

    /// As soon as one is asked for.
    fn sign_in(&self) {
        let is_asked = |record: &Record| record.state.starts_with("waiting for your sign-in");
        let asked = || records::all(&self.places()).iter().any(is_asked).then_some(());
        wait_for("a sign-in to be asked for", asked);
        let mut page = self.page();
        page.open_tab().unwrap();
        page.navigate(&format!("{}/code", self.site.url())).unwrap();
        let view = page.view().unwrap();
        let button = view.snapshot.nodes.iter().find(|node| node.name.starts_with("Continue with")).unwrap();
        page.click(button.reference.as_deref().unwrap(), "sign in").unwrap();
        page.close_tab().unwrap();
        page.close();
    }

    /// The addresses of the sessions that are watched, when there are so many.
    fn watched(&self, count: usize) -> Vec<String> {
        let addresses = || Some(self.addresses()).filter(|all| all.len() == count);
        wait_for("each session to have its address", addresses)
    }

    fn addresses(&self) -> Vec<String> {
        records::all(&self.places()).into_iter().filter_map(|record| record.url).collect()
    }

    /// The renderer of a tab dies, as of memory or a bug.
    fn crash(&self, address: &str) {
        let mut page = self.page();
        let tab = page.tabs().unwrap().into_iter().find(|tab| tab.url == address).unwrap();
        page.select_tab(tab.index).unwrap();
        let _ = page.navigate("chrome://crash");
        page.close();
    }
}

#[test]
fn three_at_once_outlast_a_crash_and_the_end_of_a_sign_in_and_a_lie_is_not_done() {
    let Some((world, site)) = stage(SPRINT) else { return };
    let config = world.home().join("config.yaml");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, before + "agent: cloud\ncloud: { transport: browser, push: true }\n").unwrap();
    site.set(|faults| {
        faults.login = true;
        faults.work = Duration::from_secs(20);
    });
    let hands = Hands { world: &world, site: &site };
    let run = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "--parallel", "3"]));
    hands.sign_in();
    let sessions = hands.watched(3);
    hands.crash(&sessions[0]);
    site.expire();
    hands.sign_in();
    site.set(|faults| faults.work = Duration::from_millis(300));
    run.ended_within(LIMIT).expect(100);
    let statuses = world.statuses();
    for task in ["BASE-001", "API-001", "PAGE-001", "DOCS-001"] {
        assert_eq!(statuses[task], "completed", "{statuses:?}");
    }
    assert_eq!((&statuses["LIE-001"][..], &statuses["LAST-001"][..]), ("failed", "skipped"));
    assert_eq!(site.sessions().len(), 5, "each prompt was submitted once");
    let branch = format!("conductor/{}", world.run_id());
    let files = git(&world, &["ls-tree", "-r", "--name-only", &branch]);
    for file in ["base/readme.txt", "api/routes.txt", "web/index.html", "docs/guide.md"] {
        assert!(files.contains(file), "{files}");
    }
    assert!(!files.contains("last.txt"), "{files}");
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
