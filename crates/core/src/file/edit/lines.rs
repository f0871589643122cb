//! Lines of a text, by the places of their bytes.

/// Where the line of a place begins.
pub(super) fn start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Where the line after that of a place begins.
pub(super) fn end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// Behind the last character of a line, before its line break.
pub(super) fn content_end(text: &str, at: usize) -> usize {
    let line = &text[at..end(text, at)];
    at + line.trim_end_matches(['\n', '\r']).len()
}

/// How many characters stand before a place in its line.
pub(super) fn column(text: &str, at: usize) -> usize {
    text[start(text, at)..at].chars().count()
}

/// The white space with which the line of a place begins.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let line = &text[start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Counted from 1, as people do.
pub(super) fn number(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

/// Whether only spaces stand before a place in its line.
pub(super) fn begins(text: &str, at: usize) -> bool {
    text[start(text, at)..at].bytes().all(|byte| byte == b' ' || byte == b'\t')
}

/// Whether nothing but white space or a comment follows a place in its line.
pub(super) fn is_done(text: &str, at: usize) -> bool {
    let rest = text[at..end(text, at)].trim_ascii_start();
    rest.is_empty() || rest.starts_with('#')
}

/// The column of a comment that has the line for itself.
pub(super) fn comment(text: &str, line: usize) -> Option<usize> {
    let written = text[line..end(text, line)].trim_start_matches([' ', '\t']);
    written.starts_with('#').then(|| end(text, line) - line - written.len())
}

fn is_blank(text: &str, line: usize) -> bool {
    line < text.len() && text[line..end(text, line)].trim_ascii().is_empty()
}

/// Where the empty lines from this one on end.
pub(super) fn blank_until(text: &str, mut line: usize) -> usize {
    while is_blank(text, line) {
        line = end(text, line);
    }
    line
}

/// Where the empty lines right above this one begin, not above `least`.
pub(super) fn blank_from(text: &str, mut line: usize, least: usize) -> usize {
    while line > least && is_blank(text, start(text, line - 1)) {
        line = start(text, line - 1);
    }
    line.max(least)
}

/// Where the comments right above a line begin, not above `least`.
pub(super) fn comments_from(text: &str, mut line: usize, least: usize) -> usize {
    while line > least && comment(text, start(text, line - 1)).is_some() {
        line = start(text, line - 1);
    }
    line.max(least)
}

/// The next place that is no white space and no comment.
pub(super) fn after_trivia(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_ascii_start().len();
        let is_free = text[..at].chars().next_back().is_none_or(char::is_whitespace);
        if !(is_free && text[at..].starts_with('#')) {
            return at;
        }
        at = end(text, at);
    }
}

/// A place and what is to stand there instead.
pub(super) type Cut = (std::ops::Range<usize>, String);

/// The text with its cuts made. They do not overlap.
pub(super) fn spliced(text: &str, mut cuts: Vec<Cut>) -> String {
    cuts.sort_by_key(|(range, _)| range.start);
    let mut new = String::with_capacity(text.len());
    let mut at = 0;
    for (range, instead) in cuts {
        new.push_str(text.get(at..range.start).unwrap_or_default());
        new.push_str(&instead);
        at = range.end.max(at);
    }
    new.push_str(&text[at..]);
    new
}
