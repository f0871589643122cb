//! Locks in real repositories, with owners that are dead and owners that live.

use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};

use super::*;
use crate::git::users_git::{commit_all, git, hermetic, init};
use crate::git::{Forward, Forwarded, Repository, Shadow};

/// Long enough for a look, too short for a holder to let go.
const BRIEFLY: Duration = Duration::from_millis(120);

struct Lab {
    _dir: tempfile::TempDir,
    root: PathBuf,
    repository: Repository,
}

impl Lab {
    fn new() -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let repo = root.join("repo");
        fs::create_dir(&repo).unwrap();
        init(&repo);
        fs::write(repo.join("file"), "one\n").unwrap();
        commit_all(&repo, "start");
        Lab { repository: Repository::of(&repo).unwrap(), root, _dir: dir }
    }

    /// A lock in the git directory, made long ago.
    fn lock(&self, name: &str) -> PathBuf {
        aged(self.repository.common.join(name))
    }

    fn set_ref(&self) -> Result<Output, GitError> {
        let mut command = self.repository.command();
        command.args(["update-ref", "refs/heads/new", &self.repository.head]);
        run(&mut command, &[], BRIEFLY)
    }

    fn holder(&self) -> String {
        match self.set_ref() {
            Err(GitError::Locked { holder, .. }) => holder,
            other => panic!("{other:?}"),
        }
    }
}

fn aged(path: PathBuf) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    age(&File::create(&path).unwrap());
    path
}

fn age(file: &File) {
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
}

/// A process that lives until this is dropped.
struct Living(Child);

impl Living {
    /// Starts it, with a pipe to read from, and waits for its first line.
    fn start(command: &mut Command, first: &str) -> Living {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut living = Living(child);
        living.say(first);
        living.listen();
        living
    }

    fn say(&mut self, words: &str) {
        self.0.stdin.as_mut().unwrap().write_all(words.as_bytes()).unwrap();
    }

    fn listen(&mut self) {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    }

    /// A git that waits for more to be asked of it.
    fn git(command: &mut Command) -> Living {
        Living::start(command.args(["cat-file", "--batch-check"]), "HEAD\n")
    }

