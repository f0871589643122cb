//! The core decides; it never touches the world. Its dependencies and its own words are held to that.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};

/// Everything the core may lean on: parsing, serialising, error types, string distance.
const ALLOWED: [&str; 5] = ["granit-parser", "serde", "serde_json", "strsim", "thiserror"];

const FORBIDDEN: [&str; 14] = [
    "tokio",
    "sqlx",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
    "std::path",
    "Instant::now",
    "SystemTime",
    "rand::",
    "fastrand",
    "println!",
];

#[test]
fn the_core_depends_on_nothing_that_does_io() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let names: Vec<&str> = section
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .collect();
    assert_eq!(names, ALLOWED, "a new dependency of the core must be pure, and is added here");
}

#[test]
fn the_core_names_nothing_that_does_io() {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 20, "the sources were found");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap();
            for word in FORBIDDEN {
                assert!(!code.contains(word), "{}:{} says {word}", file.display(), number + 1);
            }
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}
