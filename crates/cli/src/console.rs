//! What the user is told on standard error, and answers on standard output.
//!
//! Telling the user something never fails what the program is about: standard error may be a terminal that was closed or
//! a log on a full disk, and the run goes on all the same. An answer is different: it is what the command is for, so one
//! that cannot be written is an error. The macros that print panic on both; clippy refuses them in this program.
//!
//! Secrets that this process knows of are never printed, wherever they come from.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use conductor_engine::host::redact;

static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on notices and progress are not told.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

static SILENT: AtomicBool = AtomicBool::new(false);

/// From now on nothing is said at all: a shell asks, and shows whatever is said in the middle of a line.
pub(crate) fn be_silent() {
    SILENT.store(true, Ordering::Relaxed);
}

static VERBOSE: AtomicBool = AtomicBool::new(false);

/// From now on notices come from everywhere, and nothing is drawn that they would break.
pub(crate) fn be_verbose() {
    VERBOSE.store(true, Ordering::Relaxed);
}

pub(crate) fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// An answer that could not be written. Where its reader went away (`| head`), nothing is wrong.
#[derive(Debug)]
pub(crate) struct Unanswered(pub(crate) io::Error);

impl From<io::Error> for Unanswered {
    fn from(error: io::Error) -> Unanswered {
        Unanswered(error)
    }
}

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
    if SILENT.load(Ordering::Relaxed) {
        return;
    }
    let question = question.to_string();
    let mut err = anstream::stderr().lock();
    let _ = write!(err, "{}", clean(&question)).and_then(|()| err.flush());
}

/// Text on standard output, to its last byte.
pub(crate) fn answer(text: &str) -> Result<(), Unanswered> {
    let mut out = anstream::stdout().lock();
    out.write_all(clean(text).as_bytes())?;
    Ok(out.flush()?)
}

static LOST: OnceLock<String> = OnceLock::new();

/// Part of an answer that is given as it comes could not be written: what goes on is not ended by it, and what comes of it is
/// said at the end. A reader that went away has seen enough.
pub(crate) fn lose(error: &io::Error) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        LOST.get_or_init(|| error.to_string());
    }
}

/// Why an answer is not whole.
pub(crate) fn lost() -> Option<Unanswered> {
    LOST.get().map(|why| Unanswered(io::Error::other(why.clone())))
}

/// Bytes on standard output as they are, to the last one: what the user wants to have is not changed.
pub(crate) fn answer_bytes(bytes: &[u8]) -> Result<(), Unanswered> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}
