//! The real Chromium and the real Playwright MCP against the site of the testkit.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use conductor_browser::driver::{DriveError, Driver, Prompt, Seen, Status};
use conductor_browser::learning::probe;
use conductor_browser::records::{self, Request};
use conductor_browser::selectors::{Found, Overrides, Selectors};
use conductor_browser::server::{HostRecord, Source, serve};
use conductor_browser::settings::{Places, Settings};
use conductor_testkit::browsers;
use conductor_testkit::site::{Site, Skin};

#[path = "real/asking.rs"]
mod asking;
#[path = "real/finding.rs"]
mod finding;

const PATIENCE: Duration = Duration::from_secs(90);

/// A state directory, a repository, the site, and the shared browser.
struct Stage {
    home: tempfile::TempDir,
    site: Site,
    settings: Settings,
    host: Option<JoinHandle<()>>,
}

impl Stage {
    fn new(skin: Skin) -> Option<Stage> {
        Stage::with(skin, |_| {})
    }

    fn with(skin: Skin, change: impl FnOnce(&mut Settings)) -> Option<Stage> {
        let home = tempfile::tempdir().unwrap();
        if !browsers::or_skip(home.path()) {
            return None;
        }
        let site =
            Site::start(skin, &[("me/app", bare(home.path())), ("me/app-old", bare(home.path()))]).unwrap();
        let mut settings = Settings {
            site: site.url(),
            headless: true,
            executable: Some(PathBuf::from("/usr/bin/chromium")),
            auth_check_interval: 0.3,
            auth_timeout: 60.0,
            look: 0.3,
            provisioning_timeout: 2.0,
            ..Settings::default()
        };
        change(&mut settings);
        let mut stage = Stage { home, site, settings, host: None };
        stage.start_host();
        Some(stage)
    }

    fn places(&self) -> Places {
        Places::in_home(self.home.path())
    }

    fn start_host(&mut self) {
        let (settings, places) = (self.settings.clone(), self.places());
        Places::make(&places.folder()).unwrap();
        let at = places.clone();
        self.host = Some(thread::spawn(move || serve(&settings, &at).unwrap()));
        wait(|| HostRecord::living(&places).is_some().then_some(()));
    }

    fn driver(&self, mark: &str) -> Driver {
        Driver::new(self.settings.clone(), self.places(), (mark, mark), |_: &str| {}).unwrap()
    }

    /// What a user does who is asked to sign in.
    fn user_signs_in(&self) {
        let mut source = Source::new(&self.settings, &self.places());
        let mut page = source.connect().unwrap();
        page.open_tab().unwrap();
        page.navigate(&format!("{}/code", self.site.url())).unwrap();
        let view = page.view().unwrap();
        let button = view.snapshot.nodes.iter().find(|node| node.name.starts_with("Continue with")).unwrap();
        page.click(button.reference.as_deref().unwrap(), "sign in").unwrap();
        page.close_tab().unwrap();
        page.close();
    }

    /// Makes the renderer of a tab die, as memory or a bug would.
    fn crash(&self, url: &str) {
        let mut source = Source::new(&self.settings, &self.places());
        let mut page = source.connect().unwrap();
        let tab = page.tabs().unwrap().into_iter().find(|tab| tab.url == url).unwrap();
        page.select_tab(tab.index).unwrap();
        let _ = page.navigate("chrome://crash");
        page.close();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(host) = self.host.take() {
            let _ = host.join();
        }
    }
}

fn bare(home: &Path) -> PathBuf {
    let bare = home.join("app.git");
    if bare.exists() {
        return bare;
    }
    let script = "git init -q -b main w && cd w && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one \
                  && git clone -q --bare . ../app.git";
    let done = Command::new("sh")
        .args(["-c", script])
        .current_dir(home)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(done.unwrap().success());
    bare
}

fn wait<T>(mut done: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(done) = done() {
            return done;
        }
        assert!(Instant::now() < deadline, "it took too long");
        thread::sleep(Duration::from_millis(20));
    }
}

fn prompt(text: &str) -> Prompt<'_> {
    Prompt { text, repository: "me/app", branch: "main" }
}

