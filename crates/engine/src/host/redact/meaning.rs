//! Text as it is meant: escaped characters as themselves, without what a terminal does not show.
//!
//! Only *joints* are written in another way than they are meant: what can stand inside a word and is invisible, or is one
//! character of it in an escaped spelling. Ends of lines, tabs and quotes end a word however they are written, so they
//! are no joints. Text without joints is its own meaning and is not copied.

use std::ops::Range;

/// How much is looked at in one go for anything that may be a joint.
const BLOCK: usize = 64;

/// How long a title, a link or the like can be that an escape sequence holds. What has no end is text.
const LONGEST_STRING: usize = 4 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Joint {
    from: usize,
    to: usize,
    means: Means,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    Nothing,
    Char(char),
    Byte(u8),
    /// A terminal takes the character before it away; other readers only leave it out.
    Erasure,
}

/// What a part of a text means, and where each byte of that was written.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

/// Bytes of a meaning and those they are written with: one for one, or one character in a longer spelling.
#[derive(Debug)]
struct Piece {
    at: usize,
    from: usize,
    to: usize,
    is_copy: bool,
}

impl View {
    fn new(text: &[u8], part: Range<usize>, joints: &[Joint], erases: bool) -> View {
        let mut view = View { bytes: Vec::with_capacity(part.len()), pieces: Vec::new() };
        let mut place = part.start;
        for joint in joints {
            view.copy(text, place..joint.from);
            view.join(joint, erases);
            place = joint.to;
        }
        view.copy(text, place..part.end);
        view
    }

    fn copy(&mut self, text: &[u8], part: Range<usize>) {
        self.pieces.push(Piece { at: self.bytes.len(), from: part.start, to: part.end, is_copy: true });
        self.bytes.extend_from_slice(&text[part]);
    }

    fn join(&mut self, joint: &Joint, erases: bool) {
        let at = self.bytes.len();
        match joint.means {
            Means::Nothing => return,
            Means::Erasure => {
                return if erases {
                    self.erase()
                };
            }
            Means::Char(char) => self.bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Means::Byte(byte) => self.bytes.push(byte),
        }
        self.pieces.push(Piece { at, from: joint.from, to: joint.to, is_copy: false });
    }

    /// Takes the last character away, but no end of a line.
    fn erase(&mut self) {
        if matches!(self.bytes.last(), None | Some(b'\n')) {
            return;
        }
        while self.bytes.pop().is_some_and(|byte| (0x80..0xc0).contains(&byte)) {}
        let length = self.bytes.len();
        while self.pieces.pop_if(|piece| piece.at >= length && length > 0).is_some() {}
    }

    /// Whether something was left out or spelled otherwise right before this place.
    pub(super) fn is_seam(&self, at: usize) -> bool {
        self.pieces.binary_search_by_key(&at, |piece| piece.at).is_ok()
    }

    /// Where a part of the meaning is written, with all that is in between.
    pub(super) fn written(&self, part: Range<usize>) -> Option<Range<usize>> {
        let last = part.end.checked_sub(1).filter(|last| *last >= part.start)?;
        Some(self.place(part.start)?.start..self.place(last)?.end)
    }

    fn place(&self, at: usize) -> Option<Range<usize>> {
        let number = self.pieces.partition_point(|piece| piece.at <= at).checked_sub(1)?;
        let piece = &self.pieces[number];
        let from = piece.from + (at - piece.at);
        Some(if piece.is_copy { from..from + 1 } else { piece.from..piece.to })
    }
}

/// What is meant around each joint, as far as this reaches: as a reader takes it, and as a terminal shows it where that
/// is something else.
pub(super) fn views(text: &[u8], reach: usize) -> impl Iterator<Item = View> {
    let mut place = 0;
    std::iter::from_fn(move || {
        let mut joints = vec![next_joint(text, place)?];
        place = joints[0].to;
        while let Some(joint) = next_joint(&text[..text.len().min(place.saturating_add(2 * reach))], place) {
            place = joint.to;
            joints.push(joint);
        }
        let part = joints[0].from.saturating_sub(reach)..text.len().min(place.saturating_add(reach));
        let erased = joints.iter().any(|joint| joint.means == Means::Erasure);
        let erased = erased.then(|| View::new(text, part.clone(), &joints, true));
        Some(std::iter::once(View::new(text, part, &joints, false)).chain(erased))
    })
    .flatten()
}

