//! Which hosts are reached: names as they are meant, rules about them, and addresses that no rule for a name leads to.
//!
//! A name is brought into one form before anything is decided about it, and what was decided about is what is looked up
//! and connected to: a second reading of the same text could mean another host.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// Ports that a rule without one means.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// The longest name that DNS knows.
const LONGEST: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A host in the one form in which it is compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Nothing where the text is no host that could be meant in one way only.
    pub fn parse(text: &str) -> Option<Host> {
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if bracketed.is_some() || text.contains(':') {
            let address: Ipv6Addr = bracketed.unwrap_or(text).parse().ok()?;
            return Some(Host::Address(plain(IpAddr::V6(address))));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let labels: Vec<&str> = name.split('.').collect();
        if name.len() > LONGEST || !labels.iter().all(|label| is_label(label)) {
            return None;
        }
        // Resolvers read 2130706433, 0x7f.1 and 127.1 as addresses: only the form that all agree about is taken.
        let last = labels.last()?;
        let is_number = last.bytes().all(|b| b.is_ascii_digit())
            || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        match is_number {
            true => name.parse().ok().map(|address| Host::Address(IpAddr::V4(address))),
            false => Some(Host::Name(name)),
        }
    }
}

/// An address that is another one in disguise, as that.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

fn is_label(label: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    !label.is_empty() && label.len() <= LONGEST_LABEL && label.bytes().all(fits)
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Host::Address(address) => address.fmt(f),
        }
    }
}

/// One entry of a list of hosts: `host`, `*.host` or `host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    host: Host,
    /// Everything below the host, and not the host itself.
    below: bool,
    port: Option<u16>,
}

impl HostRule {
    pub fn parse(text: &str) -> Option<HostRule> {
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let is_bare_v6 = rest.parse::<Ipv6Addr>().is_ok();
        let (host, port) = match rest.rsplit_once(':').filter(|_| !is_bare_v6 && !rest.ends_with(']')) {
            Some((host, port)) => (host, Some(port.parse().ok().filter(|port| *port != 0)?)),
            None => (rest, None),
        };
        let host = Host::parse(host)?;
        let is_name = matches!(host, Host::Name(_));
        (is_name || !below).then_some(HostRule { host, below, port })
    }

