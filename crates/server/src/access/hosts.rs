//! The names this server answers to. A page of another site that makes a browser ask us by another name is refused.

use std::net::{IpAddr, SocketAddr};

/// The page's own name on this machine: a cookie of plain `localhost` would go to every other server of it too.
pub(crate) const OWN_NAME: &str = "conductor.localhost";

#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    /// Lower case, without a port.
    names: Vec<String>,
    /// The name of the page's address.
    page: String,
    port: u16,
    tls: bool,
}

impl Hosts {
    pub(crate) fn new(bound: SocketAddr, more: &[String], tls: bool) -> Hosts {
        let mut names: Vec<String> = more.iter().map(|name| name.to_ascii_lowercase()).collect();
        names.push(bracketed(bound.ip()));
        // At all addresses of a machine there are those that only this machine reaches.
        if bound.ip().is_loopback() || bound.ip().is_unspecified() {
            names.extend([OWN_NAME, "localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        let page = match bound.ip() {
            ip if ip.is_loopback() => OWN_NAME.to_owned(),
            ip if ip.is_unspecified() && more.is_empty() => OWN_NAME.to_owned(),
            _ => names[0].clone(),
        };
        Hosts { names, page, port: bound.port(), tls }
    }

    /// Whether a `Host` header names us.
    pub(crate) fn include(&self, host: &str) -> bool {
        let (name, port) = split(host);
        self.names.contains(&name.to_ascii_lowercase()) && port.unwrap_or(self.usual_port()) == self.port
    }

    /// Whether an `Origin` header is a page of ours.
    pub(crate) fn are_origin(&self, origin: &str) -> bool {
        let scheme = if self.tls { "https://" } else { "http://" };
        origin.strip_prefix(scheme).is_some_and(|host| self.include(host))
    }

    /// Whether a cookie that is set for this host goes to no other server.
    pub(crate) fn may_have_cookie(&self, host: &str) -> bool {
        let (name, _) = split(host);
        name.eq_ignore_ascii_case(OWN_NAME) || (self.tls && !is_of_everyone(name))
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.tls
    }

    /// The page's address.
    pub(crate) fn page(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.page, self.port)
    }

    fn usual_port(&self) -> u16 {
        if self.tls { 443 } else { 80 }
    }
}

fn is_of_everyone(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.starts_with('[') || name.parse::<IpAddr>().is_ok()
}

fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn split(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok().or(Some(0))),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_names_with_our_port_are_ours() {
        let hosts = Hosts::new("127.0.0.1:7420".parse().unwrap(), &["Box.example".into()], false);
        for ours in [
            "localhost:7420",
            "LOCALHOST:7420",
            "conductor.localhost:7420",
            "127.0.0.1:7420",
            "[::1]:7420",
            "box.example:7420",
        ] {
            assert!(hosts.include(ours), "{ours}");
            assert!(hosts.are_origin(&format!("http://{ours}")), "{ours}");
        }
        for other in [
            "localhost",
            "localhost:80",
            "evil.example:7420",
            "localhost.evil.example:7420",
            "",
            ":7420",
            "localhost:7420:1",
            "localhost:x",
        ] {
            assert!(!hosts.include(other), "{other}");
        }
        for other in
            ["null", "https://localhost:7420", "http://evil.example", "http://localhost:7420.evil.example"]
        {
            assert!(!hosts.are_origin(other), "{other}");
        }
        assert!(hosts.may_have_cookie("conductor.localhost:7420"));
        assert!(!hosts.may_have_cookie("localhost:7420") && !hosts.may_have_cookie("127.0.0.1:7420"));
        assert_eq!(hosts.page(), "http://conductor.localhost:7420");
    }

    #[test]
    fn with_tls_a_name_of_its_own_may_have_a_cookie() {
        let hosts = Hosts::new("10.0.0.4:443".parse().unwrap(), &["box.example".into()], true);
        assert!(hosts.include("box.example") && hosts.include("10.0.0.4") && !hosts.include("localhost"));
        assert!(hosts.are_origin("https://box.example") && !hosts.are_origin("http://box.example"));
        assert!(hosts.may_have_cookie("box.example") && !hosts.may_have_cookie("10.0.0.4"));
        assert_eq!(hosts.page(), "https://box.example:443");
    }

    #[test]
    fn at_all_addresses_the_machine_itself_is_let_in() {
        let named = Hosts::new("0.0.0.0:7420".parse().unwrap(), &["box.example".into()], true);
        for ours in ["box.example:7420", "localhost:7420", "127.0.0.1:7420", "conductor.localhost:7420"] {
            assert!(named.include(ours), "{ours}");
        }
        assert!(!named.include("10.0.0.4:7420") && !named.include("evil.example:7420"));
        assert_eq!(named.page(), "https://box.example:7420");
        let unnamed = Hosts::new("[::]:7420".parse().unwrap(), &[], true);
        assert_eq!(unnamed.page(), "https://conductor.localhost:7420");
    }
}
