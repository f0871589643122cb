//! One text as YAML or JSON: plain where no reader could take it for something else, else in quotes.

use std::fmt::Write;

use granit_parser::ScalarStyle;

use super::super::tree;

/// In which language a value is written, as far as its scalars go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    Json,
    /// Between brackets or braces.
    Flow,
    Block,
}

/// How texts beside this one are quoted, which it follows where it can.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Quotes {
    #[default]
    None,
    Single,
    Double,
}

impl Quotes {
    pub(super) fn of(style: ScalarStyle) -> Quotes {
        match style {
            ScalarStyle::SingleQuoted => Quotes::Single,
            ScalarStyle::DoubleQuoted => Quotes::Double,
            _ => Quotes::None,
        }
    }
}

pub(super) fn text(text: &str, context: Context, quotes: Quotes) -> String {
    let shows = text.chars().all(shows);
    match (context, quotes) {
        (Context::Json, _) => quoted(text),
        (_, Quotes::None) if is_plain(text, context) => text.to_owned(),
        (_, Quotes::Single) if shows => single(text),
        // Escapes are hard to read.
        (_, Quotes::None) if shows && text.contains(['"', '\\']) && !text.contains('\'') => single(text),
        _ => quoted(text),
    }
}

/// The lines of a text that stays readable as a `|` block, and how the block is marked.
pub(super) fn block(text: &str) -> Option<(&'static str, Vec<&str>)> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let begins = body.starts_with(|c: char| !c.is_whitespace());
    // Editors take the spaces out of a line that has nothing else.
    let fits = |line: &str| {
        (line.is_empty() || !line.trim().is_empty()) && line.chars().all(|c| c == '\t' || shows(c))
    };
    if !text.contains('\n') || !begins || body.ends_with('\n') || !body.split('\n').all(fits) {
        return None;
    }
    let mark = if body.len() == text.len() { "|-" } else { "|" };
    Some((mark, body.split('\n').collect()))
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// In double quotes, with everything escaped that does not show, as both languages read it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if shows(c) => out.push(c),
            c => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
    out
}

/// Whether a character can be seen, and moves nothing around it.
fn shows(c: char) -> bool {
    let hidden =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let is_text = matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}');
    (is_text || matches!(c, '\u{10000}'..='\u{10fffd}')) && !hidden
}

/// Words that an older YAML takes for true, false or nothing.
const OLD_WORDS: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "<<"];

fn is_plain(text: &str, context: Context) -> bool {
    let first = text.chars().next();
    let is_word = matches!(tree::resolve(text), tree::Value::Str(_))
        && !OLD_WORDS.contains(&text.to_ascii_lowercase().as_str())
        && !looks_like_a_number(text);
    let begins = first.is_some_and(|c| !c.is_whitespace() && !"-?:,[]{}#&*!|>'\"%@`=".contains(c));
    let ends = !text.ends_with(|c: char| c.is_whitespace() || c == ':');
    let is_mark = |text: &str| text.contains(": ") || text.contains(" #") || text.starts_with("...");
    let in_flow = context == Context::Flow && text.contains([',', '[', ']', '{', '}']);
    is_word && begins && ends && !is_mark(text) && !in_flow && text.chars().all(shows)
}

/// Dates, times, and numbers with marks in them, which an older YAML or another program may read as such.
fn looks_like_a_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['.', '+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_hexdigit() || "+-._:xotTzZ ".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_yaml_would_misread_is_quoted() {
        for (given, expect) in [
            ("Fix the parser", "Fix the parser"),
            ("it's", "it's"),
            ("a:b", "a:b"),
            ("issue#3", "issue#3"),
            ("", "\"\""),
            ("yes", "\"yes\""),
            ("Off", "\"Off\""),
            ("null", "\"null\""),
            ("~", "\"~\""),
            ("1.0", "\"1.0\""),
            ("0x1f", "\"0x1f\""),
            ("12:30", "\"12:30\""),
            ("2026-05-02", "\"2026-05-02\""),
            ("- x", "\"- x\""),
            ("#5", "\"#5\""),
            ("*a", "\"*a\""),
            ("&a", "\"&a\""),
            ("!x", "\"!x\""),
            ("{{ name }}", "\"{{ name }}\""),
            ("Fix: now", "\"Fix: now\""),
            ("list:", "\"list:\""),
            ("a #b", "\"a #b\""),
            (" a", "\" a\""),
            ("a ", "\"a \""),
            ("say \"hi\"", "say \"hi\""),
            ("\"hi\"", "'\"hi\"'"),
            ("tab\there", "\"tab\\there\""),
            ("bell\u{7}", "\"bell\\u0007\""),
            ("line\u{2028}line", "\"line\\u2028line\""),
            ("next\u{85}line", "\"next\\u0085line\""),
            ("\u{10ffff}", "\"\\udbff\\udfff\""),
        ] {
            assert_eq!(text(given, Context::Block, Quotes::None), expect, "{given:?}");
        }
        assert_eq!(text("a, b", Context::Block, Quotes::None), "a, b");
        assert_eq!(text("a, b", Context::Flow, Quotes::None), "\"a, b\"");
        assert_eq!(text("a", Context::Json, Quotes::Single), "\"a\"");
        assert_eq!(text("it's", Context::Block, Quotes::Single), "'it''s'");
        assert_eq!(text("a", Context::Block, Quotes::Double), "\"a\"");
    }

    #[test]
    fn lines_stay_lines_where_nothing_is_lost() {
        assert_eq!(block("a\n  b\n\nc\n"), Some(("|", vec!["a", "  b", "", "c"])));
        assert_eq!(block("a\nb"), Some(("|-", vec!["a", "b"])));
        for text in ["a", "\na", " a\nb", "a\n\n", "a\n  \nb", "a\r\nb", "a\nb\u{1}"] {
            assert_eq!(block(text), None, "{text:?}");
        }
    }
}
