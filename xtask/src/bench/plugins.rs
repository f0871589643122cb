//! Plugins: how soon one has answered, and how long ten thousand findings take to be read, bounded and printed.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::contest::timed;
use super::report::{Goal, below, time};
use super::scratch::{Scratch, conductor};
use super::single::best;
use crate::Result;

const TURNS: usize = 10;
const FINDINGS: usize = 10_000;

pub(super) struct Figures {
    /// Seconds of the whole command, Conductor's own start included.
    start: f64,
    findings: f64,
}

pub(super) fn measure(scratch: &mut Scratch) -> Result<Figures> {
    let directory = scratch.directory()?;
    let verify = |name: &str| best(TURNS, || timed(conductor(&directory).args(["plugin", "verify", name])));
    verifier(&directory, "none", 0)?;
    verifier(&directory, "many", FINDINGS)?;
    Ok(Figures { start: verify("none")?, findings: verify("many")? })
}

/// A verifier that prints so many findings from a file.
fn verifier(directory: &Path, name: &str, findings: usize) -> Result {
    let plugins = directory.join("home/plugins");
    std::fs::create_dir_all(&plugins)?;
    let mut lines = String::new();
    for at in 1..=findings {
        let _ = writeln!(
            lines,
            "{{\"type\":\"finding\",\"level\":\"warning\",\"file\":\"src/file{at}.rs\",\"line\":{at},\"column\":7,\"code\":\"W1\",\
             \"message\":\"a finding of the usual length, such as linters have\"}}"
        );
    }
    let file = directory.join(format!("{name}.jsonl"));
    std::fs::write(&file, lines)?;
    let hello = r#"{"type":"hello","protocol":1,"version":"1.0","capabilities":["verifier"]}"#;
    let program = plugins.join(format!("conductor-verifier-{name}"));
    let script = format!(
        "#!/bin/sh\necho '{hello}'\nread -r line\ncat {}\necho '{{\"type\":\"done\",\"ok\":true}}'\n",
        file.display()
    );
    std::fs::write(&program, script)?;
    Ok(std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?)
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    vec![
        below(
            "a plugin started and answered, `plugin verify` as a whole".to_owned(),
            figures.start,
            0.05,
            time,
        ),
        below("10,000 findings of a verifier, as a whole".to_owned(), figures.findings, 0.2, time),
    ]
}
