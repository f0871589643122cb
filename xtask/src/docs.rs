//! `cargo xtask docs`: a page for each command, made from its help, the API's document, the page's types, and the list of
//! pages of the book; `test` looks whether they still fit.

mod types;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::book;
use crate::steps::{cargo, quietly, root, step};

pub(crate) fn run() -> Result {
    step("docs", || {
        let pages = pages()?;
        let folder = folder();
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        for (name, text) in &pages {
            fs::write(folder.join(name), text)?;
        }
        let described = described()?;
        fs::write(page_types(), types::of(&described)?)?;
        fs::write(api(), described)?;
        let (summary, text) = book::summary()?;
        fs::write(summary, text)?;
        Ok(())
    })
}

/// Whether the pages say what the program says.
pub(crate) fn check() -> Result {
    let made = pages()?;
    let described = described()?;
    for (path, made) in [(page_types(), types::of(&described)?), (api(), described)] {
        if fs::read_to_string(&path).unwrap_or_default() != made {
            let path = path.strip_prefix(root()).unwrap_or(&path).display();
            return Err(
                format!("{path} is not what the server says of itself; run `cargo xtask docs`").into()
            );
        }
    }
    let (summary, text) = book::summary()?;
    if fs::read_to_string(&summary).unwrap_or_default() != text {
        return Err("docs/SUMMARY.md does not list the pages that there are; run `cargo xtask docs`".into());
    }
    book::check()?;
    let mut kept = BTreeMap::new();
    for entry in fs::read_dir(folder()).map_err(|error| format!("docs/commands: {error}"))? {
        let entry = entry?;
        kept.insert(entry.file_name().to_string_lossy().into_owned(), fs::read_to_string(entry.path())?);
    }
    let differs = |name: &&String| made.get(*name) != kept.get(*name);
    let names: Vec<&str> = made.keys().chain(kept.keys()).filter(differs).map(String::as_str).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "docs/commands does not fit the help any more ({}); run `cargo xtask docs`",
            names.join(", ")
        )
        .into()),
    }
}

fn folder() -> PathBuf {
    root().join("docs/commands")
}

fn api() -> PathBuf {
    root().join("docs/openapi.json")
}

fn page_types() -> PathBuf {
    root().join("web/src/api/types.ts")
}

/// The API as the program describes it.
fn described() -> Result<String> {
    let output =
        Command::new(root().join("target/debug/conductor")).args(["schema", "--openapi"]).output()?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Every page by its file's name.
fn pages() -> Result<BTreeMap<String, String>> {
    quietly(&mut cargo(&["build", "--locked", "--quiet", "-p", "conductor-agents"]))?;
    let all = commands(&help(&[])?);
    let mut pages = BTreeMap::new();
    let mut index =
        "# Commands\n\nMade from the program's own help by `cargo xtask docs`.\n\n| | |\n|---|---|\n"
            .to_owned();
    for (name, about) in &all {
        index += &format!("| [`conductor {name}`]({name}.md) | {} |\n", about.replace('|', "\\|"));
        pages.insert(format!("{name}.md"), page(name)?);
    }
    pages.insert("README.md".to_owned(), index);
    Ok(pages)
}

/// A command with everything below it.
fn page(name: &str) -> Result<String> {
    let mut text = format!("# conductor {name}\n");
    let mut open = vec![vec![name.to_owned()]];
    while let Some(path) = open.pop() {
        let help = help(&path)?;
        if path.len() > 1 {
            text += &format!("\n## conductor {}\n", path.join(" "));
        }
        text += &format!("\n```text\n{}\n```\n", help.trim_end());
        let below = commands(&help).into_iter().rev().map(|(name, _)| {
            let mut path = path.clone();
            path.push(name);
            path
        });
        open.extend(below);
    }
    Ok(text)
}

/// What the program says of itself, as wide as where there is no terminal.
fn help(path: &[String]) -> Result<String> {
    let program = root().join("target/debug/conductor");
    let mut command = Command::new(&program);
    command.args(path).arg("--help").env_remove("COLUMNS").env("NO_COLOR", "1");
    let output = command.output().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    match output.status.success() {
        true => {
            let said = String::from_utf8(output.stdout)?;
            Ok(said.lines().map(|line| format!("{}\n", line.trim_end())).collect())
        }
        false => Err(format!("conductor {} --help: {}", path.join(" "), output.status).into()),
    }
}

/// What stands above commands: in the program's own help by what they are for, elsewhere all under one heading.
const HEADINGS: [&str; 9] =
    ["Commands:", "Start:", "Watch:", "Steer:", "Review:", "Set up:", "Serve:", "Other machines:", "More:"];

/// The names under these headings, and what is said of each.
fn commands(help: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut listing = false;
    for line in help.lines() {
        if line.trim().is_empty() || HEADINGS.contains(&line) {
            listing = HEADINGS.contains(&line);
            continue;
        }
        if !listing {
            continue;
        }
        let entry = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
        match (entry.and_then(|rest| rest.split_once(char::is_whitespace)), found.last_mut()) {
            (Some((name, about)), _) => found.push((name.to_owned(), about.trim().to_owned())),
            // What is said goes on on the next line.
            (None, Some((_, about))) => *about += &format!(" {}", line.trim()),
            (None, None) => {}
        }
    }
    found.retain(|(name, _)| name != "help");
    found
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn commands_are_read_from_a_help() {
        let help = "About\n\nUsage: x\n\nCommands:\n  run   Does it\n        at length\n  help  This\n\nOptions:\n  -h  Help\n";
        assert_eq!(commands(help), [("run".to_owned(), "Does it at length".to_owned())]);
        let help = "About\n\nStart:\n  run  Does it\n\nMore:\n  man  The manual\n\nOptions:\n  -h  Help\n";
        assert_eq!(commands(help).iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["run", "man"]);
        assert!(commands("Usage: x\n\nOptions:\n  -h\n").is_empty());
    }
}
