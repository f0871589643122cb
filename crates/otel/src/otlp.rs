//! Spans as OTLP has them in JSON: ids in hexadecimal, whole numbers as text.

use serde_json::{Value as Json, json};

use crate::span::{Attributes, Span, SpanEvent, Status, Value};

/// Which conventions the names follow.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";

/// A span of our own doing; others call us, or are called by us.
const INTERNAL: u32 = 1;

/// The body of one request.
pub fn request(resource: &[(String, String)], spans: &[Span]) -> Json {
    let attributes: Vec<Json> = resource
        .iter()
        .map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } }))
        .collect();
    let scope = json!({ "name": "conductor", "version": env!("CARGO_PKG_VERSION") });
    let spans: Vec<Json> = spans.iter().map(span).collect();
    json!({
        "resourceSpans": [{
            "resource": { "attributes": attributes },
            "scopeSpans": [{ "scope": scope, "spans": spans, "schemaUrl": SCHEMA }],
        }],
    })
}

fn span(span: &Span) -> Json {
    let mut told = json!({
        "traceId": span.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanos(span.from),
        "endTimeUnixNano": nanos(span.to),
        "attributes": attributes(&span.attributes),
        "events": span.events.iter().map(event).collect::<Vec<_>>(),
        "status": status(&span.status),
    });
    if let Some(parent) = span.parent {
        told["parentSpanId"] = json!(parent.to_string());
    }
    told
}

fn event(event: &SpanEvent) -> Json {
    json!({ "timeUnixNano": nanos(event.at), "name": event.name, "attributes": attributes(&event.attributes) })
}

fn status(status: &Status) -> Json {
    match status {
        Status::Unset => json!({}),
        Status::Ok => json!({ "code": 1 }),
        Status::Error(None) => json!({ "code": 2 }),
        Status::Error(Some(words)) => json!({ "code": 2, "message": words }),
    }
}

fn attributes(attributes: &Attributes) -> Vec<Json> {
    attributes.0.iter().map(|(name, told)| json!({ "key": name, "value": value(told) })).collect()
}

fn value(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!({ "stringValue": text }),
        Value::Whole(number) => json!({ "intValue": number.to_string() }),
        Value::Number(number) => json!({ "doubleValue": number }),
        Value::Flag(flag) => json!({ "boolValue": flag }),
    }
}

/// A clock from before 1970 is none.
fn nanos(millis: i64) -> String {
    (u128::try_from(millis).unwrap_or(0) * 1_000_000).to_string()
}

#[cfg(test)]
mod tests {
    use conductor_core::values::ids::RunId;

    use super::*;
    use crate::ids::{SpanId, TraceId};

    #[test]
    fn numbers_are_text_and_ids_are_hexadecimal() {
        let run = RunId::parse("r1").unwrap();
        let attributes = Attributes::default().with("a", "b").with("n", 5_u64).with("c", 0.5).with("f", true);
        let events = vec![SpanEvent { at: 2, name: "e", attributes: Attributes::default() }];
        let span = Span {
            trace: TraceId::of(&run),
            id: SpanId::of(&run, &["x"]),
            parent: Some(SpanId::of(&run, &["y"])),
            name: "x".into(),
            from: 1,
            to: 1_790_000_000_123,
            attributes,
            events,
            status: Status::Error(None),
            attempt: None,
        };
        let told = request(&[("service.name".into(), "conductor".into())], &[span]);
        let resource = &told["resourceSpans"][0];
        assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "conductor");
        let span = &resource["scopeSpans"][0]["spans"][0];
        assert_eq!(span["endTimeUnixNano"], "1790000000123000000");
        assert_eq!(span["traceId"].as_str().map(str::len), Some(32));
        assert_eq!(span["parentSpanId"].as_str().map(str::len), Some(16));
        assert_eq!(span["status"], json!({ "code": 2 }));
        assert_eq!(span["events"][0]["timeUnixNano"], "2000000");
        let values: Vec<&Json> =
            span["attributes"].as_array().unwrap().iter().map(|attribute| &attribute["value"]).collect();
        let expected = [
            json!({ "stringValue": "b" }),
            json!({ "intValue": "5" }),
            json!({ "doubleValue": 0.5 }),
            json!({ "boolValue": true }),
        ];
        assert_eq!(values, expected.iter().collect::<Vec<_>>());
    }
}
