//! Whether the same sources make the same files: built again from a copy that lies elsewhere, into another folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::product::{Product, said};
use super::{Options, binary, sha256};
use crate::Result;
use crate::steps::{quietly, root};

pub(super) fn compare(product: &Product, options: &Options, out: &Path) -> Result {
    let elsewhere =
        tempfile::Builder::new().prefix("conductor-again-").tempdir_in(&product.target_directory)?;
    let checkout = elsewhere.path().join("a-folder-of-another-name");
    copy(&checkout)?;
    let program = binary::build_in(product, &options.profile, &checkout, &elsewhere.path().join("built"))?;
    let again = elsewhere.path().join("files");
    super::write(product, &program, &again, options.url.as_deref())?;
    let (first, second) = (sums(out)?, sums(&again)?);
    let differ: Vec<&str> = first
        .iter()
        .chain(&second)
        .filter(|(name, sum)| first.get(*name) != Some(sum) || second.get(*name) != Some(sum))
        .map(|(name, _)| name.as_str())
        .collect();
    if !differ.is_empty() {
        let kept = elsewhere.keep();
        return Err(format!("not the same as before: {}; see {}", differ.join(", "), kept.display()).into());
    }
    first.iter().for_each(|(name, sum)| eprintln!("   the same twice: {sum}  {name}"));
    Ok(())
}

/// What git knows and what is not committed yet, and the page as it was built.
fn copy(to: &Path) -> Result {
    fs::create_dir_all(to)?;
    let listed =
        said(Command::new("git").args(["ls-files", "-co", "--exclude-standard"]).current_dir(root()))?;
    let mut copy = Command::new("cp");
    copy.args(["--parents", "--no-dereference", "--preserve=mode,links"]).current_dir(root());
    copy.args(listed.lines().filter(|path| root().join(path).symlink_metadata().is_ok())).arg(to);
    quietly(&mut copy)?;
    quietly(Command::new("cp").arg("-R").arg(root().join("web/dist")).arg(to.join("web")))
}

fn sums(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut sums = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sums.insert(entry.file_name().to_string_lossy().into_owned(), sha256(&fs::read(entry.path())?));
    }
    Ok(sums)
}
