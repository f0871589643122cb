//! What the user is told on standard error, and answers on standard output.
//!
//! Telling the user something never fails what the program is about: standard error may be a terminal that was closed or
//! a log on a full disk, and the run goes on all the same. An answer is different: it is what the command is for, so one
//! that cannot be written is an error. The macros that print panic on both; clippy refuses them in this program.
//!
//! Nothing secret that this process knows of is told, wherever it comes from.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write as _};

use conductor_engine::redact;

/// The text without what is secret in it.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    redact::known().text(text)
}

/// One line on standard error, in colour where that shows colours. There is no other place to say that it could not be
/// written, so nothing is said.
pub(crate) fn say(text: impl Display) {
    ask(format_args!("{text}\n"));
}

/// The same without an end of the line: the user's answer follows.
pub(crate) fn ask(question: impl Display) {
    let question = question.to_string();
    let mut err = anstream::stderr().lock();
    let _ = write!(err, "{}", clean(&question)).and_then(|()| err.flush());
}

/// Text on standard output, to its last byte.
pub(crate) fn answer(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(clean(text).as_bytes())?;
    out.flush()
}

/// Bytes on standard output as they are, to the last one: what the user wants to have is not changed.
pub(crate) fn answer_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
