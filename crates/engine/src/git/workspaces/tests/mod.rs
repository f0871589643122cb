//! Worktrees against real repositories: nothing lost, nothing fired, the user's checkout untouched.

mod content;
mod lfs;
mod submodules;

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use conductor_core::plan::{self, Task, Work};
use conductor_core::schedule::{Car, Side};
use conductor_core::values::ids::{Attempt, RunId, TaskId};

use conductor_core::run::event::{Failure, FailureClass};

use super::*;
use crate::git::merge::{self, Ending};
use crate::git::users_git::{commit_all, git, init};
use crate::git::{GitError, InTheWay, Repository};

struct Lab {
    _dir: tempfile::TempDir,
    repo: PathBuf,
    state: PathBuf,
}

impl Lab {
    fn new() -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let lab = Lab { repo: root.join("repo"), state: root.join("state"), _dir: dir };
        fs::create_dir_all(lab.repo.join("src")).unwrap();
        init(&lab.repo);
        fs::write(lab.repo.join("src/a.txt"), "one\ntwo\nthree\n").unwrap();
        fs::write(lab.repo.join(".gitignore"), "target\n").unwrap();
        commit_all(&lab.repo, "start");
        lab
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.repo, args)
    }

    fn worktrees(&self) -> Site {
        self.site(false, &[], None)
    }

    fn clones(&self) -> Site {
        self.site(true, &[], None)
    }

    /// One of each kind, the second when the first is done.
    fn both(&self) -> impl Iterator<Item = Site> {
        [false, true].into_iter().map(|private| self.site(private, &[], None))
    }

    fn site(&self, private: bool, keep: &[&str], template: Option<&str>) -> Site {
        let repository = Repository::of(&self.repo).unwrap();
        let run = RunId::parse("r1").unwrap();
        let layout = Layout::new(&self.state, &run, &repository, &self.repo, template);
        let keep = keep.iter().map(|&name| name.to_owned()).collect();
        let run_repo = Arc::new(RunRepo::open(repository, &run, layout, keep, None).unwrap());
        let (listener, heard) = tokio::sync::mpsc::unbounded_channel();
        run_repo.listen(listener);
        let workspaces: Arc<dyn WorkspaceBackend> = match private {
            true => Arc::new(Clones::new(run_repo.clone())),
            false => Arc::new(Worktrees::new(run_repo.clone())),
        };
        Site { run_repo, workspaces, private, heard: Mutex::new(heard) }
    }

    /// Every file of the checkout with its bytes, and what git says of it.
    fn checkout(&self) -> (Vec<(PathBuf, Vec<u8>)>, String) {
        (files_below(&self.repo, &[".git"]), self.git(&["status", "--porcelain=v2", "--branch"]))
    }
}

/// One backend in one repository.
struct Site {
    run_repo: Arc<RunRepo>,
    workspaces: Arc<dyn WorkspaceBackend>,
    private: bool,
    heard: Mutex<tokio::sync::mpsc::UnboundedReceiver<String>>,
}

impl std::ops::Deref for Site {
    type Target = dyn WorkspaceBackend;

    fn deref(&self) -> &Self::Target {
        self.workspaces.as_ref()
    }
}

impl Site {
    /// Stacks one change on the branch; why not, where it does not fit.
    fn merge(&self, task: &Task, change: &Change) -> Result<(String, String), Failure> {
        self.merge_for(task, change, None)
    }

    /// The same, with one side winning.
    fn merge_for(
        &self,
        task: &Task,
        change: &Change,
        favour: Option<Side>,
    ) -> Result<(String, String), Failure> {
        let (id, change) = (task.id.clone(), change.clone());
        let car = Car { task: id, attempt: Attempt(1), change, others: Vec::new(), favour };
        let mut stack = merge::stack(&self.run_repo, &[(task, &car)]).unwrap();
        match stack.failed.pop() {
            Some((_, _, failure)) => Err(failure),
            None => Ok((stack.from, stack.steps.pop().unwrap().to)),
        }
    }

    fn request(&self, executor: u32, task: &str) -> WorkspaceRequest {
        WorkspaceRequest { private: self.private, ..request(executor, task) }
    }

