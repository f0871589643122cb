//! `.conductor/expertise.yaml`: items as a file of the repository, reviewed like code.

use std::collections::BTreeSet;

use serde::Serialize;

use super::item::{Draft, ItemId, Kind};
use crate::file::{Source, value};

/// Of the file; a newer one is refused.
const VERSION: u64 = 1;

/// An item as the file has it. Without an id, one is made of its claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SharedItem {
    pub id: ItemId,
    #[serde(flatten)]
    pub draft: Draft,
}

const KEYS: [&str; 6] = ["id", "claim", "kind", "domain", "scope", "check"];

/// All items of a file; or everything that is wrong with it, each with its place.
pub fn read_shared(name: &str, bytes: Vec<u8>) -> Result<Vec<SharedItem>, Vec<String>> {
    let told = |found: &crate::file::Diagnostic| format!("{name}: {}", found.message);
    let source = Source::new(name, bytes).map_err(|found| vec![told(&found)])?;
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if source.text().lines().all(is_blank) {
        return Ok(Vec::new());
    }
    let at = |found: &crate::file::Diagnostic| {
        let (line, column) = source.position(found.span.start);
        format!("{name}:{line}:{column}: {}", found.message)
    };
    let root = value(&source).map_err(|found| found.iter().map(at).collect::<Vec<_>>())?;
    let Some(root) = root.as_object() else {
        return Err(vec![format!("{name}: it is no mapping; it has `version: {VERSION}` and `items:`")]);
    };
    let mut wrong = Vec::new();
    for key in root.keys().filter(|key| !["version", "items", "$schema"].contains(&key.as_str())) {
        wrong.push(format!("{name}: {key}: unknown key; it has `version` and `items`"));
    }
    match root.get("version").and_then(serde_json::Value::as_u64) {
        Some(VERSION) => {}
        Some(newer) => {
            wrong.push(format!("{name}: version: {newer} is not known here; this program knows {VERSION}"))
        }
        None => wrong.push(format!("{name}: version: it is missing; write `version: {VERSION}`")),
    }
    let none = Vec::new();
    let entries = match root.get("items") {
        Some(serde_json::Value::Array(entries)) => entries,
        Some(serde_json::Value::Null) | None => &none,
        Some(_) => {
            wrong.push(format!("{name}: items: it is no list"));
            &none
        }
    };
    let (mut items, mut seen) = (Vec::new(), BTreeSet::new());
    for (place, entry) in entries.iter().enumerate() {
        let place = format!("{name}: items[{}]", place + 1);
        match shared(entry) {
            Ok(item) if seen.insert(item.id.clone()) => items.push(item),
            Ok(item) => wrong.push(format!("{place}: id: {} is there twice; remove one of them", item.id)),
            Err(why) => wrong.extend(why.into_iter().map(|why| format!("{place}: {why}"))),
        }
    }
    if wrong.is_empty() { Ok(items) } else { Err(wrong) }
}

fn shared(entry: &serde_json::Value) -> Result<SharedItem, Vec<String>> {
    let Some(fields) = entry.as_object() else { return Err(vec!["it is no mapping".to_owned()]) };
    let mut wrong: Vec<String> = fields
        .keys()
        .filter(|key| !KEYS.contains(&key.as_str()))
        .map(|key| format!("{key}: unknown key; known are {}", KEYS.join(", ")))
        .collect();
    let mut text = |key: &str| match fields.get(key) {
        None | Some(serde_json::Value::Null) => None,
        Some(serde_json::Value::String(text)) => Some(text.clone()),
        Some(_) => {
            wrong.push(format!("{key}: it is no text"));
            None
        }
    };
    let (claim, kind, domain) = (text("claim"), text("kind"), text("domain"));
    let (check, id) = (text("check"), text("id"));
    let known = kind.as_deref().map_or(Some(Kind::Pattern), Kind::named);
    if known.is_none() {
        let names = Kind::ALL.map(Kind::name).join(", ");
        wrong.push(format!("kind: {:?} is none of {names}", kind.unwrap_or_default()));
    }
    let scope = match fields.get("scope") {
        None | Some(serde_json::Value::Null) => Vec::new(),
        Some(serde_json::Value::String(glob)) => vec![glob.clone()],
        Some(serde_json::Value::Array(globs)) => {
            let texts: Vec<String> =
                globs.iter().filter_map(|glob| glob.as_str().map(str::to_owned)).collect();
            if texts.len() < globs.len() {
                wrong.push("scope: it is a list of globs, each a text".to_owned());
            }
            texts
        }
        Some(_) => {
            wrong.push("scope: it is a list of globs".to_owned());
            Vec::new()
        }
    };
    let kind = known.unwrap_or(Kind::Pattern);
    let domain = domain.unwrap_or_else(|| super::GENERAL.to_owned());
    let draft = Draft { claim: claim.unwrap_or_default(), kind, domain, scope, check };
    wrong.extend(draft.check().err().map(|bad| bad.to_string()));
    let named = id.as_deref().map(|id| ItemId::parse(id).ok_or(id.to_owned())).transpose();
    let named = named.unwrap_or_else(|id| {
        wrong.push(format!("id: {id:?} is none; leave it out, and one is made of the claim"));
        None
    });
    match wrong.is_empty() {
        true => Ok(SharedItem { id: named.unwrap_or_else(|| ItemId::of(kind, &draft.claim)), draft }),
        false => Err(wrong),
    }
}

