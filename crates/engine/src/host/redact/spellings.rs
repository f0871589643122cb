//! The ways in which a value turns up in output.

pub(super) const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_ADDRESSES: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Where `base64` breaks its lines.
const LINE: usize = 76;

/// Of a value of several lines each line counts that is at least this long.
const TELLING_LINE: usize = 16;

/// As it is, inside JSON, inside JSON inside JSON, in an address, in base64.
pub(super) fn all(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![value.to_vec()];
    all.extend(
        value.split(|&byte| byte == b'\n').filter(|line| line.len() >= TELLING_LINE).map(<[u8]>::to_vec),
    );
    if let Ok(text) = std::str::from_utf8(value) {
        let once = in_json(text);
        all.extend([once.replace('/', "\\/"), in_json(&once), once].map(String::into_bytes));
    }
    all.extend([percent(value, b"0123456789ABCDEF"), percent(value, b"0123456789abcdef")]);
    for alphabet in [STANDARD, FOR_ADDRESSES] {
        all.extend((0..3).map(|before| inside_base64(value, before, alphabet)));
        let whole = base64(value, alphabet);
        all.extend(whole.as_bytes().chunks(LINE).filter(|_| whole.len() > LINE).map(<[u8]>::to_vec));
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn percent(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte),
            _ => out.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]),
        }
    }
    out
}

/// What of the value can be seen in base64 where so many bytes come before it, whatever comes after it.
fn inside_base64(value: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend(value);
    let encoded = base64(&bytes, alphabet).into_bytes();
    let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded[from..to].to_vec()
}

pub(super) fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let number =
            group.iter().enumerate().fold(0_u32, |n, (place, &byte)| n | u32::from(byte) << (16 - 8 * place));
        for place in 0..4 {
            match place <= group.len() {
                true => out.push(char::from(alphabet[(number >> (18 - 6 * place)) as usize & 63])),
                false => out.push('='),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_usual_one() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("\u{3ff}?", "z78/"),
        ] {
            assert_eq!(base64(plain.as_bytes(), STANDARD), encoded);
        }
        assert_eq!(base64("\u{3ff}?".as_bytes(), FOR_ADDRESSES), "z78_");
    }

    #[test]
    fn what_is_seen_of_a_value_is_in_every_encoding_of_it() {
        let value = b"a-secret-value-of-some-length";
        for before in 0..7 {
            for after in 0..4 {
                let text = [&b"xyzabcd"[..before], value, &b"...."[..after]].concat();
                let (encoded, seen) = (base64(&text, STANDARD), inside_base64(value, before % 3, STANDARD));
                let seen = String::from_utf8(seen).unwrap();
                assert!(encoded.contains(&seen), "{before} {after}: {encoded} {seen}");
                assert!(seen.len() >= value.len() * 4 / 3 - 3);
            }
        }
    }

    #[test]
    fn wrapped_base64_and_single_lines_are_known_too() {
        let value: Vec<u8> = (0..200).map(|n| b'a' + n % 26).collect();
        let known = all(&value);
        let whole = base64(&value, STANDARD);
        assert!(whole.as_bytes().chunks(LINE).all(|line| known.iter().any(|spelling| spelling == line)));
        let known = all(b"-----BEGIN\nAAAABBBBCCCCDDDD1111\nend");
        assert!(known.contains(&b"AAAABBBBCCCCDDDD1111".to_vec()) && !known.contains(&b"end".to_vec()));
    }
}
