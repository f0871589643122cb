//! `worktree resolve --show` and `--write`: a conflict that is laid out, looked at and solved file by file from afar.

use std::io::{self, Read as _};
use std::sync::Arc;

use conductor_core::schedule::Side;
use conductor_core::values::ids::TaskId;
use conductor_engine::git::workspaces::{LONGEST_SIDE, Resolution, Resolving, Version};
use serde_json::json;

use super::{answer_either, talk};
use crate::archive::Archive;
use crate::args::{TakenSide, WorktreeResolve};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};

pub(super) async fn show_or_write(args: &WorktreeResolve) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let mut chosen = archive.task(args.of.run.as_deref(), &args.of.task, |_, _| true).await?;
    chosen.place = chosen.found.run.doer(chosen.place);
    let (task, run) = (chosen.task().id.clone(), chosen.found.stored.id.clone());
    let resolving = Resolving::new(Arc::new(chosen.found.context(&archive.home)?));
    let Some(open) = resolving.open(&task)? else {
        let message = format!("no conflict of '{task}' is being solved");
        return Err(CliError::new(Exit::NothingToDo, message)
            .help(format!("begin with: conductor worktree resolve {task} --run {run}")));
    };
    match &args.how.write {
        None => {
            let files = resolving.sides(&open)?;
            let words: Vec<String> =
                files.iter().map(|file| format!("{}  {}", one_line(&file.path), word(&file.now))).collect();
            let value = json!({ "run": run, "task": task, "folder": open.folder, "landed": open.base,
                "kept": open.kept, "files": files });
            answer_either(args.of.json, &words.join("\n"), "conductor.conflict/1", value)?;
        }
        Some(path) => {
            // While it is checked and landed, the folder stays as it is.
            let amendment = archive.amend(&run).await?;
            write(&resolving, &open, &task, path, args.take)?;
            drop(amendment);
            talk(format!("{} is written", one_line(path)));
            let value = json!({ "run": run, "task": task, "path": path });
            answer_either(args.of.json, "", "conductor.conflict-file/1", value)?;
        }
    }
    Ok(Exit::Done)
}

fn write(
    resolving: &Resolving,
    open: &Resolution,
    task: &TaskId,
    path: &str,
    take: Option<TakenSide>,
) -> Result<(), CliError> {
    if !open.files.iter().any(|file| file == path) {
        let message = format!("{} is no file of the conflict of '{task}'", one_line(path));
        return Err(CliError::new(Exit::Usage, message).help(format!("its files: {}", open.files.join(", "))));
    }
    let side = match take {
        None => {
            let mut text = Vec::new();
            io::stdin().lock().take(LONGEST_SIDE + 1).read_to_end(&mut text)?;
            if text.len() as u64 > LONGEST_SIDE {
                let message = format!("{} would have more than {LONGEST_SIDE} bytes", one_line(path));
                return Err(CliError::new(Exit::Usage, message)
                    .help(format!("edit it in the folder: {}", open.folder.display())));
            }
            return match resolving.put(open, path, &text)? {
                true => Ok(()),
                false => Err(in_the_folder(open, &format!("{} is a link", one_line(path)))),
            };
        }
        Some(TakenSide::Ours) => Side::Ours,
        Some(TakenSide::Theirs) => Side::Theirs,
    };
    match resolving.take_side(open, path, side)? {
        true => Ok(()),
        false => {
            Err(in_the_folder(open, &format!("{} is no file on that side, or a link now", one_line(path))))
        }
    }
}

fn in_the_folder(open: &Resolution, why: &str) -> CliError {
    CliError::new(Exit::Usage, why).help(format!("solve it in the folder: {}", open.folder.display()))
}

/// What is in the folder, in a word.
fn word(now: &Version) -> &'static str {
    match now {
        Version::Absent => "not there",
        Version::Text { text } if text.lines().any(|line| line.starts_with("<<<<<<< ")) => "to be solved",
        Version::Text { .. } => "without marks",
        Version::Binary { .. } => "no text",
        Version::TooLong { .. } => "long",
        Version::Other => "no file",
    }
}
