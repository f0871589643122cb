//! The server: how soon it answers, what it costs while nothing happens, and what a thousand clients cost.

mod clients;

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::contest::timed;
use super::graph::{Shape, thousands};
use super::report::{Goal, at_least, below, time};
use super::scratch::{Scratch, conductor};
use crate::Result;
use clients::Listened;

const STARTS: usize = 5;
const REQUESTS: usize = 300;
const IDLE_RUNS: usize = 5;
const IDLE_FOR: Duration = Duration::from_secs(10);
const CLIENTS: usize = 1_000;
const LISTENED_FOR: Duration = Duration::from_secs(10);
/// With fewer of them the other figures say nothing.
const EVENTS_A_SECOND: f64 = 1_000.0;
/// Runs with the server and without it, one after the other.
const PAIRS: usize = 10;

pub(super) struct Figures {
    start: Duration,
    /// With five live runs of 20 tasks: memory in KiB, and of a core.
    idle: (u64, f64),
    /// The 99th of a hundred answers about a live run of many tasks.
    answers: Vec<(&'static str, Duration)>,
    tasks: usize,
    listened: Listened,
    /// How many times as long a run of tasks that do nothing takes where the server is there.
    presence: f64,
}

pub(super) fn measure(tasks: usize, scratch: &mut Scratch) -> Result<Figures> {
    eprintln!("measuring the server");
    let start = started(&scratch.directory()?)?;
    let idle = idle(&scratch.directory()?)?;
    let answers = answers(tasks, &scratch.directory()?)?;
    let listened = listened(&scratch.directory()?)?;
    let presence = presence(tasks, scratch)?;
    Ok(Figures { start, idle, answers, tasks, listened, presence })
}

/// Ends what it started, whatever becomes of the measurement.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Served {
    process: Ends,
    address: SocketAddr,
    token: String,
}

