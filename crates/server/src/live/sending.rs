//! What happens, sent to one client: over a WebSocket or as server-sent events. One that is too slow is told to come back.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{SinkExt as _, StreamExt as _, stream};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::frame::Frame;
use super::subscription::{Subscription, Told};

/// Come back with `?since=` the number of the last event you have.
const RESYNC: u16 = 4008;

/// A client that takes nothing for this long is cut off.
const STALLED: Duration = Duration::from_secs(10);

/// So that a connection that died is noticed, and one that lives is not taken for dead in between.
const PING: Duration = Duration::from_secs(20);

/// What may wait for one client.
const QUEUE: usize = 64;

/// A client that may not listen any more, or may see something else than before: it has to come back and ask anew.
const LET_GO: u16 = 4003;

/// Ends a connection from outside, where its client takes nothing and so cannot be told anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cut(Arc<Notify>);

impl Cut {
    fn off(&self) {
        self.0.notify_one();
    }

    pub(crate) async fn wanted(&self) {
        self.0.notified().await;
    }
}

/// What a client is sent.
pub(crate) enum Sent {
    Frame(Arc<Frame>),
    Text(Utf8Bytes),
    /// It has to come back.
    Resync,
    Over,
}

/// As `forward`, for a client that is told nothing while it takes nothing: it is cut off.
pub(crate) async fn forward_or_cut(subscription: Subscription, queue: mpsc::Sender<Sent>, cut: Cut) {
    let stalls = async {
        loop {
            tokio::time::sleep(STALLED / 2).await;
            if queue.capacity() == 0 && timeout(STALLED / 2, queue.reserve()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = forward(subscription, queue.clone()) => {}
        () = stalls => cut.off(),
    }
}

/// Follows a run for a client, into its queue. A queue that is full means that the client is too slow.
pub(crate) async fn forward(mut subscription: Subscription, queue: mpsc::Sender<Sent>) {
    loop {
        let sent = match subscription.next().await {
            Told::Frame(frame) => Sent::Frame(frame),
            Told::TooSlow => Sent::Resync,
            Told::Over => Sent::Over,
        };
        let is_last = !matches!(sent, Sent::Frame(_));
        if queue.send(sent).await.is_err() || is_last {
            return;
        }
    }
}

pub(crate) fn queue() -> (mpsc::Sender<Sent>, mpsc::Receiver<Sent>) {
    mpsc::channel(QUEUE)
}

/// Until the client leaves, is cut off, or is let go.
pub(crate) async fn speak(
    socket: WebSocket,
    mut queue: mpsc::Receiver<Sent>,
    let_go: impl Future<Output = ()>,
) {
    let (mut out, mut heard) = socket.split();
    tokio::pin!(let_go);
    let mut pings = tokio::time::interval(PING);
    pings.tick().await;
    let close = loop {
        let message = tokio::select! {
            sent = queue.recv() => match sent {
                Some(Sent::Frame(frame)) => Message::Text(frame.array()),
                Some(Sent::Text(text)) => Message::Text(text),
                Some(Sent::Resync) => break Some((RESYNC, "too slow: come back with ?since= the last seq you have")),
                Some(Sent::Over) | None => break Some((1000, "the run is over")),
            },
            _ = pings.tick() => Message::Ping(Bytes::new()),
            () = &mut let_go => break Some((LET_GO, "you may see something else than before: log in, or come back")),
            message = heard.next() => match message {
                // Nothing that a client says changes anything.
                Some(Ok(Message::Close(_)) | Err(_)) | None => break None,
                Some(Ok(_)) => continue,
            },
        };
        match timeout(STALLED, out.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => break None,
            Err(_) => break Some((RESYNC, "stalled: come back with ?since= the last seq you have")),
        }
    };
    if let Some((code, reason)) = close {
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        let _ = timeout(Duration::from_secs(2), out.send(Message::Close(Some(frame)))).await;
        // Its answer, so that what was sent last is not lost with the connection.
        let _ = timeout(Duration::from_secs(2), heard.next()).await;
    }
}

/// The same as server-sent events, which end where a WebSocket is closed.
pub(crate) fn stream_events(
    queue: mpsc::Receiver<Sent>,
    let_go: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let lines = stream::unfold(Some(queue), |queue| async {
        let mut queue = queue?;
        let sent = timeout(PING, queue.recv()).await;
        let (text, goes_on): (Bytes, bool) = match sent {
            Ok(Some(Sent::Frame(frame))) => (frame.lines().into(), true),
            Ok(Some(Sent::Text(text))) => (format!("data: {text}\n\n").into(), true),
            Ok(Some(Sent::Resync)) => (Bytes::from_static(b"event: resync\ndata: {}\n\n"), false),
            Ok(Some(Sent::Over) | None) => return None,
            Err(_) => (Bytes::from_static(b": still here\n\n"), true),
        };
        Some((Ok::<Bytes, Infallible>(text), goes_on.then_some(queue)))
    });
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    ([kind], Body::from_stream(lines.take_until(let_go))).into_response()
}
