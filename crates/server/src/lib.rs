//! Conductor over HTTP.
//!
//! It drives nothing: runs are driven by processes of their own, which it starts, follows and asks. It can be killed,
//! replaced and started again at any time, and no run notices.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod access;
mod api;
mod app;
mod fleet;
mod layouts;
pub mod listen;
mod live;
mod metrics;
#[cfg(feature = "oidc")]
pub mod oidc;
pub mod page;
mod problem;
mod program;
pub mod records;
mod turns;
mod web;
pub mod webhooks;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use conductor_engine::host::home::Home;
use thiserror::Error;

use access::{Hosts, codes::Codes, owner, throttle::Throttle};
use app::AppParts;
use layouts::Layouts;
use listen::{Bound, ListenError, Tls};
use live::Runs;
use metrics::Meter;
use page::Page;
use program::Program;
use records::{Records, RecordsError};
use turns::Turns;
use webhooks::Webhooks;

#[derive(Debug, Error)]
pub enum ServeError {
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("the owner's token cannot be kept: {0}")]
    Token(std::io::Error),
    #[cfg(feature = "oidc")]
    #[error("no random numbers: {0}")]
    Random(std::io::Error),
    #[cfg(feature = "oidc")]
    #[error("a role cannot be given by --oidc-role: {0}")]
    Project(records::ProjectError),
}

/// What a server is to be.
pub struct Settings {
    pub home: Home,
    /// Conductor's program, for what its commands do.
    pub program: PathBuf,
    /// Further names it is known by.
    pub hosts: Vec<String>,
    pub tls: Option<Tls>,
    pub page: Page,
    pub webhooks: webhooks::Rules,
    /// Who else says who a person is.
    #[cfg(feature = "oidc")]
    pub oidc: Option<oidc::OidcSettings>,
}

/// A server that is bound and not serving yet.
pub struct Server {
    app: app::App,
    bound: Bound,
    tls: Option<Tls>,
}

impl Server {
    pub async fn prepare(settings: Settings, bound: Bound) -> Result<Server, ServeError> {
        #[cfg(feature = "oidc")]
        let oidc = settings.oidc.map(oidc::Oidc::new).transpose().map_err(ServeError::Random)?;
        let Settings { home, program, hosts, tls, page, webhooks, .. } = settings;
        let records = Records::open(&home).await?;
        #[cfg(feature = "oidc")]
        check_projects(oidc.as_ref(), &records).await?;
        let owner_token = owner::token(&home).map_err(ServeError::Token)?;
        let folder = owner::folder(&home);
        let app = Arc::new(AppParts {
            records,
            program: Program::new(program, home.root()),
            runs: Runs::new(home.clone()),
            hosts: Hosts::new(bound.address, &hosts, tls.is_some()),
            throttle: Throttle::default(),
            hook_calls: Throttle::default(),
            meter: Meter::default(),
            layouts: Layouts::default(),
            webhooks: Webhooks::new(webhooks),
            exchanges: live::Exchanges::default(),
            streams: live::Streams::default(),
            of_projects: tokio::sync::Mutex::default(),
            editing: Turns::new(&folder, "editing"),
            codes: Codes::of(&home),
            #[cfg(feature = "oidc")]
            oidc,
            owner_token,
            started: Instant::now(),
            bound: bound.address,
            starting: Turns::new(&folder, "starting"),
            home,
            page,
        });
        Ok(Server { app, bound, tls })
    }

    /// The page's address.
    pub fn page(&self) -> String {
        self.app.hosts.page()
    }

    /// An address that opens the page once, as the owner.
    pub fn page_for_owner(&self) -> std::io::Result<String> {
        Ok(Codes::address(&self.page(), &self.app.codes.issue_for_owner()?, "/"))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.bound.address
    }

    /// Serves until it is told to stop; what is under way then is brought to an end.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let app = self.app.clone();
        let sweeping = tokio::spawn(async move { app.runs.sweep().await });
        let app = self.app.clone();
        let telling =
            tokio::spawn(async move { app.webhooks.drive(&app.records, &app.runs, &app.home).await });
        let router = web::serving::router(self.app.clone(), api::routes());
        listen::serve(self.bound, self.tls, router, &self.app.streams, stop).await;
        sweeping.abort();
        telling.abort();
        self.app.webhooks.stop().await;
        self.app.records.close().await;
        Ok(())
    }
}

/// A role in a project that does not exist would wait for the next project of that name.
#[cfg(feature = "oidc")]
async fn check_projects(oidc: Option<&oidc::Oidc>, records: &Records) -> Result<(), ServeError> {
    for project in oidc.into_iter().flat_map(oidc::Oidc::projects) {
        records.project(project).await.map_err(ServeError::Project)?;
    }
    Ok(())
}

/// The API's own description.
pub fn openapi() -> &'static str {
    api::described()
}

/// Every route with who may take it, for tests that go through all of them: method, path, role.
pub fn routes() -> Vec<(&'static str, &'static str, &'static str)> {
    let role = |rule| match rule {
        web::route::Rule::Public => "none",
        web::route::Rule::Role(role) | web::route::Rule::Everywhere(role) => role.name(),
    };
    api::routes().map(|route| (route.method.name(), route.path, role(route.rule))).collect()
}

/// Which commands of the program have which route.
pub fn commands() -> Vec<(&'static str, String)> {
    api::commands()
        .map(|(command, route)| (command, format!("{} {}", route.method.name(), route.path)))
        .collect()
}
