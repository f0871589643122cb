//! The crates as others get them: whether they can be built with the compiler they name, and whether their packages are whole.

use std::fs;
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::text::own_version;
use super::{Outcome, done, left};
use crate::Result;
use crate::dist::product::{said, text};
use crate::steps::{answers, cargo, openly, quietly, root};

/// What crates.io takes.
const LARGEST: u64 = 10 * 1024 * 1024;

/// The crate that has the page in it.
const SERVER: &str = "conductor-agents-server";

/// Every dependency says that the compiler is new enough for it; where that compiler is installed, it is asked, too.
pub(super) fn oldest_compiler() -> Result<Outcome> {
    let words =
        ["metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"];
    let metadata: Value = serde_json::from_str(&said(&mut cargo(&words))?)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let own = packages.iter().find(|package| package["name"] == crate::dist::product::PACKAGE);
    let oldest = own.map(|package| text(&package["rust_version"])).unwrap_or_default();
    let newer: Vec<String> = packages
        .iter()
        .filter(|package| number(&text(&package["rust_version"])) > number(&oldest))
        .map(|package| format!("{} {}", text(&package["name"]), text(&package["rust_version"])))
        .collect();
    if !newer.is_empty() {
        return Err(format!("these need a newer compiler than {oldest}: {}", newer.join(", ")).into());
    }
    let all = format!("no dependency asks for more than {oldest}");
    let toolchain = format!("+{oldest}");
    if !answers(Command::new("rustc").args([&toolchain, "--version"])) {
        return Ok(left(format!(
            "{all}; it is not installed, so nothing was built with it: rustup toolchain install {oldest}"
        )));
    }
    let mut check = Command::new("cargo");
    check.args([&toolchain, "check", "--locked", "--workspace", "--target-dir", "target/oldest"]);
    quietly(check.current_dir(root()))?;
    Ok(done(format!("{all}, and it builds with it")))
}

fn number(version: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    parts.resize(3, 0);
    parts
}

/// Packs all that are published, builds them from their packages, and looks into them.
pub(super) fn package() -> Result<Outcome> {
    let (from, to) = (root().join("web/dist"), root().join("crates/server/page/dist"));
    crate::web::build()?;
    let _ = fs::remove_dir_all(&to);
    quietly(Command::new("cp").arg("-R").arg(&from).arg(&to))?;
    // The page is no part of the sources, and so not committed.
    let words = ["package", "--workspace", "--exclude", "xtask", "--exclude", "conductor-testkit"];
    let packed = openly(cargo(&words).args(["--locked", "--allow-dirty", "--quiet"]));
    let _ = fs::remove_dir_all(&to);
    packed?;
    let metadata = said(&mut cargo(&["metadata", "--format-version", "1", "--no-deps", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let folder = Path::new(&text(&metadata["target_directory"])).join("package");
    let version = own_version()?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let published =
        packages.filter(|package| package["publish"].is_null()).map(|package| text(&package["name"]));
    let mut told = Vec::new();
    for name in published {
        let file = folder.join(format!("{name}-{version}.crate"));
        let size = fs::metadata(&file).map_err(|error| format!("{}: {error}", file.display()))?.len();
        expect_whole(&name, &file, size)?;
        told.push(format!("{name} ({} kB)", size / 1000));
    }
    Ok(done(told.join(", ")))
}

fn expect_whole(name: &str, file: &Path, size: u64) -> Result {
    if size > LARGEST {
        return Err(format!("{name} is packed in {size} bytes; at most {LARGEST}").into());
    }
    let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(file)?));
    let mut names = Vec::new();
    for entry in archive.entries()? {
        names.push(entry?.path()?.display().to_string());
    }
    let mut wanted = vec!["/LICENSE-MIT", "/LICENSE-APACHE", "/README.md"];
    if name == SERVER {
        wanted.push("/page/dist/index.html");
    }
    let missing: Vec<&str> =
        wanted.into_iter().filter(|wanted| !names.iter().any(|name| name.ends_with(wanted))).collect();
    match missing.as_slice() {
        [] => Ok(()),
        some => Err(format!("the package of {name} is without {}", some.join(", ")).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(number("1.94") > number("1.88.0"));
        assert!(number("1.94") == number("1.94.0"));
        assert!(number("") < number("1.0"));
    }
}
