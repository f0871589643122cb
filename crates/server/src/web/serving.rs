//! The way of every request: host, origin, credential, rule, what it says; then its route; then the record of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, MatchedPath, Path, Request, State};
use axum::http;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};

use super::fields::Given;
use super::route::{Asked, Method, Route, Rule};
use super::{body, credentials};
use crate::access::identity::OWNER;
use crate::access::{Identity, Means, Role};
use crate::app::App;
use crate::live::Cut;
use crate::page;
use crate::problem::{Doer, Problem, Result};
use crate::records::Act;

/// Nothing from elsewhere is loaded, and no page of another site shows ours.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

pub(crate) fn router(app: App, routes: impl IntoIterator<Item = &'static Route>) -> Router {
    let mut router = Router::new();
    for route in routes {
        let app = app.clone();
        let serve = move |request: Request| serve(app.clone(), route, request);
        router = router.route(route.path, on(filter(route.method), serve));
    }
    let (unknown, wrong) = (app.clone(), app.clone());
    router
        .fallback(move |method: http::Method, uri: Uri, headers: HeaderMap| {
            nowhere(unknown.clone(), method, headers, uri)
        })
        .method_not_allowed_fallback(move |headers: HeaderMap| wrong_method(wrong.clone(), headers))
        .layer(middleware::from_fn_with_state(app, placed))
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}

