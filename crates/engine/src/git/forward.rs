//! A branch and the checkout that is on it, brought to another commit as one.
//!
//! Git's own `merge --ff-only` writes files first and moves the branch then: a commit of the user in between leaves all
//! of these files staged on top of it. And it overwrites what is ignored. Here everything is checked while the checkout's
//! index is locked, the branch is moved by compare-and-swap, and only then are files written: what stands untracked or
//! ignored in the way is never overwritten. A note tells what was under way to the process that takes over after a kill.

mod files;
mod obstacles;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{GitError, Repository, bytes, locks, output};
use obstacles::obstacles;

/// What is to be moved, from where to where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forward {
    pub checkout: PathBuf,
    /// The full name of the branch that is checked out there.
    pub branch: String,
    pub from: String,
    pub to: String,
}

/// What moving it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forwarded {
    /// Branch, index and files are there. These files are the user's own, made in that very moment, and stayed as they are.
    Done { kept: Vec<String> },
    /// The branch is somewhere else by now. Nothing was touched.
    Moved,
    /// These are not tracked, and would be overwritten. Nothing was touched.
    InTheWay(Vec<String>),
    /// Why it cannot be done now. Nothing was touched.
    Held(String),
}

/// Files of what the user has begun in a checkout and not ended, and what that is.
pub const UNDER_WAY: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    // As of a rebase of the older kind.
    ("rebase-apply", "a rebase or `git am`"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    // Between two commits of several.
    ("sequencer", "a cherry-pick or revert"),
];

/// What keeps a checkout from taking another commit as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InTheWay {
    /// Tracked by nothing, where the commit has something.
    pub untracked: Vec<String>,
    /// Changed in the checkout and not committed, and other in the commit: `git merge` refuses these.
    pub changed: Vec<String>,
}

/// One path that differs between two commits: `A`dded, `D`eleted, or another letter where it is changed.
struct Difference {
    letter: u8,
    path: PathBuf,
}

/// The index of a checkout, locked as git locks it.
struct Locked {
    lock: PathBuf,
    /// Open as long as it is held: by that its owner is found among the living.
    _file: File,
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.lock);
    }
}

/// Beside a checkout's index while that is brought forward: what is under way there, and copies of the index, of which one
/// becomes the next.
const NOTE: &str = "conductor-forward.json";
const OLD: &str = "index.conductor-old";
const NEW: &str = "index.conductor-new";

impl Repository {
    /// Brings a clean checkout and its branch to another commit, or leaves both as they are. Blocks.
    pub fn bring_forward(&self, forward: &Forward) -> Result<Forwarded, GitError> {
        let git = self.git_of(&forward.checkout)?;
        let _locked = match self.lock_index(&git)? {
            Ok(locked) => locked,
            Err(holder) => return Ok(Forwarded::Held(format!("its checkout is locked by {holder}"))),
        };
        self.end_cut_short(&git)?;
        let differences = self.differences(&forward.from, &forward.to)?;
        if let Some(objection) = self.objection(forward, &git, &differences)? {
            return Ok(objection);
        }
        let _copies = Copies::of(&git)?;
        let sparse = self.is_sparse(&forward.checkout);
        if !sparse {
            self.merge_index(forward, &git.join(NEW))?;
        }
        let note = Note::write(&git, forward)?;
        if !self.move_ref(&forward.branch, &forward.to, &forward.from)? {
            note.forget();
            return Ok(Forwarded::Moved);
        }
        if sparse && let Err(error) = self.write_sparse(forward, &git.join(NEW)) {
            // Git looks at everything before it writes anything.
            if self.move_ref(&forward.branch, &forward.from, &forward.to)? {
                note.forget();
            }
            return Ok(Forwarded::Held(error.to_string()));
        }
        let kept = if sparse { Vec::new() } else { self.write_files(&forward.checkout, &git, &differences)? };
        put_index(&git)?;
        note.forget();
        Ok(Forwarded::Done { kept })
    }

