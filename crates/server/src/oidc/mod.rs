//! Logging in by an identity provider (OpenID Connect): the authorization code flow with PKCE.
//!
//! It finds out who a person is, and what the provider says about that person's roles. It knows no routes and no sessions.

mod fetching;
mod keys;
mod login;
mod roles;
mod settings;
mod states;
mod token;

pub(crate) use login::{Arrival, LoginError, Oidc, Person};
pub use roles::RoleRule;
pub use settings::{OidcSettings, OidcSettingsError};
