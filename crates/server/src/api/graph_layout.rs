//! Graphs as pictures: where each task is drawn, for pages that draw them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use conductor_core::graph_layout::{
    DrawnLine, Fold, Folding, Kind as NodeKind, Layout, Outline, Stand, State, Summary, TaskGraph, Wanted,
};
use conductor_core::plan::Plan;
use conductor_core::plan::graph::{Graph, Strategy};
use conductor_core::run::Run;
use conductor_core::values::suggest::did_you_mean;
use serde::Serialize;

use super::projects::ReadFile;
use crate::access::secrets;
use crate::app::App;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::fields::{Field, Given, Kind, may};
use crate::web::route::{Asked, Route, VIEWER, by, get};

const SCHEMA: &str = "conductor.graph-layout/1";

const FIELDS: &str = "run text?, project text?, fold text, width whole, height whole, ids [text], stands [whole], \
    nodes [any], edges [any], folded [object]";

const QUERY: &[Field] = &[
    may(
        "fold",
        Kind::OneOf(&Fold::NAMES),
        "What is folded: groups; all but what matters; none; or what goes with the number of tasks (default auto).",
    ),
    may("open", Kind::Texts, "Epics and groups that are not folded."),
    may("selected", Kind::Text, "A task that is not folded, nor is its group."),
];

pub(crate) const ROUTES: &[Route] = &[
    get(
        "/api/runs/{run}/graph/layout",
        VIEWER,
        "The graph of a run as a picture: boxes, lines, what is folded",
        by!(of_run),
    )
    .query(QUERY)
    .json(SCHEMA, FIELDS)
    .revalidated(),
    get(
        "/api/projects/{project}/dependencies/graph/layout",
        VIEWER,
        "The graph of the file as a picture, with states of the newest run",
        by!(of_project),
    )
    .query(QUERY)
    .json(SCHEMA, FIELDS)
    .revalidated(),
];

/// Whose graph it is.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Subject {
    Run(String),
    Project(String),
}

async fn of_run(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let is_live = feed.is_live();
    let (plan, states) = feed.look(|run| (run.plan().clone(), states(run, is_live)));
    drawn(&app, &asked, Subject::Run(feed.id().to_string()), plan, states).await
}

async fn of_project(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let plan = ReadFile::of(&project)?.plan(&project)?;
    let states = match app.runs_of(&project).await?.first() {
        Some(newest) => {
            let feed = app.runs.feed_of(newest).await?;
            let is_live = feed.is_live();
            feed.look(|run| {
                let places = plan.tasks.iter().map(|task| run.place(&task.id));
                places.map(|place| place.map_or(State::Pending, |place| state(run, place, is_live))).collect()
            })
        }
        None => vec![State::Pending; plan.tasks.len()],
    };
    drawn(&app, &asked, Subject::Project(project.id.clone()), Arc::new(plan), states).await
}

fn states(run: &Run, is_live: bool) -> Vec<State> {
    (0..run.plan().tasks.len()).map(|place| state(run, place, is_live)).collect()
}

/// Of a run whose coordinator is gone, nothing is at work.
fn state(run: &Run, place: usize, is_live: bool) -> State {
    match State::of(run.progress(place)) {
        State::Running if !is_live => State::Pending,
        state => state,
    }
}

async fn drawn(
    app: &App,
    asked: &Asked,
    of: Subject,
    plan: Arc<Plan>,
    states: Vec<State>,
) -> Result<Response> {
    let query = asked.query.clone();
    let prepared = apart(move || Prepared::of(&plan, &states, &query)).await??;
    let layout = app.layouts.of(prepared.outline.clone()).await?;
    let text = apart(move || prepared.text(of, &layout)).await??;
    Ok(revalidated(asked, text))
}

/// Graphs can be big: what takes long is not done where others are answered.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Problem::internal)
}

