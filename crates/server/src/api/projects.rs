//! Projects: which there are, and what their files say.

use axum::http::{HeaderValue, header};
use axum::response::Response;
use conductor_core::file::{self, Diagnostic, Source};
use conductor_core::plan::{Plan, Task, Work};
use conductor_engine::records::flat::timestamp;
use conductor_engine::runs::done;
use serde_json::{Value, json};

use super::runs;
use crate::access::{Role, secrets};
use crate::app::App;
use crate::problem::{Problem, Result};
use crate::records::{NewProject, Project};
use crate::web::answer;
use crate::web::fields::{Field, Kind, may, must};
use crate::web::route::{Asked, Route, Rule, VIEWER, by, delete, get, post};

const PROJECT: &str = "id text, name text, directory text, file text, created_at text";

pub(crate) const PAGE: &[Field] = &[
    may("cursor", Kind::Text, "Go on from here: `next_cursor` of the page before."),
    may("limit", Kind::Whole(1, 1_000), "How many at most (default 100)."),
];

pub(crate) const ROUTES: &[Route] = &[
    get("/api/projects", VIEWER, "List the projects", by!(list)).json("conductor.projects/1", "projects [Project]"),
    post("/api/projects", Rule::Everywhere(Role::Admin), "Add a project: a repository on this machine and its task file", by!(add))
        .body(&[
            must("directory", Kind::Text, "The repository's folder."),
            may("file", Kind::Text, "The task file in it (default: conductor.yaml, .conductor/tasks.yaml or tasks.yaml)."),
            may("id", Kind::Text, "Its id in addresses (default: after the folder)."),
            may("name", Kind::Text, "Its name for people."),
        ])
        .json("conductor.project/1", PROJECT)
        .status(201),
    get("/api/projects/{project}", VIEWER, "Show a project, and how its newest run stands", by!(show))
        .json("conductor.project/1", "id text, name text, directory text, file text, created_at text, version text?, tasks whole?, latest_run Listed?"),
    delete("/api/projects/{project}", Rule::Everywhere(Role::Admin), "Forget a project; its file and its runs stay", by!(remove))
        .json("conductor.project/1", PROJECT),
    get("/api/projects/{project}/tasks", VIEWER, "List the tasks of the file, with how each stands in the newest run", by!(tasks))
        .query(PAGE)
        .json("conductor.project-tasks/1", "project text, version text, total whole, tasks [ProjectTask], next_cursor text?"),
    get("/api/projects/{project}/tasks/{task}", VIEWER, "Show a task of the file", by!(task))
        .json("conductor.project-task/1", "project text, version text, task object"),
    get("/api/projects/{project}/epics", VIEWER, "List the epics of the file", by!(epics))
        .json("conductor.epics/1", "project text, version text, epics [object]"),
    get("/api/projects/{project}/file", VIEWER, "The task file as it is", by!(text)).other("text/plain; charset=utf-8"),
    get("/api/projects/{project}/runs", VIEWER, "List the project's runs, newest first", by!(its_runs))
        .query(runs::LISTED)
        .json("conductor.run-list/1", "runs [Listed], next_cursor text?"),
];

/// A project's file as it is now, by the version that an edit has to name.
pub(crate) struct ReadFile {
    pub(crate) text: String,
    pub(crate) version: String,
}

impl ReadFile {
    pub(crate) fn of(project: &Project) -> Result<ReadFile> {
        let text = std::fs::read_to_string(&project.file).map_err(|error| {
            Problem::conflict(format!("{} cannot be read: {error}", project.file.display()))
        })?;
        let version = format!("\"{}\"", &secrets::hash(&text)[..16]);
        Ok(ReadFile { text, version })
    }

    pub(crate) fn source(&self, project: &Project) -> Result<Source> {
        let name = project.file.display().to_string();
        Source::new(name, self.text.clone().into_bytes()).map_err(|wrong| invalid(project, None, &[wrong]))
    }

    pub(crate) fn plan(&self, project: &Project) -> Result<Plan> {
        let source = self.source(project)?;
        Ok(file::load(&source).map_err(|wrong| invalid(project, Some(&source), &wrong))?.plan)
    }
}

