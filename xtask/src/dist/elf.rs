//! What a program needs of the system it is started on, and what is said in it of its own parts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use flate2::read::ZlibDecoder;
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _, elf, read::elf::Dyn as _};

use crate::Result;

/// Where `cargo auditable` puts what the program was built of, and by that cargo-audit and others find it.
const DEPENDENCIES: &str = ".dep-v0";

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Names of shared libraries.
    pub(super) libraries: BTreeSet<String>,
    /// The newest version of each family of symbols: `GLIBC` to `[2, 34]`.
    pub(super) versions: BTreeMap<String, Vec<u32>>,
}

pub(super) fn needs(program: &[u8]) -> Result<Needs> {
    let file = ElfFile64::<Endianness>::parse(program)?;
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let mut needs = Needs::default();
    if let Some((entries, strings)) = sections.dynamic(endian, program)? {
        let strings = sections.strings(endian, program, strings)?;
        for entry in entries {
            if entry.tag(endian) == elf::DT_NEEDED {
                needs.libraries.insert(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
            }
        }
    }
    if let Some((mut files, strings)) = sections.gnu_verneed(endian, program)? {
        let strings = sections.strings(endian, program, strings)?;
        while let Some((_, mut names)) = files.next()? {
            while let Some(name) = names.next()? {
                let name = String::from_utf8_lossy(name.name(endian, strings)?).into_owned();
                needs.note(&name);
            }
        }
    }
    Ok(needs)
}

impl Needs {
    /// `GLIBC_2.34` and the like; names without a number say nothing of a version.
    fn note(&mut self, name: &str) {
        let Some((family, version)) = name.rsplit_once('_') else { return };
        let numbers: std::result::Result<Vec<u32>, _> = version.split('.').map(str::parse).collect();
        let Ok(numbers) = numbers else { return };
        let newest = self.versions.entry(family.to_owned()).or_default();
        *newest = std::mem::take(newest).max(numbers);
    }

    /// As it is written: `2.34`.
    pub(super) fn version(&self, family: &str) -> Option<String> {
        let numbers = self.versions.get(family)?;
        Some(numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
    }
}

/// The packages that the program says it was built of.
pub(super) fn packages_inside(program: &[u8]) -> Result<BTreeSet<String>> {
    let file = ElfFile64::<Endianness>::parse(program)?;
    let section = file.section_by_name(DEPENDENCIES);
    let packed =
        section.ok_or("the program does not say what it was built of; is cargo-auditable working?")?;
    let mut text = String::new();
    ZlibDecoder::new(packed.data()?).read_to_string(&mut text)?;
    let listed: serde_json::Value = serde_json::from_str(&text)?;
    let packages = listed["packages"].as_array().ok_or("the list in the program has no packages")?;
    Ok(packages.iter().filter_map(|package| package["name"].as_str()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_a_family_counts() {
        let mut needs = Needs::default();
        for name in ["GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.4", "GCC_3.0", "GCC_4.2.0", "GLIBC_PRIVATE"] {
            needs.note(name);
        }
        assert_eq!(needs.version("GLIBC").as_deref(), Some("2.34"));
        assert_eq!(needs.version("GCC").as_deref(), Some("4.2.0"));
        assert_eq!(needs.version("CXXABI"), None);
    }

    /// This very test is a program, and needs what it was linked with.
    #[test]
    fn a_program_says_what_it_needs() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = needs(&own).unwrap();
        if cfg!(target_env = "gnu") {
            assert!(needs.libraries.contains("libc.so.6"), "{needs:?}");
            assert!(needs.versions["GLIBC"] >= vec![2], "{needs:?}");
        }
        assert!(packages_inside(&own).unwrap_err().to_string().contains("does not say"));
        assert!(super::needs(b"no program").is_err());
    }
}