/// Observes until the session is idle; all that it said.
fn until_idle(driver: &mut Driver) -> Vec<String> {
    let mut said = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let Seen { status, said: more, .. } = driver.observe(Duration::from_secs(1)).unwrap();
        said.extend(more);
        if status == Status::Idle {
            return said;
        }
        assert!(Instant::now() < deadline, "not idle: {status:?}, {said:?}");
    }
}

#[test]
fn a_session_is_created_watched_spoken_to_and_ended_in_two_skins() {
    for skin in [Skin::Plain, Skin::Shadow] {
        let Some(stage) = Stage::new(skin) else { return };
        let mut driver = stage.driver("r/t/1");
        let text = "Do it (r/t/1)\n\nWrite a.txt: one \"quoted\" {brace}\n  and an indented line";
        let address = driver.create(prompt(text)).unwrap();
        let sessions = stage.site.sessions();
        assert_eq!(sessions.len(), 1);
        assert_eq!(address, format!("{}/code/session_{}", stage.site.url(), sessions[0].id));
        assert_eq!((sessions[0].repository.as_str(), sessions[0].branch.as_str()), ("me/app", "main"));
        assert!(!sessions[0].prompt.contains("old draft"), "{}", sessions[0].prompt);
        let said = until_idle(&mut driver);
        assert!(said.iter().any(|row| row.contains("Pushed claude/do-it-")), "{said:?}");
        driver.send("one more thing").unwrap();
        assert_eq!(wait(|| stage.site.sessions()[0].messages.first().cloned()).trim(), "one more thing");
        let pull = driver.create_pull_request().unwrap();
        assert!(pull.ends_with("/me/app/pull/1") && stage.site.pulls().len() == 1, "{pull}");
        assert_eq!((driver.create_pull_request().unwrap(), stage.site.pulls().len()), (pull, 1));
        assert_eq!(records::all(&stage.places()).len(), 1);
        driver.stop(true).unwrap();
        drop(driver);
        assert!(records::all(&stage.places()).is_empty());
    }
}

#[test]
fn a_page_with_other_labels_is_named_and_kept_and_nothing_is_submitted_until_it_is_learned() {
    let Some(stage) = Stage::new(Skin::Renamed) else { return };
    let mut driver = stage.driver("r/t/1");
    let error = driver.create(prompt("Do it")).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("no element of the page is the control 'repository'"), "{said}");
    let DriveError::Step { kept: Some(kept), .. } = error else { panic!("{said}") };
    assert!(fs::read_to_string(kept).unwrap().contains("What shall be done"));
    assert!(stage.site.sessions().is_empty());
    driver.let_go();
    let learned = r#"{ "version": 1, "controls": {
        "composer": [{ "role": "textbox", "name": "What shall be done" }],
        "send": [{ "role": "button", "name": "Go" }],
        "repository": [{ "role": "button", "name_contains": "Project" }],
        "repository_search": [{ "role": "searchbox", "name": "Filterrepo" }],
        "branch": [{ "role": "button", "name_contains": "Line" }],
        "branch_search": [{ "role": "searchbox", "name": "Filterbranch" }] } }"#;
    fs::write(stage.places().selectors(), learned).unwrap();
    let mut driver = stage.driver("r/t/2");
    driver.create(prompt("Do it")).unwrap();
    assert_eq!(stage.site.sessions().len(), 1);
}

#[test]
fn what_is_not_offered_is_refused_before_anything_is_submitted() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    let mut driver = stage.driver("r/t/1");
    let asked = Prompt { text: "Do it", repository: "me/other", branch: "main" };
    let said = driver.create(asked).unwrap_err().to_string();
    assert!(said.contains("does not offer 'me/other'"), "{said}");
    stage
        .site
        .set(|faults| faults.limit = Some("You have reached your limit, resets in 20 minutes".to_owned()));
    let limited = driver.create(prompt("Do it")).unwrap_err();
    assert!(matches!(&limited, DriveError::RateLimited(said) if said.contains("20 minutes")), "{limited}");
    assert!(stage.site.sessions().is_empty());
}

