//! Small sets of files, each at a ref of a remote: listed, fetched, and replaced by compare-and-swap.
//!
//! They pass through a bare git directory of our own, which keeps what was seen of the remote. Nothing of the user's
//! repositories is in it, and no configuration but the user's own decides how the remote is reached.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::courier::{connected, own};
use super::{GitError, bare_command, bytes, deaf, finished, output, run, with_input};
use crate::host::access;

/// Where what was seen of the remote is held, so that git keeps it.
const SEEN: &str = "refs/seen/";

#[derive(Debug, Clone)]
pub struct RefStore {
    git: PathBuf,
    address: String,
}

/// What a ref is to become.
#[derive(Debug, Clone)]
pub struct Swap {
    pub name: String,
    /// Where it has to be now; nothing where it must not be there.
    pub from: Option<String>,
    /// Nothing takes it away.
    pub to: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swapped {
    Done,
    /// It is not where it was.
    Moved,
    Refused(String),
}

impl RefStore {
    /// By way of a folder of ours.
    pub fn open(folder: &Path, address: &str) -> Result<RefStore, GitError> {
        let store = RefStore { git: folder.join("git"), address: address.to_owned() };
        let file = |source| GitError::File { path: folder.to_owned(), source };
        access::create_private_dir_all(folder).map_err(file)?;
        if !store.git.join("HEAD").is_file() {
            store.make(false)?;
        }
        Ok(store)
    }

    fn make(&self, sha256: bool) -> Result<(), GitError> {
        let format = if sha256 { "--object-format=sha256" } else { "--object-format=sha1" };
        make_bare(&self.git, &[format])
    }

    /// Makes a bare repository in a folder, where there is none.
    pub fn make_remote(git: &Path) -> Result<(), GitError> {
        make_bare(git, &[])
    }

    /// Whether a folder is a git directory or holds one.
    pub fn is_repository(folder: &Path) -> bool {
        let is_git = |folder: &Path| folder.join("HEAD").exists() && folder.join("objects").is_dir();
        is_git(folder) || folder.join(".git").exists()
    }

    /// An address as git takes it, after what the user has configured in its place.
    pub fn meant(address: &str) -> Result<String, GitError> {
        let mut command = bare_command();
        command.args(["ls-remote", "--get-url", "--", address]);
        command.current_dir("/");
        for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        output(command)
    }

    /// Refs below a prefix at the remote, with what they are at.
    pub fn list(&self, prefix: &str) -> Result<BTreeMap<String, String>, GitError> {
        let mut command = connected(&self.git);
        command.args(["ls-remote", "--quiet", "--", &self.address, &format!("{prefix}*")]);
        let told = output(command)?;
        let entry = |line: &str| {
            let (commit, name) = line.split_once('\t')?;
            name.starts_with(prefix).then(|| (name.to_owned(), commit.to_owned()))
        };
        let found: BTreeMap<String, String> = told.lines().filter_map(entry).collect();
        if let Some(commit) = found.values().next() {
            self.be_of_format(commit.len() == 64)?;
        }
        Ok(found)
    }

    /// Where the remote names objects in another way than our directory, that is made anew: all it holds is there, too.
    fn be_of_format(&self, sha256: bool) -> Result<(), GitError> {
        let ours = std::fs::read_to_string(self.git.join("config")).unwrap_or_default();
        if ours.to_ascii_lowercase().contains("objectformat = sha256") == sha256 {
            return Ok(());
        }
        let file = |source| GitError::File { path: self.git.clone(), source };
        std::fs::remove_dir_all(&self.git).map_err(file)?;
        self.make(sha256)
    }

