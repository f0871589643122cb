//! `.worktreeinclude`: ignored files of the user's checkout, such as `.env`, that a workspace needs as well.
//!
//! Its patterns are those of `.gitignore`. What they name is copied only if it is ignored on both sides: in the user's
//! checkout, since what is not ignored is the repository's own matter, and in the workspace, since it would be committed
//! with the task's work otherwise. What a workspace is for, and when it is made ready, is not known here.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::WorkspaceError;
use crate::git::list_files;
use crate::host::copies::{fill, open};

/// The file that names them, in the root of the checkout.
pub(super) const PATTERNS: &str = ".worktreeinclude";

/// What was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Included {
    pub(super) files: usize,
    pub(super) bytes: u64,
    /// What was asked for and not copied: something of the workspace's own stands there, it would be committed, or it may
    /// not be read.
    pub(super) left: Vec<PathBuf>,
}

/// Copies what the patterns in the checkout at `root` name into a workspace where no agent works yet. Both
/// are the top folders of their trees. A file that is there already and the same is not copied again. Blocks.
/// What `excludes` names is ignored beside what `.gitignore` files say, on both sides.
pub(super) fn copy_included(
    root: &Path,
    workspace: &Path,
    excludes: &Path,
) -> Result<Included, WorkspaceError> {
    let patterns = root.join(PATTERNS);
    if !patterns.is_file() {
        return Ok(Included::default());
    }
    let mut copying = Copying::new(root, workspace, excludes);
    for path in candidates(root, &patterns, excludes)? {
        copying.copy(&path).map_err(|source| WorkspaceError::File { path: workspace.join(&path), source })?;
    }
    copying.take_back_unignored()?;
    Ok(copying.done)
}

/// Files that both the patterns and the checkout's own rules ignore. Folders are named only where git does not look into
/// them: other repositories.
fn candidates(root: &Path, patterns: &Path, excludes: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
    let mut named = list_files(root, &["--others".into(), "--ignored".into(), from(patterns)])?;
    let unignored: HashSet<PathBuf> = list_files(root, &others(excludes))?.into_iter().collect();
    named.retain(|path| !unignored.contains(path) && !path.as_os_str().as_encoded_bytes().ends_with(b"/"));
    Ok(named)
}

fn from(patterns: &Path) -> OsString {
    let mut from = OsString::from("--exclude-from=");
    from.push(patterns);
    from
}

/// All that would be collected of a checkout and is not tracked.
fn others(excludes: &Path) -> [OsString; 3] {
    ["--others".into(), from(excludes), "--exclude-per-directory=.gitignore".into()]
}

/// What is on the way to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Open,
    /// A repository within the checkout begins here.
    Foreign,
    /// In the workspace there is something else than a folder.
    Blocked,
}

struct Copying<'a> {
    root: &'a Path,
    workspace: &'a Path,
    excludes: &'a Path,
    /// Folders that were looked at already.
    ways: HashMap<PathBuf, Way>,
    /// What the workspace's own commit holds; asked for when first needed.
    tracked: OnceCell<Option<HashSet<PathBuf>>>,
    copied: Vec<(PathBuf, u64)>,
    done: Included,
}

