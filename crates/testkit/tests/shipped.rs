//! The testkit is for tests: nothing that is shipped may depend on it.

use std::fs;
use std::path::Path;

#[test]
fn no_shipped_crate_depends_on_the_testkit() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["core", "engine", "cli", "standin"] {
        let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        assert!(
            !shipped(&manifest).any(|line| line.contains("conductor-testkit")),
            "{name} ships the testkit"
        );
    }
}

#[test]
fn a_dependency_is_told_from_one_of_tests_only() {
    let all = "[dependencies]\na = 1\n[dev-dependencies]\nb = 1\n[build-dependencies]\nc = 1\n";
    assert_eq!(
        shipped(all).collect::<Vec<_>>(),
        ["[dependencies]", "a = 1", "[build-dependencies]", "c = 1"]
    );
}

/// The lines of a manifest, but for those on what tests need.
fn shipped(manifest: &str) -> impl Iterator<Item = &str> {
    let mut of_tests = false;
    manifest.lines().filter(move |line| {
        if line.starts_with('[') {
            of_tests = line.contains("dev-dependencies");
        }
        !of_tests
    })
}
