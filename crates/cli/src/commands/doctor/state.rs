//! The state directory: may it be written, is the database whole, what have dead runs left; and the config files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_core::file::Severity;
use conductor_core::plan::subagents::Known;
use conductor_core::values::counted::{counted, size};
use conductor_core::values::ids::RunId;
use conductor_engine::agents::AgentError;
use conductor_engine::agents::subagents;
use conductor_engine::dispatch::broker;
use conductor_engine::git::workspaces::inventory;
use conductor_engine::host::clock::wall;
use conductor_engine::host::home::Home;
use conductor_engine::process::{self, shim};
use conductor_engine::stores::{self, StoredRun, integrity};

use super::{Finding, witnesses};
use crate::settings::agent_findings;
use crate::settings::config::{self, Config};
use crate::settings::diagnostics;
use crate::settings::variables;

pub(super) fn configs() -> Vec<Finding> {
    let configs = match config::read() {
        Ok(configs) => configs,
        Err(cli_error) => return vec![Finding::problem("config", cli_error.message())],
    };
    if configs.is_empty() {
        return vec![Finding::ok("config", "there are no config files; everything is as built in")];
    }
    configs.iter().flat_map(one_config).collect()
}

fn one_config(config: &Config) -> Vec<Finding> {
    let name = &config.place.name;
    let Some(layer) = &config.layer else {
        let first = config.sheet.found.iter().find(|found| found.severity == Severity::Error);
        let told = first.map(|found| {
            let (line, column) =
                config.sheet.source.as_ref().map_or((0, 0), |source| source.position(found.span.start));
            format!("{name}:{line}:{column}: {}", found.message)
        });
        let told = told.unwrap_or_else(|| format!("{name} cannot be read"));
        return vec![
            Finding::problem("config", told).remedy("`conductor config show` shows everything that is wrong"),
        ];
    };
    let mut findings = vec![Finding::ok("config", format!("{name}: {} settings", layer.written().len()))];
    let untrusted = config.sheet.found.iter().find(|found| found.code == "untrusted");
    findings.extend(untrusted.map(|found| {
        Finding::warning("config", format!("{name}: {}", found.message))
            .remedy("see what it does and trust it: conductor trust")
    }));
    findings.extend(absent_agents(config));
    let idle: Vec<String> = layer.idle().map(|one| format!("{} (line {})", one.key, one.line)).collect();
    if !idle.is_empty() {
        findings.push(
            Finding::warning("config", format!("{name}: without effect so far: {}", idle.join(", ")))
                .remedy("it does no harm; leave it, or take it out"),
        );
    }
    let says = |key: &str| layer.written().iter().any(|one| one.key == key);
    if says("execution.max_parallel_tasks") && !says("execution.parallel_mode") && !says("parallel") {
        findings.push(
            Finding::warning(
                "config",
                format!("{name}: max_parallel_tasks counts only with parallel_mode: true"),
            )
            .remedy("write parallel: N instead"),
        );
    }
    findings
}

/// Agents the file names that are not there: what has no agent of its own would not start.
fn absent_agents(config: &Config) -> Vec<Finding> {
    let (Some(source), Ok(here)) = (&config.sheet.source, std::env::current_dir()) else { return Vec::new() };
    let plan = diagnostics::plan_of_good_configs();
    let specialists = Known::new(&plan.subagents, &subagents::found(&here));
    let absent = agent_findings::of_config(&plan, source, |name| specialists.get(name).is_some());
    let finding = |(line, error): &(usize, AgentError)| {
        let told = format!("{}:{line}: {}", config.place.name, agent_findings::told(error));
        let remedy = agent_findings::remedy(&plan, error);
        match error {
            AgentError::Unknown(_) => Finding::problem("config", told).remedy(remedy),
            _ => Finding::warning("config", told).remedy(remedy),
        }
    };
    absent.iter().map(finding).collect()
}

/// How long a queue may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Below this nothing can be worked with, and below that not for long.
const NO_ROOM: u64 = 100 << 20;
const LITTLE_ROOM: u64 = 2 << 30;
/// A state directory as large as this is worth clearing.
const LARGE: u64 = 20 << 30;

