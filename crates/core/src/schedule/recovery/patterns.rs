//! Words by which failures are known: those a task names itself, and those that many programs say.

use crate::plan::recovery::{Nature, Pattern};
use crate::plan::{Task, Work};
use crate::run::event::{Failure, FailureClass};

/// What passes by itself: the network, a remote server, a lock, a machine that is short of something.
const TRANSIENT: [&str; 58] = [
    "connection reset",
    "connection refused",
    "connection timed out",
    "connection closed",
    "connection aborted",
    "connection was forcibly closed",
    "connection error",
    "network is unreachable",
    "network is down",
    "no route to host",
    "host is down",
    "temporary failure in name resolution",
    "could not resolve host",
    "couldn't resolve host",
    "tls handshake timeout",
    "i/o timeout",
    "operation timed out",
    "read timed out",
    "request timed out",
    "context deadline exceeded",
    "econnreset",
    "econnrefused",
    "etimedout",
    "eai_again",
    "enetunreach",
    "epipe",
    "socket hang up",
    "remote end hung up unexpectedly",
    "early eof",
    "unexpected disconnect",
    "bad gateway",
    "service unavailable",
    "service temporarily unavailable",
    "gateway timeout",
    "gateway time-out",
    "http 502",
    "http 503",
    "http 504",
    "status code 502",
    "status code 503",
    "status code 504",
    "returned error: 502",
    "returned error: 503",
    "returned error: 504",
    "too many requests",
    "rate limit exceeded",
    "deadlock detected",
    "deadlock found",
    "could not obtain lock",
    "could not lock",
    "could not acquire lock",
    "could not get lock",
    "lock wait timeout",
    "database is locked",
    "could not serialize access",
    "index.lock*file exists",
    "temporarily unavailable",
    "cannot allocate memory",
];

/// What a command says that fails the same way every time. Looked for in its last lines only.
const PERMANENT: [&str; 29] = [
    "command not found",
    "exit code 127",
    "exit code 126",
    "exec format error",
    "bad interpreter",
    "unrecognized option",
    "unrecognised option",
    "unknown option",
    "invalid option",
    "illegal option",
    "unknown flag",
    "unknown shorthand flag",
    "unexpected argument",
    "unrecognized arguments",
    "unrecognized subcommand",
    "unknown command",
    "no such command",
    "no such subcommand",
    "syntax error",
    "no rule to make target",
    "missing script",
    "not a git repository",
    "could not find `cargo.toml`",
    "disk quota exceeded",
    "read-only file system",
    "permission denied (publickey",
    "authentication failed",
    "repository not found",
    "invalid reference format",
];

/// How far from its end a command's words are taken for what made it fail.
const LAST_LINES: usize = 40;
/// What stands further up was most likely survived.
const VERY_LAST_LINES: usize = 6;
/// How much of a line is looked at, and how much of it is kept.
const LINE: usize = 2000;
const KEPT: usize = 300;

/// The line among a command's last ones that tells of which nature its failure is, nearest to its end.
pub fn telling<'l>(task: &Task, lines: &'l [String]) -> Option<&'l str> {
    let own = task.recovery.as_ref().map_or(&[][..], |recovery| &recovery.patterns);
    let last = || lines.iter().rev().take(LAST_LINES).map(|line| (line, plain(line)));
    let of_own =
        last().find(|(_, text)| own.iter().any(|pattern| says(text, &plain(&pattern.words)))).map(|(l, _)| l);
    let known = || {
        let telling = |(at, (_, text)): &(usize, (&String, String))| {
            let permanent = *at < VERY_LAST_LINES && matches!(task.work, Work::Run(_));
            found(text, permanent).is_some()
        };
        last().enumerate().find(telling).map(|(_, (line, _))| line)
    };
    let line = of_own.or_else(known)?;
    Some(line.char_indices().nth(KEPT).map_or(line.as_str(), |(end, _)| &line[..end]))
}

