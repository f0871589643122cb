//! Witnesses that contradict the database: those of logs that are not there, and those that say more than theirs hold.

use conductor_core::values::counted::counted;
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::stores::{self, Cause, Excess, witnessed};

use super::Finding;

/// Whether it is in order that there is no database.
pub(super) fn without_database(home: &Home) -> Finding {
    let lost: Vec<RunId> = witnessed(home).collect();
    let Some(first) = lost.first() else {
        return Finding::ok("database", "none yet; the first run makes it");
    };
    let path = home.database();
    let others = match lost.len() {
        1 => String::new(),
        count => format!(" and {}", counted(count - 1, "other")),
    };
    Finding::problem(
        "database",
        format!("{} is missing, but run {first}{others} had been written", path.display()),
    )
    .remedy(format!(
        "bring it back with its -wal file from a backup; to give those runs up: rm -r {}",
        home.root().join("runs").display()
    ))
}

/// Every witness that says more than its log holds; where the log can be taken as whole it is put right.
pub(super) async fn excesses(home: &Home, fix: bool) -> Vec<Finding> {
    match stores::excesses(home).await {
        Ok(found) => found.iter().map(|excess| judged(home, excess, fix)).collect(),
        Err(error) => vec![Finding::problem("witnesses", error.to_string())],
    }
}

fn judged(home: &Home, excess: &Excess, fix: bool) -> Finding {
    let Excess { run, log, witness, cause } = excess;
    let counts = format!("run {run}: its log ends at event {log}, its witness says {witness}");
    let finding = match cause {
        Cause::OfAnotherRun(other) => Finding::problem(
            "witnesses",
            format!(
                "{counts}; event {witness} of run {other} was written in that moment, so the number is that run's \
                 and the log is whole"
            ),
        ),
        Cause::AfterTheEnd => Finding::problem(
            "witnesses",
            format!(
                "{counts}; the log ends with an end of the run, so the witness is wrong, or what was done to the run \
                 after that is lost: nothing on the disk tells which"
            ),
        ),
        Cause::InTheMiddle => Finding::problem(
            "witnesses",
            format!("{counts}; the log ends in the middle of the run, so its last events are lost"),
        ),
    };
    if !excess.is_repairable() {
        let head = home.run(run).join("head");
        return finding.remedy(format!(
            "bring conductor.db and conductor.db-wal back from a backup; to go on from event {log} and do again what \
             came after it: mv {0} {0}.old",
            head.display()
        ));
    }
    match fix {
        false => finding.remedy(
            "`conductor doctor --fix` makes the witness say what the log holds, and keeps the old one",
        ),
        true => repaired(home, excess, finding),
    }
}

fn repaired(home: &Home, excess: &Excess, finding: Finding) -> Finding {
    let done = match home.claim(&excess.run) {
        Ok(_claim) => excess.repair(home).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match done {
        Ok(kept) => finding.mended(format!(
            "the witness says {} now; the old one is kept as {}",
            excess.log,
            kept.display()
        )),
        Err(why) => finding.remedy(format!("it could not be put right: {why}")),
    }
}