    fn fits(&self, host: &Host, port: u16) -> bool {
        let names_it = match (&self.host, host) {
            (Host::Name(known), Host::Name(name)) if self.below => {
                name.strip_suffix(known.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (known, host) => known == host,
        };
        names_it && self.port.map_or_else(|| USUAL_PORTS.contains(&port), |own| own == port)
    }

    /// Such a rule is an answer to "may it reach this very service", also where that is on this machine.
    fn is_literal(&self) -> bool {
        self.port.is_some() && !self.below
    }

    /// A service on this machine that is named by its port.
    pub fn service(&self) -> Option<String> {
        let is_loopback = match &self.host {
            Host::Name(name) => name == "localhost",
            Host::Address(address) => address.is_loopback(),
        };
        self.port.filter(|_| is_loopback && !self.below).map(|port| format!("{}:{port}", self.host))
    }
}

/// Whether a host is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Where it leads is not for the list to say: only public addresses.
    Public,
    /// It is listed with its port: wherever it leads.
    Anywhere,
    Refused,
}

pub fn decide(rules: &[HostRule], host: &Host, port: u16) -> Reach {
    let reach = |rule: &HostRule| if rule.is_literal() { Reach::Anywhere } else { Reach::Public };
    let fitting = rules.iter().filter(|rule| rule.fits(host, port)).map(reach);
    fitting.reduce(|one, other| if one == Reach::Anywhere { one } else { other }).unwrap_or(Reach::Refused)
}

impl Reach {
    /// Whether an address may be connected to that a host was found at.
    pub fn takes(self, address: IpAddr) -> bool {
        match self {
            Reach::Refused => false,
            Reach::Public => is_public(address),
            Reach::Anywhere => true,
        }
    }
}

/// Whether an address is one of the internet's, and none of this machine, of its network or of its provider's.
pub fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let within = |high: u16, low: u16| {
        let ([w, x], [y, z]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(w, x, y, z))
    };
    match (a, b) {
        // Addresses that stand for one of the older kind lead where that leads.
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => within(g, h),
        (0x2002, high) => within(high, c),
        (0x2001, 0..=0x1ff) | (0x2001, 0xdb8) | (0x3fff, 0..=0xfff) => false,
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<HostRule> {
        texts.iter().map(|text| HostRule::parse(text).unwrap()).collect()
    }

    #[test]
    fn a_host_has_one_form_or_is_none() {
        for (text, form) in [
            ("Crates.IO", "crates.io"),
            ("crates.io.", "crates.io"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
        ] {
            assert_eq!(Host::parse(text).unwrap().to_string(), form, "{text}");
        }
        for text in [
            "",
            ".",
            "a..b",
            "crates.io..",
            "crates.io\0.evil.example",
            "a b",
            "münchen.example",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "127.1",
            "0177.0.0.1",
            "1.2.3.4.5",
            "http://x",
            "x/y",
            "a@b",
            "[::1",
            "x%2e.example",
            "fe80::1%eth0",
        ] {
            assert_eq!(Host::parse(text), None, "{text:?}");
        }
        assert_eq!(Host::parse(&"a".repeat(64)), None);
        assert!(Host::parse(&"a.".repeat(127)).is_some());
        assert_eq!(Host::parse(&"a.".repeat(128)), None);
    }

    #[test]
    fn a_rule_means_a_host_all_below_it_or_one_port() {
        let known = rules(&[
            "crates.io",
            "*.npmjs.org",
            "localhost:5432",
            "db.internal:5432",
            "[::1]:80",
            "10.0.0.7",
        ]);
        let decide = |host: &str, port: u16| super::decide(&known, &Host::parse(host).unwrap(), port);
        assert_eq!(decide("crates.io", 443), Reach::Public);
        assert_eq!(decide("CRATES.io.", 80), Reach::Public);
        assert_eq!(decide("registry.npmjs.org", 443), Reach::Public);
        assert_eq!(decide("a.b.npmjs.org", 443), Reach::Public);
        assert_eq!(decide("localhost", 5432), Reach::Anywhere);
        assert_eq!(decide("db.internal", 5432), Reach::Anywhere);
        assert_eq!(decide("::1", 80), Reach::Anywhere);
        for (host, port) in [
            ("crates.io", 22),
            ("static.crates.io", 443),
            ("evilcrates.io", 443),
            ("crates.io.evil.example", 443),
            ("npmjs.org", 443),
            ("evilnpmjs.org", 443),
            ("localhost", 80),
            ("127.0.0.1", 5432),
            ("db.internal", 443),
        ] {
            assert_eq!(decide(host, port), Reach::Refused, "{host}:{port}");
        }
        // It is listed, and still not one of the internet's.
        let reach = decide("10.0.0.7", 443);
        assert!(reach == Reach::Public && !reach.takes("10.0.0.7".parse().unwrap()));
        for bad in
            ["*", "*.", "*.10.0.0.1", "host:0", "host:x", "host:99999", "", "http://x", "a:1:2", "*.*.x"]
        {
            assert_eq!(HostRule::parse(bad), None, "{bad}");
        }
        assert_eq!(known[2].service().as_deref(), Some("localhost:5432"));
        assert_eq!(known[3].service(), None);
    }

    #[test]
    fn a_name_leads_to_no_address_of_this_machine_or_its_network() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001::1",
            "2001:db8::1",
            "::127.0.0.1",
            "100::1",
        ] {
            assert!(!Reach::Public.takes(address(private)), "{private}");
            assert!(!Reach::Refused.takes(address(private)), "{private}");
        }
        for public in
            ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808", "192.0.1.1"]
        {
            assert!(Reach::Public.takes(address(public)), "{public}");
        }
    }
}
