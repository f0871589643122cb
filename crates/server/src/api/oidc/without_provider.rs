//! What the routes say in a build without OpenID Connect.

use axum::response::Response;

use crate::app::App;
use crate::problem::{Problem, Result};
use crate::web::route::Asked;

pub(super) async fn depart(_: App, _: Asked) -> Result<Response> {
    Err(Problem::not_found("this server has no identity provider").help("log in with a name and a password"))
}

pub(super) async fn arrive(app: App, asked: Asked) -> Result<Response> {
    depart(app, asked).await
}