    /// What was worth telling since it was asked last.
    fn notices(&self) -> Vec<String> {
        let mut heard = self.heard.lock().unwrap();
        std::iter::from_fn(|| heard.try_recv().ok()).collect()
    }

    fn land(&self, task: &Task, change: &Change) -> Result<(), Failure> {
        let (from, to) = self.merge(task, change)?;
        assert!(self.run_repo.move_tip(&from, &to).unwrap());
        Ok(())
    }
}

fn request(executor: u32, task: &str) -> WorkspaceRequest {
    let task = TaskId::parse(task).unwrap();
    WorkspaceRequest {
        executor,
        epic: None,
        private: false,
        title: format!("{task}: does it"),
        task,
        attempt: Attempt(1),
        conflict_markers: Vec::new(),
        onto: None,
        stack: Vec::new(),
        round: None,
    }
}

fn task(id: &str) -> Task {
    Task::new(TaskId::parse(id).unwrap(), Work::Run(plan::Command::Line("true".into())))
}

/// Everything below a folder, with its bytes, except what is named.
fn files_below(folder: &Path, except: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let kept = entries.into_iter().filter(|path| !except.iter().any(|name| path.ends_with(name)));
    let files = kept.flat_map(|path| match fs::symlink_metadata(&path).unwrap().is_dir() {
        true => files_below(&path, except),
        false => vec![(path.clone(), fs::read(&path).unwrap_or_default())],
    });
    files.collect()
}

/// A program that leaves a word behind when it is run.
fn trap(folder: &Path) -> (PathBuf, PathBuf) {
    let (script, fired) = (folder.join("planted.sh"), folder.join("fired"));
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $@\" >> {}\ncat 2>/dev/null\n", fired.display()))
        .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    (script, fired)
}

/// Works as a task, and lands.
fn land(site: &Site, executor: u32, name: &str, work: impl FnOnce(&Path)) -> Result<(), Failure> {
    let request = site.request(executor, name);
    let workspace = site.prepare(&request).unwrap();
    work(&workspace.directory);
    let change = site.collect(&request, &workspace).unwrap().unwrap();
    site.land(&task(name), &change)
}

#[test]
fn work_lands_on_the_runs_branch_and_the_checkout_stays_to_the_byte() {
    let lab = Lab::new();
    fs::write(lab.repo.join("src/a.txt"), "dirty\n").unwrap();
    fs::write(lab.repo.join("untracked"), "mine").unwrap();
    let before = lab.checkout();
    let worktrees = lab.worktrees();
    land(&worktrees, 1, "one", |dir| fs::write(dir.join("new.txt"), "1").unwrap()).unwrap();
    land(&worktrees, 1, "two", |dir| {
        assert!(dir.join("new.txt").exists(), "it starts from what landed before");
        fs::write(dir.join("src/a.txt"), "changed\n").unwrap();
    })
    .unwrap();
    assert_eq!(lab.checkout(), before);
    assert_eq!(lab.git(&["show", "conductor/r1:new.txt"]), "1");
    assert_eq!(lab.git(&["show", "conductor/r1:src/a.txt"]), "changed");
    let message = lab.git(&["log", "-1", "--format=%B", "conductor/r1"]);
    assert!(message.contains("Conductor-Run: r1") && message.contains("Conductor-Task: two"), "{message}");
}

