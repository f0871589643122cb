//! The `state` of a login under way: that it was begun here, by this browser, a short while ago, and not used yet.
//!
//! Nothing is kept while a person is at the provider, so that beginning many logins uses nothing up. What belongs to a
//! state is computed from it with a key that only this process has. A used state is remembered until it is too old.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// For a person to log in at the provider.
pub(super) const GOOD_FOR: i64 = 10 * 60;

/// A login that begins.
pub(super) struct Begun {
    /// Goes to the provider and comes back.
    pub(super) state: String,
    /// Stays in the browser.
    pub(super) binding: String,
}

/// What a login is proved by.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proof {
    pub(super) nonce: String,
    pub(super) verifier: String,
}

impl Proof {
    /// What the provider is told of the verifier beforehand.
    pub(super) fn challenge(&self) -> String {
        BASE64.encode(Sha256::digest(self.verifier.as_bytes()))
    }
}

pub(super) struct States {
    key: [u8; 32],
    /// Until when each is remembered.
    used: Mutex<HashMap<String, i64>>,
}

impl States {
    pub(super) fn new() -> std::io::Result<States> {
        Ok(States { key: random()?, used: Mutex::default() })
    }

    /// `now` is in seconds since 1970.
    pub(super) fn begin(&self, now: i64) -> std::io::Result<Begun> {
        let binding = BASE64.encode(random()?);
        let body = format!("{}.{}", BASE64.encode(random()?), now + GOOD_FOR);
        let state = format!("{body}.{}", self.seal("state", &[&body, &binding]));
        Ok(Begun { state, binding })
    }

    pub(super) fn proof(&self, state: &str) -> Proof {
        Proof { nonce: self.seal("nonce", &[state]), verifier: self.seal("verifier", &[state]) }
    }

    /// What proves this login, where it is one of ours. It is not any more then.
    pub(super) fn redeem(&self, state: &str, binding: &str, now: i64) -> Option<Proof> {
        let (body, seal) = state.rsplit_once('.')?;
        if !crate::access::secrets::same(seal, &self.seal("state", &[body, binding])) {
            return None;
        }
        let until: i64 = body.rsplit_once('.')?.1.parse().ok()?;
        if until < now {
            return None;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, until| *until >= now);
        used.insert(state.to_owned(), until).is_none().then(|| self.proof(state))
    }

    /// Each part comes with its length, so that none runs into the next.
    fn seal(&self, what: &str, parts: &[&str]) -> String {
        // A key of any length is taken.
        let mut seal = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of 32 bytes");
        for part in std::iter::once(&what).chain(parts) {
            seal.update(&(part.len() as u64).to_be_bytes());
            seal.update(part.as_bytes());
        }
        BASE64.encode(seal.finalize().into_bytes())
    }
}

fn random() -> std::io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_good_once_in_its_own_browser_and_for_a_while() {
        let states = States::new().unwrap();
        let Begun { state, binding } = states.begin(1_000).unwrap();
        assert_eq!(states.redeem(&state, "another browser", 1_000), None);
        assert_eq!(states.redeem(&format!("{state}x"), &binding, 1_000), None);
        assert_eq!(states.redeem("", &binding, 1_000), None);
        assert_eq!(
            states.redeem(&state.replace("1600", "9999"), &binding, 1_000),
            None,
            "its time is sealed too"
        );
        assert_eq!(states.redeem(&state, &binding, 1_000 + GOOD_FOR + 1), None);
        assert_eq!(States::new().unwrap().redeem(&state, &binding, 1_000), None, "of another process");
        let proof = states.redeem(&state, &binding, 1_000).unwrap();
        assert_eq!(proof, states.proof(&state));
        assert_ne!(proof.nonce, proof.verifier);
        assert!((43..=128).contains(&proof.verifier.len()), "as PKCE wants it");
        assert_eq!(states.redeem(&state, &binding, 1_001), None, "once only");
    }

    #[test]
    fn what_is_used_is_forgotten_when_it_is_too_old_anyway() {
        let states = States::new().unwrap();
        for _ in 0..3 {
            let Begun { state, binding } = states.begin(0).unwrap();
            states.redeem(&state, &binding, 1).unwrap();
        }
        let Begun { state, binding } = states.begin(10_000).unwrap();
        states.redeem(&state, &binding, 10_000).unwrap();
        assert_eq!(states.used.lock().unwrap().len(), 1);
    }
}
