//! What every request has at hand.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use conductor_engine::host::home::Home;
use conductor_engine::stores::StoredRun;

use crate::access::codes::Codes;
use crate::access::throttle::Throttle;
use crate::access::{Hosts, Identity};
use crate::layouts::Layouts;
use crate::live::{Exchanges, Runs, Streams};
use crate::metrics::Meter;
use crate::page::Page;
use crate::problem::{Problem, Result};
use crate::program::Program;
use crate::records::{Project, ProjectError, Records};
use crate::turns::Turns;
use crate::webhooks::Webhooks;

pub(crate) type App = Arc<AppParts>;

/// A list of all runs, and those of it that belong to a project.
type ListOfProject = (Arc<Vec<StoredRun>>, Vec<StoredRun>);

pub(crate) struct AppParts {
    pub(crate) home: Home,
    pub(crate) records: Records,
    pub(crate) program: Program,
    pub(crate) runs: Runs,
    pub(crate) exchanges: Exchanges,
    pub(crate) streams: Streams,
    pub(crate) hosts: Hosts,
    pub(crate) throttle: Throttle,
    pub(crate) codes: Codes,
    #[cfg(feature = "oidc")]
    pub(crate) oidc: Option<crate::oidc::Oidc>,
    pub(crate) owner_token: String,
    pub(crate) started: Instant,
    pub(crate) bound: SocketAddr,
    pub(crate) page: Page,
    /// How often each hook was called.
    pub(crate) hook_calls: Throttle,
    pub(crate) meter: Meter,
    pub(crate) layouts: Layouts,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) of_projects: tokio::sync::Mutex<HashMap<String, ListOfProject>>,
    /// Of edits: one after the other.
    pub(crate) editing: Turns,
    /// Of starts: two at once for one project are not both to be tried.
    pub(crate) starting: Turns,
}

impl AppParts {
    pub(crate) async fn project(&self, id: &str) -> Result<Project> {
        Ok(self.records.project(id).await?)
    }

    /// The project a run belongs to, where there is one.
    pub(crate) async fn project_of(&self, run: &StoredRun) -> Result<Option<Project>> {
        Ok(self.records.projects().await?.into_iter().find(|project| project.has(run)))
    }

    /// The project's runs, newest first. Looked up once for all who ask while the list of runs stays the same: a thousand
    /// clients of a project's WebSocket ask four times a second.
    pub(crate) async fn runs_of(&self, project: &Project) -> Result<Vec<StoredRun>> {
        let runs = self.runs.list().await?;
        let mut known = self.of_projects.lock().await;
        match known.get(&project.id) {
            Some((list, own)) if Arc::ptr_eq(list, &runs) => Ok(own.clone()),
            _ => {
                let own: Vec<StoredRun> = runs.iter().filter(|run| project.has(run)).cloned().collect();
                known.insert(project.id.clone(), (runs, own.clone()));
                Ok(own)
            }
        }
    }

    /// The runs that a user may see, newest first, with their projects.
    pub(crate) async fn visible(&self, identity: &Identity) -> Result<Vec<(StoredRun, Option<String>)>> {
        let projects = self.records.projects().await?;
        let runs = self.runs.list().await?;
        let with_project = |run: &StoredRun| {
            let project = projects.iter().find(|project| project.has(run)).map(|project| project.id.clone());
            identity.sees(project.as_deref()).then(|| (run.clone(), project))
        };
        Ok(runs.iter().filter_map(with_project).collect())
    }
}

impl From<ProjectError> for Problem {
    fn from(error: ProjectError) -> Problem {
        match error {
            ProjectError::Unknown { ref meant, .. } => {
                let meant = meant.clone();
                Problem::not_found(&error).meant(meant.as_deref())
            }
            ProjectError::Taken(_) | ProjectError::Known(_) => Problem::conflict(error),
            ProjectError::WrongId(_) => Problem::new(422, error).with("field", "id"),
            ProjectError::NoFolder(_) => Problem::new(422, error).with("field", "directory"),
            ProjectError::NoFile(_) | ProjectError::NoUsualFile(_) => {
                Problem::new(422, error).with("field", "file")
            }
            ProjectError::Failed(error) => error.into(),
        }
    }
}
