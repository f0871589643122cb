//! Who says what: keys, and messages that are signed with them.
//!
//! A message is signed for one queue. Whether the key that it is signed with may say what it says is not known here.

use std::fmt;
use std::io;
use std::path::Path;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::dispatch::broker::Queue;
use crate::host::access;

/// What every signed message begins with, and what is signed along with it: a signature of ours is good for nothing else.
const KIND: &str = "conductor-message/1";

/// What a signature that vouches for a key is made over, beside the words.
const CERTIFICATE: &str = "conductor-certificate/1";

/// The public half of a key: 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyId([u8; 32]);

/// A key, which can sign. It is never shown.
pub struct Key {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

/// Why a message is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadSignature {
    #[error("it is not signed")]
    Unsigned,
    #[error("its signature does not fit what it says, or the queue it was in")]
    Forged,
}

impl Key {
    pub fn generate() -> io::Result<Key> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(io::Error::other)?;
        Key::of_seed(seed)
    }

    fn of_seed(seed: [u8; 32]) -> io::Result<Key> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed)
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Key { seed, pair })
    }

    /// What a key is written down as, where only its owner reads it.
    pub fn secret(&self) -> String {
        hex(&self.seed)
    }

    pub fn of_secret(secret: &str) -> Option<Key> {
        Key::of_seed(unhex(secret.trim())?).ok()
    }

    /// The key in a file that only the user can read, made where there is none.
    pub fn kept(path: &Path) -> io::Result<Key> {
        match std::fs::read_to_string(path) {
            Ok(text) => Key::of_secret(&text).ok_or_else(|| {
                let why = format!("{} holds no key; it is 64 hexadecimal digits", path.display());
                io::Error::new(io::ErrorKind::InvalidData, why)
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = Key::generate()?;
                if let Some(folder) = path.parent() {
                    access::create_private_dir_all(folder)?;
                }
                use std::io::Write as _;
                let opened = access::private().write(true).create_new(true).open(path);
                match opened {
                    Ok(mut file) => file.write_all(key.secret().as_bytes())?,
                    // Another process has made it in the meantime.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Key::kept(path),
                    Err(error) => return Err(error),
                }
                Ok(key)
            }
            Err(error) => Err(error),
        }
    }

    pub fn id(&self) -> KeyId {
        let mut public = [0; 32];
        public.copy_from_slice(self.pair.public_key().as_ref());
        KeyId(public)
    }

    /// A message for this queue.
    pub fn sign(&self, queue: &Queue, body: &[u8]) -> Vec<u8> {
        let signature = self.pair.sign(&to_sign(queue, body));
        let mut message = format!("{KIND} {} {}\n", self.id(), hex(signature.as_ref())).into_bytes();
        message.extend_from_slice(body);
        message
    }

    /// A signature by which this key vouches for what the words say.
    pub fn vouch(&self, words: &str) -> String {
        hex(self.pair.sign(format!("{CERTIFICATE}\n{words}").as_bytes()).as_ref())
    }
}

impl KeyId {
    pub fn parse(text: &str) -> Option<KeyId> {
        unhex(text).map(KeyId)
    }

    /// Enough of it to tell it from others in a name.
    pub fn short(&self) -> String {
        hex(&self.0[..8])
    }

    pub fn vouches(&self, words: &str, signature: &str) -> bool {
        let Some(signature) = unhex::<64>(signature) else { return false };
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        key.verify(format!("{CERTIFICATE}\n{words}").as_bytes(), &signature).is_ok()
    }
}

/// Who signed a message that was in this queue, and what it says.
pub fn open<'m>(queue: &Queue, message: &'m [u8]) -> Result<(KeyId, &'m [u8]), BadSignature> {
    let end = message.iter().position(|&byte| byte == b'\n').ok_or(BadSignature::Unsigned)?;
    let (head, body) = (&message[..end], &message[end + 1..]);
    let head = std::str::from_utf8(head).map_err(|_| BadSignature::Unsigned)?;
    let mut words = head.split(' ');
    let (Some(KIND), Some(key), Some(signature), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(BadSignature::Unsigned);
    };
    let key = KeyId::parse(key).ok_or(BadSignature::Unsigned)?;
    let signature = unhex::<64>(signature).ok_or(BadSignature::Unsigned)?;
    let public = UnparsedPublicKey::new(&ED25519, &key.0);
    public.verify(&to_sign(queue, body), &signature).map_err(|_| BadSignature::Forged)?;
    Ok((key, body))
}

fn to_sign(queue: &Queue, body: &[u8]) -> Vec<u8> {
    let mut words = format!("{KIND}\n{}\n", queue.0).into_bytes();
    words.extend_from_slice(body);
    words
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key of {}", self.id())
    }
}

impl From<KeyId> for String {
    fn from(key: KeyId) -> String {
        key.to_string()
    }
}

impl TryFrom<String> for KeyId {
    type Error = String;

    fn try_from(text: String) -> Result<KeyId, String> {
        KeyId::parse(&text).ok_or_else(|| format!("{text:?} is no key; it has 64 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(name: &str) -> Queue {
        Queue(name.to_owned())
    }

    #[test]
    fn what_is_signed_is_opened_where_it_was_sent_to() {
        let key = Key::generate().unwrap();
        let message = key.sign(&queue("a"), b"words\nof two lines");
        assert_eq!(open(&queue("a"), &message), Ok((key.id(), b"words\nof two lines".as_slice())));
        assert_eq!(open(&queue("b"), &message), Err(BadSignature::Forged), "it was put into another queue");
    }

    #[test]
    fn whatever_byte_is_changed_the_message_is_refused() {
        let key = Key::generate().unwrap();
        let message = key.sign(&queue("a"), b"words");
        for at in 0..message.len() {
            let mut changed = message.clone();
            changed[at] ^= 1;
            let opened = open(&queue("a"), &changed);
            assert!(opened.is_err(), "{at}: {opened:?}");
        }
        for cut in 0..message.len() {
            assert!(open(&queue("a"), &message[..cut]).is_err());
        }
    }

    #[test]
    fn what_another_key_has_signed_is_not_ours() {
        let (ours, theirs) = (Key::generate().unwrap(), Key::generate().unwrap());
        let message = theirs.sign(&queue("a"), b"words");
        let (who, _) = open(&queue("a"), &message).unwrap();
        assert_ne!(who, ours.id());
        // The name of our key over their signature.
        let text =
            String::from_utf8(message).unwrap().replace(&theirs.id().to_string(), &ours.id().to_string());
        assert_eq!(open(&queue("a"), text.as_bytes()), Err(BadSignature::Forged));
    }

    #[test]
    fn a_key_vouches_for_words_and_no_others() {
        let key = Key::generate().unwrap();
        let signature = key.vouch("run r1");
        assert!(key.id().vouches("run r1", &signature));
        assert!(!key.id().vouches("run r2", &signature));
        assert!(!Key::generate().unwrap().id().vouches("run r1", &signature));
        assert!(!key.id().vouches("run r1", "nonsense"));
    }

    #[test]
    fn a_key_is_made_once_and_kept_from_others() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys").join("key");
        let key = Key::kept(&path).unwrap();
        assert_eq!(Key::kept(&path).unwrap().id(), key.id());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!format!("{key:?}").contains(&key.secret()));
        std::fs::write(&path, "nonsense").unwrap();
        assert!(Key::kept(&path).is_err(), "another key is never made in place of one that cannot be read");
    }
}
