//! Waiting for a store that cannot be used right now.

use std::future::Future;
use std::time::Duration;

use super::StoreError;

/// How long a command that only looks waits, and how often it tries.
const SHORT_WAIT: Duration = Duration::from_secs(4);
const SHORT_PAUSE: Duration = Duration::from_millis(100);

/// How often one that waits as long as it takes tries.
const LONG_PAUSE: Duration = Duration::from_millis(500);

/// As `patiently`, for commands whose answer is waited for: after a few seconds what is in the way is an error.
pub async fn briefly<T, F>(call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    within(SHORT_WAIT, call).await
}

async fn within<T, F>(limit: Duration, call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut last = None;
    match tokio::time::timeout(limit, usable(call, SHORT_PAUSE, |why| last = Some(why.to_owned()))).await {
        Ok(done) => done,
        Err(_) => Err(StoreError::Unavailable {
            why: last.unwrap_or_else(|| {
                format!("the store has not answered within {limit:?}; another process may hold it")
            }),
        }),
    }
}

/// Waits as a run does for its own store: a full disk or a foreign lock is no failure. `tell` hears of each cause once.
pub async fn patiently<T, F>(call: impl FnMut() -> F, tell: impl FnMut(&str)) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    usable(call, LONG_PAUSE, tell).await
}

async fn usable<T, F>(
    mut call: impl FnMut() -> F,
    pause: Duration,
    mut tell: impl FnMut(&str),
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut told = None;
    loop {
        match call().await {
            Err(StoreError::Unavailable { why }) => {
                if told.as_ref() != Some(&why) {
                    tell(&why);
                    told = Some(why);
                }
                tokio::time::sleep(pause).await;
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(why: &str) -> StoreError {
        StoreError::Unavailable { why: why.into() }
    }

    #[tokio::test]
    async fn who_looks_gives_up_with_what_was_in_the_way() {
        let limit = Duration::from_millis(1);
        let error = within(limit, || async { Err::<(), _>(busy("locked")) }).await.unwrap_err();
        assert_eq!(error.to_string(), "locked");
        let error = within(limit, std::future::pending::<Result<(), StoreError>>).await.unwrap_err();
        assert_eq!(error.to_string(), "the store has not answered within 1ms; another process may hold it");
    }

    #[tokio::test]
    async fn who_waits_is_told_each_cause_once() {
        let (mut calls, mut told) = (0, Vec::new());
        let call = || {
            calls += 1;
            std::future::ready(match calls {
                1..=3 => Err(busy("locked")),
                4..=6 => Err(busy("full")),
                _ => Ok("here"),
            })
        };
        let answer = usable(call, Duration::ZERO, |why| told.push(why.to_owned())).await;
        assert_eq!(answer.unwrap(), "here");
        assert_eq!(told, ["locked", "full"]);
    }
}
