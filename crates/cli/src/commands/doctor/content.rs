//! How git treats contents here, and what of it a run cannot do.

use std::path::Path;

use conductor_engine::git::{Content, Repository};

use super::Finding;

pub(super) fn state(here: &Path) -> Vec<Finding> {
    let Ok(content) = Repository::of(here).and_then(|repository| repository.content()) else {
        return Vec::new();
    };
    let mut findings: Vec<Finding> = troubles(&content)
        .into_iter()
        .map(|(told, remedy)| Finding::warning("filters", told).remedy(remedy))
        .collect();
    for (filter, required) in &content.filters {
        let required = if *required { ", required" } else { "" };
        findings.push(Finding::ok("filters", format!("contents pass through '{filter}'{required}")));
    }
    if !content.lines.is_empty() {
        findings.push(Finding::ok("line ends", content.lines.join(", ")));
    }
    findings
}

/// What a run cannot do or a user may not expect, each with what to do about it.
pub(in crate::commands) fn troubles(content: &Content) -> Vec<(String, String)> {
    let refused = content.refused.iter().map(|refused| {
        let told = format!("the filter '{}' is not run: {}", refused.filter, refused.why);
        (told, "until then, tasks that change files under it fail".to_owned())
    });
    let unknown = content.unknown.iter().map(|filter| {
        let told = format!(
            "the filter '{filter}' is not configured, though attributes name it: git stores these files as they are"
        );
        (told, "set it up as the project says (git-crypt: `git-crypt unlock`)".to_owned())
    });
    refused.chain(unknown).collect()
}
