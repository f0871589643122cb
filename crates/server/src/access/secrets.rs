//! Credentials are random, and kept only as what is computed from them.

use sha2::{Digest as _, Sha256};

/// 256 bits that cannot be guessed, in letters that survive every shell and address.
pub(crate) fn random(prefix: &str) -> std::io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(format!("{prefix}{}", hex(&bytes)))
}

/// What is kept of a credential. It is random already, so that nothing slower is needed.
pub(crate) fn hash(credential: &str) -> String {
    hash_bytes(credential.as_bytes())
}

pub(crate) fn hash_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Whether two are the same, in a time that says nothing about where they differ.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let (one, other) = (Sha256::digest(one.as_bytes()), Sha256::digest(other.as_bytes()));
    one.iter().zip(other.iter()).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        text.push_str(&format!("{byte:02x}"));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_differ_and_compare() {
        let (one, other) = (random("cdt_").unwrap(), random("cdt_").unwrap());
        assert_eq!(one.len(), 4 + 64);
        assert_ne!(one, other);
        assert!(same(&one, &one) && !same(&one, &other) && !same(&one, ""));
        assert_eq!(hash("a"), "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
    }
}
