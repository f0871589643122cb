//! The formula by which Homebrew installs the archive, once it is known from where it can be fetched.

use std::fs;

use super::product::{PACKAGE, Product};
use super::sha256;
use crate::Result;
use crate::steps::root;

/// Where the template is.
const TEMPLATE: &str = "contrib/homebrew/conductor-agents.rb.in";

/// Its name and its text; `url` is the folder of the release that the archive lies in.
pub(super) fn formula(product: &Product, url: &str, archive: (&str, &[u8])) -> Result<(String, Vec<u8>)> {
    let template = fs::read_to_string(root().join(TEMPLATE))?;
    let url = url.trim_end_matches('/');
    let homepage = url.split("/releases/").next().unwrap_or(url);
    let filled = template
        .lines()
        .skip_while(|line| line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        .replace("@HOMEPAGE@", homepage)
        .replace("@URL@", &format!("{url}/{}", archive.0))
        .replace("@VERSION@", &product.version)
        .replace("@SHA256@", &sha256(archive.1));
    match filled.contains('@') {
        true => Err(format!("{TEMPLATE} asks for more than is known").into()),
        false => Ok((format!("{PACKAGE}.rb"), filled.into_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_formula_is_filled_in() {
        let product = Product {
            version: "1.2.3".to_owned(),
            target: "x86_64-unknown-linux-gnu".to_owned(),
            epoch: 0,
            target_directory: "/t".into(),
            packages: Vec::new(),
            nodes: Vec::new(),
        };
        let url = "https://forge.example/a/conductor/releases/download/v1.2.3/";
        let (name, text) = formula(&product, url, ("a.tar.gz", b"abc")).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(name, "conductor-agents.rb");
        assert!(text.starts_with("class ConductorAgents < Formula\n"), "{text}");
        for part in [
            "homepage \"https://forge.example/a/conductor\"",
            "url \"https://forge.example/a/conductor/releases/download/v1.2.3/a.tar.gz\"",
            "version \"1.2.3\"",
            "sha256 \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
}