#[test]
fn a_submission_without_an_address_is_unsure_and_found_by_its_mark() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    stage.site.set(|faults| faults.no_address = true);
    let mut driver = stage.driver("r/t/1");
    let created = thread::scope(|scope| {
        let creating = scope.spawn(|| driver.create(prompt("Do it, marked run-1/task/1")));
        wait(|| (stage.site.sessions().len() == 1).then_some(()));
        // The page dies before its address is known.
        stage.crash(&format!("{}/code", stage.site.url()));
        creating.join().unwrap()
    });
    assert!(matches!(created, Err(DriveError::Unsure(_))), "{created:?}");
    let mut other = stage.driver("r/t/1");
    let found = other.find("run-1/task/1").unwrap().unwrap();
    assert!(found.ends_with("/code/session_01Test1"), "{found}");
    assert_eq!(other.find("run-1/task/2").unwrap(), None);
    assert_eq!(stage.site.sessions().len(), 1);
}

#[test]
fn a_session_goes_on_after_a_crash_of_its_page_a_hang_and_a_new_server() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    stage.site.set(|faults| {
        faults.hang_at = Some("start".to_owned());
        faults.work = Duration::from_secs(3);
    });
    let mut driver = stage.driver("r/t/1");
    let address = driver.create(prompt("Do it\nWrite a.txt: a")).unwrap();
    stage.crash(&address);
    let crashed = Instant::now();
    driver.observe(Duration::ZERO).unwrap();
    eprintln!("recovered from a crash of the page in {:?}", crashed.elapsed());
    assert!(crashed.elapsed() < Duration::from_secs(30));
    let said = until_idle(&mut driver);
    assert!(said.iter().any(|row| row.contains("Pushed")), "{said:?}");
    let host = HostRecord::living(&stage.places()).unwrap();
    let killed = Command::new("kill").args(["-9", &host.server_pid.to_string()]).status().unwrap();
    assert!(killed.success());
    let died = Instant::now();
    driver.observe(Duration::ZERO).unwrap();
    eprintln!("recovered from the death of the server in {:?}", died.elapsed());
    assert_eq!(stage.site.sessions().len(), 1);
    driver.stop(true).unwrap();
}

#[test]
fn one_sign_in_by_hand_is_for_all_tabs_and_is_asked_for_again_when_it_expires() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    stage.site.set(|faults| {
        faults.login = true;
        faults.work = Duration::from_secs(20);
    });
    thread::scope(|scope| {
        let tasks = ["r/a/1", "r/b/1", "r/c/1"].map(|mark| {
            let stage = &stage;
            scope.spawn(move || {
                let mut driver = stage.driver(mark);
                driver.create(prompt(&format!("Do {mark}\nWrite {mark}.txt: x"))).unwrap();
                until_idle(&mut driver);
                driver.stop(true).unwrap();
            })
        });
        let asks = || {
            let waiting = |record: &records::Record| record.state.starts_with("waiting for your sign-in");
            records::all(&stage.places()).iter().any(waiting).then_some(())
        };
        wait(asks);
        stage.user_signs_in();
        // Each has its address: one that was submitted and has none yet would rightly be unsure.
        let is_watched = |record: &&records::Record| record.url.is_some();
        wait(|| (records::all(&stage.places()).iter().filter(is_watched).count() == 3).then_some(()));
        stage.site.expire();
        wait(asks);
        stage.user_signs_in();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
    let mut marks: Vec<String> =
        stage.site.sessions().iter().map(|s| s.prompt.lines().next().unwrap().to_owned()).collect();
    marks.sort();
    assert_eq!(marks, ["Do r/a/1", "Do r/b/1", "Do r/c/1"]);
    assert!(stage.site.sessions().iter().all(|session| session.pushed.is_some()));
}

#[test]
fn a_visitor_check_is_waited_for_and_the_picture_is_taken_by_the_driver() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    stage.site.set(|faults| faults.work = Duration::from_secs(5));
    let mut driver = stage.driver("r/t/1");
    driver.create(prompt("Do it\nWrite a.txt: a")).unwrap();
    thread::scope(|scope| {
        let watching = scope.spawn(|| until_idle(&mut driver));
        let record = records::all(&stage.places()).remove(0);
        let png = records::ask(&stage.places(), &record, Request::Picture, PATIENCE).unwrap().unwrap();
        let text = conductor_browser::picture::as_text(&png, 80).unwrap();
        assert!(text.lines().count() > 10 && text.lines().all(|line| line.len() <= 80), "{text}");
        let front = records::ask(&stage.places(), &record, Request::Front, PATIENCE).unwrap();
        assert_eq!(front.as_deref(), Some(&b"done"[..]));
        watching.join().unwrap();
    });
    driver.let_go();
    stage.site.set(|faults| faults.interstitial = true);
    let mut other = stage.driver("r/t/2");
    thread::scope(|scope| {
        let creating = scope.spawn(|| other.create(prompt("Do it too\nWrite b.txt: b")).unwrap());
        wait(|| {
            let checked = |record: &records::Record| record.state.contains("check of the visitor");
            records::all(&stage.places()).iter().any(checked).then_some(())
        });
        stage.site.set(|faults| faults.interstitial = false);
        creating.join().unwrap();
    });
    assert_eq!(stage.site.sessions().len(), 2);
}

