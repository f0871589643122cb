//! The address of a server: read, shown without its password, and held to encryption where it is not this machine.

use std::net::IpAddr;
use std::str::FromStr as _;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::host::home::{STORE, StoreAddress};
use crate::stores::StoreError;

/// Says `allow` where the way to the server is safe by other means, such as a private network of its own.
pub(super) const PLAIN: &str = "CONDUCTOR_STORE_PLAIN";

pub(super) struct Address {
    pub(super) options: PgConnectOptions,
    /// As it is shown.
    pub(super) place: String,
}

impl Address {
    pub(super) fn read(address: &StoreAddress) -> Result<Address, StoreError> {
        let plain = std::env::var(PLAIN).is_ok_and(|word| word == "allow");
        Address::parse(address.as_str(), plain)
    }

    fn parse(text: &str, plain: bool) -> Result<Address, StoreError> {
        let wrong = |place: &str, why: String, remedy: &str| StoreError::Unwritable {
            place: place.to_owned(),
            why,
            remedy: remedy.to_owned(),
        };
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            let why = "it is no address of a store".to_owned();
            return Err(wrong(STORE, why, "set it to postgres://USER@HOST/DATABASE, or unset it"));
        }
        let options = PgConnectOptions::from_str(text).map_err(|error| {
            wrong(
                STORE,
                format!("its address cannot be read ({error})"),
                "set it to postgres://USER@HOST/DATABASE",
            )
        })?;
        let place = shown(&options);
        let options = match (is_here(&options), options.get_ssl_mode()) {
            (true, _) => options,
            (false, PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull) => options,
            (false, _) if plain => options,
            // What was not said is taken at its strongest.
            (false, PgSslMode::Prefer) => options.ssl_mode(PgSslMode::VerifyFull),
            (false, PgSslMode::Disable | PgSslMode::Allow) => {
                let why = "it is on another machine, and its address gives up encryption".to_owned();
                let remedy =
                    format!("leave sslmode out, or set {PLAIN}=allow where nothing else is on that network");
                return Err(wrong(&place, why, &remedy));
            }
        };
        Ok(Address { options, place })
    }
}

/// Whether what is sent there stays on this machine.
fn is_here(options: &PgConnectOptions) -> bool {
    let host = options.get_host().trim_start_matches('[').trim_end_matches(']');
    options.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn shown(options: &PgConnectOptions) -> String {
    let at = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let database = options.get_database().unwrap_or(options.get_username());
    format!("postgres://{}@{at}/{database}", options.get_username())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(text: &str, plain: bool) -> Result<String, String> {
        let read = Address::parse(text, plain).map_err(|error| error.to_string())?;
        Ok(format!("{:?}", read.options.get_ssl_mode()))
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted_and_the_server_is_known() {
        assert_eq!(mode("postgres://u@db.example/c", false).as_deref(), Ok("VerifyFull"));
        assert_eq!(mode("postgres://u@db.example/c?sslmode=prefer", false).as_deref(), Ok("VerifyFull"));
        assert_eq!(mode("postgres://u@db.example/c?sslmode=require", false).as_deref(), Ok("Require"));
        assert_eq!(mode("postgres://u@10.0.0.7/c?sslmode=disable", true).as_deref(), Ok("Disable"));
        let refused = mode("postgres://u:secret@10.0.0.7/c?sslmode=disable", false).unwrap_err();
        assert!(refused.contains("gives up encryption") && refused.contains(PLAIN), "{refused}");
        assert!(refused.contains("postgres://u@10.0.0.7:5432/c") && !refused.contains("secret"), "{refused}");
        for here in ["127.0.0.1:5433", "localhost", "[::1]"] {
            let text = format!("postgres://u@{here}/c?sslmode=disable");
            assert_eq!(mode(&text, false).as_deref(), Ok("Disable"), "{here}");
        }
        assert_eq!(
            mode("postgres://u@localhost/c?host=/run/pg&sslmode=disable", false).as_deref(),
            Ok("Disable")
        );
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_one_looks_like() {
        for text in ["mysql://u@h/d", "/var/lib/x", "postgres"] {
            let refused = mode(text, false).unwrap_err();
            assert!(refused.contains("postgres://USER@HOST/DATABASE"), "{refused}");
        }
    }
}
