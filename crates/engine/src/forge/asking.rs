//! One request to a forge: through `gh`, or with a token.

use std::io::Read as _;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use super::ForgeError;
use crate::process::{self, on_path};

const LONGEST: Duration = Duration::from_secs(30);
const MOST: u64 = 8 << 20;
const SHOWN: usize = 300;

/// The variable with the address of the API, where that is another.
const API: &str = "GITHUB_API_URL";

pub(super) enum Way {
    Gh { host: String },
    Api { agent: Agent, base: String, token: String },
}

impl Way {
    pub(super) fn find(host: &str) -> Option<Way> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        // It takes no port.
        if !host.contains(':') && on_path("gh") && is_signed_in(host) {
            return Some(Way::Gh { host: host.to_owned() });
        }
        let token = tokens_for(host, variable(API).is_some()).into_iter().find_map(variable)?;
        let usual = match host {
            "github.com" => "https://api.github.com".to_owned(),
            own => format!("https://{own}/api/v3"),
        };
        let base = variable(API).unwrap_or(usual).trim_end_matches('/').to_owned();
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .timeout_global(Some(LONGEST))
            .http_status_as_error(false)
            .user_agent(concat!("conductor/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls);
        Some(Way::Api { agent: config.build().into(), base, token })
    }

    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, ForgeError> {
        match self {
            Way::Gh { host } => by_gh(host, method, path, body),
            Way::Api { agent, base, token } => by_api(agent, &format!("{base}/{path}"), token, method, body),
        }
    }
}

/// The variables with a token, as `gh` has them. A token for one host is not shown to another: an address in a repository's
/// configuration must not get what is meant for github.com.
fn tokens_for(host: &str, is_named: bool) -> [&'static str; 2] {
    match host == "github.com" || is_named {
        true => ["GH_TOKEN", "GITHUB_TOKEN"],
        false => ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"],
    }
}

fn is_signed_in(host: &str) -> bool {
    let mut command = Command::new("gh");
    command.args(["auth", "status", "--hostname", host]);
    process::answer(&mut command, Duration::from_secs(10)).is_some()
}

fn by_gh(host: &str, method: &str, path: &str, body: Option<&Value>) -> Result<Value, ForgeError> {
    let broken = |error: std::io::Error| ForgeError::Broken(format!("gh: {error}"));
    let mut command = Command::new("gh");
    command.args(["api", "--hostname", host, "--method", method, path]);
    if body.is_some() {
        command.args(["--input", "-"]);
    }
    // As one of our own: what is only a child of the coordinator is taken for what an attempt has left, and ended.
    let input = body.map(Value::to_string).unwrap_or_default();
    let output = process::run_own(&mut command, input.as_bytes()).map_err(broken)?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.success() {
        true => parsed(&out),
        // It says `gh: Not Found (HTTP 404)`.
        false => match err.split("HTTP ").nth(1).and_then(|rest| rest.get(..3)?.parse().ok()) {
            Some(status) => Err(ForgeError::Refused { status, said: cut(&err) }),
            None => Err(ForgeError::Broken(cut(&format!("gh ended with {}: {err}{out}", output.status)))),
        },
    }
}

fn by_api(
    agent: &Agent,
    url: &str,
    token: &str,
    method: &str,
    body: Option<&Value>,
) -> Result<Value, ForgeError> {
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(url)
        .header("authorization", format!("Bearer {token}"))
        .header("accept", "application/vnd.github+json")
        .header("content-type", "application/json")
        .body(body.map(Value::to_string).unwrap_or_default())
        .map_err(|error| ForgeError::Broken(error.to_string()))?;
    let response = agent.run(request).map_err(|error| ForgeError::Broken(error.to_string()))?;
    let status = response.status().as_u16();
    let mut text = String::new();
    let read = response.into_body().into_reader().take(MOST).read_to_string(&mut text);
    match status {
        200..300 => read.map_err(|error| ForgeError::Broken(error.to_string())).and_then(|_| parsed(&text)),
        _ => Err(ForgeError::Refused { status, said: cut(&text) }),
    }
}

fn parsed(text: &str) -> Result<Value, ForgeError> {
    match text.trim() {
        "" => Ok(Value::Null),
        text => serde_json::from_str(text).map_err(|_| ForgeError::Broken(format!("no JSON: {}", cut(text)))),
    }
}

fn cut(text: &str) -> String {
    text.trim().chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_to_its_own_host_only() {
        assert_eq!(tokens_for("github.com", false)[0], "GH_TOKEN");
        assert_eq!(tokens_for("forge.example", true)[0], "GH_TOKEN");
        assert_eq!(tokens_for("forge.example", false)[0], "GH_ENTERPRISE_TOKEN");
    }
}
