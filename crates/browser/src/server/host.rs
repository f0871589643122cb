//! The browser that all sessions of a state directory share: one server, one browser, a tab or context for each.
//!
//! It is a process of its own and of no attempt, because an attempt's processes end with the attempt. It stays as long
//! as a process uses it, which is told by a lock that no crash can leave behind, and ends by itself after that.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

use super::{ServerError, install, launch};
use crate::client::{Client, Place};
use crate::page::Page;
use crate::records::{started, write_whole};
use crate::settings::{Places, Settings};

const STEP: Duration = Duration::from_millis(100);
/// Between two sessions of a run there may be no session for a moment.
const IDLE: Duration = Duration::from_secs(3);
const STARTING: Duration = Duration::from_secs(60);
const ENDING: Duration = Duration::from_secs(5);
/// How often the server may die before the host gives up, unless it lived long in between.
const DEATHS: u32 = 5;
const LONG: Duration = Duration::from_secs(60);

/// Where the shared server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    pub pid: u32,
    /// When the host's process began: a number alone is used again.
    pub started: u64,
    pub url: String,
    pub server_pid: u32,
}

fn record_of(places: &Places) -> PathBuf {
    places.folder().join("host.json")
}

fn restart_of(places: &Places) -> PathBuf {
    places.folder().join("host.restart")
}

/// Says that the shared browser is used, until the file is closed.
pub(super) fn use_it(places: &Places) -> Result<File, ServerError> {
    Places::make(&places.folder()).map_err(ServerError::files(places.folder()))?;
    let path = places.folder().join("users.lock");
    File::create(&path).and_then(|file| file.lock_shared().map(|()| file)).map_err(ServerError::files(path))
}

impl HostRecord {
    /// The host, if its process lives.
    pub fn living(places: &Places) -> Option<HostRecord> {
        let record: HostRecord = serde_json::from_slice(&fs::read(record_of(places)).ok()?).ok()?;
        (started(record.pid) == Some(record.started)).then_some(record)
    }

    /// Asks for a new server and waits until it is there. Several that ask at once get the same one.
    pub(super) fn replace(&self, places: &Places) -> Result<(), ServerError> {
        let path = restart_of(places);
        fs::write(&path, self.server_pid.to_string()).map_err(ServerError::files(&path))?;
        let deadline = Instant::now() + STARTING;
        while Instant::now() < deadline {
            match HostRecord::living(places) {
                Some(now) if now.server_pid == self.server_pid => sleep(STEP),
                _ => return Ok(()),
            }
        }
        Err(ServerError::NotServing("it was not replaced in time".to_owned()))
    }
}

/// The shared browser, for a process that starts sessions: it is started unless it is there, and stays while this lives.
#[derive(Debug)]
pub struct Host {
    _in_use: File,
    /// Reaped when this is dropped, if it is ours and has ended.
    child: Option<Child>,
}

impl Host {
    /// `program` starts a process that calls `serve`.
    pub fn provide(places: &Places, mut program: Command) -> Result<Host, ServerError> {
        let in_use = use_it(places)?;
        let path = places.folder().join("host.lock");
        let _one = File::create(&path)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(ServerError::files(path))?;
        if HostRecord::living(places).is_some() {
            return Ok(Host { _in_use: in_use, child: None });
        }
        let _ = fs::remove_file(record_of(places));
        let log = places.folder().join("host.log");
        let errors = File::create(&log).map_err(ServerError::files(&log))?;
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).process_group(0);
        let mut child = program.spawn().map_err(|error| ServerError::NotServing(error.to_string()))?;
        let deadline = Instant::now() + STARTING;
        while HostRecord::living(places).is_none() {
            let ended = child.try_wait().ok().flatten().is_some();
            if ended || Instant::now() >= deadline {
                let _ = child.kill();
                let _ = child.wait();
                let said = fs::read_to_string(&log).unwrap_or_default();
                return Err(ServerError::NotServing(said.trim().to_owned()));
            }
            sleep(STEP);
        }
        Ok(Host { _in_use: in_use, child: Some(child) })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(child) = self.child.as_mut() {
            let _ = child.try_wait();
        }
    }
}

/// Runs the shared server until no process uses it. It is the whole life of the host's process.
pub fn serve(settings: &Settings, places: &Places) -> Result<(), ServerError> {
    // What the browser leaves behind comes to this process, not to the run that started it.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let program = install(places)?;
    let profile = places.folder().join(format!("profile-{}", std::process::id()));
    remove_old_profiles(places);
    let users = places.folder().join("users.lock");
    let users = File::create(&users).map_err(ServerError::files(users))?;
    let served = serve_until_idle(settings, places, &program, &profile, &users);
    let _ = fs::remove_file(record_of(places));
    // What the site left in the browser, the sign-in among it, goes with the browser.
    let _ = fs::remove_dir_all(&profile);
    served
}