    /// Ends what was cut short in a checkout by a kill. In words, what was done, if anything. Blocks.
    pub fn end_forward(&self, checkout: &Path) -> Result<Option<String>, GitError> {
        let git = self.git_of(checkout)?;
        if !git.join(NOTE).exists() {
            return Ok(None);
        }
        match self.lock_index(&git)? {
            Ok(_locked) => self.end_cut_short(&git),
            Err(holder) => Ok(Some(format!("{} is locked by {holder}", checkout.display()))),
        }
    }

    /// Whether a kill has cut something short in a checkout.
    pub fn is_cut_short(&self, checkout: &Path) -> bool {
        self.git_of(checkout).is_ok_and(|git| git.join(NOTE).exists())
    }

    fn end_cut_short(&self, git: &Path) -> Result<Option<String>, GitError> {
        let note = Note(git.join(NOTE));
        // One that is not whole was being written, and nothing had been done by then.
        let forward: Option<Forward> =
            fs::read(&note.0).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let told = match forward {
            None => None,
            Some(forward) => match self.read_ref(&forward.branch)? {
                // Files are written only after the branch was moved.
                Some(now) if now == forward.from => None,
                Some(now) if now == forward.to && self.is_on(&forward) => self.go_on(&forward, git)?,
                _ => Some(format!(
                    "{} was being brought to {:.10} when that was cut short, and is elsewhere now; look at {}: git \
                     status",
                    forward.branch,
                    forward.to,
                    forward.checkout.display()
                )),
            },
        };
        note.forget();
        Ok(told)
    }

    /// The branch was moved; what is missing of index and files follows.
    fn go_on(&self, forward: &Forward, git: &Path) -> Result<Option<String>, GitError> {
        let mut staged = self.in_checkout(&forward.checkout)?;
        staged.args(["diff-index", "--cached", "--quiet", "--ignore-submodules=all", &forward.to]);
        if output(staged).is_ok() {
            return Ok(None);
        }
        let differences = self.differences(&forward.from, &forward.to)?;
        let _copies = Copies::of(git)?;
        let place = forward.checkout.display();
        let sparse = self.is_sparse(&forward.checkout);
        let merged = match sparse {
            true => self.write_sparse(forward, &git.join(NEW)),
            false => self.merge_index(forward, &git.join(NEW)),
        };
        if let Err(error) = merged {
            return Ok(Some(format!(
                "{} was brought to {:.10}, but its checkout {place} was changed since: {error}; look at it: git status",
                forward.branch, forward.to
            )));
        }
        let kept = if sparse { Vec::new() } else { self.write_files(&forward.checkout, git, &differences)? };
        put_index(git)?;
        let kept =
            if kept.is_empty() { String::new() } else { format!("; left as they are: {}", kept.join(", ")) };
        Ok(Some(format!(
            "{place} was brought to where {} is, which had been cut short{kept}",
            forward.branch
        )))
    }

    /// What of the user's own is in the way of another commit in their checkout. Whether git ignores what it does not track
    /// does not matter: `git merge` would overwrite it without a word.
    pub fn in_the_way(&self, from: &str, to: &str) -> Result<InTheWay, GitError> {
        let differences = self.differences(from, to)?;
        let untracked = obstacles(&self.root, &differences);
        let changes = differences.iter().any(|one| one.letter != b'A');
        let own = match changes.then(|| self.uncommitted(&[])) {
            None => Vec::new(),
            // Where what git does there was changed meanwhile, it is not asked.
            Some(Err(GitError::SettingsChanged { .. })) => Vec::new(),
            Some(found) => found?.files,
        };
        let own: HashSet<&Path> = own.iter().map(PathBuf::as_path).collect();
        let changed = differences.iter().filter(|one| one.letter != b'A' && own.contains(one.path.as_path()));
        Ok(InTheWay { untracked, changed: changed.map(|one| one.path.display().to_string()).collect() })
    }

