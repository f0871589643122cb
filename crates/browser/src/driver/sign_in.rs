//! The user's sign-in, by hand, in the browser's window. One for all tabs; no password and no cookie is read or kept.

use std::fs::TryLockError;
use std::time::{Duration, Instant};

use super::{DriveError, Driver};
use crate::health::Trouble;
use crate::selectors::Found;

/// How often a process that waits for another one's sign-in looks.
const STEP: Duration = Duration::from_millis(250);

/// The page is loaded again after so many looks.
const LOOKS: u32 = 3;
const IN_USE: &str = "() => [...document.querySelectorAll('input,textarea')].some(one => one.value && one.type !== 'hidden' \
                      || one === document.activeElement)";

impl Driver {
    /// Waits until the user has signed in. Only one process shows its page for that; the others wait for it.
    pub(super) fn sign_in(&mut self) -> Result<(), DriveError> {
        let allowed = self.settings.auth_timeout();
        let deadline = Instant::now() + allowed;
        let path = self.places.folder().join("sign-in.lock");
        let file = std::fs::File::create(&path)
            .map_err(|source| DriveError::Files { path: path.clone(), source })?;
        let mut waited = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(DriveError::Files { path, source }),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(DriveError::NotSignedIn(allowed.as_secs()));
                }
                Err(TryLockError::WouldBlock) => {
                    waited = true;
                    self.record.say(self.session.as_deref(), "waiting for the sign-in in another tab");
                    self.pause(STEP);
                }
            }
        }
        // The sign-in in another tab may be ours too.
        if !waited || !self.is_signed_in_after_reload()? {
            self.ask_for_sign_in(deadline)?;
        }
        self.note("signed in");
        self.return_to_page()
    }

    fn ask_for_sign_in(&mut self, deadline: Instant) -> Result<(), DriveError> {
        let allowed = self.settings.auth_timeout().as_secs();
        self.note(&format!("sign in to {} in the browser's window, within {allowed} s", self.settings.site));
        let interval = self.settings.auth_check_interval();
        let mut looks = 0;
        while Instant::now() < deadline {
            if self.is_signed_in()? {
                return Ok(());
            }
            looks += 1;
            if looks % LOOKS == 0 {
                self.reload_unless_in_use();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.record.say(
                self.session.as_deref(),
                &format!("waiting for your sign-in, {} s left", left.as_secs()),
            );
            self.pause(interval.min(left));
        }
        Err(DriveError::NotSignedIn(allowed))
    }

    /// The user may have signed in in another tab. A page that something is typed in, or that leads on, is left alone.
    fn reload_unless_in_use(&mut self) {
        let start = format!("{}{}", self.settings.site, self.selectors.start);
        let address = self.session.clone().unwrap_or(start);
        let Some(page) = self.page.as_mut() else { return };
        let is_there = page.view().is_ok_and(|view| view.url == address);
        if is_there && page.evaluate(IN_USE).is_ok_and(|in_use| in_use == false) {
            let _ = page.reload();
        }
    }

    /// Something that only a signed-in user sees must be there: a second page of a sign-in shows nothing of the kind.
    fn is_signed_in(&mut self) -> Result<bool, DriveError> {
        let view = match self.page()?.view() {
            Ok(view) => view,
            Err(error) if matches!(error.trouble(), Some(Trouble::Crashed)) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if Trouble::seen(&self.selectors, &view, None)
            .is_some_and(|trouble| !matches!(trouble, Trouble::RateLimited(_)))
        {
            return Ok(false);
        }
        let has_composer = self.selectors.find("composer", &view, &Default::default()) != Found::Missing;
        Ok(has_composer || self.selectors.session_of(&view.url).is_some())
    }

    fn is_signed_in_after_reload(&mut self) -> Result<bool, DriveError> {
        self.return_to_page()?;
        let deadline = Instant::now() + crate::steps::PATIENCE;
        loop {
            if self.is_signed_in()? {
                return Ok(true);
            }
            let view = self.page()?.view()?;
            if self.selectors.sign("signed_out", &view).is_some() || Instant::now() >= deadline {
                return Ok(false);
            }
            self.pause(STEP);
        }
    }

    fn return_to_page(&mut self) -> Result<(), DriveError> {
        let start = format!("{}{}", self.settings.site, self.selectors.start);
        let address = self.session.clone().unwrap_or(start);
        self.go_to(&address)
    }

    /// The site checks whether a person is there. Nothing is done about it but waiting, and saying so.
    pub(super) fn wait_for_check(&mut self) -> Result<(), DriveError> {
        let allowed = self.settings.auth_timeout();
        let deadline = Instant::now() + allowed;
        self.note("the site checks the visitor; if it asks for something, do it in the browser's window");
        self.record.say(self.session.as_deref(), "waiting for the site's check of the visitor");
        while Instant::now() < deadline {
            let interval = self.settings.auth_check_interval();
            self.pause(interval.min(deadline.saturating_duration_since(Instant::now())));
            let view = self.page()?.view()?;
            if self.selectors.sign("interstitial", &view).is_none() {
                return Ok(());
            }
        }
        Err(DriveError::StillChecked(allowed.as_secs()))
    }
}