#[test]
fn a_worktree_used_again_holds_nothing_of_its_last_guest() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    let workspace = worktrees.prepare(&request(1, "a")).unwrap();
    fs::write(workspace.directory.join("left.txt"), "x").unwrap();
    fs::create_dir(workspace.directory.join("target")).unwrap();
    fs::write(workspace.directory.join("target/out"), "x").unwrap();
    fs::remove_file(workspace.directory.join("src/a.txt")).unwrap();
    let again = worktrees.prepare(&request(1, "b")).unwrap();
    assert_eq!(again.directory, workspace.directory);
    assert!(!again.directory.join("left.txt").exists() && !again.directory.join("target").exists());
    assert_eq!(fs::read_to_string(again.directory.join("src/a.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(git(&again.directory, &["status", "--porcelain"]), "");
    assert!(
        worktrees.collect(&request(1, "b"), &again).unwrap().is_none(),
        "nothing done is nothing to merge"
    );
}

#[test]
fn both_sides_of_a_clean_merge_are_kept_and_a_conflict_names_its_file() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    let (first, second, third) = (request(1, "first"), request(2, "second"), request(3, "third"));
    let workspaces = [&first, &second, &third].map(|request| worktrees.prepare(request).unwrap());
    fs::write(workspaces[0].directory.join("src/a.txt"), "ONE\ntwo\nthree\n").unwrap();
    fs::write(workspaces[1].directory.join("b.txt"), "b").unwrap();
    fs::write(workspaces[2].directory.join("src/a.txt"), "uno\ntwo\nthree\n").unwrap();
    let change = |request: &WorkspaceRequest, workspace: &Workspace| {
        worktrees.collect(request, workspace).unwrap().unwrap()
    };
    for (request, workspace) in [(&first, &workspaces[0]), (&second, &workspaces[1])] {
        worktrees.land(&task("t"), &change(request, workspace)).unwrap();
    }
    assert_eq!(lab.git(&["show", "conductor/r1:src/a.txt"]), "ONE\ntwo\nthree");
    assert_eq!(lab.git(&["show", "conductor/r1:b.txt"]), "b");
    let failure = worktrees.merge(&task("third"), &change(&third, &workspaces[2])).unwrap_err();
    assert_eq!(failure.message, "conflicts with what landed meanwhile in src/a.txt");
    assert!(failure.evidence.starts_with("src/a.txt:1\n<<<<<<< "), "{}", failure.evidence);
    assert!(failure.evidence.contains("\nONE\n=======\nuno\n"), "{}", failure.evidence);
}

/// A user who has the run's branch checked out while it is at work commits on top of what has landed, not against it.
#[test]
fn a_clean_checkout_of_the_runs_branch_goes_along_and_another_is_told_of() {
    let lab = Lab::new();
    let site = lab.worktrees();
    let work = |name: &str| {
        let request = site.request(1, name);
        let workspace = site.prepare(&request).unwrap();
        fs::write(workspace.directory.join(name), name).unwrap();
        let change = site.collect(&request, &workspace).unwrap().unwrap();
        let (from, to) = site.merge(&task(name), &change).unwrap();
        assert!(site.run_repo.land(&from, &to).unwrap());
        from
    };
    lab.git(&["checkout", "-q", "conductor/r1"]);
    work("one");
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    assert!(lab.repo.join("one").exists());
    assert_eq!(site.notices(), Vec::<String>::new());
    fs::write(lab.repo.join("src/a.txt"), "mine").unwrap();
    let (from, _) = (work("two"), work("three"));
    let [told] = site.notices().try_into().unwrap();
    assert!(told.contains("is on conductor/r1 and its files were not brought along"), "{told}");
    assert!(!lab.repo.join("two").exists());
    let remedy = told.rsplit_once(": ").unwrap().1;
    assert!(remedy.ends_with(&format!("read-tree -m -u {from:.10} HEAD")), "{remedy}");
    assert!(Command::new("sh").args(["-c", remedy]).status().unwrap().success());
    assert_eq!(lab.git(&["status", "--porcelain"]), "M src/a.txt");
    assert!(lab.repo.join("two").exists() && lab.repo.join("three").exists());
    lab.git(&["checkout", "-q", "src/a.txt"]);
    lab.git(&["checkout", "-q", "main"]);
    lab.git(&["worktree", "add", "-q", "../linked", "conductor/r1"]);
    work("four");
    assert!(lab.repo.with_file_name("linked").join("four").exists());
}

/// What one changed and the other deleted or moved is decided as a file that both changed is.
#[test]
fn a_side_that_wins_wins_what_the_other_deleted_or_moved() {
    let lab = Lab::new();
    fs::write(lab.repo.join("g.txt"), "one\ntwo\nthree\nfour\n").unwrap();
    commit_all(&lab.repo, "more");
    let site = lab.worktrees();
    let requests = [request(1, "deletes"), request(2, "changes")];
    let dirs = requests.each_ref().map(|request| site.prepare(request).unwrap());
    fs::remove_file(dirs[0].directory.join("src/a.txt")).unwrap();
    git(&dirs[0].directory, &["mv", "g.txt", "moved.txt"]);
    fs::write(dirs[1].directory.join("src/a.txt"), "changed").unwrap();
    fs::remove_file(dirs[1].directory.join("g.txt")).unwrap();
    let changes = [0, 1].map(|at| site.collect(&requests[at], &dirs[at]).unwrap().unwrap());
    site.land(&task("deletes"), &changes[0]).unwrap();
    assert_eq!(site.merge(&task("changes"), &changes[1]).unwrap_err().class, FailureClass::Conflict);
    let files = |side: Side| {
        let (_, to) = site.merge_for(&task("changes"), &changes[1], Some(side)).unwrap();
        lab.git(&["ls-tree", "-r", "--name-only", &to])
    };
    assert_eq!(files(Side::Ours), ".gitignore\nmoved.txt");
    assert_eq!(files(Side::Theirs), ".gitignore\nsrc/a.txt");
}

/// A file where the other has a folder stands under a name that git has made up; no side is taken then.
#[test]
fn a_file_where_the_other_has_a_folder_is_not_decided_and_leaves_no_checkpoint() {
    let lab = Lab::new();
    let site = lab.worktrees();
    let requests = [request(1, "file"), request(2, "folder")];
    let dirs = requests.each_ref().map(|request| site.prepare(request).unwrap());
    fs::write(dirs[0].directory.join("d"), "file").unwrap();
    fs::create_dir(dirs[1].directory.join("d")).unwrap();
    fs::write(dirs[1].directory.join("d/x"), "x").unwrap();
    let changes = [0, 1].map(|at| site.collect(&requests[at], &dirs[at]).unwrap().unwrap());
    site.land(&task("file"), &changes[0]).unwrap();
    for side in [Side::Ours, Side::Theirs] {
        let failure = site.merge_for(&task("folder"), &changes[1], Some(side)).unwrap_err();
        assert_eq!(failure.class, FailureClass::Conflict);
    }
    assert_eq!(lab.git(&["for-each-ref", "refs/tags/"]), "");
}

#[test]
fn own_commits_of_an_agent_are_kept_and_rewritten_history_is_not_believed() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    let commit = |dir: &Path, args: &[&str]| {
        git(dir, &["add", "-A"]);
        git(
            dir,
            &[&["-c", "user.name=A", "-c", "user.email=a@x", "commit", "-q", "-m", "own"], args].concat(),
        );
    };
    land(&worktrees, 1, "commits", |dir| {
        fs::write(dir.join("own.txt"), "x").unwrap();
        commit(dir, &[]);
        fs::write(dir.join("left.txt"), "y").unwrap();
    })
    .unwrap();
    assert_eq!(lab.git(&["log", "--format=%s", "-2", "conductor/r1^2"]), "commits: does it\nown");
    let one = lab.git(&["log", "--first-parent", "--format=%s", "conductor/r1"]);
    assert_eq!(one, "Merge task commits: commits\nstart", "one entry for each task");
    land(&worktrees, 1, "rewrites", |dir| {
        fs::write(dir.join("r.txt"), "x").unwrap();
        git(dir, &["update-ref", "-d", "HEAD"]);
        commit(dir, &[]);
    })
    .unwrap();
    land(&worktrees, 1, "deletes", |dir| {
        fs::write(dir.join("d.txt"), "x").unwrap();
        fs::remove_file(dir.join(".git")).unwrap();
    })
    .unwrap();
    for file in ["own.txt", "left.txt", "r.txt", "d.txt", "src/a.txt"] {
        lab.git(&["cat-file", "-e", &format!("conductor/r1:{file}")]);
    }
    assert_eq!(
        lab.git(&["rev-list", "--max-parents=0", "--format=%s", "--no-commit-header", "conductor/r1"]),
        "start"
    );
}

