//! The address of a broker: read, shown without its password, and held to encryption where it is not this machine.

use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use url::Url;

use super::BrokerError;

/// Says `allow` where the way to the broker is safe by other means, such as a private network of its own.
const PLAIN: &str = "CONDUCTOR_QUEUE_PLAIN";

/// The password, where it is not to stand in the address.
const PASSWORD: &str = "CONDUCTOR_QUEUE_PASSWORD";

/// What brokers are called by: the scheme without and with encryption, and the port of each.
struct Kind {
    plain: (&'static str, u16),
    safe: (&'static str, u16),
}

const REDIS: Kind = Kind { plain: ("redis", 6379), safe: ("rediss", 6379) };
const RABBITMQ: Kind = Kind { plain: ("amqp", 5672), safe: ("amqps", 5671) };

#[derive(Clone)]
pub(super) struct Address {
    pub(super) is_redis: bool,
    pub(super) is_encrypted: bool,
    /// Without the brackets of IPv6.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    /// What follows the host, without its slash: the number of a database, or a virtual host.
    pub(super) path: String,
    /// As it is shown.
    pub(super) place: String,
}

/// What the environment adds to an address.
#[derive(Default)]
pub(super) struct Environment {
    may_be_plain: bool,
    password: Option<String>,
}

impl Environment {
    pub(super) fn read() -> Environment {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Environment { may_be_plain: set(PLAIN).as_deref() == Some("allow"), password: set(PASSWORD) }
    }
}

impl Address {
    pub(super) fn parse(text: &str, environment: Environment) -> Result<Address, BrokerError> {
        let url = Url::parse(text).map_err(|error| no_address(&format!("it cannot be read ({error})")))?;
        let is = |kind: &Kind| [kind.plain.0, kind.safe.0].contains(&url.scheme());
        let kind = match () {
            () if is(&REDIS) => REDIS,
            () if is(&RABBITMQ) => RABBITMQ,
            () => return Err(no_address(&format!("there is no broker for {}://", url.scheme()))),
        };
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
            return Err(no_address("it names no host"));
        };
        let is_encrypted = url.scheme() == kind.safe.0;
        let port = url.port().unwrap_or(if is_encrypted { kind.safe.1 } else { kind.plain.1 });
        let user = Some(decoded(url.username())).filter(|user| !user.is_empty());
        let path = url.path().strip_prefix('/').unwrap_or(url.path());
        let address = Address {
            is_redis: is(&REDIS),
            is_encrypted,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            password: url.password().map(decoded).or(environment.password),
            place: shown(&url, host, port),
            user,
            path: decoded(path),
        };
        if url.query().is_some() || url.fragment().is_some() {
            let remedy = "leave out what follows the ? or #";
            return Err(address.unusable("an address of a broker takes no parameters".to_owned(), remedy));
        }
        if !is_encrypted && !address.is_here() && !environment.may_be_plain {
            let remedy =
                format!("use {}://, or set {PLAIN}=allow where nothing else is on that network", kind.safe.0);
            let why = "it is on another machine, and its address gives up encryption".to_owned();
            return Err(address.unusable(why, &remedy));
        }
        Ok(address)
    }

    /// Whether what is sent there stays on this machine.
    fn is_here(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    pub(super) fn unusable(&self, why: String, remedy: &str) -> BrokerError {
        BrokerError::Unusable { place: self.place.clone(), why, remedy: remedy.to_owned() }
    }

    pub(super) fn away(&self, why: String) -> BrokerError {
        BrokerError::Away { place: self.place.clone(), why }
    }

    /// What a wrong name or password is answered with.
    pub(super) fn refused(&self, why: String) -> BrokerError {
        let remedy = format!("check the user and the password in its address (or in {PASSWORD})");
        self.unusable(why, &remedy)
    }

    pub(super) fn untrusted(&self, why: String) -> BrokerError {
        let remedy = "give the broker a certificate for this name that this machine trusts, or name the file of \
                      its authority in SSL_CERT_FILE";
        self.unusable(format!("no safe connection: {why}"), remedy)
    }
}

pub(super) fn without_password(text: &str) -> Option<String> {
    let mut url = Url::parse(text).ok()?;
    url.set_password(None).ok()?;
    Some(url.to_string())
}

fn no_address(why: &str) -> BrokerError {
    BrokerError::Unusable {
        place: "its address".to_owned(),
        why: why.to_owned(),
        remedy:
            "name it as redis://HOST, rediss://USER@HOST (Redis), amqp://HOST or amqps://USER@HOST/VHOST \
                 (RabbitMQ)"
                .to_owned(),
    }
}

fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

fn shown(url: &Url, host: &str, port: u16) -> String {
    let user = if url.username().is_empty() { String::new() } else { format!("{}@", url.username()) };
    format!("{}://{user}{host}:{port}{}", url.scheme(), url.path().trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, plain: bool) -> Result<Address, String> {
        let environment = Environment { may_be_plain: plain, password: None };
        Address::parse(text, environment).map_err(|error| error.to_string())
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted() {
        for text in ["redis://u:secret@10.0.0.7", "amqp://u:secret@mq.example/runs"] {
            let refused = read(text, false).err().unwrap();
            assert!(refused.contains("gives up encryption") && refused.contains(PLAIN), "{refused}");
            assert!(refused.contains("://u@") && !refused.contains("secret"), "{refused}");
            assert!(!read(text, true).unwrap().is_encrypted);
        }
        for text in ["rediss://mq.example", "amqps://mq.example"] {
            assert!(read(text, false).unwrap().is_encrypted, "{text}");
        }
        for here in ["redis://127.0.0.1", "redis://localhost:7000/2", "redis://[::1]", "amqp://127.8.0.1"] {
            assert!(!read(here, false).unwrap().is_encrypted, "{here}");
        }
    }

    #[test]
    fn every_part_is_read() {
        let address = read("amqps://user%40corp:p%2Fw@[2001:db8::1]/%2fruns", false).unwrap();
        assert_eq!((address.host.as_str(), address.port), ("2001:db8::1", 5671));
        assert_eq!((address.user.as_deref(), address.password.as_deref()), (Some("user@corp"), Some("p/w")));
        assert_eq!(address.path, "/runs");
        assert_eq!(address.place, "amqps://user%40corp@[2001:db8::1]:5671/%2fruns");
        let address = read("rediss://mq.example:7000/3", false).unwrap();
        assert_eq!((address.port, address.path.as_str(), address.user), (7000, "3", None));
        let environment = || Environment { password: Some("env".to_owned()), ..Environment::default() };
        let password = |text| Address::parse(text, environment()).unwrap().password;
        assert_eq!(password("redis://localhost").as_deref(), Some("env"));
        assert_eq!(password("redis://:own@localhost").as_deref(), Some("own"));
    }

    #[test]
    fn what_is_written_down_has_no_password_and_is_the_same_address_else() {
        for (text, kept) in [
            ("redis://127.0.0.1:7000/2", "redis://127.0.0.1:7000/2"),
            ("rediss://:secret@mq.example", "rediss://mq.example"),
            ("amqps://user%40corp:p%2Fw@[2001:db8::1]/%2fruns", "amqps://user%40corp@[2001:db8::1]/%2fruns"),
        ] {
            assert_eq!(without_password(text).as_deref(), Some(kept));
            let (before, after) = (read(text, true).unwrap(), read(kept, true).unwrap());
            assert_eq!((before.place, before.user, before.path), (after.place, after.user, after.path));
            assert_eq!(after.password, None);
        }
        assert_eq!(without_password("no address"), None);
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_one_looks_like() {
        for text in ["kafka://h", "mq.example:5672", "", "/run/redis.sock", "redis://"] {
            let refused = read(text, false).err().unwrap();
            assert!(refused.contains("rediss://USER@HOST") && refused.contains("amqps://"), "{refused}");
        }
        let refused = read("rediss://:secret@mq.example?insecure", false).err().unwrap();
        assert!(refused.contains("takes no parameters") && !refused.contains("secret"), "{refused}");
    }
}