impl<'a> Copying<'a> {
    fn new(root: &'a Path, workspace: &'a Path, excludes: &'a Path) -> Copying<'a> {
        let (ways, copied, done) = (HashMap::new(), Vec::new(), Included::default());
        Copying { root, workspace, excludes, ways, tracked: OnceCell::new(), copied, done }
    }

    /// A file that went away meanwhile is none to be copied.
    fn copy(&mut self, path: &Path) -> io::Result<()> {
        let found = match fs::symlink_metadata(self.root.join(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        match self.way(path.parent().unwrap_or(Path::new("")))? {
            Way::Open => {}
            Way::Foreign => return Ok(()),
            Way::Blocked => return self.leave(path),
        }
        match found.is_symlink() {
            true => self.copy_link(path),
            false => self.copy_file(path, &found),
        }
    }

    fn leave(&mut self, path: &Path) -> io::Result<()> {
        self.done.left.push(path.to_owned());
        Ok(())
    }

    /// A link is copied as a link, wherever it leads.
    fn copy_link(&mut self, path: &Path) -> io::Result<()> {
        let (target, to) = (fs::read_link(self.root.join(path))?, self.workspace.join(path));
        if fs::read_link(&to).is_ok_and(|there| there == target) {
            return Ok(());
        }
        if !self.make_room(path)? {
            return self.leave(path);
        }
        symlink(target, to)?;
        self.copied.push((path.to_owned(), 0));
        Ok(())
    }

    fn copy_file(&mut self, path: &Path, found: &Metadata) -> io::Result<()> {
        let (from, to) = (self.root.join(path), self.workspace.join(path));
        if !found.is_file() || fs::symlink_metadata(&to).is_ok_and(|there| is_same(found, &there)) {
            return Ok(());
        }
        let source = match open(&from) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return self.leave(path),
            source => source?,
        };
        if !self.make_room(path)? {
            return self.leave(path);
        }
        self.copied.push((path.to_owned(), write_copy(&source, &to)?));
        Ok(())
    }

    /// Whether nothing stands at a path any more. What the workspace's commit holds, and folders, stay.
    fn make_room(&self, path: &Path) -> io::Result<bool> {
        let to = self.workspace.join(path);
        let there = match fs::symlink_metadata(&to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            there => there?,
        };
        if there.is_dir() || self.is_tracked(path) {
            return Ok(false);
        }
        fs::remove_file(to)?;
        Ok(true)
    }

    /// Where that cannot be told, everything that is there counts as the workspace's own.
    fn is_tracked(&self, path: &Path) -> bool {
        let ask = || list_files(self.workspace, &["--cached"]).ok().map(HashSet::from_iter);
        self.tracked.get_or_init(ask).as_ref().is_none_or(|tracked| tracked.contains(path))
    }

    /// The way to a folder in the workspace, made step by step: nothing is written through a link on it.
    fn way(&mut self, folder: &Path) -> io::Result<Way> {
        if let Some(&known) = self.ways.get(folder) {
            return Ok(known);
        }
        let (mut way, mut step) = (Way::Open, PathBuf::new());
        for part in folder.components() {
            step.push(part);
            way = match self.ways.get(&step) {
                Some(&known) => known,
                None => self.step(&step)?,
            };
            self.ways.insert(step.clone(), way);
            if way != Way::Open {
                break;
            }
        }
        self.ways.insert(folder.to_owned(), way);
        Ok(way)
    }

    fn step(&self, folder: &Path) -> io::Result<Way> {
        let (from, to) = (self.root.join(folder), self.workspace.join(folder));
        if folder.ends_with(".git") || fs::symlink_metadata(from.join(".git")).is_ok() {
            return Ok(Way::Foreign);
        }
        match fs::symlink_metadata(&to) {
            Ok(there) if there.is_dir() => Ok(Way::Open),
            Ok(_) => Ok(Way::Blocked),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // We must be able to fill the folder, even if the original is read-only.
                let mode = fs::metadata(&from).map_or(0o777, |found| found.mode() & 0o777 | 0o700);
                DirBuilder::new().mode(mode).create(&to).map(|()| Way::Open)
            }
            Err(error) => Err(error),
        }
    }

    /// The workspace's commit may ignore less than the user's checkout does, and only its own files are asked when its
    /// work is collected. A secret must not get into a commit by that.
    fn take_back_unignored(&mut self) -> Result<(), WorkspaceError> {
        let unignored = self.unignored()?;
        for (path, bytes) in std::mem::take(&mut self.copied) {
            if unignored.contains(&path) {
                let to = self.workspace.join(&path);
                fs::remove_file(&to).map_err(|source| WorkspaceError::File { path: to, source })?;
                self.done.left.push(path);
            } else {
                self.done.files += 1;
                self.done.bytes += bytes;
            }
        }
        Ok(())
    }

    /// Nothing is collected from a folder that is no checkout.
    fn unignored(&self) -> Result<HashSet<PathBuf>, WorkspaceError> {
        let is_checkout = fs::symlink_metadata(self.workspace.join(".git")).is_ok();
        if self.copied.is_empty() || !is_checkout {
            return Ok(HashSet::new());
        }
        let listed = list_files(self.workspace, &others(self.excludes))?;
        Ok(listed.into_iter().collect())
    }
}

/// As far as can be told without reading them.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    let facts = |found: &Metadata| (found.is_file(), found.len(), found.mtime(), found.mtime_nsec());
    facts(one) == facts(other)
}

