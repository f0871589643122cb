//! One login: from the way to the provider to who came back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::fetching::{FetchError, Fetching, encoded};
use super::keys::{self, Key};
use super::roles::{RoleRule, granted};
use super::settings::OidcSettings;
use super::states::{Begun, States};
use super::token::{self, Claims, Expected, Token, TokenError};
use crate::access::identity::Grant;
use crate::access::secrets;

/// How long what the provider says of itself is believed. Keys that are not known are looked up at once.
const BELIEVED: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, Error)]
pub(crate) enum LoginError {
    #[error("the identity provider cannot be asked: {0}")]
    Provider(#[from] FetchError),
    #[error("the identity provider calls itself '{0}', and not as --oidc-issuer says")]
    OtherIssuer(String),
    #[error("this login was begun in another browser, was used before, or took too long")]
    State,
    #[error("the identity provider did not take the code: {0}")]
    Code(FetchError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("the identity provider does not say who it is")]
    Nameless,
    #[error("no random numbers: {0}")]
    Random(#[from] std::io::Error),
}

/// Who came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    /// Always with an `@`, which no name has that was given here for a password.
    pub(crate) name: String,
    /// What the person's groups give.
    pub(crate) grants: Vec<Grant>,
}

/// A login that begins.
pub(crate) struct Departure {
    /// Where the browser goes.
    pub(crate) url: String,
    /// What stays in the browser.
    pub(crate) binding: String,
}

/// What comes back with the browser.
pub(crate) struct Arrival {
    pub(crate) code: String,
    pub(crate) state: String,
    pub(crate) binding: String,
    /// As it was told to the provider.
    pub(crate) redirect: String,
    /// Whose answer it is, where it says so.
    pub(crate) issuer: Option<String>,
}

/// What the provider says of itself.
#[derive(Debug, Clone, Deserialize)]
struct Discovered {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Answer {
    id_token: String,
}

pub(crate) struct Oidc {
    settings: OidcSettings,
    fetching: Fetching,
    states: States,
    discovered: Mutex<Option<(Instant, Arc<Discovered>)>>,
    keys: Mutex<Option<(Instant, Arc<Vec<Key>>)>>,
}

impl Oidc {
    pub(crate) fn new(settings: OidcSettings) -> std::io::Result<Oidc> {
        let (fetching, states) = (Fetching::new(), States::new()?);
        Ok(Oidc { settings, fetching, states, discovered: Mutex::default(), keys: Mutex::default() })
    }

    /// The projects that roles are given in.
    pub(crate) fn projects(&self) -> impl Iterator<Item = &str> {
        self.settings.rules.iter().filter_map(RoleRule::project)
    }

