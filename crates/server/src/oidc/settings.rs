//! Which identity provider is asked, and as whom.

use thiserror::Error;

use super::roles::RoleRule;

/// Asked for in any case: who it is, and the person's e-mail address.
const SCOPES: [&str; 2] = ["openid", "email"];

#[derive(Debug, Error)]
pub enum OidcSettingsError {
    #[error("the issuer '{0}' has to be an https:// address; http:// only on this machine")]
    Issuer(String),
    #[error(
        "'{0}' is no rule: write GROUP=ROLE or GROUP=ROLE@PROJECT, with viewer, operator or admin as the role"
    )]
    Rule(String),
    #[error("{0} holds no secret")]
    NoSecret(String),
}

#[derive(Debug, Clone)]
pub struct OidcSettings {
    /// Exactly as the provider calls itself.
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    /// Nothing for a client that has none; the flow is safe by PKCE.
    pub(crate) secret: Option<Secret>,
    pub(crate) scopes: Vec<String>,
    /// The claim that lists a person's groups.
    pub(crate) claim: String,
    pub(crate) rules: Vec<RoleRule>,
}

/// What nothing ever shows.
#[derive(Clone)]
pub(crate) struct Secret(pub(super) String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl OidcSettings {
    pub fn new(issuer: &str, client_id: &str) -> Result<OidcSettings, OidcSettingsError> {
        if !is_safe(issuer) {
            return Err(OidcSettingsError::Issuer(issuer.to_owned()));
        }
        Ok(OidcSettings {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            secret: None,
            scopes: SCOPES.map(str::to_owned).to_vec(),
            claim: "groups".to_owned(),
            rules: Vec::new(),
        })
    }

    /// As a file has it; `name` is the file's.
    pub fn with_secret(mut self, text: &str, name: &str) -> Result<OidcSettings, OidcSettingsError> {
        let secret = text.trim();
        if secret.is_empty() {
            return Err(OidcSettingsError::NoSecret(name.to_owned()));
        }
        self.secret = Some(Secret(secret.to_owned()));
        Ok(self)
    }

    /// Asked for beside the usual ones.
    #[must_use]
    pub fn with_scopes(mut self, scopes: &[String]) -> OidcSettings {
        for scope in scopes {
            if !self.scopes.contains(scope) {
                self.scopes.push(scope.clone());
            }
        }
        self
    }

    #[must_use]
    pub fn with_roles(mut self, claim: &str, rules: Vec<RoleRule>) -> OidcSettings {
        (self.claim, self.rules) = (claim.to_owned(), rules);
        self
    }
}

/// What goes over the network in the open only within this machine.
pub(super) fn is_safe(url: &str) -> bool {
    // What programs do not agree about, or what would end a header.
    if url.contains(|letter: char| letter == '\\' || letter.is_whitespace() || letter.is_control()) {
        return false;
    }
    if let Some(rest) = url.strip_prefix("https://") {
        return !authority(rest).is_empty();
    }
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = match authority(rest) {
        bracketed if bracketed.starts_with('[') => bracketed.split_inclusive(']').next().unwrap_or_default(),
        plain => plain.split(':').next().unwrap_or_default(),
    };
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// A name or a password in it would make another host look like this machine: such an address has none that is known.
fn authority(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') { "" } else { authority }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked_without_tls() {
        for good in [
            "https://id.example.org",
            "https://id.example.org:8443/realms/x",
            "http://127.0.0.1:9",
            "http://[::1]:9/x",
        ] {
            assert!(is_safe(good), "{good}");
        }
        for bad in [
            "http://id.example.org",
            "id.example.org",
            "https://",
            "ftp://localhost",
            "http://localhost.evil.example",
            "http://localhost:x@evil.example",
            "https://user@id.example.org",
            "http://localhost\\@evil.example",
            "https://id.example.org/\r\nx: y",
        ] {
            assert!(!is_safe(bad), "{bad}");
        }
    }
}
