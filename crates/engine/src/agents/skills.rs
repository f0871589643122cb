//! Skills and slash commands of a repository and of its user, as Claude Code keeps them.

use std::path::{Path, PathBuf};

use conductor_core::plan::subagents::front_matter;
use serde::{Deserialize, Serialize};

use crate::agents::subagents::{root, text};

/// What a skill had to say before the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    pub name: String,
    pub words: String,
    /// It was run; otherwise these are its instructions, for an agent that cannot run it.
    pub ran: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// As it is called, without the slash.
    pub name: String,
    pub file: PathBuf,
}

impl Skill {
    /// Its instructions, with what it is called with where it asks for that.
    pub fn instructions(&self, arguments: &str) -> Option<String> {
        let text = text(&self.file)?;
        Some(front_matter(&text).1.replace("$ARGUMENTS", arguments))
    }
}

/// The skill of this name, as it is known in a folder: of the folder first, then of the repository it is in, then of the
/// user; a skill before a command.
pub fn find(name: &str, directory: &Path) -> Option<Skill> {
    let own = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let own = own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".claude")));
    let of_project = [directory.to_owned(), root(directory)].map(|folder| Some(folder.join(".claude")));
    find_in(name, of_project.into_iter().chain([own]).flatten())
}

fn find_in(name: &str, folders: impl Iterator<Item = PathBuf>) -> Option<Skill> {
    let name = name.trim_start_matches('/');
    let plain = |part: &str| {
        let fits = part.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        fits && !part.is_empty() && !part.starts_with('.')
    };
    if !name.split(':').all(plain) {
        return None;
    }
    let mut places = folders.flat_map(|folder| {
        let command = name.replace(':', "/") + ".md";
        [folder.join("skills").join(name).join("SKILL.md"), folder.join("commands").join(command)]
    });
    let file = places.find(|file| file.is_file())?;
    Some(Skill { name: name.to_owned(), file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_and_commands_are_found_by_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("repo/skills/tidy/SKILL.md", "---\nname: tidy\n---\nTidy up $ARGUMENTS.\n");
        write("repo/commands/flow/summary.md", "Sum it up");
        write("home/commands/tidy.md", "another");
        write("home/commands/mine.md", "Mine");
        write("secret.md", "no");
        let found = |name: &str| {
            let folders = ["repo", "home"].map(|folder| dir.path().join(folder));
            find_in(name, folders.into_iter()).and_then(|skill| skill.instructions("the room"))
        };
        assert_eq!(found("tidy").as_deref(), Some("Tidy up the room."));
        assert_eq!(found("/flow:summary").as_deref(), Some("Sum it up"));
        assert_eq!(found("mine").as_deref(), Some("Mine"));
        for name in ["summary", "", "../../secret", "..:..:secret", "a/b", "flow:"] {
            assert_eq!(found(name), None, "{name}");
        }
    }
}
