//! Passwords, as argon2id keeps them.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use thiserror::Error;
use tokio::sync::Semaphore;

pub const SHORTEST: usize = 10;

/// Each takes 19 MiB and a processor for as long as it lasts, and a login needs no credential; others wait.
const AT_ONCE: usize = 4;

static TURNS: Semaphore = Semaphore::const_new(AT_ONCE);

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

/// Does such work beside the threads that serve, so much of it at once. Nothing where it came to no end.
pub(crate) async fn in_turn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let turn = TURNS.acquire().await.ok()?;
    // The turn goes along: the work is not over because its caller has gone.
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    });
    done.await.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn so_many_passwords_are_looked_at_at_once_and_no_more() {
        static NOW: AtomicUsize = AtomicUsize::new(0);
        let looked: Vec<_> = (0..4 * AT_ONCE)
            .map(|_| {
                tokio::spawn(in_turn(|| {
                    let beside = NOW.fetch_add(1, Ordering::SeqCst);
                    fits("a stranger's word", None);
                    NOW.fetch_sub(1, Ordering::SeqCst);
                    beside
                }))
            })
            .collect();
        for one in looked {
            assert!(one.await.unwrap().is_some_and(|beside| beside < AT_ONCE));
        }
    }

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
