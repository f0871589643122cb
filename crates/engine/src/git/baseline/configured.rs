//! The user's git as it is configured now: system, user, repository and environment, with everything they include.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::super::filters::{LFS, Refused, apart, programs};
use super::super::{GitError, Repository, bare_command, bytes, output};
use super::changes::Watched;
use super::planted::Places;
use super::{contains, path_of};

/// Patterns of the user and of the repository that `.gitignore` files do not have; those of the user alone.
pub(super) const EXCLUDES: &str = "exclude";
pub(super) const EXCLUDES_OF_MODULES: &str = "exclude.modules";
/// Attributes of the system and the user, which those of the tree go before.
pub(super) const GLOBAL_ATTRIBUTES: &str = "attributes";

/// How contents are stored and checked out, beside filters.
const LINE_ENDS: [&str; 4] = ["core.autocrlf", "core.eol", "core.safecrlf", "core.checkroundtripencoding"];

/// A key as git prints it and its last value; nothing where it stands without one.
type Settings = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Default)]
pub(super) struct Configured {
    all: Settings,
    /// Without what the repository itself says.
    outside: Settings,
    excludes: Vec<u8>,
    excludes_outside: Vec<u8>,
    attributes: Vec<u8>,
    attributes_outside: Vec<u8>,
    pub(super) programs: Vec<PathBuf>,
    pub(super) refused: Vec<Refused>,
    pub(super) refused_in_modules: Vec<Refused>,
    pub(super) places: Places,
    pub(super) watched: Watched,
}

/// What is written for our git.
pub(super) struct Files {
    pub(super) settings: Vec<u8>,
    pub(super) settings_of_modules: Vec<u8>,
    pub(super) own: Vec<u8>,
    pub(super) own_of_modules: Vec<u8>,
    pub(super) attributes: Vec<u8>,
    pub(super) excludes: Vec<u8>,
    pub(super) excludes_of_modules: Vec<u8>,
    pub(super) global_attributes: Vec<u8>,
}

impl Configured {
    pub(super) fn now(repository: &Repository) -> Result<Configured, GitError> {
        let mut now = Configured::default();
        let mut origins = now.read_settings(repository)?;
        let info = repository.common.join("info");
        let (ignore, known) =
            (now.user_file(repository, "core.excludesfile", "ignore"), info.join("exclude"));
        now.excludes_outside = text(ignore.as_deref());
        now.excludes = joined(&[&now.excludes_outside, &text(Some(&known))]);
        let own = now.user_file(repository, "core.attributesfile", "attributes");
        let system = system_attributes(repository);
        now.attributes_outside = joined(&[&text(system.as_deref()), &text(own.as_deref())]);
        now.attributes = text(Some(&info.join("attributes")));
        now.sort_filters(repository);
        origins.extend([ignore, own, system].into_iter().flatten());
        now.places = Places { common: repository.common.clone(), hooks: now.hooks(repository) };
        now.watched = Watched::of(repository, origins, &now.places);
        Ok(now)
    }

    /// Gives the files it comes from.
    fn read_settings(&mut self, repository: &Repository) -> Result<Vec<PathBuf>, GitError> {
        let mut command = as_the_user(repository);
        command.args(["config", "--list", "-z", "--show-scope", "--show-origin"]);
        let text = bytes(command)?;
        let parts: Vec<&[u8]> = text.split(|&byte| byte == 0).collect();
        let mut origins = Vec::new();
        for entry in parts.chunks_exact(3) {
            if let Some(path) = entry[1].strip_prefix(b"file:") {
                origins.push(repository.root.join(path_of(path)));
            }
            let (key, value) = match entry[2].iter().position(|&byte| byte == b'\n') {
                Some(at) => (&entry[2][..at], &entry[2][at + 1..]),
                None => (entry[2], b"true".as_slice()),
            };
            self.all.insert(key.to_vec(), value.to_vec());
            if !matches!(entry[0], b"local" | b"worktree") {
                self.outside.insert(key.to_vec(), value.to_vec());
            }
        }
        origins.sort();
        origins.dedup();
        Ok(origins)
    }

    /// The folder of hooks that a setting names, in place of the repository's own.
    fn hooks(&self, repository: &Repository) -> Option<PathBuf> {
        const KEY: &str = "core.hookspath";
        self.all.get(KEY.as_bytes()).and_then(|_| self.user_file(repository, KEY, "hooks"))
    }

