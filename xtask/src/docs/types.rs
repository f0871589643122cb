//! The page's types, made from the API's document: what the server says of its answers is what the page may expect.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::Result;

/// TypeScript for every named part and every answer.
pub(super) fn of(document: &str) -> Result<String> {
    let document: Value = serde_json::from_str(document)?;
    let mut text = "// Made from docs/openapi.json by `cargo xtask docs`.\n".to_owned();
    for (name, schema) in object(&document["components"]["schemas"]) {
        text += &interface(name, schema);
    }
    let mut answers: BTreeMap<String, &Value> = BTreeMap::new();
    let mut routes: Vec<(String, String)> = Vec::new();
    for (path, methods) in object(&document["paths"]) {
        for (method, operation) in object(methods) {
            for response in object(&operation["responses"]).values() {
                let schema = &response["content"]["application/json"]["schema"];
                let Some(id) = schema["properties"]["schema"]["const"].as_str() else { continue };
                let name = answer_name(id);
                let known = answers.entry(name.clone()).or_insert(schema);
                // Two routes may give the same answer, one of them more of it.
                if object(&schema["properties"]).len() > object(&known["properties"]).len() {
                    *known = schema;
                }
                routes.push((format!("{} {path}", method.to_uppercase()), name));
            }
        }
    }
    for (name, schema) in answers {
        text += &interface(&name, schema);
    }
    text += "\n/** What each address answers with. */\nexport interface Answers {\n";
    routes.sort();
    for (route, name) in routes {
        text += &format!("  \"{route}\": {name};\n");
    }
    Ok(text + "}\n")
}

fn object(value: &Value) -> &Map<String, Value> {
    static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.as_object().unwrap_or(&NOTHING)
}

/// `conductor.run-list/1` is a `RunListAnswer`.
fn answer_name(id: &str) -> String {
    let middle = id.split('.').nth(1).unwrap_or(id).split('/').next().unwrap_or(id);
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    let words: String = middle.split('-').filter_map(word).collect();
    format!("{words}Answer")
}

fn interface(name: &str, schema: &Value) -> String {
    let needed: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = format!("\nexport interface {name} {{\n");
    for (field, schema) in object(&schema["properties"]) {
        let mark = if needed.contains(&field.as_str()) { "" } else { "?" };
        text += &format!("  {field}{mark}: {};\n", type_of(schema));
    }
    text + "}\n"
}

fn type_of(schema: &Value) -> String {
    if let Some(named) = schema["$ref"].as_str() {
        return named.rsplit('/').next().unwrap_or(named).to_owned();
    }
    if let Some(one_of) = schema["anyOf"].as_array() {
        return one_of.iter().map(type_of).collect::<Vec<_>>().join(" | ");
    }
    if let Some(text) = schema["const"].as_str() {
        return format!("\"{text}\"");
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    let one = |name: &str| match name {
        "string" => "string".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "boolean".to_owned(),
        "null" => "null".to_owned(),
        "array" => match &schema["items"] {
            Value::Null => "unknown[]".to_owned(),
            items => format!("{}[]", type_of(items)),
        },
        "object" => "Record<string, unknown>".to_owned(),
        _ => "unknown".to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_types() {
        let document = r##"{ "components": { "schemas": { "Part": { "required": ["id"], "properties": {
            "id": { "type": "string" }, "cost": { "type": ["number", "null"] } } } } },
          "paths": { "/api/x": { "get": { "responses": { "200": { "content": { "application/json": { "schema": {
            "required": ["schema", "parts"], "properties": { "schema": { "const": "conductor.some-thing/1" },
            "parts": { "type": "array", "items": { "$ref": "#/components/schemas/Part" } },
            "one": { "anyOf": [{ "$ref": "#/components/schemas/Part" }, { "type": "null" }] } } } } } } } } } } }"##;
        let types = of(document).unwrap();
        assert!(
            types.contains("export interface Part {\n  id: string;\n  cost?: number | null;\n}"),
            "{types}"
        );
        assert!(types.contains("parts: Part[];\n  one?: Part | null;\n}"), "{types}");
        assert!(types.contains("  \"GET /api/x\": SomeThingAnswer;"), "{types}");
    }
}
