//! Jobs: what takes minutes and is no run of its own. An agent turns a description into a task file, or into a run at
//! once; groups are run in turn. A process of its own does it, which outlives the server; its folder says how far it is.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use axum::response::Response;
use conductor_engine::host::access;
use conductor_engine::records::flat::timestamp;
use serde_json::{Value, json};

use crate::access::Role;
use crate::access::secrets;
use crate::app::App;
use crate::problem::{Problem, Result};
use crate::records::Project;
use crate::web::answer;
use crate::web::fields::{Field, Kind, may, must};
use crate::web::route::{Asked, OPERATOR, Route, VIEWER, by, get, post};

const WANTED: &[Field] = &[
    must("requirements", Kind::Words, "What is to be done, in plain words."),
    must("max_cost", Kind::Amount, "The most it may cost, in dollars."),
    may("agent", Kind::Agent, "The agent that plans (default: the configured one)."),
    may("model", Kind::Text, "The model that plans."),
    may("budget", Kind::Whole(1, 1_000), "Plan for this many agents at once."),
    may("max_tasks", Kind::Whole(1, 1_000), "Refuse a plan with more tasks than this."),
];

const GROUPS: &[Field] = &[
    may("group_id", Kind::Text, "Only this group (default: all, in turn)."),
    may("parallel", Kind::Whole(1, 100_000), "How many tasks run at once."),
    may(
        "tests",
        Kind::Texts,
        "What has to succeed after each group: `auto` or `none`; commands need the role admin.",
    ),
    may("again", Kind::Flag, "Run tasks again that have landed before."),
    may(
        "max_cost",
        Kind::Amount,
        "Interrupt agents and start nothing new once this many dollars have been spent.",
    ),
];

const JOB: &str =
    "job text, project text, kind text, state text, created_at text, result object?, words text?";

pub(crate) const ROUTES: &[Route] = &[
    post("/api/projects/{project}/plans", OPERATOR, "Have an agent plan; nothing is run", by!(plan))
        .body(WANTED)
        .json("conductor.job/1", JOB)
        .status(202),
    post(
        "/api/projects/{project}/orchestrations",
        OPERATOR,
        "Have an agent plan, then run the plan; unknown commands are refused",
        by!(orchestrate),
    )
    .body(WANTED)
    .json("conductor.job/1", JOB)
    .status(202),
    post(
        "/api/projects/{project}/groups/execute",
        OPERATOR,
        "Run one group of the file, or all in turn, with passing tests in between",
        by!(groups),
    )
    .body(GROUPS)
    .json("conductor.job/1", JOB)
    .status(202),
    get(
        "/api/projects/{project}/jobs",
        VIEWER,
        "List planners and group executions, newest first",
        by!(list),
    )
    .json("conductor.jobs/1", "jobs [object]"),
    get("/api/projects/{project}/jobs/{job}", VIEWER, "How far a job is, and what it made", by!(show))
        .json("conductor.job/1", JOB),
];

async fn plan(app: App, asked: Asked) -> Result<Response> {
    begin(&app, &asked, "plan").await
}

async fn orchestrate(app: App, asked: Asked) -> Result<Response> {
    begin(&app, &asked, "orchestrate").await
}

async fn begin(app: &App, asked: &Asked, kind: &str) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let requirements = asked.body.filled("requirements")?;
    let (id, folder) = make(app, &project)?;
    access::write(&folder.join("requirements.md"), requirements).map_err(Problem::unavailable)?;
    let mut words: Vec<OsString> =
        vec![kind.into(), "--json".into(), "--file".into(), folder.join("requirements.md").into()];
    for field in WANTED.iter().filter(|field| field.name != "requirements") {
        if let Some(value) = asked.body.get(field.name) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            words.push(format!("--{}={text}", field.name.replace('_', "-")).into());
        }
    }
    let output = if kind == "plan" { folder.join("tasks.yaml") } else { folder.join("output") };
    words.extend(["--output".into(), output.into_os_string()]);
    if kind == "orchestrate" {
        words.push("--yes".into());
    }
    start(app, &project, kind, (&id, &folder), words)
}

async fn groups(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    check_tests(&asked, &project)?;
    let (id, folder) = make(&app, &project)?;
    let mut words: Vec<OsString> = vec!["group".into(), "execute".into(), "--json".into()];
    words.extend(["--tasks-file".into(), project.file.clone().into_os_string()]);
    words.extend(asked.body.text("group_id").map(|group| OsString::from(format!("--group-id={group}"))));
    words.extend(asked.body.whole("parallel").map(|count| OsString::from(format!("--parallel={count}"))));
    words.extend(asked.body.texts("tests").into_iter().map(|test| OsString::from(format!("--tests={test}"))));
    if asked.body.flag("again") {
        words.push("--again".into());
    }
    if let Some(cost) = asked.body.get("max_cost") {
        words.extend(["--".into(), format!("--max-cost={cost}").into()]);
    }
    start(&app, &project, "group", (&id, &folder), words)
}