    /// A file that a setting names, or the one git reads where none does.
    fn user_file(&self, repository: &Repository, key: &str, default: &str) -> Option<PathBuf> {
        let variable =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = variable("HOME");
        let Some(value) = self.all.get(key.as_bytes()) else {
            let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")))?;
            return Some(config.join("git").join(default));
        };
        match value.as_slice() {
            b"" => None,
            value if value.starts_with(b"~/") => Some(home?.join(path_of(&value[2..]))),
            value if value.starts_with(b"~") || value.starts_with(b"%(prefix)") => {
                let mut command = as_the_user(repository);
                command.args(["config", "--type=path", "--get", key]);
                output(command).ok().map(PathBuf::from)
            }
            value => Some(repository.root.join(path_of(value))),
        }
    }

    /// Which filters can be run, and which files of the checkout they are.
    fn sort_filters(&mut self, repository: &Repository) {
        let mut refused = Vec::new();
        let names: Vec<String> = self.filters().map(|(name, _)| name).collect();
        for name in names {
            for key in ["clean", "smudge", "process"] {
                let Some(command) = self.all.get(format!("filter.{name}.{key}").as_bytes()) else { continue };
                match programs(command, &repository.root, &repository.common) {
                    Ok(found) => self.programs.extend(found),
                    Err(why) => refused.push(Refused { filter: name.clone(), why }),
                }
            }
        }
        refused.dedup_by(|one, other| one.filter == other.filter);
        self.refused_in_modules = refused.clone();
        self.refused_in_modules.extend(self.known_to_modules_only(repository));
        self.refused = refused;
        self.programs.sort();
        self.programs.dedup();
    }

    /// Filters that only submodules' own configuration knows: theirs is not kept.
    fn known_to_modules_only(&self, repository: &Repository) -> Vec<Refused> {
        let mut names = Vec::new();
        for config in configs_below(&repository.common.join("modules"), 0) {
            if !contains(&fs::read(&config).unwrap_or_default(), b"[filter ") {
                continue;
            }
            let mut command = bare_command();
            command.args(["config", "--file"]).arg(&config).args([
                "--name-only",
                "--get-regexp",
                r"^filter\.",
            ]);
            let keys = output(command).unwrap_or_default();
            names.extend(keys.lines().filter_map(filter_of).map(str::to_owned));
        }
        names.sort();
        names.dedup();
        let here = |name: &String| name == LFS || is_filter(&self.outside, name);
        let why = "only a submodule's own configuration has it; configure it for the user instead: git config --global";
        names.retain(|name| !here(name));
        names.into_iter().map(|filter| Refused { filter, why: why.to_owned() }).collect()
    }

    /// All but the one that has a way of its own, with whether they are required.
    pub(super) fn filters(&self) -> impl Iterator<Item = (String, bool)> + '_ {
        let mut names: Vec<String> = self
            .all
            .keys()
            .filter_map(|key| filter_of(std::str::from_utf8(key).ok()?))
            .filter(|name| *name != LFS && is_filter(&self.all, name))
            .map(str::to_owned)
            .collect();
        names.dedup();
        names.into_iter().map(|name| {
            let required = self.all.get(format!("filter.{name}.required").as_bytes());
            let required = required.is_some_and(|value| {
                matches!(value.to_ascii_lowercase().as_slice(), b"true" | b"yes" | b"on" | b"1")
            });
            (name, required)
        })
    }

    /// How line ends are treated, as it is configured.
    pub(super) fn lines(&self) -> Vec<String> {
        let value = |key: &str| self.all.get(key.as_bytes()).map(|value| String::from_utf8_lossy(value));
        LINE_ENDS.iter().filter_map(|key| Some(format!("{key}={}", value(key)?))).collect()
    }

    pub(super) fn files(&self, folder: &Path, programs: &Path) -> Files {
        let text = |settings: &Settings, excludes: &str, refused: &[Refused], programs: Option<&Path>| {
            let mut out = section("core", None);
            for (key, name) in [("excludesFile", excludes), ("attributesFile", GLOBAL_ATTRIBUTES)] {
                line(&mut out, key, folder.join(name).as_os_str().as_bytes());
            }
            for key in LINE_ENDS {
                if let Some(value) = settings.get(key.as_bytes()) {
                    line(&mut out, &key["core.".len()..], value);
                }
            }
            for (name, _) in self.filters() {
                if refused.iter().any(|refused| refused.filter == name) || !is_filter(settings, &name) {
                    continue;
                }
                out.extend(section("filter", Some(&name)));
                for key in ["clean", "smudge", "process"] {
                    if let Some(command) = settings.get(format!("filter.{name}.{key}").as_bytes()) {
                        let apart = programs.map(|programs| apart(command, programs));
                        line(&mut out, key, apart.as_ref().unwrap_or(command));
                    }
                }
                if let Some(required) = settings.get(format!("filter.{name}.required").as_bytes()) {
                    line(&mut out, "required", required);
                }
            }
            out
        };
        Files {
            settings: text(&self.all, EXCLUDES, &self.refused, Some(programs)),
            settings_of_modules: text(
                &self.outside,
                EXCLUDES_OF_MODULES,
                &self.refused_in_modules,
                Some(programs),
            ),
            own: text(&self.all, EXCLUDES, &[], None),
            own_of_modules: text(&self.outside, EXCLUDES_OF_MODULES, &[], None),
            attributes: self.attributes.clone(),
            excludes: self.excludes.clone(),
            excludes_of_modules: self.excludes_outside.clone(),
            global_attributes: self.attributes_outside.clone(),
        }
    }
}

