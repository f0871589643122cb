//! Addresses of requests: which job, which API, which of its calls.
//!
//! Anything may stand between `/job/<name>` and the end by which a call is known, for every CLI builds its addresses
//! in its own way from the base it is given.

use hyper::Method;

use crate::conversation::is_name;
use crate::dialects::Dialect;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    pub(crate) job: Option<&'a str>,
    pub(crate) call: ApiCall<'a>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ApiCall<'a> {
    /// The next answer. Model and streaming are told by the address in one dialect only.
    Speak {
        dialect: Dialect,
        model: Option<&'a str>,
        stream: bool,
    },
    CountTokens(Dialect),
    Models,
    /// The log of one job, or how many requests each job has made.
    Log(Option<&'a str>),
    /// A client checks whether the server runs.
    Probe,
    Unknown,
}

impl<'a> Address<'a> {
    pub(crate) fn of(method: &Method, path: &'a str) -> Address<'a> {
        if let Some(rest) = path.strip_prefix("/log") {
            let job = rest.strip_prefix('/').filter(|job| !job.is_empty());
            let call = if *method == Method::GET { ApiCall::Log(job) } else { ApiCall::Unknown };
            return Address { job: None, call };
        }
        let (job, rest) = job(path);
        Address { job, call: call(method, rest) }
    }
}

fn job(path: &str) -> (Option<&str>, &str) {
    let Some(rest) = path.strip_prefix("/job/") else { return (None, path) };
    let end = rest.find('/').unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    (is_name(name).then_some(name), rest)
}

fn call<'a>(method: &Method, path: &'a str) -> ApiCall<'a> {
    match *method {
        Method::HEAD => ApiCall::Probe,
        Method::GET if path.ends_with("/models") => ApiCall::Models,
        Method::GET if path.is_empty() || path == "/" => ApiCall::Probe,
        Method::POST => posted(path),
        _ => ApiCall::Unknown,
    }
}

fn posted(path: &str) -> ApiCall<'_> {
    let speak = |dialect| ApiCall::Speak { dialect, model: None, stream: false };
    let ends = [
        ("/messages", speak(Dialect::Anthropic)),
        ("/messages/count_tokens", ApiCall::CountTokens(Dialect::Anthropic)),
        ("/responses", speak(Dialect::Responses)),
        ("/chat/completions", speak(Dialect::Chat)),
    ];
    let known = ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, call)| call);
    known.or_else(|| geminis(path)).unwrap_or(ApiCall::Unknown)
}

/// `…/models/{model}:{verb}`
fn geminis(path: &str) -> Option<ApiCall<'_>> {
    let (model, verb) = path.rsplit_once("/models/")?.1.split_once(':')?;
    let dialect = Dialect::Gemini;
    match verb {
        "streamGenerateContent" => Some(ApiCall::Speak { dialect, model: Some(model), stream: true }),
        "generateContent" => Some(ApiCall::Speak { dialect, model: Some(model), stream: false }),
        "countTokens" => Some(ApiCall::CountTokens(dialect)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: Method, path: &str, job: Option<&str>, call: ApiCall<'_>) {
        assert_eq!(Address::of(&method, path), Address { job, call });
    }

    fn speak(dialect: Dialect) -> ApiCall<'static> {
        ApiCall::Speak { dialect, model: None, stream: false }
    }

    #[test]
    fn each_api_is_known_by_the_end_of_its_addresses() {
        check(Method::POST, "/job/a/v1/messages", Some("a"), speak(Dialect::Anthropic));
        check(Method::POST, "/v1/messages", None, speak(Dialect::Anthropic));
        let count = ApiCall::CountTokens(Dialect::Anthropic);
        check(Method::POST, "/job/a/v1/messages/count_tokens", Some("a"), count);
        check(Method::POST, "/job/a-1/v1/responses", Some("a-1"), speak(Dialect::Responses));
        check(Method::POST, "/job/a/v1/chat/completions", Some("a"), speak(Dialect::Chat));
        let path = "/job/a/v1beta/models/gemini-2.5-flash:streamGenerateContent";
        let call = ApiCall::Speak { dialect: Dialect::Gemini, model: Some("gemini-2.5-flash"), stream: true };
        check(Method::POST, path, Some("a"), call);
        let count = ApiCall::CountTokens(Dialect::Gemini);
        check(Method::POST, "/job/a/v1beta/models/m:countTokens", Some("a"), count);
    }

    #[test]
    fn probes_models_and_logs() {
        check(Method::HEAD, "/job/a", Some("a"), ApiCall::Probe);
        check(Method::GET, "/job/a/", Some("a"), ApiCall::Probe);
        check(Method::GET, "/job/a/v1/models", Some("a"), ApiCall::Models);
        check(Method::GET, "/log", None, ApiCall::Log(None));
        check(Method::GET, "/log/a", None, ApiCall::Log(Some("a")));
    }

    #[test]
    fn what_is_not_known_is_said_to_be_unknown() {
        check(Method::POST, "/job/a/v1/embeddings", Some("a"), ApiCall::Unknown);
        check(Method::POST, "/job/a/v1beta/models/m:embedContent", Some("a"), ApiCall::Unknown);
        check(Method::POST, "/log/a", None, ApiCall::Unknown);
        check(Method::GET, "/job/a%20b/v1/models", None, ApiCall::Models);
    }
}
