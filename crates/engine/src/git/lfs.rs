//! Git LFS in the shadow: files whose content is kept beside the repository, and of which git has only a pointer.
//!
//! Contents are put into a checkout by ourselves, from the store on this machine. The program would go to the network
//! for one that is not there, by whatever the repository or `.lfsconfig` names as the way, and where that fails it leaves
//! an empty file. The way back, from a content to its pointer, is left to the program as a filter of git: it only reads
//! what git hands it and writes to the store. It is the one that was installed when the run began, and it is shown
//! neither the checkout nor the index, since an agent could have put settings for it there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::index::Index;
use super::{GitError, Shadow, bytes, with_input};
use crate::host::copies;

/// No pointer is longer.
const LONGEST_POINTER: u64 = 1024;

/// Filled files are this much older than they are. Git looks into a file that is as young as its index, and would find
/// the content where it expects the pointer.
const AGED: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(super) struct Lfs {
    program: PathBuf,
    /// Contents by their hashes.
    store: PathBuf,
}

/// The program, if it is installed. Relative folders in PATH are skipped: they differ by working directory.
pub(super) fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("git-lfs"))
        .find(is_program)
}

/// What became of one file of a checkout.
enum Filled {
    /// It is no pointer, or not any more.
    Already,
    Now(Metadata),
    /// Its content is not on this machine.
    Not,
}

impl Lfs {
    pub(super) fn new(program: PathBuf, git: &Path) -> Lfs {
        Lfs { program, store: git.join("lfs") }
    }

    /// The same program for another git directory's store.
    pub(super) fn of(&self, git: &Path) -> Lfs {
        Lfs::new(self.program.clone(), git)
    }

    /// Whether there can be pointers in a checkout, told without a program. Where only a folder below its root speaks
    /// of them and no content was ever stored, none could be put in anyway.
    fn is_used(&self, tree: &Path) -> bool {
        let attributes = || fs::read(tree.join(".gitattributes")).unwrap_or_default();
        self.store.is_dir() || attributes().windows(10).any(|part| part == b"filter=lfs")
    }

    fn object(&self, oid: &str) -> PathBuf {
        self.store.join("objects").join(&oid[..2]).join(&oid[2..4]).join(oid)
    }

    /// Has git turn contents into pointers. Started by git only where a file's attributes ask for it.
    pub(super) fn clean_with(&self, command: &mut Command, shadow: &Path) {
        let mut filter = OsString::from("filter.lfs.process=GIT_WORK_TREE=");
        filter.push(quoted(&shadow.join("info")));
        filter.push(" GIT_INDEX_FILE=");
        filter.push(quoted(&shadow.join("none")));
        filter.push(" ");
        filter.push(quoted(&self.program));
        filter.push(" filter-process");
        let mut store = OsString::from("lfs.storage=");
        store.push(&self.store);
        // A content that cannot be stored must not get into the repository in its pointer's place.
        let required = OsString::from("filter.lfs.required=true");
        for setting in [filter, store, required] {
            command.arg("-c").arg(setting);
        }
    }

    /// Puts a pointer's content in its place.
    fn fill(&self, path: &Path) -> io::Result<Filled> {
        let found = fs::symlink_metadata(path)?;
        if !found.is_file() || found.len() > LONGEST_POINTER {
            return Ok(Filled::Already);
        }
        let mut text = Vec::new();
        copies::open(path)?.read_to_end(&mut text)?;
        let Some(pointer) = pointer(&text) else { return Ok(Filled::Already) };
        let Some(content) = self.content(&pointer) else { return Ok(Filled::Not) };
        fs::remove_file(path)?;
        let target = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        copies::fill(&content, &target)?;
        target.set_permissions(Permissions::from_mode(found.mode() & 0o777))?;
        target.set_modified(SystemTime::now() - AGED)?;
        target.metadata().map(Filled::Now)
    }

    fn content(&self, pointer: &Pointer) -> Option<File> {
        let content = copies::open(&self.object(&pointer.oid)).ok()?;
        let found = content.metadata().ok()?;
        (pointer.is_plain && found.is_file() && found.len() == pointer.size).then_some(content)
    }

    /// What another store has and ours has not, by their names in it.
    fn unknown(&self, foreign: &Path) -> Vec<String> {
        let below = |folder: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect()
        };
        let is_file = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        let files = below(foreign).into_iter().flat_map(|path| below(&path)).flat_map(|path| below(&path));
        files
            .filter(is_file)
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .filter(|name| is_oid(name) && !self.object(name).exists())
            .map(|name| format!("{}/{}/{name}", &name[..2], &name[2..4]))
            .collect()
    }
}

/// For the shell by which git starts filters.
pub(super) fn quoted(path: &Path) -> OsString {
    let mut out = vec![b'\''];
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'\'' => out.extend(br"'\''"),
            byte => out.push(byte),
        }
    }
    out.push(b'\'');
    OsString::from_vec(out)
}

#[derive(Debug, PartialEq, Eq)]
struct Pointer {
    oid: String,
    size: u64,
    /// No program of the user's own has to be asked for the content.
    is_plain: bool,
}

/// A few lines of `<key> <value>`, the version first.
fn pointer(text: &[u8]) -> Option<Pointer> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
    lines.next().filter(|(key, value)| *key == "version" && value.ends_with("/spec/v1"))?;
    let (mut oid, mut size, mut is_plain) = (None, None, true);
    for (key, value) in lines {
        match key {
            "oid" => oid = value.strip_prefix("sha256:").filter(|oid| is_oid(oid)),
            "size" => size = value.parse().ok(),
            key if key.starts_with("ext-") => is_plain = false,
            _ => return None,
        }
    }
    Some(Pointer { oid: oid?.to_owned(), size: size?, is_plain })
}

