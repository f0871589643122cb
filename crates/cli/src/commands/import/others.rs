//! Tools other than beads: what they have to do is read once, and nothing is written back to them.

use std::path::{Path, PathBuf};

use conductor_engine::records::beads;
use conductor_engine::records::imports::{
    self, ImportError, Item, github, linear, markdown, plugin, task_master, vibe_kanban,
};

use super::{may_write, tell, write};
use crate::args::{Import, ImportTo};
use crate::commands::{block_on, talk};
use crate::error::{CliError, Exit};

pub(super) fn import(import: &Import) -> Result<Exit, CliError> {
    let here = std::env::current_dir()?;
    match import {
        // Told by the command itself.
        Import::Beads(_) => Ok(Exit::Done),
        Import::Github(args) => {
            let wanted = github::Wanted {
                repository: args.repo.clone(),
                labels: args.labels.clone(),
                most: args.limit,
            };
            let from =
                args.repo.as_ref().map_or_else(|| "GitHub".to_owned(), |name| format!("GitHub, {name}"));
            made(&args.to, &from, || Ok(github::items(&here, &wanted)?))
        }
        Import::Markdown(args) => made(&args.to, &shown(&args.file), || Ok(markdown::items(&args.file)?)),
        Import::Linear(args) => made(&args.to, &shown(&args.file), || Ok(linear::items(&args.file)?)),
        Import::TaskMaster(args) => {
            let file = args.file.clone().unwrap_or_else(|| PathBuf::from(task_master::FILE));
            made(&args.to, &shown(&file), || Ok(task_master::items(&file, &args.tag)?))
        }
        Import::VibeKanban(args) => {
            let file = args.file.clone().or_else(vibe_kanban::usual_place).unwrap_or_default();
            let project = args.project.as_deref();
            made(&args.to, &shown(&file), || {
                block_on(async { Ok(vibe_kanban::items(&file, project).await?) })
            })
        }
        Import::Plugin(args) => made(&args.to, &format!("the importer {}", args.name), || {
            let (items, notes) = plugin::items(&args.name, &args.arguments, &here)?;
            notes.iter().for_each(|note| talk(crate::end_block::one_line(note)));
            Ok(items)
        }),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn made(
    to: &ImportTo,
    from: &str,
    items: impl FnOnce() -> Result<Vec<Item>, CliError>,
) -> Result<Exit, CliError> {
    may_write(to)?;
    let drafted = imports::draft(items()?);
    tell(&drafted.left_out);
    if drafted.tasks.is_empty() {
        return Err(CliError::new(Exit::NothingToDo, format!("there is nothing to do in {from}")));
    }
    let text = beads::text_under(&drafted, &format!("What was to do, read from {from}."));
    write(to, &drafted, text)
}

impl From<ImportError> for CliError {
    fn from(error: ImportError) -> CliError {
        match error {
            ImportError::Plugin(error) => error.into(),
            ImportError::Gh(_) => {
                CliError::new(Exit::AgentMissing, error).help("see whether `gh issue list` works in a shell")
            }
            ImportError::Foreign { .. } => CliError::new(Exit::InvalidFile, error),
            ImportError::Unreadable { .. } => {
                CliError::new(Exit::InvalidFile, error).help("name the file: conductor import TOOL FILE")
            }
        }
    }
}
