//! Every kind of secret, in every place and every disguise: nothing of it can be read afterwards.
//!
//! What can be read is told by a reader of its own (`read`), not by the code under test.

use std::fs::File;
use std::io::Write as _;

use super::{Redactor, Scrubber, spellings};

/// A value that is known, with everything in it that is written in another way somewhere.
const VALUE: &str = "Zq8/tR+2=wX\"vN7;mK4 jH9";

/// Put together here, so that no scanner takes this file for a leak. No two have eight letters in a row in common.
fn kinds() -> Vec<(&'static str, String, String)> {
    let made = |seed: usize, length: usize| -> String {
        let letters = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        (0..length)
            .map(|n| char::from(letters[(seed * 7 + n * (seed + 3) + n * n) % letters.len()]))
            .collect()
    };
    let plain = |name: &'static str, secret: String| (name, secret.clone(), secret);
    let jwt = format!("eyJ{}.eyJ{}.{}", made(11, 24), made(12, 30), made(13, 43));
    let (bearer, password, body) = (made(14, 40), made(15, 16), made(16, 64));
    let upper = made(9, 16).to_ascii_uppercase();
    vec![
        plain("anthropic", format!("sk-ant-api03-{}", made(1, 60))),
        plain("openai", format!("sk-proj-{}9aZ", made(2, 60))),
        plain("github", format!("ghp_{}7aB", made(3, 33))),
        plain("github, of an app", format!("ghs_{}", made(4, 36))),
        plain("github, fine", format!("github_pat_{}", made(5, 60))),
        plain("gitlab", format!("glpat-{}", made(6, 20))),
        plain("slack", format!("xoxb-{}", made(7, 40))),
        plain("google", format!("AIza{}", made(8, 35))),
        plain("amazon", format!("AKIA{upper}")),
        plain("npm", format!("npm_{}7", made(10, 35))),
        plain("a web token", jwt),
        ("a header", format!("Authorization: Bearer {bearer}"), bearer),
        ("an address", format!("https://user:{password}@host/x"), password),
        ("a private key", format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"), body),
        plain("a value", VALUE.to_owned()),
    ]
}

/// What comes before and after it.
const PLACES: [(&str, &str); 18] = [
    ("", ""),
    ("", " and more"),
    ("it is ", ""),
    ("line\n", "\nline"),
    ("line\r\n", "\r\nline"),
    ("tab\t", "\ttab"),
    ("KEY=", ";"),
    ("KEY='", "'"),
    ("{\"key\": \"", "\"}"),
    ("(", ")"),
    ("--token=", " --more"),
    ("It is ", "."),
    ("It is ", ", so"),
    ("/tmp/", "/file"),
    ("[", "]"),
    ("my-", ".txt"),
    ("word\u{1b}[0m", "\u{1b}[0mword"),
    ("old\r", "\r"),
];

type Disguise = (&'static str, fn(&str) -> String);

/// Between every few letters.
fn strewn(text: &str, what: &str) -> String {
    let letters = text.chars().enumerate();
    letters.map(|(n, c)| if n % 5 == 2 { format!("{what}{c}") } else { c.to_string() }).collect()
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn spelled(text: &str, spell: impl Fn(u32) -> String) -> String {
    let letters = text.chars().enumerate();
    letters
        .map(|(n, c)| if n % 3 == 0 && c.is_ascii_graphic() { spell(c as u32) } else { c.to_string() })
        .collect()
}

/// How a secret is written, by itself.
const DISGUISES: [Disguise; 17] = [
    ("plain", str::to_owned),
    ("colours", |text| strewn(text, "\u{1b}[1;31m")),
    ("a reset", |text| strewn(text, "\u{1b}[0m")),
    ("a link", |text| strewn(text, "\u{1b}]8;;http://x/y\u{1b}\\")),
    ("a title", |text| strewn(text, "\u{1b}]0;title\u{7}")),
    ("character sets", |text| strewn(text, "\u{1b}(B")),
    ("returns", |text| strewn(text, "\r")),
    ("backspaces", |text| strewn(text, "\u{8}")),
    ("erased letters", |text| strewn(text, "X\u{8}")),
    ("erased wide letters", |text| strewn(text, "ö\u{8}")),
    ("NUL", |text| strewn(text, "\0")),
    ("controls", |text| strewn(text, "\u{1}\u{7f}\u{9d}")),
    ("zero width", |text| strewn(text, "\u{200b}\u{feff}")),
    ("soft hyphens", |text| strewn(text, "\u{ad}")),
    ("code points", |text| spelled(text, |code| format!("\\u{code:04x}"))),
    ("code points in JSON in JSON", |text| spelled(text, |code| format!("\\\\u{code:04X}"))),
    ("spelled colours", |text| strewn(text, "\\u001b[32m")),
];

/// How the whole text is written.
const WRAPPINGS: [Disguise; 4] = [
    ("as it is", str::to_owned),
    ("in JSON", json),
    ("in JSON in JSON", |text| json(&json(text))),
    ("in JSON with all slashes escaped", |text| json(text).replace('/', "\\/")),
];

/// What a person or a program can read of it: as a terminal shows it, and with what cannot be seen left out.
fn read(text: &str) -> [String; 2] {
    let mut text = text.to_owned();
    // Until nothing is spelled any more: JSON in JSON in JSON.
    for _ in 0..4 {
        text = unescaped(&text);
    }
    let visible = without_sequences(&text);
    let mut shown = String::new();
    for c in visible.chars() {
        match c {
            '\u{8}' => drop(shown.pop()),
            c => shown.push(c),
        }
    }
    let hidden = |c: &char| {
        c.is_control() && *c != '\n' || matches!(c, '\u{200b}' | '\u{feff}' | '\u{ad}' | '\u{202e}')
    };
    [visible, shown].map(|text| text.chars().filter(|c| !hidden(c)).collect())
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let next = rest[at + 1..].chars().next();
        let (c, length) = match next {
            Some('n') => ("\n".to_owned(), 2),
            Some('r') => ("\r".to_owned(), 2),
            Some('t') => ("\t".to_owned(), 2),
            Some('b') => ("\u{8}".to_owned(), 2),
            Some('f') => ("\u{c}".to_owned(), 2),
            Some(c @ ('"' | '\\' | '/')) => (c.to_string(), 2),
            Some('u') => match rest.get(at + 2..at + 6).and_then(|hex| u32::from_str_radix(hex, 16).ok()) {
                Some(code) => (char::from_u32(code).unwrap_or('?').to_string(), 6),
                None => ("\\u".to_owned(), 2),
            },
            _ => ("\\".to_owned(), 1),
        };
        out.push_str(&c);
        rest = &rest[at + length..];
    }
    out + rest
}

fn without_sequences(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\u{1b}', Some('[')) => {
                chars.next();
                chars.find(char::is_ascii_alphabetic);
            }
            ('\u{1b}', Some(']')) => {
                while let Some(c) = chars.next() {
                    if c == '\u{7}' || c == '\u{1b}' && chars.next_if_eq(&'\\').is_some() {
                        break;
                    }
                }
            }
            ('\u{1b}', Some('(')) => drop((chars.next(), chars.next())),
            (c, _) => out.push(c),
        }
    }
    out
}