    /// The commit that is checked out there now. No content is looked at, so no filter has a say.
    pub fn head_in(&self, checkout: &Path) -> Result<String, GitError> {
        let mut command = super::deaf(checkout);
        command.args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        output(command)
    }

    fn objection(
        &self,
        forward: &Forward,
        git: &Path,
        differences: &[Difference],
    ) -> Result<Option<Forwarded>, GitError> {
        let held = |why: &str| Ok(Some(Forwarded::Held(why.to_owned())));
        if !self.is_on(forward) {
            return held("another branch is checked out there by now");
        }
        if self.read_ref(&forward.branch)?.as_deref() != Some(&forward.from) {
            return Ok(Some(Forwarded::Moved));
        }
        if let Some((_, what)) = UNDER_WAY.iter().find(|(file, _)| git.join(file).exists()) {
            return held(&format!("{what} is under way in its checkout"));
        }
        if self.is_dirty(&forward.checkout)? {
            return held("its checkout has uncommitted changes");
        }
        let hidden = self.hidden(&forward.checkout, git)?;
        if let Some(first) = differences.iter().find(|one| hidden.contains(&one.path)) {
            return held(&format!(
                "{} was changed in its checkout, which git was told not to look at",
                first.path.display()
            ));
        }
        let obstacles = obstacles(&forward.checkout, differences);
        Ok((!obstacles.is_empty()).then_some(Forwarded::InTheWay(obstacles)))
    }

    /// Changed files of which git was told to assume that they are not.
    fn hidden(&self, checkout: &Path, git: &Path) -> Result<HashSet<PathBuf>, GitError> {
        let _copies = Copies::of(git)?;
        self.differing(checkout, &git.join(OLD))
    }

    fn is_on(&self, forward: &Forward) -> bool {
        let head = self.in_checkout(&forward.checkout).and_then(|mut head| {
            head.args(["symbolic-ref", "--quiet", "HEAD"]);
            output(head)
        });
        head.is_ok_and(|head| head == forward.branch)
    }

    fn is_sparse(&self, checkout: &Path) -> bool {
        let answer = self.in_checkout(checkout).and_then(|mut ask| {
            ask.args(["config", "--type=bool", "--get", "core.sparseCheckout"]);
            output(ask)
        });
        answer.is_ok_and(|answer| answer == "true")
    }

    fn git_of(&self, checkout: &Path) -> Result<PathBuf, GitError> {
        let mut command = super::deaf(checkout);
        command.args(["rev-parse", "--absolute-git-dir"]);
        output(command).map(PathBuf::from)
    }

    /// Or who holds it.
    fn lock_index(&self, git: &Path) -> Result<Result<Locked, String>, GitError> {
        let lock = git.join("index.lock");
        let made = locks::make(&lock, &self.command(), locks::PATIENCE);
        let made = made.map_err(|source| GitError::File { path: lock.clone(), source })?;
        Ok(made.map(|file| Locked { lock, _file: file }))
    }

    fn differences(&self, from: &str, to: &str) -> Result<Vec<Difference>, GitError> {
        let mut command = self.command();
        command.args(["diff-tree", "-r", "-z", "--name-status", "--no-renames", from, to]);
        let text = bytes(command)?;
        let mut parts = text.split(|&byte| byte == 0).filter(|part| !part.is_empty());
        let mut differences = Vec::new();
        while let (Some(letter), Some(path)) = (parts.next(), parts.next()) {
            let letter = letter.first().copied().unwrap_or_default();
            differences.push(Difference { letter, path: PathBuf::from(OsStr::from_bytes(path)) });
        }
        Ok(differences)
    }

    fn with_index(&self, checkout: &Path, index: &Path) -> Result<Command, GitError> {
        let mut command = self.in_checkout(checkout)?;
        command.env("GIT_INDEX_FILE", index);
        Ok(command)
    }

