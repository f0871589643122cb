//! What is known of a launch and of the place it works in, as the core wants it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use conductor_core::confinement::{Confinement, GitPlace, PROTECTED, Surroundings};

use super::super::{Launch, located};
use super::text;

/// Where a process works.
#[derive(Debug, Clone)]
pub struct Works {
    /// The state directory of all runs.
    pub state: PathBuf,
    /// The root of the folder.
    pub tree: PathBuf,
    pub git: GitPlace,
    /// The git directories of the submodules in there.
    pub modules: Vec<PathBuf>,
    /// What its own git directory knows of worktrees: a folder for each.
    pub worktrees: Vec<PathBuf>,
    /// Objects of the repository's submodules.
    pub lent: Vec<PathBuf>,
}

pub fn surroundings(launch: &Launch, works: &Works) -> Surroundings {
    let variables = launch
        .env
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    let executable = executable(launch);
    let mut needed: Vec<PathBuf> = executable.iter().flat_map(|file| installed_in(file)).collect();
    needed.extend(libraries(launch.env.get(OsStr::new("PATH")).map(|path| path.as_os_str())));
    needed.extend(alternates(&works.git));
    let named = Some(PathBuf::from(&launch.program)).filter(|program| program.is_absolute());
    let temporary = launch.env.get(OsStr::new("TMPDIR")).map(PathBuf::from);
    Surroundings {
        variables: variables.collect(),
        program: launch.program.to_string_lossy().into_owned(),
        executable: executable.iter().chain(&named).map(|file| text(file)).collect(),
        needed: needed.iter().map(|path| text(path)).collect(),
        state: text(&works.state),
        tree: text(&works.tree),
        // Only what was made for the attempt; the user's own holds what others left there.
        temporary: temporary.filter(|folder| folder.starts_with(&works.state)).as_deref().map(text),
        git: works.git.clone(),
        modules: works.modules.iter().map(|path| text(path)).collect(),
        worktrees: works.worktrees.iter().map(|path| text(path)).collect(),
        lent: works.lent.iter().map(|path| text(path)).collect(),
        present: PROTECTED
            .iter()
            .filter(|path| is_plain(&works.tree, path))
            .map(|path| (*path).to_owned())
            .collect(),
    }
}

/// Without what a link could have been put in the way of.
pub fn plain(confinement: Confinement) -> Confinement {
    confinement.without_links(&|folder, path| is_plain(Path::new(folder), path))
}

/// The file of the program, without links.
pub fn executable(launch: &Launch) -> Option<PathBuf> {
    let program = located(launch);
    let is_found = program.as_os_str().as_encoded_bytes().contains(&b'/');
    is_found.then(|| launch.directory.join(program).canonicalize().ok()).flatten()
}

/// Whether there is such a path, and no part of it is a link: an agent could have put one there.
fn is_plain(tree: &Path, path: &str) -> bool {
    let mut whole = tree.to_owned();
    let parts = Path::new(path).components();
    let kinds: Vec<Option<fs::FileType>> = parts
        .map(|part| {
            whole.push(part);
            whole.symlink_metadata().ok().map(|found| found.file_type())
        })
        .collect();
    kinds.iter().all(|kind| kind.is_some_and(|kind| kind.is_dir() || kind.is_file()))
}

/// Folders a program reads beside its own file.
fn installed_in(file: &Path) -> Vec<PathBuf> {
    let modules = file.ancestors().filter(|folder| folder.ends_with("node_modules")).last();
    let own = modules.or_else(|| file.parent()).map(Path::to_owned);
    let beside = file.parent().into_iter().flat_map(beside_programs);
    own.into_iter().chain(beside).collect()
}

fn libraries(path: Option<&OsStr>) -> Vec<PathBuf> {
    let folders = path.into_iter().flat_map(std::env::split_paths);
    folders.filter(|folder| folder.is_absolute()).flat_map(|folder| beside_programs(&folder)).collect()
}

/// What programs in a `bin` folder find beside it.
fn beside_programs(folder: &Path) -> Vec<PathBuf> {
    let (Some(parent), true) = (folder.parent(), folder.ends_with("bin")) else { return Vec::new() };
    let names = ["lib", "libexec", "pyvenv.cfg"];
    names.iter().map(|name| parent.join(name)).filter(|path| path.exists()).collect()
}

/// Other repositories whose objects one reads.
fn alternates(git: &GitPlace) -> Vec<PathBuf> {
    let common = match git {
        GitPlace::Worktree { common, .. } => common,
        GitPlace::Clone { of } => of,
        GitPlace::None | GitPlace::Inside | GitPlace::Pointed => return Vec::new(),
    };
    let named = fs::read_to_string(Path::new(common).join("objects/info/alternates")).unwrap_or_default();
    named.lines().map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}
