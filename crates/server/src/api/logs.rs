//! What agents and commands said, already without secrets: whole, by range, or as it comes.

use std::convert::Infallible;
use std::io::Read as _;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use conductor_core::values::ids::Attempt;
use conductor_engine::host::{access, logs};
use conductor_engine::runs::listening::{Follower, Listener, Told};
use futures_util::{StreamExt as _, stream};

use super::spoken::{ATTEMPT, Spoken, attempt_of, spoken};
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
        ATTEMPT,
        may("stream", Kind::Flag, "The agent's raw messages instead."),
        may("follow", Kind::Flag, "Go on until the task ends."),
        may("tail", Kind::Whole(1, 1_000_000), "Only so many lines from the end."),
    ])
    .other(TEXT),
    get("/api/runs/{run}/log", VIEWER, "What Conductor itself logged about the run", by!(of_run)).other(TEXT),
];

async fn of_task(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let stream = asked.query.flag("stream");
    let Spoken { listener, agent, .. } = spoken(&app, &feed, asked.named("task")?, stream).await?;
    if stream && agent.is_none() {
        let task = listener.task();
        return Err(Problem::conflict(format!("task '{task}' is a command, and says nothing to us")));
    }
    if asked.query.flag("follow") {
        return followed(&app, &asked, listener);
    }
    let (attempt, executor) = attempt_of(&listener, &asked)?;
    let text = listener.all(attempt, executor).await.map_err(Problem::unavailable)?;
    let text = match asked.query.whole("tail") {
        Some(lines) => last_lines(&text, usize::try_from(lines).unwrap_or(usize::MAX)).to_owned(),
        None => text,
    };
    ranged(asked.header("range"), text.into_bytes())
}

fn followed(app: &App, asked: &Asked, listener: Listener) -> Result<Response> {
    if asked.query.whole("attempt").is_some() {
        return Err(Problem::field("attempt", "does not go with 'follow', which shows all that come"));
    }
    if asked.query.whole("tail").is_some() {
        return Err(Problem::field("tail", "does not go with 'follow', which has no end to count from"));
    }
    let from = listener.attempts().last().map_or(Attempt(1), |(newest, _)| *newest);
    let parts = stream::unfold(Follower::new(listener, from), |mut follower| async {
        // What goes wrong ends it: the beginning was sent already.
        let told = follower.next().await.ok()??;
        let lines = match told {
            Told::Lines(lines) => lines,
            Told::Attempt(_) => String::new(),
        };
        Some((Ok::<_, Infallible>(lines), follower))
    });
    Ok(answer::of_kind(TEXT, Body::from_stream(parts.take_until(app.streams.begin().over()))))
}

async fn of_run(app: App, asked: Asked) -> Result<Response> {
    let run = app.runs.named(asked.named("run")?).await?;
    let paths = logs::files_in(&app.home.run(&run.id));
    if paths.is_empty() {
        return Err(Problem::conflict("Conductor has logged nothing about this run"));
    }
    let mut text = Vec::new();
    for path in paths {
        let mut file = access::open_own(&path).map_err(Problem::unavailable)?;
        file.read_to_end(&mut text).map_err(Problem::unavailable)?;
    }
    ranged(asked.header("range"), text)
}

/// So many lines from the end.
fn last_lines(text: &str, lines: usize) -> &str {
    let ends = text.trim_end_matches('\n').rmatch_indices('\n');
    let begin = lines.checked_sub(1).map(|before| ends.map(|(at, _)| at + 1).nth(before));
    match begin {
        Some(begin) => &text[begin.unwrap_or(0)..],
        None => "",
    }
}

/// The part that was asked for, as RFC 9110 has it; what makes no sense counts as nothing asked.
fn ranged(range: Option<&str>, text: Vec<u8>) -> Result<Response> {
    let total = text.len();
    // All of nothing is what any part of it is: one who follows a log asks before it has begun.
    let range = range.filter(|_| total > 0);
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
    fn lines_are_counted_from_the_end() {
        let text = "one\ntwo\nthree\n";
        assert_eq!(last_lines(text, 1), "three\n");
        assert_eq!(last_lines(text, 2), "two\nthree\n");
        assert_eq!((last_lines(text, 3), last_lines(text, 9)), (text, text));
        assert_eq!((last_lines("", 3), last_lines("\n\n", 1), last_lines("x", 1)), ("", "\n\n", "x"));
    }

    #[test]
    fn ranges_are_cut_as_the_standard_has_it() {
        assert_eq!(part("bytes=0-3", 10), Some((0, 4)));
        assert_eq!(part("bytes=4-", 10), Some((4, 10)));
        assert_eq!(part("bytes=-3", 10), Some((7, 10)));
        assert_eq!(part("bytes=5-99", 10), Some((5, 10)));
        assert_eq!(part("bytes=3-1", 10), None);
        assert_eq!(part("lines=0-3", 10), None);
        assert_eq!(ranged(Some("bytes=10-"), vec![b'x'; 10]).unwrap_err().status(), 416);
        for range in ["bytes=0-", "bytes=-4000", "bytes=5-9"] {
            assert_eq!(ranged(Some(range), Vec::new()).unwrap().status(), 200, "{range} of nothing");
        }
    }
}
