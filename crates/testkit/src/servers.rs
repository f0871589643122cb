//! Real servers, started by a test for itself: nothing of the machine's own is used, and nothing stays behind.

mod postgres;
mod rabbitmq;
mod redis;

use std::hash::{BuildHasher as _, Hasher as _};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub use postgres::Postgres;
pub use rabbitmq::RabbitMq;
pub use redis::Redis;

/// Longer than any of them takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a server that begins is looked at.
const STEP: Duration = Duration::from_millis(20);

/// For a server to answer a question that is asked to see whether it is up.
const ANSWER: Duration = Duration::from_secs(5);

/// How many ports are tried.
const PORTS: usize = 5;

/// A port that is free, and that no outgoing connection is given while its server is down.
fn free_port() -> Result<u16, String> {
    let mut seed = std::collections::hash_map::RandomState::new().build_hasher().finish();
    for _ in 0..1_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let port = 15_000 + ((seed >> 33) % 15_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err("no port is free".to_owned())
}

/// Another may have taken the port in the meantime.
fn on_a_free_port<T>(start: impl Fn(u16) -> Result<T, String>) -> Result<T, String> {
    let mut last = Err("no port was tried".to_owned());
    for _ in 0..PORTS {
        last = start(free_port()?);
        match &last {
            Err(why) if why.to_lowercase().contains("in use") || why.contains("eaddrinuse") => {}
            _ => return last,
        }
    }
    last
}

/// The server; or None, and a word on stderr that the test is skipped and why.
///
/// # Panics
/// With `CI=true`, where nothing may be left out.
pub fn or_skip<T>(started: Result<T, String>) -> Option<T> {
    let why = match started {
        Ok(server) => return Some(server),
        Err(why) => why,
    };
    assert!(std::env::var("CI").is_ok_and(|ci| ci == "true").eq(&false), "the server is required: {why}");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("\n*** SKIPPED {test}: {why} ***\n");
    None
}

/// Tells a figure of a measurement to what has started it.
pub fn figure(name: &str, value: f64) {
    println!("\n{FIGURE}{name} {value}");
}

/// What a line with a figure begins with.
pub const FIGURE: &str = "FIGURE ";

/// How many there are of what is measured, unless `CONDUCTOR_FIGURE_SIZE` says it.
pub fn figure_size(usual: usize) -> usize {
    std::env::var("CONDUCTOR_FIGURE_SIZE").ok().and_then(|size| size.parse().ok()).unwrap_or(usual)
}

/// A server's process. It goes with the test, however that ends.
struct Server {
    child: Child,
    /// What asks it to end.
    signal: &'static str,
}

impl Server {
    fn start(command: &mut Command, signal: &'static str, log: &Path) -> Result<Server, String> {
        let log = std::fs::File::create(log).map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = command.spawn().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
        Ok(Server { child, signal })
    }

    /// Waits until it answers.
    fn until(&mut self, log: &Path, mut answers: impl FnMut() -> bool) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        while !answers() {
            let ended = self.child.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || Instant::now() > until {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!("the server does not answer: {said}"));
            }
            std::thread::sleep(STEP);
        }
        Ok(())
    }

    fn send(&self, signal: &str) {
        let _ = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.send(self.signal);
        let ended = self.child.wait();
        debug_assert!(ended.is_ok_and(|ended| ended.code().is_some() || ended.signal().is_some()));
    }
}

/// A command that ends with this test, and runs as this user where we are root.
fn kept(program: &Path, user: Option<&str>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if let Some(user) = user.filter(|_| is_root()) {
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
    }
    command.arg("--").arg(program);
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout == b"0\n")
}

fn own(folder: &Path, user: &str) -> Result<(), String> {
    if !is_root() {
        return Ok(());
    }
    let done = Command::new("chown").arg(format!("{user}:{user}")).arg(folder).status();
    match done {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("{} cannot be given to {user}: {other:?}", folder.display())),
    }
}

/// On the search path, or in one of these folders.
fn program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).chain(folders.iter().cloned()).map(|folder| folder.join(name));
    found.into_iter().find(|file| file.is_file())
}
