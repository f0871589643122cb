//! The program, built so that nothing of the machine it was built on is in it, and with a list of what it is made of.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::product::{PACKAGE, PROGRAM, Product};
use crate::Result;
use crate::steps::{cargo, openly, root};

/// Where the sources seem to lie, wherever they lie.
const SOURCES: &str = "/conductor";
const REGISTRY: &str = "/cargo";

pub(super) fn build(product: &Product, profile: &str) -> Result<PathBuf> {
    let folder = product.target_directory.join("dist-build");
    build_in(product, profile, &root(), &folder)
}

/// Builds the sources below `checkout` into a target folder of its own: other flags than a developer's would build
/// everything anew, here and there.
pub(super) fn build_in(product: &Product, profile: &str, checkout: &Path, folder: &Path) -> Result<PathBuf> {
    let words = ["auditable", "build", "--locked", "--quiet", "--profile", profile, "--package", PACKAGE];
    let mut command = cargo(&words);
    command.args(["--bin", PROGRAM, "--target", &product.target]).current_dir(checkout);
    command.env("CARGO_TARGET_DIR", folder).env("CARGO_INCREMENTAL", "0");
    command.env("SOURCE_DATE_EPOCH", product.epoch.to_string());
    // In the place of the developer's own: these would be in the program, too.
    command.env_remove("RUSTFLAGS").env_remove("CONDUCTOR_WITHOUT_PAGE");
    command.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(checkout, folder)?);
    command.env("CFLAGS", c_flags(checkout, folder)?);
    openly(&mut command)?;
    let built = folder.join(&product.target).join(folder_of(profile)).join(PROGRAM);
    expect_page(&built)?;
    Ok(built)
}

/// A program without its page is not handed out.
fn expect_page(program: &Path) -> Result {
    let said = super::product::said(Command::new(program).args(["version", "--json"]))?;
    let version: serde_json::Value = serde_json::from_str(&said)?;
    match version["page"].as_str() {
        Some("embedded") => Ok(()),
        other => {
            Err(format!("the program has no page in it ({}); see `cargo xtask web`", other.unwrap_or("none"))
                .into())
        }
    }
}

/// Cargo's folder for a profile: that of `dev` has another name.
fn folder_of(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// Of several that fit the last one counts, so the folder within the other comes later.
fn renamed(checkout: &Path, folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let home = crate::test::cargo_home().ok_or("there is no HOME to look for cargo's files in")?;
    Ok(vec![
        (home, REGISTRY.to_owned()),
        (checkout.to_owned(), SOURCES.to_owned()),
        (folder.to_owned(), format!("{SOURCES}/target")),
    ])
}

fn rust_flags(checkout: &Path, folder: &Path) -> Result<String> {
    let flags = renamed(checkout, folder)?;
    let flags = flags.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    Ok(flags.collect::<Vec<_>>().join("\x1f"))
}

fn c_flags(checkout: &Path, folder: &Path) -> Result<String> {
    let flags = renamed(checkout, folder)?;
    let flags = flags.iter().map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display()));
    Ok(flags.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_machine_has_another_name() {
        let flags =
            rust_flags(Path::new("/home/ada/conductor"), Path::new("/home/ada/conductor/target")).unwrap();
        let flags: Vec<&str> = flags.split('\x1f').collect();
        assert_eq!(flags[1], "--remap-path-prefix=/home/ada/conductor=/conductor");
        assert_eq!(flags[2], "--remap-path-prefix=/home/ada/conductor/target=/conductor/target");
    }
}
