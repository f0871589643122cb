//! The documents as a book: its list of pages, and whether every link in them leads to something.
//!
//! Only links within the repository are followed; nothing is asked of a network.

mod links;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::steps::root;

/// The list of pages, as mdBook wants it.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Chapters in the order of a reader; what is not named here comes after them.
const PARTS: [(&str, &[&str]); 6] = [
    ("Begin", &["guide", "workspaces", "agents", "models", "prompts", "specialists"]),
    ("Watch and steer", &["watching", "tui", "server", "api", "metrics", "traces"]),
    ("Plan", &["planning", "groups", "beads", "follow-ups", "expertise"]),
    ("Judge", &["reviews", "races", "approval", "recovery"]),
    ("Further afield", &["cloud", "browser", "distribution", "sync", "security", "plugins"]),
    ("Inside", &["ARCHITECTURE", "GLOSSARY", "BENCHMARKS", "sentences"]),
];

/// What stands before the parts.
const FIRST: &str = "install";

/// Its place, and what is to be in it.
pub(crate) fn summary() -> Result<(PathBuf, String)> {
    let pages = self::pages("docs")?;
    let mut text = "# Summary\n\n".to_owned();
    let mut open = pages;
    open.remove("SUMMARY");
    if open.remove(FIRST) {
        text += &format!("- {}\n", line("docs", FIRST, "")?);
    }
    for (part, names) in PARTS {
        text += &format!("\n# {part}\n\n");
        for name in names.iter().filter(|name| open.remove(**name)) {
            text += &format!("- {}\n", line("docs", name, "")?);
        }
    }
    text += "\n# More\n\n";
    for name in &open {
        text += &format!("- {}\n", line("docs", name, "")?);
    }
    for (folder, title, first) in [("commands", "Commands", Some("README")), ("decisions", "Decisions", None)]
    {
        let below = format!("docs/{folder}");
        text += &match first {
            Some(first) => format!("- [{title}]({folder}/{first}.md)\n"),
            None => format!("- [{title}]()\n"),
        };
        for name in self::pages(&below)?.iter().filter(|name| Some(name.as_str()) != first) {
            text += &format!("  - {}\n", line(&below, name, &format!("{folder}/"))?);
        }
    }
    Ok((root().join(SUMMARY), text))
}

/// The pages of a folder, without their ending.
fn pages(folder: &str) -> Result<BTreeSet<String>> {
    let mut pages = BTreeSet::new();
    for entry in fs::read_dir(root().join(folder))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        pages.extend(name.strip_suffix(".md").map(str::to_owned));
    }
    Ok(pages)
}

fn line(folder: &str, name: &str, below: &str) -> Result<String> {
    let text = fs::read_to_string(root().join(folder).join(format!("{name}.md")))?;
    let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(name);
    Ok(format!("[{}]({below}{name}.md)", title.replace(['[', ']', '`'], "")))
}

/// Every link of every document.
pub(crate) fn check() -> Result {
    let broken = links::broken(&root(), &documents()?)?;
    match broken.is_empty() {
        true => Ok(()),
        false => Err(format!("links that lead nowhere:\n{}", broken.join("\n")).into()),
    }
}

fn documents() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders =
        vec![PathBuf::from("."), "docs".into(), "docs/commands".into(), "docs/decisions".into()];
    for entry in fs::read_dir(root().join("crates"))? {
        folders.push(Path::new("crates").join(entry?.file_name()));
    }
    for folder in folders {
        for entry in fs::read_dir(root().join(&folder))? {
            let path = folder.join(entry?.file_name());
            if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_in_the_list_once() {
        let (_, text) = summary().unwrap();
        for page in pages("docs").unwrap().iter().filter(|page| *page != "SUMMARY") {
            assert_eq!(text.matches(&format!("({page}.md)")).count(), 1, "{page}");
        }
        assert!(text.contains("  - [conductor run](commands/run.md)"), "{text}");
    }

    #[test]
    fn every_page_is_in_a_part() {
        let is_named =
            |page: &&String| *page == FIRST || PARTS.iter().any(|(_, names)| names.contains(&page.as_str()));
        let pages = pages("docs").unwrap();
        let open: Vec<_> = pages.iter().filter(|page| *page != "SUMMARY" && !is_named(page)).collect();
        assert_eq!(open, [""; 0]);
    }

    #[test]
    fn every_link_leads_to_something() {
        check().unwrap();
    }
}
