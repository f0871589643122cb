//! Routines: saved configurations of Claude Code on the web, fired by a request with a token of their own.
//!
//! The request answers with the session's id and address, and that is all there is: nothing can be read back, said or
//! stopped. Only the remote tells what becomes of it. It has no key against doing it twice.

use std::time::Duration;

use conductor_core::run::event::FailureClass;
use serde_json::{Value, json};

use super::http::Client;
use super::transport::{Assignment, Observed, Refusal, SessionName, State, Surroundings, Transport};

const BETA: &str = "experimental-cc-routine-2026-04-01";
pub(super) const TOKEN: &str = "CLAUDE_ROUTINE_TOKEN";
pub(super) const BASE: &str = "https://api.anthropic.com";
pub(super) const BASE_VARIABLE: &str = "ANTHROPIC_BASE_URL";

pub(super) struct Routine {
    client: Client,
    id: String,
}

impl Routine {
    pub(super) fn new(
        settings: &conductor_core::plan::Cloud,
        around: &Surroundings,
    ) -> Result<Routine, Refusal> {
        let token = token(settings.token_variable.as_deref().unwrap_or(TOKEN), around)?;
        let headers = vec![
            ("authorization", format!("Bearer {token}")),
            ("anthropic-version", "2023-06-01".to_owned()),
            ("anthropic-beta", BETA.to_owned()),
        ];
        let id = settings.routine.clone().unwrap_or_default();
        Ok(Routine { client: Client::new(base(around), headers), id })
    }
}

pub(super) fn base(around: &Surroundings) -> &str {
    around.variables.get(BASE_VARIABLE).map_or(BASE, String::as_str)
}

pub(super) fn token(variable: &str, around: &Surroundings) -> Result<String, Refusal> {
    let token = around.variables.get(variable).filter(|token| !token.trim().is_empty());
    token.map(|token| token.trim().to_owned()).ok_or_else(|| {
        let message = format!("there is no token: {variable} is not set; put the token into it (cloud.token_variable names another)");
        Refusal::refused(FailureClass::Unauthorized, message)
    })
}

pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

impl Transport for Routine {
    fn create(&mut self, assignment: &Assignment<'_>) -> Result<SessionName, Refusal> {
        let path = format!("/v1/claude_code/routines/{}/fire", self.id);
        let answer = self.client.post(&path, &json!({ "text": assignment.prompt }))?;
        let url = text(&answer["claude_code_session_url"]);
        match text(&answer["claude_code_session_id"]).or_else(|| url.clone()) {
            Some(id) => Ok(SessionName::new(id, url)),
            None => Err(Refusal::Unsure("its answer names no session".to_owned())),
        }
    }

    fn send(&mut self, _: &SessionName, _: &str) -> Result<(), Refusal> {
        Err(Refusal::Unable("a routine's session cannot be spoken to"))
    }

    fn observe(&mut self, _: &SessionName, patience: Duration) -> Result<Observed, Refusal> {
        std::thread::sleep(patience);
        Ok(Observed::state(State::Working))
    }

    fn stop(&mut self, _: &SessionName) -> Result<(), Refusal> {
        Err(Refusal::Unable("a routine's session can only be stopped in its web page"))
    }
}
