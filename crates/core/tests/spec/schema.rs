//! The schema that editors get, and the codes people look up.

use std::collections::BTreeSet;

use conductor_core::file::{CODES, config_schema, explain, schema};
use serde_json::Value;

use crate::full::FULL;
use crate::said;

/// Every name under any `properties`.
fn properties(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Object(own)) = map.get("properties") {
                found.extend(own.keys().cloned());
            }
            map.values().for_each(|inner| properties(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| properties(inner, found)),
        _ => {}
    }
}

fn references(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn it_is_draft_seven_and_refers_only_to_itself() {
    for schema in [schema(), config_schema()] {
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
        let mut found = BTreeSet::new();
        references(&schema, &mut found);
        assert!(found.len() > 5);
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("a reference into the schema");
            assert!(schema.pointer(pointer).is_some(), "{reference}");
        }
    }
}

#[test]
fn a_config_file_has_what_a_config_has_and_more() {
    let (file, config) = (schema(), config_schema());
    let section = file["definitions"]["file"]["properties"]["config"]["properties"].as_object();
    let keys: Vec<&String> = section.expect("the config's keys").keys().collect();
    assert!(keys.len() > 30);
    for key in keys.into_iter().map(String::as_str).chain(["parallel", "limits", "execution", "retry", "mcp"])
    {
        assert!(config["properties"].get(key).is_some(), "{key}");
    }
    assert!(config["properties"].get("tasks").is_none());
}

/// The reader refuses keys that are not in its table and the schema is made from that table, so it is enough that the
/// file with every key loads and that nothing is described that it does not use.
#[test]
fn it_knows_exactly_the_keys_of_the_full_example() {
    assert_eq!(said(FULL).lines().filter(|line| !line.contains(" no-effect? ")).count(), 0);
    let mut described = BTreeSet::new();
    properties(&schema(), &mut described);
    let unused: Vec<&String> = described.iter().filter(|key| !FULL.contains(&format!("{key}:"))).collect();
    // Said in other tests: the forms of an order that the full example does not use, and the retry policy's rest.
    assert_eq!(unused, ["sequential"]);
}

#[test]
fn every_key_is_described() {
    fn check(schema: &Value) {
        if let Some(Value::Object(own)) = schema.get("properties") {
            for (name, property) in own {
                let words = property["description"].as_str().unwrap_or_default();
                assert!(words.len() > 8, "{name} has no description");
            }
        }
        match schema {
            Value::Object(map) => map.values().for_each(check),
            Value::Array(items) => items.iter().for_each(check),
            _ => {}
        }
    }
    check(&schema());
}

#[test]
fn the_schema_as_editors_get_it() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&schema()).unwrap());
}

#[test]
fn codes_are_sorted_unique_and_explained() {
    assert!(CODES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(CODES.iter().all(|(_, about)| about.ends_with('.')));
    assert!(explain("unknown-key").unwrap().contains("typing slip"));
    assert_eq!(explain("no-such-code"), None);
}
