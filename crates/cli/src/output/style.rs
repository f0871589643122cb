//! Colours. What is written through `console` loses them where standard output or standard error shows none.

pub(crate) const PLAIN: &str = "";
pub(crate) const BOLD: &str = "\x1b[1m";
pub(crate) const DIM: &str = "\x1b[2m";
pub(crate) const GREEN: &str = "\x1b[32m";
pub(crate) const RED: &str = "\x1b[1;31m";
pub(crate) const YELLOW: &str = "\x1b[33m";

/// Text in a style. No style leaves it as it is.
pub(crate) fn painted(style: &str, text: &str) -> String {
    match style.is_empty() || text.is_empty() {
        true => text.to_owned(),
        false => format!("{style}{text}\x1b[0m"),
    }
}
