//! The task file that is meant where none is named.

use std::path::{Path, PathBuf};

use conductor_engine::agents::subagents;

use crate::error::{CliError, Exit};
use crate::output::talk;

/// Where one is looked for, in this order.
const NAMES: [&str; 3] = ["conductor.yaml", ".conductor/tasks.yaml", "tasks.yaml"];

/// The file that is named, else the one that is found, which a notice names.
pub(crate) fn meant(named: Option<&Path>) -> Result<PathBuf, CliError> {
    if let Some(file) = named {
        return Ok(file.to_owned());
    }
    let here = std::env::current_dir()?;
    match found(&here) {
        Some(file) => {
            talk(format!("no FILE is named: taking {}", file.display()));
            Ok(file)
        }
        None => Err(none(&here)),
    }
}

/// The one of this directory, else the one of the repository's root, as it would be typed from here.
pub(crate) fn found(here: &Path) -> Option<PathBuf> {
    let root = subagents::root(here);
    let depth = here.strip_prefix(&root).map_or(0, |below| below.components().count());
    let up: PathBuf = std::iter::repeat_n("..", depth).collect();
    let folders = if depth == 0 { vec![PathBuf::new()] } else { vec![PathBuf::new(), up] };
    let files = folders.iter().flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)));
    files.into_iter().find(|file| here.join(file).is_file())
}

fn none(here: &Path) -> CliError {
    let root = subagents::root(here);
    let places = match root == here {
        true => here.display().to_string(),
        false => format!("{} or {}", here.display(), root.display()),
    };
    let [first, second, third] = NAMES;
    let message = format!("no task file is named, and there is no {first}, {second} or {third} in {places}");
    CliError::new(Exit::Usage, message)
        .help("write one with `conductor init`, or name one; `conductor run --resume` takes up the last run")
}
