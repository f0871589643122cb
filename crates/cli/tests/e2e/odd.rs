//! Repositories in the states users really have theirs in, and what must stay the same in them.
//!
//! Each holds the user's own files: tracked ones that no task touches, an untracked one and an ignored one whose names
//! tasks do write in their workspaces.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::harness::{Live, World};

/// What is odd about a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Odd {
    Plain,
    Detached,
    Dirty,
    Shallow,
    LinkedWorktree,
    Submodule,
    Sha256,
    BranchNamedConductor,
    BlanksInItsPath,
    PackedRefs,
    Reftable,
    Autocrlf,
    RequiredFilter,
    StartedBelow,
    ManyCommits,
}

impl Odd {
    pub(crate) const ALL: [Odd; 15] = [
        Odd::Plain,
        Odd::Detached,
        Odd::Dirty,
        Odd::Shallow,
        Odd::LinkedWorktree,
        Odd::Submodule,
        Odd::Sha256,
        Odd::BranchNamedConductor,
        Odd::BlanksInItsPath,
        Odd::PackedRefs,
        Odd::Reftable,
        Odd::Autocrlf,
        Odd::RequiredFilter,
        Odd::StartedBelow,
        Odd::ManyCommits,
    ];

    /// Whether a finished run can bring the branch that is checked out forward.
    pub(crate) fn takes_work_home(self) -> bool {
        !matches!(self, Odd::Detached | Odd::Dirty)
    }
}

/// The user's files that no task may ever change in the checkout, whatever it writes in its own workspace.
const TRACKED: &str = "user.txt";
pub(crate) const UNTRACKED: &str = "notes.txt";
pub(crate) const IGNORED: &str = ".env";

/// One such repository, and where in it the user is.
pub(crate) struct Place {
    pub(crate) odd: Odd,
    pub(crate) checkout: PathBuf,
    start: PathBuf,
}

impl Place {
    /// Makes one in a folder of the world's.
    pub(crate) fn make(world: &World, name: &str, odd: Odd) -> Place {
        let folder = match odd {
            Odd::BlanksInItsPath => world.path(name).join("with a blank, ünï & 'quotes'"),
            _ => world.path(name),
        };
        let mut checkout = folder.join("repo");
        fs::create_dir_all(&checkout).unwrap();
        let place =
            |checkout: &Path| Place { odd, checkout: checkout.to_owned(), start: checkout.to_owned() };
        begin(world, &place(&checkout));
        match odd {
            Odd::Shallow => {
                let copy = folder.join("shallow");
                let from = format!("file://{}", checkout.display());
                let (from, to) = (from.as_str(), copy.to_str().unwrap());
                place(&checkout).git(world, &["clone", "-q", "--depth", "1", from, to]);
                checkout = copy;
                place(&checkout).sign(world);
            }
            Odd::LinkedWorktree => {
                let copy = folder.join("linked");
                let to = copy.to_str().unwrap();
                place(&checkout).git(world, &["worktree", "add", "-q", "-b", "linked", to]);
                checkout = copy;
            }
            _ => {}
        }
        let mut place = place(&checkout);
        place.make_odd(world, &folder);
        place.write(UNTRACKED, "the user's notes\n");
        place.exclude(world, IGNORED);
        place.write(IGNORED, "KEY=real\n");
        place
    }

