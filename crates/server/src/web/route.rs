//! What a route is: where it is, who may take it, what it takes and gives. There is no other way to add one, so that none
//! is without a rule and none is missing in the API's document.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use axum::extract::ws::WebSocketUpgrade;
use axum::http::HeaderMap;
use axum::response::Response;

use super::answer::Answer;
use super::fields::{Field, Given};
use crate::access::{Identity, Role};
use crate::app::App;
use crate::live::Cut;
use crate::problem::{Problem, Result};

/// Who may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// No credential is asked for.
    Public,
    /// With this role: in the project or run that the address names, else in any project, and only what is seen there is
    /// told.
    Role(Role),
    /// With this role in all projects.
    Everywhere(Role),
}

pub(crate) const PUBLIC: Rule = Rule::Public;
pub(crate) const VIEWER: Rule = Rule::Role(Role::Viewer);
pub(crate) const OPERATOR: Rule = Rule::Role(Role::Operator);
pub(crate) const ADMIN: Rule = Rule::Role(Role::Admin);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    pub(crate) fn changes(self) -> bool {
        self != Method::Get
    }
}

/// A request that may be answered.
pub(crate) struct Asked {
    pub(crate) route: &'static Route,
    pub(crate) identity: Identity,
    pub(crate) path: BTreeMap<String, String>,
    pub(crate) query: Given,
    pub(crate) body: Given,
    pub(crate) headers: HeaderMap,
    pub(crate) from: SocketAddr,
    /// Where the caller wants to speak WebSocket.
    pub(crate) upgrade: Option<WebSocketUpgrade>,
    /// Ends the connection that it came over.
    pub(crate) cut: Cut,
}

impl Asked {
    /// A part of the address.
    pub(crate) fn named(&self, part: &str) -> Result<&str> {
        self.path
            .get(part)
            .map(String::as_str)
            .ok_or_else(|| Problem::not_found("the address has no such part"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Response>> + Send>>;
pub(crate) type Handler = fn(App, Asked) -> Answering;

/// An async function as a handler.
macro_rules! by {
    ($function:expr) => {
        |app, asked| Box::pin($function(app, asked))
    };
}
pub(crate) use by;

#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) rule: Rule,
    pub(crate) words: &'static str,
    pub(crate) query: &'static [Field],
    pub(crate) body: &'static [Field],
    pub(crate) answer: Answer,
    /// The status of a good answer.
    pub(crate) status: u16,
    /// Whether a body is read at all.
    pub(crate) reads_body: bool,
    /// Whether a caller can ask whether its answer is still good (`If-None-Match`).
    pub(crate) is_revalidated: bool,
    pub(crate) handler: Handler,
}

const fn route(
    method: Method,
    path: &'static str,
    rule: Rule,
    words: &'static str,
    handler: Handler,
) -> Route {
    Route {
        method,
        path,
        rule,
        words,
        query: &[],
        body: &[],
        answer: Answer::Nothing,
        status: 200,
        reads_body: true,
        is_revalidated: false,
        handler,
    }
}

pub(crate) const fn get(path: &'static str, rule: Rule, words: &'static str, handler: Handler) -> Route {
    route(Method::Get, path, rule, words, handler)
}

pub(crate) const fn post(path: &'static str, rule: Rule, words: &'static str, handler: Handler) -> Route {
    route(Method::Post, path, rule, words, handler)
}

pub(crate) const fn put(path: &'static str, rule: Rule, words: &'static str, handler: Handler) -> Route {
    route(Method::Put, path, rule, words, handler)
}

pub(crate) const fn patch(path: &'static str, rule: Rule, words: &'static str, handler: Handler) -> Route {
    route(Method::Patch, path, rule, words, handler)
}

pub(crate) const fn delete(path: &'static str, rule: Rule, words: &'static str, handler: Handler) -> Route {
    route(Method::Delete, path, rule, words, handler)
}

impl Route {
    pub(crate) const fn query(mut self, fields: &'static [Field]) -> Route {
        self.query = fields;
        self
    }

    pub(crate) const fn body(mut self, fields: &'static [Field]) -> Route {
        self.body = fields;
        self
    }

    /// Answers with JSON of this schema id and these fields, as `answer::Shape` reads them.
    pub(crate) const fn json(mut self, schema: &'static str, fields: &'static str) -> Route {
        self.answer = Answer::Json { schema, fields };
        self
    }

    pub(crate) const fn other(mut self, media: &'static str) -> Route {
        self.answer = Answer::Other(media);
        self
    }

    pub(crate) const fn status(mut self, status: u16) -> Route {
        self.status = status;
        self
    }

    /// Whatever is sent is not looked at.
    pub(crate) const fn any_body(mut self) -> Route {
        self.reads_body = false;
        self
    }

    /// Answers 304 to a caller that has this very answer.
    pub(crate) const fn revalidated(mut self) -> Route {
        self.is_revalidated = true;
        self
    }

    /// The names in braces.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}
