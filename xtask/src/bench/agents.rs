//! What it costs to listen: how fast Claude's output is taken in, and what many agents at once take of the coordinator.

use std::io::{BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use conductor_engine::worker::overhear;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use super::report::{Goal, below};
use super::scratch::{Scratch, conductor};
use super::{AGENT, graph::thousands};
use crate::Result;
use crate::steps::root;

pub(super) const TITLE: &str = "Listening to agents";

const AT_ONCE: usize = 50;
const EVENTS_PER_SECOND: u32 = 50;
const SECONDS: u32 = 10;
const TURNS: usize = 3;

/// From when to when the coordinator's processor time is taken: all agents are at work by then, and none has ended.
const FROM: Duration = Duration::from_secs(3);
const TO: Duration = Duration::from_secs(9);

pub(super) struct Figures {
    /// Of recorded output.
    megabytes: usize,
    /// Of processor time, the best of some turns: other load on the machine does not count.
    megabytes_per_second: f64,
    /// What the coordinator holds more for each further agent, in KiB.
    memory: f64,
    /// What it takes of a core for each agent.
    share: f64,
}

pub(super) fn measure(quick: bool, scratch: &mut Scratch) -> Result<Figures> {
    eprintln!("measuring what it costs to listen to agents");
    let megabytes = if quick { 20 } else { 200 };
    let recording = recording()?;
    let times = (megabytes << 20) / recording.len();
    let heard = (times * recording.len()) as f64 / 1e6;
    let mut megabytes_per_second: f64 = 0.0;
    for _ in 0..TURNS {
        let took = overhear(&scratch.directory()?, &recording, times, processor_time)?;
        megabytes_per_second = megabytes_per_second.max(heard / took.as_secs_f64());
    }
    let (one, _) = load(1, &scratch.directory()?)?;
    let (many, seconds) = load(AT_ONCE, &scratch.directory()?)?;
    Ok(Figures {
        megabytes,
        megabytes_per_second,
        memory: (many as f64 - one as f64) / (AT_ONCE - 1) as f64,
        share: seconds / (TO - FROM).as_secs_f64() / AT_ONCE as f64,
    })
}

/// What this process has used so far.
fn processor_time() -> Duration {
    let micros = getrusage(UsageWho::RUSAGE_SELF)
        .map_or(0, |used| used.user_time().num_microseconds() + used.system_time().num_microseconds());
    Duration::from_micros(micros.try_into().unwrap_or(0))
}

/// Everything that was ever recorded of Claude, in one go.
fn recording() -> Result<Vec<u8>> {
    let mut files: Vec<_> = std::fs::read_dir(root().join("crates/engine/tests/samples/claude"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.sort();
    let mut bytes = Vec::new();
    for file in files {
        bytes.extend(std::fs::read(file)?);
        if bytes.last() != Some(&b'\n') {
            bytes.push(b'\n');
        }
    }
    Ok(bytes)
}

/// Runs so many agents at once: the most memory the coordinator held, in KiB, and its processor time in between.
fn load(agents: usize, directory: &Path) -> Result<(u64, f64)> {
    let program = directory.join("conductor-agent-bench");
    std::fs::write(&program, format!("#!/bin/sh\nexec '{}' {AGENT}\n", std::env::current_exe()?.display()))?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let mut tasks = String::from("tasks:\n");
    for agent in 0..agents {
        tasks += &format!("  - {{ id: t{agent}, prompt: talk, agent: bench, changes: optional }}\n");
    }
    std::fs::write(directory.join("tasks.yaml"), tasks)?;
    let path = format!("{}:{}", directory.display(), std::env::var("PATH")?);
    let mut command = conductor(directory);
    command.env("PATH", path).args([
        "run",
        "--sandbox",
        "off",
        "--isolation",
        "none",
        "tasks.yaml",
        "--parallel",
    ]);
    command.arg(agents.to_string()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    watch(command.spawn()?)
}

fn watch(mut child: Child) -> Result<(u64, f64)> {
    let begun = Instant::now();
    let (mut memory, mut from, mut to) = (0, None, 0.0);
    loop {
        if let Some(status) = child.try_wait()? {
            let from = from.filter(|_| status.success()).ok_or("the agents did not do their work")?;
            return Ok((memory, to - from));
        }
        let folder = Path::new("/proc").join(child.id().to_string());
        // It may end while it is looked at.
        if let (Ok(held), Ok(spent)) = (resident(&folder), spent(&folder)) {
            memory = memory.max(held);
            if begun.elapsed() >= FROM {
                from.get_or_insert(spent);
            }
            if begun.elapsed() <= TO {
                to = spent;
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn resident(folder: &Path) -> Result<u64> {
    let status = std::fs::read_to_string(folder.join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Processor time of its own, in seconds; what it started and waited for is counted elsewhere.
pub(super) fn spent(folder: &Path) -> Result<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string(folder.join("stat"))?;
    let (_, fields) = stat.rsplit_once(')').ok_or("no end of the name")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok());
    let (user, system) = number(11).zip(number(12)).ok_or("no times")?;
    Ok((user + system) / TICKS_PER_SECOND)
}

/// An agent that talks as much as a busy one does, and for a known time.
pub(crate) fn play_agent() -> Result {
    let mut task = String::new();
    std::io::stdin().lock().read_line(&mut task)?;
    let mut out = std::io::stdout().lock();
    let words = "I look at the next file, and then at the one after it, and change what has to be changed. "
        .repeat(4);
    let begun = Instant::now();
    for event in 0..EVENTS_PER_SECOND * SECONDS {
        match event % 10 {
            0 => writeln!(
                out,
                r#"{{"type":"usage","model":"claude-opus-5-5","input":1200,"output":80,"turns":1}}"#
            )?,
            1..4 => writeln!(out, r#"{{"type":"tool","name":"edit","text":"src/file_{event}.rs"}}"#)?,
            _ => writeln!(out, r#"{{"type":"text","text":"{words}"}}"#)?,
        }
        let due = Duration::from_secs(1) * (event + 1) / EVENTS_PER_SECOND;
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
    }
    writeln!(out, r#"{{"type":"result","ok":true,"text":"done"}}"#)?;
    Ok(())
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let speed = figures.megabytes_per_second;
    vec![
        Goal {
            what: "taking in what Claude says, by processor time".to_owned(),
            limit: "≥ 200 MB/s".to_owned(),
            measured: format!("{speed:.0} MB/s"),
            met: speed >= 200.0,
        },
        below(
            format!("memory for each of {AT_ONCE} agents at once"),
            figures.memory,
            3.0 * 1024.0,
            mebibytes,
        ),
        below("of a core for each of them".to_owned(), figures.share, 0.01, percent),
    ]
}

pub(super) fn table(figures: &Figures) -> String {
    format!(
        "| what | figure |\n|---|--:|\n\
         | {} MiB of Claude's recorded output, by processor time | {:.0} MB/s |\n\
         | {AT_ONCE} agents at once, {} events a second in all: memory of the coordinator for each | {} |\n\
         | its processor time for each, of a core | {} |\n",
        figures.megabytes,
        figures.megabytes_per_second,
        thousands(AT_ONCE * EVENTS_PER_SECOND as usize),
        mebibytes(figures.memory),
        percent(figures.share),
    )
}

fn mebibytes(kib: f64) -> String {
    format!("{:.2} MiB", kib / 1024.0)
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
