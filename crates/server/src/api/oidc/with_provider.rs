//! The way to the provider and back.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use conductor_engine::host::clock;

use super::{BACK, WHERE};
use crate::access::identity::Grant;
use crate::access::throttle::Guessed;
use crate::app::App;
use crate::oidc::{Arrival, LoginError, Oidc, Person};
use crate::problem::{Problem, Result};
use crate::records::Act;
use crate::web::answer;
use crate::web::credentials;
use crate::web::route::Asked;

/// How the means of these logins is called in the record.
const MEANS: &str = "identity provider";

pub(super) async fn depart(app: App, asked: Asked) -> Result<Response> {
    provider(&app)?;
    super::super::login::check_cookie(&app, &asked)?;
    slow_down(&app, &asked)?;
    let (redirect, now) = (redirect(&app, &asked)?, now());
    let departure = blocking(&app, move |oidc| oidc.depart(&redirect, now)).await?;
    let location = HeaderValue::from_str(&departure.url)
        .map_err(|_| Problem::new(503, "the identity provider has an address that cannot be used"))?;
    let cookie = credentials::login_cookie(&app.hosts, Some(&departure.binding));
    let cookie = cookie.ok_or_else(|| Problem::internal("the login cannot be begun"))?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location), (header::SET_COOKIE, cookie)]).into_response())
}

pub(super) async fn arrive(app: App, asked: Asked) -> Result<Response> {
    provider(&app)?;
    super::super::login::check_cookie(&app, &asked)?;
    slow_down(&app, &asked)?;
    let arrived = admitted(&app, &asked).await;
    let (who, status, detail) = match &arrived {
        Ok(person) => (person.name.as_str(), 200, String::new()),
        Err((who, problem)) => (who.as_str(), problem.status(), problem.detail().to_owned()),
    };
    let address = asked.from.ip().to_string();
    let act = Act { who, means: MEANS, address, method: "GET", path: BACK, status, detail: &detail };
    app.records.note(&act).await?;
    match arrived {
        Ok(person) => begin(&app, &person).await,
        Err((_, problem)) => {
            app.throttle.note_wrong(ELSEWHERE, asked.from.ip());
            Err(problem)
        }
    }
}

fn provider(app: &App) -> Result<()> {
    match &app.oidc {
        Some(_) => Ok(()),
        None => Err(Problem::not_found("this server has no identity provider")
            .help("`conductor serve --oidc-issuer URL --oidc-client-id ID` gives it one")),
    }
}

/// A login at the identity provider that comes back here.
const ELSEWHERE: Guessed<'_> = Guessed::Secret("login elsewhere");

/// By address only: a name is not known yet, and all who log in from elsewhere are let alone.
fn slow_down(app: &App, asked: &Asked) -> Result<()> {
    let from = asked.from.ip();
    match app.throttle.wait(ELSEWHERE, from) {
        Some(seconds) => Err(Problem::new(429, "too many wrong logins; wait a little").retry_after(seconds)),
        None => Ok(()),
    }
}

/// The name by which the browser knows us is one of ours: that was looked at first of all.
fn redirect(app: &App, asked: &Asked) -> Result<String> {
    let host = asked.header("host").ok_or_else(|| Problem::new(400, "the request names no host"))?;
    let scheme = if app.hosts.is_tls() { "https" } else { "http" };
    Ok(format!("{scheme}://{host}{BACK}"))
}

fn now() -> i64 {
    clock::wall().0 / 1_000
}

async fn blocking<T: Send + 'static>(
    app: &App,
    ask: impl FnOnce(&Oidc) -> std::result::Result<T, LoginError> + Send + 'static,
) -> Result<T> {
    let app = app.clone();
    let asked = tokio::task::spawn_blocking(move || app.oidc.as_ref().map(ask)).await;
    match asked {
        Ok(Some(answer)) => Ok(answer?),
        Ok(None) => Err(Problem::internal("the provider is gone")),
        Err(error) => Err(Problem::internal(error)),
    }
}

/// Who it is, where that person may do anything here; else who it would have been, as far as that is known, and why not.
async fn admitted(app: &App, asked: &Asked) -> std::result::Result<Person, (String, Problem)> {
    let stranger = |problem: Problem| (String::new(), problem);
    let person = proved(app, asked).await.map_err(stranger)?;
    let name = person.name.clone();
    match may_enter(app, &person).await {
        Ok(true) => Ok(person),
        Ok(false) => Err((name, no_role(&person))),
        Err(problem) => Err((name, problem)),
    }
}

async fn proved(app: &App, asked: &Asked) -> Result<Person> {
    if let Some(error) = asked.query.text("error") {
        let more =
            asked.query.text("error_description").map(|words| format!(": {words}")).unwrap_or_default();
        return Err(Problem::new(401, format!("the identity provider says {error}{more}"))
            .help(format!("begin again at {WHERE}")));
    }
    let part = |name: &'static str| {
        let told = asked.query.text(name).map(str::to_owned);
        told.ok_or_else(|| Problem::field(name, "is missing").help(format!("begin at {WHERE}")))
    };
    let binding = credentials::login_binding(&app.hosts, &asked.headers).unwrap_or_default().to_owned();
    let arrival = Arrival {
        code: part("code")?,
        state: part("state")?,
        binding,
        redirect: redirect(app, asked)?,
        issuer: asked.query.text("iss").map(str::to_owned),
    };
    let now = now();
    blocking(app, move |oidc| oidc.arrive(&arrival, now)).await
}

/// By the groups, or because an admin has added the person. One who is disabled may not.
async fn may_enter(app: &App, person: &Person) -> Result<bool> {
    let users = app.records.users().await?;
    let added = users.into_iter().find(|user| user.name == person.name);
    Ok(match added {
        Some(user) => !user.disabled && (!user.grants.is_empty() || !person.grants.is_empty()),
        None => !person.grants.is_empty(),
    })
}

fn no_role(person: &Person) -> Problem {
    let name = &person.name;
    Problem::new(403, format!("{name} is known to the identity provider, and has no role here, or is disabled"))
        .help(format!(
            "ask an admin for a role: `conductor user add {name} --no-password --role viewer`, or to be put into a group \
             that has one"
        ))
        .with("user", name.as_str())
}

/// The cookie is not sent along with a redirect that began at another site; so the page goes on by itself.
async fn begin(app: &App, person: &Person) -> Result<Response> {
    let grants: &[Grant] = &person.grants;
    let (credential, expires) = app.records.begin_session_with(&person.name, Some(grants)).await?;
    let seconds = (expires - clock::wall().0) / 1_000;
    let session = credentials::cookie(&app.hosts, Some(&credential), seconds);
    let forgotten = credentials::login_cookie(&app.hosts, None);
    let mut response =
        answer::of_kind("text/html; charset=utf-8", include_str!("../../../page/arrived.html"));
    for cookie in [session, forgotten] {
        let cookie = cookie.ok_or_else(|| Problem::internal("the session cannot be told"))?;
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

impl From<LoginError> for Problem {
    fn from(error: LoginError) -> Problem {
        let status = match error {
            LoginError::Provider(_) | LoginError::OtherIssuer(_) => 503,
            LoginError::Random(_) => 500,
            LoginError::State | LoginError::Code(_) | LoginError::Token(_) | LoginError::Nameless => 401,
        };
        let problem = Problem::new(status, &error);
        if status == 401 { problem.help(format!("begin again at {WHERE}")) } else { problem }
    }
}
