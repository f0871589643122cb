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
use super::streams::Stream;
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

/// The server stops; another one may be there in a moment.
const GOING: u16 = 1001;

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

/// Until the client leaves, is cut off, or is let go, or the server stops.
pub(crate) async fn speak(
    socket: WebSocket,
    mut queue: mpsc::Receiver<Sent>,
    let_go: impl Future<Output = ()>,
    stream: Stream,
) {
    let (mut out, mut heard) = socket.split();
    // The server waits for `stream`, and with it for the farewell.
    let stops = stream.clone().over();
    tokio::pin!(let_go, stops);
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
            () = &mut stops => break Some((GOING, "the server stops: come back with ?since= the last seq you have")),
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
    stream: Stream,
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
    let ends = async {
        tokio::select! {
            () = let_go => {}
            () = stream.over() => {}
        }
    };
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    ([kind], Body::from_stream(lines.take_until(ends))).into_response()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::Router;
    use axum::extract::ws::WebSocketUpgrade;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::live::Streams;

    /// Where a client gets what is in the queue, once.
    async fn at_a_socket(sent: Sent, let_go: bool) -> SocketAddr {
        let (queue, told) = queue();
        queue.try_send(sent).ok().unwrap();
        let told = Arc::new(std::sync::Mutex::new(Some((queue, told))));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = move |upgrade: WebSocketUpgrade| async move {
            let (queue, told) = told.lock().unwrap().take().unwrap();
            upgrade.on_upgrade(move |socket| async move {
                let streams = Streams::default();
                let waits = async {
                    if !let_go {
                        std::future::pending::<()>().await;
                    }
                };
                speak(socket, told, waits, streams.begin()).await;
                drop(queue);
            })
        };
        let router = Router::new().route("/", get(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    /// The code with which a client is sent away.
    async fn closed(address: SocketAddr) -> u16 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        loop {
            let (kind, length) = (stream.read_u8().await.unwrap(), stream.read_u8().await.unwrap());
            let mut frame = vec![0; usize::from(length)];
            stream.read_exact(&mut frame).await.unwrap();
            if kind == 0x88 {
                return u16::from_be_bytes([frame[0], frame[1]]);
            }
        }
    }

    #[tokio::test]
    async fn a_client_is_told_by_the_code_why_it_has_to_go() {
        assert_eq!(closed(at_a_socket(Sent::Resync, false).await).await, 4008);
        assert_eq!(closed(at_a_socket(Sent::Over, false).await).await, 1000);
        assert_eq!(closed(at_a_socket(Sent::Text("[]".into()), true).await).await, 4003);
    }

    /// E5, without WebSocket.
    #[tokio::test]
    async fn a_client_of_events_that_is_too_slow_is_told_to_come_back() {
        let (queue, told) = queue();
        queue.try_send(Sent::Text("{}".into())).ok().unwrap();
        queue.try_send(Sent::Resync).ok().unwrap();
        queue.try_send(Sent::Text("{\"never\":1}".into())).ok().unwrap();
        let streams = Streams::default();
        let answer = stream_events(told, std::future::pending(), streams.begin());
        let text = axum::body::to_bytes(answer.into_body(), 1_000).await.unwrap();
        assert_eq!(&text[..], b"data: {}\n\nevent: resync\ndata: {}\n\n");
    }
}
