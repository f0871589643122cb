//! The marks that git puts into a file where both sides changed the same lines: `<<<<<<<`, `=======`, `>>>>>>>` at the
//! beginning of lines and in this order, with `|||||||` before what both began with.
//!
//! A single line of them means nothing: a row of `=` underlines headings. Files that held such text before, as a manual or
//! a test of git's own may, keep it.

/// Git's own size of a mark. An attribute (`conflict-marker-size`) can make them longer.
const SIZE: usize = 7;

/// One conflict, from its first mark to its last.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block<'t> {
    open: &'t [u8],
    close: &'t [u8],
    whole: &'t [u8],
}

/// Whether a text has a first or last mark, alone or not, that none of the file's versions before had: where a conflict was
/// laid out to be solved, a single one is left over.
pub fn is_left_over(text: &[u8], before: &[Vec<u8>]) -> bool {
    let marks = marks(text);
    let known: Vec<Vec<&[u8]>> = before.iter().map(|text| self::marks(text)).collect();
    marks.iter().any(|mark| {
        let count = |marks: &[&[u8]]| marks.iter().filter(|other| *other == mark).count();
        !known.iter().any(|known| count(known) >= count(&marks))
    })
}

/// The lines that begin or end a conflict, with the name of a side.
fn marks(text: &[u8]) -> Vec<&[u8]> {
    let lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| matches!(mark(line), Some((b'<' | b'>', size)) if size < line.len())).collect()
}

/// Whether a text holds a conflict that neither was in one of the file's versions before, nor is in another file as it was
/// before, from where it was moved.
pub fn is_new(text: &[u8], before: &[Vec<u8>], elsewhere: &[Vec<u8>]) -> bool {
    let blocks = blocks(text);
    let known: Vec<Vec<Block<'_>>> = before.iter().map(|text| self::blocks(text)).collect();
    let moved: Vec<Block<'_>> = elsewhere.iter().flat_map(|text| self::blocks(text)).collect();
    let same = |one: &Block<'_>, other: &Block<'_>| one.open == other.open && one.close == other.close;
    blocks.iter().any(|block| {
        let count = |blocks: &[Block<'_>]| blocks.iter().filter(|other| same(block, other)).count();
        let here = count(&blocks);
        let was_there = known.iter().any(|known| count(known) >= here);
        !was_there && !moved.iter().any(|other| other.whole == block.whole)
    })
}

/// A mark that has begun a conflict.
struct Open<'t> {
    size: usize,
    line: &'t [u8],
    start: usize,
    /// The `=======` has been there.
    divided: bool,
}

fn blocks(text: &[u8]) -> Vec<Block<'_>> {
    let (mut open, mut found): (Vec<Open<'_>>, Vec<Block<'_>>) = (Vec::new(), Vec::new());
    let mut start = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let end = start + line.len();
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        let bare = bare.strip_suffix(b"\r").unwrap_or(bare);
        match mark(bare) {
            Some((b'<', size)) => {
                open.retain(|outer| outer.size != size);
                open.push(Open { size, line: bare, start, divided: false });
            }
            Some((b'=', size)) => {
                if let Some(at) = open.iter().rposition(|outer| outer.size == size) {
                    open.truncate(at + 1);
                    open[at].divided = true;
                }
            }
            Some((b'>', size)) => {
                if let Some(at) = open.iter().rposition(|outer| outer.size == size && outer.divided) {
                    let Open { line, start, .. } = open[at];
                    found.push(Block { open: line, close: bare, whole: &text[start..end] });
                    open.truncate(at);
                }
            }
            _ => {}
        }
        start = end;
    }
    found
}

/// Which mark a line is, and how long; the side's name may follow all but the one in the middle.
fn mark(line: &[u8]) -> Option<(u8, usize)> {
    let kind = *line.first().filter(|kind| b"<=>".contains(kind))?;
    let size = line.iter().take_while(|&&byte| byte == kind).count();
    let rest = &line[size..];
    let fits = rest.is_empty() || (kind != b'=' && rest.starts_with(b" "));
    (size >= SIZE && fits).then_some((kind, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFLICT: &str = "a\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\nb\n";

    fn new(text: &str, before: &[&str], elsewhere: &[&str]) -> bool {
        let bytes = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
        is_new(text.as_bytes(), &bytes(before), &bytes(elsewhere))
    }

    #[test]
    fn a_conflict_is_known_by_its_marks_in_their_order() {
        for conflict in [
            CONFLICT.to_owned(),
            CONFLICT.replace('\n', "\r\n"),
            CONFLICT.replace("=======", "||||||| 1234567\nbase\n======="),
            CONFLICT
                .replace("<<<<<<<", "<<<<<<<<<<")
                .replace("=======", "==========")
                .replace(">>>>>>>", ">>>>>>>>>>"),
            "<<<<<<<\n=======\n>>>>>>>".to_owned(),
            // A conflict in what both began with has longer marks inside of the others'.
            CONFLICT.replace("=======", "||||||| merged\n<<<<<<<<< A\nx\n=========\ny\n>>>>>>>>> B\n======="),
        ] {
            assert!(new(&conflict, &[], &[]), "{conflict}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_none() {
        for text in [
            "Title\n=======\n\ntext\n",
            "<<<<<<< HEAD\nours\ntheirs\n>>>>>>> main\n",
            ">>>>>>> main\n=======\n<<<<<<< HEAD\n",
            " <<<<<<< HEAD\n =======\n >>>>>>> main\n",
            "<<<<<< HEAD\n======\n>>>>>> main\n",
            "<<<<<<< HEAD\n========\n>>>>>>> main\n",
            "<<<<<<<HEAD\n=======\n>>>>>>>main\n",
            "cat <<<<<<< x\n",
            "",
        ] {
            assert!(!new(text, &[], &[]), "{text}");
        }
    }

    #[test]
    fn of_a_conflict_that_was_laid_out_a_single_mark_is_left_over() {
        let left_over =
            |text: &str, before: &str| is_left_over(text.as_bytes(), &[before.as_bytes().to_vec()]);
        assert!(left_over("a\n<<<<<<< landed\nboth\n", "a\nb\n"));
        assert!(left_over("a\nboth\n>>>>>>> task/x\r\n", "a\nb\n"));
        assert!(!left_over("a\n=======\n<<<<<<<\n", "a\nb\n"), "a heading, and a line without a name");
        assert!(!left_over("c\n<<<<<<< landed\n", "a\n<<<<<<< landed\n"));
    }

    #[test]
    fn what_was_there_before_stays_and_what_comes_to_it_is_found() {
        let edited = CONFLICT.replace("ours", "ours, said better").replace("b\n", "b\nc\n");
        assert!(!new(&edited, &["", CONFLICT], &[]), "one of its versions had it");
        assert!(!new(CONFLICT, &[], &[&format!("first\n{CONFLICT}")]), "it was moved here");
        assert!(new(&edited, &[], &[CONFLICT]), "moved and changed is another");
        assert!(new(&format!("{CONFLICT}{CONFLICT}"), &[CONFLICT], &[]), "one more than before");
        let other = CONFLICT.replace("main", "feature");
        assert!(new(&format!("{CONFLICT}{other}"), &[CONFLICT], &[]));
        assert!(!new("solved\n", &[CONFLICT], &[]));
    }
}
