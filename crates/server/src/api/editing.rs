//! Tasks and epics of a project's file, edited in the file. It is the one thing in a user's checkout that is ever written,
//! and only on that user's request. A user who may edit tasks can have commands run: it takes an admin.

use std::io;
use std::path::Path;

use axum::response::Response;
use conductor_core::file::edit::{Change, Edit, EditError, Kind as Element, Place, edited};
use conductor_engine::host::access;
use serde_json::{Map, Value, json};

use super::projects::{ReadFile, diagnostic, with_version};
use crate::app::App;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::fields::{Field, Given, Kind, may, must};
use crate::web::route::{ADMIN, Asked, Route, by, delete, patch, post};

const CHANGED: &str = "project text, version text, id text";
const BEFORE: Field = may("before", Kind::Text, "Put it before this one.");
const AFTER: Field = may("after", Kind::Text, "Put it after this one.");
const FIRST: Field = may("first", Kind::Flag, "Put it first (default: last).");
const FIELDS: Field = must(
    "fields",
    Kind::Object,
    "The keys as in the file; for a new one `id` among them. Null takes a key out.",
);
const RENAMED: Field = may("id", Kind::Text, "Its new id, also wherever it is named.");

pub(crate) const ROUTES: &[Route] = &[
    post("/api/projects/{project}/tasks", ADMIN, "Add a task to the file", by!(add_task))
        .body(&[FIELDS, BEFORE, AFTER, FIRST])
        .json("conductor.edited/1", CHANGED)
        .status(201),
    patch(
        "/api/projects/{project}/tasks/{task}",
        ADMIN,
        "Change keys of a task in the file; needs If-Match",
        by!(change_task),
    )
    .body(&[may("fields", Kind::Object, FIELDS.words), RENAMED])
    .json("conductor.edited/1", CHANGED),
    delete(
        "/api/projects/{project}/tasks/{task}",
        ADMIN,
        "Take a task out of the file; needs If-Match",
        by!(remove_task),
    )
    .json("conductor.edited/1", CHANGED),
    post(
        "/api/projects/{project}/tasks/{task}/move",
        ADMIN,
        "Move a task within the file; needs If-Match",
        by!(move_task),
    )
    .body(&[BEFORE, AFTER, FIRST])
    .json("conductor.edited/1", CHANGED),
    post("/api/projects/{project}/epics", ADMIN, "Add an epic to the file", by!(add_epic))
        .body(&[FIELDS, BEFORE, AFTER, FIRST])
        .json("conductor.edited/1", CHANGED)
        .status(201),
    patch(
        "/api/projects/{project}/epics/{epic}",
        ADMIN,
        "Change keys of an epic in the file; needs If-Match",
        by!(change_epic),
    )
    .body(&[may("fields", Kind::Object, FIELDS.words), RENAMED])
    .json("conductor.edited/1", CHANGED),
    delete(
        "/api/projects/{project}/epics/{epic}",
        ADMIN,
        "Take an epic out of the file; needs If-Match",
        by!(remove_epic),
    )
    .json("conductor.edited/1", CHANGED),
];

fn place(given: &Given) -> Result<Place> {
    match (given.text("before"), given.text("after"), given.flag("first")) {
        (None, None, false) => Ok(Place::Last),
        (None, None, true) => Ok(Place::First),
        (Some(id), None, false) => Ok(Place::Before(id.to_owned())),
        (None, Some(id), false) => Ok(Place::After(id.to_owned())),
        _ => Err(Problem::field("before", "goes with neither 'after' nor 'first'")),
    }
}

fn fields(given: &Given) -> Map<String, Value> {
    given.object("fields").cloned().unwrap_or_default()
}

/// Reads, edits, and writes where the file was not written meanwhile.
async fn edit(
    app: &App,
    asked: &Asked,
    element: Element,
    changes: Vec<Change>,
    id: &str,
) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let _turn = app.editing.take().await?;
    let read = ReadFile::of(&project)?;
    match asked.header("if-match") {
        Some(known) if known == "*" || known == read.version => {}
        Some(_) => {
            return Err(changed().with("version", read.version));
        }
        None if matches!(changes.first(), Some(Change::Add { .. })) => {}
        None => {
            let problem = Problem::new(428, "say which version of the file you have seen: If-Match");
            return Err(problem.with("version", read.version));
        }
    }
    let edits: Vec<Edit> = changes.into_iter().map(|change| Edit { kind: element, change }).collect();
    let text = edited(&read.source(&project)?, &edits).map_err(problem)?;
    if text != read.text {
        write(&project.file, &read.text, &text)?;
    }
    let version = ReadFile::of(&project)?.version;
    let value = json!({ "project": project.id, "version": version, "id": id });
    let status = asked.route.status;
    Ok(with_version(answer::json_with(status, "conductor.edited/1", value)?, &version))
}