#[test]
fn a_hundred_worktrees_at_once_fail_none() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    std::thread::scope(|scope| {
        for executor in 1..=100 {
            let worktrees = &worktrees;
            scope.spawn(move || {
                let workspace = worktrees.prepare(&request(executor, &format!("t{executor}"))).unwrap();
                assert!(workspace.directory.join("src/a.txt").exists());
            });
        }
    });
    worktrees.run_repo.clear(&HashSet::new()).unwrap();
    assert_eq!(lab.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(lab.git(&["for-each-ref", "refs/heads/conductor-task"]), "");
}

#[test]
fn unfinished_work_is_kept_under_a_rescue_ref_and_survives_the_clearing() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    let request = request(1, "cut");
    let workspace = worktrees.prepare(&request).unwrap();
    fs::write(workspace.directory.join("half.txt"), "half").unwrap();
    let again = lab.worktrees();
    assert_eq!(again.rescue(&request).unwrap().unwrap().name, "refs/conductor/rescue/r1/cut/1");
    again.run_repo.clear(&HashSet::new()).unwrap();
    assert_eq!(lab.git(&["show", "refs/conductor/rescue/r1/cut/1:half.txt"]), "half");
    assert_eq!(again.run_repo.rescued().unwrap()[0].0, "refs/conductor/rescue/r1/cut/1");
}