    /// Blocks while the provider is asked. `now` is in seconds since 1970.
    pub(crate) fn depart(&self, redirect: &str, now: i64) -> Result<Departure, LoginError> {
        let provider = self.discover()?;
        let Begun { state, binding } = self.states.begin(now)?;
        let proof = self.states.proof(&state);
        let (scope, challenge) = (self.settings.scopes.join(" "), proof.challenge());
        let query = [
            ("response_type", "code"),
            ("client_id", &self.settings.client_id),
            ("redirect_uri", redirect),
            ("scope", &scope),
            ("state", &state),
            ("nonce", &proof.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let query = query.map(|(name, value)| format!("{name}={}", encoded(value))).join("&");
        let endpoint = &provider.authorization_endpoint;
        let mark = if endpoint.contains('?') { '&' } else { '?' };
        Ok(Departure { url: format!("{endpoint}{mark}{query}"), binding })
    }

    /// Blocks while the provider is asked.
    pub(crate) fn arrive(&self, arrival: &Arrival, now: i64) -> Result<Person, LoginError> {
        let Arrival { code, state, binding, redirect, issuer } = arrival;
        let proof = self.states.redeem(state, binding, now).ok_or(LoginError::State)?;
        // The answer of another provider is not passed on to this one.
        if issuer.as_ref().is_some_and(|issuer| *issuer != self.settings.issuer) {
            return Err(TokenError::Issuer.into());
        }
        let provider = self.discover()?;
        let text = self.exchange(&provider, code, redirect, &proof.verifier)?;
        let claims = self.verified(&provider, &text)?;
        let OidcSettings { issuer, client_id, .. } = &self.settings;
        token::check(&claims, &Expected { issuer, client_id, nonce: &proof.nonce, now })?;
        let name = name(&claims, issuer).ok_or(LoginError::Nameless)?;
        let grants = granted(&self.settings.rules, claims.get(&self.settings.claim));
        Ok(Person { name, grants })
    }

    fn discover(&self) -> Result<Arc<Discovered>, LoginError> {
        if let Some(known) = believed(&self.discovered) {
            return Ok(known);
        }
        let issuer = &self.settings.issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let text = self.fetching.get(&url)?;
        let told: Discovered = serde_json::from_str(&text).map_err(|_| FetchError::Unreadable)?;
        if told.issuer != *issuer {
            return Err(LoginError::OtherIssuer(told.issuer.chars().take(200).collect()));
        }
        // A browser is sent there, and must not be sent astray.
        if !super::settings::is_safe(&told.authorization_endpoint) {
            return Err(FetchError::Unsafe.into());
        }
        Ok(believe(&self.discovered, told))
    }

    /// The ID token that a code is worth.
    fn exchange(
        &self,
        provider: &Discovered,
        code: &str,
        redirect: &str,
        verifier: &str,
    ) -> Result<String, LoginError> {
        let OidcSettings { client_id, secret, .. } = &self.settings;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("client_id", client_id.as_str()),
            ("code_verifier", verifier),
        ];
        let methods = provider.token_endpoint_auth_methods_supported.as_deref();
        let takes_basic =
            methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
        let mut authorization = None;
        if let Some(secret) = secret {
            match takes_basic {
                true => {
                    let pair = format!("{}:{}", encoded(client_id), encoded(&secret.0));
                    authorization = Some(format!("Basic {}", BASE64_STANDARD.encode(pair)));
                }
                false => form.push(("client_secret", &secret.0)),
            }
        }
        let sent = self.fetching.post(&provider.token_endpoint, &form, authorization.as_deref());
        let text = sent.map_err(LoginError::Code)?;
        let answer: Answer = serde_json::from_str(&text).map_err(|_| FetchError::Unreadable)?;
        Ok(answer.id_token)
    }

    /// A token of a key that is not known is of a new one: the list is fetched again, once.
    fn verified(&self, provider: &Discovered, text: &str) -> Result<Claims, LoginError> {
        let token = Token::parse(text)?;
        if let Some(known) = believed(&self.keys) {
            match token.verified(&known) {
                Err(TokenError::UnknownKey) => {}
                known => return Ok(known?),
            }
        }
        let list = self.fetching.get(&provider.jwks_uri)?;
        let fetched = keys::read(&list).ok_or(FetchError::Unreadable)?;
        Ok(token.verified(&believe(&self.keys, fetched))?)
    }
}

fn believed<T>(kept: &Mutex<Option<(Instant, Arc<T>)>>) -> Option<Arc<T>> {
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.as_ref().filter(|(since, _)| since.elapsed() < BELIEVED).map(|(_, value)| value.clone())
}

fn believe<T>(kept: &Mutex<Option<(Instant, Arc<T>)>>, value: T) -> Arc<T> {
    let value = Arc::new(value);
    *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), value.clone()));
    value
}

/// By the e-mail address, if the provider has verified it; by the provider's own name for the person otherwise. An address
/// that was not verified could be that of another person.
fn name(claims: &Claims, issuer: &str) -> Option<String> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let is_verified = claims.get("email_verified").is_some_and(|told| *told == true || *told == "true");
    let email = text("email").filter(|email| is_verified && is_email(email));
    if let Some(email) = email {
        return Some(email.to_ascii_lowercase());
    }
    let subject = text("sub").filter(|subject| !subject.is_empty())?;
    let host = issuer.split("://").nth(1)?.split(['/', ':', '?']).next()?;
    let whole = format!("{subject}@{host}");
    // What is no name here, or would look like an address of that host, is told by its digest.
    match crate::records::is_name(&whole) && !subject.contains('@') {
        true => Some(whole),
        false => Some(format!("{}@{host}", &secrets::hex(&Sha256::digest(subject.as_bytes()))[..32])),
    }
}

fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(one, other)| !one.is_empty() && !other.is_empty())
        && crate::records::is_name(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(claims: Value) -> Option<String> {
        let Value::Object(claims) = claims else { panic!() };
        name(&claims, "https://id.example.org/realm")
    }

    #[test]
    fn a_person_has_a_name_that_no_other_can_take() {
        let verified = json!({ "sub": "7", "email": "Ann@Example.org", "email_verified": true });
        assert_eq!(named(verified).as_deref(), Some("ann@example.org"));
        let unverified = json!({ "sub": "7", "email": "ann@example.org", "email_verified": false });
        assert_eq!(named(unverified).as_deref(), Some("7@id.example.org"));
        assert_eq!(
            named(json!({ "sub": "7", "email": "ann@example.org" })).as_deref(),
            Some("7@id.example.org")
        );
        assert_eq!(named(json!({ "sub": "auth0|x" })).as_deref(), Some("auth0|x@id.example.org"));
        for odd in ["a b", "ann@example.org", "é", &"x".repeat(200)] {
            let name = named(json!({ "sub": odd })).unwrap();
            assert!(name.ends_with("@id.example.org") && name.len() == 32 + 15, "{name}");
        }
        let odd = json!({ "sub": "7", "email": "a b@example.org", "email_verified": true });
        assert_eq!(named(odd).as_deref(), Some("7@id.example.org"));
        assert_eq!(
            (named(json!({})), named(json!({ "sub": "" })), named(json!({ "sub": 7 }))),
            (None, None, None)
        );
    }
}
