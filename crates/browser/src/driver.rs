//! One session behind a page, from its creation to its end. It keeps the page healthy on the way.

mod finding;
mod recovery;
mod sign_in;
mod watching;

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::health::{Ladder, Trouble};
use crate::page::{Page, PageError, View};
use crate::records::{Intent, OwnRecord};
use crate::selectors::{Pattern, Selectors, SelectorsError};
use crate::server::{ServerError, Source};
use crate::settings::{Places, Settings};
use crate::steps::{PATIENCE, StepError, Stopped, Walk};

pub use watching::{Seen, Status};

#[derive(Debug, Error)]
pub enum DriveError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Selectors(#[from] SelectorsError),
    #[error(transparent)]
    Page(#[from] PageError),
    /// A page that is not understood; it is kept where the path says.
    #[error("{error}{}", where_kept(.kept))]
    Step { error: StepError, kept: Option<PathBuf> },
    #[error("{trouble}; {tried} remedies did not help")]
    NotRecovered { trouble: Trouble, tried: u32 },
    #[error("no sign-in within {0} s; sign in to the site in the browser's window, or raise auth.timeout")]
    NotSignedIn(u64),
    #[error(
        "the site still checks the visitor after {0} s; open it in a visible window and pass the check by hand"
    )]
    StillChecked(u64),
    #[error("the site refuses more work: {0}")]
    RateLimited(String),
    #[error("cannot keep {path}: {source}")]
    Files { path: PathBuf, source: io::Error },
    #[error("whether there is a pull request is not known: {0}")]
    NoPullRequest(String),
    /// The click that submits was made, and the session's address is not known.
    #[error("the prompt was submitted, and then: {0}")]
    Unsure(String),
}

fn where_kept(path: &Option<PathBuf>) -> String {
    path.as_ref()
        .map_or_else(String::new, |path| format!("; the page as it was seen is in {}", path.display()))
}

/// What a session is created with.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    pub text: &'a str,
    /// Empty where the site is to stay at its own choice.
    pub repository: &'a str,
    pub branch: &'a str,
}

/// How often a lock that another process holds is tried.
const LOCK_LOOK: Duration = Duration::from_millis(250);

type Tell = Box<dyn FnMut(&str) + Send>;

pub struct Driver {
    settings: Settings,
    places: Places,
    selectors: Selectors,
    source: Source,
    page: Option<Page>,
    record: OwnRecord,
    /// What our tab is known by.
    tab: String,
    session: Option<String>,
    ladder: Ladder,
    /// Rows of the transcript that were told already.
    told: HashSet<u64>,
    /// The step before its work at which the session stands, and since when.
    standing: Option<(String, Instant)>,
    /// When the page was last looked at, and what it showed.
    looked: Option<(Instant, Status)>,
    /// Takes what people want to know, at once: a sign-in is waited for while a call is still under way.
    tell: Tell,
    intent: Option<Intent>,
}

impl Driver {
    /// Nothing is opened yet. What people want to know is told as soon as it is so.
    pub fn new(
        settings: Settings,
        places: Places,
        (mark, title): (&str, &str),
        tell: impl FnMut(&str) + Send + 'static,
    ) -> Result<Driver, DriveError> {
        let selectors = Selectors::load(&places.selectors())?;
        let path = places.sessions();
        let record =
            OwnRecord::new(&places, mark, title).map_err(|source| DriveError::Files { path, source })?;
        let source = Source::new(&settings, &places);
        let tab = record.name().to_owned();
        Ok(Driver {
            settings,
            places,
            selectors,
            source,
            page: None,
            record,
            tab,
            session: None,
            ladder: Ladder::default(),
            told: HashSet::new(),
            standing: None,
            looked: None,
            tell: Box::new(tell),
            intent: None,
        })
    }

    /// The start page, once the user is signed in and the site has let the visitor in.
    pub fn start_page(&mut self) -> Result<View, DriveError> {
        let start = format!("{}{}", self.settings.site, self.selectors.start);
        self.settled_view(&start)
    }

    pub fn selectors(&self) -> &Selectors {
        &self.selectors
    }

    /// Waits until a person clicks an element of the page.
    pub fn point(&mut self, within: Duration) -> Result<Option<Pattern>, DriveError> {
        Ok(crate::learning::point(self.page()?, within)?)
    }

    /// From now on how far a submission has come is recorded in this folder, under this mark.
    pub fn record_intent(&mut self, folder: &Path, mark: &str) {
        self.intent = Some(Intent::new(folder, mark));
    }

    /// Begins a session with a prompt. It is submitted at most once: after the click, an error is `Unsure`.
    pub fn create(&mut self, prompt: Prompt<'_>) -> Result<String, DriveError> {
        if let Some(intent) = &self.intent {
            intent.composing().map_err(|error| self.not_understood(StepError::Unrecorded(error)))?;
        }
        let values = BTreeMap::from([
            ("prompt", prompt.text),
            ("repository", prompt.repository),
            ("branch", prompt.branch),
        ]);
        // One at a time composes in a shared browser, so that no two tabs look alike.
        let _alone = self.alone("compose.lock", "waiting until another session is composed")?;
        let address = self.walk("create", &values)?;
        let address =
            address.ok_or_else(|| DriveError::Unsure("no step waits for the address".to_owned()))?;
        self.attach(&address);
        Ok(address)
    }

