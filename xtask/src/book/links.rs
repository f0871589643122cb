//! Links between documents: the file has to be there, and the heading in it. The book holds what is in `docs` and nothing else, so
//! its pages link to nothing outside of it, and to no folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::Result;

/// Where its pages are.
const BOOK: &str = "docs";

/// What is wrong, one line each. Documents are named from `root`.
pub(super) fn broken(root: &Path, documents: &[PathBuf]) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for document in documents {
        let text = fs::read_to_string(root.join(document))?;
        for (line, target) in links(&text) {
            if let Some(why) = wrong(root, document, &text, &target) {
                broken.push(format!("{}:{line}: {target}: {why}", document.display()));
            }
        }
    }
    Ok(broken)
}

/// Where every link and picture leads, with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let targets = events.filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((text[..range.start].matches('\n').count() + 1, dest_url.into_string()))
        }
        _ => None,
    });
    targets.collect()
}

fn wrong(root: &Path, document: &Path, text: &str, target: &str) -> Option<String> {
    let is_elsewhere = target.contains("://") || target.starts_with("mailto:") || target.is_empty();
    if is_elsewhere {
        return None;
    }
    let (file, heading) =
        target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    if file.starts_with('/') {
        return Some("begins at the root of a machine".to_owned());
    }
    let path = match file {
        "" => document.to_owned(),
        file => plain(&document.with_file_name(file))?,
    };
    if !root.join(&path).exists() {
        return Some(format!("there is no {}", path.display()));
    }
    if document.starts_with(BOOK) && (!path.starts_with(BOOK) || root.join(&path).is_dir()) {
        return Some(format!("{} is no page of the book", path.display()));
    }
    let heading = heading?;
    let other = if file.is_empty() { text.to_owned() } else { fs::read_to_string(root.join(&path)).ok()? };
    (!headings(&other).contains(heading)).then(|| format!("{} has no such heading", path.display()))
}

/// Without `..` in it.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !plain.pop() {
                    return Some(path.to_owned());
                }
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Some(plain)
}

/// The names by which forges and mdBook let a heading be linked to.
fn headings(text: &str) -> BTreeSet<String> {
    let (mut names, mut current) = (BTreeSet::new(), None::<String>);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => current = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(current) = &mut current {
                    current.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => names.extend(current.take().map(|text| name(&text))),
            _ => {}
        }
    }
    names
}

fn name(heading: &str) -> String {
    let letters = heading.to_lowercase();
    let kept = letters.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_named_with_their_place() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("docs")).unwrap();
        fs::write(root.path().join("README.md"), "# Top\n").unwrap();
        let text = "# A page: `code`, more\n\n[well](b.md#top) [own](#a-page-code-more)\n\
                    [gone](gone.md)\n[x](b.md#nowhere) `[no](link.md)` <https://x.example/y>\n![p](p.png)\n\
                    [out](../README.md) [folder](more)\n";
        fs::write(root.path().join("docs/a.md"), text).unwrap();
        fs::write(root.path().join("docs/b.md"), "# Top\n").unwrap();
        fs::create_dir(root.path().join("docs/more")).unwrap();
        fs::write(root.path().join("a.md"), "[page](docs/a.md) [folder](docs/more) [own](README.md#top)\n")
            .unwrap();
        assert_eq!(
            broken(root.path(), &["docs/a.md".into(), "a.md".into()]).unwrap(),
            [
                "docs/a.md:4: gone.md: there is no docs/gone.md",
                "docs/a.md:5: b.md#nowhere: docs/b.md has no such heading",
                "docs/a.md:6: p.png: there is no docs/p.png",
                "docs/a.md:7: ../README.md: README.md is no page of the book",
                "docs/a.md:7: more: docs/more is no page of the book",
            ]
        );
    }
}
