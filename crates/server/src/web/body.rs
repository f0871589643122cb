//! The body of a request: JSON, not too large, not too slow.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::problem::{Problem, Result};

pub(crate) const LARGEST: usize = 1 << 20;

/// For the whole of a body.
const LONGEST: Duration = Duration::from_secs(20);

/// Nothing at all counts as an empty object, for requests that need no words.
pub(crate) async fn read(headers: &HeaderMap, body: Body) -> Result<Value> {
    let bytes = match timeout(LONGEST, collected(headers, body)).await {
        Ok(bytes) => bytes?,
        Err(_) => return Err(Problem::new(408, "the body did not come within 20 seconds")),
    };
    let kind = headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    match kind {
        None if bytes.is_empty() => return Ok(json!({})),
        Some(kind) if is_json(kind) => {}
        _ => return Err(Problem::new(415, "the body has to be JSON, with Content-Type: application/json")),
    }
    if bytes.is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Problem::new(400, format!("the body is not JSON: {error}")).with("place", place)
    })
}

async fn collected(headers: &HeaderMap, body: Body) -> Result<Vec<u8>> {
    let too_large = || Problem::new(413, format!("a body may have at most {LARGEST} bytes"));
    let told =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|length| length > LARGEST as u64) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let mut parts = body.into_data_stream();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|error| Problem::new(400, format!("the body was cut short: {error}")))?;
        if bytes.len() + part.len() > LARGEST {
            return Err(too_large());
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

fn is_json(kind: &[u8]) -> bool {
    let kind = String::from_utf8_lossy(kind).to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}
