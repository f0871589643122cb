//! The baseline: what decides how the user's git treats contents, as it was when the run started.
//!
//! It is taken once, before the first task works, and kept with the run in files that only the user can read. Our own git
//! (the shadow) goes by it and by nothing else, on a resume too: what an agent plants in the repository's configuration
//! meanwhile is compared with it and reported (`changes`), never used. What is done about a change is not known here.

mod changes;
mod configured;
mod planted;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub use self::changes::Difference;
use self::changes::{Kept, Stamp};
use self::configured::{Configured, Files};
use self::planted::Places;
use super::filters::{self, Refused};
use super::{GitError, Repository};

/// What our git includes; the same without what is the repository's own, for its submodules.
const SETTINGS: &str = "settings";
const MODULES: &str = "settings.modules";
/// The same with filters as they are configured, for git directories that are an agent's own.
const OWN: &str = "settings.own";
const OWN_MODULES: &str = "settings.own.modules";
/// The highest of all attributes, for which git has only one place.
const ATTRIBUTES: &str = "attributes.info";
/// The checkout, its git directory, and the folder that `core.hooksPath` names.
const PLACE: &str = "place";
/// Which objects were replaced by which others.
const REPLACED: &str = "replaced";
/// Which filters do not run, and why; in submodules.
const REFUSED: &str = "refused";
const REFUSED_MODULES: &str = "refused.modules";
/// What is compared later, and a copy of each file.
const FILES: &str = "files";
/// Programs of the checkout that filters are.
const PROGRAMS: &str = "programs";
/// Where git-crypt looks for its keys, below a git directory.
pub(super) const KEYS: &str = "git-crypt";

#[derive(Debug)]
pub struct Baseline {
    folder: PathBuf,
    root: PathBuf,
    /// Where something can appear that was not there.
    places: Places,
    replaced: BTreeMap<String, String>,
    kept: Vec<Kept>,
    refused: Vec<Refused>,
    refused_in_modules: Vec<Refused>,
    /// Programs of the user's that contents pass through.
    filters: Vec<String>,
    /// Whether it was there already.
    taken_up: bool,
    seen: Mutex<Option<Stamp>>,
}

impl Baseline {
    /// The one that is kept at a folder; where there is none yet, the user's git as it is now is kept there.
    pub fn open(repository: &Repository, folder: &Path) -> Result<Baseline, GitError> {
        let at = |source| GitError::File { path: folder.to_owned(), source };
        let taken_up = folder.join(FILES).is_file();
        if !taken_up {
            let text = Configured::now(repository)?;
            write(repository, &text, folder).map_err(at)?;
        }
        let baseline = Baseline { taken_up, ..Baseline::read(folder).map_err(at)? };
        if (&baseline.root, &baseline.places.common) != (&repository.root, &repository.common) {
            // `core.worktree` and the like: nothing is done in another folder than the run was started in.
            return Err(baseline.changed());
        }
        Ok(baseline)
    }

    /// The one that is kept at a folder.
    pub fn read(folder: &Path) -> io::Result<Baseline> {
        let place = fs::read(folder.join(PLACE))?;
        let mut place = place.split(|&byte| byte == 0).map(path_of);
        let (root, common) = (place.next().unwrap_or_default(), place.next().unwrap_or_default());
        let hooks = place.next().filter(|path| !path.as_os_str().is_empty());
        // Runs of earlier versions have kept none.
        let replaced = fs::read_to_string(folder.join(REPLACED)).unwrap_or_default();
        Ok(Baseline {
            kept: changes::read(folder)?,
            refused: read_refused(&folder.join(REFUSED))?,
            refused_in_modules: read_refused(&folder.join(REFUSED_MODULES))?,
            filters: configured::names(&fs::read(folder.join(SETTINGS))?),
            folder: folder.to_owned(),
            root,
            places: Places { common, hooks },
            replaced: planted::read(&replaced),
            taken_up: true,
            seen: Mutex::new(None),
        })
    }

    pub(super) fn changed(&self) -> GitError {
        let what = self.differences().into_iter().map(|differs| differs.words).collect();
        GitError::SettingsChanged { what, before: self.folder.clone() }
    }

    /// Whether an earlier coordinator of the run has taken it.
    pub fn is_taken_up(&self) -> bool {
        self.taken_up
    }

    pub(super) fn settings(&self, in_modules: bool) -> PathBuf {
        self.folder.join(if in_modules { MODULES } else { SETTINGS })
    }

    pub(super) fn attributes(&self) -> io::Result<Vec<u8>> {
        fs::read(self.folder.join(ATTRIBUTES))
    }

    /// The keys of git-crypt, where the repository has some.
    pub(super) fn keys(&self) -> Option<PathBuf> {
        Some(self.folder.join(KEYS)).filter(|keys| keys.is_dir())
    }

    /// What is ignored beside what `.gitignore` files say, as patterns in a file.
    pub(crate) fn excludes(&self) -> PathBuf {
        self.folder.join(configured::EXCLUDES)
    }

    /// Filters that are not run here.
    pub fn all_refused(&self) -> &[Refused] {
        &self.refused
    }

    pub(super) fn refused(&self, in_modules: bool) -> &[Refused] {
        if in_modules { &self.refused_in_modules } else { &self.refused }
    }

    pub(super) fn filters(&self) -> &[String] {
        &self.filters
    }

    /// For a git directory of a workspace's own: there the agent's git runs filters as the user's would.
    pub(super) fn own_settings(&self, in_modules: bool) -> Vec<u8> {
        fs::read(self.folder.join(if in_modules { OWN_MODULES } else { OWN })).unwrap_or_default()
    }
}

