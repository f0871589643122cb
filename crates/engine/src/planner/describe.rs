//! Describes a repository to the agent that plans work in it: how it is tested, what it is written in, what
//! its people ask of agents, and its files, as far as there is room. The description is deterministic.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use conductor_core::values::counted::counted;

use crate::git;
use crate::process::transcript::shown;
use crate::worker::gates;

/// About as many bytes make a token.
const BYTES_PER_TOKEN: usize = 4;

/// How many tokens a description may have by default.
pub const MOST_TOKENS: usize = 6000;

/// What people write for agents, the first that is there.
const INSTRUCTIONS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"];

/// Describes the repository a directory belongs to, or the directory itself where it belongs to none.
pub fn describe(directory: &Path, tokens: usize) -> String {
    let room = tokens * BYTES_PER_TOKEN;
    let root = crate::agents::subagents::root(directory);
    let files = files(&root);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let tests = gates::detect(&root);
    if !tests.is_empty() {
        let _ = writeln!(out, "It is tested by: {}", shown(tests.join("; ").as_bytes()));
    }
    let languages = languages(&files);
    if !languages.is_empty() {
        let _ = writeln!(out, "Its files, by their endings: {languages}");
    }
    if let Some((name, text)) = instructions(&root, room / 3) {
        let _ = writeln!(out, "\n{name} says:\n\n{}\n", text.trim());
    }
    let out = cut(out, room);
    let tree = tree(&files, room.saturating_sub(out.len()));
    out + &tree
}

/// Tracked files and those that are not ignored, in order.
fn files(root: &Path) -> Vec<String> {
    let listed = git::list_files(root, &["--cached", "--others", "--exclude-standard"]);
    let mut files: Vec<String> = match listed {
        Ok(files) => files.iter().map(|file| shown(file.as_os_str().as_encoded_bytes())).collect(),
        Err(_) => top(root),
    };
    files.sort();
    files.dedup();
    files
}

/// What lies openly in a folder that is no repository.
fn top(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let name = |path: PathBuf| path.file_name().map(|name| shown(name.as_encoded_bytes()));
    let shown = entries.filter_map(|entry| name(entry.path()));
    shown.filter(|name| !name.starts_with('.')).collect()
}

/// The endings most files have.
fn languages(files: &[String]) -> String {
    const MOST: usize = 8;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        if let Some((stem, ending)) = name.rsplit_once('.')
            && !stem.is_empty()
        {
            *counts.entry(ending).or_default() += 1;
        }
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(ending, count)| (std::cmp::Reverse(count), ending));
    let words: Vec<String> =
        counts.iter().take(MOST).map(|(ending, count)| format!("{count} .{ending}")).collect();
    words.join(", ")
}

fn instructions(root: &Path, room: usize) -> Option<(&'static str, String)> {
    use std::io::Read as _;
    INSTRUCTIONS.iter().find_map(|name| {
        let path = root.join(name);
        let mut text = Vec::new();
        let file = std::fs::File::open(&path).ok().filter(|_| path.is_file())?;
        file.take(room as u64 + 4).read_to_end(&mut text).ok()?;
        let text = cut(String::from_utf8_lossy(&text).replace('\0', ""), room);
        (!text.trim().is_empty()).then_some((*name, text))
    })
}

/// The beginning of a text, with a mark where something is missing.
fn cut(mut text: String, room: usize) -> String {
    const MARK: &str = "\n…\n";
    if text.len() > room {
        let end = room.saturating_sub(MARK.len());
        text.truncate(text.floor_char_boundary(end));
        text.push_str(MARK);
    }
    text
}

/// All files where they fit; else folders, as deep as there is room, with how many files are in them.
fn tree(files: &[String], room: usize) -> String {
    const HEAD: &str = "Its files:\n\n";
    if files.is_empty() {
        return "It has no files yet.\n".to_owned();
    }
    let room = room.saturating_sub(HEAD.len());
    let deepest = files.iter().map(|file| file.matches('/').count()).max().unwrap_or(0);
    let fitting = (0..=deepest).rev().map(|depth| folded(files, depth)).find(|text| text.len() <= room);
    let text = fitting.unwrap_or_else(|| cut(folded(files, 0), room));
    format!("{HEAD}{text}")
}

fn folded(files: &[String], depth: usize) -> String {
    let mut entries: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let folder = file.match_indices('/').nth(depth).map(|(at, _)| format!("{}/", &file[..at]));
        *entries.entry(folder.unwrap_or_else(|| file.clone())).or_default() += 1;
    }
    let line = |(name, count): (&String, &usize)| match name.ends_with('/') {
        true => format!("{name} ({})\n", counted(*count, "file")),
        false => format!("{name}\n"),
    };
    entries.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(number: usize) -> Vec<String> {
        (0..number).map(|n| format!("src/room{}/deep/file{n}.rs", n % 10)).collect()
    }

    #[test]
    fn all_files_are_named_where_they_fit_and_folders_where_not() {
        let few = tree(&["a.rs".into(), "b/c.rs".into()], 1000);
        assert_eq!(few, "Its files:\n\na.rs\nb/c.rs\n");
        let files = many(5000);
        let folders = tree(&files, 600);
        assert!(folders.contains("src/room3/deep/ (500 files)"), "{folders}");
        assert!(folders.len() <= 600);
        assert_eq!(tree(&files, 60), "Its files:\n\nsrc/ (5000 files)\n");
        assert_eq!(tree(&[], 60), "It has no files yet.\n");
    }

    #[test]
    fn a_description_keeps_to_its_room_and_is_always_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let run = |args: &[&str]| {
            std::process::Command::new("git").args(args).current_dir(folder.path()).output().unwrap()
        };
        run(&["init", "-q"]);
        std::fs::write(folder.path().join(".gitignore"), "secret\n").unwrap();
        std::fs::write(folder.path().join("secret"), "x").unwrap();
        std::fs::write(folder.path().join("AGENTS.md"), "Be kind. ".repeat(5000)).unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"x\"\n").unwrap();
        for number in 0..400 {
            std::fs::write(folder.path().join(format!("file-{number}.rs")), "").unwrap();
        }
        for tokens in [50, 500, 6000] {
            let text = describe(folder.path(), tokens);
            assert!(text.len() <= tokens * 4 + 16, "{} for {tokens}", text.len());
            assert_eq!(text, describe(folder.path(), tokens));
            assert!(!text.contains("secret"));
        }
        let text = describe(folder.path(), 6000);
        for part in ["tested by: cargo test", "400 .rs", "AGENTS.md says:", "Be kind.", "file-399.rs"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
