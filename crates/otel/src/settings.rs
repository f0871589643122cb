//! Where traces go and what they say, by the variables that OpenTelemetry has for all programs.

use std::time::Duration;

use thiserror::Error;

use crate::calls::Content;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const TIMEOUTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
const CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/// How long one request may take; by the standard.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A variable that cannot be used. Values are not told: they may hold credentials.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    #[error("{0} is no address: it has to begin with http:// or https://")]
    Endpoint(&'static str),
    #[error("{0} has to be a list like name=value,name=value, with %20 for a space")]
    List(&'static str),
    #[error("{0} has to be a number of milliseconds")]
    Timeout(&'static str),
    #[error(
        "{0} asks for grpc, and Conductor sends http/json: set it to http/json, and the endpoint to the collector's HTTP \
         port (usually 4318)"
    )]
    Protocol(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where requests go.
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub timeout: Duration,
    /// What is said of the program as such.
    pub resource: Vec<(String, String)>,
    pub content: Content,
}

/// What the environment says of a variable; one that is empty is not set.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Settings {
    /// Nothing where no traces are wanted. The standard's own address is not assumed: a program of a terminal sends
    /// nothing to a port that its user has not named.
    pub fn read(lookup: Lookup<'_>) -> Result<Option<Settings>, SettingsError> {
        let is_off =
            |name: &str, off: &str| lookup(name).is_some_and(|value| value.eq_ignore_ascii_case(off));
        if is_off("OTEL_SDK_DISABLED", "true") || is_off("OTEL_TRACES_EXPORTER", "none") {
            return Ok(None);
        }
        let Some(url) = url(lookup)? else { return Ok(None) };
        check_protocol(lookup)?;
        let mut headers = Vec::new();
        for name in HEADERS {
            over(&mut headers, list(name, lookup)?);
        }
        let timeout = timeout(lookup)?;
        Ok(Some(Settings { url, headers, timeout, resource: resource(lookup)?, content: content(lookup) }))
    }
}