/// Its work was saved, and then a process changed its folder further.
#[test]
fn what_is_done_after_the_work_was_saved_is_kept_by_the_clearing() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    for (executor, name) in [(1, "one"), (2, "two"), (3, "three")] {
        let request = request(executor, name);
        let workspace = worktrees.prepare(&request).unwrap();
        fs::write(workspace.directory.join(name), "work").unwrap();
        worktrees.collect(&request, &workspace).unwrap().unwrap();
        match executor {
            1 => fs::write(workspace.directory.join("later"), "more").unwrap(),
            2 => fs::write(workspace.directory.join(name), "WORK").unwrap(),
            _ => {}
        }
    }
    assert!(worktrees.run_repo.clear(&HashSet::new()).unwrap().is_empty());
    let kept: Vec<String> = worktrees.run_repo.rescued().unwrap().into_iter().map(|(name, _)| name).collect();
    let expected = ["one/unmerged", "three/unmerged", "two/unmerged", "workspace-1/left", "workspace-2/left"];
    assert_eq!(kept, expected.map(|name| format!("refs/conductor/rescue/r1/{name}")));
    assert_eq!(lab.git(&["show", "refs/conductor/rescue/r1/workspace-1/left:later"]), "more");
    assert_eq!(lab.git(&["show", "refs/conductor/rescue/r1/workspace-2/left:two"]), "WORK");
    assert_eq!(lab.git(&["for-each-ref", "refs/heads/conductor-task"]), "");
}

/// A user who moves the run's branch loses nothing: the merge is made anew on top of it.
#[test]
fn a_branch_moved_by_the_user_is_never_overwritten() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    for round in 0..100 {
        let request = request(1, &format!("t{round}"));
        let workspace = worktrees.prepare(&request).unwrap();
        fs::write(workspace.directory.join(format!("{round}.txt")), "x").unwrap();
        let change = worktrees.collect(&request, &workspace).unwrap().unwrap();
        let (from, to) = worktrees.merge(&task("t"), &change).unwrap();
        let tree = lab.git(&["rev-parse", "conductor/r1^{tree}"]);
        let user = lab.git(&["commit-tree", &tree, "-p", "conductor/r1", "-m", "user"]);
        lab.git(&["update-ref", "refs/heads/conductor/r1", &user]);
        assert!(!worktrees.run_repo.move_tip(&from, &to).unwrap());
        let (from, to) = worktrees.merge(&task("t"), &change).unwrap();
        assert!(worktrees.run_repo.move_tip(&from, &to).unwrap());
        assert!(worktrees.run_repo.move_tip(&from, &to).unwrap(), "asked again, still so");
        lab.git(&["merge-base", "--is-ancestor", &user, "conductor/r1"]);
    }
}

