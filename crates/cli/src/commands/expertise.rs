//! `conductor expertise`: what this project has taught, shown and edited.

mod changing;
mod evidence;
mod learning;
mod showing;

pub(crate) use learning::{Reading, read_all};

use std::path::PathBuf;

use conductor_engine::expertise::{Expertise, ExpertiseError, Project};
use conductor_engine::host::home::Home;

use super::block_on;
use crate::args;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &args::Expertise) -> Result<Exit, CliError> {
    use args::Expertise as E;
    block_on(async {
        match args {
            E::List(args) => showing::list(args).await,
            E::Show(args) => showing::show(args).await,
            E::History(args) => showing::history(args).await,
            E::Stats(args) => showing::stats(args).await,
            E::Evidence(args) => evidence::evidence(args).await,
            E::Add(args) => changing::add(args).await,
            E::Edit(args) => changing::edit(args).await,
            E::Retire(args) => changing::retire(args).await,
            E::Restore(args) => changing::restore(args).await,
            E::Validate(args) => changing::validate(args, false).await,
            E::Improve(args) => changing::validate(args, true).await,
            E::Resume(args) => changing::resume(args).await,
            E::Export(args) => changing::export(args).await,
            E::Import(args) => changing::import(args).await,
            E::Learn(args) => learning::learn(args).await,
        }
    })
}

/// Of the directory this command is given in.
fn project() -> Result<Project, CliError> {
    Ok(Project::of(&std::env::current_dir()?))
}

/// To change something.
async fn store() -> Result<Expertise, CliError> {
    let home = Home::open()?;
    Ok(Expertise::open(home.root(), project()?).await?)
}

/// Only to look: nothing is written, unless the repository's file says something new. Nothing where nothing was learned.
async fn looked_at() -> Result<Option<Expertise>, CliError> {
    let project = project()?;
    let there = match home() {
        Some(home) => Expertise::open_to_look(&home, project.clone()).await?,
        None => None,
    };
    let is_new = match &there {
        Some(store) => !store.is_in_step().await?,
        None => project.shared_file().exists(),
    };
    if !is_new {
        return Ok(there);
    }
    let store = store().await?;
    store.sync_file(conductor_engine::host::clock::wall()).await?;
    Ok(Some(store))
}

fn unknown(what: &str) -> CliError {
    ExpertiseError::NoItem(what.to_owned()).into()
}

/// Where the state directory is; nothing where nothing was ever kept.
pub(crate) fn home() -> Option<PathBuf> {
    Home::existing().ok().flatten().map(|home| home.root().to_owned())
}

impl From<ExpertiseError> for CliError {
    fn from(error: ExpertiseError) -> CliError {
        let exit = match &error {
            ExpertiseError::NoItem(_) | ExpertiseError::NoVersion { .. } => Exit::Usage,
            ExpertiseError::Bad(_) | ExpertiseError::Secret(_) => Exit::Usage,
            ExpertiseError::File(_) => Exit::InvalidFile,
            _ => Exit::Unexpected,
        };
        CliError::new(exit, error)
    }
}
