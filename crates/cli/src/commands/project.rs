//! `conductor project`: repositories and their task files, by a name that the server knows.

use conductor_engine::host::home::Home;
use conductor_engine::records::flat::timestamp;
use conductor_server::records::{NewProject, Project, ProjectError, Records, RecordsError};
use serde_json::{Value, json};

use super::{answer, answer_either, answer_json, block_on};
use crate::args;
use crate::error::{CliError, Exit};
use crate::output::table::columns;

pub(crate) fn run(project: &args::Project) -> Result<Exit, CliError> {
    block_on(async {
        let records = records().await?;
        match project {
            args::Project::Add(args) => {
                let words = format!("project add {}", args.directory.display());
                noted(&records, &words, add(&records, args)).await
            }
            args::Project::List(args) => list(&records, args.json).await,
            args::Project::Show(args) => show(&records.project(&args.project).await?, args.json),
            args::Project::Remove(args) => {
                noted(&records, &format!("project remove {}", args.project), remove(&records, args)).await
            }
        }
    })
}

/// What the server keeps; it need not run.
pub(crate) async fn records() -> Result<Records, CliError> {
    Ok(Records::open(&Home::open()?).await?)
}

/// Does something to what the server keeps, and records it as the server does with requests.
pub(crate) async fn noted<T>(
    records: &Records,
    command: &str,
    done: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    let done = done.await;
    records
        .note_command(command, done.as_ref().err().map(CliError::message))
        .await
        .map_err(RecordsError::from)?;
    done
}

fn told(project: &Project) -> Value {
    json!({ "id": project.id, "name": project.name, "directory": project.directory, "file": project.file,
        "created_at": timestamp(project.created) })
}

async fn add(records: &Records, args: &args::ProjectAdd) -> Result<Exit, CliError> {
    let new = NewProject {
        directory: args.directory.clone(),
        file: args.file.clone(),
        id: args.id.clone(),
        name: args.name.clone(),
    };
    let project = records.add_project(new).await?;
    let words = format!("project {}: {}", project.id, project.file.display());
    answer_either(args.json, &words, "conductor.project/1", told(&project))?;
    Ok(Exit::Done)
}

async fn list(records: &Records, as_json: bool) -> Result<Exit, CliError> {
    let projects = records.projects().await.map_err(RecordsError::from)?;
    if as_json {
        let projects: Vec<Value> = projects.iter().map(told).collect();
        answer_json(&json!({ "schema": "conductor.projects/1", "projects": projects }))?;
        return Ok(Exit::Done);
    }
    if projects.is_empty() {
        answer("there are no projects; `conductor project add` makes one of this folder\n")?;
        return Ok(Exit::Done);
    }
    let row = |project: Project| [project.id, project.name, project.file.display().to_string()];
    answer(&columns(["ID", "NAME", "FILE"], projects.into_iter().map(row).collect()))?;
    Ok(Exit::Done)
}

fn show(project: &Project, as_json: bool) -> Result<Exit, CliError> {
    let words = format!(
        "{} ({})\nfolder: {}\nfile: {}",
        project.id,
        project.name,
        project.directory.display(),
        project.file.display()
    );
    answer_either(as_json, &words, "conductor.project/1", told(project))?;
    Ok(Exit::Done)
}

async fn remove(records: &Records, args: &args::OfProject) -> Result<Exit, CliError> {
    let project = records.remove_project(&args.project).await?;
    let words = format!("project {} is forgotten; its file and its runs stay", project.id);
    answer_either(args.json, &words, "conductor.project/1", told(&project))?;
    Ok(Exit::Done)
}

impl From<RecordsError> for CliError {
    fn from(error: RecordsError) -> CliError {
        CliError::new(Exit::Unexpected, error)
    }
}

impl From<ProjectError> for CliError {
    fn from(error: ProjectError) -> CliError {
        let exit = match error {
            ProjectError::Failed(_) => Exit::Unexpected,
            _ => Exit::Usage,
        };
        let help = match &error {
            ProjectError::Unknown { meant: Some(meant), .. } => Some(format!("did you mean '{meant}'?")),
            ProjectError::Unknown { .. } => Some("`conductor project list` lists them".to_owned()),
            ProjectError::NoUsualFile(_) => {
                Some("name it with --file, or make one: `conductor init`".to_owned())
            }
            _ => None,
        };
        let cli_error = CliError::new(exit, error);
        match help {
            Some(help) => cli_error.help(help),
            None => cli_error,
        }
    }
}
