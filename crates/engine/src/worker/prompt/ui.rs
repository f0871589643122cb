//! Whether a project has a user interface that is looked at in a browser, by its files.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Where a part of a project with one usually is.
const PLACES: [&str; 8] = ["", "web", "frontend", "client", "ui", "app", "packages/web", "apps/web"];

/// Where a page of it is.
const PAGES: [&str; 4] = ["index.html", "public/index.html", "src/index.html", "static/index.html"];

/// What only those are built with that have one.
const PACKAGES: [&str; 14] = [
    "react-dom",
    "preact",
    "vue",
    "svelte",
    "@angular/core",
    "solid-js",
    "lit",
    "next",
    "nuxt",
    "astro",
    "@remix-run/react",
    "ember-source",
    "electron",
    "vite",
];

pub(super) fn is_there(root: &Path) -> bool {
    PLACES.iter().any(|place| {
        let place = root.join(place);
        PAGES.iter().any(|page| place.join(page).is_file()) || is_built_with_one(&place.join("package.json"))
    })
}

fn is_built_with_one(manifest: &Path) -> bool {
    let text = fs::read(manifest).unwrap_or_default();
    let Ok(manifest) = serde_json::from_slice::<Value>(&text) else { return false };
    let packages = ["dependencies", "devDependencies"].into_iter().filter_map(|kind| manifest.get(kind));
    packages.filter_map(Value::as_object).any(|named| PACKAGES.iter().any(|name| named.contains_key(*name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_by_a_page_or_by_what_it_is_built_with() {
        let project = |files: &[(&str, &str)]| {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in files {
                fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
                fs::write(dir.path().join(name), text).unwrap();
            }
            is_there(dir.path())
        };
        assert!(project(&[("public/index.html", "<p>")]));
        assert!(project(&[("web/package.json", r#"{"devDependencies": {"vite": "7"}}"#)]));
        assert!(project(&[("package.json", r#"{"dependencies": {"react-dom": "19"}}"#)]));
        assert!(!project(&[("package.json", r#"{"dependencies": {"express": "5"}}"#)]));
        assert!(!project(&[("package.json", "{ broken"), ("src/main.rs", "")]));
    }
}