fn is_oid(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Whether a file is a pointer that a merge has put the marks of a conflict into. As a file's content it would be stored
/// like any other, and the commit would show nothing of it.
pub fn is_torn(path: &Path) -> bool {
    let small = fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() < 4096);
    let text = if small { fs::read(path).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&text);
    text.starts_with("version ") && text.contains("\noid sha256:") && text.contains("\n<<<<<<< ")
}

impl Shadow {
    /// Puts contents in the place of the pointers that were just checked out. How many are still pointers.
    pub(super) fn fill_in(&self, tree: &Path, index: &Path) -> Result<usize, GitError> {
        let Some(lfs) = self.lfs.as_ref().filter(|lfs| lfs.is_used(tree)) else { return Ok(0) };
        let mut list = self.in_tree(tree, index);
        list.args(["ls-files", "-z", "--", ":(top,attr:filter=lfs)"]);
        let names = bytes(list)?;
        let mut known = Index::read(index, self.sha256).map_err(|source| file(index, source))?;
        let (mut now, mut not) = (0, 0);
        for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
            let name = Path::new(OsStr::from_bytes(name));
            let path = tree.join(name);
            match lfs.fill(&path).map_err(|source| file(&path, source))? {
                Filled::Already => {}
                Filled::Not => not += 1,
                Filled::Now(found) => {
                    known.stamp(name, &found);
                    now += 1;
                }
            }
        }
        if now > 0 {
            known.write(index).map_err(|source| file(index, source))?;
        }
        Ok(not)
    }

    /// Copies contents from the LFS store of a git directory that an agent wrote to. The names there may be
    /// false, so each content is stored under its own hash.
    pub fn take_contents(&self, git: &Path) -> Result<(), GitError> {
        let Some(lfs) = &self.lfs else { return Ok(()) };
        let foreign = git.join("lfs/objects");
        let unknown = lfs.unknown(&foreign);
        if unknown.is_empty() {
            return Ok(());
        }
        let attributes = self.directory.join("info/all");
        fs::write(&attributes, "* filter=lfs\n").map_err(|source| file(&attributes, source))?;
        let mut command = self.in_tree(&foreign, &self.directory.join("none"));
        lfs.clean_with(&mut command, &self.directory);
        let mut setting = OsString::from("core.attributesFile=");
        setting.push(attributes);
        command.arg("-c").arg(setting).args(["hash-object", "--stdin-paths"]);
        with_input(command, format!("{}\n", unknown.join("\n")).as_bytes()).map(drop)
    }

    /// The tree of all that is in a folder, for a look: contents do not get into the store.
    pub fn look(&self, tree: &Path, index: &Path) -> Result<String, GitError> {
        let lfs = self.lfs.as_ref().map(|lfs| lfs.of(&self.directory));
        let looking = Shadow { lfs, lasts: false, ..self.clone() };
        looking.add_all(tree, index)?;
        let _ = fs::remove_dir_all(self.directory.join("lfs"));
        looking.tree_of(tree, index)
    }

    /// As it is where the program is not installed.
    #[cfg(test)]
    pub(crate) fn without_lfs(self) -> Shadow {
        Shadow { lfs: None, ..self }
    }

    /// How git in a directory of its own is to treat these files. Nothing runs where there are none.
    pub fn lfs_settings(&self) -> String {
        let program = self.lfs.as_ref().map(|lfs| lfs.program.display().to_string()).unwrap_or_default();
        if program.is_empty() || program.contains(['"', '\\', '\'', ' ', '\n', ';', '#']) {
            return String::new();
        }
        format!(
            "[filter \"lfs\"]\n\tclean = {program} clean -- %f\n\tsmudge = {program} smudge -- %f\n\tprocess = \
             {program} filter-process\n\trequired = true\n"
        )
    }
}

fn file(path: &Path, source: io::Error) -> GitError {
    GitError::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OID: &str = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";

    #[test]
    fn a_pointer_is_read_and_nothing_else_is_taken_for_one() {
        let text = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 12345\n");
        let plain = Pointer { oid: OID.into(), size: 12345, is_plain: true };
        assert_eq!(pointer(text.as_bytes()), Some(plain));
        let extended = text.replace("oid ", &format!("ext-0-foo sha256:{OID}\noid "));
        assert!(!pointer(extended.as_bytes()).unwrap().is_plain);
        for other in [
            "",
            "version 1.2\n",
            "text\n",
            &text.replace("sha256:4", "sha256:../4"),
            &text.replace("size 12345\n", ""),
            &text.replace("size 12345", "size many"),
            &format!("{text}<<<<<<< ours\n"),
        ] {
            assert_eq!(pointer(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_path_is_quoted_for_the_shell() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }

    #[test]
    fn a_pointer_with_a_conflict_in_it_is_torn() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 1\n");
        let torn = format!("version https://x/spec/v1\n<<<<<<< a\noid sha256:{OID}\n=======\n>>>>>>> b\n");
        for (text, expected) in [(pointer.as_str(), false), (&torn, true), ("<<<<<<< a\n", false)] {
            fs::write(&path, text).unwrap();
            assert_eq!(is_torn(&path), expected, "{text}");
        }
        assert!(!is_torn(&dir.path().join("none")));
    }
}