/// What is said of the program as such, whether or not traces are sent.
pub fn resource(lookup: Lookup<'_>) -> Result<Vec<(String, String)>, SettingsError> {
    let mut resource = vec![
        ("service.name".to_owned(), "conductor".to_owned()),
        ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ];
    over(&mut resource, list("OTEL_RESOURCE_ATTRIBUTES", lookup)?);
    over(&mut resource, lookup("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name)));
    Ok(resource)
}

pub fn content(lookup: Lookup<'_>) -> Content {
    match lookup(CONTENT).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        true => Content::Told,
        false => Content::LeftOut,
    }
}

/// The variable that names a collector, where there is one.
pub fn named_endpoint(lookup: Lookup<'_>) -> Option<&'static str> {
    [TRACES_ENDPOINT, ENDPOINT].into_iter().find(|name| lookup(name).is_some())
}

/// The address of traces is used as it is; that of all signals has the path of traces added.
fn url(lookup: Lookup<'_>) -> Result<Option<String>, SettingsError> {
    let Some(name) = named_endpoint(lookup) else { return Ok(None) };
    let value = lookup(name).unwrap_or_default();
    let has_host = |scheme: &str| value.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty());
    if !has_host("http://") && !has_host("https://") {
        return Err(SettingsError::Endpoint(name));
    }
    Ok(Some(match name == ENDPOINT {
        true => format!("{}/v1/traces", value.trim_end_matches('/')),
        false => value,
    }))
}

fn check_protocol(lookup: Lookup<'_>) -> Result<(), SettingsError> {
    let Some(name) = PROTOCOLS.into_iter().find(|name| lookup(name).is_some()) else { return Ok(()) };
    match lookup(name).is_some_and(|protocol| protocol == "grpc") {
        true => Err(SettingsError::Protocol(name)),
        false => Ok(()),
    }
}

fn timeout(lookup: Lookup<'_>) -> Result<Duration, SettingsError> {
    let Some(name) = TIMEOUTS.into_iter().find(|name| lookup(name).is_some()) else { return Ok(TIMEOUT) };
    let millis = lookup(name).and_then(|value| value.trim().parse().ok()).filter(|millis| *millis > 0);
    millis.map(Duration::from_millis).ok_or(SettingsError::Timeout(name))
}

/// `a=b,c=d`, with percent signs for what could be mistaken.
fn list(name: &'static str, lookup: Lookup<'_>) -> Result<Vec<(String, String)>, SettingsError> {
    let value = lookup(name).unwrap_or_default();
    let pairs = value.split(',').filter(|pair| !pair.trim().is_empty());
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let key = decoded(key.trim())?;
        (!key.is_empty()).then_some((key, decoded(value.trim())?))
    };
    pairs.map(pair).collect::<Option<_>>().ok_or(SettingsError::List(name))
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        match (*first, more) {
            (b'%', [high, low, ..]) => {
                let hex = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()?);
                rest = &more[2..];
            }
            (b'%', _) => return None,
            (byte, _) => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// What comes later counts.
fn over(all: &mut Vec<(String, String)>, more: impl IntoIterator<Item = (String, String)>) {
    for (name, value) in more {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => all.push((name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Settings>, SettingsError> {
        let found =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        Settings::read(&found)
    }

    fn good(variables: &[(&str, &str)]) -> Settings {
        read(variables).unwrap().unwrap()
    }

    #[test]
    fn an_address_is_where_traces_go() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(good(&[(ENDPOINT, "http://c:4318")]).url, "http://c:4318/v1/traces");
        assert_eq!(good(&[(ENDPOINT, "https://c/x/")]).url, "https://c/x/v1/traces");
        assert_eq!(good(&[(ENDPOINT, "http://c"), (TRACES_ENDPOINT, "http://t/in")]).url, "http://t/in");
        for bad in ["c:4318", "http://", "grpc://c", "x"] {
            assert_eq!(read(&[(ENDPOINT, bad)]), Err(SettingsError::Endpoint(ENDPOINT)), "{bad}");
        }
    }

    #[test]
    fn it_can_be_switched_off() {
        for (name, value) in
            [("OTEL_SDK_DISABLED", "true"), ("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_TRACES_EXPORTER", "none")]
        {
            assert_eq!(read(&[(ENDPOINT, "http://c"), (name, value)]), Ok(None));
        }
        assert!(read(&[(ENDPOINT, "http://c"), ("OTEL_SDK_DISABLED", "false")]).unwrap().is_some());
    }

    #[test]
    fn headers_and_attributes_are_lists() {
        let settings = good(&[
            (ENDPOINT, "http://c"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k%20%3D1, other = x=y ,"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "other=z"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,deployment.environment.name=ci"),
            ("OTEL_SERVICE_NAME", "b"),
        ]);
        let pairs = |list: &[(String, String)]| {
            list.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(pairs(&settings.headers), "api-key=k =1 other=z");
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            pairs(&settings.resource),
            format!("service.name=b service.version={version} deployment.environment.name=ci")
        );
        for bad in ["novalue", "=x", "a=%4", "a=%zz", "a=%ff"] {
            let read = read(&[(ENDPOINT, "http://c"), (HEADERS[0], bad)]);
            assert_eq!(read, Err(SettingsError::List(HEADERS[0])), "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let with = |name: &'static str, value| read(&[(ENDPOINT, "http://c"), (name, value)]);
        assert_eq!(with(PROTOCOLS[1], "grpc"), Err(SettingsError::Protocol(PROTOCOLS[1])));
        assert!(
            with(PROTOCOLS[1], "http/protobuf").is_ok(),
            "a collector of that takes JSON at the same address"
        );
        assert_eq!(with(TIMEOUTS[1], "soon"), Err(SettingsError::Timeout(TIMEOUTS[1])));
        assert_eq!(with(TIMEOUTS[0], "250").unwrap().unwrap().timeout, Duration::from_millis(250));
        assert_eq!(with(CONTENT, "true").unwrap().unwrap().content, Content::Told);
        assert_eq!(with(CONTENT, "yes").unwrap().unwrap().content, Content::LeftOut);
    }
}
