//! The specialists of a repository and of its user: Markdown files with a head, as Claude Code keeps them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use conductor_core::plan::subagents::{Subagent, front_matter, items};

/// Where they are kept, below a repository's root or a home.
const FOLDER: &str = ".claude/agents";

/// More files than any folder of specialists has; a folder with more holds something else.
const MOST: usize = 500;
const DEEPEST: usize = 4;

/// Longer instructions are not read.
const LONGEST: u64 = 256 << 10;

/// Those of the repository a directory is in, then those of the user. A file that cannot be read is left out.
pub fn found(directory: &Path) -> Vec<Subagent> {
    let own = std::env::var_os("CLAUDE_CONFIG_DIR").map(|folder| PathBuf::from(folder).join("agents"));
    let own = own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(FOLDER)));
    found_in(&root(directory), own.as_deref())
}

fn found_in(root: &Path, own: Option<&Path>) -> Vec<Subagent> {
    let repository = root.join(FOLDER);
    let mut all = read(&repository, FOLDER);
    if let Some(own) = own.filter(|own| **own != repository) {
        all.extend(read(own, &own.display().to_string()));
    }
    all
}

/// The checkout a directory is in, or the directory itself.
pub fn root(directory: &Path) -> PathBuf {
    // An empty folder of that name makes no repository.
    let is_root = |folder: &&Path| folder.join(".git").is_file() || folder.join(".git/HEAD").exists();
    directory.ancestors().find(is_root).unwrap_or(directory).to_owned()
}

fn read(folder: &Path, shown: &str) -> Vec<Subagent> {
    let mut files = Vec::new();
    collect(folder, DEEPEST, &mut files);
    files.sort();
    let one = |file: &PathBuf| {
        let name = file.strip_prefix(folder).unwrap_or(file);
        subagent(file, format!("{shown}/{}", name.display()))
    };
    files.iter().filter_map(one).collect()
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if files.len() >= MOST {
            return;
        }
        if path.is_dir() && depth > 1 {
            collect(&path, depth - 1, files);
        } else if path.extension() == Some(OsStr::new("md")) && path.is_file() {
            files.push(path);
        }
    }
}

/// Called by its head's name, or else by its file's.
fn subagent(file: &Path, from: String) -> Option<Subagent> {
    let text = text(file)?;
    let (mut head, body) = front_matter(&text);
    let stem = || file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = head.remove("name").filter(|name| !name.is_empty()).or_else(stem)?;
    Some(Subagent {
        name,
        description: head.remove("description").unwrap_or_default(),
        words: head.get("words").map(|words| items(words)).unwrap_or_default(),
        agent: None,
        model: head.remove("model").filter(|model| !model.is_empty()),
        prompt: body.to_owned(),
        from,
    })
}

/// A text file of bearable length.
pub(crate) fn text(file: &Path) -> Option<String> {
    let length = std::fs::metadata(file).ok()?.len();
    (length <= LONGEST).then(|| std::fs::read_to_string(file).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_repository_come_before_those_of_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &[u8]| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "repo/.claude/agents/b.md",
            b"---\nname: api-expert\nmodel: opus\nwords: [api, rest]\n---\nBe brief.",
        );
        write("repo/.claude/agents/deep/a.md", b"No head.");
        write("repo/.claude/agents/binary.md", b"\xff\xfe");
        write("repo/.claude/agents/note.txt", b"not one");
        write("home/agents/mine.md", b"---\ndescription: Mine\n---\nBe kind.");
        write("repo/.git/HEAD", b"ref: refs/heads/main\n");
        std::fs::create_dir_all(dir.path().join("repo/src/deep")).unwrap();
        assert_eq!(root(&dir.path().join("repo/src/deep")), dir.path().join("repo"));
        let all = found_in(&dir.path().join("repo"), Some(&dir.path().join("home/agents")));
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["api-expert", "a", "mine"]);
        assert_eq!((all[0].model.as_deref(), all[0].prompt.as_str()), (Some("opus"), "Be brief."));
        assert_eq!((all[0].words.len(), all[0].from.as_str()), (2, ".claude/agents/b.md"));
        assert_eq!((all[1].prompt.as_str(), all[2].prompt.as_str()), ("No head.", "Be kind."));
        assert!(found_in(&dir.path().join("nowhere"), None).is_empty());
    }
}
