//! What is secret, and its removal from what is kept or shown.
//!
//! A secret is known by its value, in several spellings, or by its shape. Both are looked for in the text as it is
//! written and as it is meant (`meaning`): nothing comes together again when escapes are read or left out. Every byte of
//! a secret becomes a `*`, so that nothing else moves. Values come from the caller's environment and the task; shapes
//! are those of well-known services.

#[cfg(test)]
mod canaries;
mod inputs;
mod known;
mod meaning;
mod scrubber;
mod shapes;
mod spellings;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, Input, MatchKind};

pub use known::known;
pub(crate) use known::learn;
pub(crate) use meaning::sequence;
pub(crate) use scrubber::Scrubber;

/// A shorter value is too likely to be a word that means something else.
const SHORTEST: usize = 8;

/// How much longer than a value what it is written with can be, where each letter has a colour of its own.
const SPREAD: usize = 8;

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
        let is_known = |value: &[u8]| self.values.binary_search_by(|known| (**known).cmp(value)).is_ok();
        let is_old = |value: &[u8]| value.len() < SHORTEST || is_known(value);
        if values.iter().all(|value| is_old(value.trim_ascii())) {
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
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(clean) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        }
    }

    /// The bytes without their secrets.
    pub(crate) fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let secrets = self.secrets(bytes);
        if secrets.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut clean = bytes.to_vec();
        secrets.into_iter().for_each(|secret| blot(&mut clean[secret]));
        Cow::Owned(clean)
    }

    /// The beginning of the text, so many characters long, without secrets: a cut one would not be known any more.
    pub(crate) fn cut(&self, text: &str, most: usize) -> String {
        let text = self.text(text);
        let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
        text[..end].to_owned()
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
        find(finders, bytes, |_| false, |secret| found.push(secret));
        let reach = shapes::LONGEST.max(SPREAD * self.longest());
        for view in meaning::views(bytes, reach) {
            find(finders, &view.bytes, |at| view.is_seam(at), |secret| found.extend(view.written(secret)));
            // What was in the way of an escape is gone now.
            for inner in meaning::views(&view.bytes, reach) {
                let written = |secret| view.written(inner.written(secret)?);
                find(finders, &inner.bytes, |at| inner.is_seam(at), |secret| found.extend(written(secret)));
            }
        }
        found.iter_mut().for_each(|secret| *secret = with_whole_escapes(bytes, secret.clone()));
        joined(found)
    }

    /// One for the shapes, then those for the values.
    fn finders(&self) -> Option<&[AhoCorasick]> {
        let make = || {
            let mut spellings: Vec<Vec<u8>> =
                self.values.iter().flat_map(|value| spellings::all(value)).collect();
            spellings.extend(self.values.iter().map(|value| meaning::of(value)));
            spellings.retain(|spelling| spelling.len() >= SHORTEST);
            spellings.sort_unstable();
            spellings.dedup();
            let beginnings = shapes::BEGINNINGS.map(|prefix| prefix.as_bytes().to_vec());
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

/// Each secret in these bytes, in no order.
fn find(
    finders: &[AhoCorasick],
    bytes: &[u8],
    is_seam: impl Fn(usize) -> bool,
    mut found: impl FnMut(Range<usize>),
) {
    for (number, finder) in finders.iter().enumerate() {
        let mut from = 0;
        while let Some(hit) = finder.find(Input::new(bytes).span(from..bytes.len())) {
            from = hit.start() + 1;
            match number {
                0 => shapes::secret_at(bytes, hit.start(), &is_seam).into_iter().for_each(&mut found),
                _ => found(hit.range()),
            }
        }
    }
}

/// The secret with the whole of the escapes it begins or ends in: half of one would break the text around it.
fn with_whole_escapes(bytes: &[u8], secret: Range<usize>) -> Range<usize> {
    let is_odd = |bytes: &[u8]| bytes.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
    let start = match meaning::spelling_around(bytes, secret.start) {
        Some(spelling) => spelling.start,
        None => secret.start - usize::from(is_odd(&bytes[..secret.start])),
    };
    let end = match meaning::spelling_around(bytes, secret.end) {
        Some(spelling) => spelling.end,
        None => {
            let next = bytes.get(secret.end).is_some_and(u8::is_ascii);
            secret.end + usize::from(next && is_odd(&bytes[secret.clone()]))
        }
    };
    start..end
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

/// Whether the name of a variable says that its value is no secret.
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
