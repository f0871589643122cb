//! Plugins to begin with: each works as it is, and is short enough to be read before it is changed.

use super::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Python,
    Sh,
    Rust,
}

impl Language {
    pub const ALL: [Language; 3] = [Language::Python, Language::Sh, Language::Rust];
}

/// Stands for the plugin's name in what is written.
const NAME: &str = "NAME";

/// What all programs in Rust begin with: no library is needed to build them.
const COMMON: &str = include_str!("scaffold/common.rs.in");

/// The files of a new plugin, by their names, and whether each is to be executable.
pub fn scaffold(kind: Kind, name: &str, language: Language) -> Vec<(String, String, bool)> {
    let program = kind.program(name).unwrap_or_default();
    let text = source(kind, language).replace(NAME, name);
    match language {
        Language::Python | Language::Sh => vec![(program, text, true)],
        Language::Rust => {
            let manifest = format!(
                "[package]\nname = \"{program}\"\nversion = \"0.1.0\"\nedition = \"2021\"\npublish = false\n\n[workspace]\n"
            );
            vec![
                (format!("{program}/Cargo.toml"), manifest, false),
                (format!("{program}/src/main.rs"), text.replace("@COMMON@\n", COMMON), false),
            ]
        }
    }
}

fn source(kind: Kind, language: Language) -> &'static str {
    match (language, kind) {
        (Language::Python, Kind::Agent) => include_str!("scaffold/agent.py"),
        (Language::Python, Kind::Notifier) => include_str!("scaffold/notifier.py"),
        (Language::Python, Kind::Importer) => include_str!("scaffold/importer.py"),
        (Language::Python, Kind::Verifier) => include_str!("scaffold/verifier.py"),
        (Language::Sh, Kind::Agent) => include_str!("scaffold/agent.sh"),
        (Language::Sh, Kind::Notifier) => include_str!("scaffold/notifier.sh"),
        (Language::Sh, Kind::Importer) => include_str!("scaffold/importer.sh"),
        (Language::Sh, Kind::Verifier) => include_str!("scaffold/verifier.sh"),
        (Language::Rust, Kind::Agent) => include_str!("scaffold/agent.rs.in"),
        (Language::Rust, Kind::Notifier) => include_str!("scaffold/notifier.rs.in"),
        (Language::Rust, Kind::Importer) => include_str!("scaffold/importer.rs.in"),
        (Language::Rust, Kind::Verifier) => include_str!("scaffold/verifier.rs.in"),
    }
}
