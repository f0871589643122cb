//! Logging in and out: a session for a browser as a cookie, for a script as a token.

use axum::http::header;
use axum::response::Response;
use conductor_engine::records::flat::timestamp;
use serde_json::json;

use crate::access::codes::Codes;
use crate::access::throttle::Guessed;
use crate::app::App;
use crate::problem::{Doer, Problem, Result};
use crate::web::answer;
use crate::web::credentials;
use crate::web::fields::{Kind, may, must};
use crate::web::route::{Asked, PUBLIC, Route, Rule, VIEWER, by, get, post};

const CODE: Guessed<'_> = Guessed::Secret("code");

const SESSION: &str = "user text, expires_at text, token text?";

pub(crate) const ROUTES: &[Route] = &[
    post("/api/login", PUBLIC, "Begin a session", by!(login))
        .body(&[
            must("name", Kind::Text, "The user's name."),
            must("password", Kind::Text, "The user's password."),
            may(
                "as",
                Kind::OneOf(&["cookie", "token"]),
                "How the session is told: as a cookie (default), or as a token to be sent with each request.",
            ),
        ])
        .json("conductor.login/1", SESSION),
    post(
        "/api/login/code",
        PUBLIC,
        "Begin a session with a code that is good once, for 60 seconds",
        by!(redeem),
    )
    .body(&[must("code", Kind::Text, "The code that `conductor open` put into the address.")])
    .json("conductor.login/1", SESSION),
    post("/api/logout", VIEWER, "End this session", by!(logout)).json("conductor.logout/1", "ended flag"),
    post(
        "/api/login/codes",
        Rule::Everywhere(crate::access::Role::Admin),
        "Make a code that opens the page once, as who makes it",
        by!(issue),
    )
    .json("conductor.login-code/1", "code text, url text"),
    get("/api/me", VIEWER, "Who is asking", by!(me))
        .json("conductor.me/1", "user text, by text, role text?, roles object"),
];

async fn login(app: App, asked: Asked) -> Result<Response> {
    let (name, password) = (asked.body.needed("name")?, asked.body.needed("password")?);
    let as_token = asked.body.text("as") == Some("token");
    if !as_token {
        check_cookie(&app, &asked)?;
    }
    let tried = app
        .throttle
        .attempt(Guessed::Of(name), asked.from.ip())
        .map_err(|seconds| Problem::new(429, "too many wrong logins; wait a little").retry_after(seconds))?;
    let is_right = app.records.is_user(name, password).await;
    if !matches!(is_right, Ok(false)) {
        app.throttle.take_back(&tried);
    }
    if !is_right? {
        let problem = Problem::new(401, "name and password do not belong together");
        // Only a name that there is: in its place stands, now and then, a password.
        let is_known = app.records.user(name).await.is_ok();
        return Err(if is_known { problem.by(doer(name, "password")) } else { problem });
    }
    app.throttle.forget_name(name);
    session(&app, name, as_token, "password").await
}

async fn redeem(app: App, asked: Asked) -> Result<Response> {
    check_cookie(&app, &asked)?;
    let from = asked.from.ip();
    if let Some(seconds) = app.throttle.wait(CODE, from) {
        return Err(Problem::new(429, "too many wrong codes; wait a little").retry_after(seconds));
    }
    let Some(user) = app.codes.redeem(asked.body.needed("code")?) else {
        app.throttle.note_wrong(CODE, from);
        return Err(Problem::new(401, "this code was used, is over a minute old, or was never made")
            .help("`conductor open` makes a new one"));
    };
    session(&app, &user, false, "code").await
}

fn doer(name: &str, means: &'static str) -> Doer {
    Doer { name: name.to_owned(), means }
}

/// A cookie of plain `localhost` would be sent to every other server on this machine.
pub(super) fn check_cookie(app: &App, asked: &Asked) -> Result<()> {
    let host = asked.header("host").unwrap_or_default();
    if app.hosts.may_have_cookie(host) {
        return Ok(());
    }
    Err(Problem::new(422, "a cookie for this name would be sent to other servers too")
        .help(format!("use {}, or ask for a token with \"as\": \"token\"", app.hosts.page())))
}

async fn session(app: &App, user: &str, as_token: bool, means: &'static str) -> Result<Response> {
    let (credential, expires) = app.records.begin_session(user).await?;
    let token = as_token.then_some(&credential);
    let value = json!({ "user": user, "expires_at": timestamp(expires), "token": token });
    let mut response = answer::json("conductor.login/1", value)?;
    response.extensions_mut().insert(doer(user, means));
    if !as_token {
        let seconds = (expires - conductor_engine::host::clock::wall().0) / 1_000;
        let cookie = credentials::cookie(&app.hosts, Some(&credential), seconds);
        let cookie = cookie.ok_or_else(|| Problem::internal("the session cannot be told"))?;
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

async fn logout(app: App, asked: Asked) -> Result<Response> {
    let session =
        credentials::credential(&app.hosts, &asked.headers).filter(|known| known.starts_with("cds_"));
    if let Some(session) = session {
        app.records.end_session(session).await?;
    }
    let mut response = answer::json("conductor.logout/1", json!({ "ended": session.is_some() }))?;
    if let Some(cookie) = credentials::cookie(&app.hosts, None, 0) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

async fn issue(app: App, asked: Asked) -> Result<Response> {
    let user = &asked.identity.name;
    if !app.records.may_have_tokens(user).await? {
        return Err(Problem::new(
            403,
            "a session would not have the roles that the identity provider gives you",
        ));
    }
    let code = app.codes.issue(user).map_err(Problem::internal)?;
    let url = Codes::address(&app.hosts.page(), &code, "/");
    answer::json("conductor.login-code/1", json!({ "code": code, "url": url }))
}

async fn me(_: App, asked: Asked) -> Result<Response> {
    let identity = &asked.identity;
    let role = identity.best_role().map(crate::access::Role::name);
    answer::json(
        "conductor.me/1",
        json!({ "user": identity.name, "by": identity.means.name(), "role": role, "roles": identity.roles() }),
    )
}