    /// The remote has nothing yet by which its format could be told: a local one is asked.
    pub fn be_as_local(&self, git: &Path) -> Result<(), GitError> {
        let mut command = deaf(git);
        command.args(["rev-parse", "--show-object-format"]);
        match output(command) {
            Ok(format) => self.be_of_format(format == "sha256"),
            // Reaching it will say what is wrong with it.
            Err(GitError::Failed { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Has these refs here, as they were listed. One that has moved meanwhile is not among what is there then.
    pub fn fetch(&self, refs: &[(&String, &String)]) -> Result<(), GitError> {
        let missing: Vec<_> = refs.iter().filter(|(_, commit)| !self.has(commit)).collect();
        for some in missing.chunks(200) {
            let mut command = connected(&self.git);
            command.args(["-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags"]);
            command.args(["--no-write-fetch-head", "--no-recurse-submodules", "--", &self.address]);
            for (name, _) in some {
                command.arg(format!("+{name}:{SEEN}{}", name.trim_start_matches("refs/")));
            }
            output(command)?;
        }
        Ok(())
    }

    pub fn has(&self, commit: &str) -> bool {
        let mut command = own(&self.git);
        command.args(["cat-file", "-e", &format!("{commit}^{{tree}}")]);
        output(command).is_ok()
    }

    /// The files at a commit, by name.
    pub fn files(&self, commit: &str) -> Result<BTreeMap<String, String>, GitError> {
        let mut command = own(&self.git);
        command.args(["ls-tree", "-z", commit]);
        let listed = output(command)?;
        let entry = |line: &str| {
            // `<mode> blob <object> TAB <file>`
            let (about, name) = line.split_once('\t')?;
            let mut words = about.split(' ').skip(1);
            (words.next()? == "blob").then_some(())?;
            Some((name.to_owned(), words.next()?.to_owned()))
        };
        Ok(listed.split('\0').filter_map(entry).collect())
    }

    pub fn read(&self, blob: &str) -> Result<Vec<u8>, GitError> {
        let mut command = own(&self.git);
        command.args(["cat-file", "blob", blob]);
        bytes(command)
    }

    /// Puts contents into our directory; by the name that is returned a commit can have them.
    pub fn put(&self, contents: &[u8]) -> Result<String, GitError> {
        let mut command = own(&self.git);
        command.args(["hash-object", "-w", "--no-filters", "--stdin"]);
        with_input(command, contents)
    }

    /// A commit of these files and nothing before it: what was pushed before is not kept at the remote for ever.
    pub fn commit(&self, files: &BTreeMap<String, String>, message: &str) -> Result<String, GitError> {
        let listed: String =
            files.iter().map(|(name, blob)| format!("100644 blob {blob}\t{name}\0")).collect();
        let mut tree = own(&self.git);
        tree.args(["mktree", "-z"]);
        let tree = with_input(tree, listed.as_bytes())?;
        let mut command = own(&self.git);
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Conductor")
                .env(format!("GIT_{who}_EMAIL"), "conductor@localhost")
                // The same files are the same commit.
                .env(format!("GIT_{who}_DATE"), "@0 +0000");
        }
        command.args(["-c", "i18n.commitEncoding=utf-8", "commit-tree", "--no-gpg-sign", &tree]);
        with_input(command, message.as_bytes())
    }

    /// Replaces refs at the remote, each only if it is where it was. What became of each, in the same order; an error where
    /// the remote could not be reached at all.
    pub fn swap(&self, swaps: &[Swap]) -> Result<Vec<Swapped>, GitError> {
        let mut done = Vec::with_capacity(swaps.len());
        for some in swaps.chunks(200) {
            done.extend(self.swap_some(some)?);
        }
        // Objects that no ref holds any more go by themselves, some time; what comes of it is of no matter.
        let mut tidy = own(&self.git);
        tidy.args(["-c", "gc.auto=2000", "-c", "gc.autoDetach=false", "-c", "gc.pruneExpire=1.day.ago"]);
        tidy.args(["gc", "--auto", "--quiet"]);
        let _ = run(&mut tidy, &[]);
        Ok(done)
    }

    fn swap_some(&self, swaps: &[Swap]) -> Result<Vec<Swapped>, GitError> {
        if swaps.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = connected(&self.git);
        command.args(["push", "--porcelain", "--no-verify", "--no-signed"]);
        for Swap { name, from, .. } in swaps {
            command.arg(format!("--force-with-lease={name}:{}", from.as_deref().unwrap_or_default()));
        }
        command.args(["--", &self.address]);
        for Swap { name, to, .. } in swaps {
            command.arg(format!("{}:{name}", to.as_deref().unwrap_or_default()));
        }
        let answered = run(&mut command, &[])?;
        let said = String::from_utf8_lossy(&answered.stdout).into_owned();
        let told: BTreeMap<&str, (char, &str)> = said.lines().filter_map(told).collect();
        if swaps.iter().any(|swap| !told.contains_key(swap.name.as_str())) {
            finished(&answered, &command)?;
        }
        let became = |swap: &Swap| match told.get(swap.name.as_str()) {
            Some(('!', why)) if is_moved(why) => Swapped::Moved,
            Some(('!', why)) => Swapped::Refused((*why).to_owned()),
            Some(_) => Swapped::Done,
            None => Swapped::Refused("git said nothing of it".to_owned()),
        };
        let done: Vec<Swapped> = swaps.iter().map(became).collect();
        self.hold(swaps, &done)?;
        Ok(done)
    }

    /// What is at the remote now is held here, too.
    fn hold(&self, swaps: &[Swap], done: &[Swapped]) -> Result<(), GitError> {
        let seen = |name: &str| format!("{SEEN}{}", name.trim_start_matches("refs/"));
        let lines: String = swaps
            .iter()
            .zip(done)
            .filter(|(_, done)| **done == Swapped::Done)
            .filter_map(|(swap, _)| Some(format!("update {} {}\n", seen(&swap.name), swap.to.as_ref()?)))
            .collect();
        let mut command = own(&self.git);
        command.args(["update-ref", "--stdin"]);
        with_input(command, lines.as_bytes()).map(drop)
    }
}

/// Makes a bare repository where there is none. It is made beside its place and put there whole: of two that make it at
/// once neither sees half of the other's.
fn make_bare(git: &Path, format: &[&str]) -> Result<(), GitError> {
    if git.join("HEAD").is_file() {
        return Ok(());
    }
    let file = |source| GitError::File { path: git.to_owned(), source };
    let folder = git.parent().ok_or_else(|| file(std::io::ErrorKind::InvalidInput.into()))?;
    let name = git.file_name().unwrap_or_default().to_string_lossy();
    let beside = tempfile::Builder::new().prefix(&format!(".{name}.")).tempdir_in(folder).map_err(file)?;
    let init = |at: &Path| {
        let mut init = bare_command();
        init.args(["init", "--quiet", "--bare", "--template="]).args(format).arg(at);
        output(init).map(drop)
    };
    let whole = beside.path().join("git");
    init(&whole)?;
    match std::fs::rename(&whole, git) {
        Err(_) if git.join("HEAD").is_file() => Ok(()),
        // One was begun there and never finished.
        Err(_) if git.is_dir() => init(git),
        put => put.map_err(file),
    }
}

/// `<flag> TAB <from>:<to> TAB <summary>`
fn told(line: &str) -> Option<(&str, (char, &str))> {
    let mut parts = line.splitn(3, '\t');
    let flag = parts.next()?.chars().next()?;
    let (_, name) = parts.next()?.split_once(':')?;
    Some((name, (flag, parts.next().unwrap_or_default())))
}

/// Another push was first: seen by our git, or by the remote's at the last moment.
fn is_moved(why: &str) -> bool {
    ["stale info", "failed to update ref", "cannot lock ref", "incorrect old value", "already exists"]
        .iter()
        .any(|words| why.contains(words))
}
