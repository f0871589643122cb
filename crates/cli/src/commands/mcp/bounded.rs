//! Requests of a bounded size: one that is too large is never held, and is replaced by a small one of the same number,
//! which the server answers with an error.
//!
//! It knows lines and where a number stands in them, and nothing of what is asked.

use serde_json::{Value, json};

/// The largest request that is read. What a tool can be given is typed as words of a command, which are far shorter.
pub(super) const LARGEST: usize = 4 << 20;

/// What a request that was too large is replaced by.
pub(super) const TOO_LARGE: &str = "conductor/too-large";

/// No client numbers its requests with more than this.
const LONGEST_NUMBER: usize = 256;

/// Lines as they come in, of which too large ones are replaced.
#[derive(Debug, Default)]
pub(super) struct Bounded {
    line: Vec<u8>,
    /// Looks for the number of a line that is too large to be kept.
    number: Option<Number>,
}

impl Bounded {
    /// Takes what was read, in pieces of any size; every line that is complete by it goes to `out`.
    pub(super) fn take(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            self.add(&bytes[..end]);
            self.end(out);
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(number) = &mut self.number {
            return number.look(bytes);
        }
        if self.line.len() + bytes.len() <= LARGEST {
            return self.line.extend_from_slice(bytes);
        }
        let mut number = Number::default();
        number.look(&std::mem::take(&mut self.line));
        number.look(bytes);
        self.number = Some(number);
    }

    /// What has no number is no request, and nothing waits for an answer to it.
    fn end(&mut self, out: &mut Vec<u8>) {
        match self.number.take().map(|number| number.found) {
            None => out.append(&mut self.line),
            Some(None) => return,
            Some(Some(id)) => {
                let instead = json!({ "jsonrpc": "2.0", "id": id, "method": TOO_LARGE });
                out.extend_from_slice(instead.to_string().as_bytes());
            }
        }
        out.push(b'\n');
    }
}

/// Finds the value of `id` in the outermost object of a text that is seen once and not kept.
#[derive(Debug, Default)]
struct Number {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Whether the value of a key is being read, and whether that key is `id`.
    in_value: bool,
    is_id: bool,
    word: Vec<u8>,
    found: Option<Value>,
}

impl Number {
    fn look(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.see(byte));
    }

    fn see(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return self.keep(byte);
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && !self.in_value => {
                (self.in_value, self.is_id) = (true, self.word == br#""id""#);
                self.word.clear();
            }
            b',' if self.depth == 1 => self.end_value(),
            byte if byte.is_ascii_whitespace() => {}
            byte => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() <= LONGEST_NUMBER {
            self.word.push(byte);
        }
    }

    /// Only a text or a number is one that can be answered.
    fn end_value(&mut self) {
        let value = serde_json::from_slice::<Value>(&self.word).ok();
        if self.is_id && self.word.len() <= LONGEST_NUMBER {
            self.found = value.filter(|value| value.is_string() || value.is_number());
        }
        (self.in_value, self.is_id) = (false, false);
        self.word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a text that is read in pieces of this size.
    fn read(text: &str, piece: usize) -> String {
        let (mut bounded, mut out) = (Bounded::default(), Vec::new());
        text.as_bytes().chunks(piece).for_each(|bytes| bounded.take(bytes, &mut out));
        assert!(bounded.line.capacity() <= 2 * LARGEST);
        String::from_utf8(out).unwrap()
    }

    fn large() -> String {
        "x".repeat(LARGEST)
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        for text in ["", "\n", "{}\n{\"id\":1}\r\n\n", "not json at all\n"] {
            assert_eq!(read(text, 3), text);
        }
        assert_eq!(read("{}\nwithout an end", 4), "{}\n", "an incomplete line is no request");
    }

    #[test]
    fn what_is_too_large_is_replaced_by_its_number_wherever_that_stands() {
        let large = large();
        for (line, id) in [
            (format!(r#"{{"id":7,"params":{{"id":8,"a":"{large}"}}}}"#), "7"),
            (
                format!(r#"{{"params":{{"id":8,"a":["{large}"]}},"method":"id","id" : "a\"}}b" }}"#),
                r#""a\"}b""#,
            ),
            (format!(r#"{{"params":"{large}\\\"id\":3,","id":-2}}"#), "-2"),
        ] {
            let expected =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"conductor/too-large\"}}\n{{}}\n");
            for piece in [5000, 1 << 16, usize::MAX >> 1] {
                assert_eq!(read(&format!("{line}\n{{}}\n"), piece), expected, "{id}");
            }
        }
    }

    #[test]
    fn what_is_too_large_and_has_no_number_is_dropped() {
        let large = large();
        let long = "9".repeat(1000);
        for line in [
            format!(r#"{{"method":"note","params":"{large}"}}"#),
            format!(r#"{{"id":null,"params":"{large}"}}"#),
            format!(r#"{{"id":{{"a":1}},"params":"{large}"}}"#),
            format!(r#"{{"id":"{long}","params":"{large}"}}"#),
            format!("{large}x"),
        ] {
            assert_eq!(read(&format!("{line}\n{{}}\n"), 1 << 16), "{}\n");
        }
    }
}
