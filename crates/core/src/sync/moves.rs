//! What is to be done about one run: pushed, pulled, taken up; or why not.

use thiserror::Error;

use super::claim::{Claim, Machine, NotOurs};
use super::lines::Relation;
use crate::values::ids::RunId;
use crate::values::units::Timestamp;

/// A run as it is on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Local<'a> {
    pub run: &'a RunId,
    pub us: &'a Machine,
    /// The number of its last event.
    pub events: u64,
    /// Whether a coordinator drives it right now.
    pub is_active: bool,
}

/// The same run as it is at the remote.
#[derive(Debug, Clone, Copy)]
pub struct There<'a> {
    /// How this machine's log stands to the remote's.
    pub relation: Relation,
    pub events: u64,
    /// Who pushed it last.
    pub from: &'a Machine,
    pub claim: Option<&'a Claim>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "run {run} has gone on in two places since event {after}: its log here ends at event {here}, at the remote at event \
     {there}, pushed by {from}"
)]
pub struct Parted {
    pub run: RunId,
    pub after: u64,
    pub here: u64,
    pub there: u64,
    pub from: Machine,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    #[error(transparent)]
    Parted(#[from] Parted),
    #[error("run {run} has gone on elsewhere: the remote has {more} more events, pushed by {from}")]
    Behind { run: RunId, more: u64, from: Machine },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Push {
    /// The remote does not have it.
    New,
    /// The remote has a part of it.
    More(u64),
    /// Its log is there, and something else is not as it should be: who can read it, the claim, transcripts.
    Renew,
    /// The remote has all of it.
    Nothing,
    /// The remote has more of it.
    Behind(u64),
}

/// What a push does about a run. `there` is nothing where the remote does not have it; `is_settled` says whether all but
/// the log is at the remote as it is to be.
pub fn push(local: Local<'_>, there: Option<There<'_>>, is_settled: bool) -> Result<Push, Refused> {
    let Some(There { relation, events, from, claim }) = there else { return Ok(Push::New) };
    match relation {
        // What came back to us is no reason to complain that it is another's.
        Relation::Behind(more) => return Ok(Push::Behind(more)),
        Relation::Same if !is_ours_or_free(claim, local.us) => return Ok(Push::Nothing),
        _ => check_claim(local, claim)?,
    }
    match relation {
        Relation::Ahead(more) => Ok(Push::More(more)),
        Relation::Same if is_settled => Ok(Push::Nothing),
        Relation::Same => Ok(Push::Renew),
        Relation::Behind(more) => Ok(Push::Behind(more)),
        Relation::Parted { after } => Err(parted(local, after, events, from).into()),
    }
}

/// The claim that a push leaves: an active run is ours, and is free again with the first push after its coordinator's end.
pub fn claim_after_push(local: Local<'_>, claim: Option<&Claim>, now: Timestamp) -> Option<Claim> {
    match claim {
        Some(claim) if !claim.while_active => Some(claim.clone()),
        Some(claim) if local.is_active => Some(claim.clone()),
        _ => local.is_active.then(|| Claim { machine: local.us.clone(), since: now, while_active: true }),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pull {
    /// This machine does not have it.
    New,
    /// It is lengthened by so many events.
    More(u64),
    /// Its log is here, and what belongs to it is not: summary, sessions, transcripts.
    Renew,
    /// All of it is here.
    Nothing,
    /// A coordinator drives it here: it is not touched.
    Active,
}

/// What this machine has of a run beside its log: summary, sessions, transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// All that was at the remote when it was last pushed.
    Whole,
    /// The remote has it anew, such as with transcripts.
    Renewed,
    /// A pull was ended before it had stored it.
    Unfinished,
}

/// What a pull does about a run; `here` is nothing where this machine does not have it.
pub fn pull(here: Option<(Local<'_>, There<'_>, Beside)>) -> Result<Pull, Refused> {
    let Some((local, There { relation, events, from, .. }, beside)) = here else { return Ok(Pull::New) };
    match (relation, beside) {
        (Relation::Parted { after }, _) => Err(parted(local, after, events, from).into()),
        // Where this machine has gone on, what belongs to an older log must not replace its own.
        (Relation::Same, Beside::Whole) | (Relation::Ahead(_), Beside::Whole | Beside::Renewed) => {
            Ok(Pull::Nothing)
        }
        _ if local.is_active => Ok(Pull::Active),
        (Relation::Behind(more), _) => Ok(Pull::More(more)),
        _ => Ok(Pull::Renew),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakeUp {
    /// It is to be claimed.
    Claim,
    /// It is ours already.
    Ours,
}

/// Whether a run may be gone on with here.
pub fn take_up(local: Local<'_>, there: There<'_>) -> Result<TakeUp, Refused> {
    let There { relation, events, from, claim } = there;
    check_claim(local, claim)?;
    match relation {
        Relation::Behind(more) => Err(Refused::Behind { run: local.run.clone(), more, from: from.clone() }),
        Relation::Parted { after } => Err(parted(local, after, events, from).into()),
        Relation::Same | Relation::Ahead(_) => Ok(if claim.is_some() { TakeUp::Ours } else { TakeUp::Claim }),
    }
}

fn is_ours_or_free(claim: Option<&Claim>, us: &Machine) -> bool {
    claim.is_none_or(|claim| claim.is_of(us))
}

fn check_claim(local: Local<'_>, claim: Option<&Claim>) -> Result<(), NotOurs> {
    match claim.filter(|claim| !claim.is_of(local.us)) {
        Some(Claim { machine, since, .. }) => {
            Err(NotOurs { run: local.run.clone(), holder: machine.clone(), since: *since })
        }
        None => Ok(()),
    }
}

fn parted(local: Local<'_>, after: u64, there: u64, from: &Machine) -> Parted {
    Parted { run: local.run.clone(), after, here: local.events, there, from: from.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(id: &str) -> Machine {
        Machine { id: id.to_owned(), name: format!("host-{id}") }
    }

    fn claim(id: &str, while_active: bool) -> Claim {
        Claim { machine: machine(id), since: Timestamp(5), while_active }
    }

    /// With this machine's log at event 9.
    fn with<T>(is_active: bool, decide: impl FnOnce(Local<'_>) -> T) -> T {
        let (run, us) = (RunId::parse("r1").unwrap(), machine("us"));
        decide(Local { run: &run, us: &us, events: 9, is_active })
    }

    fn pushed(relation: Relation, claim: Option<&Claim>, is_settled: bool) -> Result<Push, String> {
        let from = machine("b");
        let there = There { relation, events: 7, from: &from, claim };
        with(false, |local| push(local, Some(there), is_settled)).map_err(|refused| refused.to_string())
    }

    #[test]
    fn a_push_sends_what_the_remote_lacks_and_never_over_what_it_has() {
        assert_eq!(with(false, |local| push(local, None, false)), Ok(Push::New));
        assert_eq!(pushed(Relation::Ahead(2), None, true), Ok(Push::More(2)));
        assert_eq!(pushed(Relation::Same, None, true), Ok(Push::Nothing));
        assert_eq!(pushed(Relation::Same, None, false), Ok(Push::Renew));
        assert_eq!(pushed(Relation::Behind(3), None, false), Ok(Push::Behind(3)));
        let told = pushed(Relation::Parted { after: 5 }, None, true).unwrap_err();
        assert!(
            told.contains("since event 5") && told.contains("ends at event 9, at the remote at event 7"),
            "{told}"
        );
    }

    #[test]
    fn what_another_machine_has_claimed_is_not_pushed() {
        let (other, ours) = (claim("b", false), claim("us", false));
        let told = pushed(Relation::Ahead(1), Some(&other), true).unwrap_err();
        assert_eq!(told, "run r1 is claimed by host-b (b)");
        assert_eq!(pushed(Relation::Ahead(1), Some(&ours), true), Ok(Push::More(1)));
        assert_eq!(
            pushed(Relation::Same, Some(&other), false),
            Ok(Push::Nothing),
            "there is nothing of ours to send"
        );
        assert_eq!(pushed(Relation::Behind(1), Some(&other), true), Ok(Push::Behind(1)));
    }

    #[test]
    fn an_active_run_is_claimed_by_its_push_and_free_after_the_next() {
        let now = Timestamp(11);
        let active = with(true, |local| claim_after_push(local, None, now));
        assert_eq!(active, Some(Claim { machine: machine("us"), since: now, while_active: true }));
        assert_eq!(
            with(true, |local| claim_after_push(local, active.as_ref(), Timestamp(12))),
            active,
            "from when it began"
        );
        assert_eq!(with(false, |local| claim_after_push(local, active.as_ref(), now)), None);
        let kept = Some(claim("us", false));
        assert_eq!(
            with(false, |local| claim_after_push(local, kept.as_ref(), now)),
            kept,
            "until it is released"
        );
    }

    #[test]
    fn a_pull_lengthens_what_is_not_active_and_nothing_else() {
        let from = machine("b");
        let pulled = |relation, is_active| {
            let there = There { relation, events: 12, from: &from, claim: None };
            with(is_active, |local| pull(Some((local, there, Beside::Whole))))
                .map_err(|refused| refused.to_string())
        };
        assert_eq!(pull(None), Ok(Pull::New));
        assert_eq!(pulled(Relation::Behind(3), false), Ok(Pull::More(3)));
        assert_eq!(pulled(Relation::Behind(3), true), Ok(Pull::Active));
        assert_eq!(pulled(Relation::Same, false), Ok(Pull::Nothing));
        assert_eq!(pulled(Relation::Ahead(1), true), Ok(Pull::Nothing));
        let told = pulled(Relation::Parted { after: 4 }, true).unwrap_err();
        assert!(told.contains("ends at event 9, at the remote at event 12, pushed by host-b"), "{told}");
    }

    #[test]
    fn what_belongs_to_a_log_is_pulled_where_only_the_log_is_here() {
        let from = machine("b");
        let pulled = |relation, beside, is_active| {
            let there = There { relation, events: 9, from: &from, claim: None };
            with(is_active, |local| pull(Some((local, there, beside)))).unwrap()
        };
        assert_eq!(pulled(Relation::Same, Beside::Renewed, false), Pull::Renew);
        assert_eq!(pulled(Relation::Same, Beside::Unfinished, false), Pull::Renew);
        assert_eq!(pulled(Relation::Same, Beside::Renewed, true), Pull::Active);
        assert_eq!(pulled(Relation::Ahead(1), Beside::Renewed, false), Pull::Nothing, "ours is newer");
        assert_eq!(pulled(Relation::Ahead(1), Beside::Unfinished, false), Pull::Renew);
        assert_eq!(pulled(Relation::Behind(1), Beside::Unfinished, false), Pull::More(1));
    }

    #[test]
    fn a_run_is_taken_up_where_its_whole_log_is_and_by_one_machine() {
        let from = machine("b");
        let taken = |relation, claim: Option<&Claim>| {
            let there = There { relation, events: 12, from: &from, claim };
            with(false, |local| take_up(local, there)).map_err(|refused| refused.to_string())
        };
        assert_eq!(taken(Relation::Same, None), Ok(TakeUp::Claim));
        assert_eq!(taken(Relation::Ahead(2), Some(&claim("us", false))), Ok(TakeUp::Ours));
        assert!(taken(Relation::Same, Some(&claim("b", true))).unwrap_err().contains("claimed by host-b"));
        assert!(taken(Relation::Behind(2), None).unwrap_err().contains("2 more events, pushed by host-b"));
        assert!(taken(Relation::Parted { after: 1 }, None).unwrap_err().contains("since event 1"));
    }
}
