//! Distinguishes locks that a killed git left behind from those that a live process holds.
//!
//! Git writes no owner into a lock and itself waits a moment at most (`core.filesRefLockTimeout` 100 ms,
//! `core.packedRefsTimeout` 1 s, an index not at all). So we look for a possible owner among live processes:
//! one that has the lock open, or a git that works in the repository. A lock is removed only if there is
//! none; if we cannot find out, it stays.
//!
//! It knows nothing of what git was asked to do. Processes on another machine that shares the folder are not seen.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::OFlags;

use super::{GitError, what};
use crate::process::{run_own, run_own_within};

/// How long to wait for a lock that a live process holds.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked at meanwhile.
const STEP: Duration = Duration::from_millis(50);

/// A lock younger than this is in use, whatever else can be seen.
const GRACE: Duration = Duration::from_secs(1);

/// No real folder is deeper; what seems to be is not looked into to the end.
const DEPTH: usize = 128;

/// By these a process says which repository it works in, wherever it stands.
const POINTERS: [&str; 4] = ["GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// Runs git to its end. A lock in its way is waited for, or removed where its owner is dead. Blocks.
pub(super) fn run(command: &mut Command, input: &[u8], patience: Duration) -> Result<Output, GitError> {
    attempts(command, patience, |command| run_own(command, input).map_err(GitError::Missing))
}

/// The same, where git may not take longer than this; nothing where it was ended for that. Blocks.
pub(super) fn run_within(
    command: &mut Command,
    patience: Duration,
    limit: Duration,
) -> Result<Option<Output>, GitError> {
    let mut late = false;
    let done = attempts(command, patience, |command| {
        let output = run_own_within(command, limit).map_err(GitError::Missing)?;
        late = output.is_none();
        output.ok_or_else(|| GitError::Missing(io::ErrorKind::TimedOut.into()))
    });
    match done {
        Err(_) if late => Ok(None),
        done => done.map(Some),
    }
}

fn attempts(
    command: &mut Command,
    patience: Duration,
    mut run: impl FnMut(&mut Command) -> Result<Output, GitError>,
) -> Result<Output, GitError> {
    let deadline = Instant::now() + patience;
    loop {
        let output = run(command)?;
        let Some(lock) = in_the_way(command, &output) else { return Ok(output) };
        match Watch::new(lock.clone(), command).wait(deadline) {
            Verdict::Held(holder) => return Err(locked(command, &output, lock, holder)),
            Verdict::Gone if Instant::now() >= deadline => return Ok(output),
            Verdict::Gone | Verdict::Removed => {}
        }
    }
}

/// Makes a lock as git does, against other programs at work in the repository. One in its way is waited for, or removed where
/// its owner is dead; else its holder, in words. Blocks.
pub(super) fn make(lock: &Path, command: &Command, patience: Duration) -> io::Result<Result<File, String>> {
    let deadline = Instant::now() + patience;
    loop {
        match File::options().write(true).create_new(true).open(lock) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(Ok),
        }
        match Watch::new(lock.to_owned(), command).wait(deadline) {
            Verdict::Held(holder) => return Ok(Err(holder)),
            Verdict::Gone if Instant::now() >= deadline => return Ok(Err("git, again and again".to_owned())),
            Verdict::Gone | Verdict::Removed => {}
        }
    }
}

fn locked(command: &Command, output: &Output, lock: PathBuf, holder: String) -> GitError {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    GitError::Locked { what: what(command), said, lock, holder }
}

/// The lock a command failed at, if it is one of those we may judge: in a git directory it was sent to, or of the index
/// it was given. Anything else named in its words could have been put there by a file's name.
fn in_the_way(command: &Command, output: &Output) -> Option<PathBuf> {
    let named = (!output.status.success()).then(|| named(&output.stderr))??;
    let lock = named.parent()?.canonicalize().ok()?.join(named.file_name()?);
    let ours = folders(command).iter().any(|folder| lock.starts_with(folder))
        || index(command).is_some_and(|index| lock_of(&index) == lock);
    (ours && lock.extension() == Some(OsStr::new("lock"))).then_some(lock)
}

