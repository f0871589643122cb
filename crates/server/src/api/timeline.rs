//! A run as a timeline, for pages that draw it.

use axum::response::Response;
use conductor_core::plan::graph::Graph;
use conductor_core::report::timeline::{Bar, PHASES, Timeline, WaitedFor};
use conductor_core::run::End;
use serde::Serialize;

use super::graph_layout::revalidated;
use crate::app::App;
use crate::problem::{Problem, Result};
use crate::web::route::{Asked, Route, VIEWER, by, get};

const SCHEMA: &str = "conductor.timeline/1";

/// In a row of numbers, what is not known or not there.
const NOTHING: i64 = -1;

pub(crate) const ROUTES: &[Route] =
    &[get("/api/runs/{run}/timeline", VIEWER, "When each worker did what, attempt by attempt", by!(of_run))
        .json(
            SCHEMA,
            "run text, seq whole, length_ms whole, lanes whole, ids [text], ends [text], waits [text], phases [text], bars [any]",
        )
        .revalidated()];

/// Rows of numbers, since there may be ten thousand of them; every id is there once.
#[derive(Serialize)]
struct Whole<'a> {
    schema: &'static str,
    run: &'a str,
    seq: u64,
    length_ms: u64,
    lanes: u32,
    /// Of every task, those that race for one among them.
    ids: Vec<&'a str>,
    ends: [&'static str; 5],
    waits: [&'static str; 5],
    phases: [&'static str; 4],
    /// Task, attempt, lane, from, to, end, 1 if critical, since when it was waited for, for what; then phase, from and to of
    /// each piece.
    bars: Vec<Vec<i64>>,
}

async fn of_run(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let (plan, strategy) = feed.look(|run| (run.plan().clone(), run.options().strategy));
    let graph = tokio::task::spawn_blocking(move || Graph::new(&plan, strategy)).await;
    let graph = graph.map_err(Problem::internal)?.map_err(|error| Problem::new(422, error))?;
    let (seq, plan, timeline) = feed.look(|run| {
        // Tasks may have joined the plan meanwhile.
        let fits = run.plan().tasks.len() == graph.len();
        (run.seq(), run.plan().clone(), fits.then(|| Timeline::of(run, &graph)))
    });
    let timeline =
        timeline.ok_or_else(|| Problem::unavailable("the plan is being changed").retry_after(1))?;
    let whole = Whole {
        schema: SCHEMA,
        run: feed.id().as_str(),
        seq,
        length_ms: timeline.length.0,
        lanes: timeline.lanes,
        ids: plan.tasks.iter().map(|task| task.id.as_str()).collect(),
        ends: End::ALL.map(End::name),
        waits: WaitedFor::ALL.map(WaitedFor::name),
        phases: PHASES,
        bars: timeline.bars.iter().map(bar).collect(),
    };
    Ok(revalidated(&asked, serde_json::to_string(&whole).map_err(Problem::internal)?))
}

fn bar(bar: &Bar) -> Vec<i64> {
    let time = |at: Option<u64>| at.map_or(NOTHING, |at| at as i64);
    let mut row = vec![
        i64::from(bar.task),
        i64::from(bar.attempt.0),
        i64::from(bar.lane),
        bar.from.0 as i64,
        time(bar.to.map(|to| to.0)),
        bar.end.map_or(NOTHING, |end| end as i64),
        i64::from(bar.critical),
        time(bar.wait.map(|(since, _)| since.0)),
        bar.wait.map_or(NOTHING, |(_, why)| why as i64),
    ];
    row.extend(
        bar.pieces.iter().flat_map(|piece| [piece.phase as i64, piece.from.0 as i64, piece.to.0 as i64]),
    );
    row
}
