//! What a session does: it stands at a few steps, works, and pushes a branch.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Session, Shared};

const STEPS: [(&str, &str); 4] = [
    ("container", "Starting container"),
    ("clone", "Cloning repository"),
    ("setup", "Running setup script"),
    ("start", "Starting Claude"),
];
const STEP: Duration = Duration::from_millis(50);
/// No test lasts so long.
const FOR_EVER: Duration = Duration::from_secs(600);

pub(super) fn session(shared: &Shared, session: &Session) {
    for (step, label) in STEPS {
        shared.change(&session.id, |session| session.label = label.to_owned());
        sleep(STEP);
        if shared.inner().faults.hang_at.as_deref() == Some(step) {
            wait_for_load(shared, &session.id);
        }
    }
    let say = |label: &str, row: &str| {
        shared.change(&session.id, |session| {
            session.label = label.to_owned();
            session.rows.push(row.to_owned());
        });
    };
    say("Thinking", &session.prompt);
    let work = shared.inner().faults.work;
    let deadline = Instant::now() + work;
    let is_stopped = || shared.inner().sessions.iter().any(|other| other.id == session.id && other.stopped);
    while Instant::now() < deadline {
        if is_stopped() {
            return say("Idle", "Stopped by the user");
        }
        sleep(STEP);
    }
    if session.prompt.contains("only pretend") {
        say("Idle", "All done!");
        return shared.change(&session.id, |session| session.offers_pull_request = true);
    }
    match push(shared, session) {
        Ok(branch) => {
            say("Idle", &format!("Pushed {branch}"));
            shared.change(&session.id, |session| {
                session.pushed = Some(branch);
                session.offers_pull_request = true;
            });
        }
        Err(why) => say("Session failed", &why),
    }
}

/// A hang ends when the page is loaded again.
fn wait_for_load(shared: &Shared, id: &str) {
    let loads =
        || shared.inner().sessions.iter().find(|session| session.id == id).map_or(0, |session| session.loads);
    let (before, deadline) = (loads(), Instant::now() + FOR_EVER);
    while (loads() == before || shared.inner().faults.hangs_for_good) && Instant::now() < deadline {
        sleep(STEP);
    }
}

fn push(shared: &Shared, session: &Session) -> Result<String, String> {
    let bare = shared.repositories.get(&session.repository).ok_or("no such repository")?;
    let folder = std::env::temp_dir().join(format!("site-{}-{}", std::process::id(), session.id));
    let _ = fs::remove_dir_all(&folder);
    let pushed = push_from(&folder, bare, session);
    let _ = fs::remove_dir_all(&folder);
    pushed
}

fn push_from(folder: &Path, bare: &Path, session: &Session) -> Result<String, String> {
    let said = |error: std::io::Error| error.to_string();
    let (from, to) = (bare.to_string_lossy(), folder.to_string_lossy());
    git(Path::new("/"), &["clone", "--quiet", "--branch", &session.branch, &from, &to])?;
    let mut is_changed = false;
    for line in session.prompt.lines() {
        let Some((path, text)) = line.trim().strip_prefix("Write ").and_then(|rest| rest.split_once(": "))
        else {
            continue;
        };
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(said)?;
        }
        fs::write(file, format!("{text}\n")).map_err(said)?;
        is_changed = true;
    }
    if !is_changed {
        fs::write(folder.join(format!("{}.txt", session.id)), "done\n").map_err(said)?;
    }
    let branch = format!("claude/do-it-{}", session.id.to_lowercase());
    git(folder, &["add", "--all"])?;
    git(
        folder,
        &["-c", "user.name=Agent", "-c", "user.email=agent@localhost", "commit", "--quiet", "-m", "Do it"],
    )?;
    git(folder, &["push", "--quiet", "origin", &format!("HEAD:refs/heads/{branch}")])?;
    Ok(branch)
}

pub(super) fn branches(bare: &Path) -> Vec<String> {
    let listed = git(bare, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]).unwrap_or_default();
    listed.lines().map(str::to_owned).collect()
}

fn git(at: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.current_dir(at).args(words).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