pub(super) async fn home(fix: bool) -> Vec<Finding> {
    let home = match Home::open() {
        Ok(home) => home,
        Err(error) => {
            return vec![
                Finding::problem("state", error.to_string())
                    .remedy("set CONDUCTOR_HOME to a directory that can be written"),
            ];
        }
    };
    let mut findings = vec![writable(&home), room(&home)];
    let (database, runs) = database(&home).await;
    findings.push(database);
    findings.extend(queue().await);
    if let Some(runs) = runs {
        if home.store().is_none() {
            findings.extend(witnesses::excesses(&home, fix).await);
        }
        findings.extend(dead_runs(&home, &runs, fix).await);
    }
    findings.extend(trash(&home, fix));
    findings
}

fn writable(home: &Home) -> Finding {
    let shown = home.root().display();
    match tempfile::tempfile_in(home.root()) {
        Err(error) => Finding::problem("state", format!("{shown} cannot be written: {error}"))
            .remedy("make it writable, or set CONDUCTOR_HOME to one that is"),
        Ok(_) => {
            let (bytes, whole) = weigh(home.root());
            let most = if whole { "" } else { "more than " };
            let told = format!("{shown}, {most}{}", size(bytes));
            match bytes > LARGE {
                true => Finding::warning("state", told)
                    .remedy("`conductor worktree clean` takes away what runs have left"),
                false => Finding::ok("state", told),
            }
        }
    }
}

/// How large a folder is, and whether all of it was counted: counting a million files takes too long.
fn weigh(folder: &Path) -> (u64, bool) {
    const ENOUGH: usize = 200_000;
    let (mut open, mut bytes, mut seen) = (vec![folder.to_owned()], 0, 0);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENOUGH {
                return (bytes, false);
            }
            match entry.metadata() {
                Ok(data) if data.is_dir() => open.push(entry.path()),
                Ok(data) => bytes += data.len(),
                Err(_) => {}
            }
        }
    }
    (bytes, true)
}

