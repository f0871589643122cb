//! What is secret, and its removal from what is kept or shown.
//!
//! A secret is known by its value, in several spellings, or by its shape. Every byte of it becomes a `*`, so that
//! nothing else moves. Values come from the caller's environment and the task; shapes are those of well-known services.

mod scrubber;
mod shapes;
mod spellings;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, Input, MatchKind};
use conductor_core::event::{Failure, Outcome, Question};

pub(crate) use scrubber::Scrubber;

/// A shorter value is too likely to be a word that means something else.
const SHORTEST: usize = 8;

/// So many words at once are found many times faster than more of them.
const AT_ONCE: usize = 32;

/// Finds secrets and blots them out.
#[derive(Debug, Default)]
pub struct Redactor {
    values: Vec<Vec<u8>>,
    /// Made when there is first something to look at: most attempts say nothing.
    finders: OnceLock<Option<Vec<AhoCorasick>>>,
}

impl Redactor {
    pub fn new(values: impl IntoIterator<Item = Vec<u8>>) -> Redactor {
        let mut values: Vec<Vec<u8>> = values
            .into_iter()
            .map(|value| value.trim_ascii().to_vec())
            .filter(|v| v.len() >= SHORTEST)
            .collect();
        values.sort_unstable();
        values.dedup();
        Redactor { values, finders: OnceLock::new() }
    }

    /// One that knows shapes only.
    pub fn of_shapes() -> Arc<Redactor> {
        static SHAPES: LazyLock<Arc<Redactor>> = LazyLock::new(Arc::default);
        SHAPES.clone()
    }

    /// This one, knowing more.
    pub fn and(self: &Arc<Redactor>, values: Vec<Vec<u8>>) -> Arc<Redactor> {
        if values.iter().all(|value| value.len() < SHORTEST) {
            return self.clone();
        }
        Arc::new(Redactor::new(self.values.iter().cloned().chain(values)))
    }

    /// Whether both know the same.
    pub(crate) fn is_like(&self, other: &Redactor) -> bool {
        self.values == other.values
    }

    /// The text without its secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let secrets = self.secrets(text.as_bytes());
        if secrets.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut bytes = text.as_bytes().to_vec();
        for secret in secrets {
            blot(&mut bytes[secret]);
        }
        Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn failure(&self, failure: Failure) -> Failure {
        Failure {
            message: self.text(&failure.message).into_owned(),
            evidence: self.text(&failure.evidence).into(),
            ..failure
        }
    }

    pub fn outcome(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Failed(failure) => Outcome::Failed(self.failure(failure)),
            Outcome::Asked(question) => {
                let what = self.text(&question.what).into_owned();
                Outcome::Asked(Box::new(Question { what, ..*question }))
            }
            other => other,
        }
    }

    /// Where the secrets are, in order and apart from each other.
    fn secrets(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if bytes.is_empty() {
            return found;
        }
        // What cannot be looked through is not to be shown either.
        let Some(finders) = self.finders() else {
            found.push(0..bytes.len());
            return found;
        };
        for (number, finder) in finders.iter().enumerate() {
            let mut from = 0;
            while let Some(hit) = finder.find(Input::new(bytes).span(from..bytes.len())) {
                from = hit.start() + 1;
                match number {
                    0 => found.extend(shapes::secret_at(bytes, hit.start())),
                    _ => found.push(hit.range()),
                }
            }
        }
        joined(found)
    }

    /// One for the shapes, then those for the values.
    fn finders(&self) -> Option<&[AhoCorasick]> {
        let make = || {
            let mut spellings: Vec<Vec<u8>> =
                self.values.iter().flat_map(|value| spellings::all(value)).collect();
            spellings.retain(|spelling| spelling.len() >= SHORTEST);
            spellings.sort_unstable();
            spellings.dedup();
            let beginnings = shapes::BEGINNINGS.map(|beginning| beginning.as_bytes().to_vec());
            std::iter::once(&beginnings[..]).chain(spellings.chunks(AT_ONCE)).map(finder).collect()
        };
        self.finders.get_or_init(make).as_deref()
    }

    /// The longest stretch in which a value can still be recognised.
    fn longest(&self) -> usize {
        let finders = self.finders().unwrap_or_default();
        finders.iter().map(AhoCorasick::max_pattern_len).max().unwrap_or_default()
    }
}

fn finder(words: &[Vec<u8>]) -> Option<AhoCorasick> {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(words).ok()
}

fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Lines stay lines.
fn blot(secret: &mut [u8]) {
    for byte in secret.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        *byte = b'*';
    }
}

