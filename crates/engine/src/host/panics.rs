//! Panics as values: a mistake in what carries out one piece of work becomes that work's failure instead of a wait that
//! never ends.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// What some work comes to, or the words of its panic. The work itself is dropped right after a panic.
pub(crate) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(words(&*panic))),
        }
    })
    .await
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_its_words_and_everything_else_passes() {
        assert_eq!(caught(async { 7 }).await, Ok(7));
        assert_eq!(caught(async { panic!("plain") }).await, Err::<(), _>("plain".to_owned()));
        let late = async {
            tokio::task::yield_now().await;
            panic!("number {}", 7)
        };
        assert_eq!(caught(late).await, Err::<(), _>("number 7".to_owned()));
    }
}
