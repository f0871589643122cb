//! `stand-in --script FILE`: the stand-in by itself, to try an agent CLI by hand.

// Printing macros panic where standard output or standard error cannot be written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use conductor_standin::{Limits, Script, StandIn};

const USAGE: &str = "\
usage: stand-in --script [NAME=]FILE … [--port N] [--until-eof]

Serve scripts as a model provider, on 127.0.0.1 only, and print the base URL of each. NAME defaults to the
file's name without its extension. Requests are logged at /log and /log/NAME (?bodies adds their bodies). The
server runs until it is stopped; with --until-eof, also until standard input ends, as when its parent ends.";

#[derive(Default)]
struct Arguments {
    scripts: Vec<(String, PathBuf)>,
    port: u16,
    until_eof: bool,
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)).and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Where it cannot be said, the exit code still says it.
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::from(2)
        }
    }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value\n\n{USAGE}"));
        match word.as_str() {
            "--script" => arguments.scripts.push(script(&value()?)),
            "--port" => arguments.port = value()?.parse().map_err(|_| "--port wants a number".to_owned())?,
            "--until-eof" => arguments.until_eof = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    if arguments.scripts.is_empty() { Err(USAGE.to_owned()) } else { Ok(arguments) }
}

fn script(value: &str) -> (String, PathBuf) {
    if let Some((name, file)) = value.split_once('=') {
        return (name.to_owned(), PathBuf::from(file));
    }
    let file = PathBuf::from(value);
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    (name, file)
}

fn serve(arguments: Arguments) -> Result<(), String> {
    let stand_in = StandIn::with(Limits::default(), arguments.port).map_err(|error| error.to_string())?;
    for (name, file) in arguments.scripts {
        let at_file = |why: String| format!("{}: {why}", file.display());
        let text = std::fs::read_to_string(&file).map_err(|error| at_file(error.to_string()))?;
        let script: Script = serde_json::from_str(&text).map_err(|error| at_file(error.to_string()))?;
        stand_in.script(&name, script);
        writeln!(std::io::stdout(), "{}", stand_in.base_url(&name)).map_err(|error| error.to_string())?;
    }
    if arguments.until_eof {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(|error| error.to_string())?;
        return Ok(());
    }
    loop {
        std::thread::park();
    }
}