/// `filter.<name>.<key>`; a name may have dots in it.
fn filter_of(key: &str) -> Option<&str> {
    Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0)
}

/// Whether it does anything.
fn is_filter(settings: &Settings, name: &str) -> bool {
    let is_set = |key: &str| {
        settings.get(format!("filter.{name}.{key}").as_bytes()).is_some_and(|value| !value.is_empty())
    };
    ["clean", "smudge", "process", "required"].iter().any(|key| is_set(key))
}

/// Git as the user's own would be: their environment counts too. Only what is configured is asked; nothing runs.
fn as_the_user(repository: &Repository) -> std::process::Command {
    let mut command = bare_command();
    command.env_remove("GIT_ATTR_NOSYSTEM").current_dir(&repository.root);
    for (name, value) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_CONFIG") {
            command.env(name, value);
        }
    }
    command
}

fn system_attributes(repository: &Repository) -> Option<PathBuf> {
    if std::env::var_os("GIT_ATTR_NOSYSTEM").is_some_and(|value| value != "0") {
        return None;
    }
    let mut command = as_the_user(repository);
    command.args(["var", "GIT_ATTR_SYSTEM"]);
    output(command).ok().filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Git directories of submodules nest only below their own `modules`.
pub(super) fn configs_below(modules: &Path, depth: usize) -> Vec<PathBuf> {
    const DEEPEST: usize = 8;
    let mut found = Vec::new();
    for path in fs::read_dir(modules).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let config = path.join("config");
        if config.is_file() {
            found.push(config);
            found.extend(configs_below(&path.join("modules"), depth + 1));
        } else if depth < DEEPEST && path.is_dir() {
            found.extend(configs_below(&path, depth + 1));
        }
    }
    found
}

/// A file's content; nothing of what is none.
fn text(path: Option<&Path>) -> Vec<u8> {
    path.and_then(|path| fs::read(path).ok()).unwrap_or_default()
}

/// One after the other, each from the beginning of a line.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        out.extend(part.strip_prefix(b"\xef\xbb\xbf").unwrap_or(part));
        if out.last().is_some_and(|&byte| byte != b'\n') {
            out.push(b'\n');
        }
    }
    out
}

fn section(name: &str, of: Option<&str>) -> Vec<u8> {
    match of {
        None => format!("[{name}]\n").into_bytes(),
        Some(of) => format!("[{name} \"{}\"]\n", of.replace('\\', "\\\\").replace('"', "\\\"")).into_bytes(),
    }
}

/// The filters that settings of ours have.
pub(super) fn names(settings: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(settings);
    let heads = text.lines().filter_map(|line| line.strip_prefix("[filter \"")?.strip_suffix("\"]"));
    heads.map(|name| name.replace("\\\"", "\"").replace("\\\\", "\\")).collect()
}

fn line(out: &mut Vec<u8>, key: &str, value: &[u8]) {
    out.extend(format!("\t{key} = \"").bytes());
    for &byte in value {
        match byte {
            b'\\' | b'"' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\t' => out.extend(b"\\t"),
            byte => out.push(byte),
        }
    }
    out.extend(b"\"\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_several_files_are_joined_line_by_line() {
        assert_eq!(joined(&[b"\xef\xbb\xbfa", b"", b"b\n"]), b"a\nb\n");
    }

    #[test]
    fn a_value_is_written_as_git_reads_it_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        let value: &[u8] = b"sh -c 'x \"$1\" # \\d\t;' --\nnext";
        let mut out = section("filter", Some("a \"b\\c"));
        line(&mut out, "clean", value);
        fs::write(&file, out).unwrap();
        let mut command = bare_command();
        command.args(["config", "--file"]).arg(&file).args(["-z", "--list"]);
        assert_eq!(bytes(command).unwrap(), [b"filter.a \"b\\c.clean\n".as_slice(), value, b"\0"].concat());
    }

    #[test]
    fn the_name_of_a_filter_may_have_dots() {
        assert_eq!(filter_of("filter.a.b.clean"), Some("a.b"));
        assert_eq!(filter_of("core.bare"), None);
    }
}
