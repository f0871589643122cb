//! The server itself: whether it is well, what it is, and how its API looks.

use std::sync::OnceLock;

use axum::response::Response;
use conductor_engine::records::metrics::Format;
use serde_json::json;

use crate::access::Role;
use crate::app::App;
use crate::problem::Result;
use crate::web::answer;
use crate::web::openapi;
use crate::web::route::{Asked, PUBLIC, Route, Rule, VIEWER, by, get};

pub(crate) const ROUTES: &[Route] = &[
    get("/healthz", PUBLIC, "Whether the server is there", by!(healthy)).other("text/plain"),
    get(
        "/readyz",
        PUBLIC,
        "Whether the server can answer: its own database and the runs' can be read",
        by!(ready),
    )
    .other("text/plain"),
    get(
        "/metrics",
        Rule::Everywhere(Role::Viewer),
        "Metrics of all runs, for Prometheus; for those who see all projects",
        by!(metrics),
    )
    .other("text/plain; version=0.0.4; charset=utf-8"),
    get("/api/version", VIEWER, "Which version this is", by!(version))
        .json("conductor.version/1", "version text, uptime_ms whole, page text"),
    get("/api/openapi.json", VIEWER, "This document", by!(document)).other("application/json"),
    get("/open", PUBLIC, "The page that takes a login code", by!(open)).other("text/html; charset=utf-8"),
    get("/open.js", PUBLIC, "What that page runs", by!(open_script)).other("text/javascript"),
    get("/open.css", PUBLIC, "How that page looks", by!(style)).other("text/css"),
    get("/api/docs", VIEWER, "The reference page", by!(page)).other("text/html; charset=utf-8"),
    get("/api/docs.js", VIEWER, "What the reference page runs", by!(script)).other("text/javascript"),
    get("/api/docs.css", VIEWER, "How the reference page looks", by!(style)).other("text/css"),
];

async fn healthy(_: App, _: Asked) -> Result<Response> {
    Ok(answer::of_kind("text/plain", "well\n"))
}

async fn ready(app: App, _: Asked) -> Result<Response> {
    app.records.projects().await?;
    app.runs.list().await?;
    Ok(answer::of_kind("text/plain", "ready\n"))
}

/// In the form that the caller asks for.
async fn metrics(app: App, asked: Asked) -> Result<Response> {
    let format =
        match asked.header("accept").is_some_and(|accept| accept.contains("application/openmetrics-text")) {
            true => Format::OpenMetrics,
            false => Format::Prometheus,
        };
    let text = app.meter.text(&app.home, &app.runs, &app.records, format).await?;
    Ok(answer::of_kind(format.content_type(), text))
}

async fn version(app: App, _: Asked) -> Result<Response> {
    let uptime = u64::try_from(app.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let value = json!({ "version": env!("CARGO_PKG_VERSION"), "uptime_ms": uptime, "page": app.page.name() });
    answer::json("conductor.version/1", value)
}

/// Made once: the routes do not change.
pub(crate) fn described() -> &'static str {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let document = openapi::document(super::routes());
        format!("{}\n", serde_json::to_string_pretty(&document).unwrap_or_default())
    })
}

async fn document(_: App, _: Asked) -> Result<Response> {
    Ok(answer::encoded(200, described()))
}

async fn open(_: App, _: Asked) -> Result<Response> {
    Ok(answer::of_kind("text/html; charset=utf-8", include_str!("../../page/open.html")))
}

async fn open_script(_: App, _: Asked) -> Result<Response> {
    Ok(answer::of_kind("text/javascript", include_str!("../../page/open.js")))
}

async fn page(_: App, _: Asked) -> Result<Response> {
    Ok(answer::of_kind("text/html; charset=utf-8", include_str!("../../page/docs.html")))
}

async fn script(_: App, _: Asked) -> Result<Response> {
    Ok(answer::of_kind("text/javascript", include_str!("../../page/docs.js")))
}

async fn style(_: App, _: Asked) -> Result<Response> {
    Ok(answer::of_kind("text/css", include_str!("../../page/docs.css")))
}