/// Content, mode and time. What could not be written to its end does not stay.
fn write_copy(source: &File, to: &Path) -> io::Result<u64> {
    let found = source.metadata()?;
    // Others may not look into it before it has the mode it is to have.
    let target = File::options().write(true).create_new(true).mode(0o600).open(to)?;
    let written = fill(source, &target)
        .and_then(|()| target.set_permissions(Permissions::from_mode(found.mode() & 0o777)))
        .and_then(|()| target.set_modified(found.modified()?));
    if let Err(error) = written {
        let _ = fs::remove_file(to);
        return Err(error);
    }
    Ok(found.len())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use crate::git::users_git::{commit_all, git, init};

    /// A user's checkout and a linked worktree of the same commit.
    struct Lab {
        _dir: tempfile::TempDir,
        repo: PathBuf,
        workspace: PathBuf,
    }

    impl Lab {
        /// With these ignored by the commit, and these to be included.
        fn new(ignored: &str, included: &str) -> Lab {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            let lab = Lab { repo: root.join("repo"), workspace: root.join("workspace"), _dir: dir };
            fs::create_dir(&lab.repo).unwrap();
            init(&lab.repo);
            lab.write(".gitignore", ignored);
            lab.write("src/main", "code");
            commit_all(&lab.repo, "start");
            git(&lab.repo, &["worktree", "add", "-q", "--detach", lab.workspace.to_str().unwrap()]);
            lab.write(PATTERNS, included);
            lab
        }

        fn write(&self, path: impl AsRef<Path>, content: &str) {
            let path = self.repo.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        fn copy(&self) -> Included {
            copy_included(&self.repo, &self.workspace, &self.repo.join(".git/info/exclude")).unwrap()
        }

        fn workspace(&self, path: impl AsRef<Path>) -> Option<String> {
            fs::read_to_string(self.workspace.join(path)).ok()
        }

        /// What came into the workspace.
        fn arrived(&self) -> Vec<PathBuf> {
            list_files(&self.workspace, &["--others"]).unwrap()
        }
    }

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn ignored_files_that_are_named_are_copied_and_no_others() {
        let lab = Lab::new(
            ".env*\n/cache/\ndeep\nlocal.*\n",
            "# for every workspace\n.env*\n!.env.prod\n/cache/\nsub/deep/file\nuntracked\nsrc\n.gitignore\n",
        );
        for name in [".env", ".env.prod", "sub/.env.test", "cache/a", "cache/b/c", "sub/deep/file"] {
            lab.write(name, name);
        }
        for name in ["sub/deep/other", "local.conf", "untracked"] {
            lab.write(name, name);
        }
        lab.write("src/main", "changed by the user");
        let expected = [".env", "cache/a", "cache/b/c", "sub/.env.test", "sub/deep/file"];
        let bytes = expected.iter().map(|name| name.len() as u64).sum();
        assert_eq!(lab.copy(), Included { files: 5, bytes, left: Vec::new() });
        assert_eq!(lab.arrived(), paths(&expected));
        assert!(expected.iter().all(|name| lab.workspace(name).as_deref() == Some(name)));
        assert_eq!(lab.workspace("src/main").as_deref(), Some("code"));
    }

    #[test]
    fn without_patterns_git_is_not_even_asked() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            copy_included(dir.path(), &dir.path().join("none"), Path::new("")).unwrap(),
            Included::default()
        );
        fs::create_dir(dir.path().join(PATTERNS)).unwrap();
        assert_eq!(
            copy_included(dir.path(), &dir.path().join("none"), Path::new("")).unwrap(),
            Included::default()
        );
    }

    #[test]
    fn modes_times_links_and_odd_names_are_kept() {
        let lab = Lab::new("*.x\nout\n:(odd\n", "*.x\nout\n:(odd\n");
        let odd = [OsStr::new("new\nline.x"), OsStr::from_bytes(b"raw\xff\xfe.x"), OsStr::new(":(odd")];
        for name in odd {
            lab.write(name, "odd");
        }
        lab.write("run.x", "#!/bin/sh\n");
        fs::set_permissions(lab.repo.join("run.x"), Permissions::from_mode(0o750)).unwrap();
        symlink("/etc/nothing there", lab.repo.join("link.x")).unwrap();
        symlink("src", lab.repo.join("out")).unwrap();
        assert_eq!(lab.copy().files, 6);
        assert!(odd.iter().all(|name| lab.workspace(name).as_deref() == Some("odd")));
        let [from, to] = [&lab.repo, &lab.workspace].map(|root| fs::metadata(root.join("run.x")).unwrap());
        assert_eq!((from.mode(), from.modified().unwrap()), (to.mode(), to.modified().unwrap()));
        assert_eq!(fs::read_link(lab.workspace.join("link.x")).unwrap(), Path::new("/etc/nothing there"));
        assert_eq!(fs::read_link(lab.workspace.join("out")).unwrap(), Path::new("src"));
    }

    #[test]
    fn what_is_the_same_stays_and_what_differs_is_replaced() {
        let lab = Lab::new(".env\nlink\n", ".env\nlink\n");
        lab.write(".env", "one");
        symlink("a", lab.repo.join("link")).unwrap();
        assert_eq!(lab.copy().files, 2);
        assert_eq!(lab.copy().files, 0);
        fs::write(lab.workspace.join(".env"), "by the last attempt").unwrap();
        fs::remove_file(lab.workspace.join("link")).unwrap();
        symlink(lab.repo.join("src/main"), lab.workspace.join("link")).unwrap();
        assert_eq!(lab.copy().files, 2);
        assert_eq!(lab.workspace(".env").as_deref(), Some("one"));
        assert_eq!(fs::read_link(lab.workspace.join("link")).unwrap(), Path::new("a"));
    }

    #[test]
    fn nothing_is_written_through_a_link_or_over_a_tracked_file() {
        let lab = Lab::new("conf/\nkept\nfolder\nblock/\n.env\n", "conf/\nkept\nfolder\nblock/\n.env\n");
        let outside = lab.repo.with_file_name("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "keep").unwrap();
        symlink(&outside, lab.workspace.join("conf")).unwrap();
        symlink(outside.join("precious"), lab.workspace.join(".env")).unwrap();
        fs::write(lab.workspace.join("kept"), "landed").unwrap();
        fs::write(lab.workspace.join("block"), "a file").unwrap();
        fs::create_dir(lab.workspace.join("folder")).unwrap();
        git(&lab.workspace, &["add", "-f", "kept"]);
        for name in ["conf/precious", "conf/new", "kept", "folder", "block/file", ".env"] {
            lab.write(name, "from the checkout");
        }
        let done = lab.copy();
        assert_eq!(done.left, paths(&["block/file", "conf/new", "conf/precious", "folder", "kept"]));
        assert_eq!(done.files, 1, "a link in a file's own place is replaced");
        assert!(!lab.workspace.join(".env").is_symlink());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "keep");
        assert_eq!(lab.workspace("kept").as_deref(), Some("landed"));
    }

    #[test]
    fn repositories_within_are_never_copied() {
        let lab = Lab::new("vendor/\ninner/\n", "vendor/\ninner/\n");
        lab.write("vendor/file", "x");
        for place in ["vendor/nested", "inner"] {
            lab.write(Path::new(place).join("file"), "x");
            git(&lab.repo.join(place), &["init", "-q", "."]);
        }
        assert_eq!(lab.copy().files, 1);
        assert!(lab.workspace.join("vendor/file").exists());
        assert!(!lab.workspace.join("vendor/nested").exists() && !lab.workspace.join("inner").exists());
    }

    /// Ignored by rules that are the user's own, it would land on the branch with the first task's work.
    #[test]
    fn what_would_be_committed_with_the_work_is_taken_back() {
        let lab = Lab::new("", "secret\n.env\n");
        fs::create_dir_all(lab.repo.join(".git/info")).unwrap();
        fs::write(lab.repo.join(".git/info/exclude"), "secret\n").unwrap();
        lab.write(".gitignore", ".env\n");
        lab.write("secret", "x");
        lab.write("sub/.env", "y");
        assert_eq!(lab.copy(), Included { files: 1, bytes: 1, left: paths(&["sub/.env"]) });
        assert_eq!(
            lab.arrived(),
            paths(&["secret"]),
            "what the user ignores outside of the tree is not collected"
        );
    }

    #[test]
    fn a_folder_that_is_no_checkout_keeps_what_it_has() {
        let lab = Lab::new(".env*\n", ".env*\n");
        let scratch = lab.repo.with_file_name("scratch");
        fs::create_dir(&scratch).unwrap();
        fs::write(scratch.join(".env"), "its own").unwrap();
        lab.write(".env", "x");
        lab.write(".env.test", "y");
        let done = copy_included(&lab.repo, &scratch, &lab.repo.join(".git/info/exclude")).unwrap();
        assert_eq!(done, Included { files: 1, bytes: 1, left: paths(&[".env"]) });
        assert_eq!(fs::read_to_string(scratch.join(".env")).unwrap(), "its own");
    }

    #[test]
    fn nothing_planted_in_the_checkout_fires() {
        let lab = Lab::new(".env\n", ".env\n");
        let (fired, script) = (lab.repo.join(".git/fired"), lab.repo.join(".git/planted"));
        fs::write(&script, format!("#!/bin/sh\necho x >> {}\ncat\n", fired.display())).unwrap();
        fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        let script = script.to_str().unwrap();
        for key in ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process"] {
            git(&lab.repo, &["config", key, script]);
        }
        git(&lab.repo, &["config", "core.worktree", "/"]);
        lab.write(".git/info/attributes", "* filter=evil\n");
        lab.write(".env", "x");
        assert_eq!(lab.copy().files, 1);
        assert!(!fired.exists());
        git(&lab.repo, &["--work-tree", lab.repo.to_str().unwrap(), "status"]);
        assert!(fired.exists(), "git as it is does fire them");
    }
}