/// The first of a task's patterns that is in a failure's words.
pub(super) fn own<'p>(patterns: &'p [Pattern], failure: &Failure) -> Option<&'p Pattern> {
    if patterns.is_empty() {
        return None;
    }
    let lines: Vec<String> = lines(failure, failure.message.as_str()).collect();
    patterns.iter().find(|pattern| {
        let words = plain(&pattern.words);
        lines.iter().any(|line| says(line, &words))
    })
}

/// Which nature its words speak for, the last ones first. What only commands say counts for them alone.
pub(super) fn known(failure: &Failure, of_a_command: bool) -> Option<(Nature, &'static str)> {
    let message = unquoted(&failure.message);
    lines(failure, &message).find_map(|line| found(&line, of_a_command))
}

fn found(line: &str, permanent: bool) -> Option<(Nature, &'static str)> {
    let among = |known: &'static [&'static str]| known.iter().copied().find(|words| says(line, words));
    let transient = among(&TRANSIENT).map(|words| (Nature::Transient, words));
    transient.or_else(|| among(&PERMANENT).filter(|_| permanent).map(|words| (Nature::Permanent, words)))
}

/// What there is to see of a failure, from its end to its beginning. The hunks of a conflict say nothing about it.
fn lines<'f>(failure: &'f Failure, message: &'f str) -> impl Iterator<Item = String> + 'f {
    let evidence = match failure.class {
        FailureClass::Conflict => "",
        _ => &failure.evidence,
    };
    evidence.lines().rev().take(LAST_LINES).chain(message.lines()).map(plain)
}

/// In small letters, with one space between words.
fn plain(line: &str) -> String {
    let line = line.char_indices().nth(LINE).map_or(line, |(end, _)| &line[..end]);
    line.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Without the commands that are quoted in it.
fn unquoted(message: &str) -> String {
    message.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Whether a line has these words in it, as whole words. Both are plain.
fn says(line: &str, words: &str) -> bool {
    let mut parts = words.split('*');
    let (Some(first), rest) = (parts.next(), parts.collect::<Vec<_>>()) else { return false };
    let Some((last, middle)) = rest.split_last() else {
        return places(line, first).any(|at| ends(line, at, first));
    };
    // The first place leaves most for what comes behind it.
    let Some(at) = places(line, first).next() else { return false };
    let mut behind = at + first.len();
    for part in middle {
        match line[behind..].find(part) {
            Some(at) => behind += at + part.len(),
            None => return false,
        }
    }
    line[behind..].match_indices(last).any(|(at, _)| ends(line, behind + at, last))
}

/// Where a part stands that is not the rest of a longer word.
fn places<'l>(line: &'l str, part: &'l str) -> impl Iterator<Item = usize> + 'l {
    let begins = move |at: &usize| {
        !part.starts_with(char::is_alphanumeric) || !line[..*at].ends_with(char::is_alphanumeric)
    };
    line.match_indices(part).map(|(at, _)| at).filter(begins)
}

fn ends(line: &str, at: usize, part: &str) -> bool {
    !part.ends_with(char::is_alphanumeric) || !line[at + part.len()..].starts_with(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_words_and_a_star_is_anything() {
        for (line, words) in [
            ("curl: (56) Recv failure: Connection  reset by peer", "connection reset"),
            ("ERROR 1205: Lock wait timeout exceeded", "lock wait * exceeded"),
            ("a-b", "a"),
            ("deadlock", "dead*"),
            ("x deadlock", "*lock"),
            ("one two two", "one*two"),
        ] {
            assert!(says(&plain(line), words), "{line} / {words}");
        }
        for (line, words) in [
            ("reconnection reset", "connection reset"),
            ("connection resets", "connection reset"),
            ("deadlocked", "deadlock"),
            ("b a", "a*b"),
            ("", "a"),
            ("ünderdog", "derdog"),
        ] {
            assert!(!says(&plain(line), words), "{line} / {words}");
        }
    }
}