fn serve_until_idle(
    settings: &Settings,
    places: &Places,
    program: &std::path::Path,
    profile: &std::path::Path,
    users: &File,
) -> Result<(), ServerError> {
    let mut deaths = 0;
    loop {
        let since = Instant::now();
        let mut server = Server::start(launch::shared(settings, places, program, profile)?)?;
        server.announce(places)?;
        let _held = hold_open(settings, &server.url);
        match server.watch(places, users) {
            Watched::Idle => return Ok(()),
            Watched::Replace => deaths = 0,
            Watched::Died if since.elapsed() >= LONG => deaths = 1,
            Watched::Died => deaths += 1,
        }
        if deaths >= DEATHS {
            return Err(ServerError::NotServing(format!("it ended {deaths} times within moments")));
        }
    }
}

/// The server closes the browser with its last connection, and the sign-in of a site goes with that: a connection of our own
/// keeps it between two sessions, as long as what is returned lives. Only of a browser that sessions share; where it cannot be
/// had, sessions say what is wrong.
fn hold_open(settings: &Settings, url: &str) -> Option<Sender<()>> {
    if settings.isolated || launch::is_attached(settings) {
        return None;
    }
    let (place, patience) = (Place::Http(url.to_owned()), settings.patience());
    let (held, over) = channel();
    thread::spawn(move || {
        let mut page = Client::connect(&place, patience).map(Page::new);
        if let Ok(page) = &mut page {
            // The browser is opened with the first call.
            let _ = page.tabs();
        }
        let _ = over.recv();
    });
    Some(held)
}

/// A host that was killed leaves its profile, in which a sign-in may be.
fn remove_old_profiles(places: &Places) {
    for entry in fs::read_dir(places.folder()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid =
            name.to_str().and_then(|name| name.strip_prefix("profile-")).and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid: u32| started(pid).is_none()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

enum Watched {
    Idle,
    Replace,
    Died,
}

/// The MCP server's process, with the browser below it.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(mut command: Command) -> Result<Server, ServerError> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let failed = |why: &str| ServerError::NotServing(why.to_owned());
        let mut child = command.spawn().map_err(|error| failed(&format!("node: {error}")))?;
        let Some(errors) = child.stderr.take() else { return Err(failed("no output")) };
        let (sender, receiver) = channel();
        thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let deadline = Instant::now() + STARTING;
        let mut last = String::new();
        loop {
            match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => match line.strip_prefix("Listening on ") {
                    Some(url) => return Ok(Server { child, url: format!("{}/mcp", url.trim()) }),
                    None => last = line,
                },
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed(&last));
                }
            }
        }
    }

    fn announce(&self, places: &Places) -> Result<(), ServerError> {
        let pid = std::process::id();
        let record = HostRecord {
            pid,
            started: started(pid).unwrap_or_default(),
            url: self.url.clone(),
            server_pid: self.child.id(),
        };
        let path = record_of(places);
        let bytes = serde_json::to_vec(&record).unwrap_or_default();
        write_whole(&path, &bytes).map_err(ServerError::files(path))
    }

    fn watch(&mut self, places: &Places, users: &File) -> Watched {
        let mut used = Instant::now();
        loop {
            sleep(STEP);
            if !matches!(self.child.try_wait(), Ok(None)) {
                return Watched::Died;
            }
            let wanted = fs::read_to_string(restart_of(places)).unwrap_or_default();
            if !wanted.is_empty() {
                let _ = fs::remove_file(restart_of(places));
                // One that asks for the end of an earlier server has got it already.
                if wanted.trim() == self.child.id().to_string() {
                    return Watched::Replace;
                }
            }
            match users.try_lock() {
                Ok(()) => {
                    let _ = users.unlock();
                    if used.elapsed() >= IDLE {
                        return Watched::Idle;
                    }
                }
                Err(_) => used = Instant::now(),
            }
        }
    }
}

impl Drop for Server {
    /// Asks it to end, so that it closes the browser, and then ends what is left of its group.
    fn drop(&mut self) {
        let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else { return };
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(pid, Signal::TERM);
            let deadline = Instant::now() + ENDING;
            while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
                sleep(STEP);
            }
        }
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = self.child.wait();
    }
}
