//! How parts are at the remote: in plain text, or compressed and sealed for a list of recipients in the form of age.

use std::io::{self, Read, Write};

use age::DecryptError;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use conductor_core::sync::Digest;

use super::error::SyncError;
use super::keys::{Key, recipient};

/// What a name ends in where its part is sealed.
const SEALED: &str = ".gz.age";

/// More than this is no part of ours: a small file that unpacks to all memory is refused.
const LARGEST: u64 = 2 << 30;

/// What opening a part can fail with.
pub(super) enum Unsealed {
    /// None of our keys is for it.
    NotForUs,
    Damaged(String),
}

pub(super) fn name_of(part: &str, is_plain: bool) -> String {
    if is_plain { part.to_owned() } else { format!("{part}{SEALED}") }
}

pub(super) fn seal(bytes: &[u8], recipients: &[String]) -> Result<Vec<u8>, SyncError> {
    let keys: Vec<_> = recipients.iter().map(|text| recipient(text)).collect::<Result<_, _>>()?;
    let each = keys.iter().map(|key| key as &dyn age::Recipient);
    let encryptor = age::Encryptor::with_recipients(each).map_err(|_| SyncError::NoRecipient)?;
    sealed(encryptor, bytes).map_err(|source| SyncError::File { path: "memory".into(), source })
}

fn sealed(encryptor: age::Encryptor, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() / 4 + 512);
    let mut packed = GzEncoder::new(encryptor.wrap_output(&mut out)?, Compression::fast());
    packed.write_all(bytes)?;
    packed.finish()?.finish()?;
    Ok(out)
}

pub(super) fn unseal(bytes: &[u8], key: &Key) -> Result<Vec<u8>, Unsealed> {
    let damaged = |why: String| Unsealed::Damaged(why);
    let decryptor = age::Decryptor::new_buffered(bytes).map_err(|error| damaged(in_words(&error)))?;
    let plain = decryptor.decrypt(key.identities()).map_err(|error| match error {
        DecryptError::NoMatchingKeys => Unsealed::NotForUs,
        error => damaged(in_words(&error)),
    })?;
    let mut out = Vec::new();
    let mut unpacked = GzDecoder::new(plain).take(LARGEST);
    let cut =
        |error: io::Error| damaged(format!("it does not open ({error}): it was tampered with or cut short"));
    unpacked.read_to_end(&mut out).map_err(cut)?;
    match out.len() as u64 == LARGEST {
        true => Err(damaged("it is larger than any part of a run".to_owned())),
        false => Ok(out),
    }
}

/// Its own words are for programs that read a file a person named.
fn in_words(error: &DecryptError) -> String {
    match error {
        DecryptError::InvalidHeader | DecryptError::InvalidMac => {
            "its encryption was tampered with or cut short".to_owned()
        }
        DecryptError::DecryptionFailed => "it does not decrypt: it was tampered with or cut short".to_owned(),
        error => error.to_string(),
    }
}

pub(super) fn digest(bytes: &[u8]) -> Digest {
    let sum = Sha256::digest(bytes);
    let sha256 = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    Digest { sha256, bytes: bytes.len() as u64 }
}