fn room(home: &Home) -> Finding {
    let Ok(disk) = rustix::fs::statvfs(home.root()) else {
        return Finding::warning("disk", "how much room there is cannot be told");
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let told = format!("{} free", size(free));
    match free {
        0..NO_ROOM => Finding::problem("disk", told).remedy("make room: runs wait while the disk is full"),
        NO_ROOM..LITTLE_ROOM => {
            Finding::warning("disk", told).remedy("make room: every task at work has a checkout")
        }
        _ => Finding::ok("disk", told),
    }
}

async fn database(home: &Home) -> (Finding, Option<Vec<StoredRun>>) {
    if home.store().is_some() {
        return shared_store(home).await;
    }
    let path = home.database();
    if !path.exists() {
        return (witnesses::without_database(home), None);
    }
    let bad = |why: String| {
        let aside = format!("keep {} for an inquiry and move it and conductor.db-wal away", path.display());
        (Finding::problem("database", why).remedy(aside), None)
    };
    match integrity(home).await {
        Ok(wrong) if wrong.is_empty() => {}
        Ok(wrong) => return bad(format!("it is damaged: {}", wrong.join("; "))),
        Err(error) => return bad(error.to_string()),
    }
    let store = match stores::open_to_look(home).await {
        Ok(store) => store,
        Err(error) => return bad(error.to_string()),
    };
    match store.runs().await {
        Ok(runs) => (Finding::ok("database", format!("whole, {}", counted(runs.len(), "run"))), Some(runs)),
        Err(error) => bad(error.to_string()),
    }
}

/// The store that machines share.
async fn shared_store(home: &Home) -> (Finding, Option<Vec<StoredRun>>) {
    let looked = stores::briefly(async || stores::open_to_look(home).await?.runs().await).await;
    match looked {
        Ok(runs) => {
            let elsewhere = runs.iter().filter(|run| run.holder().is_some()).count();
            let told = format!(
                "CONDUCTOR_STORE answers: {}, {elsewhere} driven by other machines",
                counted(runs.len(), "run")
            );
            (Finding::ok("store", told), Some(runs))
        }
        Err(error) => {
            let remedy =
                "see docs/distribution.md; unset CONDUCTOR_STORE to use the database of the state directory";
            (Finding::problem("store", error.to_string()).remedy(remedy), None)
        }
    }
}

/// What carries orders to workers on other machines, where one is named.
async fn queue() -> Option<Finding> {
    let address = variables::standard("CONDUCTOR_QUEUE")?;
    let examined = match broker::open(&address) {
        Ok(broker) => tokio::time::timeout(PATIENCE, broker.examine()).await,
        Err(error) => Ok(Err(error)),
    };
    let why = match examined {
        Ok(Ok(())) => {
            return Some(Finding::ok("queue", "CONDUCTOR_QUEUE answers, and keeps what it is given"));
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "CONDUCTOR_QUEUE does not answer".to_owned(),
    };
    let remedy = "see docs/distribution.md; unset CONDUCTOR_QUEUE to have everything done on this machine";
    Some(Finding::problem("queue", why).remedy(remedy))
}

/// What runs that are not active have left.
async fn dead_runs(home: &Home, stored: &[StoredRun], fix: bool) -> Vec<Finding> {
    let dead: Vec<RunId> = home.runs().into_iter().filter(|run| !home.is_live(run)).collect();
    let is_over = |run: &RunId| stored.iter().any(|one| one.id == *run && one.is_over());
    let is_known = |run: &RunId| stored.iter().any(|one| one.id == *run);
    let mut findings = Vec::new();
    let sockets: Vec<PathBuf> =
        dead.iter().map(|run| home.run(run).join("control")).filter(|socket| socket.exists()).collect();
    findings.extend(removable("sockets", "a socket without a listening process", &sockets, fix));
    // Those of runs that can be resumed hold what tasks wrote last.
    let spools: Vec<PathBuf> =
        dead.iter().filter(|run| is_over(run)).flat_map(|run| spools(&home.run(run))).collect();
    findings.extend(removable("spools", "an output file that was left over", &spools, fix));
    let fate = |run: &RunId| match (is_known(run), is_over(run)) {
        (true, false) => Fate::Resumable,
        (true, true) => Fate::Lost,
        (false, _) if shim::are_of_store(&home.run(run), &home.store_name()) => Fate::Lost,
        (false, _) => Fate::Elsewhere,
    };
    findings.extend(dead.iter().filter_map(|run| agents_alone(home, run, fate(run), fix)));
    let has_shims = |run: &&RunId| !shim::living(&home.run(run)).is_empty();
    let alive: Vec<u32> = dead
        .iter()
        .filter(|run| !has_shims(run))
        .flat_map(|run| process::alive_of(run, &home.run(run)))
        .collect();
    if !alive.is_empty() {
        let pids = alive.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        findings.push(
            Finding::warning("processes", format!("of runs that are not active still run: {pids}"))
                .remedy("resume the run, which ends them first; or end them yourself"),
        );
    }
    findings.extend(left_behind(stored, home));
    findings.extend(workspaces(home, &dead, is_over, fix).await);
    if findings.is_empty() {
        findings.push(Finding::ok("leftovers", "dead runs have left nothing behind"));
    }
    findings
}

/// What becomes of a run that is not active.
enum Fate {
    Resumable,
    /// It is over, or its own store does not know it: nothing will take it up.
    Lost,
    /// Its log is in another store than the one that was asked.
    Elsewhere,
}

/// Agents that work on without a coordinator. Those of a run that nothing will take up again are ended.
fn agents_alone(home: &Home, run: &RunId, fate: Fate, fix: bool) -> Option<Finding> {
    let folder = home.run(run);
    let alone = shim::living(&folder);
    let first = alone.first()?;
    let since = shim::alone(&folder).iter().map(|(_, since)| wall() - *since).max().unwrap_or_default();
    let (count, task, pid) = (counted(alone.len(), "agent"), &first.task, first.agent.pid);
    let told = format!("{count} of run {run} without a coordinator for {since}: {task} (process {pid}), …");
    let told = if alone.len() == 1 { told.trim_end_matches(", …").to_owned() } else { told };
    let finding = Finding::warning("shims", told);
    match fate {
        Fate::Lost => {}
        Fate::Resumable => {
            return Some(finding.remedy(format!("conductor run --resume {run}, which goes on with them")));
        }
        Fate::Elsewhere => {
            let remedy = format!(
                "this store does not know the run: set CONDUCTOR_STORE to its own, then conductor run --resume {run}"
            );
            return Some(finding.remedy(remedy));
        }
    }
    let finding = finding.remedy("nothing will resume the run; `conductor doctor --fix` ends them");
    // Its lock is held meanwhile, so that no coordinator begins.
    let Some(_claim) = fix.then(|| home.claim(run).ok()).flatten() else { return Some(finding) };
    let ended = process::end_leftovers(run, &folder, &[]);
    match shim::living(&folder).is_empty() {
        true => Some(finding.mended(format!("ended {}", counted(ended, "process")))),
        false => Some(finding),
    }
}

fn removable(check: &'static str, what: &str, files: &[PathBuf], fix: bool) -> Option<Finding> {
    let first = files.first()?;
    let others = match files.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let finding = Finding::warning(check, format!("{what}: {}{others}", first.display()))
        .remedy("`conductor doctor --fix` takes it away");
    if !fix {
        return Some(finding);
    }
    let gone = files.iter().filter(|file| fs::remove_file(file).is_ok()).count();
    match gone == files.len() {
        true => Some(finding.mended(format!("took {gone} away"))),
        false => Some(finding),
    }
}

fn spools(run: &Path) -> Vec<PathBuf> {
    let executors = fs::read_dir(run).into_iter().flatten().flatten().map(|entry| entry.path());
    let files =
        executors.filter(|path| path.is_dir()).flat_map(|path| fs::read_dir(path).into_iter().flatten());
    let files = files.flatten().map(|entry| entry.path());
    files
        .filter(|path| {
            let name = path.file_name().unwrap_or_default();
            name == "spool.log" || name == "spool.jsonl"
        })
        .collect()
}

fn is_left(home: &Home, run: &StoredRun) -> bool {
    run.status == "running" && !home.is_live(&run.id) && run.holder().is_none()
}

/// Runs whose coordinator died without a word.
fn left_behind(stored: &[StoredRun], home: &Home) -> Option<Finding> {
    let left: Vec<&StoredRun> = stored.iter().filter(|run| is_left(home, run)).collect();
    let first = left.first()?;
    let others = match left.len() {
        1 => String::new(),
        count => format!(", and {}", counted(count - 1, "other")),
    };
    Some(
        Finding::warning("runs", format!("run {} was cut off{others}", first.id))
            .remedy(format!("conductor run --resume {}", first.id)),
    )
}

async fn workspaces(
    home: &Home,
    dead: &[RunId],
    is_over: impl Fn(&RunId) -> bool,
    fix: bool,
) -> Option<Finding> {
    let over: Vec<RunId> = dead.iter().filter(|run| is_over(run)).cloned().collect();
    let before = inventory(home, &over).ok()?.len();
    if before == 0 {
        return None;
    }
    let finding = Finding::warning("workspaces", format!("{before} of runs that are over"))
        .remedy("conductor worktree clean, in their repository; what is in them is saved first");
    if !fix {
        return Some(finding);
    }
    crate::commands::worktree::clear_after_the_dead(home).await;
    let after = inventory(home, &over).ok()?.len();
    match after < before {
        true if after == 0 => Some(finding.mended(format!("cleared {before}, what was in them is saved"))),
        true => {
            Some(Finding { fixed: Some(format!("cleared {} of this repository", before - after)), ..finding })
        }
        false => Some(finding),
    }
}

fn trash(home: &Home, fix: bool) -> Option<Finding> {
    let trash = process::trash::of(home.root());
    fs::read_dir(&trash).ok()?.next()?.ok()?;
    let finding = Finding::warning("trash", format!("{} has not been emptied", trash.display()))
        .remedy("the next run empties it, or `conductor doctor --fix`");
    if !fix {
        return Some(finding);
    }
    process::trash::empty(home.root());
    Some(finding.mended("it is being emptied"))
}
