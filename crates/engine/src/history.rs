//! What earlier runs of the same file teach the next: which files each task touched.

use std::collections::{BTreeSet, HashMap};

use conductor_core::ids::TaskId;
use conductor_core::plan::Plan;
use conductor_core::run::Run;

use crate::stores::{Store, StoreError, StoredRun};

/// More files than this are remembered as the folders they are in.
const MANY: usize = 50;

/// Notes for each task that does not say what it will touch what it touched last time, so that tasks which met then do
/// not run side by side now. Nothing where the file has never been run here, or its last run cannot be read.
pub async fn learn(store: &dyn Store, source: &str, plan: &mut Plan) -> Result<(), StoreError> {
    let last = store.runs().await?.into_iter().find(|run| run.source == source && is_telling(run));
    let Some(last) = last else { return Ok(()) };
    let records = store.load(&last.id).await?;
    let Ok(run) = Run::replay(&records) else { return Ok(()) };
    let touched = touched(&run);
    for task in plan.tasks.iter_mut().filter(|task| task.files.is_empty()) {
        if let Some(files) = touched.get(&task.id) {
            task.preparation.get_or_insert_default().learned_files.clone_from(files);
        }
    }
    Ok(())
}

fn is_telling(run: &StoredRun) -> bool {
    matches!(run.status.as_str(), "completed" | "failed" | "stopped")
}

fn touched(run: &Run) -> HashMap<TaskId, Vec<String>> {
    let landed = run.tasks().filter_map(|(task, progress)| Some((task, progress.landed.as_ref()?)));
    landed.map(|(task, landed)| (task.id.clone(), remembered(&landed.touched.files))).collect()
}

fn remembered(files: &[String]) -> Vec<String> {
    if files.len() <= MANY {
        return files.to_vec();
    }
    let folder =
        |file: &String| file.rsplit_once('/').map_or_else(|| file.clone(), |(folder, _)| folder.to_owned());
    files.iter().map(folder).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_great_many_files_are_remembered_by_their_folders() {
        let few = vec!["src/a.rs".to_owned(), "b".to_owned()];
        assert_eq!(remembered(&few), few);
        let many: Vec<String> = (0..60).map(|n| format!("docs/{}/{n}.md", n % 2)).collect();
        assert_eq!(remembered(&many), ["docs/0", "docs/1"]);
    }
}
