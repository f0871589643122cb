//! Logging in by an identity provider. The routes are there in every build; without a provider they say so.

#[cfg(feature = "oidc")]
mod with_provider;
#[cfg(not(feature = "oidc"))]
mod without_provider;

use crate::web::fields::{Field, Kind, may};
use crate::web::route::{PUBLIC, Route, by, get};
#[cfg(feature = "oidc")]
use with_provider::{arrive, depart};
#[cfg(not(feature = "oidc"))]
use without_provider::{arrive, depart};

/// Where a login begins, and where it comes back to.
const WHERE: &str = "/api/login/oidc";
const BACK: &str = "/api/login/oidc/callback";

/// Some of these are of no use here, and come all the same.
const ANSWER: &[Field] = &[
    may("code", Kind::Text, "What the provider gives for a good login."),
    may("state", Kind::Text, "Which login it answers."),
    may("error", Kind::Text, "Why there was none, in a word of the standard."),
    may("error_description", Kind::Text, "Why there was none, for people."),
    may("error_uri", Kind::Text, "Where more is said about it."),
    may("iss", Kind::Text, "Which provider answers."),
    may("session_state", Kind::Text, "Not used."),
    may("scope", Kind::Text, "Not used."),
    may("authuser", Kind::Text, "Not used."),
    may("hd", Kind::Text, "Not used."),
    may("prompt", Kind::Text, "Not used."),
    may("client_info", Kind::Text, "Not used."),
];

pub(crate) const ROUTES: &[Route] = &[
    get(WHERE, PUBLIC, "Go to the identity provider to log in", by!(depart)).status(303),
    get(BACK, PUBLIC, "Come back from the identity provider: begin a session", by!(arrive))
        .query(ANSWER)
        .other("text/html; charset=utf-8"),
];
