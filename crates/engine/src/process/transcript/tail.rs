//! The end of what was said, as people read it after a failure.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::{GAP, HEAD, LINE, open_own, shown};

/// Whole lines from the end of a transcript, and whether there is more before them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tail {
    pub lines: Vec<String>,
    pub cut: bool,
}

/// No more than so many lines and bytes, made safe to show; blank ones at either end are left out. Nothing where there is no such file.
pub fn tail(path: &Path, lines: usize, bytes: u64) -> Tail {
    let Ok((read, before)) = last_bytes(path, bytes) else { return Tail::default() };
    // The first line may have begun before what was read.
    let whole = match read.iter().position(|&byte| byte == b'\n') {
        Some(end) if before => &read[end + 1..],
        _ => &read[..],
    };
    let text = shown(whole);
    let all: Vec<&str> = text.lines().map(str::trim_end).collect();
    let said = |line: &&str| !line.is_empty();
    let (Some(first), Some(last)) = (all.iter().position(said), all.iter().rposition(said)) else {
        return Tail::default();
    };
    let from = first.max((last + 1).saturating_sub(lines));
    let lines = all[from..=last].iter().map(|line| (*line).to_owned()).collect();
    Tail { lines, cut: before || from > first }
}

/// Whether the middle was left out when it was kept: then it has the mark of that where the first part ends.
pub fn has_gap(path: &Path) -> bool {
    let around = || {
        let mut file = open_own(path)?;
        file.seek(SeekFrom::Start(HEAD - LINE))?;
        let mut read = Vec::new();
        file.take(LINE + 2 * GAP.len() as u64).read_to_end(&mut read)?;
        io::Result::Ok(read)
    };
    around().is_ok_and(|read| read.windows(GAP.len()).any(|part| part == GAP.as_bytes()))
}

fn last_bytes(path: &Path, bytes: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut file = open_own(path)?;
    let from = file.metadata()?.len().saturating_sub(bytes);
    file.seek(SeekFrom::Start(from))?;
    let mut read = Vec::new();
    file.take(bytes).read_to_end(&mut read)?;
    Ok((read, from > 0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn of(text: &str, lines: usize, bytes: u64) -> (Vec<String>, bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        fs::write(&path, text).unwrap();
        let Tail { lines, cut } = tail(&path, lines, bytes);
        (lines, cut)
    }

    #[test]
    fn what_fits_is_whole_and_what_does_not_is_cut_at_a_line() {
        assert_eq!(of("\none\n\ntwo \n\n", 9, 99), (vec!["one".into(), String::new(), "two".into()], false));
        assert_eq!(of("one\ntwo\nthree\n", 2, 99), (vec!["two".into(), "three".into()], true));
        assert_eq!(of("one\ntwo\nthree\n", 9, 8), (vec!["three".into()], true), "no half of a line");
        assert_eq!(
            of(&"x".repeat(20), 9, 8),
            (vec!["x".repeat(8)], true),
            "one line longer than there is room"
        );
        assert_eq!(of("a\x1b[31mb\n", 9, 99), (vec!["ab".into()], false));
        assert_eq!(of("\n\n", 9, 99), (vec![], false));
        assert_eq!(tail(Path::new("/nowhere"), 9, 99), Tail::default());
    }
}