/// The file's text. Read again it gives the same items; written again, the same bytes.
pub fn write_shared(items: &[SharedItem]) -> String {
    let mut text = format!(
        "# What this project has taught, for agents. Made by `conductor expertise export`; edit it like code.\n\
         version: {VERSION}\n"
    );
    text.push_str(if items.is_empty() { "items: []\n" } else { "items:\n" });
    let mut sorted: Vec<&SharedItem> = items.iter().collect();
    sorted.sort_by_key(|item| (&item.draft.domain, item.draft.kind, &item.id));
    for item in sorted {
        let SharedItem { id, draft } = item;
        text.push_str(&format!("  - id: {id}\n    claim: {}\n", quoted(&draft.claim)));
        text.push_str(&format!("    kind: {}\n    domain: {}\n", draft.kind.name(), quoted(&draft.domain)));
        if !draft.scope.is_empty() {
            let globs: Vec<String> = draft.scope.iter().map(|glob| quoted(glob)).collect();
            text.push_str(&format!("    scope: [{}]\n", globs.join(", ")));
        }
        if let Some(check) = &draft.check {
            text.push_str(&format!("    check: {}\n", quoted(check)));
        }
    }
    text
}

/// What JSON quotes, YAML reads.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_the_same() {
        let draft = |claim: &str| Draft {
            claim: claim.into(),
            kind: Kind::Failure,
            domain: "api".into(),
            scope: vec!["src/**".into(), "it's \"odd\"".into()],
            check: Some("cargo test".into()),
        };
        let items: Vec<SharedItem> =
            ["Plain.", "\u{201c}quotes\u{201d}: #no comment\nline two", "- dash \\ back"]
                .into_iter()
                .map(|claim| SharedItem { id: ItemId::of(Kind::Failure, claim), draft: draft(claim) })
                .collect();
        let text = write_shared(&items);
        let mut read = read_shared("f", text.clone().into_bytes()).unwrap();
        assert_eq!(write_shared(&read), text);
        read.sort_by(|a, b| a.id.cmp(&b.id));
        let mut sorted = items;
        sorted.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(read, sorted);
        assert_eq!(read_shared("f", b"# nothing\n".to_vec()), Ok(Vec::new()));
        assert_eq!(read_shared("f", write_shared(&[]).into_bytes()), Ok(Vec::new()));
    }

    #[test]
    fn everything_that_is_wrong_is_told_with_its_place() {
        let text =
            "version: 2\nmore: 1\nitems:\n  - claim: x\n    kind: essay\n  - claim: ''\n    scope: /etc\n";
        let wrong = read_shared("f.yaml", text.as_bytes().to_vec()).unwrap_err().join("\n");
        for part in ["f.yaml: version: 2", "more: unknown key", "items[1]: kind:", "items[2]: claim:"] {
            assert!(wrong.contains(part), "{part} in {wrong}");
        }
        let wrong = read_shared("f.yaml", b"version: [1\n".to_vec()).unwrap_err();
        assert!(wrong[0].starts_with("f.yaml:"), "{wrong:?}");
    }
}
