//! Users, their access tokens, and the record of what was done.

use axum::response::Response;
use conductor_engine::records::flat::timestamp;
use serde_json::{Value, json};

use crate::access::{Identity, Role};
use crate::app::App;
use crate::problem::{Problem, Result};
use crate::records::{Entry, NewToken, Token, User, UserError};
use crate::web::answer;
use crate::web::fields::{Field, Kind, may, must};
use crate::web::route::{Asked, Route, Rule, VIEWER, by, delete, get, patch, post};

const ADMINS: Rule = Rule::Everywhere(Role::Admin);
const ROLE: Kind = Kind::OneOf(&Role::NAMES);

const PAGE: &[Field] = &[
    may("cursor", Kind::Whole(1, i64::MAX as u64), "Go on from here: `next_cursor` of the page before."),
    may("limit", Kind::Whole(1, 1_000), "How many at most (default 100)."),
];

pub(crate) const ROUTES: &[Route] = &[
    get("/api/users", ADMINS, "List the users", by!(users)).json("conductor.users/1", "users [object]"),
    post("/api/users", ADMINS, "Add a user", by!(add_user))
        .body(&[
            must(
                "name",
                Kind::Text,
                "Letters, digits and `.-_@+|:`; the e-mail address of one who logs in elsewhere.",
            ),
            may(
                "password",
                Kind::Text,
                "At least 10 characters (default: none, the user logs in elsewhere).",
            ),
            may("role", ROLE, "What the user may do (default viewer)."),
            may("project", Kind::Text, "Only in this project (default: in all of them)."),
        ])
        .json("conductor.user/1", "name text, disabled flag, grants [object]")
        .status(201),
    patch(
        "/api/users/{user}",
        ADMINS,
        "Disable or enable a user, set the password, or change what the user may do",
        by!(change_user),
    )
    .body(&[
        may("disabled", Kind::Flag, "Whether the user is kept out."),
        may("password", Kind::Text, "The new password; ends the user's sessions."),
        may("role", Kind::OneOf(&["viewer", "operator", "admin", "none"]), "The role in `project`, or none."),
        may("project", Kind::Text, "The project that `role` is about (default: all of them)."),
    ])
    .json("conductor.user/1", "name text, disabled flag, grants [object]"),
    get("/api/tokens", VIEWER, "List your access tokens", by!(tokens))
        .json("conductor.tokens/1", "tokens [object]"),
    post("/api/tokens", VIEWER, "Make an access token; it is told this once", by!(add_token))
        .body(&[
            must("name", Kind::Text, "What it is for."),
            may("role", ROLE, "What it may do at most (default viewer)."),
            may("project", Kind::Text, "Only in this project."),
            may(
                "days",
                Kind::Whole(1, 3_650),
                "How long it is good (default 90); no longer than the token it is made with.",
            ),
        ])
        .json("conductor.token/1", "id text, token text, role text, expires_at text")
        .status(201),
    delete("/api/tokens/{token}", VIEWER, "Revoke an access token", by!(revoke))
        .json("conductor.revoked/1", "id text"),
    get("/api/audit", ADMINS, "What was done by whom, newest first", by!(audit))
        .query(PAGE)
        .json("conductor.audit/1", "entries [object], next_cursor whole?"),
];

impl From<UserError> for Problem {
    fn from(error: UserError) -> Problem {
        match error {
            UserError::WrongName(_) => Problem::new(422, error).with("field", "name"),
            UserError::Taken(_) => Problem::conflict(error),
            UserError::Unknown { ref meant, .. } => {
                let meant = meant.clone();
                Problem::not_found(&error).meant(meant.as_deref())
            }
            UserError::Password(_) => Problem::new(422, error).with("field", "password"),
            UserError::Failed(error) => error.into(),
        }
    }
}

fn user(user: &User) -> Value {
    let grants = user.grants.iter().map(|(project, role)| json!({ "project": project, "role": role.name() }));
    json!({ "name": user.name, "disabled": user.disabled, "created_at": timestamp(user.created),
        "grants": grants.collect::<Vec<_>>() })
}

async fn users(app: App, _: Asked) -> Result<Response> {
    let users = app.records.users().await?;
    answer::json("conductor.users/1", json!({ "users": users.iter().map(user).collect::<Vec<_>>() }))
}

fn role(asked: &Asked) -> Option<Role> {
    asked.body.text("role").and_then(Role::named)
}

/// One that is there: a role in a project that does not exist would wait for the next project of that name.
async fn project<'a>(app: &App, asked: &'a Asked) -> Result<Option<&'a str>> {
    let project = asked.body.text("project");
    if let Some(project) = project {
        app.records
            .project(project)
            .await
            .map_err(|error| Problem::new(422, error).with("field", "project"))?;
    }
    Ok(project)
}