/// A short text as it is meant.
pub(super) fn of(text: &[u8]) -> Vec<u8> {
    views(text, text.len()).next().map_or_else(|| text.to_vec(), |view| view.bytes)
}

/// The spelling of a character that a place lies inside of, from its beginning to its end.
pub(super) fn spelling_around(text: &[u8], place: usize) -> Option<Range<usize>> {
    let mut near = place.saturating_sub("\\ud83d\\ude00".len());
    while let Some(joint) = next_joint(&text[..text.len().min(place + 16)], near) {
        if joint.to > place {
            let inside = joint.from < place && matches!(joint.means, Means::Char(_));
            return inside.then_some(joint.from..joint.to);
        }
        near = joint.to;
    }
    None
}

fn next_joint(text: &[u8], from: usize) -> Option<Joint> {
    let mut at = from;
    loop {
        // Without a way out in between, many bytes are compared at once.
        if let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>)
            && block.iter().fold(0, |any, byte| any | u8::from(is_telling(*byte))) == 0
        {
            at += BLOCK;
            continue;
        }
        let end = text.len().min(at + BLOCK);
        let mut telling = (at..end).filter(|place| is_telling(text[*place]));
        if let Some(joint) = telling.find_map(|place| joint_at(text, from, place)) {
            return Some(joint);
        }
        if end == text.len() {
            return None;
        }
        at = end;
    }
}

/// Whether a joint may begin here, as far as this byte alone tells: what is printed as itself, mostly, is none.
fn is_telling(byte: u8) -> bool {
    (byte.wrapping_sub(0x20) >= 0x5f) & (byte != b'\n') | (byte == b'\\') | (byte == b'%')
}

/// Whether a joint may begin with these two bytes, or its last backslash is the first of them.
fn may_be_joint(byte: u8, next: u8) -> bool {
    let control = (byte < 0x20) & (byte != b'\n') & (byte != b'\t') | (byte == 0x7f);
    let line_end = (byte == b'\r') & (next == b'\n');
    let letter = (next == b'u') | (next == b'x') | (next == b'r') | (next == b'b') | (next == b'f');
    let escaped = (byte == b'\\') & (letter | (next == b'/') | (next == b'e') | (next == b'0'));
    let digit = (next.wrapping_sub(b'0') < 10) | ((next | 0x20).wrapping_sub(b'a') < 6);
    let invisible = (byte == 0xc2) | (byte == 0xcd) | (byte == 0xd8) | (byte == 0xf3);
    let invisible = invisible | (byte == 0xe2) & (next & 0xfe == 0x80) | (byte == 0xe1) & (next == 0xa0);
    let invisible = invisible | (byte == 0xef) & ((next == 0xb8) | (next == 0xbb));
    control & !line_end | escaped | (byte == b'%') & digit | invisible
}

fn joint_at(text: &[u8], first: usize, at: usize) -> Option<Joint> {
    let (byte, next) = (text[at], text.get(at + 1).copied().unwrap_or_default());
    if !may_be_joint(byte, next) {
        return None;
    }
    let (char, to) = match byte {
        b'\\' => escaped(text, at + 1)?,
        b'%' => {
            let byte = u8::try_from(hex(text, at + 1, 2)?).ok()?;
            return Some(Joint { from: at, to: at + 3, means: Means::Byte(byte) });
        }
        _ => character(text, at)?,
    };
    let means = match char {
        '\x1b' => {
            return Some(Joint {
                from: back(text, first, at),
                to: sequence(text, to),
                means: Means::Nothing,
            });
        }
        '\x08' => Means::Erasure,
        '\r' if is_line_end(text, to) => return None,
        '\n' | '\t' => Means::Char(char),
        char if char.is_control() || is_invisible(char) => Means::Nothing,
        // What is written as itself is no joint.
        _ if byte != b'\\' => return None,
        char => Means::Char(char),
    };
    Some(Joint { from: back(text, first, at), to, means })
}

/// Where the backslashes begin of which this is the last, if it is one: text in JSON in JSON has several.
fn back(text: &[u8], first: usize, at: usize) -> usize {
    match text[at] {
        b'\\' => at - text[first..at].iter().rev().take_while(|byte| **byte == b'\\').count(),
        _ => at,
    }
}

