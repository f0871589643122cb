//! The API's own description, made from the routes.

use serde_json::{Map, Value, json};

use super::answer::{Answer, part, shape};
use super::fields::{in_body, schema};
use super::route::{Route, Rule};
use super::shapes::SHAPES;
use crate::problem::KINDS;

/// How a request is refused of which not even the head can be taken.
const TOO_LONG: &str = "too_long";

pub(crate) fn document(routes: impl IntoIterator<Item = &'static Route>) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        item[route.method.name().to_ascii_lowercase()] = operation(route);
    }
    paths.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Conductor",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs of coding agents: seen, started and steered over HTTP.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "The owner's token, an access token, or a session." },
            },
            "schemas": schemas(),
            "responses": problems(),
        },
    })
}

fn schemas() -> Value {
    let mut schemas = Map::new();
    schemas.insert("Problem".into(), problem());
    schemas.extend(SHAPES.iter().map(|(name, fields)| ((*name).to_owned(), part(fields))));
    Value::Object(schemas)
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.words,
        "tags": [tag(route.path)],
        "responses": responses(route),
        "x-conductor-role": role(route.rule),
    });
    if route.rule != Rule::Public {
        operation["security"] = json!([{ "token": [] }]);
    }
    let part = |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1, "maxLength": 200 } });
    let mut parameters: Vec<Value> = route.parts().map(part).collect();
    if edits(route) {
        parameters.push(
            json!({ "name": "If-Match", "in": "header", "required": false, "schema": { "type": "string" },
            "description": "The version of the file you have seen, from its ETag." }),
        );
    }
    if route.is_revalidated {
        parameters.push(
            json!({ "name": "If-None-Match", "in": "header", "required": false, "schema": { "type": "string" },
            "description": "The answer you have, by its ETag." }),
        );
    }
    parameters.extend(route.query.iter().map(|field| {
        let mut parameter = json!({ "name": field.name, "in": "query", "required": field.needed,
            "description": field.words, "schema": schema(field) });
        if parameter["schema"]["type"] == "array" {
            parameter["style"] = json!("form");
            parameter["explode"] = json!(false);
        }
        parameter
    }));
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    if route.method.changes() && !route.body.is_empty() {
        operation["requestBody"] = body(route);
    }
    operation
}

fn body(route: &Route) -> Value {
    let properties: Map<String, Value> =
        route.body.iter().map(|field| (field.name.to_owned(), in_body(field))).collect();
    let needed: Vec<&str> = route.body.iter().filter(|field| field.needed).map(|field| field.name).collect();
    let mut object = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !needed.is_empty() {
        object["required"] = json!(needed);
    }
    json!({ "required": !needed.is_empty(), "content": { "application/json": { "schema": object } } })
}

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    let good = match route.answer {
        Answer::Nothing => json!({ "description": "Done." }),
        Answer::Json { schema, fields } => {
            json!({ "description": route.words, "content": { "application/json": { "schema": shape(schema, fields) } } })
        }
        Answer::Other(media) => json!({ "description": route.words, "content": { media: {} } }),
    };
    responses.insert(route.status.to_string(), good);
    for status in ["414", "431"] {
        responses.insert(status.into(), json!({ "$ref": format!("#/components/responses/{TOO_LONG}") }));
    }
    if route.is_revalidated {
        responses.insert("304".into(), json!({ "description": "The answer you have is still good." }));
    }
    for (status, code, _) in KINDS.iter().filter(|(status, ..)| may_happen(route, *status)) {
        responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{code}") }));
    }
    Value::Object(responses)
}

/// Each kind of error, described once for all routes.
fn problems() -> Value {
    let content =
        json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
    let problem = |(_, code, title): &(u16, &str, &str)| {
        ((*code).to_owned(), json!({ "description": title, "content": content }))
    };
    let mut problems: Map<String, Value> = KINDS.iter().map(problem).collect();
    // Said before the request is read as one, so without a body.
    let too_long =
        json!({ "description": "the address (414), or it and the headers together (431), are too long" });
    problems.insert(TOO_LONG.into(), too_long);
    Value::Object(problems)
}

/// Which problems a route can answer with. A 500 is none of them: that would be a mistake of ours.
fn may_happen(route: &Route, status: u16) -> bool {
    match status {
        401 | 403 => true,
        404 if route.path.starts_with("/api/login/oidc") => true,
        404 | 409 | 504 => route.parts().next().is_some() || route.method.changes(),
        408 | 413 | 415 => route.method.changes(),
        412 | 428 => edits(route),
        416 => route.path.ends_with("log"),
        429 => route.rule == Rule::Public,
        500 => false,
        _ => true,
    }
}

/// Whether it edits a project's file, and takes the version that was seen.
fn edits(route: &Route) -> bool {
    route.method.changes() && matches!(route.answer, Answer::Json { schema: "conductor.edited/1", .. })
}

fn role(rule: Rule) -> &'static str {
    match rule {
        Rule::Public => "none",
        Rule::Role(role) | Rule::Everywhere(role) => role.name(),
    }
}

fn tag(path: &str) -> &str {
    let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != "api");
    let first = parts.next().unwrap_or("server");
    let mut named = || parts.find(|part| !part.starts_with('{'));
    match first {
        "projects" | "runs" => named().unwrap_or(first),
        first => first,
    }
}

fn operation_id(route: &Route) -> String {
    let words = route.path.trim_start_matches("/api").split(['/', '-', '.']).filter(|part| !part.is_empty());
    let mut id = route.method.name().to_ascii_lowercase();
    for word in words {
        id.push('_');
        id.push_str(word.trim_matches(['{', '}']));
    }
    id
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "What went wrong, as RFC 9457 has it.",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "code": { "type": "string", "enum": KINDS.map(|(_, code, _)| code) },
            "detail": { "type": "string" },
            "help": { "type": "string" },
            "field": { "type": "string" },
            "did_you_mean": { "type": "string" },
        },
    })
}
