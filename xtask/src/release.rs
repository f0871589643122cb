//! `cargo xtask release --dry-run`: everything that has to be so before a version is published, each step done or looked
//! at, and what is left to a person. It publishes nothing.
//!
//! See docs/decisions/0062.

mod crates;
mod text;

use std::path::Path;
use std::process::Command;

use crate::dist::product::{self, said};
use crate::steps::{answers, cargo, openly, quietly, root};
use crate::{Result, book, docs, test, tidy};

pub(crate) const USAGE: &str = "\
usage: cargo xtask release --dry-run [--tag vVERSION] [--with-dist]

  --dry-run      go through the checklist; nothing is published, tagged or uploaded by this command, ever
  --tag NAME     the tag has to be this version's
  --with-dist    make the files twice, compare them and try the package out, too; takes long, needs root";

/// What came of a step that did not fail.
enum Outcome {
    Done(String),
    /// Not possible here, or not ours to do, and why.
    Left(String),
}

type Step<'a> = (&'static str, Box<dyn Fn() -> Result<Outcome> + 'a>);

#[derive(Debug, Default)]
struct Options<'a> {
    is_dry: bool,
    tag: Option<&'a str>,
    with_dist: bool,
}

impl<'a> Options<'a> {
    fn read(words: &[&'a str]) -> Result<Options<'a>> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--dry-run" => options.is_dry = true,
                "--with-dist" => options.with_dist = true,
                "--tag" => options.tag = Some(words.next().ok_or(USAGE)?),
                _ => return Err(USAGE.into()),
            }
        }
        match options.is_dry {
            true => Ok(options),
            false => Err(USAGE.into()),
        }
    }
}

pub(crate) fn run(words: &[&str]) -> Result {
    let options = Options::read(words)?;
    let (mut failed, mut left) = (0, 0);
    for (name, work) in checklist(&options) {
        eprintln!("── {name}");
        match work() {
            Ok(Outcome::Done(what)) => eprintln!("   ok: {what}"),
            Ok(Outcome::Left(why)) => {
                left += 1;
                eprintln!("   not done here: {why}");
            }
            Err(error) => {
                failed += 1;
                eprintln!("   FAILED: {error}");
            }
        }
    }
    eprintln!("── {failed} failed, {left} not done here");
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} steps of the checklist failed").into()),
    }
}

fn checklist<'a>(options: &'a Options<'a>) -> Vec<Step<'a>> {
    vec![
        ("tools", Box::new(tools)),
        ("one version everywhere", Box::new(|| text::version(options.tag))),
        ("changelog", Box::new(text::changelog)),
        ("security policy", Box::new(text::security)),
        ("address of the maintainers", Box::new(|| address(crate::dist::address()))),
        ("everything is committed", Box::new(committed)),
        ("oldest compiler", Box::new(crates::oldest_compiler)),
        ("licences and sources of dependencies", Box::new(licences)),
        ("known vulnerabilities", Box::new(vulnerabilities)),
        ("tidy", Box::new(|| tidy::run().map(|()| done("tidy")))),
        ("documents fit the program, and their links", Box::new(documents)),
        ("typos", Box::new(typos)),
        ("formula, container and workflow", Box::new(packaging)),
        ("data of earlier versions", Box::new(earlier_data)),
        ("API of the library crates", Box::new(api)),
        ("crates as they are published", Box::new(crates::package)),
        ("files that users install", Box::new(|| files(options.with_dist))),
        ("the whole suite", Box::new(|| Ok(left("run `cargo xtask test` on the very commit; CI does")))),
        ("tag, crates, release", Box::new(|| Ok(left(PUBLISHING)))),
    ]
}

const PUBLISHING: &str = "by a maintainer, with the keys: git tag -s vVERSION && git push origin vVERSION (the workflow in \
                          contrib/forge makes the release), then cargo publish --workspace";

/// What the later steps start.
fn tools() -> Result<Outcome> {
    crate::tools::provide(&crate::tools::FOR_RELEASE)?;
    crate::tools::provide_cargo_tools()?;
    Ok(done("cargo-deny and cargo-nextest are there"))
}

/// The security policy sends reports to the address in the Debian package.
fn address(address: Option<String>) -> Result<Outcome> {
    let unknown = crate::dist::UNKNOWN_ADDRESS;
    match address {
        Some(address) if address != unknown => Ok(done(address)),
        _ => Err(format!(
            "the Debian package would name {unknown}, where nothing arrives; set DEBEMAIL (and DEBFULLNAME)"
        )
        .into()),
    }
}

fn done(what: impl Into<String>) -> Outcome {
    Outcome::Done(what.into())
}

fn left(why: impl Into<String>) -> Outcome {
    Outcome::Left(why.into())
}

fn committed() -> Result<Outcome> {
    let changed = said(Command::new("git").args(["status", "--porcelain"]).current_dir(root()))?;
    match changed.lines().count() {
        0 => Ok(done("what is built is what is committed")),
        some => Err(format!("{some} files are not committed:\n{}", changed.trim_end()).into()),
    }
}

