//! Under which licences everything in the program may be handed on: a list, and the texts themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::product::{Product, text};
use crate::Result;
use crate::steps::root;

/// A library of others that is in the program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Library {
    pub(super) name: String,
    pub(super) version: String,
    /// As SPDX has it.
    pub(super) licence: String,
    /// Of its package, as package URLs have it: `cargo`, `npm`.
    pub(super) kind: &'static str,
    pub(super) folder: std::path::PathBuf,
}

/// All of them: what is linked, and what the page is made of.
pub(super) fn libraries(product: &Product) -> Result<Vec<Library>> {
    let mut all: Vec<Library> =
        product.packages.iter().filter(|package| !package["source"].is_null()).map(linked).collect();
    all.extend(of_page()?);
    let unnamed: Vec<&str> = all
        .iter()
        .filter(|library| library.licence.is_empty())
        .map(|library| library.name.as_str())
        .collect();
    match unnamed.as_slice() {
        [] => Ok(all),
        some => Err(format!("no licence is named by {}", some.join(", ")).into()),
    }
}

fn linked(package: &Value) -> Library {
    let manifest = text(&package["manifest_path"]);
    let folder = Path::new(&manifest).parent().map(Path::to_owned).unwrap_or_default();
    Library {
        name: text(&package["name"]),
        version: text(&package["version"]),
        // The older way to write a choice.
        licence: text(&package["license"]).replace('/', " OR "),
        kind: "cargo",
        folder,
    }
}

/// What is in the page: the packages of its lock file that are not only there to build and test it.
fn of_page() -> Result<Vec<Library>> {
    let web = root().join("web");
    let lock: Value = serde_json::from_slice(&fs::read(web.join("package-lock.json"))?)?;
    let packages = lock["packages"].as_object().ok_or("web/package-lock.json lists no packages")?;
    let shipped = packages.iter().filter(|(path, about)| {
        path.starts_with("node_modules/") && about["dev"] != true && about["optional"] != true
    });
    let library = |(path, about): (&String, &Value)| Library {
        name: path.rsplit("node_modules/").next().unwrap_or(path).to_owned(),
        version: text(&about["version"]),
        licence: text(&about["license"]),
        kind: "npm",
        folder: web.join(path),
    };
    Ok(shipped.map(library).collect())
}

/// A page for readers: who made what under which licence, and each text once.
pub(super) fn page(libraries: &[Library]) -> Result<String> {
    let mut page =
        "Conductor is made with these libraries, each under its own licence. The texts follow.\n\n"
            .to_owned();
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for library in libraries {
        let name = format!("{} {}", library.name, library.version);
        page += &format!("{name}: {}\n", library.licence);
        for text in texts_of(&library.folder)? {
            texts.entry(text).or_default().insert(name.clone());
        }
    }
    for (text, names) in texts {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        page += &format!("\n{}\n{names}\n\n{}\n", "-".repeat(78), text.trim_end());
    }
    Ok(page)
}

/// The files in which a library says how it may be handed on.
fn texts_of(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE"]
            .iter()
            .any(|known| name.starts_with(known));
        if is_licence && entry.file_type()?.is_file() {
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n");
            texts.push(text.trim().to_owned());
        }
    }
    texts.sort();
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_many_share_is_there_once() {
        let root = tempfile::tempdir().unwrap();
        let library = |name: &str, text: &str| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("LICENSE-MIT"), text).unwrap();
            fs::write(folder.join("lib.rs"), "not this").unwrap();
            let (name, version) = (name.to_owned(), "1.0.0".to_owned());
            Library { name, version, licence: "MIT".to_owned(), kind: "cargo", folder }
        };
        let page = page(&[library("a", "Be kind.\r\n"), library("b", "Be kind."), library("c", "Be fair.")])
            .unwrap();
        assert!(page.contains("a 1.0.0: MIT\nb 1.0.0: MIT\n"), "{page}");
        assert!(page.contains("\na 1.0.0, b 1.0.0\n\nBe kind.\n"), "{page}");
        assert_eq!(page.matches("Be kind.").count(), 1, "{page}");
        assert!(page.contains("Be fair.") && !page.contains("not this"), "{page}");
    }

    #[test]
    fn the_page_is_made_of_what_its_lock_file_says() {
        let names: Vec<String> = of_page().unwrap().into_iter().map(|library| library.name).collect();
        assert!(names.contains(&"react".to_owned()), "{names:?}");
        assert!(!names.contains(&"typescript".to_owned()), "only for building: {names:?}");
    }
}