/// `Unable to create '<path>.lock': File exists`
fn named(said: &[u8]) -> Option<PathBuf> {
    let (before, after) = (b"Unable to create '".as_slice(), b"': File exists".as_slice());
    let start = find(said, before)? + before.len();
    let length = find(&said[start..], after)?;
    Some(PathBuf::from(OsStr::from_bytes(&said[start..start + length])))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn lock_of(index: &Path) -> PathBuf {
    let mut name = index.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// The git directories a command was sent to.
fn folders(command: &Command) -> Vec<PathBuf> {
    let set = ["GIT_DIR", "GIT_COMMON_DIR"].iter().filter_map(|name| variable(command, name));
    set.filter_map(|folder| folder.canonicalize().ok()).collect()
}

fn index(command: &Command) -> Option<PathBuf> {
    let index = variable(command, "GIT_INDEX_FILE")?;
    Some(index.parent()?.canonicalize().ok()?.join(index.file_name()?))
}

fn variable(command: &Command, name: &str) -> Option<PathBuf> {
    command.get_envs().find(|(known, _)| *known == name)?.1.map(PathBuf::from)
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Its owner let go of it.
    Gone,
    /// Its owner was dead.
    Removed,
    /// Its owner may live: who that is, in words.
    Held(String),
}

/// One lock, looked at again and again.
struct Watch {
    lock: PathBuf,
    places: HashSet<Id>,
    /// The lock's inode and times, and the processes that could have made it. Its maker was there at every
    /// look, so later ones are ruled out; else a busy repository would never be without a suspect.
    seen: Option<(Times, Vec<Suspect>)>,
}

/// A file or folder, under whatever name.
type Id = (u64, u64);
type Times = (Id, i64, i64, i64, i64);

/// A process that could own the lock. The kernel's start time keeps its number from being taken for another's.
struct Suspect {
    process: u32,
    began: u64,
    name: String,
    has_it_open: bool,
}

impl Suspect {
    /// Its name does not count: it may have started another program since.
    fn is(&self, other: &Suspect) -> bool {
        (self.process, self.began) == (other.process, other.began)
    }

    fn describe(&self) -> String {
        format!("{} (process {})", self.name, self.process)
    }
}

impl Watch {
    fn new(lock: PathBuf, command: &Command) -> Watch {
        let places = places(&lock, command);
        Watch { lock, places, seen: None }
    }

    fn wait(&mut self, deadline: Instant) -> Verdict {
        loop {
            match self.judge() {
                Verdict::Held(_) if Instant::now() < deadline => std::thread::sleep(STEP),
                verdict => return verdict,
            }
        }
    }

    /// Two conductors never judge the same lock at once: the lock file itself is locked meanwhile. So neither removes a
    /// lock that came after the one it looked at.
    fn judge(&mut self) -> Verdict {
        let held = |words: &str| Verdict::Held(words.to_owned());
        let (file, found) = match open(&self.lock) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Verdict::Gone,
            Err(error) => return Verdict::Held(format!("an unknown process: {error}")),
        };
        if !found.is_file() {
            return held("no process: git did not make it");
        }
        if is_young(&found) {
            return held("a process that made it just now");
        }
        if file.try_lock().is_err() {
            return held("another conductor that looks at it");
        }
        match self.holder(&found) {
            Some(holder) => Verdict::Held(holder),
            None => self.remove(&found),
        }
    }

    fn holder(&mut self, found: &Metadata) -> Option<String> {
        if !can_see_owner(found) {
            return Some("an unknown process: processes cannot be seen here".to_owned());
        }
        let mut suspects = look(&self.lock, id(found), &self.places);
        if let Some((before, known)) = &self.seen
            && *before == times(found)
        {
            suspects.retain(|suspect| suspect.has_it_open || known.iter().any(|known| known.is(suspect)));
        }
        let likeliest = suspects.iter().max_by_key(|suspect| (suspect.has_it_open, Reverse(suspect.began)));
        let holder = likeliest.map(Suspect::describe);
        self.seen = Some((times(found), suspects));
        holder
    }

    /// Only if it still is the one that was looked at.
    fn remove(&self, found: &Metadata) -> Verdict {
        if !fs::symlink_metadata(&self.lock).is_ok_and(|now| times(&now) == times(found)) {
            return Verdict::Gone;
        }
        match fs::remove_file(&self.lock) {
            Ok(()) => Verdict::Removed,
            Err(error) => Verdict::Held(format!("no process, but it cannot be removed: {error}")),
        }
    }
}

/// Without following a link or waiting for a pipe's other end.
fn open(lock: &Path) -> io::Result<(File, Metadata)> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(lock)?;
    let found = file.metadata()?;
    Ok((file, found))
}

/// A time far ahead of ours is a wrong clock, not youth.
fn is_young(found: &Metadata) -> bool {
    let now = SystemTime::now();
    found.modified().is_ok_and(|made| match now.duration_since(made) {
        Ok(age) => age < GRACE,
        Err(ahead) => ahead.duration() < GRACE,
    })
}

fn id(found: &Metadata) -> Id {
    (found.dev(), found.ino())
}

fn times(found: &Metadata) -> Times {
    (id(found), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec())
}

/// Where a git that could have made the lock would be at work: the git directories, their checkouts, where the command
/// itself was to work, and its index.
fn places(lock: &Path, command: &Command) -> HashSet<Id> {
    let mut paths: Vec<PathBuf> = command.get_current_dir().map(Path::to_owned).into_iter().collect();
    paths.extend(index(command));
    // The git directory of a linked worktree, reached by its index alone.
    paths.extend(lock.parent().filter(|folder| folder.join("HEAD").is_file()).map(Path::to_owned));
    for folder in folders(command) {
        paths.extend(checkouts(&folder));
        paths.push(folder);
    }
    paths.iter().filter_map(|path| fs::metadata(path).ok()).map(|found| id(&found)).collect()
}