/// The character that these letters stand for after a backslash, and where they end.
fn escaped(text: &[u8], at: usize) -> Option<(char, usize)> {
    let whole = |code: u32| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    Some(match *text.get(at)? {
        b'/' => ('/', at + 1),
        b'r' => ('\r', at + 1),
        b'b' => ('\x08', at + 1),
        b'f' => ('\x0c', at + 1),
        b'e' => ('\x1b', at + 1),
        b'0' if text[at..].starts_with(b"033") => ('\x1b', at + 3),
        b'0' => ('\0', at + 1),
        b'x' => (whole(hex(text, at + 1, 2)?), at + 3),
        b'u' if text.get(at + 1) == Some(&b'{') => {
            let digits = text[at + 2..].iter().take(7).position(|byte| *byte == b'}')?;
            (whole(hex(text, at + 2, digits)?), at + 3 + digits)
        }
        b'u' => match hex(text, at + 1, 4)? {
            high @ 0xd800..0xdc00 => match second_half(text, at + 5) {
                Some((low, end)) => (whole(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), end),
                None => (char::REPLACEMENT_CHARACTER, at + 5),
            },
            code => (whole(code), at + 5),
        },
        _ => return None,
    })
}

fn second_half(text: &[u8], at: usize) -> Option<(u32, usize)> {
    let slashes = backslashes(text, at);
    let at = at + slashes;
    let low = hex(text, at + 1, 4).filter(|low| slashes > 0 && (0xdc00..0xe000).contains(low))?;
    (text[at] == b'u').then_some((low, at + 5))
}

