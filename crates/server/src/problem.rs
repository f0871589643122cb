//! What went wrong, as RFC 9457 has it: one kind of answer for every error, and the one table of statuses.

use std::fmt::Display;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use conductor_engine::dispatch::distant::enrolment::EnrolmentError;
use conductor_engine::host::home::HomeError;
use conductor_engine::runs::archive::FindError;
use conductor_engine::runs::control::ControlError;
use conductor_engine::stores::StoreError;
use serde_json::{Map, Value, json};

/// The words of a status, and what a program tells it by.
pub(crate) const KINDS: [(u16, &str, &str); 17] = [
    (400, "malformed", "the request cannot be read"),
    (401, "not_authenticated", "a credential is needed"),
    (403, "not_allowed", "this is not allowed"),
    (404, "not_found", "there is no such thing"),
    (405, "wrong_method", "this address does not take the method"),
    (408, "too_slow", "the request took too long"),
    (409, "conflict", "this does not go with how things stand"),
    (412, "changed_meanwhile", "it was changed meanwhile"),
    (413, "too_large", "the request is too large"),
    (416, "out_of_range", "there is not so much of it"),
    (415, "not_json", "the body has to be JSON"),
    (422, "invalid", "the request asks for something that is not possible"),
    (428, "version_needed", "say which version you have seen"),
    (429, "too_many", "there were too many requests"),
    (500, "internal", "the server made a mistake"),
    (503, "unavailable", "this cannot be answered at the moment"),
    (504, "no_answer", "the run does not answer"),
];

/// Who did something at an address that asks for no credential, for the record: a user who logs in, a hook. Handed on with
/// the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doer {
    pub(crate) name: String,
    pub(crate) means: &'static str,
}

#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: u16,
    detail: String,
    more: Map<String, Value>,
    retry_after: Option<u32>,
    doer: Option<Box<Doer>>,
}

pub(crate) type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    pub(crate) fn new(status: u16, detail: impl Display) -> Problem {
        Problem { status, detail: detail.to_string(), more: Map::new(), retry_after: None, doer: None }
    }

    pub(crate) fn not_found(detail: impl Display) -> Problem {
        Problem::new(404, detail)
    }

    pub(crate) fn conflict(detail: impl Display) -> Problem {
        Problem::new(409, detail)
    }

    /// Something is wrong with this field of the request.
    pub(crate) fn field(name: &str, detail: impl Display) -> Problem {
        Problem::new(422, format!("'{name}' {detail}")).with("field", name)
    }

    pub(crate) fn internal(detail: impl Display) -> Problem {
        Problem::new(500, detail)
    }

    pub(crate) fn unavailable(detail: impl Display) -> Problem {
        Problem::new(503, detail)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn help(self, help: impl Display) -> Problem {
        self.with("help", help.to_string())
    }

    /// The near name that was probably meant, where there is one.
    pub(crate) fn meant(self, meant: Option<&str>) -> Problem {
        match meant {
            Some(meant) => self.help(format!("did you mean '{meant}'?")).with("did_you_mean", meant),
            None => self,
        }
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Problem {
        self.retry_after = Some(u32::try_from(seconds).unwrap_or(u32::MAX));
        self
    }

    /// Who it was that is refused.
    pub(crate) fn by(mut self, doer: Doer) -> Problem {
        self.doer = Some(Box::new(doer));
        self
    }

    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    fn body(&self) -> Value {
        let kind = KINDS.iter().find(|(status, ..)| *status == self.status);
        let (code, title) = kind.map_or(("other", "it did not work"), |(_, code, title)| (code, title));
        let mut body = json!({
            "type": format!("urn:conductor:problem:{code}"),
            "title": title,
            "status": self.status,
            "code": code,
            "detail": self.detail,
        });
        if let Value::Object(fields) = &mut body {
            fields.extend(self.more.clone());
        }
        body
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        let mut response = (status, [kind], self.body().to_string()).into_response();
        if self.status == 401 {
            let ask = HeaderValue::from_static("Bearer realm=\"conductor\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(doer) = self.doer {
            response.extensions_mut().insert(*doer);
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        match &error {
            StoreError::NoSuchRun(_) => Problem::not_found(error),
            _ => Problem::unavailable(error),
        }
    }
}

impl From<HomeError> for Problem {
    fn from(error: HomeError) -> Problem {
        Problem::unavailable(error)
    }
}

impl From<ControlError> for Problem {
    fn from(error: ControlError) -> Problem {
        match &error {
            ControlError::NotThere => Problem::conflict(error),
            ControlError::Refused(why) => Problem::conflict(why),
            ControlError::Silent => Problem::new(504, error),
            ControlError::Unreachable(_) => Problem::unavailable(error),
        }
    }
}

impl From<FindError> for Problem {
    fn from(error: FindError) -> Problem {
        match error {
            FindError::Store(error) => error.into(),
            FindError::NoSuchTask { ref meant, .. } => {
                let meant = meant.clone();
                Problem::not_found(&error).meant(meant.as_deref())
            }
            error => Problem::unavailable(error),
        }
    }
}

impl From<EnrolmentError> for Problem {
    fn from(error: EnrolmentError) -> Problem {
        match error {
            EnrolmentError::Unknown(_) => Problem::not_found(error),
            EnrolmentError::Taken(_) => Problem::conflict(error),
            EnrolmentError::File { .. } | EnrolmentError::Unreadable { .. } | EnrolmentError::NoToken => {
                Problem::internal(error)
            }
        }
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Problem {
        Problem::unavailable(format!("server.db: {error}"))
    }
}
