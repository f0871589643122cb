//! Where a webhook may lead. The address is checked when it is registered; what its name stands for is checked each time
//! something is sent, for names change their meaning.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::Uri;
use thiserror::Error;

/// Where clouds tell a machine's credentials over IPv6.
const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

#[derive(Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    #[error("has to be an address such as https://example.org/conductor")]
    Unreadable,
    #[error("has to begin with https:// (or http:// for this machine)")]
    OtherScheme,
    #[error("may not have a user or password in it; receivers check the signature")]
    Credentials,
    #[error("has to begin with https://: without TLS only this machine can be told")]
    Plain,
    #[error("leads to {0}, which is link-local or no machine's own address")]
    Forbidden(IpAddr),
}

/// An address that can be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// A name, or an IP address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: bool,
    /// With the question behind it.
    pub(crate) path: String,
    /// As the header `Host` has it.
    pub(crate) authority: String,
}

impl Target {
    /// Plain HTTP leads to this machine alone, unless it is allowed everywhere.
    pub(crate) fn read(url: &str, plain_http: bool) -> Result<Target, TargetError> {
        let uri: Uri = url.parse().map_err(|_| TargetError::Unreadable)?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) => return Err(TargetError::OtherScheme),
            None => return Err(TargetError::Unreadable),
        };
        let authority = uri.authority().ok_or(TargetError::Unreadable)?;
        if authority.as_str().contains('@') {
            return Err(TargetError::Credentials);
        }
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(rest) => {
                rest.strip_prefix(':').and_then(|port| port.parse().ok()).ok_or(TargetError::Unreadable)?
            }
            None => return Err(TargetError::Unreadable),
        };
        let host = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
        if host.is_empty() || port == 0 {
            return Err(TargetError::Unreadable);
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let target = Target { host, port, tls, path, authority: authority.as_str().to_owned() };
        if !tls && !plain_http && !target.is_here() {
            return Err(TargetError::Plain);
        }
        match target.host.parse::<IpAddr>() {
            Ok(address) if !may_be_reached(address) => Err(TargetError::Forbidden(address)),
            _ => Ok(target),
        }
    }

    /// Whether its host is this machine, by its name alone.
    fn is_here(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => self.is_localhost(),
        }
    }

    /// Such names mean this machine, also where no name server knows them.
    pub(crate) fn is_localhost(&self) -> bool {
        self.host == "localhost" || self.host.ends_with(".localhost")
    }
}

/// Link-local addresses are where clouds tell a machine's own credentials.
pub(crate) fn may_be_reached(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            !(v4.is_link_local() || v4.is_multicast() || v4 == Ipv4Addr::BROADCAST || v4.octets()[0] == 0)
        }
        IpAddr::V6(v6) => {
            let is_link_local = v6.segments()[0] & 0xffc0 == 0xfe80;
            !(is_link_local || v6.is_multicast() || v6.is_unspecified() || v6 == METADATA)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart() {
        let target = Target::read("https://Hooks.example.org/a/b?c=d", false).unwrap();
        assert_eq!((target.host.as_str(), target.port, target.tls), ("hooks.example.org", 443, true));
        assert_eq!(target.path, "/a/b?c=d");
        let target = Target::read("http://[::1]:8080", false).unwrap();
        assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("::1", 8080, "/"));
        assert_eq!(target.authority, "[::1]:8080");
    }

    #[test]
    fn without_tls_only_this_machine_is_told() {
        for here in ["http://localhost:1/x", "http://127.0.0.2/", "http://[::1]/", "http://box.localhost/"] {
            assert!(Target::read(here, false).is_ok(), "{here}");
        }
        for other in ["http://example.org/", "http://10.0.0.1/", "http://localhost.example.org/"] {
            assert_eq!(Target::read(other, false), Err(TargetError::Plain), "{other}");
            assert!(Target::read(other, true).is_ok(), "{other}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let wrong = |url: &str| Target::read(url, true).unwrap_err();
        for url in ["", "x", "/path", "https://", "https://a b/", "https://x:99999/", "https://x:/"] {
            assert_eq!(wrong(url), TargetError::Unreadable, "{url}");
        }
        assert_eq!(wrong("ftp://example.org/"), TargetError::OtherScheme);
        assert_eq!(wrong("https://ann:pw@example.org/"), TargetError::Credentials);
    }

    #[test]
    fn link_local_addresses_are_refused_in_every_spelling() {
        for address in [
            "169.254.169.254",
            "::ffff:169.254.1.1",
            "fe80::1",
            "febf::1",
            "0.0.0.0",
            "::",
            "224.0.0.1",
            "ff02::1",
            "fd00:ec2::254",
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert!(!may_be_reached(address), "{address}");
        }
        for address in ["127.0.0.1", "10.1.2.3", "192.168.0.1", "::1", "fd00::1", "fec0::1", "2001:db8::1"] {
            assert!(may_be_reached(address.parse().unwrap()), "{address}");
        }
        assert!(matches!(
            Target::read("http://169.254.169.254/latest", true),
            Err(TargetError::Forbidden(_))
        ));
        assert!(matches!(Target::read("https://[fe80::1]/", true), Err(TargetError::Forbidden(_))));
    }
}
