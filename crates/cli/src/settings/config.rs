//! The config files: where they are, and what they say; and before them the user's variables.

use std::path::{Path, PathBuf};

use conductor_core::file::{self, Layer, Source};
use conductor_engine::agents::subagents;
use conductor_engine::host::home::Home;
use conductor_engine::host::trust::sha256;

use crate::error::{CliError, Exit};
use crate::settings::diagnostics::{self, Sheet};
use crate::settings::trust;
use crate::settings::variables;

/// A place where a config file may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// As it is shown: relative where it is the repository's.
    pub(crate) name: String,
    pub(crate) of: Of,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// No file: the variables that set something for tasks.
    Environment,
    Repository,
    User,
}

impl Of {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Of::Environment => "environment",
            Of::Repository => "repository",
            Of::User => "user",
        }
    }
}

/// Where config files are looked for, the strongest first. One that serves as both is the user's.
pub(crate) fn places() -> Result<Vec<Place>, CliError> {
    Ok(places_of(&std::env::current_dir()?))
}

/// As `places`, for a run of another directory.
pub(crate) fn places_of(here: &Path) -> Vec<Place> {
    // Without a home there is no config in it.
    let own = Home::root_of_environment().ok().map(|root| root.join("config.yaml"));
    let repository = subagents::root(here).join(".conductor/config.yaml");
    let same =
        |a: &Path, b: &Path| a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().ok() == Some(a));
    let mut places = Vec::new();
    if !own.as_ref().is_some_and(|own| same(&repository, own)) {
        let name = repository.strip_prefix(here).unwrap_or(&repository).display().to_string();
        places.push(Place { path: repository, name, of: Of::Repository });
    }
    places.extend(own.map(|own| Place { name: own.display().to_string(), path: own, of: Of::User }));
    places
}

/// A config file that is there.
pub(crate) struct Config {
    pub(crate) place: Place,
    /// Nothing where it has errors.
    pub(crate) layer: Option<Layer>,
    pub(crate) sheet: Sheet,
}

pub(crate) fn read() -> Result<Vec<Config>, CliError> {
    read_of(&std::env::current_dir()?)
}

fn read_of(here: &Path) -> Result<Vec<Config>, CliError> {
    let there = places_of(here).into_iter().filter(|place| std::fs::symlink_metadata(&place.path).is_ok());
    variables::config().map(Ok).into_iter().chain(there.map(one)).collect()
}

fn one(place: Place) -> Result<Config, CliError> {
    let name = place.name.clone();
    let bytes = diagnostics::read(&place.path, &name)?;
    let hash = sha256(&bytes);
    let source = match Source::new(name.clone(), bytes) {
        Ok(source) => source,
        Err(found) => {
            return Ok(Config {
                place,
                layer: None,
                sheet: Sheet { source: None, name, found: vec![found] },
            });
        }
    };
    let (layer, found) = match file::layer(&source) {
        Ok((layer, found)) if place.of == Of::Repository => {
            let (layer, untrusted) = trust::gate(&place.path, &hash, &source, layer);
            (layer, found.into_iter().chain(untrusted).collect())
        }
        Ok((layer, found)) => (Some(layer), found),
        Err(found) => (None, found),
    };
    Ok(Config { place, layer, sheet: Sheet { source: Some(source), name, found } })
}

/// What they say, the strongest first, where none has an error; and what was found in them.
pub(crate) fn layers() -> Result<(Option<Vec<Layer>>, Vec<Sheet>), CliError> {
    layers_of(&std::env::current_dir()?)
}

/// As `layers`, for a run of another directory.
pub(crate) fn layers_of(here: &Path) -> Result<(Option<Vec<Layer>>, Vec<Sheet>), CliError> {
    let (layers, sheets): (Vec<_>, Vec<_>) =
        read_of(here)?.into_iter().map(|config| (config.layer, config.sheet)).unzip();
    Ok((layers.into_iter().collect(), sheets))
}

/// As `layers`, where what is wrong ends the command.
pub(crate) fn good() -> Result<Vec<Config>, CliError> {
    let configs = read()?;
    configs.iter().for_each(|config| config.sheet.show());
    match configs.iter().find(|config| config.layer.is_none()) {
        Some(bad) => Err(CliError::new(Exit::InvalidFile, format!("{} has errors", bad.place.name))),
        None => Ok(configs),
    }
}
