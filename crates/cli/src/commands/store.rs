//! `conductor store copy`: the logs of runs moved to another store. Transcripts and workspaces stay where they are: they are
//! the machine's, and no part of any store.

use conductor_core::values::counted::counted;
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::{Home, StoreAddress};
use conductor_engine::runs::archive;
use conductor_engine::stores::moving::{Copied, CopyError, copy};
use conductor_engine::stores::{self, StoredRun, briefly};
use serde_json::{Value, json};

use super::{answer_either, block_on, talk};
use crate::args;
use crate::error::{CliError, Exit};

const SCHEMA: &str = "conductor.store/1";

/// The database of the state directory.
const OWN: &str = "sqlite";

pub(crate) fn run(args: &args::Store) -> Result<Exit, CliError> {
    match args {
        args::Store::Copy(args) => block_on(copy_all(args)),
    }
}

/// What became of a run.
enum Came {
    Copied(Copied),
    /// A process works on it, here or elsewhere; which is said.
    Live(String),
    Failed(CopyError),
}

async fn copy_all(args: &args::StoreCopy) -> Result<Exit, CliError> {
    if args.from == args.to {
        return Err(CliError::new(Exit::Usage, "--from and --to name the same store"));
    }
    let home = Home::open()?;
    let source = home.clone().with_store(address(&args.from)?);
    let from = briefly(|| stores::open_to_look(&source)).await?;
    let mut runs = briefly(|| from.runs()).await?;
    if let Some(word) = &args.run {
        runs = vec![archive::named(&source, &runs, word)?];
    }
    let target = home.clone().with_store(address(&args.to)?);
    let to = briefly(|| stores::open(&target)).await?;
    let mut all = Vec::new();
    // The oldest first, so that they are in the same order there.
    for run in runs.iter().rev() {
        let came = match held(&home, run) {
            Err(by) => Came::Live(by),
            Ok(_claim) => match copy(&*from, &to, run).await {
                Ok(copied) => Came::Copied(copied),
                Err(CopyError::Driven { by, .. }) => Came::Live(by),
                Err(error) => Came::Failed(error),
            },
        };
        if let Came::Live(by) = &came {
            talk(format!("run {} is left out: {by} works on it; copy it when it has ended", run.id));
        }
        if let Came::Failed(error) = &came {
            crate::console::say(format_args!("\x1b[1;31merror\x1b[0m: {error}"));
        }
        all.push((run.id.clone(), came));
    }
    conclude(args, &all)
}

fn conclude(args: &args::StoreCopy, all: &[(RunId, Came)]) -> Result<Exit, CliError> {
    let count = |of: fn(&Came) -> bool| all.iter().filter(|(_, came)| of(came)).count();
    let copied = count(|came| matches!(came, Came::Copied(Copied::Events(_))));
    let known = count(|came| matches!(came, Came::Copied(Copied::WasThere)));
    let failed = count(|came| matches!(came, Came::Failed(_)));
    let live = count(|came| matches!(came, Came::Live(_)));
    let mut words = format!("copied {}, {known} were there already", counted(copied, "run"));
    if live + failed > 0 {
        words += &format!(", {live} active and {failed} that failed were left out");
    }
    let runs: Vec<Value> = all.iter().map(|(run, came)| entry(run, came)).collect();
    answer_either(args.json, &words, SCHEMA, json!({ "runs": runs }))?;
    Ok(match (failed, live) {
        (0, 0) => Exit::Done,
        (0, _) => Exit::StillRunning,
        _ => Exit::Unexpected,
    })
}

fn entry(run: &RunId, came: &Came) -> Value {
    let (state, events, why) = match came {
        Came::Copied(Copied::Events(events)) => ("copied", *events, None),
        Came::Copied(Copied::WasThere) => ("was_there", 0, None),
        Came::Live(by) => ("active", 0, Some(by.clone())),
        Came::Failed(error) => ("failed", 0, Some(error.to_string())),
    };
    json!({ "run": run, "state": state, "events": events, "why": why })
}

/// The lock on the run's folder, so that no run begins to move while it is copied; else the one that works on it.
fn held(home: &Home, run: &StoredRun) -> Result<conductor_engine::host::home::RunClaim, String> {
    match run.holder() {
        Some(machine) => Err(machine.to_owned()),
        None => home.claim(&run.id).map_err(|error| error.to_string()),
    }
}

fn address(word: &str) -> Result<Option<StoreAddress>, CliError> {
    match word {
        OWN => Ok(None),
        address if address.contains("://") => Ok(Some(StoreAddress::new(address))),
        other => Err(CliError::new(Exit::Usage, format!("{other} is no store"))
            .help("say sqlite, or postgres://USER@HOST/DATABASE")),
    }
}
