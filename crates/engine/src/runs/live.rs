//! Which active run is meant. Coordinators are asked directly: the store is not opened for that.

use std::cmp::Reverse;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use conductor_core::values::ids::RunId;
use thiserror::Error;

use crate::dispatch::LiveView;
use crate::git::Repository;
use crate::host::home::Home;
use crate::runs::control::{self, ControlError};

/// The run that is meant is active, and its coordinator does not answer as it should.
#[derive(Debug, Error)]
#[error("run {run}: {source}")]
pub struct LiveError {
    pub run: RunId,
    pub source: ControlError,
}

/// The active run whose name begins like this; nothing where it is none, or where several begin so.
pub fn named(home: &Home, word: &str) -> Result<Option<LiveView>, LiveError> {
    match only(home.runs(), word) {
        Some(run) => live_view(home, &run),
        None => Ok(None),
    }
}

fn only(runs: Vec<RunId>, word: &str) -> Option<RunId> {
    let mut fitting = runs.into_iter().filter(|run| !word.is_empty() && run.as_str().starts_with(word));
    fitting.next().filter(|_| fitting.next().is_none())
}

fn live_view(home: &Home, run: &RunId) -> Result<Option<LiveView>, LiveError> {
    match control::live_view(&home.run(run)) {
        Ok(live_view) => Ok(Some(live_view)),
        Err(ControlError::NotThere) => Ok(None),
        Err(_) if !home.is_live(run) => Ok(None),
        Err(source) => Err(LiveError { run: run.clone(), source }),
    }
}

/// Every active run that answers, the newest first.
pub fn all(home: &Home) -> Vec<LiveView> {
    let mut live: Vec<LiveView> =
        open(home).iter().filter_map(|run| control::live_view(&home.run(run)).ok()).collect();
    live.sort_by_key(|live_view| Reverse(live_view.snapshot.created.0));
    live
}

/// Every run that has opened its control socket and has not closed it.
fn open(home: &Home) -> Vec<RunId> {
    home.runs().into_iter().filter(|run| control::is_open(&home.run(run))).collect()
}

/// The newest active run of the repository that a directory is in. One that does not answer is never passed over for an
/// older one: that is not the one that is meant.
pub fn newest_here(home: &Home, here: &Path) -> Result<Option<LiveView>, LiveError> {
    let live = open(home).into_iter().filter_map(|run| Live::ask(home, run)).collect();
    // Git is asked only where the directories differ.
    let mut ours: Option<Option<PathBuf>> = None;
    let is_here = |directory: &Path| {
        directory == here || {
            let ours = ours.get_or_insert_with(|| Repository::common_of(here).ok());
            ours.is_some() && Repository::common_of(directory).ok() == *ours
        }
    };
    match newest(live, is_here) {
        None => Ok(None),
        Some(Live::Answers(live_view)) => Ok(Some(*live_view)),
        Some(Live::Silent { run, .. }) => Err(LiveError { run, source: ControlError::Silent }),
    }
}

/// One whose directory cannot be told may be the one that is meant.
fn newest(mut live: Vec<Live>, mut is_here: impl FnMut(&Path) -> bool) -> Option<Live> {
    live.sort_by_key(|live| Reverse(live.since()));
    live.into_iter().find(|live| live.directory().is_none_or(&mut is_here))
}

/// A live run, and where it works.
enum Live {
    Answers(Box<LiveView>),
    /// Its coordinator is there, and says nothing.
    Silent {
        run: RunId,
        directory: Option<PathBuf>,
        since: i64,
    },
}

impl Live {
    fn ask(home: &Home, run: RunId) -> Option<Live> {
        match control::live_view(&home.run(&run)) {
            Ok(live_view) => Some(Live::Answers(Box::new(live_view))),
            Err(ControlError::NotThere) => None,
            Err(_) if !home.is_live(&run) => None,
            Err(_) => {
                let directory =
                    home.holder(&run).and_then(|pid| fs::read_link(format!("/proc/{pid}/cwd")).ok());
                let since = fs::symlink_metadata(home.run(&run).join("control"))
                    .map_or(0, |data| data.mtime() * 1_000);
                Some(Live::Silent { run, directory, since })
            }
        }
    }

    fn since(&self) -> i64 {
        match self {
            Live::Answers(live_view) => live_view.snapshot.created.0,
            Live::Silent { since, .. } => *since,
        }
    }

    fn directory(&self) -> Option<&Path> {
        match self {
            Live::Answers(live_view) => Some(&live_view.directory),
            Live::Silent { directory, .. } => directory.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> RunId {
        RunId::parse(name).unwrap()
    }

    fn silent(name: &str, directory: Option<&str>, since: i64) -> Live {
        Live::Silent { run: id(name), directory: directory.map(PathBuf::from), since }
    }

    #[test]
    fn a_word_names_a_run_only_where_no_other_begins_like_it() {
        let check = |word: &str| only(vec![id("otter"), id("owl")], word).map(|run| run.to_string());
        assert_eq!(check("ot").as_deref(), Some("otter"));
        assert_eq!(check("o"), None);
        assert_eq!(check("fox"), None);
        assert_eq!(check(""), None);
    }

    #[test]
    fn the_newest_here_is_meant_though_it_is_silent() {
        let check = |runs: Vec<Live>| {
            newest(runs, |directory| directory == "/here").map(|live| match live {
                Live::Silent { run, .. } => run.to_string(),
                Live::Answers(live_view) => live_view.run.to_string(),
            })
        };
        let (old, new) = (|| silent("old", Some("/here"), 1), || silent("new", Some("/here"), 2));
        assert_eq!(check(vec![old(), new()]).as_deref(), Some("new"));
        assert_eq!(check(vec![old(), silent("far", Some("/there"), 2)]).as_deref(), Some("old"));
        assert_eq!(check(vec![silent("unknown", None, 3), new()]).as_deref(), Some("unknown"));
        assert_eq!(check(vec![silent("far", Some("/there"), 2)]), None);
    }
}
