//! Answers as bytes: what is sent when, and where it stops.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::channel::Sender;
use http_body_util::{Channel, Either, Full};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::dialects::{Dialect, Reply};
use crate::faults::Failure;
use crate::play::{Answer, Content, Ending};

pub(crate) type Body = Either<Full<Bytes>, Channel<Bytes, io::Error>>;

/// No script may keep a client longer with one wait.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// What was sent before a cut must be on its way first, or the client sees no beginning.
const BEFORE_CUT: Duration = Duration::from_millis(20);

/// Ends the connection of a client that does not take what it is sent.
#[derive(Clone)]
pub(crate) struct Lifeline {
    pub(crate) stalled: Arc<Notify>,
    pub(crate) patience: Duration,
}

/// The response, after the wait its manner asks for.
pub(crate) async fn answer(
    dialect: Dialect,
    stream: bool,
    answer: Answer,
    lifeline: Lifeline,
) -> Response<Body> {
    let Answer { manner, content } = answer;
    sleep(wait(manner.before_ms)).await;
    let mut response = match content {
        Content::Refused(failure) => refused(dialect, &failure),
        Content::Given { reply, ending } => {
            let pieces = pieces(dialect, stream, &reply, &ending);
            let (sender, body) = Channel::new(1);
            let between = wait(manner.between_ms);
            tokio::spawn(perform(sender, pieces, between, ending == Ending::Cut, lifeline));
            typed(if stream { "text/event-stream" } else { "application/json" }, Either::Right(body))
        }
    };
    add_headers(&mut response, manner.headers.iter().map(|(name, value)| (name.as_str(), value)));
    response
}

fn refused(dialect: Dialect, failure: &Failure) -> Response<Body> {
    let refusal = dialect.refuse(failure);
    let mut response = json(failure.status, &refusal.body);
    add_headers(&mut response, refusal.headers.iter().map(|(name, value)| (*name, value)));
    response
}

fn pieces(dialect: Dialect, stream: bool, reply: &Reply, ending: &Ending) -> Vec<Bytes> {
    let mut pieces = if stream { streamed(dialect, reply) } else { whole(dialect, reply, ending) };
    match ending {
        Ending::Whole => {}
        Ending::Cut | Ending::Short => pieces.truncate(middle(pieces.len())),
        Ending::BrokenOff(failure) => {
            pieces.truncate(middle(pieces.len()));
            pieces.push(Bytes::from(dialect.break_off(failure).wire()));
        }
    }
    pieces
}

fn streamed(dialect: Dialect, reply: &Reply) -> Vec<Bytes> {
    dialect.stream(reply).iter().map(|event| Bytes::from(event.wire())).collect()
}

/// In one piece, unless one half is not to arrive.
fn whole(dialect: Dialect, reply: &Reply, ending: &Ending) -> Vec<Bytes> {
    let mut text = Bytes::from(dialect.whole(reply).to_string());
    if *ending == Ending::Whole {
        return vec![text];
    }
    let rest = text.split_off(text.len() / 2);
    vec![text, rest]
}

/// Something was sent, and something is missing.
fn middle(pieces: usize) -> usize {
    (pieces / 2).max(1)
}

async fn perform(
    mut sender: Sender<Bytes, io::Error>,
    pieces: Vec<Bytes>,
    between: Duration,
    cut: bool,
    lifeline: Lifeline,
) {
    for (number, piece) in pieces.into_iter().enumerate() {
        if number > 0 {
            sleep(between).await;
        }
        match timeout(lifeline.patience, sender.send_data(piece)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => return lifeline.stalled.notify_one(),
        }
    }
    if cut {
        sleep(BEFORE_CUT).await;
        sender.abort(io::Error::new(io::ErrorKind::ConnectionAborted, "cut, as the script asks"));
    }
}

fn wait(ms: u64) -> Duration {
    Duration::from_millis(ms).min(LONGEST_WAIT)
}

/// What is not fit to be a header is left out: the script is a test's own.
fn add_headers<'a>(response: &mut Response<Body>, headers: impl Iterator<Item = (&'a str, &'a String)>) {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
}

pub(crate) fn json(status: u16, body: &Value) -> Response<Body> {
    let mut response = typed("application/json", Either::Left(Full::new(Bytes::from(body.to_string()))));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn typed(kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(crate) fn empty() -> Response<Body> {
    Response::new(Either::Left(Full::new(Bytes::new())))
}

/// Hyper wants a service that can fail; this one cannot.
pub(crate) type Served = Result<Response<Body>, Infallible>;