/// Last words of names whose values are no secrets, whatever else the name says.
const HARMLESS: [&str; 24] = [
    "DIR", "DOMAIN", "ENDPOINT", "FILE", "FOLDER", "HOME", "HOST", "ID", "LEVEL", "LOCATION", "MODE",
    "MODEL", "NAME", "PATH", "PORT", "PROFILE", "PROJECT", "REGION", "RETRIES", "SOCK", "TIMEOUT", "TYPE",
    "USER", "VERSION",
];

/// Words that say what a variable holds.
const TELLING: [&str; 13] = [
    "KEY",
    "KEYS",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
    "COOKIE",
];

/// Whether the name of a variable says that its value is a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    let tells = |word: &str| TELLING.iter().any(|telling| word.ends_with(telling));
    let short = |word: &str| matches!(word, "PWD" | "PASS" | "PAT") && word.len() < name.len();
    !is_harmless_name(&name) && words().any(|word| tells(word) || short(word))
}

/// Whether what somebody passes on by this name is of no interest to anybody else.
pub fn is_harmless_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    HARMLESS.contains(&last) || name.ends_with("_BASE_URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "pa\"ss/wörd+7\\end";

    fn redactor() -> Redactor {
        Redactor::new([VALUE.as_bytes().to_vec(), b"short".to_vec(), b"canary-one-two-three\n".to_vec()])
    }

    #[test]
    fn a_value_is_found_in_every_usual_spelling() {
        let redactor = redactor();
        let json = serde_json::to_string(VALUE).unwrap();
        let twice = serde_json::to_string(&json).unwrap();
        for spelling in
            [VALUE, &json, &twice, "pa%22ss%2Fw%C3%B6rd%2B7%5Cend", "pa%22ss%2fw%c3%b6rd%2b7%5cend"]
        {
            let text = format!("a {spelling} b");
            let shown = redactor.text(&text);
            assert!(!shown.contains("ss") && !shown.contains("end"), "{spelling}: {shown}");
            assert!(shown.starts_with("a ") && shown.ends_with(" b"));
            assert_eq!(shown.len(), text.len());
        }
        assert_eq!(redactor.text("short canary-one-two-thre"), "short canary-one-two-thre");
        assert_eq!(redactor.text("xcanary-one-two-threex"), "x********************x");
    }

    #[test]
    fn base64_is_found_wherever_the_value_lies_in_what_was_encoded() {
        let redactor = redactor();
        for text in [
            "canary-one-two-three",
            "canary-one-two-three\n",
            "u:canary-one-two-three",
            "user:canary-one-two-three!",
        ] {
            let encoded = spellings::base64(text.as_bytes(), spellings::STANDARD);
            let shown = redactor.text(&encoded).into_owned();
            let plain = shown.bytes().filter(|&byte| byte != b'*').count();
            // What shares a group of four with other bytes stays: at most two bytes at either end.
            let other = text.len() - "canary-one-two-three".len();
            assert!(plain <= (other + 2) * 4 / 3 + 8, "{text:?}: {encoded} {shown}");
            assert!(shown.contains("****************"), "{shown}");
        }
    }

    #[test]
    fn overlapping_secrets_are_gone_together() {
        let redactor =
            Redactor::new([b"abcdefgh".to_vec(), b"efghijkl".to_vec(), b"abcdefgh-and-more".to_vec()]);
        assert_eq!(redactor.text("abcdefghijkl."), "************.");
        assert_eq!(redactor.text("abcdefgh-and-more."), "*****************.");
        assert_eq!(redactor.text("Authorization: Basic abcdefghijkl!"), "Authorization: Basic ************!");
    }

    #[test]
    fn names_tell() {
        for name in [
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "api-key",
            "APIKEY",
            "MYSQL_PWD",
            "X_AUTH",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in
            ["PWD", "AUTHOR", "SSH_AUTH_SOCK", "KEYBOARD", "TOKEN_FILE", "LANG", "AWS_ACCESS_KEY_ID", ""]
        {
            assert!(!is_secret_name(name), "{name}");
        }
        assert!(is_harmless_name("AWS_REGION") && is_harmless_name("ANTHROPIC_BASE_URL"));
        assert!(!is_harmless_name("DATABASE_URL"));
    }

    #[test]
    fn without_values_only_shapes_are_found_and_nothing_is_copied() {
        let plain = Redactor::of_shapes();
        assert!(matches!(plain.text("nothing to see, task-1 and risk-free"), Cow::Borrowed(_)));
        assert!(Arc::ptr_eq(&plain, &plain.and(vec![b"short".to_vec()])));
        assert_eq!(plain.and(vec![b"longer-one".to_vec()]).text("a longer-one"), "a **********");
        assert_eq!(plain.text(""), "");
    }
}
