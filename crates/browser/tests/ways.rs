//! Every way to a browser, once with the real Chromium and the real Playwright MCP: a browser of the user's, contexts with a
//! stored sign-in, and servers that are there already.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use conductor_browser::driver::{Driver, Prompt, Status};
use conductor_browser::server::{HostRecord, installed, serve};
use conductor_browser::settings::{Places, Settings};
use conductor_testkit::browsers;
use conductor_testkit::site::{Site, Skin};
use rustix::process::{Pid, Signal, kill_process_group};

const PATIENCE: Duration = Duration::from_secs(90);
const CHROMIUM: &str = "/usr/bin/chromium";

struct Stage {
    home: tempfile::TempDir,
    site: Site,
}

impl Stage {
    fn new() -> Option<Stage> {
        let home = tempfile::tempdir().unwrap();
        if !browsers::or_skip(home.path()) {
            return None;
        }
        let script = "git init -q -b main w && cd w && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one \
                      && git clone -q --bare . ../app.git";
        assert!(Command::new("sh").args(["-c", script]).current_dir(home.path()).status().unwrap().success());
        let site = Site::start(Skin::Plain, &[("me/app", home.path().join("app.git"))]).unwrap();
        Some(Stage { home, site })
    }

    fn places(&self) -> Places {
        let places = Places::in_home(self.home.path());
        Places::make(&places.folder()).unwrap();
        places
    }

    fn settings(&self) -> Settings {
        Settings {
            site: self.site.url(),
            headless: true,
            executable: Some(PathBuf::from(CHROMIUM)),
            auth_timeout: 5.0,
            look: 0.3,
            ..Settings::default()
        }
    }

    /// A session from its prompt to its pushed work.
    fn drive(&self, settings: &Settings, mark: &str) {
        let mut driver = Driver::new(settings.clone(), self.places(), (mark, mark), |_: &str| {}).unwrap();
        let text = format!("Do it ({mark})\nWrite {mark}.txt: done");
        let address = driver.create(Prompt { text: &text, repository: "me/app", branch: "main" }).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while driver.observe(Duration::from_secs(1)).unwrap().status != Status::Idle {
            assert!(Instant::now() < deadline, "{mark} is not done");
        }
        let session = self.site.sessions().into_iter().find(|one| address.ends_with(&one.id)).unwrap();
        assert!(session.prompt.contains(mark) && session.pushed.is_some(), "{session:?}");
        driver.stop(true).unwrap();
    }

    /// What a run does that has a browser for all its sessions.
    fn with_host(&self, settings: &Settings, then: impl FnOnce()) {
        let (places, given) = (self.places(), settings.clone());
        let host = thread::spawn(move || serve(&given, &places).unwrap());
        let places = self.places();
        wait(|| HostRecord::living(&places).map(drop));
        then();
        host.join().unwrap();
    }

    fn server(&self, more: &[&str]) -> Command {
        let program = installed(&self.places()).unwrap();
        let mut command = Command::new("node");
        command.arg(program).args(["--headless", "--isolated", "--executable-path", CHROMIUM]).args(more);
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        command.arg("--output-dir").arg(self.home.path().join("out"));
        command.env("PLAYWRIGHT_MCP_PING_TIMEOUT_MS", "0").current_dir(self.home.path());
        command
    }
}

/// A process with all that it started, which ends with this.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Running {
        Running(command.stdin(Stdio::null()).process_group(0).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.0.id() as i32).unwrap();
        let _ = kill_process_group(group, Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline && matches!(self.0.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
    }
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

/// A browser as a user starts it who wants Conductor to use it, and its address.
fn browser_of_the_user(profile: &Path) -> (Running, String) {
    let mut command = Command::new(CHROMIUM);
    command.args(["--headless=new", "--remote-debugging-port=0", "--no-first-run"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    if rustix::process::geteuid().is_root() {
        command.arg("--no-sandbox");
    }
    command.arg("about:blank").stdout(Stdio::null()).stderr(Stdio::null());
    let browser = Running::start(&mut command);
    let port = wait(|| {
        let text = fs::read_to_string(profile.join("DevToolsActivePort")).ok()?;
        text.lines().next()?.parse::<u16>().ok()
    });
    (browser, format!("http://127.0.0.1:{port}"))
}

#[test]
fn tabs_of_the_users_own_browser() {
    let Some(stage) = Stage::new() else { return };
    let profile = stage.home.path().join("users-profile");
    let (mut browser, endpoint) = browser_of_the_user(&profile);
    let settings = Settings { cdp_endpoint: Some(endpoint), executable: None, ..stage.settings() };
    stage.with_host(&settings, || {
        thread::scope(|scope| {
            for mark in ["one", "two"] {
                let (stage, settings) = (&stage, &settings);
                scope.spawn(move || stage.drive(settings, mark));
            }
        });
    });
    assert!(matches!(browser.0.try_wait(), Ok(None)), "it is the user's, and stays");
}

#[test]
fn contexts_of_their_own_with_a_sign_in_that_the_user_has_stored() {
    let Some(stage) = Stage::new() else { return };
    stage.site.set(|faults| faults.login = true);
    let cookie = format!(
        r#"{{"name":"login","value":"{}","domain":"127.0.0.1","path":"/","expires":-1,"httpOnly":false,"secure":false,"sameSite":"Lax"}}"#,
        stage.site.sign_in()
    );
    let state = stage.home.path().join("state.json");
    fs::write(&state, format!(r#"{{"cookies":[{cookie}],"origins":[]}}"#)).unwrap();
    let isolated = Settings { isolated: true, ..stage.settings() };
    let settings = Settings { storage_state: Some(state), ..isolated.clone() };
    stage.with_host(&settings, || {
        stage.drive(&settings, "one");
        stage.drive(&settings, "two");
    });
    // Without it each context is one of a visitor, and nothing is submitted.
    stage.with_host(&isolated, || {
        let mut driver = Driver::new(isolated.clone(), stage.places(), ("m", "m"), |_: &str| {}).unwrap();
        let prompt = Prompt { text: "x", repository: "me/app", branch: "main" };
        let said = driver.create(prompt).unwrap_err().to_string();
        assert!(said.contains("no sign-in within 5 s"), "{said}");
    });
    assert_eq!(stage.site.sessions().len(), 2);
}

#[test]
fn servers_that_are_there_already_over_http_and_over_their_standard_input() {
    let Some(stage) = Stage::new() else { return };
    let mut server = stage.server(&["--port", "0", "--host", "localhost"]);
    let mut running = Running::start(server.stdout(Stdio::null()).stderr(Stdio::piped()));
    let (tell, told) = channel();
    let lines = BufReader::new(running.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    // Read to its end: a server whose words no one takes would stop.
    thread::spawn(move || lines.for_each(|line| drop(tell.send(line))));
    let listens = |line: String| Some(line.strip_prefix("Listening on ")?.trim().to_owned());
    let url = wait(|| told.try_iter().find_map(listens));
    for (mark, path) in [("streams", "mcp"), ("events", "sse")] {
        let settings = Settings { server_url: Some(format!("{url}/{path}")), ..stage.settings() };
        stage.drive(&settings, mark);
    }
    drop(running);
    let words = stage.server(&[]);
    let words: Vec<String> = std::iter::once(words.get_program())
        .chain(words.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let settings = Settings { server_url: Some(format!("stdio://{}", words.join(" "))), ..stage.settings() };
    stage.drive(&settings, "program");
}