    /// The index alone; files are not looked at.
    fn merge_index(&self, forward: &Forward, index: &Path) -> Result<(), GitError> {
        let mut command = self.with_index(&forward.checkout, index)?;
        command.args(["read-tree", "-i", "-m", &forward.from, &forward.to]);
        output(command).map(drop)
    }

    /// A sparse checkout has rules of its own about which files are written, which only git knows.
    fn write_sparse(&self, forward: &Forward, index: &Path) -> Result<(), GitError> {
        let mut command = self.with_index(&forward.checkout, index)?;
        command.args(["read-tree", "-m", "-u", &forward.from, &forward.to]);
        output(command).map(drop)
    }

    /// Tracked files that are not as an index has them.
    fn differing(&self, checkout: &Path, index: &Path) -> Result<HashSet<PathBuf>, GitError> {
        let mut refresh = self.with_index(checkout, index)?;
        refresh.args(["update-index", "-q", "--ignore-submodules", "--really-refresh"]);
        // It fails where something differs, which is what is asked next.
        let _ = output(refresh);
        let mut ask = self.with_index(checkout, index)?;
        ask.args(["diff-files", "-z", "--name-only", "--ignore-submodules=all"]);
        let names = bytes(ask)?;
        let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    }
}

/// Copies of a checkout's index, beside it; they go with this.
struct Copies(PathBuf);

impl Copies {
    fn of(git: &Path) -> Result<Copies, GitError> {
        let copies = Copies(git.to_owned());
        for copy in [OLD, NEW] {
            let index = git.join("index");
            fs::copy(&index, git.join(copy)).map_err(|source| GitError::File { path: index, source })?;
        }
        Ok(copies)
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for copy in [OLD, NEW] {
            let _ = fs::remove_file(self.0.join(copy));
        }
    }
}

fn put_index(git: &Path) -> Result<(), GitError> {
    let index = git.join("index");
    fs::rename(git.join(NEW), &index).map_err(|source| GitError::File { path: index, source })
}

/// What is under way, for the process that comes after a kill. It stays where something goes wrong half-way.
struct Note(PathBuf);

impl Note {
    fn write(git: &Path, forward: &Forward) -> Result<Note, GitError> {
        let note = Note(git.join(NOTE));
        let text = serde_json::to_vec(forward).unwrap_or_default();
        let write = || {
            let mut file = File::create(&note.0)?;
            file.write_all(&text)?;
            file.sync_all()
        };
        write().map_err(|source| GitError::File { path: note.0.clone(), source })?;
        Ok(note)
    }

    fn forget(self) {
        let _ = fs::remove_file(self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::git::users_git::{commit_all, git, hermetic, init};

    /// What is done to a checkout.
    type Deed = fn(&Path);
    type Cut = fn(&Lab);

    fn write(root: &Path, name: &str, text: &str) {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), text).unwrap();
    }

    /// A checkout of `main`, and a commit that adds, changes and deletes files of it.
    struct Lab {
        _dir: tempfile::TempDir,
        root: PathBuf,
        repository: Repository,
        forward: Forward,
    }

    impl Lab {
        fn new() -> Lab {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            init(&root);
            for (name, text) in [
                (".gitignore", ".env\n"),
                ("changed", "old\n"),
                ("gone/deep/file", "old\n"),
                ("was-file", "old\n"),
                ("was-folder/file", "old\n"),
                ("same", "same\n"),
            ] {
                write(&root, name, text);
            }
            commit_all(&root, "old");
            let from = git(&root, &["rev-parse", "HEAD"]);
            git(&root, &["rm", "-q", "-r", "gone", "was-file", "was-folder"]);
            for (name, text) in [
                (".env", "landed\n"),
                ("added/file", "new\n"),
                ("changed", "new\n"),
                ("was-file/file", "new\n"),
                ("was-folder", "new\n"),
            ] {
                write(&root, name, text);
            }
            git(&root, &["add", "-f", "."]);
            git(&root, &["commit", "-q", "-m", "new"]);
            let to = git(&root, &["rev-parse", "HEAD"]);
            git(&root, &["reset", "-q", "--hard", &from]);
            let repository = Repository::of(&root).unwrap();
            let forward = Forward { checkout: root.clone(), branch: "refs/heads/main".into(), from, to };
            Lab { _dir: dir, root, repository, forward }
        }