fn changed() -> Problem {
    Problem::new(412, "the file was changed meanwhile; nothing was written")
        .help("read it again, and send the version you have seen")
}

/// In one step, with the file's own permissions, and through a link to what it names.
fn write(file: &Path, before: &str, text: &str) -> Result<()> {
    let unwritten =
        |error: io::Error| Problem::conflict(format!("{} cannot be written: {error}", file.display()));
    let real = file.canonicalize().map_err(unwritten)?;
    let mode = std::fs::metadata(&real).map_err(unwritten)?.permissions();
    if std::fs::read_to_string(&real).map_err(unwritten)? != before {
        return Err(changed());
    }
    access::replace(&real, text).map_err(unwritten)?;
    std::fs::set_permissions(&real, mode).map_err(unwritten)
}

fn problem(error: EditError) -> Problem {
    let (status, help) = match &error {
        EditError::Unknown { .. } => (404, error.help()),
        EditError::Exists { .. } | EditError::Named { .. } | EditError::OnlyTask { .. } => {
            (409, error.help())
        }
        _ => (422, error.help()),
    };
    let mut problem = Problem::new(status, &error).help(help);
    if let Some(line) = error.line() {
        problem = problem.with("place", format!("line {line}"));
    }
    match &error {
        EditError::Invalid { found, .. } => {
            problem.with("errors", found.iter().map(diagnostic).collect::<Vec<_>>())
        }
        _ => problem,
    }
}

async fn add(app: App, asked: Asked, element: Element) -> Result<Response> {
    let fields = fields(&asked.body);
    let id = fields.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let change = Change::Add { fields, place: place(&asked.body)? };
    edit(&app, &asked, element, vec![change], &id).await
}

async fn change(app: App, asked: Asked, element: Element, id: &str) -> Result<Response> {
    let fields = fields(&asked.body);
    if fields.contains_key("id") {
        return Err(Problem::field("fields", "cannot have an 'id'; a new one stands beside it"));
    }
    let mut changes = Vec::new();
    if !fields.is_empty() {
        changes.push(Change::Set { id: id.to_owned(), fields });
    }
    let new = asked.body.text("id").filter(|new| *new != id);
    changes.extend(new.map(|to| Change::Rename { id: id.to_owned(), to: to.to_owned() }));
    if changes.is_empty() {
        return Err(Problem::new(422, "nothing is to be changed: give 'fields' or a new 'id'"));
    }
    let id = new.unwrap_or(id).to_owned();
    edit(&app, &asked, element, changes, &id).await
}

async fn add_task(app: App, asked: Asked) -> Result<Response> {
    add(app, asked, Element::Task).await
}

async fn add_epic(app: App, asked: Asked) -> Result<Response> {
    add(app, asked, Element::Epic).await
}

async fn change_task(app: App, asked: Asked) -> Result<Response> {
    let id = asked.named("task")?.to_owned();
    change(app, asked, Element::Task, &id).await
}

async fn change_epic(app: App, asked: Asked) -> Result<Response> {
    let id = asked.named("epic")?.to_owned();
    change(app, asked, Element::Epic, &id).await
}

async fn remove_task(app: App, asked: Asked) -> Result<Response> {
    let id = asked.named("task")?.to_owned();
    edit(&app, &asked, Element::Task, vec![Change::Remove { id: id.clone() }], &id).await
}

async fn remove_epic(app: App, asked: Asked) -> Result<Response> {
    let id = asked.named("epic")?.to_owned();
    edit(&app, &asked, Element::Epic, vec![Change::Remove { id: id.clone() }], &id).await
}

async fn move_task(app: App, asked: Asked) -> Result<Response> {
    let id = asked.named("task")?.to_owned();
    let change = Change::Move { id: id.clone(), place: place(&asked.body)? };
    edit(&app, &asked, Element::Task, vec![change], &id).await
}
