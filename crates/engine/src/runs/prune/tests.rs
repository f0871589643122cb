use std::path::PathBuf;

use super::refs::judge as judge_ref;
use super::*;

fn stored(name: &str, created: i64, status: &str) -> StoredRun {
    let (directory, source, status) = (PathBuf::from("/"), String::new(), status.to_owned());
    let id = RunId::parse(name).unwrap();
    StoredRun { id, directory, source, tasks: 1, status, created: Timestamp(created), shared: None }
}

#[test]
fn runs_are_meant_by_their_age_and_their_number() {
    let check = |older_than: Option<u64>, keep: Option<usize>| {
        let runs = vec![stored("new", 9_000, ""), stored("mid", 5_000, ""), stored("old", 1_000, "")];
        let wanted = Wanted { older_than: older_than.map(Millis), keep, ..Wanted::default() };
        let found = meant(runs, &wanted, Timestamp(10_000));
        found.iter().map(|run| run.id.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(check(Some(5_000), None), "old", "five seconds are not more than five");
    assert_eq!(check(Some(0), None), "new mid old");
    assert_eq!(check(None, Some(1)), "mid old");
    assert_eq!(check(Some(4_000), Some(2)), "old", "both have to be so");
    assert_eq!(check(Some(9_500), Some(0)), "");
    assert!(!Wanted { here: true, force: true, ..Wanted::default() }.names_runs());
    assert!(Wanted { keep: Some(0), ..Wanted::default() }.names_runs());
}

#[test]
fn a_run_stays_for_what_would_be_lost_with_it() {
    let unreadable = || GitError::NoRef("HEAD".to_owned());
    let check = |status: &str, workspaces: io::Result<usize>, branches: Result<usize, GitError>| {
        let why = worth_keeping(&stored("r", 0, status), Left { workspaces, branches, edited: None });
        why.map_or_else(|| "goes".to_owned(), |why| why.to_string())
    };
    for over in ["completed", "failed", "cancelled"] {
        assert_eq!(check(over, Ok(0), Ok(0)), "goes");
    }
    for open in ["running", "stopped"] {
        assert_eq!(check(open, Ok(0), Ok(0)), "it is not done and could be resumed");
    }
    assert_eq!(
        check("completed", Ok(2), Ok(1)),
        "there is work in its workspaces; first: conductor worktree clean r"
    );
    assert_eq!(
        check("running", Ok(0), Ok(1)),
        "there is work on branches of its tasks; first: conductor worktree clean r"
    );
    assert_eq!(
        check("completed", Err(io::ErrorKind::PermissionDenied.into()), Ok(1)),
        "its workspaces cannot be looked at: permission denied"
    );
    assert_eq!(
        check("completed", Ok(1), Err(unreadable())),
        "what there is of it in its repository cannot be read: there is no HEAD"
    );
}

#[test]
fn a_ref_goes_where_one_that_stays_holds_it() {
    const BRANCH: &str = "refs/heads/conductor/r1";
    const RESCUE: &str = "refs/conductor/rescue/r1/a";
    let branches = Wanted { branches: true, refs: true, ..Wanted::default() };
    let refs = Wanted { refs: true, ..Wanted::default() };
    let unreachable = Wanted { unreachable: true, ..branches.clone() };
    let check = |name: &str, holders: &[&str], wanted: &Wanted| {
        let holders = holders.iter().map(|name| (*name).to_owned()).collect();
        let verdict = judge_ref(name.to_owned(), holders, None, wanted);
        (verdict.stays, verdict.held_by)
    };
    let held = |by: &str| (None, Some(by.to_owned()));
    let lost = || (Some(RefStays::Unreachable), None);
    assert_eq!(check(BRANCH, &[BRANCH, "refs/heads/main"], &branches), held("refs/heads/main"));
    assert_eq!(check(BRANCH, &[BRANCH], &branches), lost(), "it does not hold itself");
    assert_eq!(check(RESCUE, &[BRANCH, RESCUE], &branches), lost(), "the branch goes too");
    assert_eq!(check(RESCUE, &[BRANCH, RESCUE], &refs), held(BRANCH), "the branch stays");
    assert_eq!(check(RESCUE, &[RESCUE, "refs/conductor/rescue/r2/a"], &refs), lost());
    assert_eq!(check(BRANCH, &[BRANCH], &unreachable), (None, None));
}

#[test]
fn a_branch_that_is_checked_out_stays_whatever_is_asked_for() {
    let wanted = Wanted { branches: true, unreachable: true, ..Wanted::default() };
    let (name, holders) = ("refs/heads/conductor/r1".to_owned(), vec!["refs/heads/main".to_owned()]);
    let verdict = judge_ref(name, holders, Some("/checkout".into()), &wanted);
    assert_eq!(verdict.stays.unwrap().to_string(), "it is checked out in /checkout");
    assert_eq!(verdict.held_by.as_deref(), Some("refs/heads/main"));
}

#[test]
fn a_plan_is_old_unless_its_planner_may_be_at_work() {
    const HOUR: u64 = 3600;
    let check = |hours: u64, has_place: bool| {
        let now = Timestamp((hours * HOUR * 1000) as i64);
        plans::is_old(Timestamp(0), now, Millis::from_secs(2 * HOUR), has_place)
    };
    assert!(!check(1, false), "it is too young");
    assert!(check(3, false));
    assert!(!check(3, true), "its planner may be at work");
    assert!(check(25, true), "its planner was killed");
}
