//! The stored runs, as the command line opens them: from the user's directory, with notices on standard error. Which run
//! and task are meant is decided in `conductor_engine::runs::archive`.

pub(crate) mod live;

use std::ops::Deref;

use conductor_engine::host::home::Home;
use conductor_engine::runs::archive as stored_runs;
use conductor_engine::runs::archive::{FindError, Notice};
use conductor_engine::stores::{self, StoreError};

use crate::console;
use crate::error::{CliError, Exit};
use crate::output::talk;

pub(crate) use conductor_engine::runs::archive::{Found, FoundTask, place_of_run, repository};
pub(crate) use conductor_engine::stores::briefly;

pub(crate) struct Archive(stored_runs::Archive);

impl Deref for Archive {
    type Target = stored_runs::Archive;

    fn deref(&self) -> &stored_runs::Archive {
        &self.0
    }
}

impl Archive {
    pub(crate) async fn open() -> Result<Archive, CliError> {
        Archive::of(Home::open()?).await
    }

    pub(crate) async fn of(home: Home) -> Result<Archive, CliError> {
        let directory = std::env::current_dir().map_err(|error| {
            CliError::new(Exit::Unexpected, format!("the current directory cannot be used: {error}"))
        })?;
        Ok(Archive(stored_runs::Archive::open(home, directory, Box::new(tell)).await?))
    }
}

/// That only some runs are looked at is said even where the user wants no notices: the answer is another by it.
fn tell(notice: &Notice) {
    match notice {
        Notice::OnlyThisDirectory(_) => console::say(format_args!("conductor: {notice}")),
        Notice::LeftOut { .. } => talk(notice),
    }
}

pub(crate) fn nothing_here() -> CliError {
    FindError::NothingHere.into()
}

/// Waits for a store that cannot be used right now, as a run does for its own: a full disk or a foreign lock is no
/// failure.
pub(crate) async fn patiently<T, F>(call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    stores::patiently(call, |why| console::say(format_args!("conductor: {why}; waiting for it"))).await
}
