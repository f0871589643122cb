//! How answers look, for the API's document and for the caller.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::shapes;
use crate::problem::Result;

/// Stricter than the policy of the page in all but one: what is not loaded cannot be replaced, so style may be inline.
const STANDALONE: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Nothing,
    /// An object with `schema` and these fields: `run text, pid number?, tasks [object]`. A `?` is one that may be null or
    /// missing.
    Json {
        schema: &'static str,
        fields: &'static str,
    },
    /// Of this media type.
    Other(&'static str),
}

/// An answer of this schema.
pub(crate) fn json(schema: &str, value: Value) -> Result<Response> {
    json_with(200, schema, value)
}

pub(crate) fn json_with(status: u16, schema: &str, value: Value) -> Result<Response> {
    let mut whole = Map::new();
    whole.insert("schema".into(), json!(schema));
    if let Value::Object(fields) = value {
        whole.extend(fields);
    }
    Ok(encoded(status, Value::Object(whole).to_string()))
}

/// JSON that is text already.
pub(crate) fn encoded(status: u16, text: impl Into<axum::body::Body>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    (status, [kind], text.into()).into_response()
}

pub(crate) fn of_kind(media: &'static str, text: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(media))], text.into()).into_response()
}

/// As `of_kind`, of a document that stands for itself and has its style in it, as a run's report: it runs and loads nothing.
pub(crate) fn standalone(media: &'static str, text: impl Into<axum::body::Body>) -> Response {
    let mut document = of_kind(media, text);
    document.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(STANDALONE));
    document
}

pub(crate) fn nothing() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Fields of an answer as a JSON Schema.
pub(crate) fn shape(schema: &str, fields: &str) -> Value {
    let mut shape = part(fields);
    shape["properties"]["schema"] = json!({ "type": "string", "const": schema });
    if let Some(required) = shape["required"].as_array_mut() {
        required.insert(0, json!("schema"));
    }
    shape
}

/// As `shape`, of a part of an answer.
pub(crate) fn part(fields: &str) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<Value> = Vec::new();
    for field in fields.split(',').map(str::trim).filter(|field| !field.is_empty()) {
        let (name, kind) = field.split_once(' ').unwrap_or((field, "any"));
        let (kind, optional) = kind.strip_suffix('?').map_or((kind, false), |kind| (kind, true));
        if !optional {
            required.push(json!(name));
        }
        properties.insert(name.to_owned(), of_type(kind, optional));
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

fn of_type(kind: &str, optional: bool) -> Value {
    let name = match kind.trim_matches(['[', ']']) {
        name if shapes::is_known(name) => return of_shape(name, kind.starts_with('['), optional),
        "text" => "string",
        "number" => "number",
        "whole" => "integer",
        "flag" => "boolean",
        "object" => "object",
        _ => return json!({}),
    };
    let may_be_null = |name: &str| if optional { json!([name, "null"]) } else { json!(name) };
    match kind.starts_with('[') {
        true => json!({ "type": may_be_null("array"), "items": { "type": name } }),
        false => json!({ "type": may_be_null(name) }),
    }
}

fn of_shape(name: &str, is_list: bool, optional: bool) -> Value {
    let named = json!({ "$ref": format!("#/components/schemas/{name}") });
    let shape = if is_list { json!({ "type": "array", "items": named }) } else { named };
    if optional { json!({ "anyOf": [shape, { "type": "null" }] }) } else { shape }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_become_a_schema() {
        let shape = shape("conductor.x/1", "run text, pid whole?, tasks [object], more any");
        assert_eq!(shape["required"], json!(["schema", "run", "tasks", "more"]));
        assert_eq!(shape["properties"]["pid"], json!({ "type": ["integer", "null"] }));
        assert_eq!(shape["properties"]["tasks"], json!({ "type": "array", "items": { "type": "object" } }));
        assert_eq!(shape["properties"]["schema"]["const"], "conductor.x/1");
    }
}