/// All of it appears at once: a coordinator that dies meanwhile leaves nothing that could be taken for a baseline.
fn write(repository: &Repository, now: &Configured, folder: &Path) -> io::Result<()> {
    let draft = folder.with_extension(format!("{}.new", std::process::id()));
    let done = write_draft(repository, now, &draft, folder).and_then(|()| fs::rename(&draft, folder));
    if done.is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    // Where another process was faster, its is as good.
    done.or_else(|error| if folder.join(FILES).is_file() { Ok(()) } else { Err(error) })
}

fn write_draft(repository: &Repository, now: &Configured, draft: &Path, folder: &Path) -> io::Result<()> {
    private_folder(draft)?;
    let Files {
        settings,
        settings_of_modules,
        own,
        own_of_modules,
        attributes,
        excludes,
        excludes_of_modules,
        global_attributes,
    } = now.files(folder, &folder.join(PROGRAMS));
    for (name, text) in [
        (SETTINGS, settings),
        (MODULES, settings_of_modules),
        (OWN, own),
        (OWN_MODULES, own_of_modules),
        (ATTRIBUTES, attributes),
        (configured::EXCLUDES, excludes),
        (configured::EXCLUDES_OF_MODULES, excludes_of_modules),
        (configured::GLOBAL_ATTRIBUTES, global_attributes),
        (PLACE, place(repository, &now.places)),
        (REPLACED, planted::written(&now.places.replaced())),
        (REFUSED, written_refused(&now.refused)),
        (REFUSED_MODULES, written_refused(&now.refused_in_modules)),
    ] {
        private_file(&draft.join(name), &text)?;
    }
    let programs = draft.join(PROGRAMS);
    private_folder(&programs)?;
    for path in &now.programs {
        copy_program(&repository.root, path, &programs)?;
    }
    copy_keys(&repository.common.join(KEYS), &draft.join(KEYS))?;
    changes::write(&now.watched, draft)
}

fn place(repository: &Repository, places: &Places) -> Vec<u8> {
    let hooks = places.hooks.as_deref().unwrap_or(Path::new(""));
    [&*repository.root, &*repository.common, hooks].map(|path| path.as_os_str().as_bytes()).join(&0)
}

/// What a filter runs is what it was when the run started, at the same place below the folder filters run in.
fn copy_program(root: &Path, path: &Path, programs: &Path) -> io::Result<()> {
    let to = programs.join(path);
    fs::create_dir_all(to.parent().unwrap_or(programs))?;
    fs::copy(root.join(path), to).map(drop)
}

fn copy_keys(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Err(_) => return Ok(()),
        Ok(entries) => entries,
    };
    private_folder(to)?;
    for entry in entries {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => copy_keys(&entry.path(), &to.join(entry.file_name()))?,
            kind if kind.is_file() => private_file(&to.join(entry.file_name()), &fs::read(entry.path())?)?,
            _ => {}
        }
    }
    Ok(())
}

fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn private_file(path: &Path, text: &[u8]) -> io::Result<()> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(text)
}

fn written_refused(refused: &[Refused]) -> Vec<u8> {
    let entry = |Refused { filter, why }: &Refused| format!("{filter}\0{why}\0").into_bytes();
    refused.iter().flat_map(entry).collect()
}

fn read_refused(path: &Path) -> io::Result<Vec<Refused>> {
    let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
    let mut parts = text.split('\0').map(str::to_owned);
    Ok(std::iter::from_fn(|| Some(Refused { filter: parts.next()?, why: parts.next()? })).collect())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// A path as the user knows it.
fn shown(path: &Path, root: &Path) -> String {
    if let Ok(inside) = path.strip_prefix(root) {
        return inside.display().to_string();
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    match home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}

/// How contents are treated here, for a user who wants to know before anything starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Filters that run, with whether git must not do without them.
    pub filters: Vec<(String, bool)>,
    pub refused: Vec<Refused>,
    /// Filters that attributes of tracked files name and no configuration knows: contents are stored as they are.
    pub unknown: Vec<String>,
    /// How line ends are treated, as configured.
    pub lines: Vec<String>,
}

impl Repository {
    /// How the user's git treats contents in this checkout now.
    pub fn content(&self) -> Result<Content, GitError> {
        let now = Configured::now(self)?;
        let used = self.filters_in_use()?;
        let known = |name: &String| name == filters::LFS || now.filters().any(|(known, _)| known == *name);
        Ok(Content {
            unknown: used.into_iter().filter(|name| !known(name)).collect(),
            filters: now
                .filters()
                .filter(|(name, _)| !now.refused.iter().any(|refused| refused.filter == *name))
                .collect(),
            lines: now.lines(),
            refused: now.refused,
        })
    }

    /// The filters that attributes of tracked files name.
    fn filters_in_use(&self) -> Result<Vec<String>, GitError> {
        let names = super::list_files::<&OsStr>(&self.root, &[])?;
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_os_str().as_bytes()).collect();
        let mut command = super::deaf(&self.root);
        command.env_remove("GIT_ATTR_NOSYSTEM");
        command.env("GIT_WORK_TREE", &self.root).args(["check-attr", "-z", "--stdin", "filter"]);
        let text = super::said(command, &names.join(&0))?;
        let parts: Vec<&[u8]> = text.split(|&byte| byte == 0).collect();
        let mut used: Vec<String> = parts
            .chunks_exact(3)
            .map(|entry| String::from_utf8_lossy(entry[2]).into_owned())
            .filter(|name| !matches!(name.as_str(), "unspecified" | "unset" | "set"))
            .collect();
        used.sort();
        used.dedup();
        Ok(used)
    }
}
