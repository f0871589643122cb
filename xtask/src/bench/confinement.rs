//! Confinement: what a start costs by each tier, and what the way to the network of a confined program carries. A client
//! inside goes to its proxy as any does: by loopback of its own, a process that carries, and the proxy's socket.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use conductor_core::confinement::hosts::HostRule;
use conductor_core::confinement::{Access, Confinement, Mount};
use conductor_engine::process::Launch;
use conductor_engine::process::confinement::{self, Confined, Place, Tier};

use super::contest::timed;
use super::hogs;
use super::report::{Goal, below, time};
use super::scratch::Scratch;
use super::single::best;
use crate::Result;
use crate::steps::dist;

/// The word of Conductor's own by which it is the program that runs inside.
const INNER: &str = "sandbox-inner";

const TURNS: usize = 5;
const STARTS: usize = 40;
const BYTES: usize = 1 << 30;
const CONNECTIONS: usize = 1_000;

/// Seconds, each.
pub(super) struct Figures {
    plain: f64,
    /// One start; nothing where this machine does not have it.
    bwrap: Option<f64>,
    landlock: Option<f64>,
    proxy: Option<Proxy>,
    hogs: hogs::Figures,
}

struct Proxy {
    bytes: f64,
    connection: f64,
}

pub(super) fn measure(scratch: &mut Scratch) -> Result<Figures> {
    let folder = scratch.directory()?;
    let plain = best(TURNS, || starts(|| Ok(Command::new("/bin/true"))))?;
    let bwrap = start(&folder, Tier::Bubblewrap)?;
    // A machine's tier is found out once for each process, and the weaker one where the stronger is not installed.
    let mut other = Command::new(std::env::current_exe()?);
    let other = other.arg(super::CONFINED).arg(&folder).env("PATH", "/nonexistent").stderr(Stdio::inherit());
    let said = String::from_utf8(other.output()?.stdout)?;
    let proxy = bwrap.map(|_| carried(&folder)).transpose()?;
    let hogs = hogs::measure(scratch)?;
    Ok(Figures { plain, bwrap, landlock: said.trim().parse().ok(), proxy, hogs })
}

/// Prints the seconds of one start by rules of the kernel's alone, where nothing else is to be had.
pub(crate) fn print_landlock(folder: &str) -> Result {
    if let Some(seconds) = start(Path::new(folder), Tier::Landlock)? {
        println!("{seconds}");
    }
    Ok(())
}

/// The seconds of one start by this tier; nothing where it is not what this machine has.
fn start(folder: &Path, tier: Tier) -> Result<Option<f64>> {
    confinement::inner_is(dist("conductor"), INNER);
    let found = confinement::findings().tier;
    if found != tier {
        return Ok(None);
    }
    let place = Place::new(folder, folder.join(format!("place-{tier}")))?;
    let confinement = Confinement { mounts: mounts(), reach: None };
    let launch = Launch { program: "/bin/true".into(), directory: "/".into(), ..Launch::default() };
    let seconds = best(TURNS, || {
        starts(|| Ok(command(&confinement::confined(&launch, &confinement, &place, Arc::new(|_| {}))?)))
    })?;
    Ok(Some(seconds))
}

/// The mean of some, one after the other, with all that is prepared for one.
fn starts(command: impl Fn() -> Result<Command>) -> Result<f64> {
    let mut all = 0.0;
    for _ in 0..STARTS {
        let begun = std::time::Instant::now();
        let status = command()?.stdin(Stdio::null()).status()?;
        all += begun.elapsed().as_secs_f64();
        if !status.success() {
            return Err(format!("a confined /bin/true ended with {status}").into());
        }
    }
    Ok(all / STARTS as f64)
}

fn command(confined: &Confined) -> Command {
    let Launch { program, args, env, directory, .. } = &confined.launch;
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env.iter()).current_dir(directory);
    command
}

fn mounts() -> Vec<Mount> {
    let mount = |path: &str, access| Mount { path: path.to_owned(), access };
    let system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc"];
    let read = system.into_iter().map(|path| mount(path, Access::Read));
    read.chain([mount("/etc/shadow", Access::Hidden), mount("/tmp", Access::Fresh)]).collect()
}

/// What a client inside gets through its proxy.
fn carried(folder: &Path) -> Result<Proxy> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || answer(client));
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _entered = runtime.enter();
    let place = Place::new(folder, folder.join("place-proxy"))?;
    let rule = HostRule::parse(&format!("localhost:{port}")).ok_or("no rule")?;
    let confinement = Confinement { mounts: mounts(), reach: Some(vec![rule]) };
    let fetch = |path: &str| -> Result<f64> {
        let url = format!("http://localhost:{port}{path}");
        // The port of a service is listened at inside, too; what is asked for by name goes to the proxy.
        let args = ["-s", "--fail", "--noproxy", "", "-o", "/dev/null", &url];
        let launch = Launch {
            program: "/usr/bin/curl".into(),
            args: args.map(Into::into).into(),
            directory: "/".into(),
            ..Launch::default()
        };
        let confined = confinement::confined(&launch, &confinement, &place, Arc::new(|_| {}))?;
        timed(&mut command(&confined))
    };
    let begun = best(TURNS, || fetch("/small"))?;
    let bytes = best(TURNS, || fetch("/large"))? - begun;
    let connection =
        (best(TURNS, || fetch(&format!("/small?[1-{CONNECTIONS}]")))? - begun) / CONNECTIONS as f64;
    Ok(Proxy { bytes, connection })
}

/// Each connection is for one request.
fn answer(mut client: TcpStream) -> std::io::Result<()> {
    let mut asked = String::new();
    let mut lines = BufReader::new(client.try_clone()?);
    lines.read_line(&mut asked)?;
    let mut line = String::new();
    while lines.read_line(&mut line)? > 2 {
        line.clear();
    }
    let length = if asked.contains("/large") { BYTES } else { 2 };
    write!(client, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    let chunk = vec![b'x'; length.min(256 * 1024)];
    (0..length / chunk.len()).try_for_each(|_| client.write_all(&chunk))
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    const PER_START: f64 = 0.010;
    const PER_SECOND: f64 = 200e6;
    const PER_CONNECTION: f64 = 0.001;
    let tiers = [("bwrap", figures.bwrap), ("landlock", figures.landlock)];
    let starts = tiers.into_iter().filter_map(|(tier, seconds)| {
        let more = (seconds? - figures.plain).max(0.0);
        Some(below(
            format!("a start by {tier}, beyond a plain one ({})", time(figures.plain)),
            more,
            PER_START,
            time,
        ))
    });
    let proxy = figures.proxy.iter().flat_map(|Proxy { bytes, connection }| {
        let speed = BYTES as f64 / bytes;
        let shown = |speed: f64| format!("{:.0} MB/s", speed / 1e6);
        let through = Goal {
            what: "a download by a confined program, through its proxy".to_owned(),
            limit: format!("≥ {}", shown(PER_SECOND)),
            measured: shown(speed),
            met: speed >= PER_SECOND,
        };
        let each = "a connection by a confined program, through its proxy, with its answer".to_owned();
        [through, below(each, *connection, PER_CONNECTION, time)]
    });
    starts.chain(proxy).chain(hogs::goals(&figures.hogs)).collect()
}
