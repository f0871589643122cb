//! Commands of the program, as routes. What a command does is described once, in the command; here is only how its
//! words are made of a request.

mod conflicts;
mod expertise;
mod table;

use std::ffi::OsString;
use std::path::PathBuf;

use axum::response::Response;
use serde_json::{Value, json};

use crate::app::App;
use crate::problem::{Problem, Result};
use crate::records::Project;
use crate::web::answer::{self, Answer};
use crate::web::fields::{Field, Kind};
use crate::web::route::{Asked, Route};

/// Where a command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// In the folder of the project that the address names.
    Project,
    /// In the folder of the run that the address names.
    Run,
    /// In the state directory: it is about no repository.
    Home,
}

pub(super) struct Verb {
    pub(super) route: Route,
    /// The command's words. `{name}` is a part of the address or a field, `{file}` the project's task file, `{options}`
    /// all fields that are not named elsewhere, as options.
    pub(super) command: &'static str,
    pub(super) at: At,
    /// A field whose text is given to the command on its standard input.
    pub(super) input: Option<&'static str>,
}

fn all() -> impl Iterator<Item = &'static Verb> {
    table::VERBS.iter().chain(conflicts::VERBS).chain(expertise::VERBS)
}

pub(crate) fn routes() -> impl Iterator<Item = &'static Route> {
    all().map(|verb| &verb.route)
}

/// The commands that have a route, by their words.
pub(crate) fn commands() -> impl Iterator<Item = (&'static str, &'static Route)> {
    all().map(|verb| (verb.command, &verb.route))
}

pub(super) async fn carry(app: App, asked: Asked) -> Result<Response> {
    let route = asked.route;
    let verb = all().find(|verb| std::ptr::eq(&verb.route, route));
    let verb = verb.ok_or_else(|| Problem::internal("the route has no command"))?;
    let place = place(&app, &asked, verb.at).await?;
    carried(&app, &asked, verb, &place).await.map_err(|problem| place.blamed(problem))
}

async fn carried(app: &App, asked: &Asked, verb: &Verb, place: &Place) -> Result<Response> {
    let route = asked.route;
    let directory = &place.directory;
    let words = words(verb, asked, place.file.clone())?;
    let input = verb.input.and_then(|field| asked.body.text(field));
    match route.answer {
        Answer::Other(media) => {
            let said = app.program.run(directory, words, input).await?;
            match said.exit {
                0 if media.starts_with("text/html") => Ok(answer::standalone(media, said.out)),
                0 => Ok(answer::of_kind(media, said.out)),
                _ => Err(said.problem()),
            }
        }
        Answer::Json { schema, .. } => {
            let said = app.program.json(directory, words, input).await?;
            answer::json_with(route.status, schema, as_object(said))
        }
        Answer::Nothing => {
            app.program.json(directory, words, input).await?;
            Ok(answer::nothing())
        }
    }
}

/// What was a list before we had schema ids is one of a field now.
fn as_object(said: Value) -> Value {
    match said {
        Value::Array(items) => json!({ "items": items }),
        other => other,
    }
}

/// Where a command is carried out.
#[derive(Default)]
struct Place {
    directory: PathBuf,
    /// The project's task file.
    file: Option<PathBuf>,
    /// The folder that it is about, where that is gone.
    gone: Option<PathBuf>,
}

impl Place {
    /// What goes wrong where the folder is gone is no mistake of ours.
    fn blamed(&self, problem: Problem) -> Problem {
        match &self.gone {
            Some(gone) if problem.status() == 500 => {
                Problem::new(409, format!("the folder {} is gone", gone.display()))
                    .help("bring it back first")
            }
            _ => problem,
        }
    }
}

async fn place(app: &App, asked: &Asked, at: At) -> Result<Place> {
    let gone = |directory: &PathBuf| Some(directory.clone()).filter(|directory| !directory.is_dir());
    let home = app.home.root().to_owned();
    Ok(match at {
        At::Project => {
            let project = app.project(asked.named("project")?).await?;
            check_run(app, asked, &project).await?;
            let gone = gone(&project.directory);
            Place { directory: project.directory, file: Some(project.file), gone }
        }
        At::Run => {
            let directory = app.runs.named(asked.named("run")?).await?.directory;
            let gone = gone(&directory);
            Place { directory: if gone.is_some() { home } else { directory }, file: None, gone }
        }
        At::Home => Place { directory: home, ..Place::default() },
    })
}

/// A run that a field names is one of the project: a role reaches no other.
async fn check_run(app: &App, asked: &Asked, project: &Project) -> Result<()> {
    let Some(word) = asked.body.text("run").or_else(|| asked.query.text("run")) else { return Ok(()) };
    let run = app.runs.named(word).await?;
    match project.has(&run) {
        true => Ok(()),
        false => Err(Problem::not_found(format!("the project has no run {word}")).with("field", "run")),
    }
}

fn words(verb: &Verb, asked: &Asked, file: Option<PathBuf>) -> Result<Vec<OsString>> {
    let fields: Vec<&Field> = verb.route.query.iter().chain(verb.route.body).collect();
    let mut words = Vec::new();
    for word in verb.command.split(' ') {
        match word {
            "{options}" => {
                for field in &fields {
                    let is_named = verb.command.contains(&format!("{{{}}}", field.name))
                        || verb.input == Some(field.name);
                    if !is_named {
                        words.extend(option(field, asked));
                    }
                }
            }
            "{file}" => words.push(file.clone().unwrap_or_default().into_os_string()),
            word => words.extend(filled(word, asked)?.map(OsString::from)),
        }
    }
    Ok(words)
}

/// A word with what it names. One that is a field alone is left out where the field is.
fn filled(word: &str, asked: &Asked) -> Result<Option<String>> {
    let Some((before, rest)) = word.split_once('{') else { return Ok(Some(word.to_owned())) };
    let (name, after) = rest.split_once('}').unwrap_or((rest, ""));
    let value = asked
        .path
        .get(name)
        .map(String::as_str)
        .or_else(|| asked.body.text(name))
        .or_else(|| asked.query.text(name));
    match value {
        // It would be taken for an option where no `--` stands before it.
        Some(value) if before.is_empty() && value.starts_with('-') => {
            Err(Problem::field(name, "cannot begin with '-'"))
        }
        Some(value) => Ok(Some(format!("{before}{value}{after}"))),
        None => Ok(None),
    }
}

fn option(field: &Field, asked: &Asked) -> Vec<OsString> {
    let given =
        if asked.route.body.iter().any(|own| own.name == field.name) { &asked.body } else { &asked.query };
    let name = field.name.replace('_', "-");
    match (field.kind, given.get(field.name)) {
        (_, None) => Vec::new(),
        (Kind::Flag, Some(value)) => {
            if value == true {
                vec![format!("--{name}").into()]
            } else {
                Vec::new()
            }
        }
        (Kind::Texts, Some(_)) => {
            given.texts(field.name).into_iter().map(|text| format!("--{name}={text}").into()).collect()
        }
        (_, Some(Value::String(text))) => vec![format!("--{name}={text}").into()],
        (_, Some(value)) => vec![format!("--{name}={value}").into()],
    }
}
