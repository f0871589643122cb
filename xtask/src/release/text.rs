//! What the texts of the repository say of a version.

use super::{Outcome, done, read};
use crate::Result;

/// The version of the workspace.
pub(super) fn own_version() -> Result<String> {
    let manifest = read("Cargo.toml")?;
    let section =
        manifest.split("[workspace.package]").nth(1).ok_or("Cargo.toml has no [workspace.package]")?;
    let version = section.lines().find_map(|line| line.strip_prefix("version = \""));
    Ok(version.ok_or("the workspace has no version")?.trim_end_matches('"').to_owned())
}

pub(super) fn version(tag: Option<&str>) -> Result<Outcome> {
    let version = own_version()?;
    if let Some(tag) = tag.filter(|tag| *tag != format!("v{version}")) {
        return Err(format!("the tag is {tag}, the version {version}").into());
    }
    let manifest = read("Cargo.toml")?;
    let others: Vec<&str> = manifest
        .lines()
        .filter(|line| line.contains("path = \"crates/") && line.contains("version = "))
        .filter(|line| !line.contains(&format!("version = \"{version}\"")))
        .collect();
    if !others.is_empty() {
        return Err(format!("dependencies on another version: {}", others.join("; ")).into());
    }
    for path in ["docs/openapi.json", "docs/api.md"] {
        if !read(path)?.contains(&format!("\"{version}\"")) {
            return Err(format!("{path} does not name {version}").into());
        }
    }
    Ok(done(version))
}

pub(super) fn changelog() -> Result<Outcome> {
    let version = own_version()?;
    let text = read("CHANGELOG.md")?;
    let heading = released(&text, &version)?;
    none_left(&text, &version)?;
    Ok(done(heading))
}

/// What stands above the heading of the version that is released would be in no release.
fn none_left(changelog: &str, version: &str) -> Result {
    let unreleased = changelog.split("\n## ").skip(1).find(|part| part.starts_with("[Unreleased]"));
    let entries = unreleased.map_or(0, |part| part.lines().filter(|line| line.starts_with("- ")).count());
    match entries {
        0 => Ok(()),
        some => Err(format!(
            "{some} entries of CHANGELOG.md are below [Unreleased], and would be missing from {version}: move them below its \
             heading, with the day of the release"
        )
        .into()),
    }
}

/// The heading of a version, which has a date and something below it.
fn released(changelog: &str, version: &str) -> Result<String> {
    let mut parts = changelog.split("\n## ").skip(1);
    let part = parts.find(|part| part.starts_with(&format!("[{version}]")));
    let part = part.ok_or_else(|| format!("CHANGELOG.md has no heading for {version}"))?;
    let (heading, text) = part.split_once('\n').unwrap_or((part, ""));
    let date = heading.rsplit(" - ").next().unwrap_or_default();
    if date.parse::<jiff::civil::Date>().is_err() {
        return Err(format!("the heading of {version} has no date: {heading}").into());
    }
    match text.lines().any(|line| line.starts_with("- ")) {
        true => Ok(heading.to_owned()),
        false => Err(format!("nothing is said below {heading}").into()),
    }
}

pub(super) fn security() -> Result<Outcome> {
    let version = own_version()?;
    let minor = version.rsplit_once('.').map_or(version.as_str(), |(minor, _)| minor);
    match read("SECURITY.md")?.contains(&format!("| {minor} | yes |")) {
        true => Ok(done(format!("{minor} gets fixes"))),
        false => Err(format!("SECURITY.md does not say that {minor} gets fixes").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_say_the_version_that_is_built() {
        for check in [version(None), security()] {
            check.map(drop).unwrap();
        }
        released(&read("CHANGELOG.md").unwrap(), &own_version().unwrap()).unwrap();
        assert!(version(Some("v0.0.1")).is_err());
    }

    #[test]
    fn nothing_is_left_above_the_version_that_is_released() {
        let text = |entry: &str| {
            format!("# Changelog\n\n## [Unreleased]\n\n{entry}\n## [1.0.0] - 2026-11-18\n\n- Old\n")
        };
        assert!(none_left(&text(""), "1.0.0").is_ok());
        assert!(none_left("# Changelog\n\n## [1.0.0] - 2026-11-18\n\n- Old\n", "1.0.0").is_ok());
        let told = none_left(&text("### Added\n\n- New\n"), "1.0.0").unwrap_err().to_string();
        assert!(told.starts_with("1 entries of CHANGELOG.md"), "{told}");
    }

    #[test]
    fn a_version_has_a_date_and_something_below_it() {
        let text = |heading: &str, below: &str| {
            format!("# Changelog\n\n## [Unreleased]\n\n## {heading}\n\n{below}\n")
        };
        assert!(released(&text("[1.0.0] - 2026-11-18", "- New"), "1.0.0").is_ok());
        assert!(released(&text("[1.0.0]", "- New"), "1.0.0").is_err());
        assert!(released(&text("[1.0.0] - 2026-11-18", ""), "1.0.0").is_err());
        assert!(released(&text("[1.0.0] - 2026-11-18", "- New"), "1.0.1").is_err());
    }
}
