//! What must hold when a round is over, looked up in git, on the disk and among the processes.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Round, acts};
use crate::harness::{Ended, World, leftovers};
use crate::odd::{IGNORED, Place, UNTRACKED};

/// What the user has in their checkout, and does to it meanwhile.
pub(super) struct User {
    files: BTreeMap<String, String>,
    commits: Vec<String>,
    done: usize,
}

impl User {
    pub(super) fn new(world: &World, place: &Place) -> User {
        let kept = ["user.txt", "f.txt", UNTRACKED, IGNORED];
        let read = |name: &str| fs::read_to_string(place.checkout.join(name)).unwrap();
        let files = kept.iter().map(|name| ((*name).to_owned(), read(name))).collect();
        User { files, commits: vec![place.git(world, &["rev-parse", "HEAD"])], done: 0 }
    }

    /// A commit in the very moment in which a run may be bringing its work home. It may be refused by git's own lock.
    pub(super) fn commits(&mut self, world: &World, place: &Place) {
        let args = ["commit", "-q", "--allow-empty", "-m", "the user's own"];
        if place.try_git(world, &deaf(&args)).is_ok() {
            // What was checked out before is an ancestor of it, so that one name stands for all.
            self.commits.push(place.git(world, &["rev-parse", "HEAD"]));
        }
    }

    pub(super) fn edits(&mut self, place: &Place) {
        self.done += 1;
        let text = format!("edited {}\n", self.done);
        place.write("user.txt", &text);
        self.files.insert("user.txt".to_owned(), text);
    }

    pub(super) fn adds_file(&mut self, place: &Place) {
        self.done += 1;
        let (name, text) = (format!("mine-{}.txt", self.done), format!("mine {}\n", self.done));
        place.write(&name, &text);
        self.files.insert(name, text);
    }

    pub(super) fn branches(&mut self, world: &World, place: &Place) {
        self.done += 1;
        let name = format!("users-{}", self.done);
        if place.try_git(world, &deaf(&["branch", &name])).is_ok() {
            self.commits.push(place.git(world, &["rev-parse", &format!("refs/heads/{name}")]));
        }
    }
}

/// How often a run that keeps being left may have to be taken up.
const PATIENCE: usize = 6;

/// By when everything is gone after the end.
const AFTER: Duration = Duration::from_secs(5);

/// Takes a run up until it is over; how often that was.
pub(super) fn finish(world: &World, place: &Place, run: &str, home: bool, first: Ended) -> usize {
    let mut ended = first;
    for taken_up in 0..PATIENCE {
        expect_no_panic(&ended);
        let known = world.try_sql(&format!("SELECT status FROM runs WHERE id = '{run}'"));
        let is_over = matches!(known.as_deref().map(str::trim), Ok("completed" | "failed" | "cancelled"));
        let came_to_its_end = matches!(ended.code, Some(0 | 4 | 9 | 100 | 101));
        if known.is_ok_and(|status| status.is_empty()) || is_over && came_to_its_end {
            return taken_up;
        }
        let mut args = vec!["run", "--resume", run];
        args.extend(if home { &["--merge", "branch"][..] } else { &[] });
        ended = place.start(world, &args).ended();
    }
    panic!("run {run} is not over after {PATIENCE} resumes; last {ended:?}");
}

fn expect_no_panic(ended: &Ended) {
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    // 1 is what no part of the program foresaw.
    assert!(!matches!(ended.code, Some(1 | 70)), "{ended:?}");
}

/// How many tasks have landed.
pub(super) fn check(
    round: &Round,
    world: &World,
    place: &Place,
    run: &str,
    user: &User,
    lay_about: &[String],
) -> usize {
    let at = format!("{round:?}, run {run}");
    expect_users_own(world, place, user, &at);
    expect_whole_checkout(world, place, &at);
    assert!(!world.path(&round.name).join(acts::FIRED).exists(), "a planted program ran in our git: {at}");
    expect_no_processes(round, run, &at);
    let left = place.leftovers(world, run);
    assert!(left.is_empty(), "{left:?} left: {at}");
    // What was thrown away is taken off the disk after the run.
    let patience = Instant::now() + AFTER;
    while !strays(world, run, lay_about).is_empty() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    let strays = strays(world, run, lay_about);
    assert!(strays.is_empty(), "{strays:?} lie about: {at}");
    landed(world, place, run, &at)
}

