//! Everything that users get, and where it lies: in the archive, and in a system.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::archive::{File, Files};
use super::product::{PROGRAM, Product, said};
use super::{elf, licences, sbom};
use crate::Result;
use crate::steps::root;

/// The shells whose completions are handed out, and the name of the file in an archive.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "conductor.bash"),
    ("zsh", "_conductor"),
    ("fish", "conductor.fish"),
    ("nushell", "conductor.nu"),
];

const UNITS: [&str; 2] = ["conductor.service", "conductor.socket"];

/// Where the unit in the sources says that the program is.
const PROGRAM_OF_UNIT: &str = "%h/.cargo/bin/conductor";

/// What is made once, for whatever it is put into.
pub(super) struct Contents {
    pub(super) program: Vec<u8>,
    pub(super) needs: elf::Needs,
    /// By the names of their files.
    pub(super) manual: Vec<(String, Vec<u8>)>,
    /// By the names of their shells.
    completions: Vec<(&'static str, Vec<u8>)>,
    pub(super) licences: String,
    pub(super) sbom: Vec<u8>,
}

impl Contents {
    pub(super) fn gather(product: &Product, program: &Path) -> Result<Contents> {
        let bytes = fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
        let needs = elf::needs(&bytes)?;
        expect_listed(product, &bytes)?;
        let libraries = licences::libraries(product)?;
        let completions = SHELLS
            .iter()
            .map(|(shell, _)| {
                Ok((*shell, said(Command::new(program).args(["completions", shell]))?.into_bytes()))
            })
            .collect::<Result<_>>()?;
        Ok(Contents {
            program: bytes,
            needs,
            manual: manual(program)?,
            completions,
            licences: licences::page(&libraries)?,
            sbom: sbom::bill(product, &libraries)?,
        })
    }

    pub(super) fn completion(&self, shell: &str) -> Result<Vec<u8>> {
        let found = self.completions.iter().find(|(name, _)| *name == shell);
        found.map(|(_, script)| script.clone()).ok_or_else(|| format!("no completions for {shell}").into())
    }

    /// All files of the archive, by their paths in its folder.
    pub(super) fn for_archive(&self) -> Result<Files> {
        let mut files = Files::new();
        files.insert(PROGRAM.to_owned(), File { is_program: true, bytes: self.program.clone() });
        let mut put = |path: String, bytes: Vec<u8>| files.insert(path, File { is_program: false, bytes });
        for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            put(name.to_owned(), fs::read(root().join(name))?);
        }
        put("THIRD-PARTY-LICENCES.txt".to_owned(), self.licences.clone().into_bytes());
        for (name, page) in &self.manual {
            put(format!("man/man1/{name}"), page.clone());
        }
        for (shell, name) in SHELLS {
            put(format!("completions/{name}"), self.completion(shell)?);
        }
        for (name, text) in units("%h/.local/bin/conductor")? {
            put(format!("systemd/{name}"), text);
        }
        put("examples/config.yaml".to_owned(), fs::read(root().join("examples/config/config.yaml"))?);
        Ok(files)
    }
}

/// The units, for a program that lies there.
pub(super) fn units(program: &str) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let mut units = Vec::new();
    let mut was_found = false;
    for name in UNITS {
        let text = fs::read_to_string(root().join("contrib/systemd").join(name))?;
        was_found |= text.contains(PROGRAM_OF_UNIT);
        units.push((name, text.replace(PROGRAM_OF_UNIT, program).into_bytes()));
    }
    match was_found {
        true => Ok(units),
        false => Err(format!("no unit in contrib/systemd starts {PROGRAM_OF_UNIT}").into()),
    }
}

/// A page for every command, as the program writes them.
fn manual(program: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let folder = tempfile::tempdir()?;
    said(Command::new(program).args(["man", "--dir"]).arg(folder.path()))?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        pages.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?));
    }
    pages.sort();
    Ok(pages)
}

/// What the program says of its parts is what it is linked with.
fn expect_listed(product: &Product, program: &[u8]) -> Result {
    let inside = elf::packages_inside(program)?;
    let names = product.packages.iter().filter_map(|package| package["name"].as_str());
    let missing: Vec<&str> = names.filter(|name| !inside.contains(*name)).collect();
    match missing.as_slice() {
        [] => Ok(()),
        some => Err(format!("the program does not say that it was built of {}", some.join(", ")).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_start_the_program_where_it_is_installed() {
        let units = units("/usr/bin/conductor").unwrap();
        let texts: Vec<String> =
            units.into_iter().map(|(_, text)| String::from_utf8(text).unwrap()).collect();
        assert!(texts[0].contains("ExecStart=/usr/bin/conductor serve"), "{texts:?}");
        assert!(texts[1].contains("ListenStream=127.0.0.1:"), "{texts:?}");
        assert!(texts.iter().all(|text| !text.contains(".cargo")), "{texts:?}");
    }
}