fn serve(directory: &Path) -> Result<(Served, Duration)> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let begun = Instant::now();
    let mut command = conductor(directory);
    command.args(["serve", "--bind", &address.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let process = Ends(command.spawn()?);
    while ask(address, "", "/readyz").is_none_or(|(status, _)| status != 200) {
        if begun.elapsed() > Duration::from_secs(20) {
            return Err("the server did not become ready".into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let took = begun.elapsed();
    let token = std::fs::read_to_string(directory.join("home/server/owner-token"))?.trim().to_owned();
    Ok((Served { process, address, token }, took))
}

/// The number of a run's newest event.
fn number(address: SocketAddr, token: &str, run: &str) -> Result<u64> {
    let (_, text) = ask(address, token, &format!("/api/runs/{run}")).ok_or("no answer")?;
    let number = text.split("\"seq\":").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok());
    number.ok_or_else(|| "the run has no number".into())
}

/// The status of an answer, and all of it.
fn ask(address: SocketAddr, token: &str, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let _ = stream.set_nodelay(true);
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let status = std::str::from_utf8(answer.get(9..12)?).ok()?.parse().ok()?;
    Some((status, String::from_utf8_lossy(&answer).into_owned()))
}

fn started(directory: &Path) -> Result<Duration> {
    let mut times = (0..STARTS).map(|_| Ok(serve(directory)?.1)).collect::<Result<Vec<_>>>()?;
    times.sort();
    Ok(times[times.len() / 2])
}

/// A run in the background, and its name.
fn begin(directory: &Path, file: &str, at_once: usize) -> Result<String> {
    let mut command = conductor(directory);
    command.args([
        "run",
        "--isolation",
        "none",
        "--detach",
        "--json",
        file,
        "--parallel",
        &at_once.to_string(),
    ]);
    let said = String::from_utf8(command.stderr(Stdio::null()).output()?.stdout)?;
    let run = said.split("\"run\":").nth(1).and_then(|rest| rest.split('"').nth(1));
    run.map(str::to_owned).ok_or_else(|| format!("no run was started: {said}").into())
}

fn cancel(directory: &Path, run: &str) {
    let mut command = conductor(directory);
    let _ =
        command.args(["cancel", "--all", "--run", run]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let mut command = conductor(directory);
    let _ = command.args(["wait", run]).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn write_tasks(directory: &Path, file: &str, count: usize, command: &str) -> Result {
    let mut text = String::from("tasks:\n");
    for number in 0..count {
        writeln!(text, "  - {{ id: t{number}, run: {command} }}")?;
    }
    Ok(std::fs::write(directory.join(file), text)?)
}

/// Memory in KiB and time on the processor of a process.
fn taken(pid: u32) -> Result<(u64, Duration)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let memory =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or("no stat")?.1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok((memory.unwrap_or(0), Duration::from_millis(ticks * 10)))
}

fn idle(directory: &Path) -> Result<(u64, f64)> {
    let mut runs = Vec::new();
    for number in 0..IDLE_RUNS {
        let file = format!("tasks{number}.yaml");
        write_tasks(directory, &file, 20, "sleep 600")?;
        runs.push(begin(directory, &file, 2)?);
    }
    let (served, _) = serve(directory)?;
    for run in &runs {
        ask(served.address, &served.token, &format!("/api/runs/{run}")).ok_or("no answer")?;
    }
    std::thread::sleep(Duration::from_secs(1));
    let (_, before) = taken(served.process.0.id())?;
    std::thread::sleep(IDLE_FOR);
    let (memory, after) = taken(served.process.0.id())?;
    runs.iter().for_each(|run| cancel(directory, run));
    Ok((memory, (after - before).as_secs_f64() / IDLE_FOR.as_secs_f64()))
}

fn answers(tasks: usize, directory: &Path) -> Result<Vec<(&'static str, Duration)>> {
    write_tasks(directory, "tasks.yaml", tasks, "sleep 0.2")?;
    let run = begin(directory, "tasks.yaml", 8)?;
    let (served, _) = serve(directory)?;
    let mut figures = Vec::new();
    for (name, path) in [("status", ""), ("tasks, 100 a page", "/tasks?limit=100"), ("graph", "/graph")] {
        let path = format!("/api/runs/{run}{path}");
        // The first one reads the whole log.
        ask(served.address, &served.token, &path).ok_or("no answer")?;
        let mut times = Vec::new();
        for _ in 0..REQUESTS {
            let begun = Instant::now();
            let answered = ask(served.address, &served.token, &path);
            times.push(begun.elapsed());
            if answered.is_none_or(|(status, _)| status != 200) {
                return Err(format!("{path} was not answered").into());
            }
        }
        times.sort();
        figures.push((name, times[REQUESTS * 99 / 100]));
    }
    cancel(directory, &run);
    Ok(figures)
}

fn listened(directory: &Path) -> Result<Listened> {
    // A thousand events a second and more, beside clients that take most of the machine: each task has four.
    write_tasks(directory, "tasks.yaml", 20_000, "sleep 0.03")?;
    let (served, _) = serve(directory)?;
    let run = begin(directory, "tasks.yaml", 12)?;
    // Of what has been so far, clients read nothing.
    let known = number(served.address, &served.token, &run)?;
    let path = format!("/api/runs/{run}/ws?since=");
    let asked = clients::Asked { address: served.address, token: &served.token, path: &path, known };
    let memory = || Ok(taken(served.process.0.id())?.0);
    let listened = clients::listen(asked, CLIENTS, LISTENED_FOR, memory);
    cancel(directory, &run);
    listened
}

/// The one in the middle of all pairs. Which of a pair comes first alternates, so that neither has the warmer machine.
fn presence(tasks: usize, scratch: &mut Scratch) -> Result<f64> {
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        let mut seconds = [0.0; 2];
        for served in [pair % 2 == 0, pair % 2 == 1] {
            let directory = scratch.directory()?;
            std::fs::write(directory.join("tasks.yaml"), Shape::Independent(tasks).task_file())?;
            let _server = if served { Some(serve(&directory)?) } else { None };
            let mut command = conductor(&directory);
            command.args(["run", "--isolation", "none", "tasks.yaml", "--parallel", "8"]);
            seconds[usize::from(served)] = timed(&mut command)?;
        }
        ratios.push(seconds[1] / seconds[0]);
    }
    ratios.sort_by(f64::total_cmp);
    Ok((ratios[PAIRS / 2 - 1] + ratios[PAIRS / 2]) / 2.0)
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let mebibytes = |kib: u64| kib as f64 / 1_024.0;
    let megabytes = |amount: f64| format!("{amount:.1} MB");
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let mut goals = vec![
        below("server: start to ready".to_owned(), figures.start.as_secs_f64(), 0.15, time),
        below(
            format!("server: memory with {IDLE_RUNS} live runs of 20 tasks"),
            mebibytes(figures.idle.0),
            40.0,
            megabytes,
        ),
        below(
            format!("server: of a core with {IDLE_RUNS} live runs of 20 tasks"),
            figures.idle.1,
            0.005,
            percent,
        ),
    ];
    for (name, took) in &figures.answers {
        let what = format!("server: {name}, p99, live run of {} tasks", thousands(figures.tasks));
        goals.push(below(what, took.as_secs_f64(), 0.05, time));
    }
    let Listened { p99, rate, beside_stalled, cut_after, memory } = &figures.listened;
    let clients = thousands(CLIENTS);
    let what = format!("server: {clients} WebSocket clients, events to each of them");
    goals.push(at_least(what, *rate, EVENTS_A_SECOND, |rate| format!("{rate:.0} a second")));
    let what =
        format!("server: {clients} WebSocket clients, {rate:.0} events/s, p99 from the event to the client");
    goals.push(below(what, p99.as_secs_f64(), 0.25, time));
    goals.push(below("server: memory with them".to_owned(), mebibytes(*memory), 300.0, megabytes));
    let what = "server: the same beside a client that reads nothing".to_owned();
    goals.push(below(what, *beside_stalled, 1.05, |times| format!("{times:.2} × as long")));
    let what = "server: until a client that reads nothing is cut off".to_owned();
    goals.push(below(what, cut_after.as_secs_f64(), clients::CUT_WITHIN.as_secs_f64(), time));
    let what = format!("server: a run of {} tasks beside it", thousands(figures.tasks));
    goals.push(below(what, figures.presence, 1.02, |times| format!("{times:.3} × as long")));
    goals
}