        /// Branch, index and files are those of the commit, and nothing of ours is left.
        #[track_caller]
        fn expect_at(&self, commit: &str) {
            assert_eq!(git(&self.root, &["rev-parse", "main"]), commit);
            assert_eq!(git(&self.root, &["status", "--porcelain", "--ignored"]), "");
            assert_eq!(git(&self.root, &["diff", "--stat", commit]), "");
            for ours in [NOTE, OLD, NEW, "index.lock"] {
                assert!(!self.root.join(".git").join(ours).exists(), "{ours} is left");
            }
        }
    }

    #[test]
    fn branch_index_and_files_go_along_and_back() {
        let lab = Lab::new();
        let done = lab.repository.bring_forward(&lab.forward).unwrap();
        assert_eq!(done, Forwarded::Done { kept: Vec::new() });
        lab.expect_at(&lab.forward.to);
        assert!(!lab.root.join("gone").exists(), "folders that are empty go");
        let back =
            Forward { from: lab.forward.to.clone(), to: lab.forward.from.clone(), ..lab.forward.clone() };
        assert_eq!(lab.repository.bring_forward(&back).unwrap(), Forwarded::Done { kept: Vec::new() });
        lab.expect_at(&lab.forward.from);
        assert_eq!(lab.repository.bring_forward(&back).unwrap(), Forwarded::Moved);
    }

    /// Whether it is ignored or not, and whatever it is.
    #[test]
    fn nothing_that_is_not_tracked_is_ever_overwritten() {
        let deeds: [(&str, Deed); 6] = [
            (".env", |root| write(root, ".env", "mine\n")),
            ("added/file", |root| write(root, "added/file", "mine\n")),
            ("added", |root| write(root, "added", "mine\n")),
            ("added", |root| symlink("elsewhere", root.join("added")).unwrap()),
            ("added/file/below", |root| write(root, "added/file/below", "mine\n")),
            ("was-folder/mine", |root| write(root, "was-folder/mine", "mine\n")),
        ];
        for (path, deed) in deeds {
            let lab = Lab::new();
            deed(&lab.root);
            let before = git(&lab.root, &["status", "--porcelain", "--ignored"]);
            let done = lab.repository.bring_forward(&lab.forward).unwrap();
            assert_eq!(done, Forwarded::InTheWay(vec![path.to_owned()]), "{path}");
            assert_eq!(git(&lab.root, &["status", "--porcelain", "--ignored"]), before);
            assert_eq!(git(&lab.root, &["rev-parse", "main"]), lab.forward.from);
        }
        let lab = Lab::new();
        fs::create_dir_all(lab.root.join("added/file/empty")).unwrap();
        let done = lab.repository.bring_forward(&lab.forward).unwrap();
        assert_eq!(done, Forwarded::Done { kept: Vec::new() }, "an empty folder is nothing");
        lab.expect_at(&lab.forward.to);
    }