async fn add_user(app: App, asked: Asked) -> Result<Response> {
    let (name, password) = (asked.body.needed("name")?, asked.body.text("password"));
    let project = project(&app, &asked).await?;
    app.records.add_user(name, password, project, role(&asked).unwrap_or(Role::Viewer)).await?;
    answer::json_with(201, "conductor.user/1", user(&app.records.user(name).await?))
}

async fn change_user(app: App, asked: Asked) -> Result<Response> {
    let name = asked.named("user")?;
    app.records.user(name).await?;
    if !["disabled", "password", "role"].iter().any(|field| asked.body.get(field).is_some()) {
        return Err(Problem::new(422, "nothing is named that is to change")
            .help("name `role` (`none` takes it away), `password` or `disabled`"));
    }
    if asked.body.get("disabled").is_some() {
        app.records.disable_user(name, asked.body.flag("disabled")).await?;
    }
    if let Some(password) = asked.body.text("password") {
        app.records.set_password(name, password).await?;
    }
    if asked.body.text("role").is_some() {
        app.records.grant(name, project(&app, &asked).await?, role(&asked)).await?;
    }
    answer::json("conductor.user/1", user(&app.records.user(name).await?))
}

fn token(token: &Token) -> Value {
    json!({ "id": token.id, "user": token.user, "name": token.name, "role": token.role.name(),
        "project": token.project, "created_at": timestamp(token.created), "revoked": token.revoked,
        "expires_at": token.expires.map(timestamp), "used_at": token.used.map(timestamp) })
}

/// Who comes with a token has to do with that one, and with those that it could have made.
fn is_within_reach(identity: &Identity, token: &Token) -> bool {
    let is_no_more = || identity.role_in(token.project.as_deref()).is_some_and(|may| may >= token.role);
    identity.token.as_ref().is_none_or(|own| *own == token.id || is_no_more())
}

async fn tokens(app: App, asked: Asked) -> Result<Response> {
    let mut tokens = app.records.tokens(Some(&asked.identity.name)).await?;
    tokens.retain(|token| is_within_reach(&asked.identity, token));
    answer::json("conductor.tokens/1", json!({ "tokens": tokens.iter().map(token).collect::<Vec<_>>() }))
}

async fn add_token(app: App, asked: Asked) -> Result<Response> {
    let project = project(&app, &asked).await?;
    if !app.records.may_have_tokens(&asked.identity.name).await? {
        return Err(Problem::new(403, "a token would outlive what the identity provider says of your roles")
            .help(format!(
                "ask an admin to add you: `conductor user add {} --no-password`",
                asked.identity.name
            )));
    }
    let role = role(&asked).unwrap_or(Role::Viewer);
    let may = asked.identity.role_in(project);
    if may.is_none_or(|may| may < role) {
        return Err(Problem::new(403, "a token may not do more than who makes it"));
    }
    let days = asked.body.whole("days").unwrap_or(90) as i64;
    let expires = conductor_engine::host::clock::wall().0 + days * 24 * 60 * 60 * 1_000;
    // One that is made with a token does not outlive it, and is revoked with it.
    let expires = asked.identity.expires.map_or(expires, |own| own.min(expires));
    let new = NewToken {
        user: &asked.identity.name,
        name: asked.body.filled("name")?,
        role,
        project,
        expires: Some(expires),
        parent: asked.identity.token.as_deref(),
    };
    let (made, credential) = app.records.add_token(&new).await?;
    let mut value = token(&made);
    value["token"] = json!(credential);
    answer::json_with(201, "conductor.token/1", value)
}

/// Admins may revoke those of all users.
async fn revoke(app: App, asked: Asked) -> Result<Response> {
    let id = asked.named("token")?;
    let is_admin = asked.identity.role_in(None) == Some(Role::Admin);
    let whose = (!is_admin).then_some(asked.identity.name.as_str());
    let known = app.records.tokens(whose).await?.into_iter().find(|token| token.id == id);
    let is_reached = known.is_some_and(|token| is_within_reach(&asked.identity, &token));
    match is_reached && app.records.revoke_token(id, whose).await? {
        true => answer::json("conductor.revoked/1", json!({ "id": id })),
        false => Err(Problem::not_found("there is no such token, or it is revoked already")),
    }
}

fn entry(entry: &Entry) -> Value {
    json!({ "id": entry.id, "at": timestamp(entry.at), "who": entry.who, "by": entry.means, "from": entry.address,
        "method": entry.method, "path": entry.path, "status": entry.status, "detail": entry.detail })
}

async fn audit(app: App, asked: Asked) -> Result<Response> {
    let limit = asked.query.whole("limit").unwrap_or(100) as u32;
    let before = asked.query.whole("cursor").and_then(|cursor| i64::try_from(cursor).ok());
    let entries = app.records.audit(before, limit).await?;
    let next = entries.last().filter(|_| entries.len() == limit as usize).map(|entry| entry.id);
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    answer::json("conductor.audit/1", json!({ "entries": entries, "next_cursor": next }))
}