/// A page that has seen this very answer is told so.
pub(super) fn revalidated(asked: &Asked, text: String) -> Response {
    let version = format!("\"{}\"", &secrets::hash(&text)[..16]);
    let is_seen = asked.header("if-none-match").is_some_and(|seen| {
        seen.split(',').any(
            |seen| matches!(seen.trim().trim_start_matches("W/"), seen if seen == "*" || seen == version),
        )
    });
    let mut response = match is_seen {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => answer::encoded(200, text),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    super::projects::with_version(response, &version)
}

/// What is drawn, before it is known where.
struct Prepared {
    graph: TaskGraph,
    folding: Folding,
    outline: Outline,
}

impl Prepared {
    fn of(plan: &Plan, states: &[State], query: &Given) -> Result<Prepared> {
        let graph = Graph::new(plan, Strategy::Queue).map_err(|error| Problem::new(422, error))?;
        let graph = TaskGraph::of(plan, &graph, |place| states[place]);
        let folding = Folding::of(&graph, &wanted(&graph, query)?);
        let outline = Outline::of(&graph, &folding);
        Ok(Prepared { graph, folding, outline })
    }

    fn text(&self, of: Subject, layout: &Layout) -> Result<String> {
        let whole = Whole {
            schema: SCHEMA,
            of,
            fold: self.folding.fold.name(),
            width: layout.width,
            height: layout.height,
            ids: self.graph.tasks.iter().map(|task| task.id.as_str()).collect(),
            stands: &self.folding.stands,
            nodes: self.nodes(layout),
            edges: layout.lines.iter().map(edge).collect(),
            folded: self.folding.summaries(&self.graph).iter().map(|summary| self.folded(summary)).collect(),
        };
        serde_json::to_string(&whole).map_err(Problem::internal)
    }

    fn nodes(&self, layout: &Layout) -> Vec<[i32; 7]> {
        let of = self.outline.nodes.iter().zip(&layout.nodes);
        of.map(|(node, at)| {
            let kind = match node.kind {
                NodeKind::Task => 0,
                NodeKind::Group => 1,
                NodeKind::Rest => 2,
                NodeKind::Gate => 3,
            };
            [kind, at.x, at.y, at.width, at.height, at.layer as i32, i32::from(node.critical)]
        })
        .collect()
    }

    fn folded(&self, summary: &Summary) -> FoldedNode<'_> {
        let state = summary.state();
        let (kind, name) = match self.folding.nodes[summary.node as usize] {
            Stand::Group(group) => ("group", self.graph.groups[group as usize].as_str()),
            _ => ("rest", state.name()),
        };
        let counts = State::ALL.map(|state| (state.name(), summary.counts[state as usize]));
        FoldedNode {
            node: summary.node,
            kind,
            name,
            state: state.name(),
            tasks: summary.tasks,
            counts: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
            expected_ms: summary.expected.0,
        }
    }
}

/// Rows of numbers, since there may be ten thousand of them; every id is there once.
#[derive(Serialize)]
struct Whole<'a> {
    schema: &'static str,
    #[serde(flatten)]
    of: Subject,
    fold: &'static str,
    width: i32,
    height: i32,
    /// Of every task.
    ids: Vec<&'a str>,
    /// For each of them, the number of the node that stands for it.
    stands: &'a [u32],
    /// Kind (0 task, 1 group, 2 rest, 3 gate), x, y, width, height, layer, 1 if critical.
    nodes: Vec<[i32; 7]>,
    /// From, to, count, how many run against it, 1 if critical; then x and y of each point.
    edges: Vec<Vec<i64>>,
    folded: Vec<FoldedNode<'a>>,
}

#[derive(Serialize)]
struct FoldedNode<'a> {
    node: u32,
    kind: &'static str,
    name: &'a str,
    state: &'static str,
    tasks: u32,
    counts: BTreeMap<&'static str, u32>,
    expected_ms: u64,
}

fn edge(drawn: &DrawnLine) -> Vec<i64> {
    let line = drawn.line;
    let mut row: Vec<i64> =
        [line.from, line.to, line.count, line.back, u32::from(line.critical)].map(i64::from).into();
    row.extend(drawn.points.iter().flat_map(|(x, y)| [i64::from(*x), i64::from(*y)]));
    row
}

fn wanted(graph: &TaskGraph, query: &Given) -> Result<Wanted> {
    let group = |name: &str| {
        let known = graph.groups.iter().position(|known| known == name).map(|at| at as u32);
        known.ok_or_else(|| {
            let meant = did_you_mean(name, graph.groups.iter().map(String::as_str));
            Problem::field("open", format!("names '{name}', which is no epic or group here")).meant(meant)
        })
    };
    let selected = query.text("selected").map(|id| {
        let known = graph.tasks.iter().position(|task| task.id.as_str() == id).map(|at| at as u32);
        known.ok_or_else(|| {
            let meant = did_you_mean(id, graph.tasks.iter().map(|task| task.id.as_str()));
            Problem::field("selected", format!("names '{id}', which is no task here")).meant(meant)
        })
    });
    Ok(Wanted {
        fold: query.text("fold").and_then(Fold::named).unwrap_or_default(),
        open: query.texts("open").into_iter().map(group).collect::<Result<_>>()?,
        selected: selected.transpose()?,
    })
}