/// Everything an agent could plant to have our git run a program; each would leave a file behind.
#[test]
fn nothing_planted_in_the_repository_fires_in_our_git() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    let (script, fired) = trap(&lab.repo.join(".git"));
    let script = script.display().to_string();
    land(&worktrees, 1, "plants", |dir| {
        let hooks = [
            "pre-commit",
            "post-commit",
            "post-checkout",
            "post-index-change",
            "reference-transaction",
            "pre-merge-commit",
            "post-merge",
            "commit-msg",
            "prepare-commit-msg",
            "pre-auto-gc",
            "post-rewrite",
            "pre-push",
            "update",
        ];
        for hook in hooks {
            let path = lab.repo.join(".git/hooks").join(hook);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&path);
            symlink(&script, path).unwrap();
        }
        for key in [
            "core.fsmonitor",
            "diff.external",
            "filter.evil.clean",
            "filter.evil.smudge",
            "filter.evil.process",
            "merge.evil.driver",
            "diff.evil.textconv",
            "diff.evil.command",
            "core.pager",
            "core.editor",
            "gpg.program",
            "core.sshCommand",
            "credential.helper",
            "core.alternateRefsCommand",
            "sequence.editor",
        ] {
            git(&lab.repo, &["config", key, &script]);
        }
        git(&lab.repo, &["config", "commit.gpgSign", "true"]);
        git(&lab.repo, &["config", "filter.evil.required", "true"]);
        fs::write(dir.join(".gitattributes"), "* filter=evil merge=evil diff=evil\n").unwrap();
    })
    .unwrap();
    let (one, two) = (request(1, "one"), request(2, "two"));
    let workspaces = [&one, &two].map(|request| worktrees.prepare(request).unwrap());
    fs::write(workspaces[0].directory.join("src/a.txt"), "one\ntwo\nTHREE\n").unwrap();
    fs::write(workspaces[1].directory.join("src/a.txt"), "ONE\ntwo\nthree\n").unwrap();
    for (request, workspace) in [(&one, &workspaces[0]), (&two, &workspaces[1])] {
        let change = worktrees.collect(request, workspace).unwrap().unwrap();
        let _ = worktrees.land(&task("t"), &change);
    }
    worktrees.rescue(&two).unwrap();
    worktrees.run_repo.clear(&HashSet::new()).unwrap();
    merge::bring_home(&worktrees.run_repo, false, true).unwrap();
    assert_eq!(fs::read_to_string(&fired).unwrap_or_default(), "", "fired");
    git(&lab.repo, &["checkout", "-q", "--detach"]);
    assert_ne!(fs::read_to_string(&fired).unwrap_or_default(), "", "git as it is does fire them");
}

#[test]
fn symlinks_out_of_the_tree_and_odd_names_travel_as_they_are() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    let outside = lab.state.join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("precious"), "keep").unwrap();
    let odd = std::ffi::OsStr::new("new\nline");
    let raw = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"raw\xff\xfe");
    land(&worktrees, 1, "odd", |dir| {
        symlink(&outside, dir.join("link")).unwrap();
        fs::write(dir.join(odd), "x").unwrap();
        fs::write(dir.join(raw), "y").unwrap();
    })
    .unwrap();
    let workspace = worktrees.prepare(&request(1, "next")).unwrap();
    assert!(workspace.directory.join(odd).exists() && workspace.directory.join(raw).exists());
    assert_eq!(fs::read_link(workspace.directory.join("link")).unwrap(), outside);
    worktrees.run_repo.clear(&HashSet::new()).unwrap();
    assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "keep");
}