/// What a run that is over has in its folder, but for the folders of its workers.
const KEPT: [&str; 13] = [
    "lock",
    "made-from",
    "conductor.log",
    "head",
    "baseline",
    "git",
    "exit_code",
    "execution_plan.json",
    "execution_summary.json",
    "orchestrator.log",
    "report.md",
    "report.html",
    "feedback",
];

/// Files and folders in the state directory that only served the run, or that nothing is known of; but for those of runs that
/// were left before.
fn strays(world: &World, run: &str, lay_about: &[String]) -> Vec<String> {
    let is_known = |name: &str| KEPT.contains(&name) || name.starts_with("executor_");
    let of_run = names(world, &format!("runs/{run}")).into_iter().filter(|name| !is_known(name));
    let others = lying_about(world).into_iter().filter(|path| !lay_about.contains(path));
    of_run.chain(others).collect()
}

/// What only serves runs that are not over, whichever they are.
pub(super) fn lying_about(world: &World) -> Vec<String> {
    let below = |folder| names(world, folder).into_iter().map(move |name| format!("{folder}/{name}"));
    ["ports", "trash"].into_iter().flat_map(below).collect()
}

fn names(world: &World, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(world.home().join(folder)).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().display().to_string()).collect()
}

/// Everything the user made or changed is as they left it.
pub(super) fn expect_users_own(world: &World, place: &Place, user: &User, at: &str) {
    for (name, text) in &user.files {
        let now = fs::read_to_string(place.checkout.join(name)).unwrap_or_default();
        assert_eq!(&now, text, "{name} is the user's: {at}");
    }
    for commit in &user.commits {
        let holders = quietly(world, place, &["for-each-ref", "--contains", commit, "--format=%(refname)"]);
        let is_checked_out =
            place.try_git(world, &deaf(&["merge-base", "--is-ancestor", commit, "HEAD"])).is_ok();
        assert!(!holders.is_empty() || is_checked_out, "the user's commit {commit} is gone: {at}");
    }
}

/// Nothing is staged or missing that the user has not staged or removed: the checkout is that of its HEAD.
fn expect_whole_checkout(world: &World, place: &Place, at: &str) {
    let staged = quietly(world, place, &["diff", "--cached", "--name-only"]);
    let strays: Vec<&str> = staged.lines().filter(|name| *name != "staged.txt").collect();
    assert!(strays.is_empty(), "{strays:?} are staged: {at}");
    let missing = quietly(world, place, &["diff", "--name-only", "--diff-filter=D"]);
    assert_eq!(missing, "", "missing in the checkout: {at}");
}

/// The user's git, deaf to what was planted: what would fire here is no fault of ours.
pub(super) fn deaf<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let hooks = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
    let filter = ["-c", "filter.evil.clean=cat", "-c", "filter.evil.smudge=cat"];
    [&hooks[..], &filter[..], args].concat()
}

fn quietly(world: &World, place: &Place, args: &[&str]) -> String {
    place.git(world, &deaf(args))
}

/// Five seconds after the end nothing runs any more, marked or not.
fn expect_no_processes(round: &Round, run: &str, at: &str) {
    let end = Instant::now() + AFTER;
    loop {
        let mut left = leftovers(run);
        left.extend(crate::harness::named_like(&acts::daemon(round.token)));
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "{left:?} still running: {at}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run that was killed before it was recorded has left a folder at most.
fn is_known(world: &World, run: &str) -> bool {
    world
        .try_sql(&format!("SELECT id FROM runs WHERE id = '{run}'"))
        .is_ok_and(|found| !found.trim().is_empty())
}

/// What the summary calls landed is on the branch, byte for byte.
fn landed(world: &World, place: &Place, run: &str, at: &str) -> usize {
    if !is_known(world, run) {
        return 0;
    }
    let path = world.home().join("runs").join(run).join("execution_summary.json");
    let text = fs::read(path).unwrap_or_else(|error| panic!("no summary: {error}: {at}"));
    let summary: Value = serde_json::from_slice(&text).unwrap();
    let lost = summary["ledger"]["lost"].as_array().map_or(0, Vec::len);
    assert_eq!(lost, 0, "the ledger says lost: {summary}: {at}");
    let results = summary["results"].as_array().unwrap().iter();
    let landed = results.filter(|result| result["status"] == "completed" && !result["commit"].is_null());
    let mut count = 0;
    for result in landed {
        let task = result["task_id"].as_str().unwrap();
        let number: usize = task[1..].parse().unwrap();
        let work = place.landed(world, run, &format!("out/{task}.txt"));
        assert_eq!(work.as_deref(), Ok(acts::work(number).trim_end()), "work of {task} is missing: {at}");
        count += 1;
    }
    count
}