fn licences() -> Result<Outcome> {
    quietly(&mut cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]))?;
    let listed =
        said(&mut cargo(&["deny", "--offline", "list", "--format", "human", "--layout", "license"]))?;
    let names: Vec<&str> =
        listed.lines().filter_map(|line| line.split_once(" (").map(|(name, _)| name)).collect();
    Ok(done(format!("{}; the texts are in what users install", names.join(", "))))
}

fn vulnerabilities() -> Result<Outcome> {
    if !test::has_advisories() {
        return Ok(left("there is no advisory database on this machine; `cargo deny fetch` gets it"));
    }
    quietly(&mut cargo(&["deny", "--offline", "check", "advisories"]))?;
    Ok(done("none in the database of this machine"))
}

fn documents() -> Result<Outcome> {
    docs::check()?;
    book::check()?;
    Ok(done("pages are as the program writes them, and every link within the repository leads to something"))
}

fn typos() -> Result<Outcome> {
    if !answers(Command::new("typos").arg("--version")) {
        return Ok(left("typos is not on PATH; `cargo install typos-cli` or `pip install typos` gets it"));
    }
    // Sources are full of mistakes on purpose: what is tested with them.
    let words =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "contrib", "examples"];
    quietly(Command::new("typos").args(["--config", "contrib/typos.toml"]).args(words).current_dir(root()))?;
    Ok(done("none found"))
}

/// Each by the program that knows its form; those that are not on PATH are named.
fn packaging() -> Result<Outcome> {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for (program, words) in LINTERS {
        if !crate::tools::on_path(program) {
            missing.push(program);
            continue;
        }
        quietly(Command::new(program).args(words).current_dir(root()))?;
        there.push(program);
    }
    match missing.is_empty() {
        true => Ok(done(format!("fine by {}", there.join(", ")))),
        false => Ok(left(format!("fine by {}; not on PATH: {}", there.join(", "), missing.join(", ")))),
    }
}

const LINTERS: [(&str, &[&str]); 3] = [
    ("ruby", &["-c", "contrib/homebrew/conductor-agents.rb.in"]),
    ("hadolint", &["contrib/docker/Dockerfile"]),
    ("actionlint", &["contrib/forge/release.yml"]),
];

fn earlier_data() -> Result<Outcome> {
    let mut tests = cargo(&["nextest", "run", "--locked", "-p", product::PACKAGE]);
    quietly(tests.args(["-E", "test(version_before::) | test(earlier::)"]))?;
    Ok(done("runs of 0.1 are read as 0.1 read them, and go on"))
}

/// One of the library crates; each version has all of them.
const LIBRARY: &str = "conductor-agents-engine";

fn api() -> Result<Outcome> {
    // Elsewhere than in the workspace, of which cargo would tell instead.
    let elsewhere = tempfile::tempdir()?;
    let mut asked = cargo(&["info", "--quiet", "--registry", "crates-io", LIBRARY]);
    match said(asked.current_dir(elsewhere.path())) {
        Ok(_) => {}
        Err(error) if is_unknown(&error.to_string()) => {
            return Ok(left(
                "no version of the library crates is published, so there is nothing to compare with; from the next one on \
                 this step does",
            ));
        }
        Err(error) => return Ok(left(format!("the registry does not say what is published: {error}"))),
    }
    crate::tools::provide_semver_checks()?;
    openly(&mut cargo(&["semver-checks", "--workspace"]))?;
    Ok(done("compatible with what is published"))
}

/// Whether the registry has answered that there is no such crate.
fn is_unknown(error: &str) -> bool {
    error.contains(&format!("could not find `{LIBRARY}` in registry"))
}

fn files(with_dist: bool) -> Result<Outcome> {
    if !with_dist {
        return Ok(left(
            "takes long: cargo xtask release --dry-run --with-dist, or cargo xtask dist --twice --check",
        ));
    }
    crate::dist::run(&["--twice", "--check"])?;
    Ok(done("made twice, the same, and tried out"))
}

/// Relative to the repository.
fn read(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    Ok(std::fs::read_to_string(root().join(path)).map_err(|error| format!("{}: {error}", path.display()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_done_without_saying_that_it_is_only_a_rehearsal() {
        for wrong in [&[][..], &["--with-dist"], &["--dry-run", "--now"], &["--dry-run", "--tag"]] {
            assert!(Options::read(wrong).unwrap_err().to_string().starts_with("usage: "), "{wrong:?}");
        }
        assert_eq!(Options::read(&["--dry-run", "--tag", "v1.0.0"]).unwrap().tag, Some("v1.0.0"));
    }

    #[test]
    fn a_release_names_an_address_at_which_something_arrives() {
        assert!(address(Some("us@conductor.example".to_owned())).is_ok());
        for nothing in [None, Some(crate::dist::UNKNOWN_ADDRESS.to_owned())] {
            assert!(address(nothing).map(drop).unwrap_err().to_string().contains("DEBEMAIL"));
        }
    }

    /// As cargo words it: an error of the network is no answer.
    #[test]
    fn a_crate_is_unknown_only_where_the_registry_says_so() {
        let said = format!(
            "error: could not find `{LIBRARY}` in registry `https://github.com/rust-lang/crates.io-index`"
        );
        assert!(is_unknown(&said));
        assert!(!is_unknown("error: failed to query replaced source registry `crates-io`"));
    }
}