    fn make_odd(&mut self, world: &World, folder: &Path) {
        match self.odd {
            Odd::Detached => drop(self.git(world, &["checkout", "-q", "--detach"])),
            Odd::Dirty => {
                self.write(TRACKED, "edited, not staged\n");
                self.write("staged.txt", "staged, not committed\n");
                self.git(world, &["add", "staged.txt"]);
            }
            Odd::Submodule => {
                let part = folder.join("part");
                fs::create_dir_all(&part).unwrap();
                begin(world, &Place { odd: Odd::Plain, checkout: part.clone(), start: part.clone() });
                let from = part.to_str().unwrap();
                self.git(
                    world,
                    &["-c", "protocol.file.allow=always", "submodule", "add", "-q", from, "part"],
                );
                self.git(world, &["commit", "-q", "-m", "a part"]);
            }
            Odd::BranchNamedConductor => drop(self.git(world, &["branch", "conductor"])),
            Odd::PackedRefs => drop(self.git(world, &["pack-refs", "--all"])),
            Odd::Autocrlf => {
                self.write(".gitattributes", "* text=auto\n");
                self.git(world, &["add", "."]);
                self.git(world, &["commit", "-q", "-m", "attributes"]);
                self.git(world, &["config", "core.autocrlf", "true"]);
            }
            Odd::RequiredFilter => {
                for (key, value) in
                    [("clean", "tr a-z n-za-m"), ("smudge", "tr a-z n-za-m"), ("required", "true")]
                {
                    self.git(world, &["config", &format!("filter.rot.{key}"), value]);
                }
                self.write(".gitattributes", "*.secret filter=rot\n");
                self.write("the.secret", "hello\n");
                self.git(world, &["add", ".gitattributes", "the.secret"]);
                self.git(world, &["commit", "-q", "-m", "a secret"]);
            }
            Odd::StartedBelow => {
                self.start = self.checkout.join("below");
                fs::create_dir_all(&self.start).unwrap();
                self.write("below/kept.txt", "kept\n");
                self.git(world, &["add", "below"]);
                self.git(world, &["commit", "-q", "-m", "below"]);
            }
            Odd::ManyCommits => {
                for n in 0..12 {
                    self.write("history.txt", &format!("{n}\n"));
                    self.git(world, &["add", "history.txt"]);
                    self.git(world, &["commit", "-q", "-m", &format!("commit {n}")]);
                }
                self.git(world, &["tag", "-a", "-m", "one", "v1"]);
                self.git(world, &["repack", "-q", "-a", "-d"]);
            }
            _ => {}
        }
    }

    fn sign(&self, world: &World) {
        self.git(world, &["config", "user.name", "User"]);
        self.git(world, &["config", "user.email", "user@localhost"]);
    }

    /// In a file of git's own that is not part of the repository.
    fn exclude(&self, world: &World, pattern: &str) {
        let common = self.git(world, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let file = Path::new(&common).join("info/exclude");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let before = fs::read_to_string(&file).unwrap_or_default();
        fs::write(file, format!("{before}{pattern}\n")).unwrap();
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.checkout.join(name), text).unwrap();
    }

    /// What the user's own git says, in their checkout.
    #[track_caller]
    pub(crate) fn git(&self, world: &World, args: &[&str]) -> String {
        self.try_git(world, args).unwrap_or_else(|error| panic!("git {args:?} in {:?}: {error}", self.odd))
    }

