//! What agents and commands said, already without secrets: whole, by range, or as it comes.

use std::ffi::OsString;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::tasks;
use crate::app::App;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::fields::{Kind, may};
use crate::web::route::{Asked, Route, VIEWER, by, get};

const TEXT: &str = "text/plain; charset=utf-8";

pub(crate) const ROUTES: &[Route] = &[
    get(
        "/api/runs/{run}/tasks/{task}/log",
        VIEWER,
        "What a task's agent or command said; takes `Range: bytes=…`",
        by!(of_task),
    )
    .query(&[
        may("attempt", Kind::Whole(1, u32::MAX as u64), "Of this attempt (default: the newest)."),
        may("stream", Kind::Flag, "The agent's raw messages instead."),
        may("follow", Kind::Flag, "Go on until the task ends."),
    ])
    .other(TEXT),
    get("/api/runs/{run}/log", VIEWER, "What Conductor itself logged about the run", by!(of_run)).other(TEXT),
];

async fn of_task(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let task = asked.named("task")?;
    feed.look(|run| tasks::find(run, task).map(drop))?;
    let mut words: Vec<OsString> = vec!["logs".into(), format!("--run={}", feed.id()).into()];
    let follow = asked.query.flag("follow");
    match (follow, asked.query.whole("attempt")) {
        (true, Some(_)) => {
            return Err(Problem::field("attempt", "does not go with 'follow', which shows all that come"));
        }
        (true, None) => words.push("--follow".into()),
        (false, attempt) => {
            words.extend(attempt.map(|attempt| OsString::from(format!("--attempt={attempt}"))))
        }
    }
    if asked.query.flag("stream") {
        words.push("--stream".into());
    }
    words.extend([OsString::from("--"), task.into()]);
    if follow {
        return Ok(answer::of_kind(TEXT, app.program.flow(app.home.root(), words)?));
    }
    said(&app, &asked, words).await
}

async fn of_run(app: App, asked: Asked) -> Result<Response> {
    let run = app.runs.named(asked.named("run")?).await?;
    let words = vec!["logs".into(), "--coordinator".into(), format!("--run={}", run.id).into()];
    said(&app, &asked, words).await
}

async fn said(app: &App, asked: &Asked, words: Vec<OsString>) -> Result<Response> {
    let said = app.program.run(app.home.root(), words, None).await?;
    match said.exit {
        0 => ranged(asked.header("range"), said.out),
        _ => Err(said.problem()),
    }
}

/// The part that was asked for, as RFC 9110 has it; what makes no sense counts as nothing asked.
fn ranged(range: Option<&str>, text: Vec<u8>) -> Result<Response> {
    let total = text.len();
    let Some((from, to)) = range.and_then(|range| part(range, total)) else {
        let mut whole = answer::of_kind(TEXT, text);
        whole.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        return Ok(whole);
    };
    if from >= total {
        return Err(Problem::new(416, format!("there are {total} bytes")));
    }
    let content =
        HeaderValue::from_str(&format!("bytes {from}-{}/{total}", to - 1)).map_err(Problem::internal)?;
    let kind = HeaderValue::from_static(TEXT);
    Ok((
        StatusCode::PARTIAL_CONTENT,
        [(header::CONTENT_RANGE, content), (header::CONTENT_TYPE, kind)],
        text[from..to].to_vec(),
    )
        .into_response())
}

fn part(range: &str, total: usize) -> Option<(usize, usize)> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    match (from.trim(), to.trim()) {
        ("", last) => Some((total.saturating_sub(last.parse().ok()?), total)),
        (from, "") => Some((from.parse().ok()?, total)),
        (from, to) => {
            let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then(|| (from, to.saturating_add(1).min(total)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_as_the_standard_has_it() {
        assert_eq!(part("bytes=0-3", 10), Some((0, 4)));
        assert_eq!(part("bytes=4-", 10), Some((4, 10)));
        assert_eq!(part("bytes=-3", 10), Some((7, 10)));
        assert_eq!(part("bytes=5-99", 10), Some((5, 10)));
        assert_eq!(part("bytes=3-1", 10), None);
        assert_eq!(part("lines=0-3", 10), None);
        assert_eq!(ranged(Some("bytes=10-"), vec![b'x'; 10]).unwrap_err().status(), 416);
    }
}
