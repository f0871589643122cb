//! The main stories of a user, in every odd repository and in a home that has been used before.
//!
//! Whatever happens: the user's files are as they were, what is called landed is on the branch, and nothing is left
//! running or lying about.

use std::collections::BTreeSet;

use crate::earlier::{put_up, take_down, tasks, use_it};
use crate::harness::{Ended, World, expect_no_leftovers};
use crate::odd::{IGNORED, Odd, Place, UNTRACKED};

struct Story {
    world: World,
    place: Place,
    file: String,
    before: BTreeSet<String>,
}

impl Story {
    fn begin(odd: Odd) -> Story {
        let world = World::new();
        let place = Place::make(&world, "place", odd);
        let file = tasks(&world, "tasks.yaml");
        use_it(&world, &place, &file);
        let before = world.runs().into_iter().collect();
        Story { world, place, file, before }
    }

    fn conductor(&self, args: &[&str]) -> Ended {
        self.place.start(&self.world, args).ended()
    }

    /// The one run that has come since the last time this was asked.
    fn new_run(&mut self) -> String {
        let new: Vec<String> =
            self.world.runs().into_iter().filter(|run| !self.before.contains(run)).collect();
        assert_eq!(new.len(), 1, "{new:?}");
        self.before.extend(new.iter().cloned());
        new[0].clone()
    }

    #[track_caller]
    fn expect_all_landed(&self, run: &str) {
        let last = self.place.landed(&self.world, run, "last.txt").unwrap();
        let lines: Vec<&str> = last.lines().collect();
        assert_eq!(lines, ["one", "gate", "slow"], "{:?}", self.place.odd);
        let tracked = self.place.landed(&self.world, run, IGNORED);
        assert!(tracked.is_err(), "an ignored file has landed: {tracked:?}");
        self.expect_tidy(run);
    }

    #[track_caller]
    fn expect_tidy(&self, run: &str) {
        expect_no_leftovers(run);
        let left = self.place.leftovers(&self.world, run);
        assert!(left.is_empty(), "{:?}: {left:?}", self.place.odd);
        for (name, text) in [(UNTRACKED, "the user's notes\n"), (IGNORED, "KEY=real\n")] {
            let now = std::fs::read_to_string(self.place.checkout.join(name)).unwrap();
            assert_eq!(now, text, "{name} is the user's");
        }
    }
}

fn tell(odd: Odd) {
    let mut story = Story::begin(odd);
    fails_and_is_retried(&mut story);
    is_killed_and_resumed(&mut story);
    is_cancelled(&mut story);
    is_looked_at(&story);
    goes_home(&mut story);
    is_pruned(&story);
}

fn fails_and_is_retried(story: &mut Story) {
    let before = story.place.belongings(&story.world);
    put_up(&story.world, "go");
    put_up(&story.world, "fail");
    story.conductor(&["run", &story.file, "-p", "2"]).expect(100).says("gate");
    let run = story.new_run();
    story.expect_tidy(&run);
    take_down(&story.world, "fail");
    story.conductor(&["run", &story.file, "--retry-failed"]).expect(0);
    story.expect_all_landed(&run);
    let changed = before.changed_to(&story.place.belongings(&story.world));
    assert!(changed.is_empty(), "{:?}: {changed:?}", story.place.odd);
}

fn is_killed_and_resumed(story: &mut Story) {
    let before = story.place.belongings(&story.world);
    take_down(&story.world, "go");
    take_down(&story.world, "at");
    let mut live = story.place.start(&story.world, &["run", &story.file, "-p", "2"]);
    story.world.wait_for_file("signs/at");
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    let run = story.new_run();
    put_up(&story.world, "go");
    story.conductor(&["run", "--resume", &run]).expect(0);
    story.expect_all_landed(&run);
    let changed = before.changed_to(&story.place.belongings(&story.world));
    assert!(changed.is_empty(), "{:?}: {changed:?}", story.place.odd);
}

fn is_cancelled(story: &mut Story) {
    let before = story.place.belongings(&story.world);
    take_down(&story.world, "go");
    take_down(&story.world, "at");
    let live = story.place.start(&story.world, &["run", &story.file, "-p", "2"]);
    story.world.wait_for_file("signs/at");
    story.conductor(&["cancel", "--all"]).expect(0);
    live.ended().expect(9).says("cancelled");
    let run = story.new_run();
    story.expect_tidy(&run);
    let changed = before.changed_to(&story.place.belongings(&story.world));
    assert!(changed.is_empty(), "{:?}: {changed:?}", story.place.odd);
}

fn is_looked_at(story: &Story) {
    for args in
        [&["status"][..], &["logs", "one"], &["diff", "one"], &["runs", "list"], &["report"], &["cost"]]
    {
        story.conductor(args).expect(0);
    }
}

fn goes_home(story: &mut Story) {
    put_up(&story.world, "go");
    let before = story.place.belongings(&story.world);
    story.conductor(&["run", &story.file, "-p", "2", "--merge", "branch"]).expect(0);
    let run = story.new_run();
    story.expect_all_landed(&run);
    let changed = before.changed_to(&story.place.belongings(&story.world));
    let at_home = story.place.checkout.join(story.place.below()).join("last.txt").exists();
    assert_eq!(at_home, story.place.odd.takes_work_home(), "{:?}: {changed:?}", story.place.odd);
    assert_eq!(changed.is_empty(), !at_home, "{:?}: {changed:?}", story.place.odd);
}

/// All runs of this repository, those too that were killed and never taken up again.
fn is_pruned(story: &Story) {
    let all = ["--keep", "0", "--here", "--force", "--refs", "--unreachable", "--yes"];
    let pruned = story.conductor(&[&["runs", "prune"], &all[..]].concat()).expect(0);
    let left = story.place.git(&story.world, &["for-each-ref", "--format=%(refname)", "refs/conductor"]);
    assert_eq!(left, "", "{:?}: {}{}", story.place.odd, pruned.stdout, pruned.stderr);
    let worktrees = story.place.git(&story.world, &["worktree", "list", "--porcelain"]);
    let state = story.world.home().display().to_string();
    assert!(!worktrees.contains(&state), "{worktrees}");
}

macro_rules! stories {
    ($($name:ident: $odd:ident,)*) => {
        $(#[test] fn $name() { tell(Odd::$odd); })*

        #[test]
        fn every_odd_repository_has_its_stories() {
            assert_eq!([$(Odd::$odd),*], Odd::ALL);
        }
    };
}

stories! {
    in_a_plain_repository: Plain,
    with_a_detached_head: Detached,
    in_a_dirty_checkout: Dirty,
    in_a_shallow_clone: Shallow,
    in_a_linked_worktree: LinkedWorktree,
    with_a_submodule: Submodule,
    with_sha256_names: Sha256,
    with_a_branch_named_conductor: BranchNamedConductor,
    in_a_folder_with_an_odd_name: BlanksInItsPath,
    with_packed_refs: PackedRefs,
    with_a_reftable: Reftable,
    with_autocrlf: Autocrlf,
    with_a_required_filter: RequiredFilter,
    started_below_the_top: StartedBelow,
    with_a_long_history: ManyCommits,
}
