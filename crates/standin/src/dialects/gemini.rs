//! Gemini's generateContent, as its CLI speaks it.

use serde_json::{Value, json};

use super::{Event, Refusal, Reply, items, pieces, string, texts};
use crate::conversation::{Conversation, Entry, Offered, call_id};
use crate::faults::{Failure, Kind, Limit};
use crate::script::Usage;
use crate::tools::Call;

pub(super) fn read(body: &Value, model: &str, stream: bool) -> Conversation {
    let declarations = items(&body["tools"]).flat_map(|group| items(&group["functionDeclarations"]));
    Conversation {
        model: model.to_owned(),
        stream,
        session: None,
        system: texts(&body["systemInstruction"]["parts"]).join("\n"),
        offered: declarations.map(offered).collect(),
        entries: items(&body["contents"]).flat_map(entries).collect(),
    }
}

fn offered(declaration: &Value) -> Offered {
    let schema = declaration.get("parametersJsonSchema").unwrap_or(&declaration["parameters"]);
    Offered::function(declaration["name"].as_str().unwrap_or_default(), schema)
}

fn entries(content: &Value) -> Vec<Entry> {
    let is_models = content["role"] == "model";
    items(&content["parts"]).filter_map(|part| if is_models { models(part) } else { users(part) }).collect()
}

fn users(part: &Value) -> Option<Entry> {
    if part.get("functionResponse").is_some() {
        return Some(Entry::Returned);
    }
    part["text"].as_str().map(|text| Entry::Prompt(text.to_owned()))
}

fn models(part: &Value) -> Option<Entry> {
    if let Some(call) = part.get("functionCall") {
        return Some(Entry::Called {
            id: string(&call["id"]),
            name: string(&call["name"]),
            input: call["args"].clone(),
        });
    }
    let text = part["text"].as_str().filter(|text| !text.is_empty() && part["thought"] != true);
    text.map(|text| Entry::Said(text.to_owned()))
}

pub(super) fn stream(reply: &Reply) -> Vec<Event> {
    let text = reply.text.as_deref().unwrap_or_default();
    let mut parts: Vec<Value> = pieces(text).iter().map(|piece| json!({ "text": piece })).collect();
    parts.extend(reply.call.iter().map(|call| function_call(call, &reply.unique)));
    let last = parts.pop().unwrap_or_else(|| json!({"text": ""}));
    let mut events: Vec<Event> =
        parts.into_iter().map(|part| Event::plain(&response(reply, &[part], false))).collect();
    events.push(Event::plain(&response(reply, &[last], true)));
    events
}

pub(super) fn whole(reply: &Reply) -> Value {
    let text = reply.text.iter().map(|text| json!({ "text": text }));
    let calls = reply.call.iter().map(|call| function_call(call, &reply.unique));
    response(reply, &text.chain(calls).collect::<Vec<_>>(), true)
}

fn response(reply: &Reply, parts: &[Value], is_last: bool) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if is_last {
        candidate["finishReason"] = json!("STOP");
    }
    let mut response =
        json!({"candidates": [candidate], "modelVersion": reply.model, "responseId": reply.unique});
    if is_last {
        response["usageMetadata"] = usage(reply.usage);
    }
    response
}

fn function_call(call: &Call, unique: &str) -> Value {
    let id = call_id("call", unique, call.preparing);
    json!({"functionCall": {"id": id, "name": call.name, "args": call.input}})
}

/// Here what came from a cache is part of the prompt.
fn usage(usage: Usage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": prompt + usage.output,
    })
}

pub(super) fn refuse(failure: &Failure) -> Refusal {
    let details = failure.limit.map(quota).or_else(|| failure.retry_after.map(|seconds| vec![wait(seconds)]));
    let error = json!({
        "code": failure.status,
        "message": failure.message,
        "status": name(failure.kind),
        "details": details.unwrap_or_default(),
    });
    Refusal { headers: Vec::new(), body: json!({ "error": error }) }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Authentication => "UNAUTHENTICATED",
        Kind::Permission => "PERMISSION_DENIED",
        Kind::ModelNotFound => "NOT_FOUND",
        Kind::RateLimit => "RESOURCE_EXHAUSTED",
        Kind::Server => "INTERNAL",
        Kind::Overloaded => "UNAVAILABLE",
        Kind::CreditTooLow => "FAILED_PRECONDITION",
        Kind::PromptTooLong | Kind::Invalid => "INVALID_ARGUMENT",
    }
}

/// A quota by the day: the CLI does not wait for such a one.
fn quota(limit: Limit) -> Vec<Value> {
    let violation = json!({
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_requests",
        "quotaId": "GenerateRequestsPerDayPerProjectPerModel",
    });
    let failure = json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]});
    vec![failure, wait(limit.resets_in)]
}

fn wait(seconds: u64) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s")})
}
