//! Codes that open the page once: for the browser that `serve --open` starts.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::secrets;

const GOOD_FOR: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Codes {
    until: Mutex<HashMap<String, Instant>>,
}

impl Codes {
    pub(crate) fn issue(&self) -> std::io::Result<String> {
        let code = secrets::random("")?;
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        until.retain(|_, end| *end > now);
        until.insert(secrets::hash(&code), now + GOOD_FOR);
        Ok(code)
    }

    /// Whether it is good; it is not any more then.
    pub(crate) fn redeem(&self, code: &str) -> bool {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.remove(&secrets::hash(code)).is_some_and(|end| end > Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once() {
        let codes = Codes::default();
        let code = codes.issue().unwrap();
        assert!(!codes.redeem("other"));
        assert!(codes.redeem(&code));
        assert!(!codes.redeem(&code));
    }
}