    fn end(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_a_dead_git_left_locked_is_freed() {
    for name in ["refs/heads/new.lock", "packed-refs.lock"] {
        let lab = Lab::new();
        let lock = lab.lock(name);
        lab.repository.set_ref("refs/heads/new", &lab.repository.head).unwrap();
        lab.repository.set_ref("refs/heads/old", &lab.repository.head).unwrap();
        assert_eq!(git(&lab.repository.root, &["rev-parse", "new"]), lab.repository.head);
        lab.repository.delete_ref("refs/heads/new").unwrap();
        assert!(!lock.exists(), "{name}");
    }
}

#[test]
fn a_branch_is_moved_past_a_dead_lock_and_only_then_said_to_be() {
    let lab = Lab::new();
    lab.lock("refs/heads/new.lock");
    assert!(lab.repository.move_ref("refs/heads/new", &lab.repository.head, "").unwrap());
    assert_eq!(lab.repository.read_ref("refs/heads/new").unwrap().as_ref(), Some(&lab.repository.head));
}

#[test]
fn a_locked_checkout_and_branch_are_freed_for_a_fast_forward() {
    for name in ["index.lock", "refs/heads/main.lock", "HEAD.lock"] {
        let lab = Lab::new();
        let Repository { root, head, .. } = &lab.repository;
        fs::write(root.join("file"), "two\n").unwrap();
        git(root, &["commit", "-q", "-a", "-m", "next"]);
        let next = git(root, &["rev-parse", "HEAD"]);
        git(root, &["reset", "-q", "--hard", head]);
        lab.lock(name);
        let (checkout, branch) = (root.clone(), "refs/heads/main".to_owned());
        let forward = Forward { checkout, branch, from: head.clone(), to: next.clone() };
        let done = lab.repository.bring_forward(&forward).unwrap();
        assert_eq!(done, Forwarded::Done { kept: Vec::new() }, "{name}");
        assert_eq!(git(root, &["rev-parse", "main"]), next, "{name}");
        assert_eq!(git(root, &["status", "--porcelain"]), "", "{name}");
    }
}

#[test]
fn an_index_of_our_own_is_freed_too() {
    let lab = Lab::new();
    let shadow = Shadow::open(&lab.repository, lab.root.join("shadow")).unwrap();
    let (tree, index) = (lab.root.join("tree"), lab.root.join("1.index"));
    fs::create_dir(&tree).unwrap();
    aged(lab.root.join("1.index.lock"));
    shadow.check_out(&lab.repository.head, &tree, &index, &[]).unwrap();
    assert_eq!(fs::read_to_string(tree.join("file")).unwrap(), "one\n");
}

#[test]
fn a_lock_a_process_has_open_stays_until_it_ends() {
    let lab = Lab::new();
    let lock = lab.lock("refs/heads/new.lock");
    let script = format!("exec 9>>'{}'; echo up; read line", lock.display());
    let owner = Living::start(Command::new("sh").args(["-c", &script]), "");
    age(&File::open(&lock).unwrap());
    let error = lab.set_ref().unwrap_err().to_string();
    assert!(error.contains(&format!("held by sh (process {})", owner.0.id())), "{error}");
    assert!(error.contains("refs/heads/new.lock': File exists"), "{error}");
    assert!(lock.exists());
    owner.end();
    assert!(lab.set_ref().unwrap().status.success());
}

#[test]
fn a_git_at_work_in_the_repository_may_own_any_of_its_locks() {
    let lab = Lab::new();
    let Repository { root, common, .. } = &lab.repository;
    let linked = lab.root.join("linked");
    git(root, &["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
    let lock = lab.lock("refs/heads/new.lock");
    fs::create_dir(root.join("below")).unwrap();
    let away = Path::new("/");
    let mut owners = [&root.join("below"), &linked, common].map(|place| hermetic(place));
    for command in &mut owners {
        holds(&lab, command);
    }
    holds(&lab, hermetic(away).env("GIT_DIR", common));
    holds(&lab, hermetic(away).arg("--git-dir").arg(common));
    holds(&lab, hermetic(&lab.root).arg("--git-dir=repo/.git"));
    assert!(lock.exists());
    assert!(lab.set_ref().unwrap().status.success(), "all of them have ended");
}

fn holds(lab: &Lab, command: &mut Command) {
    let owner = Living::git(command);
    assert_eq!(lab.holder(), format!("git (process {})", owner.0.id()), "{command:?}");
}

#[test]
fn a_git_at_work_elsewhere_owns_nothing_here() {
    let (lab, other) = (Lab::new(), Lab::new());
    let lock = lab.lock("refs/heads/new.lock");
    let _stranger = Living::git(&mut hermetic(&other.repository.root));
    assert!(lab.set_ref().unwrap().status.success());
    assert!(!lock.exists());
}

/// Where agents use git all the time, each look finds some, but never one that was there from the first.
#[test]
fn a_git_that_came_after_the_lock_was_seen_is_not_its_owner() {
    let lab = Lab::new();
    let lock = lab.lock("refs/heads/new.lock");
    let mut watch = Watch::new(lock.clone(), &lab.repository.command());
    let first = Living::git(&mut hermetic(&lab.repository.root));
    assert_eq!(watch.judge(), Verdict::Held(format!("git (process {})", first.0.id())));
    let _second = Living::git(&mut hermetic(&lab.repository.root));
    assert_eq!(watch.judge(), Verdict::Held(format!("git (process {})", first.0.id())));
    first.end();
    assert_eq!(watch.judge(), Verdict::Removed);
    assert!(!lock.exists());
    aged(lock);
    assert!(matches!(watch.judge(), Verdict::Held(_)), "another lock, and the second may have made this one");
}

/// Git closes a lock when it has written it, and holds it all the same.
#[test]
fn an_owner_that_closed_its_lock_still_owns_it() {
    let lab = Lab::new();
    let lock = lab.lock("refs/heads/new.lock");
    let mut watch = Watch::new(lock.clone(), &lab.repository.command());
    let script = format!(
        "exec 9<'{}'; echo up; read line; exec 9<&-; exec git cat-file --batch-check",
        lock.display()
    );
    let mut owner =
        Living::start(Command::new("sh").args(["-c", &script]).current_dir(&lab.repository.root), "");
    assert_eq!(watch.judge(), Verdict::Held(format!("sh (process {})", owner.0.id())));
    owner.say("go\n");
    owner.say("HEAD\n");
    owner.listen();
    assert_eq!(watch.judge(), Verdict::Held(format!("git (process {})", owner.0.id())));
    assert!(lock.exists());
}

#[test]
fn a_process_that_ended_but_was_not_collected_owns_nothing() {
    let lab = Lab::new();
    lab.lock("refs/heads/new.lock");
    let mut owner = Living::git(&mut hermetic(&lab.repository.root));
    owner.0.kill().unwrap();
    let stat = PathBuf::from(format!("/proc/{}", owner.0.id()));
    while living(&stat).is_some() {
        std::thread::yield_now();
    }
    assert!(lab.set_ref().unwrap().status.success());
}

#[test]
fn a_lock_just_made_is_never_removed_and_one_let_go_of_is_waited_for() {
    let lab = Lab::new();
    let lock = lab.repository.common.join("refs/heads/new.lock");
    File::create(&lock).unwrap();
    assert_eq!(lab.holder(), "a process that made it just now");
    assert!(lock.exists());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lab.repository.set_ref("refs/heads/new", &lab.repository.head));
        fs::remove_file(&lock).unwrap();
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn what_another_conductor_looks_at_is_left_to_it() {
    let lab = Lab::new();
    let lock = lab.lock("refs/heads/new.lock");
    let other = File::open(&lock).unwrap();
    other.try_lock().unwrap();
    assert_eq!(lab.holder(), "another conductor that looks at it");
    assert!(lock.exists());
}

#[test]
fn what_git_did_not_make_is_left_alone() {
    let lab = Lab::new();
    let (lock, target) = (lab.repository.common.join("refs/heads/new.lock"), aged(lab.root.join("target")));
    symlink(&target, &lock).unwrap();
    assert!(lab.holder().starts_with("an unknown process"));
    assert!(lock.is_symlink() && target.exists());
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    assert_eq!(lab.holder(), "no process: git did not make it");
}

#[test]
fn only_locks_of_the_repository_at_hand_are_judged() {
    let (lab, other) = (Lab::new(), Lab::new());
    let lock = other.lock("refs/heads/new.lock");
    let said = format!("fatal: Unable to create '{}': File exists.", lock.display());
    let output = Command::new("sh").args(["-c", &format!("echo \"{said}\" >&2; exit 1")]).output().unwrap();
    assert_eq!(in_the_way(&lab.repository.command(), &output), None);
    assert_eq!(in_the_way(&other.repository.command(), &output), Some(lock));
}

#[test]
fn locks_are_read_from_gits_words() {
    let check = |said: &[u8], path: Option<&[u8]>| {
        assert_eq!(named(said), path.map(|path| PathBuf::from(OsStr::from_bytes(path))));
    };
    check(b"error: cannot lock ref 'a': Unable to create '/r/a.lock': File exists.\n", Some(b"/r/a.lock"));
    check(b"Unable to create '/it's/\xff.lock': File exists", Some(b"/it's/\xff.lock"));
    check(b"Unable to create '/r/a.lock': Permission denied", None);
    check(b"fatal: cannot lock ref 'a': is at b but expected c", None);
    check(b"", None);
}

#[test]
fn a_git_that_may_not_be_looked_into_may_be_anywhere() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let nowhere = HashSet::new();
    assert!(!works_in(dir.path(), &nowhere), "it has ended");
    let open = dir.path().join("fd");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o000)).unwrap();
    // Nothing is hidden from root.
    assert!(works_in(dir.path(), &nowhere) || fs::read_dir(&open).is_ok());
    assert!(is_hidden(&io::Error::from(io::ErrorKind::PermissionDenied)));
}