/// Who sends commands may run whatever they like, as one who edits tasks.
fn check_tests(asked: &Asked, project: &Project) -> Result<()> {
    let are_commands = asked.body.texts("tests").iter().any(|test| !matches!(*test, "auto" | "none"));
    match are_commands && asked.identity.role_in(Some(&project.id)) < Some(Role::Admin) {
        true => Err(Problem::new(403, "commands as `tests` need the role admin; `auto` and `none` do not")
            .with("field", "tests")
            .with("needed_role", Role::Admin.name())),
        false => Ok(()),
    }
}

/// A folder for a new job.
fn make(app: &App, project: &Project) -> Result<(String, PathBuf)> {
    let id = secrets::random("").map_err(Problem::internal)?[..12].to_owned();
    let folder = app.records.jobs_of(project).join(&id);
    access::create_private_dir_all(&folder).map_err(Problem::unavailable)?;
    Ok((id, folder))
}

fn start(
    app: &App,
    project: &Project,
    kind: &str,
    (id, folder): (&str, &Path),
    words: Vec<OsString>,
) -> Result<Response> {
    let pid = app.program.leave(&project.directory, words, folder)?;
    let created = conductor_engine::host::clock::wall().0;
    let start = start_time(pid).unwrap_or(0);
    let job = json!({ "kind": kind, "created": created, "pid": pid, "start_time": start });
    access::write(&folder.join("job.json"), job.to_string()).map_err(Problem::unavailable)?;
    answer::json_with(202, "conductor.job/1", told(project, id, folder))
}

/// When a process began, so that a later one of the same number is not taken for it.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn read_job(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("job.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// A job that outlived a project of the same id is none of this one.
fn is_of(project: &Project, folder: &Path) -> bool {
    read_job(folder)["created"].as_i64().is_some_and(|created| created >= project.created)
}

fn told(project: &Project, id: &str, folder: &Path) -> Value {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let job = read_job(folder);
    let pid = job["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    let lives = pid.and_then(start_time).is_some_and(|start| Some(start) == job["start_time"].as_u64());
    let out = read("out");
    // Of a plan one answer over many lines, any of which may be a value by itself; of a run its events and at last its
    // summary, a line each.
    let result: Option<Value> = serde_json::from_str(&out)
        .ok()
        .or_else(|| out.lines().rev().find_map(|line| serde_json::from_str(line).ok()));
    let state = match (lives, &result) {
        (true, _) => "running",
        (false, Some(result)) if job["kind"] != "orchestrate" || result["type"] == "summary" => "done",
        (false, _) => "failed",
    };
    let words = read("words");
    let words: String = words.chars().skip(words.chars().count().saturating_sub(2_000)).collect();
    json!({
        "job": id, "project": project.id, "kind": job["kind"].as_str().unwrap_or("plan"), "state": state,
        "created_at": timestamp(job["created"].as_i64().unwrap_or(0)), "result": result.filter(|result| result.is_object()), "words": words,
        "task_file": folder.join("tasks.yaml").exists().then(|| read("tasks.yaml")),
    })
}

async fn list(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let folders = fs::read_dir(app.records.jobs_of(&project)).into_iter().flatten().flatten();
    let mut all: Vec<Value> = folders
        .filter(|folder| is_of(&project, &folder.path()))
        .map(|folder| {
            let mut job = told(&project, &folder.file_name().to_string_lossy(), &folder.path());
            if let Value::Object(job) = &mut job {
                job.retain(|name, _| !matches!(name.as_str(), "result" | "words" | "task_file"));
            }
            job
        })
        .collect();
    all.sort_by(|one, other| other["created_at"].as_str().cmp(&one["created_at"].as_str()));
    answer::json("conductor.jobs/1", json!({ "jobs": all }))
}

async fn show(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let id = asked.named("job")?;
    let folder = app.records.jobs_of(&project).join(id);
    if !id.chars().all(|letter| letter.is_ascii_alphanumeric()) || id.is_empty() || !is_of(&project, &folder)
    {
        return Err(Problem::not_found("there is no such job"));
    }
    answer::json("conductor.job/1", told(&project, id, &folder))
}