    pub(crate) fn try_git(&self, world: &World, args: &[&str]) -> Result<String, String> {
        let output = world.command_of("git").current_dir(&self.checkout).args(args).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    pub(crate) fn command(&self, world: &World, args: &[&str]) -> std::process::Command {
        let mut command = world.command(args);
        command.current_dir(&self.start);
        command
    }

    pub(crate) fn start(&self, world: &World, args: &[&str]) -> Live {
        world.spawn(&mut self.command(world, args))
    }

    /// Where a task started by the user's command finds itself, seen from the top of the checkout.
    pub(crate) fn below(&self) -> &Path {
        self.start.strip_prefix(&self.checkout).unwrap()
    }

    /// Every file of the checkout but git's own.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.checkout.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let (path, found) = (entry.path(), entry.path().symlink_metadata().unwrap());
                if entry.file_name() == ".git" {
                    continue;
                } else if found.is_dir() {
                    open.push(path);
                } else {
                    let content = match found.is_symlink() {
                        true => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                        false => fs::read(&path).unwrap(),
                    };
                    let name = path.strip_prefix(&self.checkout).unwrap().to_owned();
                    files.insert(name, (found.mode(), content));
                }
            }
        }
        files
    }

    /// All that is the user's: files, what is checked out and staged, branches, tags and stashes.
    pub(crate) fn belongings(&self, world: &World) -> Belongings {
        let staged = self.git(world, &["diff", "--cached", "--raw", "--no-abbrev"]);
        let head = self.try_git(world, &["symbolic-ref", "-q", "HEAD"]).unwrap_or_default();
        let commit = self.git(world, &["rev-parse", "HEAD"]);
        let refs = self.git(world, &["for-each-ref", "--format=%(refname) %(objectname)"]);
        let ours = |name: &&str| {
            let own = ["refs/heads/conductor/", "refs/heads/conductor-", "refs/conductor/"];
            own.iter().any(|prefix| name.starts_with(prefix)) || name.starts_with("refs/tags/conductor-")
        };
        let refs = refs.lines().filter(|name| !ours(name)).map(str::to_owned).collect();
        Belongings { files: self.files(), staged, head, commit, refs }
    }

    /// Where a run's work is: on a branch of the run's own, or, once that is merged, on what is checked out.
    pub(crate) fn branch_of(&self, world: &World, run: &str) -> String {
        let names = self.git(world, &["for-each-ref", "--format=%(refname)", "refs/heads"]);
        let own = names.lines().find(|name| name.ends_with(&format!("/{run}")));
        own.unwrap_or("HEAD").to_owned()
    }

    /// What a file of the start folder is on the branch of a run.
    pub(crate) fn landed(&self, world: &World, run: &str, file: &str) -> Result<String, String> {
        let path = self.below().join(file);
        let name = format!("{}:{}", self.branch_of(world, run), path.display());
        self.try_git(world, &["cat-file", "blob", &name])
    }

    /// What a run that is over must not leave: checkouts, branches of tasks, folders.
    pub(crate) fn leftovers(&self, world: &World, run: &str) -> Vec<String> {
        let worktrees = self.git(world, &["worktree", "list", "--porcelain"]);
        let worktrees = worktrees.lines().filter(|line| line.starts_with("worktree ") && line.contains(run));
        let branches = self.git(world, &["for-each-ref", "--format=%(refname)", "refs/heads"]);
        let branches = branches.lines().filter(|name| name.contains(&format!("/{run}/")));
        let folder = world.home().join("runs").join(run).join("workspaces");
        let folder = folder.exists().then(|| folder.display().to_string());
        worktrees.chain(branches).map(str::to_owned).chain(folder).collect()
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Belongings {
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    staged: String,
    head: String,
    commit: String,
    refs: Vec<String>,
}

impl Belongings {
    /// What is another now, in words; nothing where all is as it was.
    pub(crate) fn changed_to(&self, now: &Belongings) -> Vec<String> {
        let mut changed = Vec::new();
        for name in self.files.keys().chain(now.files.keys()) {
            if self.files.get(name) != now.files.get(name) {
                changed.push(format!("file {}", name.display()));
            }
        }
        for (what, before, after) in [
            ("staged", &self.staged, &now.staged),
            ("HEAD", &self.head, &now.head),
            ("commit", &self.commit, &now.commit),
        ] {
            if before != after {
                changed.push(format!("{what}: {before} is {after}"));
            }
        }
        if self.refs != now.refs {
            changed.push(format!("refs: {:?} are {:?}", self.refs, now.refs));
        }
        changed.dedup();
        changed
    }
}

/// A first commit with the user's files.
fn begin(world: &World, place: &Place) {
    let mut init = vec!["init", "-q", "-b", "main"];
    match place.odd {
        Odd::Sha256 => init.push("--object-format=sha256"),
        Odd::Reftable => init.push("--ref-format=reftable"),
        _ => {}
    }
    place.git(world, &[init, vec!["."]].concat());
    place.sign(world);
    place.write("f.txt", "a\nb\nc\n");
    place.write(TRACKED, "the user's\n");
    place.git(world, &["add", "."]);
    place.git(world, &["commit", "-q", "-m", "start"]);
}