/// Before anything else is looked at, and after everything else was done.
async fn placed(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api");
    let mut response = match credentials::check_place(&app.hosts, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            note_refused(&app, &request.into_parts().0, &problem).await;
            problem.into_response()
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        // A document that is no part of the page may have a policy of its own.
        if name != header::CONTENT_SECURITY_POLICY || !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    if is_api && !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// One that came to no route, because it was sent to another name or by the page of another site.
async fn note_refused(app: &App, request: &Parts, problem: &Problem) {
    if matches!(request.method, http::Method::GET | http::Method::HEAD | http::Method::OPTIONS) {
        return;
    }
    let from = request.extensions.get::<SocketAddr>().copied().unwrap_or(app.bound);
    // The address itself may be a secret, as a hook's.
    let route = request.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let act = Act {
        who: "",
        means: "none",
        address: from.ip().to_string(),
        method: request.method.as_str(),
        path: route,
        status: problem.status(),
        detail: problem.detail(),
    };
    note(app, &act).await;
}

async fn note(app: &App, act: &Act<'_>) {
    if let Err(error) = app.records.note(act).await {
        tracing::error!(%error, "what was done cannot be recorded");
    }
}

/// Every other address is the page's, which is public. What the API has and what not is told only to those who are known.
async fn nowhere(app: App, method: http::Method, headers: HeaderMap, uri: Uri) -> Response {
    let is_api = uri.path() == "/api" || uri.path().starts_with("/api/");
    if !is_api && matches!(method, http::Method::GET | http::Method::HEAD) {
        return page::answer(&app.page, uri.path(), &headers);
    }
    match credentials::identify(&app, &headers).await {
        Ok(_) => Problem::not_found(format!("there is nothing at {}", uri.path())).into_response(),
        Err(problem) => problem.into_response(),
    }
}

async fn wrong_method(app: App, headers: HeaderMap) -> Response {
    match credentials::identify(&app, &headers).await {
        Ok(_) => Problem::new(405, "this address does not take the method").into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// What changes something is brought to its end and recorded, also where its caller has gone meanwhile.
async fn serve(app: App, route: &'static Route, request: Request) -> Response {
    let answering = answered(app, route, request);
    if !route.method.changes() {
        return answering.await;
    }
    let ended = tokio::spawn(answering).await;
    ended.unwrap_or_else(|error| Problem::internal(error).into_response())
}

async fn answered(app: App, route: &'static Route, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let from = parts.extensions.get::<SocketAddr>().copied().unwrap_or(app.bound);
    let cut = parts.extensions.get::<Cut>().cloned().unwrap_or_default();
    let path = recorded(route, &parts.uri);
    let mut who = None;
    let answered = async {
        let identity = match route.rule {
            Rule::Public => Identity::new(String::new(), Means::Session, Vec::new(), None),
            _ => credentials::identify(&app, &parts.headers).await?,
        };
        who = Some(identity.clone());
        // A run that began a moment ago is there for the next request, however lately the list was made.
        app.runs.forget_list().await;
        let named = named(&mut parts).await?;
        check(&app, route, &identity, &named).await?;
        let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await.ok();
        let query = Given::of_query(route.query, parts.uri.query().unwrap_or_default())?;
        let body = match route.method.changes() && route.reads_body {
            true => Given::of_body(route.body, body::read(&parts.headers, body).await?)?,
            false => Given::default(),
        };
        check_program(&app, route, &identity, &named, &body).await?;
        let headers = std::mem::take(&mut parts.headers);
        (route.handler)(
            app.clone(),
            Asked { route, identity, path: named, query, body, headers, from, upgrade, cut },
        )
        .await
    }
    .await;
    let detail = answered.as_ref().err().map(|problem| problem.detail().to_owned()).unwrap_or_default();
    let response = answered.unwrap_or_else(|problem| problem.into_response());
    if route.method.changes() {
        let who = doer(who.as_ref(), &response);
        let act = Act {
            who: &who.name,
            means: who.means,
            address: from.ip().to_string(),
            method: route.method.name(),
            path: &path,
            status: response.status().as_u16(),
            detail: &detail,
        };
        note(&app, &act).await;
    }
    response
}

/// What an address says that asks for no credential may be one itself, as a hook's: such an address is recorded without it.
fn recorded(route: &Route, uri: &Uri) -> String {
    match route.rule {
        Rule::Public => route.path.to_owned(),
        _ => uri.path().to_owned(),
    }
}

/// Who it was, for the record: also of those who are known only by what they sent.
fn doer(identity: Option<&Identity>, response: &Response) -> Doer {
    if let Some(doer) = response.extensions().get::<Doer>() {
        return doer.clone();
    }
    match identity.filter(|identity| !identity.name.is_empty()) {
        Some(identity) => {
            let is_page = identity.name == OWNER && identity.means == Means::Session;
            let means = if is_page { "page of the owner" } else { identity.means.name() };
            Doer { name: identity.name.clone(), means }
        }
        None => Doer { name: String::new(), means: "none" },
    }
}

async fn named(parts: &mut Parts) -> Result<BTreeMap<String, String>> {
    let named = Path::<BTreeMap<String, String>>::from_request_parts(parts, &()).await;
    let Path(named) = named.map_err(|_| Problem::new(400, "the address is not encoded as it should be"))?;
    match named.values().any(|value| value.chars().any(char::is_control)) {
        true => Err(Problem::new(400, "the address has a control character in it")),
        false => Ok(named),
    }
}

/// Whether someone may take a route.
pub(crate) async fn check(
    app: &App,
    route: &Route,
    identity: &Identity,
    named: &BTreeMap<String, String>,
) -> Result<()> {
    let (needed, role) = match route.rule {
        Rule::Public => return Ok(()),
        Rule::Everywhere(needed) => (needed, identity.role_in(None)),
        Rule::Role(needed) => (needed, role_at(app, identity, named).await?),
    };
    if role.is_some_and(|role| role >= needed) {
        return Ok(());
    }
    let name = &identity.name;
    let words = match (route.rule, role) {
        // A role in some project is none here, but not nothing.
        (Rule::Everywhere(_), _) => {
            format!("this needs the role {needed} in all projects; {name} has {}", everything(identity))
        }
        (_, Some(role)) => format!("this needs the role {needed}; {name} has {role} here"),
        (_, None) => format!("this needs the role {needed}; {name} has no role here"),
    };
    Err(Problem::new(403, words).with("needed_role", needed.name()))
}

fn everything(identity: &Identity) -> String {
    let role = |(project, role): (String, &str)| match project.as_str() {
        "*" => role.to_owned(),
        _ => format!("{role} in {project}"),
    };
    let roles: Vec<String> = identity.roles().into_iter().map(role).collect();
    if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") }
}

/// Who names a program runs whatever it does, as one who edits tasks.
async fn check_program(
    app: &App,
    route: &Route,
    identity: &Identity,
    named: &BTreeMap<String, String>,
    body: &Given,
) -> Result<()> {
    let Some(field) = body.program(route.body) else { return Ok(()) };
    match role_at(app, identity, named).await? >= Some(Role::Admin) {
        true => Ok(()),
        false => Err(Problem::new(403, "to name a program as an agent (acp:…) needs the role admin")
            .with("field", field)
            .with("needed_role", Role::Admin.name())
            .help("name an agent that is installed, or have an admin put this one into the task file")),
    }
}

/// The role in the project that the address is about.
async fn role_at(app: &App, identity: &Identity, named: &BTreeMap<String, String>) -> Result<Option<Role>> {
    if let Some(project) = named.get("project") {
        return Ok(identity.role_in(Some(project)));
    }
    let Some(run) = named.get("run") else { return Ok(identity.best_role()) };
    let project = match app.runs.named(run).await {
        Ok(run) => app.project_of(&run).await?,
        // Nothing is said of it to those who may not see everything.
        Err(problem) if problem.status() == 404 => None,
        Err(problem) => return Err(problem),
    };
    Ok(identity.role_in(project.as_ref().map(|project| project.id.as_str())))
}
