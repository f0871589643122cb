//! Who a request comes from: by its token, or by the cookie of a session.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::access::{Hosts, Identity, Means, secrets};
use crate::app::App;
use crate::problem::{Problem, Result};

/// With TLS a browser takes the cookie from no other server.
fn cookie_name(hosts: &Hosts) -> &'static str {
    if hosts.is_tls() { "__Host-conductor" } else { "conductor_session" }
}

pub(crate) async fn identify(app: &App, headers: &HeaderMap) -> Result<Identity> {
    known(app, headers, true).await
}

/// As `identify`, for what is looked at again while a connection stays open: a page that is left alone keeps no session
/// alive.
pub(crate) async fn still(app: &App, headers: &HeaderMap) -> Result<Identity> {
    known(app, headers, false).await
}

async fn known(app: &App, headers: &HeaderMap, is_used: bool) -> Result<Identity> {
    let missing = || Problem::new(401, "send a token: Authorization: Bearer …, or log in");
    let credential = credential(&app.hosts, headers).ok_or_else(missing)?;
    let identity = match credential.get(..4) {
        Some("cdo_") => {
            secrets::same(credential, &app.owner_token).then(|| Identity::owner(Means::OwnerToken))
        }
        Some("cdt_") => app.records.by_token(credential, is_used).await?,
        Some("cds_") => app.records.in_session(credential, is_used).await?,
        _ => None,
    };
    identity.ok_or_else(|| Problem::new(401, "the credential is not known, or not good any more"))
}

/// As it was sent; a token counts before a cookie.
pub(crate) fn credential<'a>(hosts: &Hosts, headers: &'a HeaderMap) -> Option<&'a str> {
    if let Some(sent) = headers.get(header::AUTHORIZATION) {
        let (scheme, credential) = sent.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim());
    }
    let host = headers.get(header::HOST)?.to_str().ok()?;
    if !hosts.may_have_cookie(host) {
        return None;
    }
    sent(headers, cookie_name(hosts))
}

/// The value of a cookie.
fn sent<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut named = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    named.find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

/// What makes a browser keep a session, or forget it.
pub(crate) fn cookie(hosts: &Hosts, credential: Option<&str>, seconds: i64) -> Option<HeaderValue> {
    let secure = if hosts.is_tls() { "; Secure" } else { "" };
    let (value, age) = credential.map_or(("", 0), |credential| (credential, seconds));
    let name = cookie_name(hosts);
    HeaderValue::from_str(&format!(
        "{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"
    ))
    .ok()
}

#[cfg(feature = "oidc")]
fn login_cookie_name(hosts: &Hosts) -> &'static str {
    if hosts.is_tls() { "__Host-conductor-login" } else { "conductor_login" }
}

/// What ties a login under way to the browser that began it, or has the browser forget that. It has to come back from the
/// provider's site, so it is `Lax`; it opens nothing by itself.
#[cfg(feature = "oidc")]
pub(crate) fn login_cookie(hosts: &Hosts, binding: Option<&str>) -> Option<HeaderValue> {
    let secure = if hosts.is_tls() { "; Secure" } else { "" };
    let (value, age) = binding.map_or(("", 0), |binding| (binding, 600));
    let name = login_cookie_name(hosts);
    HeaderValue::from_str(&format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}"))
        .ok()
}

#[cfg(feature = "oidc")]
pub(crate) fn login_binding<'a>(hosts: &Hosts, headers: &'a HeaderMap) -> Option<&'a str> {
    sent(headers, login_cookie_name(hosts))
}

/// Host, then origin: a page of another site gets nothing, whatever it sends.
pub(crate) fn check_place(hosts: &Hosts, headers: &HeaderMap) -> Result<()> {
    let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    match text(header::HOST) {
        Some(host) if hosts.include(host) => {}
        Some(host) => {
            let short: String = host.chars().filter(|letter| !letter.is_control()).take(100).collect();
            return Err(Problem::new(403, format!("this server is not known as '{short}'"))
                .help("ask it by its own name; further names are given by `conductor serve --host NAME`"));
        }
        None => return Err(Problem::new(400, "the request names no host")),
    }
    match text(header::ORIGIN) {
        Some(origin) if !hosts.are_origin(origin) => {
            Err(Problem::new(403, "pages of other sites may not ask this server"))
        }
        _ => Ok(()),
    }
}
