//! Lists of tasks in Markdown: `- [ ] words` is one to do, `- [x] words` is done. What is nested below belongs to it. Where no
//! line has a box, every line of the list is one to do.

use std::collections::BTreeSet;
use std::path::Path;

use super::{ImportError, Item, State, read};

/// The items of a file.
pub fn items(path: &Path) -> Result<Vec<Item>, ImportError> {
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    let found = parse(&text);
    match found.is_empty() {
        true => {
            let why = "it has no list, such as `- [ ] Write the parser`".to_owned();
            Err(ImportError::Foreign { path: path.to_owned(), tool: "a list in Markdown", why })
        }
        false => Ok(found),
    }
}

/// A line of a list.
struct Bullet<'a> {
    indent: usize,
    /// Nothing where it has no box.
    checked: Option<bool>,
    words: &'a str,
}

fn parse(text: &str) -> Vec<Item> {
    let lines = without_code(text);
    let boxes = lines.iter().filter_map(|line| bullet(line)).any(|bullet| bullet.checked.is_some());
    let mut items: Vec<Item> = Vec::new();
    // How far the items of this list are set in.
    let mut level: Option<usize> = None;
    for line in lines {
        if line.starts_with('#') {
            level = None;
            continue;
        }
        let Some(bullet) = bullet(line) else {
            match (line.starts_with(' ') || line.starts_with('\t'), items.last_mut()) {
                (true, Some(item)) if level.is_some() && !line.trim().is_empty() => {
                    push_line(item, line.trim())
                }
                _ if line.trim().is_empty() => {}
                _ => level = None,
            }
            continue;
        };
        if level.is_some_and(|level| bullet.indent > level) {
            if let Some(item) = items.last_mut() {
                let mark = match bullet.checked {
                    Some(true) => "- [x] ",
                    Some(false) => "- [ ] ",
                    None => "- ",
                };
                push_line(item, &format!("{mark}{}", bullet.words));
            }
            continue;
        }
        if boxes && bullet.checked.is_none() {
            level = None;
            continue;
        }
        level = Some(bullet.indent);
        items.push(Item {
            title: bullet.words.to_owned(),
            state: if bullet.checked == Some(true) { State::Done } else { State::Open },
            ..Item::default()
        });
    }
    number(items)
}

/// Titles may be alike; items need names of their own.
fn number(mut items: Vec<Item>) -> Vec<Item> {
    let mut taken = BTreeSet::new();
    for (at, item) in items.iter_mut().enumerate() {
        item.id = match taken.insert(item.title.clone()) {
            true => item.title.clone(),
            false => format!("{} {}", item.title, at + 1),
        };
    }
    items
}

fn push_line(item: &mut Item, line: &str) {
    if !item.body.is_empty() {
        item.body.push('\n');
    }
    item.body.push_str(line);
}

/// The lines that are not within a block of code.
fn without_code(text: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => lines.push(line),
            (Some(_), _) => {}
        }
    }
    lines
}

fn bullet(line: &str) -> Option<Bullet<'_>> {
    let rest = line.trim_start();
    let indent = line[..line.len() - rest.len()].chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
    let after_number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_number.len() < rest.len() && after_number.starts_with(['.', ')']);
    let words = match is_numbered {
        true => &after_number[1..],
        false => rest.strip_prefix(['-', '*', '+'])?,
    };
    let words = words.strip_prefix([' ', '\t'])?.trim();
    let (checked, words) = match words.get(..3) {
        Some("[ ]") => (Some(false), words[3..].trim()),
        Some("[x]" | "[X]") => (Some(true), words[3..].trim()),
        _ => (None, words),
    };
    (!words.is_empty()).then_some(Bullet { indent, checked, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let told = |item: &Item| {
            format!("{}{} | {}", if item.state == State::Done { "x " } else { "" }, item.title, item.body)
        };
        parse(text).iter().map(told).collect()
    }

    #[test]
    fn boxes_are_tasks_and_what_is_below_belongs_to_them() {
        let text = "# Plan\n\n- a remark\n- [ ] Write the parser\n  with tests\n  - [ ] numbers\n  - [x] words\n- [x] Set up\n\n\
                    ```\n- [ ] code\n```\n\n## Later\n1. [ ] Ship it\n\ntext\n";
        assert_eq!(
            told(text),
            ["Write the parser | with tests\n- [ ] numbers\n- [x] words", "x Set up | ", "Ship it | "]
        );
    }

    #[test]
    fn a_list_without_boxes_is_to_do_as_a_whole() {
        assert_eq!(told("* one\n* two\n  more\n"), ["one | ", "two | more"]);
        assert_eq!(told("nothing\n---\n"), [""; 0]);
    }
}
