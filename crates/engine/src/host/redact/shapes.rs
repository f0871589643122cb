//! Secrets that are known by what they look like.

use std::ops::Range;

/// How a secret of a known shape begins, or the words before it. The fewer, the faster they are found.
pub(super) const BEGINNINGS: [&str; 19] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "AKIA",
    "ASIA",
    "xox",
    "AIza",
    "npm_",
    "eyJ",
    "-----BEGIN ",
    "uthorization",
    "UTHORIZATION",
    "Bearer ",
    "://",
];

/// Nothing that is meant to be kept secret is longer.
pub(super) const LONGEST: usize = 16 << 10;

/// The secret that begins here, or that what begins here announces. A word may begin and end at every seam.
pub(super) fn secret_at(bytes: &[u8], at: usize, is_seam: impl Fn(usize) -> bool) -> Option<Range<usize>> {
    let here = &bytes[at..];
    let begins = |prefix: &str| here.starts_with(prefix.as_bytes());
    match here.first()? {
        b'-' if begins("-----BEGIN ") => pem(bytes, at),
        b'u' | b'U' if begins("uthorization") || begins("UTHORIZATION") => {
            header(bytes, at + "uthorization".len())
        }
        b'B' if begins("Bearer ") => {
            let token = token(bytes, at + "Bearer ".len(), is_token68);
            (token.len() >= 20 && has(&bytes[token.clone()], u8::is_ascii_digit)).then_some(token)
        }
        b':' if begins("://") => password(bytes, at + "://".len()),
        _ if is_inside_word(bytes, at) && !is_seam(at) => {
            key(bytes, at, is_seam).filter(|key| is_unmistakable(&bytes[key.clone()]))
        }
        _ => key(bytes, at, is_seam),
    }
}

/// Whether a letter comes before, other than that of an escaped end of a line or the like.
fn is_inside_word(bytes: &[u8], at: usize) -> bool {
    let escape = |pair: &[u8]| pair[0] == b'\\' && b"abefnrtv0".contains(&pair[1]);
    bytes[..at].last().is_some_and(u8::is_ascii_alphanumeric)
        && !bytes[..at].last_chunk::<2>().is_some_and(|pair| escape(pair))
}

/// Whether a key is one even right behind a letter.
fn is_unmistakable(key: &[u8]) -> bool {
    let beginnings = ["sk-ant-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox"];
    beginnings.iter().any(|prefix| key.starts_with(prefix.as_bytes())) && is_mixed(key)
}

/// A key of a service that gives its keys a beginning of their own.
fn key(bytes: &[u8], at: usize, is_seam: impl Fn(usize) -> bool) -> Option<Range<usize>> {
    let here = &bytes[at..];
    let run = |class: fn(u8) -> bool| token(bytes, at, class);
    let long = |class: fn(u8) -> bool, least: usize| Some(run(class)).filter(|run| run.len() >= least);
    match here.get(..4)? {
        [b's', b'k', b'-', _] if here.starts_with(b"sk-ant-") => long(is_word, "sk-ant-".len() + 16),
        [b's', b'k', b'-', _] => long(is_word, 32).filter(|run| is_mixed(&bytes[run.clone()])),
        b"ghp_" | b"gho_" | b"ghu_" | b"ghs_" | b"ghr_" => long(is_word, 40),
        b"gith" => long(is_word, "github_pat_".len() + 22),
        b"glpa" => long(is_word, "glpat-".len() + 20),
        b"npm_" => long(is_word, 40).filter(|run| has(&bytes[run.clone()], u8::is_ascii_digit)),
        b"AKIA" | b"ASIA" => {
            let run = run(|byte| byte.is_ascii_alphanumeric());
            let upper = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
            let ends = run.len() == 20 || run.len() > 20 && is_seam(at + 20);
            (ends && bytes[at..at + 20].iter().all(upper)).then_some(at..at + 20)
        }
        b"AIza" => long(is_word, 39),
        [b'x', b'o', b'x', b'a' | b'b' | b'e' | b'o' | b'p' | b'r' | b's'] if here.get(4) == Some(&b'-') => {
            long(is_word, "xoxb-".len() + 10)
        }
        [b'e', b'y', b'J', _] => {
            let run = run(|byte| is_word(byte) || byte == b'.');
            // What ends a sentence, or what the token stands before, is no fourth part.
            let parts = bytes[run.clone()].split(|&byte| byte == b'.').take(3);
            let whole = parts.clone().count() == 3 && parts.clone().all(|part| part.len() >= 10);
            whole.then(|| at..at + 2 + parts.map(<[u8]>::len).sum::<usize>())
        }
        _ => None,
    }
}

/// `Authorization: Bearer …`, `"authorization": "Basic …"` and the like; only what follows the scheme is secret.
fn header(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let gap = token(bytes, at, |byte| matches!(byte, b' ' | b':' | b'=' | b'"' | b'\'' | b'\\'));
    if gap.is_empty() || gap.len() > 8 {
        return None;
    }
    let scheme = token(bytes, gap.end, |byte| byte.is_ascii_alphabetic());
    let known = ["bearer", "basic", "token"];
    if !known.iter().any(|name| bytes[scheme.clone()].eq_ignore_ascii_case(name.as_bytes())) {
        return None;
    }
    let space = token(bytes, scheme.end, |byte| byte == b' ');
    let secret = token(bytes, space.end, is_token68);
    (!space.is_empty() && secret.len() >= 8).then_some(secret)
}

