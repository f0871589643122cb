//! An agent that misbehaves on request, for tests: each step is a word with its arguments, steps are parted by the word
//! `then`, as in `fake-agent say hello then sleep 0.5 then exit 3`.
//!
//! It is built with the tests and never installed. What needs a system call that Rust has no safe form of (sessions,
//! ignored signals) is left to `setsid` and `sh`.

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{self, Command};
use std::thread;
use std::time::Duration;

type Done = Result<(), Box<dyn Error>>;

fn main() -> Done {
    let words: Vec<String> = env::args().skip(1).collect();
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let end = rest.iter().position(|word| word == "then").unwrap_or(rest.len());
        let (step, after) = rest.split_at(end);
        rest = after.get(1..).unwrap_or_default();
        perform(step, rest)?;
    }
    Ok(())
}

fn perform(step: &[String], rest: &[String]) -> Done {
    let words: Vec<&str> = step.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["exit", code] => process::exit(code.parse()?),
        ["sleep", seconds] => thread::sleep(Duration::from_secs_f64(seconds.parse()?)),
        ["say", words @ ..] => println!("{}", words.join(" ")),
        ["make", file] => File::create(file).map(drop)?,
        ["await", file] => await_file(Path::new(file)),
        ["touch", file] => touch(file)?,
        ["pid", file] => std::fs::write(file, process::id().to_string())?,
        ["ignore-term"] => return ignore_term(rest),
        ["daemon", file] => daemon(file)?,
        ["grandchildren", number, file] => grandchildren(number.parse()?, file)?,
        ["flood", bytes] => flood(bytes.parse()?)?,
        ["long-line", bytes] => long_line(bytes.parse()?)?,
        ["garbage"] => garbage()?,
        ["hog", bytes] => hog(bytes.parse()?),
        ["fill", file] => fill(file),
        ["open-files", number] => open_files(number.parse()?)?,
        other => return Err(format!("fake-agent cannot {other:?}").into()),
    }
    Ok(())
}

fn await_file(file: &Path) {
    while !file.exists() {
        thread::sleep(Duration::from_millis(5));
    }
}

/// The side effect: one line that says who did it. A single write to a file opened for appending is never torn.
fn touch(file: &str) -> io::Result<()> {
    let task = env::var("CONDUCTOR_TASK").unwrap_or_default();
    let line = format!("{task} {}\n", process::id());
    File::options().create(true).append(true).open(file)?.write_all(line.as_bytes())
}

/// An ignored signal stays ignored through exec, so a shell ignores it and becomes us again.
fn ignore_term(rest: &[String]) -> Done {
    use std::os::unix::process::CommandExt;
    let us = env::current_exe()?;
    Err(Command::new("sh").args(["-c", "trap '' TERM; exec \"$0\" \"$@\""]).arg(us).args(rest).exec().into())
}

/// Leaves a process in a session of its own, with no parent but init or a subreaper, that keeps our output open.
fn daemon(file: &str) -> io::Result<()> {
    let us = env::current_exe()?;
    Command::new("setsid").arg("--fork").arg(us).args(["pid", file, "then", "sleep", "600"]).status()?;
    while std::fs::read_to_string(file).unwrap_or_default().is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Descendants of every kind: children, daemons with sessions of their own, and children's children. The last one
/// writes `file` when all have been started.
fn grandchildren(number: usize, file: &str) -> io::Result<()> {
    for at in 0..number {
        let mut command = match at % 3 {
            0 => Command::new("sleep"),
            1 => Command::new("setsid"),
            _ => Command::new("sh"),
        };
        match at % 3 {
            0 => drop(command.arg("600").spawn()?),
            1 => drop(command.args(["--fork", "sleep", "600"]).status()?),
            _ => drop(command.args(["-c", "sleep 600 & sleep 600"]).spawn()?),
        }
    }
    std::fs::write(file, number.to_string())
}

fn flood(bytes: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(b"the beginning\n")?;
    let block =
        [b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n".as_slice(); 4096].concat();
    let mut left = bytes;
    while left > 0 {
        let now = left.min(block.len() as u64);
        out.write_all(&block[..now as usize])?;
        left -= now;
    }
    out.write_all(b"\nthe end\n")
}

fn long_line(bytes: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let block = vec![b'l'; 1 << 20];
    for _ in 0..bytes >> 20 {
        out.write_all(&block)?;
    }
    out.write_all(b"\n")
}

/// What a terminal must never see raw: a cleared screen, a title, a link, a NUL, broken UTF-8, reversed text.
const GARBAGE: &[u8] = b"before \x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ \0 \xff\xfe\xc3 \xe2\x80\xaetxt.exe \x9b31m after\r\n";

fn garbage() -> io::Result<()> {
    io::stdout().lock().write_all(GARBAGE)?;
    io::stderr().lock().write_all(GARBAGE)
}

/// Takes memory in small steps and touches each page, as a leak would.
fn hog(bytes: usize) {
    const STEP: usize = 1 << 20;
    let mut held = Vec::new();
    for _ in 0..bytes / STEP {
        held.push(vec![1u8; STEP]);
        thread::sleep(Duration::from_micros(200));
    }
    println!("hogged {}", held.len());
}

/// Has so many files open at once.
fn open_files(number: usize) -> Done {
    let opened: Result<Vec<File>, _> = (0..number).map(|_| File::open("/dev/null")).collect();
    println!("opened {}", opened?.len());
    Ok(())
}

/// Writes until the disk is full.
fn fill(file: &str) {
    let block = [0u8; 4096];
    if let Ok(mut file) = File::options().create(true).append(true).open(file) {
        while file.write_all(&block).is_ok() {}
        while file.write_all(&[0]).is_ok() {}
    }
}
