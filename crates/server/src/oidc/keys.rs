//! The provider's public keys.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

use super::token::decoded;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<Algorithm> {
        match name {
            "RS256" => Some(Algorithm::Rs256),
            "ES256" => Some(Algorithm::Es256),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    kid: Option<String>,
    public: Public,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Public {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point of P-256, uncompressed.
    P256(Vec<u8>),
}

/// A key as the provider lists it (RFC 7517); other fields are of no use here.
#[derive(Deserialize)]
struct Listed {
    kty: String,
    #[serde(default, rename = "use")]
    purpose: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
}

#[derive(Deserialize)]
struct List {
    keys: Vec<serde_json::Value>,
}

/// Those of a list that can be used; the others are for other purposes. Nothing where it is no list.
pub(super) fn read(text: &str) -> Option<Vec<Key>> {
    let list: List = serde_json::from_str(text).ok()?;
    let listed = list.keys.into_iter().filter_map(|key| serde_json::from_value::<Listed>(key).ok());
    Some(listed.filter_map(Listed::key).collect())
}

impl Listed {
    fn key(self) -> Option<Key> {
        if self.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let part =
            |text: &Option<String>| text.as_deref().and_then(decoded).filter(|bytes| !bytes.is_empty());
        let (public, algorithm) = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => (Public::Rsa { n: unpadded(part(&self.n)?), e: unpadded(part(&self.e)?) }, "RS256"),
            ("EC", Some("P-256")) => {
                let (x, y) = (part(&self.x)?, part(&self.y)?);
                let is_whole = x.len() == 32 && y.len() == 32;
                (Public::P256(is_whole.then(|| [&[4], &x[..], &y[..]].concat())?), "ES256")
            }
            _ => return None,
        };
        let is_for_us = self.alg.as_deref().is_none_or(|alg| alg == algorithm);
        is_for_us.then_some(Key { kid: self.kid, public })
    }
}

/// A number's own bytes: some providers write zeros before it.
fn unpadded(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

impl Key {
    /// Whether it may have signed something of this kind. A token that names no key may be of any.
    pub(super) fn fits(&self, algorithm: Algorithm, kid: Option<&str>) -> bool {
        let is_of_kind = match self.public {
            Public::Rsa { .. } => algorithm == Algorithm::Rs256,
            Public::P256(_) => algorithm == Algorithm::Es256,
        };
        is_of_kind && kid.is_none_or(|kid| self.kid.as_deref() == Some(kid))
    }

    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.public {
            Public::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            Public::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7515, A.3.
    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
    const SIGNED: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const SIGNATURE: &str =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

    #[test]
    fn the_standards_own_example_is_verified_and_nothing_near_it() {
        let keys = read(&format!(
            "{{\"keys\":[{{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"1\",\"x\":\"{X}\",\"y\":\"{Y}\"}}]}}"
        ));
        let keys = keys.unwrap();
        let signature = decoded(SIGNATURE).unwrap();
        assert!(keys[0].has_signed(SIGNED.as_bytes(), &signature));
        assert!(!keys[0].has_signed(&SIGNED.as_bytes()[1..], &signature));
        assert!(!keys[0].has_signed(SIGNED.as_bytes(), &signature[1..]));
        assert!(keys[0].fits(Algorithm::Es256, None) && keys[0].fits(Algorithm::Es256, Some("1")));
        assert!(!keys[0].fits(Algorithm::Es256, Some("2")) && !keys[0].fits(Algorithm::Rs256, None));
    }

    #[test]
    fn keys_for_other_purposes_are_passed_over() {
        for other in [
            r#"{"kty":"oct","k":"AAAA"}"#,
            r#"{"kty":"RSA","use":"enc","n":"AQAB","e":"AQAB"}"#,
            r#"{"kty":"RSA","alg":"RS512","n":"AQAB","e":"AQAB"}"#,
            r#"{"kty":"RSA","n":"AQAB"}"#,
            r#"{"kty":"EC","crv":"P-384","x":"AQAB","y":"AQAB"}"#,
            r#"{"kty":"EC","crv":"P-256","x":"AQAB","y":"AQAB"}"#,
            r#"{"kty":3}"#,
            "null",
        ] {
            assert_eq!(read(&format!("{{\"keys\":[{other}]}}")), Some(vec![]), "{other}");
        }
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"keys":[{"kty":"RSA","n":"AAEAAQ","e":"AQAB"}]}"#).unwrap().len(), 1);
    }
}