#[test]
fn the_users_branch_is_brought_forward_only_when_that_is_safe() {
    let lab = Lab::new();
    let worktrees = lab.worktrees();
    land(&worktrees, 1, "a", |dir| fs::write(dir.join("new.txt"), "1").unwrap()).unwrap();
    fs::write(lab.repo.join("src/a.txt"), "dirty\n").unwrap();
    let left = merge::bring_home(&worktrees.run_repo, true, true).unwrap();
    let dirty = Some("its checkout has uncommitted changes".to_owned());
    assert_eq!(
        left,
        Ending::Left { branch: "conductor/r1".into(), why: dirty, in_the_way: InTheWay::default() }
    );
    land(&worktrees, 1, "b", |dir| fs::write(dir.join("src/a.txt"), "ours\n").unwrap()).unwrap();
    let Ending::Left { in_the_way, .. } = merge::bring_home(&worktrees.run_repo, false, true).unwrap() else {
        panic!("it was brought home");
    };
    assert_eq!((in_the_way.untracked.len(), in_the_way.changed), (0, vec!["src/a.txt".to_owned()]));
    lab.git(&["checkout", "-q", "."]);
    lab.git(&["commit", "-q", "--allow-empty", "-m", "user goes on"]);
    let moved = Some("the branch it started from has moved".to_owned());
    assert_eq!(
        merge::bring_home(&worktrees.run_repo, true, true).unwrap(),
        Ending::Left { branch: "conductor/r1".into(), why: moved, in_the_way: InTheWay::default() }
    );
    lab.git(&["reset", "-q", "--hard", "HEAD~1"]);
    fs::write(lab.repo.join("new.txt"), "the user's own").unwrap();
    assert!(matches!(merge::bring_home(&worktrees.run_repo, true, true).unwrap(), Ending::Left { .. }));
    assert_eq!(lab.git(&["tag"]), "", "nothing was changed, so there is nothing to roll back");
    fs::remove_file(lab.repo.join("new.txt")).unwrap();
    let merged = merge::bring_home(&worktrees.run_repo, true, true).unwrap();
    assert_eq!(merged, Ending::Merged { branch: "conductor/r1".into(), into: "main".into() });
    assert_eq!(lab.git(&["tag"]).lines().count(), 1);
    assert_eq!(fs::read_to_string(lab.repo.join("new.txt")).unwrap(), "1");
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_history_that_was_cut_off_is_enough() {
    let whole = Lab::new();
    whole.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    let from = format!("file://{}", whole.repo.display());
    let cut = whole.repo.with_file_name("cut");
    git(whole.repo.parent().unwrap(), &["clone", "-q", "--depth=1", &from, cut.to_str().unwrap()]);
    let lab = Lab { repo: cut, state: whole.state.clone(), _dir: tempfile::tempdir().unwrap() };
    let worktrees = lab.worktrees();
    let (one, two) = (request(1, "one"), request(2, "two"));
    let workspaces = [&one, &two].map(|request| worktrees.prepare(request).unwrap());
    for (request, workspace) in [(&one, &workspaces[0]), (&two, &workspaces[1])] {
        fs::write(workspace.directory.join(request.task.as_str()), "x").unwrap();
        let change = worktrees.collect(request, workspace).unwrap().unwrap();
        worktrees.land(&task("t"), &change).unwrap();
    }
    lab.git(&["cat-file", "-e", "conductor/r1:one"]);
    lab.git(&["cat-file", "-e", "conductor/r1:two"]);
}

#[test]
fn a_path_may_have_line_breaks() {
    let lab = Lab::new();
    let place = lab.repo.with_file_name("a\nb");
    fs::rename(&lab.repo, &place).unwrap();
    let found = Repository::of(&place).unwrap();
    assert_eq!((found.root, found.common), (place.clone(), place.join(".git")));
}

#[test]
fn what_is_no_place_to_start_from_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Repository::of(dir.path()), Err(GitError::NotOne(_))));
    git(dir.path(), &["init", "-q", "."]);
    assert!(matches!(Repository::of(dir.path()), Err(GitError::Unborn(_))));
    let bare = tempfile::tempdir().unwrap();
    git(bare.path(), &["init", "-q", "--bare", "."]);
    assert!(matches!(Repository::of(bare.path()), Err(GitError::Bare(_))));
    let lab = Lab::new();
    lab.git(&["checkout", "-q", "--detach"]);
    assert_eq!(Repository::of(&lab.repo).unwrap().branch, None);
}

