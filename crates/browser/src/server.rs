//! The MCP server that drives the browser: one that is there, the one that this machine's sessions share, or our own.

mod host;
mod install;
mod launch;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::client::{CallError, Client, Place, PlaceError};
use crate::link::Stdio;
use crate::page::Page;
use crate::settings::{Places, Settings};

pub use host::{Host, HostRecord, serve};
pub use install::{PACKAGE, VERSION, install, installed};
pub use launch::find_browser;

#[derive(Debug, Error)]
pub enum ServerError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(
        "npm is needed to install {PACKAGE} {VERSION} and cannot be started: {0}; install Node.js 18 or newer"
    )]
    NoNpm(io::Error),
    #[error("npm could not install {PACKAGE} {VERSION}: {0}")]
    NotInstalled(String),
    #[error("no Chromium or Chrome was found; install one, or name it with browser.executable")]
    NoBrowser,
    #[error("browser.executable is {}, which is not there", .0.display())]
    NotThere(PathBuf),
    #[error("cannot use {path}: {source}")]
    Files { path: PathBuf, source: io::Error },
    #[error("the browser's server did not start: {0}")]
    NotServing(String),
}

impl ServerError {
    fn files(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ServerError {
        move |source| ServerError::Files { path: path.into(), source }
    }
}

/// Where pages come from.
#[derive(Debug)]
pub struct Source {
    settings: Settings,
    places: Places,
    /// Held as long as the shared browser is used, so that it stays.
    in_use: Option<File>,
}

impl Source {
    pub fn new(settings: &Settings, places: &Places) -> Source {
        Source { settings: settings.clone(), places: places.clone(), in_use: None }
    }

    /// A connection of our own. Whose browser it leads to is the settings' and the machine's affair.
    pub fn connect(&mut self) -> Result<Page, ServerError> {
        let patience = self.settings.patience();
        if let Some(url) = &self.settings.server_url {
            return Ok(Page::new(Client::connect(&Place::parse(url)?, patience)?));
        }
        if self.in_use.is_none() {
            self.in_use = Some(host::use_it(&self.places)?);
        }
        if let Some(host) = HostRecord::living(&self.places) {
            return Ok(Page::new(Client::connect(&Place::Http(host.url), patience)?));
        }
        self.in_use = None;
        let program = install(&self.places)?;
        let link = Stdio::start(launch::alone(&self.settings, &self.places, &program)?);
        Ok(Page::new(Client::over(Box::new(link.map_err(CallError::from)?), patience.timeout)?))
    }

    /// Has the shared server replaced. One of our own is replaced by connecting again; one of the user's is not ours.
    pub fn renew(&mut self) -> Result<(), ServerError> {
        match (&self.settings.server_url, HostRecord::living(&self.places)) {
            (None, Some(host)) => host.replace(&self.places),
            _ => Ok(()),
        }
    }
}
