//! The bill of materials: what the program is made of, in the words of CycloneDX.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::licences::Library;
use super::product::{PACKAGE, PROGRAM, Product, text};
use super::sha256;
use crate::Result;

/// What is compiled into a crate and has a version of its own, by which a scanner knows it.
const SQLITE: &str = "libsqlite3-sys";

pub(super) fn bill(product: &Product, libraries: &[Library]) -> Result<Vec<u8>> {
    let checksums = checksums()?;
    let own = reference(PACKAGE, &product.version, "cargo");
    let mut components: Vec<Value> = libraries.iter().map(|library| component(library, &checksums)).collect();
    components.extend(product.packages.iter().filter(|package| is_ours(package)).map(own_crate));
    components.sort_by_key(|component| text(&component["bom-ref"]));
    let time = jiff::Timestamp::from_second(i64::try_from(product.epoch)?)?.to_string();
    let mut bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {
                "type": "application", "bom-ref": own, "name": PROGRAM, "version": product.version, "purl": own,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
            "properties": [{ "name": "target", "value": product.target }],
        },
        "components": components,
        "dependencies": dependencies(product, libraries),
    });
    // The number is made of what is said: the same bill has the same one.
    let sum = sha256(bill.to_string().as_bytes());
    let part = |from: usize, to: usize| &sum[from..to];
    let number = format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    );
    bill["serialNumber"] = number.into();
    Ok((serde_json::to_string_pretty(&bill)? + "\n").into_bytes())
}

fn is_ours(package: &Value) -> bool {
    package["source"].is_null() && package["name"] != PACKAGE
}

fn reference(name: &str, version: &str, kind: &str) -> String {
    format!("pkg:{kind}/{}@{version}", name.replace('@', "%40"))
}

fn component(library: &Library, checksums: &BTreeMap<(String, String), String>) -> Value {
    let reference = reference(&library.name, &library.version, library.kind);
    let mut component = json!({
        "type": "library", "bom-ref": reference, "name": library.name, "version": library.version, "purl": reference,
        "licenses": [{ "expression": library.licence }],
    });
    if let Some(sum) =
        checksums.get(&(library.name.clone(), library.version.clone())).filter(|_| library.kind == "cargo")
    {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    if library.name == SQLITE {
        component["description"] = "SQLite, compiled in; its version: conductor version --json".into();
    }
    component
}

fn own_crate(package: &Value) -> Value {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let reference = reference(&name, &version, "cargo");
    json!({
        "type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference,
        "licenses": [{ "expression": text(&package["license"]) }],
    })
}

/// Which package uses which, among those that are listed.
fn dependencies(product: &Product, libraries: &[Library]) -> Vec<Value> {
    let known: BTreeMap<String, String> = product
        .packages
        .iter()
        .map(|package| {
            let name = reference(&text(&package["name"]), &text(&package["version"]), "cargo");
            (text(&package["id"]), name)
        })
        .collect();
    let mut all = BTreeMap::new();
    for node in &product.nodes {
        let Some(name) = known.get(&text(&node["id"])) else { continue };
        let uses = node["deps"].as_array().into_iter().flatten().filter(|used| is_linked(used));
        let uses: BTreeSet<String> =
            uses.filter_map(|used| known.get(&text(&used["pkg"])).cloned()).collect();
        all.insert(name.clone(), uses);
    }
    // The page is in the server.
    let of_page = libraries.iter().filter(|library| library.kind == "npm");
    let of_page: BTreeSet<String> =
        of_page.map(|library| reference(&library.name, &library.version, library.kind)).collect();
    let server = reference(&format!("{PACKAGE}-server"), &product.version, "cargo");
    all.entry(server).or_default().extend(of_page);
    all.into_iter().map(|(name, uses)| json!({ "ref": name, "dependsOn": uses })).collect()
}

/// Whether it is used by the program, and not only to build or test it.
fn is_linked(used: &Value) -> bool {
    used["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
}

/// As the lock file has them, by name and version.
fn checksums() -> Result<BTreeMap<(String, String), String>> {
    Ok(checksums_in(&std::fs::read_to_string(crate::steps::root().join("Cargo.lock"))?))
}

fn checksums_in(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |block: &str, name: &str| {
        let value =
            block.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")).map(str::to_owned));
        value.map(|value| value.trim_end_matches('"').to_owned())
    };
    let blocks = lock.split("[[package]]");
    blocks
        .filter_map(|block| {
            Some(((field(block, "name")?, field(block, "version")?), field(block, "checksum")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product() -> Product {
        let package = |name: &str, version: &str, source: Value| json!({ "name": name, "version": version, "id": name, "source": source, "license": "MIT" });
        let node = |id: &str, uses: &[(&str, Value)]| {
            let deps =
                uses.iter().map(|(name, kind)| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] }));
            json!({ "id": id, "deps": deps.collect::<Vec<_>>() })
        };
        Product {
            version: "1.0.0".to_owned(),
            target: "x86_64-unknown-linux-gnu".to_owned(),
            epoch: 1_700_000_000,
            target_directory: "/t".into(),
            packages: vec![
                package(PACKAGE, "1.0.0", Value::Null),
                package("serde", "1.2.3", "registry".into()),
            ],
            nodes: vec![node(PACKAGE, &[("serde", Value::Null), ("cc", "build".into())]), node("serde", &[])],
        }
    }

    fn libraries() -> Vec<Library> {
        let library = |name: &str, kind| {
            let (name, licence) = (name.to_owned(), "MIT OR Apache-2.0".to_owned());
            Library { name, version: "1.2.3".to_owned(), licence, kind, folder: "/".into() }
        };
        vec![library("serde", "cargo"), library("@tanstack/x", "npm")]
    }

    #[test]
    fn every_part_is_named_with_where_it_is_from_and_what_it_uses() {
        let bill: Value = serde_json::from_slice(&bill(&product(), &libraries()).unwrap()).unwrap();
        let names: Vec<String> =
            bill["components"].as_array().unwrap().iter().map(|one| text(&one["purl"])).collect();
        assert_eq!(names, ["pkg:cargo/serde@1.2.3", "pkg:npm/%40tanstack/x@1.2.3"]);
        assert_eq!(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
        let uses = bill["dependencies"].as_array().unwrap();
        let of_program = uses.iter().find(|one| one["ref"] == "pkg:cargo/conductor-agents@1.0.0").unwrap();
        assert_eq!(of_program["dependsOn"], json!(["pkg:cargo/serde@1.2.3"]), "nothing that only builds it");
        assert_eq!(text(&bill["serialNumber"]).len(), "urn:uuid:".len() + 36, "{}", bill["serialNumber"]);
    }

    #[test]
    fn the_same_parts_make_the_same_bill() {
        assert_eq!(bill(&product(), &libraries()).unwrap(), bill(&product(), &libraries()).unwrap());
    }

    #[test]
    fn checksums_are_read_from_a_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"12ab\"\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let read = checksums_in(lock);
        assert_eq!(read.len(), 1);
        assert_eq!(read[&("a".to_owned(), "1.0.0".to_owned())], "12ab");
    }
}
