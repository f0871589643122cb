//! The run that a word names.

use conductor_core::values::ids::RunId;
use conductor_core::values::suggest::did_you_mean;

use super::FindError;
use crate::host::home::Home;
use crate::stores::{StoreError, StoredRun, was_lost};

/// The run whose name begins like this. One that is known to have been written and is not there means that the store is
/// damaged.
pub fn named(home: &Home, runs: &[StoredRun], word: &str) -> Result<StoredRun, FindError> {
    by_beginning(runs, word).cloned().map_err(|error| {
        let is_unknown = matches!(error, FindError::NoSuchRun { .. });
        match RunId::parse(word).filter(|id| is_unknown && was_lost(home, id)) {
            Some(_) => {
                let why = format!("it knows nothing of run {word}, which had been written");
                StoreError::Damaged { place: home.database().display().to_string(), why }.into()
            }
            None => error,
        }
    })
}

fn by_beginning<'r>(runs: &'r [StoredRun], word: &str) -> Result<&'r StoredRun, FindError> {
    let mut fitting = runs.iter().filter(|run| !word.is_empty() && run.id.as_str().starts_with(word));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one),
        (Some(first), Some(second)) => {
            let (first, second) = (first.id.clone(), second.id.clone());
            Err(FindError::Ambiguous { word: word.to_owned(), first, second })
        }
        (None, _) => {
            let meant = did_you_mean(word, runs.iter().map(|run| run.id.as_str())).map(str::to_owned);
            Err(FindError::NoSuchRun { word: word.to_owned(), meant })
        }
    }
}
