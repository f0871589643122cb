//! `conductor template`: task files made from templates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use conductor_core::values::suggest::did_you_mean;
use conductor_engine::agents::subagents;
use conductor_engine::host::home::Home;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::json;

use super::{answer, answer_either, answer_json};
use crate::args::{self, TemplateNew};
use crate::diagnostics;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::table::columns;
use crate::writing;

/// Those that come with us.
const BUILT_IN: [(&str, &str); 3] = [
    ("docs", include_str!("template/docs.yaml")),
    ("refactor", include_str!("template/refactor.yaml")),
    ("tests", include_str!("template/tests.yaml")),
];

struct Template {
    name: String,
    from: String,
    text: String,
}

pub(crate) fn run(template: &args::Template) -> Result<Exit, CliError> {
    match template {
        args::Template::List(args) => list(args.json),
        args::Template::New(args) => new(args),
    }
}

/// The repository's, then the user's, then ours; a name counts where it is found first.
fn all() -> Result<Vec<Template>, CliError> {
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
    fn about(&self) -> String {
        let first = self.text.lines().next().unwrap_or_default();
        first.strip_prefix('#').map(|about| one_line(about.trim())).unwrap_or_default()
    }

    /// Its variables, and whether each must be given: one that has a default somewhere need not be.
    fn variables(&self) -> Result<BTreeMap<String, bool>, CliError> {
        let environment = environment();
        let template = environment.template_from_str(&self.text).map_err(|error| self.bad(&error))?;
        let functions: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
        let names = template.undeclared_variables(false).into_iter();
        Ok(names
            .filter(|name| !functions.contains(name.as_str()))
            .map(|name| (name.clone(), !has_default(&self.text, &name)))
            .collect())
    }

    fn render(&self, given: &BTreeMap<String, String>) -> Result<String, CliError> {
        let environment = environment();
        let template = environment.template_from_str(&self.text).map_err(|error| self.bad(&error))?;
        let text = template.render(given).map_err(|error| self.bad(&error))?;
        Ok(if text.ends_with('\n') { text } else { text + "\n" })
    }

    fn bad(&self, error: &minijinja::Error) -> CliError {
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

fn list(as_json: bool) -> Result<Exit, CliError> {
    let templates = all()?;
    if as_json {
        let mut told = Vec::new();
        for template in &templates {
            let variables: Vec<_> = template
                .variables()?
                .into_iter()
                .map(|(name, required)| json!({ "name": name, "required": required }))
                .collect();
            let (name, from, about) = (&template.name, &template.from, template.about());
            told.push(json!({ "name": name, "from": from, "about": about, "variables": variables }));
        }
        answer_json(&json!({ "schema": "conductor.templates/1", "templates": told }))?;
        return Ok(Exit::Done);
    }
    let mut rows = Vec::new();
    for template in &templates {
        let shown = |(name, required): (String, bool)| if required { name } else { format!("[{name}]") };
        let variables = match template.variables() {
            Ok(variables) => variables.into_iter().map(shown).collect::<Vec<_>>().join(" "),
            Err(_) => "(cannot be read)".to_owned(),
        };
        rows.push([template.name.clone(), template.from.clone(), variables, template.about()]);
    }
    answer(&columns(["TEMPLATE", "FROM", "VARIABLES", "WHAT FOR"], rows))?;
    Ok(Exit::Done)
}

fn new(args: &TemplateNew) -> Result<Exit, CliError> {
    let templates = all()?;
    let Some(template) = templates.iter().find(|template| template.name == args.name) else {
        let cli_error =
            CliError::new(Exit::Usage, format!("there is no template '{}'", one_line(&args.name)));
        return Err(
            match did_you_mean(&args.name, templates.iter().map(|template| template.name.as_str())) {
                Some(meant) => cli_error.help(format!("did you mean '{meant}'?")),
                None => cli_error.help("see `conductor template list`"),
            },
        );
    };
    let given: BTreeMap<String, String> = args.variables.iter().cloned().collect();
    check_variables(template, &given)?;
    let text = template.render(&given)?;
    let name = match args.output.as_os_str() == "-" {
        true => "<stdout>".to_owned(),
        false => args.output.display().to_string(),
    };
    diagnostics::check_text(&name, &text)?;
    const SCHEMA: &str = "conductor.template-new/1";
    if args.output.as_os_str() == "-" {
        let value = json!({ "template": template.name, "written": null, "text": text });
        answer_either(args.json, &text, SCHEMA, value)?;
        return Ok(Exit::Done);
    }
    writing::may_write(&[&args.output], args.force, writing::ANOTHER_FILE)?;
    writing::write(&args.output, &text)?;
    let value = json!({ "template": template.name, "written": name });
    answer_either(args.json, &format!("wrote {name}; next: conductor run {name}"), SCHEMA, value)?;
    Ok(Exit::Done)
}

/// Every one that is missing or unknown is named at once.
fn check_variables(template: &Template, given: &BTreeMap<String, String>) -> Result<(), CliError> {
    let known = template.variables()?;
    let missing: Vec<&str> = known
        .iter()
        .filter(|(name, required)| **required && !given.contains_key(*name))
        .map(|(name, _)| name.as_str())
        .collect();
    if !missing.is_empty() {
        let wanted: Vec<String> = missing.iter().map(|name| format!("--var {name}=…")).collect();
        let message = format!("template '{}' needs {}", template.name, missing.join(", "));
        return Err(CliError::new(Exit::Usage, message).help(format!("give {}", wanted.join(" "))));
    }
    if let Some(unknown) = given.keys().find(|name| !known.contains_key(*name)) {
        let names = known.keys().map(String::as_str);
        let message = format!("template '{}' has no variable '{}'", template.name, one_line(unknown));
        let cli_error = CliError::new(Exit::Usage, message);
        return Err(match did_you_mean(unknown, names.clone()) {
            Some(meant) => cli_error.help(format!("did you mean '{meant}'?")),
            None => cli_error.help(format!("it has {}", names.collect::<Vec<_>>().join(", "))),
        });
    }
    Ok(())
}
