//! Sessions behind a web page, as a transport of the engine's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_browser::driver::{DriveError, Driver, Prompt, Status};
use conductor_browser::settings::{Places, Settings};
use conductor_core::plan::Cloud;
use conductor_core::run::event::FailureClass;
use conductor_engine::agents::cloud::transport::{
    Assignment, LONGEST_PROMPT, Line, Observed, Refusal, SessionName, State, Surroundings, Transport, notice,
};

use crate::settings::browser;

/// A limit that does not say when it is over.
const LIMITED: Duration = Duration::from_secs(15 * 60);

struct Behind {
    settings: Settings,
    places: Places,
    /// Where this task's record is kept.
    folder: PathBuf,
    driver: Option<Driver>,
    over: bool,
}

pub(super) fn transport(cloud: &Cloud, around: &Surroundings) -> Result<Box<dyn Transport>, Refusal> {
    // The record of a task is at `cloud/TASK` in the run's folder.
    let run = around.folder.parent().and_then(Path::parent).unwrap_or(&around.folder);
    let settings =
        browser::of_run(run).map_err(|error| Refusal::refused(FailureClass::Unstartable, error.message()))?;
    let settings = Settings { keep_tabs: cloud.keep_tabs.unwrap_or_default(), ..settings };
    let (places, folder) = (Places::in_home(&around.home), around.folder.clone());
    Ok(Box::new(Behind { settings, places, folder, driver: None, over: false }))
}

impl Behind {
    fn driver(&mut self, mark: &str, title: &str) -> Result<&mut Driver, Refusal> {
        if self.driver.is_none() {
            let driver = Driver::new(self.settings.clone(), self.places.clone(), (mark, title), notice);
            self.driver = Some(driver.map_err(|error| refused(&error))?);
        }
        self.driver.as_mut().ok_or(Refusal::Unable("the browser is gone"))
    }

    /// The driver, at the page of a session.
    fn at(&mut self, session: &SessionName) -> Result<&mut Driver, Refusal> {
        let url = session.recorded().to_owned();
        let driver = self.driver(&url, &url)?;
        driver.attach(&url);
        Ok(driver)
    }
}

impl Transport for Behind {
    fn create(&mut self, assignment: &Assignment<'_>) -> Result<SessionName, Refusal> {
        let length = assignment.prompt.chars().count();
        if length > LONGEST_PROMPT {
            let message = format!("the prompt has {length} characters, and the site takes {LONGEST_PROMPT}");
            return Err(Refusal::refused(FailureClass::TooLong, message));
        }
        let Some(repository) = assignment.repository else {
            let message = "which repository the site is to use is not known; say `repository: owner/name`";
            return Err(Refusal::refused(FailureClass::Unstartable, message));
        };
        let folder = self.folder.clone();
        let driver = self.driver(assignment.mark, assignment.title)?;
        driver.record_intent(&folder, assignment.mark);
        let prompt = Prompt { text: assignment.prompt, repository, branch: assignment.branch };
        let url = driver.create(prompt).map_err(|error| refused(&error))?;
        Ok(named(url))
    }

    fn find(&mut self, assignment: &Assignment<'_>) -> Result<Option<SessionName>, Refusal> {
        let folder = self.folder.clone();
        let driver = self.driver(assignment.mark, assignment.title)?;
        driver.record_intent(&folder, assignment.mark);
        Ok(driver.find(assignment.mark).map_err(|error| refused(&error))?.map(named))
    }

    fn send(&mut self, session: &SessionName, words: &str) -> Result<(), Refusal> {
        self.at(session)?.send(words).map_err(|error| refused(&error))
    }

    fn observe(&mut self, session: &SessionName, patience: Duration) -> Result<Observed, Refusal> {
        let driver = self.at(session)?;
        let seen = driver.observe(patience).map_err(|error| refused(&error))?;
        let state = match seen.status {
            Status::Provisioning(_) | Status::Working | Status::Unknown => State::Working,
            Status::Idle => State::Idle,
            Status::AwaitingInput(asked) => State::Waiting(asked),
            Status::Failed(why) => State::Ended(why),
        };
        self.over = matches!(state, State::Idle | State::Ended(_));
        let mut said: Vec<Line> = seen.said.into_iter().map(Line::Text).collect();
        said.extend(seen.limited.map(Line::Waiting));
        Ok(Observed { said, ..Observed::state(state) })
    }

    fn stop(&mut self, session: &SessionName) -> Result<(), Refusal> {
        let over = self.over;
        self.at(session)?.stop(over).map_err(|error| refused(&error))
    }

    fn open_pull_request(&mut self, session: &SessionName) -> Result<String, Refusal> {
        self.at(session)?.create_pull_request().map_err(|error| refused(&error))
    }
}

/// However its attempt ends: the next one opens a tab of its own.
impl Drop for Behind {
    fn drop(&mut self) {
        if let Some(driver) = &mut self.driver {
            driver.let_go();
        }
    }
}

fn named(url: String) -> SessionName {
    let id = url.rsplit('/').next().unwrap_or(&url).to_owned();
    SessionName::new(id, Some(url))
}

fn refused(error: &DriveError) -> Refusal {
    let message = error.to_string();
    let class = match error {
        DriveError::Unsure(_) => return Refusal::Unsure(message),
        DriveError::RateLimited(said) => {
            let retry_after = Some(wait_of(said).unwrap_or(LIMITED));
            return Refusal::Refused { class: FailureClass::UsageLimit, message, retry_after };
        }
        DriveError::NotSignedIn(_) | DriveError::StillChecked(_) => FailureClass::Unauthorized,
        DriveError::Server(_) | DriveError::Selectors(_) | DriveError::Files { .. } => {
            FailureClass::Unstartable
        }
        DriveError::Page(conductor_browser::page::PageError::NoBrowser(_)) => FailureClass::Unstartable,
        DriveError::Step { .. } | DriveError::NoPullRequest(_) => FailureClass::Rejected,
        DriveError::Page(_) | DriveError::NotRecovered { .. } => FailureClass::Provider,
    };
    Refusal::refused(class, message)
}

/// How long a limit lasts, where its words say so: a number and a unit of time after it.
fn wait_of(said: &str) -> Option<Duration> {
    let words: Vec<&str> =
        said.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.windows(2).find_map(|pair| {
        let number: u64 = pair[0].parse().ok().filter(|number| *number <= 1000)?;
        let unit = match pair[1].to_lowercase().as_str() {
            "s" | "sec" | "second" | "seconds" => 1,
            "m" | "min" | "minute" | "minutes" => 60,
            "h" | "hour" | "hours" => 3600,
            _ => return None,
        };
        Some(Duration::from_secs(number * unit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_says_how_long_it_lasts_or_not() {
        assert_eq!(wait_of("Limit reached, resets in 20 minutes."), Some(Duration::from_secs(1200)));
        assert_eq!(wait_of("try again in 2 hours"), Some(Duration::from_secs(7200)));
        assert_eq!(wait_of("Your limit resets at 5 pm"), None);
        assert_eq!(wait_of(""), None);
    }

    #[test]
    fn a_session_is_named_by_the_end_of_its_address() {
        let name = named("http://h/code/session_01".to_owned());
        assert_eq!((name.id.as_str(), name.recorded()), ("session_01", "http://h/code/session_01"));
    }
}