/// The password in `scheme://user:password@host`.
fn password(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let part = |byte: u8| {
        byte.is_ascii_graphic() && !matches!(byte, b'/' | b'@' | b':' | b'"' | b'\'' | b'\\' | b'<')
    };
    let user = token(bytes, at, part);
    let secret = token(bytes, user.end + 1, |byte| byte == b':' || part(byte));
    let between = bytes.get(user.end) == Some(&b':') && bytes.get(secret.end) == Some(&b'@');
    // A name in braces or after a dollar stands for a secret and is none.
    let stands_for = matches!(bytes.get(secret.start), Some(b'$' | b'{'));
    (between && !secret.is_empty() && !stands_for).then_some(secret)
}

/// A private key in a block of its own, with real or escaped ends of lines.
fn pem(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let until = bytes.len().min(at + LONGEST);
    let title = find(&bytes[at + 11..until.min(at + 80)], b"-----")?;
    if !bytes[at..at + 11 + title].ends_with(b"PRIVATE KEY") {
        return None;
    }
    let body = at + 11 + title + 5;
    let end = match find(&bytes[body..until], b"-----END ") {
        Some(end) => body + end,
        None => {
            let inside = |byte: u8| {
                byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=\\:,-".contains(&byte)
            };
            // The dashes of its end may have begun.
            let body = token(bytes, body, inside);
            let end = find(&bytes[body.clone()], b"--").map_or(body.end, |dashes| body.start + dashes);
            let end = if bytes[body.start..end].ends_with(b"-") { end - 1 } else { end };
            // A backslash at the end belongs to what comes behind it.
            end - bytes[body.start..end].iter().rev().take_while(|&&byte| byte == b'\\').count()
        }
    };
    Some(body..end)
}

/// The longest stretch of such bytes from here on.
fn token(bytes: &[u8], at: usize, class: impl Fn(u8) -> bool) -> Range<usize> {
    let at = at.min(bytes.len());
    let until = bytes.len().min(at + LONGEST);
    let length = bytes[at..until].iter().position(|&byte| !class(byte)).unwrap_or(until - at);
    at..at + length
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_token68(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Names of people and files are seldom all of this.
fn is_mixed(bytes: &[u8]) -> bool {
    has(bytes, u8::is_ascii_digit)
        && has(bytes, u8::is_ascii_uppercase)
        && has(&bytes[3..], u8::is_ascii_lowercase)
}

fn has(bytes: &[u8], what: fn(&u8) -> bool) -> bool {
    bytes.iter().any(what)
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::super::Redactor;

    /// Put together here, so that no scanner takes this file for a leak.
    fn made(prefix: &str, length: usize) -> String {
        let body: String = "aB3dE6gH9".chars().cycle().take(length).collect();
        format!("{prefix}{body}")
    }

    #[test]
    fn keys_of_well_known_services_are_found() {
        let plain = Redactor::of_shapes();
        for (prefix, length) in [
            ("sk-ant-api03-", 80),
            ("sk-", 48),
            ("sk-proj-", 100),
            ("ghp_", 36),
            ("gho_", 36),
            ("ghs_", 36),
            ("github_pat_", 60),
            ("xoxb-1-", 20),
            ("AIza", 35),
            ("glpat-", 20),
            ("npm_", 36),
        ] {
            let key = made(prefix, length);
            for text in
                [key.clone(), format!("x={key} y"), format!("{{\"key\":\"{key}\"}}"), format!("({key})")]
            {
                let shown = plain.text(&text);
                assert!(!shown.contains(prefix) && !shown.contains("aB3d"), "{text}: {shown}");
                assert_eq!(shown.replace('*', "").len(), text.len() - key.len());
            }
        }
        assert_eq!(plain.text("id AKIAABCDEFGHIJKLMNOP."), "id ********************.");
        let jwt = format!("eyJ{}.eyJ{}.{}", made("", 20), made("", 20), made("", 30));
        assert_eq!(plain.text(&jwt), "*".repeat(jwt.len()));
    }

    #[test]
    fn what_only_looks_a_little_like_a_key_stays() {
        let plain = Redactor::of_shapes();
        for text in [
            "task-parser-implementation-details-and-more-of-them",
            "sk-fading-circle-with-a-very-long-class-name",
            "see ghp_short, AKIA, AIza and xoxb-",
            "AKIAABCDEFGHIJKLMNOPQ",
            "AKIAabcdefghijklmnop",
            "eyJhbGciOiJIUzI1NiJ9",
            "Authorization: required",
            "authorization: Bearer $TOKEN",
            "a Bearer of bad news",
            "https://example.org/a:b@c",
            "https://user@example.org",
            "postgres://user:$PASSWORD@host/db",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "-----BEGIN ",
            "://",
        ] {
            assert_eq!(plain.text(text), text);
        }
    }

    #[test]
    fn headers_addresses_and_private_keys_lose_only_what_is_secret() {
        let plain = Redactor::of_shapes();
        for (text, shown) in [
            ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***********"),
            ("{\"authorization\":\"Basic dXNlcjpw\"}", "{\"authorization\":\"Basic ********\"}"),
            ("AUTHORIZATION=token abcdefgh1", "AUTHORIZATION=token *********"),
            ("postgres://me:hunter2@db/x", "postgres://me:*******@db/x"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\n-----END RSA PRIVATE KEY-----\nnext",
                "-----BEGIN RSA PRIVATE KEY-----\n*******\n-----END RSA PRIVATE KEY-----\nnext",
            ),
            (
                "{\"k\":\"-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n\"}",
                "{\"k\":\"-----BEGIN PRIVATE KEY-----********-----END PRIVATE KEY-----\\n\"}",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN PRIVATE KEY-----\n****"),
        ] {
            assert_eq!(plain.text(text), shown);
        }
    }
}
