//! Tasks of vibe-kanban, read from its database, which is not written to.

use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Row as _};

use super::{ImportError, Item, State};

const TOOL: &str = "vibe-kanban";

/// Where it keeps its database on this machine.
pub fn usual_place() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")))?;
    Some(data.join("vibe-kanban/db.sqlite"))
}

/// The tasks, of one project where it is named.
pub async fn items(path: &Path, project: Option<&str>) -> Result<Vec<Item>, ImportError> {
    let foreign = |why: String| ImportError::Foreign { path: path.to_owned(), tool: TOOL, why };
    if !path.is_file() {
        let source = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(ImportError::Unreadable { path: path.to_owned(), source });
    }
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let told = |error: sqlx::Error| foreign(error.to_string());
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(told)?;
    let rows = sqlx::query(
        "SELECT lower(hex(tasks.id)) AS id, tasks.title AS title, coalesce(tasks.description, '') AS body, \
         tasks.status AS status, projects.name AS project \
         FROM tasks JOIN projects ON projects.id = tasks.project_id ORDER BY tasks.created_at, tasks.id",
    )
    .fetch_all(&mut connection)
    .await
    .map_err(told)?;
    let _ = connection.close().await;
    let mut items = Vec::new();
    let mut projects = std::collections::BTreeSet::new();
    for row in rows {
        let column = |name: &str| row.try_get::<String, _>(name).map_err(|error| foreign(error.to_string()));
        let (id, status, of) = (column("id")?, column("status")?, column("project")?);
        projects.insert(of.clone());
        if project.is_none_or(|wanted| wanted == of) {
            // The first figures of its id are enough to be known by.
            let id = format!("vk-{}", id.get(..12).unwrap_or(&id));
            items.push(Item {
                id,
                title: column("title")?,
                body: column("body")?,
                state: state(&status),
                ..Item::default()
            });
        }
    }
    match project {
        Some(wanted) if !projects.contains(wanted) => {
            let known: Vec<String> = projects.into_iter().collect();
            Err(foreign(format!("it has no project '{wanted}', but {}", known.join(", "))))
        }
        _ => Ok(items),
    }
}

fn state(status: &str) -> State {
    match status {
        "todo" => State::Open,
        "done" => State::Done,
        "inprogress" => State::LeftOut("is in progress there".to_owned()),
        "inreview" => State::LeftOut("is in review there".to_owned()),
        other => State::LeftOut(format!("is {other} there")),
    }
}
