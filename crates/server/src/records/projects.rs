//! Projects: a repository on this machine and its task file.

use std::io;
use std::path::{Path, PathBuf};

use conductor_core::values::suggest::did_you_mean;
use conductor_engine::stores::{StoredRun, source_of};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use thiserror::Error;

use super::{Records, now};

/// Where a task file is looked for, as `conductor run` does.
const USUAL_FILES: [&str; 3] = ["conductor.yaml", ".conductor/tasks.yaml", "tasks.yaml"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub id: String,
    pub name: String,
    pub directory: PathBuf,
    pub file: PathBuf,
    /// Milliseconds since 1970.
    pub created: i64,
}

#[derive(Debug, Default)]
pub struct NewProject {
    pub directory: PathBuf,
    /// Where it is not one of the usual ones.
    pub file: Option<PathBuf>,
    pub id: Option<String>,
    pub name: Option<String>,
}

#[derive(Debug, Error)]
pub enum ProjectError {
    #[error("{0} is not a folder")]
    NoFolder(PathBuf),
    #[error("there is no task file {0}")]
    NoFile(PathBuf),
    #[error("there is no task file in {0}: none of conductor.yaml, .conductor/tasks.yaml, tasks.yaml")]
    NoUsualFile(PathBuf),
    #[error(
        "'{0}' is no id: lower-case letters, digits, - and _, at most 64, beginning with a letter or digit"
    )]
    WrongId(String),
    #[error("a project '{0}' is there already")]
    Taken(String),
    #[error("this file belongs to project '{0}' already")]
    Known(String),
    #[error("there is no project '{id}'")]
    Unknown { id: String, meant: Option<String> },
    #[error(transparent)]
    Failed(#[from] sqlx::Error),
}

impl Project {
    /// Whether a run is one of this project's.
    pub fn has(&self, run: &StoredRun) -> bool {
        run.is_of(&self.source())
    }

    /// What its runs are known by.
    pub fn source(&self) -> String {
        source_of(&self.file)
    }

    fn of_row(row: &SqliteRow) -> Project {
        Project {
            id: row.get("id"),
            name: row.get("name"),
            directory: PathBuf::from(row.get::<String, _>("directory")),
            file: PathBuf::from(row.get::<String, _>("file")),
            created: row.get("created"),
        }
    }
}

impl Records {
    pub async fn add_project(&self, new: NewProject) -> Result<Project, ProjectError> {
        let directory = new.directory.canonicalize().ok().filter(|directory| directory.is_dir());
        let directory = directory.ok_or(ProjectError::NoFolder(new.directory))?;
        let file = file_in(&directory, new.file)?;
        let known = self.projects().await?;
        if let Some(same) = known.iter().find(|known| known.source() == source_of(&file)) {
            return Err(ProjectError::Known(same.id.clone()));
        }
        let id = match new.id {
            Some(id) if !is_id(&id) => return Err(ProjectError::WrongId(id)),
            Some(id) if known.iter().any(|known| known.id == id) => return Err(ProjectError::Taken(id)),
            Some(id) => id,
            None => free_id(&directory, &known),
        };
        let name = new.name.unwrap_or_else(|| id.clone());
        let project = Project { id, name, directory, file, created: now() };
        let row =
            sqlx::query("INSERT INTO projects (id, name, directory, file, created) VALUES (?, ?, ?, ?, ?)")
                .bind(&project.id)
                .bind(&project.name)
                .bind(project.directory.display().to_string())
                .bind(project.file.display().to_string())
                .bind(project.created);
        match row.execute(&self.pool).await {
            Ok(_) => Ok(project),
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                Err(ProjectError::Taken(project.id))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// By id.
    pub async fn projects(&self) -> Result<Vec<Project>, sqlx::Error> {
        let rows = sqlx::query("SELECT * FROM projects ORDER BY id").fetch_all(&self.pool).await?;
        Ok(rows.iter().map(Project::of_row).collect())
    }

    pub async fn project(&self, id: &str) -> Result<Project, ProjectError> {
        let row =
            sqlx::query("SELECT * FROM projects WHERE id = ?").bind(id).fetch_optional(&self.pool).await?;
        match row {
            Some(row) => Ok(Project::of_row(&row)),
            None => {
                let known = self.projects().await?;
                let meant = did_you_mean(id, known.iter().map(|known| known.id.as_str())).map(str::to_owned);
                Err(ProjectError::Unknown { id: id.to_owned(), meant })
            }
        }
    }

    /// Its runs and its file stay. What it was named in goes with it, and its jobs: another project may get its id later.
    pub async fn remove_project(&self, id: &str) -> Result<Project, ProjectError> {
        let project = self.project(id).await?;
        let mut change = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        for statement in [
            "UPDATE hooks SET revoked = ?1 WHERE project = ?2 AND revoked IS NULL",
            "UPDATE tokens SET revoked = ?1 WHERE project = ?2 AND revoked IS NULL",
            "DELETE FROM grants WHERE ?1 > 0 AND project = ?2",
            "DELETE FROM projects WHERE ?1 > 0 AND id = ?2",
        ] {
            sqlx::query(statement).bind(now()).bind(id).execute(&mut *change).await?;
        }
        change.commit().await?;
        let jobs = self.jobs_of(&project);
        let removed = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(jobs)).await;
        match removed.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(project = id, %error, "the project's jobs cannot be removed");
            }
            _ => {}
        }
        Ok(project)
    }

    /// Where planners and group executions of a project have a folder each.
    pub(crate) fn jobs_of(&self, project: &Project) -> PathBuf {
        self.folder.join("jobs").join(&project.id)
    }
}

fn file_in(directory: &Path, file: Option<PathBuf>) -> Result<PathBuf, ProjectError> {
    match file {
        Some(file) => {
            let file = directory.join(file);
            if file.is_file() { Ok(file) } else { Err(ProjectError::NoFile(file)) }
        }
        None => {
            let usual = USUAL_FILES.map(|name| directory.join(name)).into_iter().find(|file| file.is_file());
            usual.ok_or_else(|| ProjectError::NoUsualFile(directory.to_owned()))
        }
    }
}

fn is_id(id: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    id.len() <= 64
        && id.starts_with(fits)
        && id.chars().all(|letter| fits(letter) || letter == '-' || letter == '_')
}

/// After the folder, with a number where that is taken.
fn free_id(directory: &Path, known: &[Project]) -> String {
    let name = directory.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name: String = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .take(48)
        .collect();
    let name = name.trim_matches('-').to_owned();
    let name = if is_id(&name) { name } else { "project".to_owned() };
    let numbered = |number: u32| if number == 1 { name.clone() } else { format!("{name}-{number}") };
    let is_free = |id: &String| known.iter().all(|known| known.id != *id);
    (1..).map(numbered).find(is_free).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_from_folders_and_never_clash() {
        let taken = Project {
            id: "my-repo".into(),
            name: String::new(),
            directory: "/".into(),
            file: "/".into(),
            created: 0,
        };
        assert_eq!(free_id(Path::new("/src/My Repo"), &[]), "my-repo");
        assert_eq!(free_id(Path::new("/src/my.repo"), &[taken]), "my-repo-2");
        assert_eq!(free_id(Path::new("/src/…"), &[]), "project");
        assert!(is_id("a-1_b") && !is_id("") && !is_id("-a") && !is_id("A") && !is_id("a/b") && !is_id(".."));
    }
}