/// The checkout a git directory lies in, and its linked worktrees.
fn checkouts(folder: &Path) -> Vec<PathBuf> {
    let main = folder.parent().filter(|_| folder.ends_with(".git")).map(Path::to_owned);
    let linked = fs::read_dir(folder.join("worktrees")).into_iter().flatten().flatten();
    let linked = linked.filter_map(|entry| {
        let text = fs::read(entry.path().join("gitdir")).ok()?;
        Path::new(OsStr::from_bytes(text.trim_ascii_end())).parent().map(Path::to_owned)
    });
    main.into_iter().chain(linked).collect()
}

/// A system may hide the processes of other users, and some have no such table at all.
fn can_see_owner(found: &Metadata) -> bool {
    let ours = found.uid() == rustix::process::geteuid().as_raw();
    fs::read("/proc/1/stat").is_ok() || (ours && fs::read("/proc/self/stat").is_ok())
}

/// Every live process but our own that has the lock open, or is a git in one of the places.
fn look(lock: &Path, lock_id: Id, places: &HashSet<Id>) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(process) = number.filter(|&process| process != std::process::id()) else { continue };
        let folder = entry.path();
        let Some((name, began)) = living(&folder) else { continue };
        let has_it_open = has_open(&folder, lock, lock_id);
        if has_it_open || (is_git(&folder, &name) && works_in(&folder, places)) {
            suspects.push(Suspect { process, began, name, has_it_open });
        }
    }
    suspects
}

/// Name and start of a process that is more than an exit code waiting to be read. The name may hold brackets too.
fn living(folder: &Path) -> Option<(String, u64)> {
    let text = fs::read(folder.join("stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (head, tail) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let dead = matches!(*fields.first()?, "Z" | "X");
    let began = fields.get(19)?.parse().ok()?;
    (!dead).then_some((name, began))
}

fn has_open(folder: &Path, lock: &Path, lock_id: Id) -> bool {
    let open = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
    open.map(|entry| entry.path()).any(|path| {
        // The name first: asking a file itself can hang where its disk does.
        fs::read_link(&path).is_ok_and(|target| target.file_name() == lock.file_name())
            && fs::metadata(&path).is_ok_and(|found| id(&found) == lock_id)
    })
}

fn is_git(folder: &Path, name: &str) -> bool {
    let is = |name: &str| name == "git" || name.starts_with("git-");
    let program = fs::read_link(folder.join("exe")).ok();
    is(name) || program.and_then(|path| path.file_name().and_then(OsStr::to_str).map(is)).unwrap_or(false)
}

/// A git that cannot be looked into could be anywhere, here too.
fn works_in(folder: &Path, places: &HashSet<Id>) -> bool {
    match pointers(folder) {
        Ok(paths) => paths.into_iter().any(|path| is_inside(path, places)),
        Err(error) => is_hidden(&error),
    }
}

fn is_hidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Everything by which a process says where it works: its directory, its variables, its arguments.
fn pointers(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder.join("fd"))?;
    fs::read_link(folder.join("cwd"))?;
    let (variables, arguments) = (fs::read(folder.join("environ"))?, fs::read(folder.join("cmdline"))?);
    let words = |text: &[u8]| text.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let set = words(&variables).into_iter().filter(|entry| is_pointer(entry));
    let named = set.filter_map(|entry| value(&entry));
    let given = words(&arguments).into_iter().flat_map(|word| [value(&word), Some(word)]).flatten();
    let all = named.chain(given).map(|word| seen_from(folder, &word));
    Ok(std::iter::once(folder.join("cwd")).chain(all).collect())
}

fn is_pointer(entry: &[u8]) -> bool {
    let has = |name: &&str| entry.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
    POINTERS.iter().any(has)
}

/// What stands behind the sign: of `GIT_DIR=…` and of `--git-dir=…` alike.
fn value(word: &[u8]) -> Option<Vec<u8>> {
    let at = word.iter().position(|&byte| byte == b'=')?;
    Some(word[at + 1..].to_vec())
}

/// A path as another process means it, reached through its own view of the file system: it may be in a container.
fn seen_from(folder: &Path, word: &[u8]) -> PathBuf {
    let below = word.iter().position(|&byte| byte != b'/').unwrap_or(word.len());
    let start = if below > 0 { "root" } else { "cwd" };
    folder.join(start).join(OsStr::from_bytes(&word[below..]))
}

/// Whether a path or any folder above it is one of the places. Goes by number, since names differ between views.
fn is_inside(mut path: PathBuf, places: &HashSet<Id>) -> bool {
    let mut last = None;
    for _ in 0..DEPTH {
        let found = match fs::metadata(&path) {
            Ok(found) => found,
            Err(error) => return is_hidden(&error),
        };
        if places.contains(&id(&found)) {
            return true;
        }
        if last.replace(id(&found)) == Some(id(&found)) {
            return false;
        }
        match found.is_dir() {
            true => path.push(".."),
            false => {
                path.pop();
            }
        }
    }
    true
}

#[cfg(test)]
mod tests;