/// Whether eight letters in a row of a secret can be read.
fn is_read(text: &str, secret: &str) -> bool {
    let letters: Vec<char> = secret.chars().collect();
    let parts: Vec<String> = letters.windows(8).map(|part| part.iter().collect()).collect();
    read(text).iter().any(|text| parts.iter().any(|part| text.contains(part)))
}

fn redactor() -> Redactor {
    Redactor::new([VALUE.as_bytes().to_vec()])
}

/// What is in a file after it was written and looked at piece by piece.
fn scrubbed(redactor: &Redactor, pieces: &[&[u8]], path: &std::path::Path) -> String {
    let _ = std::fs::remove_file(path);
    let mut file = File::options().create(true).append(true).read(true).open(path).unwrap();
    let mut scrubber = Scrubber::default();
    for piece in pieces {
        file.write_all(piece).unwrap();
        scrubber.scrub(redactor, &file, path, scrubber.place() + piece.len() as u64).unwrap();
    }
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

#[test]
fn the_reader_reads_through_every_disguise() {
    for (kind, whole, secret) in kinds() {
        for (disguise, write) in DISGUISES {
            for (wrapping, wrap) in WRAPPINGS {
                let text = wrap(&format!("it is {}.", whole.replace(&secret, &write(&secret))));
                assert!(is_read(&text, &secret), "{kind}, {disguise}, {wrapping}: {text:?}");
            }
        }
    }
}

#[test]
fn no_secret_can_be_read_wherever_it_stands_and_however_it_is_written() {
    let redactor = redactor();
    let mut read = Vec::new();
    for (kind, whole, secret) in kinds() {
        for (before, after) in PLACES {
            for (disguise, write) in DISGUISES {
                for (wrapping, wrap) in WRAPPINGS {
                    let text = wrap(&format!("{before}{}{after}", whole.replace(&secret, &write(&secret))));
                    let shown = redactor.text(&text);
                    if is_read(&shown, &secret) {
                        read.push(format!("{kind}, {disguise}, {wrapping}: {text:?} is {shown:?}"));
                    }
                    assert_eq!(shown.len(), text.len(), "nothing moves");
                    if text.starts_with('"') && serde_json::from_str::<String>(&text).is_ok() {
                        assert!(serde_json::from_str::<String>(&shown).is_ok(), "{text:?} is {shown:?}");
                    }
                }
            }
        }
    }
    assert!(read.is_empty(), "{} can be read:\n{}", read.len(), read[..read.len().min(40)].join("\n"));
}

/// The words before a secret are disguised with it.
#[test]
fn what_announces_a_secret_may_be_in_disguise_too() {
    let redactor = redactor();
    for (kind, whole, secret) in kinds() {
        for (disguise, write) in DISGUISES {
            // Where words are erased, what stands before them is no announcement for a program.
            let text = format!("it is {}.", write(&whole));
            let shown = redactor.text(&text);
            assert!(!is_read(&shown, &secret), "{kind}, {disguise}: {text:?} is {shown:?}");
        }
    }
}

#[test]
fn no_secret_can_be_read_wherever_what_is_written_is_cut() {
    let (redactor, folder) = (redactor(), tempfile::tempdir().unwrap());
    let path = folder.path().join("out");
    for (number, (kind, whole, secret)) in kinds().into_iter().enumerate() {
        for (disguise, write) in DISGUISES {
            for (wrapping, wrap) in &WRAPPINGS[..2] {
                let text = wrap(&format!("line\n{}\nline", whole.replace(&secret, &write(&secret))));
                let bytes = text.as_bytes();
                for cut in (number % 7..bytes.len()).step_by(7) {
                    let (head, tail) = bytes.split_at(cut);
                    let left = scrubbed(&redactor, &[head, tail], &path);
                    assert!(
                        !is_read(&left, &secret),
                        "{kind}, {disguise}, {wrapping}, {cut}: {text:?} {left:?}"
                    );
                }
                let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
                let left = scrubbed(&redactor, &pieces, &path);
                assert!(!is_read(&left, &secret), "{kind}, {disguise}, {wrapping}: {text:?} {left:?}");
            }
        }
    }
}

#[test]
fn a_known_value_is_found_in_base64_and_in_addresses_too() {
    let redactor = redactor();
    let percent: String = VALUE.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let some = VALUE.replace('/', "%2F").replace('"', "%22").replace(' ', "%20").replace(';', "%3B");
    for text in [percent, some] {
        for (disguise, write) in &DISGUISES[..2] {
            let shown = redactor.text(&write(&text)).into_owned();
            assert!(shown.bytes().all(|byte| byte == b'*'), "{disguise}: {shown}");
        }
    }
    for before in ["", "u", "us", "usr"] {
        let encoded = spellings::base64(format!("{before}{VALUE}..").as_bytes(), spellings::STANDARD);
        for (disguise, write) in DISGUISES {
            for (wrapping, wrap) in WRAPPINGS {
                let text = wrap(&write(&encoded));
                let shown = redactor.text(&text);
                assert!(!is_read(&shown, &encoded[8..24]), "{disguise}, {wrapping}: {text:?} is {shown:?}");
            }
        }
    }
}

/// Text that is full of escapes and has no secrets stays as it is.
#[test]
fn escapes_by_themselves_are_no_secrets() {
    let plain = redactor();
    for text in [
        "\u{1b}[1mbold\u{1b}[0m 100%\r\n\u{1b}]0;title\u{7}\\u0041\\/\\b",
        "C:\\new\\table\\users\\bin\\x64 and \\033[0m",
        "\\bword\\b sk-fading-circle\u{1b}[0m-with-a-very-long-class-name",
        "see ghp_\u{1b}[0mshort, AKIA\\u0020 and eyJ\\n",
        "https:\\/\\/example.org\\/a:b@c",
        "{\"a\":\"\\u001b[31m\\u001b[0m\",\"b\":[1,2]}",
    ] {
        assert_eq!(plain.text(text), text);
    }
}
