//! A control group of our own from systemd: a scope that is ours to divide, into which it moves this very process.
//!
//! A terminal's group is shared with the shell in it, and that of a session belongs to root; neither can be divided. systemd
//! makes a scope on request, for ordinary users by their own manager. With the last session of a user who does not linger
//! that manager ends, and what is in its scopes with it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::super::{children, control_group, run_own_within};

/// How long systemd may take. It does it in milliseconds.
const LIMIT: Duration = Duration::from_secs(3);

pub(super) fn has_systemd() -> bool {
    Path::new("/run/systemd/system").exists()
}

/// Why not, where that cannot be had.
pub(super) fn enter() -> Result<(), String> {
    if !has_systemd() {
        return Err("there is no systemd that would make one".to_owned());
    }
    let here = control_group::current().ok_or("there are no control groups")?;
    if control_group::is_in_anothers(&here) {
        return Err("this process is in a control group that a conductor has made".to_owned());
    }
    let name = format!("conductor-{}.scope", children::us());
    ask(&name)?;
    let begun = Instant::now();
    let is_there = || control_group::current().is_some_and(|group| group.ends_with(&name));
    while !is_there() {
        if begun.elapsed() > LIMIT {
            return Err(format!("systemd does not start {name}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn ask(name: &str) -> Result<(), String> {
    let manager = if rustix::process::geteuid().is_root() { "--system" } else { "--user" };
    let us = std::process::id().to_string();
    let mut command = Command::new("busctl");
    command.args([manager, "--quiet", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1"]);
    command.args([
        "org.freedesktop.systemd1.Manager",
        "StartTransientUnit",
        "ssa(sv)a(sa(sv))",
        name,
        "fail",
    ]);
    command.args(["4", "Description", "s", "Conductor, a run with limits", "Delegate", "b", "true"]);
    command.args(["CollectMode", "s", "inactive-or-failed", "PIDs", "au", "1", &us, "0"]);
    let failed = |why: &str| Err(format!("systemd makes no scope ({why})"));
    match run_own_within(&mut command, LIMIT) {
        Ok(Some(output)) if output.status.success() => Ok(()),
        Ok(Some(output)) => {
            let said = String::from_utf8_lossy(&output.stderr);
            failed(said.lines().last().unwrap_or("busctl says nothing"))
        }
        Ok(None) => failed("busctl does not come to an end"),
        Err(error) => failed(&format!("busctl: {error}")),
    }
}