    /// Goes on with a session that exists.
    pub fn attach(&mut self, session: &str) {
        if self.session.as_deref() != Some(session) {
            self.session = Some(session.to_owned());
            self.told.clear();
            self.looked = None;
            self.standing = None;
            self.record.say(Some(session), "attached");
        }
    }

    /// Says something to the session. It is sent at most once, as a prompt is.
    pub fn send(&mut self, words: &str) -> Result<(), DriveError> {
        self.be_at_session()?;
        let values = BTreeMap::from([("prompt", words)]);
        self.mark_tab()?;
        self.walk("send", &values).map(drop)
    }

    /// Presses the page's button for a pull request, unless the page shows one; its address, as the page shows it then.
    pub fn create_pull_request(&mut self) -> Result<String, DriveError> {
        self.be_at_session()?;
        let view = self.page()?.view()?;
        if let Some(address) = self.selectors.link("pull_request", &view) {
            return Ok(address);
        }
        self.mark_tab()?;
        let address = self.walk("create_pull_request", &BTreeMap::new())?;
        address.ok_or_else(|| {
            DriveError::NoPullRequest("no step of `create_pull_request` reads its address".to_owned())
        })
    }

    /// Ends what the session is doing, if the page has a way to, and closes the tab unless it is to stay.
    pub fn stop(&mut self, is_over: bool) -> Result<(), DriveError> {
        let stopped = match is_over || self.session.is_none() {
            true => Ok(()),
            false => self.be_at_session().and_then(|()| self.press_stop()),
        };
        self.let_go();
        stopped
    }

    fn press_stop(&mut self) -> Result<(), DriveError> {
        let view = self.page()?.view()?;
        // A session that does nothing has no such button.
        if self.selectors.find_all("stop", &view).is_empty() {
            return Ok(());
        }
        self.walk("stop", &BTreeMap::new()).map(drop)
    }

    /// Closes the tab and the connection.
    pub fn let_go(&mut self) {
        if !self.settings.keep_tabs && self.page.is_some() {
            self.leave_own_tab();
        }
        if let Some(mut page) = self.page.take() {
            page.close();
        }
        self.record.say(self.session.as_deref(), "closed");
    }

    /// Takes steps. Trouble before the submission is mended and the steps are taken once more from the first.
    fn walk(&mut self, steps: &str, values: &BTreeMap<&str, &str>) -> Result<Option<String>, DriveError> {
        loop {
            let stopped = match self.walk_once(steps, values) {
                Ok(Ok(address)) => {
                    self.ladder.healthy();
                    return Ok(address);
                }
                Ok(Err(stopped)) => stopped,
                // Not a step was taken.
                Err(error) => {
                    self.mend(error)?;
                    continue;
                }
            };
            if stopped.submitted {
                return Err(DriveError::Unsure(stopped.error.to_string()));
            }
            match stopped.error {
                StepError::Trouble { trouble: Trouble::RateLimited(said), .. } => {
                    return Err(DriveError::RateLimited(said));
                }
                StepError::Trouble { trouble, .. } => {
                    if let Err(error) = self.recover(&trouble) {
                        self.mend(error)?;
                    }
                }
                error => return Err(self.not_understood(error)),
            }
        }
    }

    /// Before a submission: a tab that goes while tabs are looked through, or a browser that is gone, is trouble like any
    /// other. Everything else is told.
    fn mend(&mut self, error: DriveError) -> Result<(), DriveError> {
        let trouble = match &error {
            DriveError::Page(page) => page.trouble(),
            _ => None,
        };
        match trouble {
            Some(trouble @ (Trouble::BrowserGone(_) | Trouble::Crashed)) => self.recover(&trouble),
            _ => Err(error),
        }
    }

    fn walk_once(
        &mut self,
        steps: &str,
        values: &BTreeMap<&str, &str>,
    ) -> Result<Result<Option<String>, Stopped>, DriveError> {
        self.be_in_own_tab()?;
        let Some(page) = self.page.as_mut() else { return Ok(Ok(None)) };
        let mut walk = Walk {
            page,
            selectors: &self.selectors,
            origin: &self.settings.site,
            values: values.clone(),
            tab: &self.tab,
            record: &self.record,
            patience: PATIENCE,
            intent: self.intent.as_ref().filter(|_| steps == "create"),
            submitted: false,
        };
        Ok(walk.take(steps))
    }

    fn not_understood(&self, error: StepError) -> DriveError {
        let kept = error.view().and_then(|view| {
            let folder = self.places.snapshots();
            Places::make(&folder).ok()?;
            let path = folder.join(format!("{}.yml", self.tab));
            let text = format!("# {error}\n# {} {}\n{}", view.url, view.title, view.raw);
            crate::records::write_whole(&path, text.as_bytes()).ok()?;
            Some(path)
        });
        DriveError::Step { error, kept }
    }

    fn mark_tab(&mut self) -> Result<(), DriveError> {
        let mark = format!("() => sessionStorage.setItem('conductor-tab', '{}')", self.tab);
        self.page()?.evaluate(&mark)?;
        Ok(())
    }

    /// A file that only one of our processes holds at a time; it is let go when the process ends, however it does.
    fn alone(&mut self, name: &str, state: &str) -> Result<File, DriveError> {
        let path = self.places.folder().join(name);
        let failed = |source| DriveError::Files { path: path.clone(), source };
        let file = File::create(&path).map_err(failed)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) => {
                    self.record.say(self.session.as_deref(), state);
                    self.pause(LOCK_LOOK);
                }
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(page) = self.page.as_mut() {
            page.close();
        }
    }
}
