//! `cargo xtask dist`: what users install, made from this checkout: an archive, a Debian package, a bill of materials and
//! their checksums. The same sources make the same bytes, wherever and whenever they are built.
//!
//! See docs/decisions/0061.

mod archive;
mod binary;
mod check;
mod debian;
mod elf;
mod formula;
mod licences;
pub(crate) mod product;
mod sbom;
mod tree;
mod twice;

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::Result;
use crate::steps::{DIST, step};
pub(crate) use debian::{UNKNOWN_ADDRESS, address};
use product::Product;

pub(crate) const USAGE: &str = "\
usage: cargo xtask dist [--profile NAME] [--target TRIPLE] [--out DIR] [--url URL] [--twice] [--check]

  --profile NAME   how the program is built; `release` is quick to build (default: dist)
  --target TRIPLE  for which system; its standard library must be installed (default: this one)
  --out DIR        where the files go (default: target/dist-files)
  --url URL        where the files of the release can be fetched; with it, Homebrew's formula is written, too
  --twice          build again from a copy elsewhere, and compare every file
  --check          install the package into new Debian roots and use it there; needs root and debootstrap";

/// What was asked for on the command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    profile: String,
    target: Option<String>,
    out: Option<PathBuf>,
    url: Option<String>,
    is_twice: bool,
    is_checked: bool,
}

impl Options {
    fn read(words: &[&str]) -> Result<Options> {
        let mut options = Options {
            profile: DIST.to_owned(),
            target: None,
            out: None,
            url: None,
            is_twice: false,
            is_checked: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().map(|value| (*value).to_owned()).ok_or(USAGE);
            match *word {
                "--profile" => options.profile = value()?,
                "--target" => options.target = Some(value()?),
                "--out" => options.out = Some(value()?.into()),
                "--url" => options.url = Some(value()?),
                "--twice" => options.is_twice = true,
                "--check" => options.is_checked = true,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(words: &[&str]) -> Result {
    let options = Options::read(words)?;
    let product = Product::read(options.target.as_deref())?;
    let out = options.out.clone().unwrap_or_else(|| product.target_directory.join("dist-files"));
    step("page", crate::web::build)?;
    step("tools", crate::tools::provide_auditable)?;
    let mut program = PathBuf::new();
    step(&format!("program ({})", options.profile), || {
        program = binary::build(&product, &options.profile)?;
        Ok(())
    })?;
    step("files", || write(&product, &program, &out, options.url.as_deref()))?;
    if options.is_twice {
        step("again, elsewhere", || twice::compare(&product, &options, &out))?;
    }
    if options.is_checked {
        check::run(&product, &out)?;
    }
    Ok(())
}

/// All files that are handed out, and their checksums beside them.
fn write(product: &Product, program: &Path, out: &Path, url: Option<&str>) -> Result {
    let contents = tree::Contents::gather(product, program)?;
    let name = product.full_name();
    let archive = archive::gzip(&archive::tar(&contents.for_archive()?, &name, product.epoch)?)?;
    let archive_name = format!("{name}.tar.gz");
    let mut files = vec![(format!("{name}.cdx.json"), contents.sbom.clone())];
    if let Some(url) = url {
        files.push(formula::formula(product, url, (&archive_name, &archive))?);
    }
    files.push((archive_name, archive));
    if product.is_gnu() {
        files.push(debian::package(product, &contents)?);
    }
    files.sort();
    files.push(("SHA256SUMS".to_owned(), sums(&files).into_bytes()));
    let _ = fs::remove_dir_all(out);
    fs::create_dir_all(out)?;
    for (name, bytes) in &files {
        fs::write(out.join(name), bytes)?;
        eprintln!("   {} ({:.1} MB)", out.join(name).display(), bytes.len() as f64 / 1e6);
    }
    Ok(())
}

/// As `sha256sum --check` reads it.
fn sums(files: &[(String, Vec<u8>)]) -> String {
    files.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_others_refused() {
        let read = Options::read(&["--profile", "release", "--out", "/x", "--twice"]).unwrap();
        assert_eq!((read.profile.as_str(), read.out, read.is_twice), ("release", Some("/x".into()), true));
        assert_eq!(Options::read(&[]).unwrap().profile, "dist");
        for wrong in [&["--profil", "release"][..], &["--profile"], &["x"]] {
            assert!(Options::read(wrong).unwrap_err().to_string().starts_with("usage: "));
        }
    }

    /// `cargo binstall` looks for the archive by what the manifest says.
    #[test]
    fn the_archive_is_where_the_manifest_says() {
        let manifest = fs::read_to_string(crate::steps::root().join("crates/cli/Cargo.toml")).unwrap();
        let said = |key: &str| {
            let line = manifest.lines().find_map(|line| line.strip_prefix(&format!("{key} = "))).unwrap();
            let filled = line.trim_matches('"').replace("{ name }", product::PACKAGE);
            let filled = filled.replace("{ bin }{ binary-ext }", product::PROGRAM);
            filled.replace("{ version }", "1.2.3").replace("{ target }", "x86_64-unknown-linux-gnu")
        };
        let product = Product {
            version: "1.2.3".to_owned(),
            target: "x86_64-unknown-linux-gnu".to_owned(),
            epoch: 0,
            target_directory: "/t".into(),
            packages: Vec::new(),
            nodes: Vec::new(),
        };
        let name = product.full_name();
        assert!(said("pkg-url").ends_with(&format!("/v1.2.3/{name}.tar.gz")), "{}", said("pkg-url"));
        assert_eq!(said("bin-dir"), format!("{name}/conductor"));
    }

    #[test]
    fn sums_are_as_sha256sum_reads_them() {
        let files = [("a".to_owned(), b"abc".to_vec())];
        let line = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n";
        assert_eq!(sums(&files), line);
    }
}
