//! What differs between two texts, for a user who decides about it.

/// Lines around a change that are shown.
const CONTEXT: usize = 2;

/// More lines than this are counted only.
const MOST: usize = 200;

/// More comparisons than this are not made: then the whole middle counts as changed.
const COMPARISONS: usize = 1_000_000;

/// Longer lines are cut: nothing is to be hidden behind the edge of a screen, and the cut is marked.
const WIDEST: usize = 400;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Same,
    Removed,
    Added,
}

/// The changed lines with a few around them.
pub(crate) fn lines(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let all = compared(&old, &new);
    let near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        all[from..all.len().min(at + CONTEXT + 1)].iter().any(|(kind, _)| *kind != Kind::Same)
    };
    let mut out = Vec::new();
    let mut skipped = false;
    for (at, (kind, line)) in all.iter().enumerate() {
        if !near(at) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) && !out.is_empty() {
            out.push("  …".to_owned());
        }
        let mark = match kind {
            Kind::Same => "    ",
            Kind::Removed => "  - ",
            Kind::Added => "  + ",
        };
        out.push(format!("{mark}{}", cut(line)));
    }
    bounded(out)
}

/// The beginning of a file, or its size where it is no text.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    if bytes.contains(&0) || std::str::from_utf8(bytes).is_err() {
        return format!("  a program of {} bytes, which cannot be shown as text\n", bytes.len());
    }
    let text = conductor_engine::process::transcript::shown(bytes);
    bounded(text.lines().map(|line| format!("  {}", cut(line))).collect())
}

fn bounded(mut lines: Vec<String>) -> String {
    let left = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    if left > 0 {
        lines.push(format!("  … and {left} more lines"));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDEST) {
        Some((at, _)) => format!("{}… ({} more characters)", &line[..at], line[at..].chars().count()),
        None => line.to_owned(),
    }
}

fn compared<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Kind, &'a str)> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let same = |line: &&'a str| (Kind::Same, *line);
    let mut all: Vec<(Kind, &str)> = old[..head].iter().map(same).collect();
    all.extend(middle(old_middle, new_middle));
    all.extend(old[old.len() - tail..].iter().map(same));
    all
}

/// By the longest part that both have in common.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Kind, &'a str)> {
    let removed = old.iter().map(|line| (Kind::Removed, *line));
    if old.len().saturating_mul(new.len()) > COMPARISONS {
        return removed.chain(new.iter().map(|line| (Kind::Added, *line))).collect();
    }
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match old[i] == new[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut all) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            all.push((Kind::Same, old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            all.push((Kind::Removed, old[i]));
            i += 1;
        } else {
            all.push((Kind::Added, new[j]));
            j += 1;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_shown_with_what_is_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let after = "a\nb\nc\nD\ne\nf\ng\nh\ni\n";
        assert_eq!(lines(before, after), "    b\n    c\n  - d\n  + D\n    e\n    f\n    g\n    h\n  + i\n");
        assert_eq!(lines("x\n", "x\n"), "");
        assert_eq!(lines("", "x\n"), "  + x\n");
        let far = lines("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n2\n3\n4\n5\n6\n7\n8\n0\n");
        assert_eq!(far, "  - 1\n  + 0\n    2\n    3\n  …\n    7\n    8\n  - 9\n  + 0\n");
    }

    #[test]
    fn nothing_is_hidden_by_its_length() {
        let long = format!("ok{}rm -rf\n", " ".repeat(1000));
        assert!(lines("", &long).contains("more characters"));
        assert!(beginning(&b"x\n".repeat(1000)).contains("and 800 more lines"));
        assert!(beginning(b"\x7fELF\0").contains("5 bytes"));
    }
}