/// Every mistake with its place, where there is text to have one in.
fn invalid(project: &Project, source: Option<&Source>, wrong: &[Diagnostic]) -> Problem {
    let placed = |wrong: &Diagnostic| {
        let (line, column) = source?.position(wrong.span.start);
        Some(format!("line {line}, column {column}"))
    };
    let told = |wrong: &Diagnostic| {
        let mut told = diagnostic(wrong);
        told["place"] = json!(placed(wrong));
        told
    };
    let errors: Vec<Value> = wrong.iter().map(told).collect();
    let first = wrong.first().map(|wrong| match placed(wrong) {
        Some(place) => format!("{place}: {}", wrong.message),
        None => wrong.message.clone(),
    });
    let words = format!("{} has errors: {}", project.file.display(), first.unwrap_or_default());
    Problem::new(422, words).with("errors", errors)
}

pub(crate) fn diagnostic(wrong: &Diagnostic) -> Value {
    json!({ "code": wrong.code, "message": wrong.message, "help": wrong.help })
}

pub(crate) fn project_json(project: &Project) -> Value {
    json!({ "id": project.id, "name": project.name, "directory": project.directory.display().to_string(),
        "file": project.file.display().to_string(), "created_at": timestamp(project.created) })
}

pub(crate) fn with_version(mut response: Response, version: &str) -> Response {
    if let Ok(version) = HeaderValue::from_str(version) {
        response.headers_mut().insert(header::ETAG, version);
    }
    response
}

async fn list(app: App, asked: Asked) -> Result<Response> {
    let projects = app.records.projects().await?;
    let seen = projects.iter().filter(|project| asked.identity.sees(Some(&project.id)));
    answer::json("conductor.projects/1", json!({ "projects": seen.map(project_json).collect::<Vec<_>>() }))
}

async fn add(app: App, asked: Asked) -> Result<Response> {
    let owned = |name: &str| asked.body.text(name).map(str::to_owned);
    let new = NewProject {
        directory: asked.body.needed("directory")?.into(),
        file: owned("file").map(Into::into),
        id: owned("id"),
        name: owned("name"),
    };
    let project = app.records.add_project(new).await?;
    answer::json_with(201, "conductor.project/1", project_json(&project))
}

async fn show(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let mut value = project_json(&project);
    // A file that is wrong or gone does not hide the project.
    match ReadFile::of(&project).and_then(|read| Ok((read.plan(&project)?, read.version))) {
        Ok((plan, version)) => {
            value["version"] = json!(version);
            value["tasks"] = json!(plan.asked().count());
        }
        Err(problem) => value["file_error"] = json!(problem.detail()),
    }
    let newest = app.runs_of(&project).await?.into_iter().next();
    value["latest_run"] = newest.map(|run| runs::listed(&app, &run, Some(&project.id))).unwrap_or_default();
    answer::json("conductor.project/1", value)
}

async fn remove(app: App, asked: Asked) -> Result<Response> {
    let project = app.records.remove_project(asked.named("project")?).await?;
    answer::json("conductor.project/1", project_json(&project))
}

pub(crate) fn task_json(task: &Task) -> Value {
    let (kind, work) = match &task.work {
        Work::Run(_) => ("run", serde_json::to_value(&task.work).unwrap_or_default()),
        _ => ("prompt", serde_json::to_value(&task.work).unwrap_or_default()),
    };
    json!({
        "id": task.id, "name": task.name, "epic_id": task.epic, "group": task.group, "kind": kind, "work": work,
        "agent": task.agent, "model": task.model, "verify": task.verify, "files": task.files,
        "dependencies": task.dependencies.iter().map(|on| &on.id).collect::<Vec<_>>(),
    })
}

