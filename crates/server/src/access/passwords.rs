//! Passwords, as argon2id keeps them.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use thiserror::Error;

pub const SHORTEST: usize = 10;

#[derive(Debug, Error)]
pub enum PasswordError {
    #[error("a password needs at least {SHORTEST} characters")]
    TooShort,
    #[error("the password cannot be kept: {0}")]
    Unkept(String),
}

/// What is kept of a password. Takes some ten milliseconds, on purpose.
pub fn hash(password: &str) -> Result<String, PasswordError> {
    if password.chars().count() < SHORTEST {
        return Err(PasswordError::TooShort);
    }
    let hash = Argon2::default().hash_password(password.as_bytes());
    Ok(hash.map_err(|error| PasswordError::Unkept(error.to_string()))?.to_string())
}

/// Whether it is the one. Where there is no such user the same time is taken, so that the answer does not tell which names there are.
pub(crate) fn fits(password: &str, hash: Option<&str>) -> bool {
    const UNKNOWN: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5$4Q2Q0hCBqXkVMhNXLwVgSS3FQ/QcTMoUNKKUT2mZ0gk";
    // A user who logs in elsewhere has none.
    let hash = hash.filter(|hash| !hash.is_empty());
    let Ok(parsed) = PasswordHash::new(hash.unwrap_or(UNKNOWN)) else { return false };
    Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok() && hash.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_password_fits() {
        let kept = hash("correct horse").unwrap();
        assert!(kept.starts_with("$argon2id$"));
        assert!(fits("correct horse", Some(&kept)));
        assert!(!fits("correct hors", Some(&kept)));
        assert!(!fits("correct horse", None) && !fits("", Some("")) && !fits("correct horse", Some("")));
        assert!(matches!(hash("short"), Err(PasswordError::TooShort)));
    }

    #[test]
    fn a_name_that_is_not_there_takes_the_same_work() {
        let begun = std::time::Instant::now();
        assert!(!fits("a stranger's word", None));
        // Without the work it would be some microseconds.
        assert!(begun.elapsed() > std::time::Duration::from_millis(1));
    }
}
