//! The task file's JSON Schema, for editors. Made from the same table the reader uses.

use serde_json::{Map, Value, json};

use crate::plan::Resource;

use super::keys::{CONFIG_FILE, DEPENDENCY, FILE, KeySpec, STEP, Shape, Table};

/// As `schema`, of config files.
pub fn config_schema() -> Value {
    let mut file = object(CONFIG_FILE);
    file["patternProperties"] = json!({ "^x-": {} });
    file["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    file["title"] = json!("Conductor config file");
    file["description"] =
        json!("Defaults for task files: .conductor/config.yaml, or ~/.conductor/config.yaml.");
    file["definitions"] = schema()["definitions"].take();
    file
}

/// Draft 7, which every editor's YAML support understands.
pub fn schema() -> Value {
    let mut file = object(FILE);
    file["patternProperties"] = json!({ "^x-": {} });
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Conductor task file",
        "description": "Tasks for AI coding agents and commands, with their dependencies. A bare list of tasks is a task file too.",
        "if": { "type": "array" },
        "then": list(&reference("task")),
        "else": reference("file"),
        "definitions": {
            "file": file,
            "task": task(),
            "id": { "type": ["string", "integer"], "pattern": "^[A-Za-z0-9_][A-Za-z0-9._-]{0,49}$" },
            "duration": {
                "description": "Seconds as a plain number, or numbers with units: 500ms, 30m, 1h30m, 2.5h.",
                "type": ["number", "string"],
                "minimum": 0,
                "pattern": "^\\s*([0-9.]+\\s*[a-z]*\\s*)+$"
            },
            "priority": {
                "enum": ["critical", "high", "medium", "low", "backlog", 0, 1, 2, 3, 4]
            },
            "dependency": one_or(&reference("id"), object(DEPENDENCY)),
            "ids": one_or_list(&reference("id")),
            "texts": one_or_list(&scalar()),
            "step": {
                "oneOf": [
                    { "$ref": "#/definitions/id" },
                    { "type": "array", "items": { "$ref": "#/definitions/id" } },
                    object(STEP)
                ]
            },
            "resources": {
                "type": "object",
                "properties": limits(),
                "additionalProperties": { "type": "integer", "minimum": 1 }
            }
        }
    })
}

/// The amounts that are limits, too.
fn limits() -> Value {
    let of = |resource: Resource| {
        let (least, most) = resource.bounds();
        let mut form = match resource.is_size() {
            true => {
                json!({ "type": ["integer", "string"], "pattern": "^[0-9.]+ ?[A-Za-z]*$", "minimum": least })
            }
            false => counted(least, Some(most)),
        };
        form["description"] = json!(resource.about());
        (resource.name().to_owned(), form)
    };
    Value::Object(Resource::ALL.into_iter().map(of).collect())
}

/// One of prompt and run; a description alone is a prompt.
fn task() -> Value {
    let mut task = object(super::keys::TASK);
    task["anyOf"] = json!([
        { "required": ["prompt"] },
        { "required": ["run"] },
        { "required": ["description"] }
    ]);
    task["not"] = json!({ "required": ["prompt", "run"] });
    task
}

fn object(table: Table) -> Value {
    let keys = || table.iter().flat_map(|keys| keys.iter());
    let properties: Map<String, Value> = keys().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> = keys().filter(|key| key.required).map(|key| key.name).collect();
    let mut object = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

/// A `$ref` stands alone in draft 7, so that what is said beside it goes around it.
fn property(key: &KeySpec) -> Value {
    let mut form = form(key.shape);
    if form.get("$ref").is_some() {
        form = json!({ "allOf": [form] });
    }
    form["description"] = json!(key.about);
    form
}

fn form(shape: Shape) -> Value {
    match shape {
        Shape::Id => reference("id"),
        Shape::Text => scalar(),
        Shape::Texts => reference("texts"),
        Shape::Ids => reference("ids"),
        Shape::Command => one_or_list(&scalar()),
        Shape::Duration => reference("duration"),
        Shape::Priority => reference("priority"),
        Shape::Count(least, most) => counted(least, most),
        Shape::Ratio(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        Shape::Cost => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Choice(words) => json!({ "enum": words }),
        Shape::Choices(words) => one_or_list(&json!({ "enum": words })),
        Shape::Dependencies => one_or_list(&reference("dependency")),
        Shape::Order => json!({ "oneOf": [list(&reference("step")), object(STEP)] }),
        Shape::Env => json!({
            "type": "object",
            "propertyNames": { "pattern": "^(?!CONDUCTOR_)[A-Za-z_][A-Za-z0-9_]*$" },
            "additionalProperties": { "type": ["string", "number", "boolean"] }
        }),
        Shape::Resources => reference("resources"),
        Shape::ResourcesByName => {
            json!({ "type": "object", "additionalProperties": reference("resources") })
        }
        Shape::Counts => {
            json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 1 } })
        }
        Shape::Object(table) => object(table),
        Shape::FlagOrObject(table) => json!({ "oneOf": [{ "type": "boolean" }, object(table)] }),
        Shape::TextOrObject(table) => one_or(&scalar(), object(table)),
        Shape::Map(table) => json!({ "type": "object", "additionalProperties": object(table) }),
        Shape::Objects(table) if std::ptr::eq(table, super::keys::TASK) => list(&reference("task")),
        Shape::Objects(table) => list(&object(table)),
        Shape::Entrants(table) => {
            let mut form = list(&one_or(&scalar(), object(table)));
            (form["minItems"], form["maxItems"]) =
                (json!(super::keys::MIN_ENTRANTS), json!(super::keys::MAX_ENTRANTS));
            form
        }
        Shape::OneOrObjects(table) => one_or_list(&object(table)),
        Shape::Mapped(table) => json!({ "type": "object", "additionalProperties": object(table) }),
        Shape::Words => list(&scalar()),
        Shape::Codes => one_or_list(&counted(0, Some(255))),
        Shape::Named(table) => json!({
            "type": "object",
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            "additionalProperties": object(table)
        }),
        Shape::Free => json!({}),
    }
}

fn counted(least: u64, most: Option<u64>) -> Value {
    let mut form = json!({ "type": "integer", "minimum": least });
    if let Some(most) = most {
        form["maximum"] = json!(most);
    }
    form
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{name}") })
}

fn scalar() -> Value {
    json!({ "type": ["string", "number", "boolean"] })
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn one_or_list(item: &Value) -> Value {
    one_or(item, list(item))
}

fn one_or(item: &Value, other: Value) -> Value {
    json!({ "anyOf": [item, other] })
}
