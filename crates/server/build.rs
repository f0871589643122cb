//! The page as a table of its files, where it was built before: nothing is built here. In a checkout it lies where `cargo
//! xtask web` puts it; the published crate brings its own along.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Set for a program without its page, though there is one: as it is after a plain build of a fresh checkout.
const WITHOUT: &str = "CONDUCTOR_WITHOUT_PAGE";

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    let sources = here.join("../../web");
    let dist = match sources.join("package.json").is_file() {
        true => sources.join("dist"),
        false => here.join("page/dist"),
    };
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-env-changed={WITHOUT}");
    let mut files = Vec::new();
    if env::var_os(WITHOUT).is_none() && dist.join("index.html").is_file() {
        collect(&dist, &dist, &mut files)?;
    }
    files.sort();
    let mut table = "pub(super) static FILES: &[(&str, &[u8])] = &[\n".to_owned();
    for (name, path) in files {
        let _ = writeln!(table, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    table.push_str("];\n");
    let made = PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("page_files.rs");
    fs::write(made, table)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = fs::canonicalize(entry?.path())?;
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if let Ok(name) = path.strip_prefix(fs::canonicalize(root)?) {
            files.push((name.display().to_string(), path));
        }
    }
    Ok(())
}