    #[test]
    fn what_the_user_has_under_way_holds_it_up() {
        let deeds: [(&str, Deed); 7] = [
            ("`git am` is under way", |root| {
                // A patch that does not apply: files and index are clean, and what was begun waits.
                let patch = "From 0 Mon Sep 17 00:00:00 2001\nFrom: a <a@x.example>\nSubject: x\n\n---\n\
                             diff --git a/none b/none\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n";
                write(root, ".git/x.patch", patch);
                let am = hermetic(root).args(["am", "-q", ".git/x.patch"]).output().unwrap();
                assert!(!am.status.success());
            }),
            ("a cherry-pick or revert is under way", |root| write(root, ".git/sequencer/todo", "pick x\n")),
            ("uncommitted changes", |root| write(root, "same", "mine\n")),
            ("not to look at", |root| {
                git(root, &["update-index", "--assume-unchanged", "changed"]);
                write(root, "changed", "mine\n");
            }),
            ("another branch", |root| drop(git(root, &["checkout", "-q", "-b", "other"]))),
            ("under way", |root| {
                write(root, ".git/MERGE_HEAD", &format!("{}\n", git(root, &["rev-parse", "HEAD"])));
            }),
            ("uncommitted changes", |root| drop(git(root, &["rm", "-q", "--cached", "changed"]))),
        ];
        for (words, deed) in deeds {
            let lab = Lab::new();
            deed(&lab.root);
            let before = git(&lab.root, &["status", "--porcelain"]);
            match lab.repository.bring_forward(&lab.forward).unwrap() {
                Forwarded::Held(why) => assert!(why.contains(words), "{why}"),
                other => panic!("{words}: {other:?}"),
            }
            assert_eq!(git(&lab.root, &["status", "--porcelain"]), before, "{words}");
            assert_eq!(git(&lab.root, &["rev-parse", "main"]), lab.forward.from);
        }
    }

    /// A kill right after the branch was moved, after some files, and after all of them; and before anything.
    #[test]
    fn what_a_kill_cut_short_is_ended() {
        let cuts: [(&str, Cut); 4] = [
            ("before the branch was moved", |lab| drop(fs::write(lab.root.join(".git").join(NEW), "half"))),
            ("after the branch was moved", |lab| {
                git(&lab.root, &["update-ref", "refs/heads/main", &lab.forward.to]);
            }),
            ("after some files", |lab| {
                git(&lab.root, &["update-ref", "refs/heads/main", &lab.forward.to]);
                write(&lab.root, "changed", "new\n");
                write(&lab.root, "added/file", "new\n");
                fs::remove_file(lab.root.join("was-file")).unwrap();
            }),
            ("after all files", |lab| {
                let index = fs::read(lab.root.join(".git/index")).unwrap();
                git(&lab.root, &["reset", "-q", "--hard", &lab.forward.to]);
                fs::write(lab.root.join(".git/index"), index).unwrap();
            }),
        ];
        for (at, (name, cut)) in cuts.into_iter().enumerate() {
            let lab = Lab::new();
            drop(Note::write(&lab.root.join(".git"), &lab.forward).unwrap());
            cut(&lab);
            let told = lab.repository.end_forward(&lab.root).unwrap();
            assert_eq!(told.is_some(), at > 0, "{name}: {told:?}");
            assert_eq!(lab.repository.end_forward(&lab.root).unwrap(), None, "{name}: once");
            if at == 0 {
                let done = lab.repository.bring_forward(&lab.forward).unwrap();
                assert_eq!(done, Forwarded::Done { kept: Vec::new() }, "{name}");
            }
            lab.expect_at(&lab.forward.to);
        }
    }

    /// What the user did to the checkout meanwhile stays.
    #[test]
    fn ending_what_was_cut_short_overwrites_nothing_of_the_users() {
        let lab = Lab::new();
        drop(Note::write(&lab.root.join(".git"), &lab.forward).unwrap());
        git(&lab.root, &["update-ref", "refs/heads/main", &lab.forward.to]);
        write(&lab.root, ".env", "mine\n");
        write(&lab.root, "changed", "mine\n");
        write(&lab.root, "gone/deep/file", "mine\n");
        let told = lab.repository.end_forward(&lab.root).unwrap().unwrap();
        for name in [".env", "changed", "gone/deep/file"] {
            assert_eq!(fs::read_to_string(lab.root.join(name)).unwrap(), "mine\n", "{name}");
            assert!(told.contains(name), "{told}");
        }
        assert_eq!(fs::read_to_string(lab.root.join("added/file")).unwrap(), "new\n");
        let staged = git(&lab.root, &["diff", "--cached", "--name-only"]);
        assert_eq!(staged, "", "nothing of it is staged");
    }
}
