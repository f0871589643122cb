//! The steps of a site, carried out on a page. Which they are is data; here is only what each of them means.
//!
//! Nothing is guessed: a control that is missing, or that several elements could be, ends the steps with its name and
//! with the page as it was seen. Once something was submitted, an error says so.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::health::Trouble;
use crate::page::{Page, PageError, View};
use crate::records::{Intent, OwnRecord};
use crate::selectors::{Found, Selectors, Step};

mod boxes;

/// How long a control may take to appear: pages render late, and Send may be enabled later still.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How long the address may take to become the session's.
pub const ADDRESS: Duration = Duration::from_secs(60);

const LOOK: Duration = Duration::from_millis(250);

/// More dialogs than this one after the other are a page gone wrong.
const DIALOGS: usize = 5;

#[derive(Debug, Error)]
pub enum StepError {
    #[error("the step '{step}' failed: {source}")]
    Page { step: &'static str, source: PageError },
    #[error("the step '{step}' cannot be taken: {trouble}")]
    Trouble { step: &'static str, trouble: Trouble },
    #[error("the step '{step}': no element of the page is the control '{control}'")]
    Missing { step: &'static str, control: String, view: Box<View> },
    #[error("the step '{step}': {count} elements of the page could be the control '{control}'")]
    Several { step: &'static str, control: String, count: usize, view: Box<View> },
    #[error("the site does not offer '{value}' ({control})")]
    NotOffered { control: String, value: String, view: Box<View> },
    #[error("the control '{control}' stays disabled")]
    Disabled { control: String, view: Box<View> },
    #[error("'{control}' has {found}, not {wanted}")]
    Differs { control: String, found: String, wanted: String, view: Box<View> },
    #[error("nothing was submitted, for that it would be could not be recorded: {0}")]
    Unrecorded(std::io::Error),
    #[error("the tab is not the one that was opened for this session")]
    NotOurTab,
    #[error("the page's address did not become a session's within {} s; it is {url}", ADDRESS.as_secs())]
    NoAddress { url: String },
}

impl StepError {
    /// The page that was not understood.
    pub fn view(&self) -> Option<&View> {
        match self {
            StepError::Missing { view, .. }
            | StepError::Several { view, .. }
            | StepError::NotOffered { view, .. }
            | StepError::Disabled { view, .. }
            | StepError::Differs { view, .. } => Some(view),
            _ => None,
        }
    }
}

/// Steps that ended early.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct Stopped {
    pub error: StepError,
    /// Whether the click that submits was made, or may have been made.
    pub submitted: bool,
}

/// One walk through the steps.
pub struct Walk<'a> {
    pub page: &'a mut Page,
    pub selectors: &'a Selectors,
    /// Scheme and host of the site.
    pub origin: &'a str,
    pub values: BTreeMap<&'a str, &'a str>,
    /// What our tab is known by.
    pub tab: &'a str,
    pub patience: Duration,
    /// Ours, with what other processes ask for meanwhile.
    pub record: &'a OwnRecord,
    /// What records that something is about to be submitted.
    pub intent: Option<&'a Intent>,
    pub submitted: bool,
}

impl Walk<'_> {
    /// Takes all steps of a name; the session's address, where one of them waits for it.
    pub fn take(&mut self, steps: &str) -> Result<Option<String>, Stopped> {
        let steps = self.selectors.steps.get(steps).cloned().unwrap_or_default();
        let mut address = None;
        for step in &steps {
            let taken = self.step(step);
            address = taken.map_err(|error| Stopped { error, submitted: self.submitted })?.or(address);
        }
        Ok(address)
    }

    fn step(&mut self, step: &Step) -> Result<Option<String>, StepError> {
        let name = step.name();
        match step {
            Step::Open => self.open(name)?,
            Step::Dismiss { control } => self.dismiss(name, control)?,
            Step::Choose { control, search, option, value } => {
                self.choose(name, control, search, option, value)?
            }
            Step::Clear { control } => self.clear(name, control)?,
            Step::Type { control, value } => self.type_in(name, control, value)?,
            Step::Check { control, value } => self.check(name, control, value)?,
            Step::Shows { control, value } => self.shows(name, control, value)?,
            Step::Submit { control } => self.submit(name, control)?,
            Step::Click { control } => {
                let (reference, _) = self.enabled(name, control)?;
                self.click(name, &reference, control)?;
            }
            Step::Address => return self.address(name).map(Some),
            Step::Link { control } => {
                self.control(name, control)?;
                let view = self.look(name)?;
                return Ok(self.selectors.link(control, &view));
            }
        }
        Ok(None)
    }

    fn open(&mut self, step: &'static str) -> Result<(), StepError> {
        let url = format!("{}{}", self.origin, self.selectors.start);
        self.page.navigate(&url).map_err(failed(step))?;
        let mark = format!("() => sessionStorage.setItem('conductor-tab', '{}')", self.tab);
        // A page without storage of its own is not the site; the look at it says what it is.
        let _ = self.page.evaluate(&mark);
        self.look(step).map(drop)
    }

    fn dismiss(&mut self, step: &'static str, control: &str) -> Result<(), StepError> {
        for _ in 0..DIALOGS {
            let view = self.look(step)?;
            let Found::One(at) = self.selectors.find(control, &view, &self.values) else { return Ok(()) };
            let Some(reference) = view.snapshot.nodes[at].reference.clone() else { return Ok(()) };
            self.click(step, &reference, control)?;
        }
        Ok(())
    }

    fn choose(
        &mut self,
        step: &'static str,
        control: &str,
        search: &str,
        option: &str,
        value: &str,
    ) -> Result<(), StepError> {
        let value = self.fill_in(value);
        if value.is_empty() || self.text_of(step, control)?.1.split_whitespace().any(|word| word == value) {
            return Ok(());
        }
        let (reference, _) = self.enabled(step, control)?;
        self.click(step, &reference, control)?;
        let (reference, _) = self.enabled(step, search)?;
        self.page.fill(&reference, search, &value).map_err(failed(step))?;
        match self.enabled(step, option) {
            Ok((reference, _)) => self.click(step, &reference, option),
            Err(StepError::Missing { view, .. }) => {
                Err(StepError::NotOffered { control: control.to_owned(), value, view })
            }
            Err(other) => Err(other),
        }
    }

    fn shows(&mut self, step: &'static str, control: &str, value: &str) -> Result<(), StepError> {
        let value = self.fill_in(value);
        let (view, text) = self.text_of(step, control)?;
        if value.is_empty() || text.split_whitespace().any(|word| word == value) {
            return Ok(());
        }
        let (found, wanted) = (format!("'{text}'"), format!("'{value}'"));
        Err(StepError::Differs { control: control.to_owned(), found, wanted, view: Box::new(view) })
    }

    fn submit(&mut self, step: &'static str, control: &str) -> Result<(), StepError> {
        let (reference, view) = self.enabled(step, control)?;
        let tab =
            self.page.evaluate("() => sessionStorage.getItem('conductor-tab')").map_err(failed(step))?;
        if tab.as_str() != Some(self.tab) {
            return Err(StepError::NotOurTab);
        }
        if let Some(intent) = self.intent {
            intent.submitting(&self.selectors.listed(&view, self.origin)).map_err(StepError::Unrecorded)?;
        }
        self.submitted = true;
        self.page.click(&reference, control).map_err(|error| {
            // The reference was not on the page any more: the click was not made.
            self.submitted = !matches!(&error, PageError::Refused(why) if why.contains("not found"));
            failed(step)(error)
        })
    }

    fn address(&mut self, step: &'static str) -> Result<String, StepError> {
        let deadline = Instant::now() + ADDRESS;
        loop {
            let url = match self.page.evaluate("() => location.href").map_err(failed(step))? {
                serde_json::Value::String(url) => url,
                _ => String::new(),
            };
            if let Some(session) = self.selectors.session_of(&url) {
                return Ok(session.to_owned());
            }
            if !url.starts_with(self.origin) {
                return Err(StepError::Trouble { step, trouble: Trouble::Elsewhere(url) });
            }
            if Instant::now() >= deadline {
                return Err(StepError::NoAddress { url });
            }
            // A refusal after the click is seen here: the site says so instead of going on.
            self.look(step)?;
            sleep(LOOK);
        }
    }

    /// The page, unless it shows that nothing can be done on it.
    fn look(&mut self, step: &'static str) -> Result<View, StepError> {
        self.page.answer(self.record);
        let view = self.page.view().map_err(failed(step))?;
        match Trouble::seen(self.selectors, &view, None) {
            Some(trouble) => Err(StepError::Trouble { step, trouble }),
            None => Ok(view),
        }
    }

    /// Waits for a control; its place on the page.
    fn control(&mut self, step: &'static str, control: &str) -> Result<(View, usize), StepError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let view = self.look(step)?;
            let found = self.selectors.find(control, &view, &self.values);
            let is_late = Instant::now() >= deadline;
            match found {
                Found::One(at) => return Ok((view, at)),
                Found::Several(count) if is_late => {
                    let (control, view) = (control.to_owned(), Box::new(view));
                    return Err(StepError::Several { step, control, count, view });
                }
                Found::Missing if is_late => {
                    let (control, view) = (control.to_owned(), Box::new(view));
                    return Err(StepError::Missing { step, control, view });
                }
                _ => sleep(LOOK),
            }
        }
    }

    /// Waits until a control is there and can be used.
    fn enabled(&mut self, step: &'static str, control: &str) -> Result<(String, View), StepError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let (view, at) = self.control(step, control)?;
            let node = &view.snapshot.nodes[at];
            match (&node.reference, node.disabled) {
                (Some(reference), false) => return Ok((reference.clone(), view)),
                _ if Instant::now() >= deadline => {
                    return Err(StepError::Disabled { control: control.to_owned(), view: Box::new(view) });
                }
                _ => sleep(LOOK),
            }
        }
    }

    fn text_of(&mut self, step: &'static str, control: &str) -> Result<(View, String), StepError> {
        let (view, at) = self.control(step, control)?;
        let text = view.snapshot.text_of(at);
        Ok((view, text))
    }

    fn click(&mut self, step: &'static str, reference: &str, what: &str) -> Result<(), StepError> {
        self.page.click(reference, what).map_err(failed(step))
    }

    fn fill_in(&self, value: &str) -> String {
        crate::selectors::filled(value, &self.values)
    }
}

fn failed(step: &'static str) -> impl Fn(PageError) -> StepError {
    move |source| match source.trouble() {
        Some(trouble) => StepError::Trouble { step, trouble },
        None => StepError::Page { step, source },
    }
}