/// Every kind of conflict, with names that would not survive a line of text.
#[test]
fn a_conflict_is_laid_out_as_git_itself_would_leave_it() {
    let lab = Lab::new();
    fs::write(lab.repo.join("gone.txt"), "1\n").unwrap();
    fs::write(lab.repo.join("bin"), b"\0\x01").unwrap();
    fs::write(lab.repo.join("odd\tna\nme"), "1\n").unwrap();
    commit_all(&lab.repo, "more");
    let site = lab.worktrees();
    let (ours, theirs) = (request(1, "ours"), request(2, "theirs"));
    let workspaces = [&ours, &theirs].map(|request| site.prepare(request).unwrap());
    for (workspace, text) in workspaces.iter().zip(["OURS\n", "THEIRS\n"]) {
        fs::write(workspace.directory.join("src/a.txt"), text).unwrap();
        fs::write(workspace.directory.join("odd\tna\nme"), text).unwrap();
        fs::write(workspace.directory.join("bin"), [b"\0", text.as_bytes()].concat()).unwrap();
        fs::write(workspace.directory.join("both.txt"), text).unwrap();
    }
    fs::remove_file(workspaces[0].directory.join("gone.txt")).unwrap();
    fs::write(workspaces[1].directory.join("gone.txt"), "2\n").unwrap();
    fs::write(workspaces[1].directory.join("new.txt"), "new\n").unwrap();
    let landed = site.collect(&ours, &workspaces[0]).unwrap().unwrap();
    site.land(&task("ours"), &landed).unwrap();
    let kept = site.collect(&theirs, &workspaces[1]).unwrap().unwrap();
    let (resolving, name) = (Resolving::new(site.run_repo.clone()), TaskId::parse("theirs").unwrap());
    let open = resolving.lay_out(&name, &kept.commit).unwrap();
    assert_eq!(resolving.open(&name).unwrap().as_ref(), Some(&open));
    assert_eq!(open.files, ["bin", "both.txt", "gone.txt", "odd\tna\nme", "src/a.txt"]);
    assert_eq!(
        git(&open.folder, &["status", "--porcelain"]),
        "UU bin\nAA both.txt\nDU gone.txt\nA  new.txt\nUU \"odd\\tna\\nme\"\nUU src/a.txt"
    );
    assert!(resolving.save(&name, &open).unwrap().is_none(), "nothing has been done yet");
    let marked = resolving.solved(&name, &open, &[]).unwrap_err();
    assert!(matches!(marked, WorkspaceError::Markers(files) if files.contains("src/a.txt")));
    for path in ["src/a.txt", "both.txt", "odd\tna\nme"] {
        fs::write(open.folder.join(path), "solved\n").unwrap();
    }
    let solved = resolving.solved(&name, &open, &[]).unwrap();
    assert_eq!(solved.commit, kept.commit);
    assert_eq!(site.run_repo.shadow().blob(&solved.tree, "odd\tna\nme").unwrap(), b"solved\n");
    let longer = TaskId::parse("theirs.too").unwrap();
    resolving.lay_out(&longer, &kept.commit).unwrap();
    resolving.close(&name).unwrap();
    assert!(!open.folder.exists());
    assert!(resolving.open(&longer).unwrap().is_some(), "a name that begins alike is another");
    assert_eq!(site.run_repo.resolving().unwrap(), ["theirs.too"]);
    assert_eq!(site.run_repo.clear(&HashSet::new()).unwrap().len(), 1, "what is being solved stays");
    assert!(resolving.open(&name).unwrap().is_none());
}

#[test]
fn what_is_done_in_a_private_clone_lands_and_its_refs_stay_its_own() {
    let lab = Lab::new();
    let clones = lab.clones();
    let private = WorkspaceRequest { private: true, ..request(1, "private") };
    let workspace = clones.prepare(&private).unwrap();
    fs::write(workspace.directory.join("own.txt"), "x").unwrap();
    commit_all(&workspace.directory, "own");
    git(&workspace.directory, &["tag", "planted"]);
    fs::write(workspace.directory.join("left.txt"), "y").unwrap();
    let change = clones.collect(&private, &workspace).unwrap().unwrap();
    clones.land(&task("private"), &change).unwrap();
    for file in ["own.txt", "left.txt"] {
        lab.git(&["cat-file", "-e", &format!("conductor/r1:{file}")]);
    }
    assert_eq!(lab.git(&["tag", "--list"]), "");
}