async fn tasks(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let read = ReadFile::of(&project)?;
    let plan = read.plan(&project)?;
    let newest = app.runs_of(&project).await?.into_iter().next();
    let feed = match &newest {
        Some(run) => Some(app.runs.feed_of(run).await?),
        None => None,
    };
    let done =
        done::done(&app.home, &*app.runs.reader().await?, &project.directory, &project.source(), &plan).await;
    let done = done.map_err(Problem::unavailable)?;
    let all: Vec<&Task> = plan.asked().collect();
    let (from, limit) = place(&asked, all.len())?;
    let page = all.iter().skip(from).take(limit).map(|task| {
        let mut value = task_json(task);
        let status = feed.as_ref().and_then(|feed| {
            feed.look(|run| run.place(&task.id).map(|place| run.progress(place).state.status().name()))
        });
        value["status"] = json!(status.unwrap_or("pending"));
        value["done"] = json!(done.tasks.contains_key(&task.id));
        value["done_by"] = json!(done.tasks.get(&task.id).map(|done| {
            json!({ "run": done.run, "at": timestamp(done.at.0), "commit": done.commit, "unmerged_branch": done.unmerged })
        }));
        value["run"] = json!(status.and(newest.as_ref()).map(|run| &run.id));
        value
    });
    let page: Vec<Value> = page.collect();
    let next = (from + limit < all.len()).then(|| (from + limit).to_string());
    let value = json!({ "project": project.id, "version": read.version, "total": all.len(), "tasks": page, "next_cursor": next });
    Ok(with_version(answer::json("conductor.project-tasks/1", value)?, &read.version))
}

/// Where a page begins in a list that stays as it is, and how long it is.
pub(crate) fn place(asked: &Asked, total: usize) -> Result<(usize, usize)> {
    let limit = asked.query.whole("limit").unwrap_or(100) as usize;
    let from = match asked.query.text("cursor") {
        Some(cursor) => cursor.parse().ok().filter(|from| *from <= total),
        None => Some(0),
    };
    from.map(|from| (from, limit)).ok_or_else(|| Problem::field("cursor", "is none of ours"))
}

async fn task(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let read = ReadFile::of(&project)?;
    let plan = read.plan(&project)?;
    let task = find(&plan, asked.named("task")?)?;
    let value = json!({ "project": project.id, "version": read.version, "task": task_json(task) });
    Ok(with_version(answer::json("conductor.project-task/1", value)?, &read.version))
}

pub(crate) fn find<'a>(plan: &'a Plan, id: &str) -> Result<&'a Task> {
    plan.asked().find(|task| task.id.as_str() == id).ok_or_else(|| {
        let meant =
            conductor_core::values::suggest::did_you_mean(id, plan.asked().map(|task| task.id.as_str()));
        Problem::not_found(format!("there is no task '{id}'")).meant(meant)
    })
}

async fn epics(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let read = ReadFile::of(&project)?;
    let plan = read.plan(&project)?;
    // Those that the file says something of, in its order, then those that are only named by tasks.
    let mut epics: Vec<(&str, Vec<&str>)> =
        plan.epics.iter().map(|epic| (epic.id.as_str(), vec![])).collect();
    for task in plan.asked() {
        let Some(epic) = task.epic.as_deref() else { continue };
        match epics.iter_mut().find(|(known, _)| *known == epic) {
            Some((_, tasks)) => tasks.push(task.id.as_str()),
            None => epics.push((epic, vec![task.id.as_str()])),
        }
    }
    let told = |(id, tasks): (&str, Vec<&str>)| {
        let known = plan.epics.iter().find(|epic| epic.id == id);
        json!({ "id": id, "name": known.and_then(|epic| epic.name.as_ref()), "tasks": tasks,
            "dependencies": known.map_or(&[][..], |epic| &epic.dependencies[..]) })
    };
    let epics: Vec<Value> = epics.into_iter().map(told).collect();
    let value = json!({ "project": project.id, "version": read.version, "epics": epics });
    Ok(with_version(answer::json("conductor.epics/1", value)?, &read.version))
}

async fn text(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let read = ReadFile::of(&project)?;
    Ok(with_version(answer::of_kind("text/plain; charset=utf-8", read.text), &read.version))
}

async fn its_runs(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let own = app.runs_of(&project).await?.into_iter().map(|run| (run, Some(project.id.clone())));
    runs::page(&app, &asked, own.collect()).await
}
