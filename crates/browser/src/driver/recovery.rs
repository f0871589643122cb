//! Trouble with the page, mended step by step while the session goes on elsewhere.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{DriveError, Driver};
use crate::health::{Remedy, Trouble};
use crate::page::{Page, View};

/// How often a page that is not ready is looked at.
const LOOK: Duration = Duration::from_millis(250);

impl Driver {
    /// The page, connected and with a tab of its own.
    pub(super) fn page(&mut self) -> Result<&mut Page, DriveError> {
        if self.page.is_none() {
            let mut page = self.source.connect()?;
            page.open_tab()?;
            self.page = Some(page);
            self.name_tab();
        }
        match self.page.as_mut() {
            Some(page) => Ok(page),
            None => Err(DriveError::Unsure("the page is gone".to_owned())),
        }
    }

    /// Tries the next remedy. Where only a person can help, it waits for the person.
    pub(super) fn recover(&mut self, trouble: &Trouble) -> Result<(), DriveError> {
        match trouble {
            Trouble::SignedOut => return self.sign_in(),
            Trouble::Interstitial(_) => return self.wait_for_check(),
            Trouble::RateLimited(said) => return Err(DriveError::RateLimited(said.clone())),
            _ => {}
        }
        let Some((remedy, pause)) = self.ladder.next(trouble, Instant::now()) else {
            return Err(DriveError::NotRecovered { trouble: trouble.clone(), tried: self.ladder.tried() });
        };
        self.note(&format!("{trouble}: {}", words(remedy)));
        self.record.say(self.session.as_deref(), words(remedy));
        sleep(pause);
        // A remedy that fails is followed by the next one, when the page is looked at again.
        let _ = self.apply(remedy);
        Ok(())
    }

    fn apply(&mut self, remedy: Remedy) -> Result<(), DriveError> {
        match remedy {
            Remedy::Reload => self.page()?.reload()?,
            Remedy::Reopen => {
                self.close_own_tab();
                self.open_own_tab()?;
                self.go_to_session()?;
            }
            Remedy::NewContext | Remedy::NewServer => {
                if let Some(mut page) = self.page.take() {
                    page.close();
                }
                if remedy == Remedy::NewServer {
                    self.source.renew()?;
                }
                self.go_to_session()?;
            }
        }
        Ok(())
    }

    fn go_to_session(&mut self) -> Result<(), DriveError> {
        match self.session.clone() {
            Some(address) => self.go_to(&address),
            None => Ok(()),
        }
    }

    /// Opens an address in our own tab.
    pub(super) fn go_to(&mut self, address: &str) -> Result<(), DriveError> {
        self.be_in_own_tab()?;
        self.page()?.navigate(address)?;
        let _ = self.mark_tab();
        Ok(())
    }

    /// When our tab is closed by hand, the current one is another session's. It must not be touched.
    pub(super) fn be_in_own_tab(&mut self) -> Result<(), DriveError> {
        self.page()?;
        if self.is_own_tab() { Ok(()) } else { self.open_own_tab() }
    }

    /// Told by the tab itself: when one is closed or dies, the server takes another one for the current, also one of the user's.
    fn is_own_tab(&mut self) -> bool {
        let Some(page) = self.page.as_mut() else { return false };
        let mark = page.evaluate(
            "() => { try { return sessionStorage.getItem('conductor-tab') || window.name } catch { return window.name } }",
        );
        mark.is_ok_and(|mark| mark.as_str() == Some(&self.tab))
    }

    /// One that shows nothing yet keeps nothing but a name.
    fn name_tab(&mut self) {
        let name = format!("() => {{ window.name = '{}' }}", self.tab);
        if let Some(page) = self.page.as_mut() {
            let _ = page.evaluate(&name);
        }
    }

    /// Without a tab of our own the connection is given up, for its current tab is not ours.
    fn open_own_tab(&mut self) -> Result<(), DriveError> {
        match self.page()?.open_tab() {
            Ok(()) => {
                self.name_tab();
                Ok(())
            }
            Err(error) => {
                self.page = None;
                Err(error.into())
            }
        }
    }

    pub(super) fn close_own_tab(&mut self) {
        let is_ours = self.is_own_tab();
        if let Some(page) = self.page.as_mut().filter(|_| is_ours) {
            let _ = page.close_tab();
        }
    }