fn hex(text: &[u8], at: usize, digits: usize) -> Option<u32> {
    let digits = text.get(at..at + digits).filter(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
}

/// The character that is written here as itself.
fn character(text: &[u8], at: usize) -> Option<(char, usize)> {
    let bytes = &text[at..text.len().min(at + 4)];
    let char = bytes.utf8_chunks().next()?.valid().chars().next()?;
    Some((char, at + char.len_utf8()))
}

fn backslashes(text: &[u8], at: usize) -> usize {
    text.get(at..).unwrap_or_default().iter().take_while(|byte| **byte == b'\\').count()
}

fn is_line_end(text: &[u8], at: usize) -> bool {
    text.get(at + backslashes(text, at)).is_some_and(|byte| match backslashes(text, at) {
        0 => *byte == b'\n',
        _ => *byte == b'n',
    })
}

/// Characters that take no room, whatever is around them.
fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Where an escape sequence ends whose first character ended here: `[ … letter`, `] … BEL or ESC \`, `( B` or one
/// character. What ends it may be written escaped.
pub(crate) fn sequence(text: &[u8], at: usize) -> usize {
    let within = |at: usize, class: std::ops::RangeInclusive<u8>| {
        at + text[at..].iter().take_while(|byte| class.contains(byte)).count()
    };
    let one = |at: usize, class: std::ops::RangeInclusive<u8>| {
        at + usize::from(text.get(at).is_some_and(|byte| class.contains(byte)))
    };
    match text.get(at) {
        Some(b'[') => one(within(at + 1, 0x20..=0x3f), 0x40..=0x7e),
        Some(b']' | b'P' | b'_' | b'^' | b'X') => string_end(text, at + 1).unwrap_or(at + 1),
        Some(b'\\') => terminator(text, at),
        Some(0x20..=0x2f) => one(within(at, 0x20..=0x2f), 0x30..=0x7e),
        _ => one(at, 0x30..=0x7e),
    }
}

/// Behind a backslash that ends a sequence, escaped as the escape before it is; not behind one that spells what follows.
fn terminator(text: &[u8], at: usize) -> usize {
    let end = at + backslashes(text, at);
    if at > 0 && text[at - 1] == 0x1b {
        return end.min(at + 1);
    }
    let spells = text.get(end).is_some_and(|byte| b"nrtbfuxe0/\"".contains(byte));
    if spells && (end - at) % 2 == 1 { end - 1 } else { end }
}

fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let part = &text[..text.len().min(from + LONGEST_STRING)];
    let mut at = from;
    while at < part.len() {
        let (char, to) = match part[at] {
            b'\n' => return None,
            b'\\' => {
                let slashes = backslashes(part, at);
                if part.get(at + slashes) == Some(&b'n') {
                    return None;
                }
                escaped(part, at + slashes).unwrap_or((' ', at + slashes))
            }
            byte => (char::from(byte), at + 1),
        };
        match char {
            '\x07' => return Some(to),
            '\x1b' => return Some(terminator(part, to)).filter(|end| *end > to),
            _ => at = to,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(text: &str) -> String {
        String::from_utf8(of(text.as_bytes())).unwrap()
    }

    #[test]
    fn what_is_invisible_or_escaped_is_read_as_it_is_meant() {
        for text in [
            "key",
            "k\u{1b}[0mey",
            "k\u{1b}[38;5;196me\u{1b}(By",
            "k\u{1b}]0;title\u{7}ey",
            "k\u{1b}]8;;http://x\u{1b}\\ey",
            "k\re\u{0}y\u{7f}",
            "k\u{200b}e\u{feff}y\u{ad}",
            "\\u006be\\u0079",
            "k\\\\u0065y",
            "k\\u001b[0mey",
            "k\\\\u001b[0mey",
            "k\\u001b]8;;http://x\\u001b\\\\ey",
            "k\\u001b]0;title\\u0007ey",
            "k\\x1b[0mey",
            "k\\033[1mey",
            "k\\e[1mey",
            "k\\u{1b}[1mey",
            "k\\u200bey",
            "%6be%79",
            "k\\rey",
        ] {
            assert_eq!(meant(text), "key", "{text:?}");
        }
    }

    #[test]
    fn what_ends_a_word_stays_as_it_is_written() {
        for text in
            ["a\nb", "a\\nb", "a\r\nb", "a\\r\\nb", "a\\\\r\\\\nb", "a\\\"b", "a\tb\\tc", "é — “x”", "50 % a"]
        {
            assert_eq!(meant(text), text);
        }
        assert_eq!(meant("a\\/b"), "a/b");
        assert_eq!(meant("\\ud83d\\ude00 \\ud83d."), "😀 \u{fffd}.");
    }

    #[test]
    fn a_sequence_without_an_end_hides_nothing() {
        assert_eq!(meant("a\u{1b}]0;b\nc"), "a0;b\nc");
        assert_eq!(meant("a\u{1b}]0;b\\nc"), "a0;b\\nc");
        assert_eq!(meant("a\u{1b}"), "a");
        assert_eq!(meant("a\\u001b\\nb"), "a\\nb");
        assert_eq!(meant("a\u{1b}[1;"), "a");
    }

    #[test]
    fn a_terminal_takes_back_what_is_erased() {
        let both = |text: &str| -> Vec<String> {
            views(text.as_bytes(), 100).map(|view| String::from_utf8(view.bytes).unwrap()).collect()
        };
        assert_eq!(both("abX\u{8}c"), ["abXc", "abc"]);
        assert_eq!(both("abö\\bc"), ["aböc", "abc"]);
        assert_eq!(both("\u{8}a\n\u{8}b"), ["a\nb", "a\nb"]);
    }

    #[test]
    fn each_byte_of_a_meaning_is_found_where_it_is_written() {
        let text = "..k\u{1b}[0m\\u0065yX\u{8}s";
        for view in views(text.as_bytes(), 100) {
            let meant = String::from_utf8(view.bytes.clone()).unwrap();
            let at = meant.find("key").unwrap();
            assert_eq!(&text[view.written(at..at + 3).unwrap()], "k\u{1b}[0m\\u0065y");
            let last = meant.len() - 1;
            assert_eq!(&text[view.written(last..last + 1).unwrap()], "s");
            assert!(view.is_seam(at + 1) && view.is_seam(last) && !view.is_seam(1));
        }
    }

    #[test]
    fn joints_far_from_each_other_are_looked_at_apart() {
        let far = "x".repeat(300);
        let text = format!("a\u{0}b{far}c\u{0}d{far}");
        let meant: Vec<Vec<u8>> = views(text.as_bytes(), 10).map(|view| view.bytes).collect();
        assert_eq!(meant, [b"abxxxxxxxxx".to_vec(), b"xxxxxxxxxcdxxxxxxxxx".to_vec()]);
    }
}
