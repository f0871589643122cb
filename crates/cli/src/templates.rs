//! Templates of task files: the repository's, the user's, and those that come with the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use conductor_engine::agents::subagents;
use conductor_engine::host::home::Home;
use minijinja::{Environment, UndefinedBehavior};

use crate::end_block::one_line;
use crate::error::{CliError, Exit};

/// Those that come with us.
const BUILT_IN: [(&str, &str); 3] = [
    ("docs", include_str!("templates/docs.yaml")),
    ("refactor", include_str!("templates/refactor.yaml")),
    ("tests", include_str!("templates/tests.yaml")),
];

pub(crate) struct Template {
    pub(crate) name: String,
    pub(crate) from: String,
    text: String,
}

/// The repository's, then the user's, then ours; a name counts where it is found first.
pub(crate) fn all() -> Result<Vec<Template>, CliError> {
    let here = std::env::current_dir()?;
    let mut found = folder(&subagents::root(&here).join(".conductor/templates"), "repository")?;
    if let Ok(home) = Home::root_of_environment() {
        found.extend(folder(&home.join("templates"), "user")?);
    }
    found.extend(BUILT_IN.map(|(name, text)| Template {
        name: name.to_owned(),
        from: "built in".to_owned(),
        text: text.to_owned(),
    }));
    let mut seen = BTreeSet::new();
    found.retain(|template| seen.insert(template.name.clone()));
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Every name, with what it is for; what cannot be read is left out.
pub(crate) fn names() -> Vec<(String, String)> {
    let all = all().unwrap_or_default();
    all.into_iter().map(|template| (template.name.clone(), template.about())).collect()
}

fn folder(folder: &Path, from: &str) -> Result<Vec<Template>, CliError> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "yaml" || kind == "yml"));
    files.sort();
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).map_err(|error| {
            CliError::new(Exit::InvalidFile, format!("cannot read the template {}: {error}", file.display()))
        })?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Template { name, from: from.to_owned(), text })
    };
    files.into_iter().map(read).collect()
}

impl Template {
    /// Its first line, where that is a remark.
    pub(crate) fn about(&self) -> String {
        let first = self.text.lines().next().unwrap_or_default();
        first.strip_prefix('#').map(|about| one_line(about.trim())).unwrap_or_default()
    }

    /// Its variables, and whether each must be given: one that has a default somewhere need not be.
    pub(crate) fn variables(&self) -> Result<BTreeMap<String, bool>, CliError> {
        let environment = environment();
        let template = environment.template_from_str(&self.text).map_err(|error| self.bad(&error))?;
        let functions: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
        let names = template.undeclared_variables(false).into_iter();
        Ok(names
            .filter(|name| !functions.contains(name.as_str()))
            .map(|name| (name.clone(), !has_default(&self.text, &name)))
            .collect())
    }

    pub(crate) fn render(&self, given: &BTreeMap<String, String>) -> Result<String, CliError> {
        let environment = environment();
        let template = environment.template_from_str(&self.text).map_err(|error| self.bad(&error))?;
        let text = template.render(given).map_err(|error| self.bad(&error))?;
        Ok(if text.ends_with('\n') { text } else { text + "\n" })
    }

    pub(crate) fn bad(&self, error: &minijinja::Error) -> CliError {
        let place = error.line().map(|line| format!(", line {line}")).unwrap_or_default();
        CliError::new(Exit::InvalidFile, format!("template '{}' ({}{place}): {error}", self.name, self.from))
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("as_name", as_name);
    environment
}

/// A text cut to what a task's name may have.
fn as_name(text: String) -> String {
    const MOST: usize = 100;
    match text.chars().count() <= MOST {
        true => text,
        false => text.chars().take(MOST - 1).chain(['…']).collect(),
    }
}

fn has_default(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let rest = text[at + name.len()..].trim_start();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.')
            && rest.strip_prefix('|').is_some_and(|rest| rest.trim_start().starts_with("default"))
    })
}
