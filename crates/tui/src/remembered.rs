//! What the user wants to find again: the theme, and whether the mouse is on.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use conductor_engine::host::access;
use serde::{Deserialize, Serialize};

const NAME: &str = "tui.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Remembered {
    pub(crate) theme: String,
    pub(crate) mouse: bool,
}

impl Default for Remembered {
    fn default() -> Remembered {
        Remembered { theme: "default".to_owned(), mouse: true }
    }
}

impl Remembered {
    /// What cannot be read counts as not there: it is nothing but looks.
    pub(crate) fn read(home: &Path) -> Remembered {
        let text = fs::read_to_string(file(home)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// In one go, so that another view never reads half of it.
    pub(crate) fn write(&self, home: &Path) -> io::Result<()> {
        let (file, beside) = (file(home), home.join(format!(".{NAME}.{}", std::process::id())));
        let mut out = access::private().write(true).create(true).truncate(true).open(&beside)?;
        out.write_all(serde_json::to_string(self).unwrap_or_default().as_bytes())?;
        fs::rename(&beside, file)
    }
}

fn file(home: &Path) -> PathBuf {
    home.join(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_found_again_and_nonsense_counts_as_nothing() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Remembered::read(home.path()), Remembered::default());
        let dracula = Remembered { theme: "dracula".to_owned(), mouse: false };
        dracula.write(home.path()).unwrap();
        assert_eq!(Remembered::read(home.path()), dracula);
        fs::write(file(home.path()), "{ half").unwrap();
        assert_eq!(Remembered::read(home.path()), Remembered::default());
    }
}
