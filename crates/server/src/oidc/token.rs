//! An ID token: who signed it, for whom, for how long, and in answer to which login.
//!
//! The signatures are checked by `ring`, which TLS brings along. Why no crate does all of this is in
//! docs/decisions/0035.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use super::keys::{Algorithm, Key};

/// How far the provider's clock and ours may be apart, in seconds.
const LEEWAY: i64 = 60;

/// Longer ones are not looked at.
const LONGEST: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum TokenError {
    #[error("the ID token cannot be read")]
    Malformed,
    #[error("the ID token is signed in a way that is not accepted: only RS256 and ES256 are")]
    Algorithm,
    #[error("the ID token is signed with a key that the provider does not list")]
    UnknownKey,
    #[error("the ID token's signature is wrong")]
    Signature,
    #[error("the ID token is of another issuer")]
    Issuer,
    #[error("the ID token is for another program")]
    Audience,
    #[error("the ID token has expired, or is not good yet")]
    Time,
    #[error("the ID token answers another login")]
    Nonce,
}

/// What a token has to be.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// In seconds since 1970.
    pub(super) now: i64,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    /// Extensions that must be understood; none are.
    #[serde(default)]
    crit: Option<Value>,
}

pub(super) type Claims = Map<String, Value>;

/// A token in its parts, of which nothing is believed yet.
pub(super) struct Token<'a> {
    header: Header,
    signed: &'a [u8],
    body: &'a str,
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Token<'a>, TokenError> {
        let bad = TokenError::Malformed;
        let (signed, signature) = text.rsplit_once('.').filter(|_| text.len() <= LONGEST).ok_or(bad)?;
        let (header, body) = signed.split_once('.').ok_or(bad)?;
        let header: Header =
            decoded(header).and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or(bad)?;
        if header.crit.is_some() {
            return Err(bad);
        }
        let signature = decoded(signature).ok_or(bad)?;
        Ok(Token { header, signed: signed.as_bytes(), body, signature })
    }

    /// The claims, where one of these keys has signed them.
    pub(super) fn verified(&self, keys: &[Key]) -> Result<Claims, TokenError> {
        let algorithm = Algorithm::named(&self.header.alg).ok_or(TokenError::Algorithm)?;
        let mut fitting =
            keys.iter().filter(|key| key.fits(algorithm, self.header.kid.as_deref())).peekable();
        if fitting.peek().is_none() {
            return Err(TokenError::UnknownKey);
        }
        if !fitting.any(|key| key.has_signed(self.signed, &self.signature)) {
            return Err(TokenError::Signature);
        }
        let claims = decoded(self.body).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        claims.ok_or(TokenError::Malformed)
    }
}

/// Whether claims that were signed are meant for this login.
pub(super) fn check(claims: &Claims, expected: &Expected<'_>) -> Result<(), TokenError> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("iss") != Some(expected.issuer) {
        return Err(TokenError::Issuer);
    }
    if !is_for(claims, expected.client_id) {
        return Err(TokenError::Audience);
    }
    let time = |name: &str| claims.get(name).and_then(seconds);
    let is_over = time("exp").is_none_or(|end| end + LEEWAY < expected.now);
    let is_early = |name: &str| time(name).is_some_and(|from| from - LEEWAY > expected.now);
    if is_over || is_early("nbf") || is_early("iat") {
        return Err(TokenError::Time);
    }
    match text("nonce").is_some_and(|nonce| crate::access::secrets::same(nonce, expected.nonce)) {
        true => Ok(()),
        false => Err(TokenError::Nonce),
    }
}

/// Of several it is for, one has to be the one that asked.
fn is_for(claims: &Claims, client_id: &str) -> bool {
    let asked_by = claims.get("azp").map(|azp| azp.as_str() == Some(client_id));
    match claims.get("aud") {
        Some(Value::String(one)) => one == client_id && asked_by.unwrap_or(true),
        Some(Value::Array(all)) => {
            let is_one = all.iter().any(|one| one.as_str() == Some(client_id));
            is_one && asked_by.unwrap_or(all.len() == 1)
        }
        _ => false,
    }
}

/// Some providers write parts of a second. Times that no clock has are none.
fn seconds(value: &Value) -> Option<i64> {
    let seconds = value.as_f64().filter(|seconds| seconds.abs() < 1e12)?;
    Some(seconds as i64)
}

pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(change: impl FnOnce(&mut Claims)) -> Result<(), TokenError> {
        let claims =
            json!({ "iss": "https://id", "aud": "us", "exp": 1_300, "iat": 1_000, "nonce": "n", "sub": "s" });
        let Value::Object(mut claims) = claims else { panic!() };
        change(&mut claims);
        check(&claims, &Expected { issuer: "https://id", client_id: "us", nonce: "n", now: 1_010 })
    }

    fn with(name: &str, value: Value) -> Result<(), TokenError> {
        checked(|claims| drop(claims.insert(name.to_owned(), value)))
    }

    fn without(name: &str) -> Result<(), TokenError> {
        checked(|claims| drop(claims.remove(name)))
    }

    #[test]
    fn every_claim_has_to_fit() {
        assert_eq!(checked(|_| ()), Ok(()));
        for other in ["https://id/", "https://ID", "https://evil"] {
            assert_eq!(with("iss", json!(other)), Err(TokenError::Issuer));
        }
        assert_eq!(without("iss"), Err(TokenError::Issuer));
        assert_eq!(with("aud", json!(["us"])), Ok(()));
        for other in [json!("them"), json!(["them"]), json!(["us", "them"]), json!(3), json!([])] {
            assert_eq!(with("aud", other), Err(TokenError::Audience));
        }
        assert_eq!(without("aud"), Err(TokenError::Audience));
        let both = |azp: &str| {
            checked(|claims| {
                claims.insert("aud".into(), json!(["us", "them"]));
                claims.insert("azp".into(), json!(azp));
            })
        };
        assert_eq!((both("us"), both("them")), (Ok(()), Err(TokenError::Audience)));
        assert_eq!(with("azp", json!("them")), Err(TokenError::Audience));
        assert_eq!((with("exp", json!(960)), with("exp", json!(900))), (Ok(()), Err(TokenError::Time)));
        assert_eq!(
            (without("exp"), with("exp", json!("soon"))),
            (Err(TokenError::Time), Err(TokenError::Time))
        );
        assert_eq!(
            (with("iat", json!(2_000)), with("nbf", json!(2_000.5))),
            (Err(TokenError::Time), Err(TokenError::Time))
        );
        for other in [json!("m"), json!(""), json!(null)] {
            assert_eq!(with("nonce", other), Err(TokenError::Nonce));
        }
        assert_eq!(without("nonce"), Err(TokenError::Nonce));
    }

    #[test]
    fn nothing_but_a_token_is_read() {
        let header = |text: &str| format!("{}.e30.AA", BASE64.encode(text));
        for bad in [
            "",
            ".",
            "..",
            "a.b.c",
            "e30.e30",
            "e30.e30.AA",
            &header("{\"alg\":3}"),
            &header("{\"alg\":\"RS256\",\"crit\":[\"x\"]}"),
        ] {
            assert!(matches!(Token::parse(bad), Err(TokenError::Malformed)), "{bad}");
        }
        for other in ["none", "HS256", "RS512", "rs256", "ES384"] {
            let token = header(&format!("{{\"alg\":\"{other}\"}}"));
            assert_eq!(Token::parse(&token).unwrap().verified(&[]), Err(TokenError::Algorithm), "{other}");
        }
    }
}
