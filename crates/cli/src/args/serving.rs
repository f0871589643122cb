//! Of the server: itself, its projects, its users and their tokens.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use conductor_core::values::units::Millis;

use super::duration;
use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Listen at this address
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7420")]
    pub(crate) bind: SocketAddr,
    /// Answer to this name too, as browsers send it; repeatable
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// Use TLS with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Use TLS with this key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Listen where other machines can reach it without TLS: passwords can be read on the way
    #[arg(long)]
    pub(crate) insecure_i_know: bool,
    /// Build the page with npm first, if this program has none and is in its checkout's target folder
    #[arg(long)]
    pub(crate) build_page: bool,
    /// Wait this long before each retry of a failed webhook
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = duration, default_value = "5s,30s,2m,10m,1h,6h")]
    pub(crate) webhook_retries: Vec<Millis>,
    /// Send to webhooks on other machines without TLS too; what is sent can be read and replayed on the way
    #[arg(long)]
    pub(crate) plain_webhooks: bool,
    /// Open the page in a browser, logged in
    #[arg(long)]
    pub(crate) open: bool,
    /// Print the server's addresses as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) oidc: Oidc,
}

#[derive(Debug, Args)]
pub(crate) struct Open {
    /// Open these runs (name or prefix) or tasks (id; in the newest run here that has it); default: the inbox
    #[arg(value_name = "RUN|TASK", add = complete::runs())]
    pub(crate) what: Vec<String>,
    /// Look up the named tasks in this run (name or prefix)
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Print the addresses instead; each is good once, for 60 seconds
    #[arg(long)]
    pub(crate) print: bool,
    /// Print the addresses as JSON instead
    #[arg(long)]
    pub(crate) json: bool,
}

/// Who else says who a person is. Needs a build with the feature `oidc`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log in by OpenID Connect (needs a build with the feature `oidc`)")]
pub(crate) struct Oidc {
    /// Let people log in by this identity provider
    #[arg(long, value_name = "URL", requires = "oidc_client_id")]
    pub(crate) oidc_issuer: Option<String>,
    /// Use this client id at the provider
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    pub(crate) oidc_client_id: Option<String>,
    /// Use the client secret in this file
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    pub(crate) oidc_client_secret_file: Option<PathBuf>,
    /// Ask the provider for this scope too; repeatable (always: openid, email)
    #[arg(long = "oidc-scope", value_name = "SCOPE", requires = "oidc_issuer")]
    pub(crate) oidc_scopes: Vec<String>,
    /// Read a person's groups from this claim of the ID token
    #[arg(long, value_name = "CLAIM", requires = "oidc_issuer", default_value = "groups")]
    pub(crate) oidc_groups_claim: String,
    /// Give people of this group this role, in all projects or in one; repeatable
    #[arg(long = "oidc-role", value_name = "GROUP=ROLE[@PROJECT]", requires = "oidc_issuer")]
    pub(crate) oidc_roles: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Project {
    /// Add a project: a repository and its task file
    Add(ProjectAdd),
    /// List the projects
    List(Json),
    /// Show a project
    Show(OfProject),
    /// Forget a project; its file and its runs stay
    Remove(OfProject),
}

#[derive(Debug, Args)]
pub(crate) struct ProjectAdd {
    /// Use the repository in this folder
    #[arg(default_value = ".")]
    pub(crate) directory: PathBuf,
    /// Use this task file in it (default: conductor.yaml, .conductor/tasks.yaml or tasks.yaml)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Use this id in addresses (default: made from the folder's name)
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Show this name to people (default: the id)
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OfProject {
    /// Use the project with this id
    pub(crate) project: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Register a webhook of a project; its secret is shown once
    Add(WebhookAdd),
    /// List the webhooks of a project
    List(OfProject),
    /// Remove a webhook and its waiting deliveries
    Remove(OfWebhook),
    /// List what was sent to a webhook and what is waiting, newest first
    Deliveries(WebhookDeliveries),
}

#[derive(Debug, Args)]
pub(crate) struct WebhookAdd {
    /// Report the runs of this project
    pub(crate) project: String,
    /// Send to this address: https, or http to this machine
    pub(crate) url: String,
    /// Send only these events, separated by commas: run_finished, run_stopped, needs_you, or names as the WebSocket has them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "*")]
    pub(crate) events: Vec<String>,
    /// Say what it is for
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) description: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OfWebhook {
    /// Use the project with this id
    pub(crate) project: String,
    /// Use the webhook with this id
    pub(crate) webhook: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WebhookDeliveries {
    #[command(flatten)]
    pub(crate) of: OfWebhook,
    /// List at most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Json {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleName {
    /// Sees everything except secrets
    Viewer,
    /// Starts, steers, answers, reviews
    Operator,
    /// Edits tasks (and so can run any command) and manages access
    Admin,
}

#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// Add a user; the password is asked for, or read from standard input
    Add(UserAdd),
    /// List the users, and what they may do
    List(Json),
    /// Give a user a role in a project, or in all of them
    Grant(UserGrant),
    /// Keep a user out, and end the user's sessions
    Disable(OfUser),
    /// Let a disabled user in again
    Enable(OfUser),
    /// Set a user's password, and end the user's sessions
    Passwd(OfUser),
}

#[derive(Debug, Args)]
pub(crate) struct UserAdd {
    /// Give the user this name
    pub(crate) name: String,
    /// Give the user this role
    #[arg(long, value_enum, value_name = "ROLE", default_value_t = RoleName::Viewer)]
    pub(crate) role: RoleName,
    /// Give the role in this project only
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// Let the user log in by the identity provider only; the name is the person's e-mail address
    #[arg(long)]
    pub(crate) no_password: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UserGrant {
    /// Use the user with this name
    pub(crate) name: String,
    /// Give this role
    #[arg(value_enum)]
    pub(crate) role: RoleName,
    /// Give the role in this project only
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OfUser {
    /// Use the user with this name
    pub(crate) name: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make an access token for scripts; it is shown once
    Add(TokenAdd),
    /// List the access tokens
    List(Json),
    /// Revoke an access token
    Revoke(OfToken),
}

#[derive(Debug, Args)]
pub(crate) struct TokenAdd {
    /// Say what the token is for
    pub(crate) name: String,
    /// Make it for this user (default: the owner of this machine's server)
    #[arg(long, value_name = "NAME", default_value = "owner")]
    pub(crate) user: String,
    /// Limit the token to what this role may do
    #[arg(long, value_enum, value_name = "ROLE", default_value_t = RoleName::Viewer)]
    pub(crate) role: RoleName,
    /// Limit the token to this project
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// Expire the token after this many days
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub(crate) days: u32,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OfToken {
    /// Revoke the token with this id
    pub(crate) id: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