    /// Closes our tab, one driver at a time. The last tab of a browser is emptied instead: with it the browser would end, and the
    /// user's sign-in with that.
    pub(super) fn leave_own_tab(&mut self) {
        let _alone = self.alone("tabs.lock", "closing its tab");
        let tabs = self.page.as_mut().and_then(|page| page.tabs().ok());
        if tabs.is_none_or(|tabs| tabs.len() > 1) {
            return self.close_own_tab();
        }
        let is_ours = self.is_own_tab();
        if let Some(page) = self.page.as_mut().filter(|_| is_ours) {
            let _ = page.navigate("about:blank");
        }
    }

    /// Opens the session's page unless it is open, and mends what is wrong with it.
    pub(super) fn be_at_session(&mut self) -> Result<(), DriveError> {
        let Some(session) = self.session.clone() else { return Ok(()) };
        loop {
            match self.look() {
                Ok(_) => return Ok(()),
                Err(Trouble::Elsewhere(_)) if !self.ladder.is_in_use() => {
                    let _ = self.ladder.next(&Trouble::Crashed, Instant::now());
                    let _ = self.go_to(&session);
                }
                Err(trouble) => self.recover(&trouble)?,
            }
        }
    }

    /// One look at the page, or what is wrong with it.
    pub(super) fn look(&mut self) -> Result<View, Trouble> {
        let view = match self.page() {
            Ok(page) => page.view(),
            Err(DriveError::Page(error)) => Err(error),
            Err(other) => return Err(Trouble::ServerGone(other.to_string())),
        };
        let view =
            view.map_err(|error| error.trouble().unwrap_or(Trouble::Unresponsive(error.to_string())))?;
        match Trouble::seen(&self.selectors, &view, self.session.as_deref()) {
            // A limit stops new work, not the session that is watched.
            Some(trouble) if !matches!(trouble, Trouble::RateLimited(_)) || self.session.is_none() => {
                Err(trouble)
            }
            _ => Ok(view),
        }
    }

    /// A page of the site that is no session of ours, without trouble on it.
    pub(super) fn healthy_view(&mut self, address: &str) -> Result<View, DriveError> {
        let session = self.session.take();
        let seen = self.healthy_view_there(address);
        self.session = session;
        seen
    }

    /// A page that has stopped changing, as far as three looks can tell.
    pub(super) fn settled_view(&mut self, address: &str) -> Result<View, DriveError> {
        self.go_to(address)?;
        let (mut last, mut alike) = (String::new(), 0);
        let deadline = Instant::now() + crate::steps::PATIENCE;
        loop {
            match self.look() {
                Ok(view) if alike >= 2 || Instant::now() >= deadline => return Ok(view),
                Ok(view) => {
                    alike = if view.raw == last { alike + 1 } else { 0 };
                    last = view.raw;
                    self.pause(LOOK);
                }
                Err(trouble) => self.recover(&trouble)?,
            }
        }
    }

    fn healthy_view_there(&mut self, address: &str) -> Result<View, DriveError> {
        let deadline = Instant::now() + crate::steps::PATIENCE;
        let mut is_open = false;
        loop {
            if !is_open {
                is_open = self.go_to(address).is_ok();
            }
            match self.look() {
                // Lists come after the page itself.
                Ok(view) if Instant::now() >= deadline || is_filled(&self.selectors, &view) => {
                    self.ladder.healthy();
                    return Ok(view);
                }
                Ok(_) => self.pause(LOOK),
                Err(trouble) => {
                    self.recover(&trouble)?;
                    is_open = false;
                }
            }
        }
    }
}

/// Whether a page has got what it is looked at for: its list of sessions, or a transcript.
fn is_filled(selectors: &crate::selectors::Selectors, view: &View) -> bool {
    let has = |control: &str| !selectors.find_all(control, view).is_empty();
    if selectors.session_of(&view.url).is_some() { has("transcript") } else { has("sessions") }
}

fn words(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Reload => "reloading the page",
        Remedy::Reopen => "opening the page again in a new tab",
        Remedy::NewContext => "connecting to the browser again",
        Remedy::NewServer => "starting the browser again",
    }
}