/// The address of a web server that is no MCP server.
fn talks_of_other_things() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello",
            );
        }
    });
    format!("http://{address}/mcp")
}

#[test]
fn no_browser_and_a_server_that_refuses_are_told() {
    let home = tempfile::tempdir().unwrap();
    let at = |server_url: &str| Settings {
        server_url: Some(server_url.to_owned()),
        timeout: 2.0,
        max_retries: 0,
        ..Settings::default()
    };
    let said = |settings: Settings| {
        let mut driver =
            Driver::new(settings, Places::in_home(home.path()), ("m", "t"), |_: &str| {}).unwrap();
        driver.create(prompt("x")).unwrap_err().to_string()
    };
    let unreachable = said(at("http://127.0.0.1:9/mcp"));
    assert!(unreachable.contains("cannot be reached"), "{unreachable}");
    assert!(said(at("ftp://x")).contains("mcp.server_url"), "{}", said(at("ftp://x")));
    for (server, words) in [
        ("stdio://false", "the MCP server ended"),
        ("stdio://yes", "does not speak the protocol"),
        ("stdio://sleep 60", "gave no answer within 2 s"),
        ("stdio://no-such-program", "cannot start the MCP server"),
        (&talks_of_other_things(), "does not speak the protocol"),
    ] {
        let told = said(at(server));
        assert!(told.contains(words), "{server}: {told}");
    }
    let Some(_) = browsers::or_skip(home.path()).then_some(()) else { return };
    let nowhere = Settings { executable: Some("/no/chromium".into()), ..Settings::default() };
    assert!(said(nowhere).contains("browser.executable"), "");
}

#[test]
fn a_person_points_at_a_control_and_it_is_known_from_then_on() {
    let Some(stage) = Stage::new(Skin::Renamed) else { return };
    let mut driver = stage.driver("learn");
    let view = driver.start_page().unwrap();
    let probed = probe(driver.selectors(), &view);
    assert!(probed.iter().all(|one| one.found == Found::Missing), "{probed:?}");
    let pattern = thread::scope(|scope| {
        let pointing = scope.spawn(|| driver.point(PATIENCE).unwrap().unwrap());
        let mut source = Source::new(&stage.settings, &stage.places());
        let mut page = source.connect().unwrap();
        let url = format!("{}/code", stage.site.url());
        let tab = page.tabs().unwrap().into_iter().find(|tab| tab.url == url).unwrap();
        page.select_tab(tab.index).unwrap();
        // The person clicks until the click is noticed: it may come before the page listens.
        while !pointing.is_finished() {
            let view = page.view().unwrap();
            let chip = view.snapshot.nodes.iter().find(|node| node.name == "Project").unwrap();
            page.click(chip.reference.as_deref().unwrap(), "the chip").unwrap();
        }
        page.close();
        pointing.join().unwrap()
    });
    assert_eq!((pattern.role.as_deref(), pattern.name.as_deref()), (Some("button"), Some("Project")));
    let mut overrides = Overrides::default();
    overrides.learn(driver.selectors(), "repository", pattern);
    fs::write(stage.places().selectors(), serde_json::to_string(&overrides).unwrap()).unwrap();
    let learned = Selectors::load(&stage.places().selectors()).unwrap();
    assert!(matches!(learned.find("repository", &view, &Default::default()), Found::One(_)));
}
