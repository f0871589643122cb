//! Writing markup: what we wrote ourselves goes in as it is, everything else escaped. There is no third way.

use std::fmt::{self, Display, Write};

use crate::report::words::is_unsafe;

#[derive(Debug, Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Only words of this program's source can be markup.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// Anything as text, inside of elements and of quoted attributes alike.
    pub(super) fn show(&mut self, value: &dyn Display) {
        let _ = write!(Escaper(&mut self.0), "{value}");
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

struct Escaper<'a>(&'a mut String);

impl Write for Escaper<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '&' => self.0.push_str("&amp;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c if is_unsafe(c) => self.0.push(char::REPLACEMENT_CHARACTER),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// Literals as markup, what is in parentheses as text.
macro_rules! put {
    ($to:expr;) => {};
    ($to:expr; $markup:literal $($rest:tt)*) => {{
        $to.raw($markup);
        put!($to; $($rest)*);
    }};
    ($to:expr; ($value:expr) $($rest:tt)*) => {{
        $to.show(&$value);
        put!($to; $($rest)*);
    }};
}
pub(super) use put;

/// A length in a picture, with no more digits than can be seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Px(pub(super) f64);

impl Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 * 10.0).round() / 10.0 {
            whole if whole.fract() == 0.0 => write!(f, "{whole:.0}"),
            broken => write!(f, "{broken:.1}"),
        }
    }
}

/// Something wide, which can be scrolled by keys as well; it is closed by `</div>`.
pub(super) fn region(out: &mut Markup, name: &str) {
    put!(out; "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" (name) "\">");
}

/// A box in a picture: its left upper corner, how wide and how high.
pub(super) fn rect(out: &mut Markup, class: &'static str, (x, y): (f64, f64), (width, height): (f64, f64)) {
    put!(out; "<rect class=\"" (class) "\" x=\"" (Px(x)) "\" y=\"" (Px(y)) "\" width=\"" (Px(width))
        "\" height=\"" (Px(height)) "\"/>");
}

/// Words in a picture.
pub(super) fn label(out: &mut Markup, class: &'static str, (x, y): (f64, f64), words: &dyn Display) {
    put!(out; "<text class=\"" (class) "\" x=\"" (Px(x)) "\" y=\"" (Px(y)) "\">" (words) "</text>");
}

/// The beginning of a text, where all of it does not fit.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.chars().count() <= most {
        true => text.to_owned(),
        false => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_we_wrote_is_markup() {
        let mut out = Markup::default();
        put!(out; "<b title=\"" ("\"><script>") "\">" ("a & 'b'\u{202e}\u{0}\u{1b}\n") "</b>");
        put!(out; (Px(1.0)) " " (Px(2.26)));
        let told =
            "<b title=\"&quot;&gt;&lt;script&gt;\">a &amp; &#39;b&#39;\u{fffd}\u{fffd}\u{fffd}\n</b>1 2.3";
        assert_eq!(out.finish(), told);
        assert_eq!((cut("short", 5).as_str(), cut("longer", 5).as_str()), ("short", "long…"));
    }
}
