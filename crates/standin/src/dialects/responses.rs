//! OpenAI's Responses, as codex speaks it. Most refusals of Chat Completions are worded here too.

use serde_json::{Value, json};

use super::{Event, Refusal, Reply, items, parsed, pieces, string, texts};
use crate::conversation::{Conversation, Entry, Form, Offered, call_id};
use crate::faults::{Failure, Kind, Limit};
use crate::script::Usage;
use crate::tools::Call;

pub(super) fn read(body: &Value) -> Conversation {
    let input = &body["input"];
    let entries = match input {
        Value::String(prompt) => vec![Entry::Prompt(prompt.clone())],
        _ => items(input).flat_map(entries).collect(),
    };
    Conversation {
        model: string(&body["model"]),
        stream: body["stream"] == true,
        session: None,
        system: string(&body["instructions"]),
        offered: offered(body, input),
        entries,
    }
}

/// The request's own tools, and those a search has brought up since.
fn offered(body: &Value, input: &Value) -> Vec<Offered> {
    let found = items(input).filter(|item| item["type"] == "tool_search_output");
    let lists = std::iter::once(&body["tools"]).chain(found.map(|item| &item["tools"]));
    lists.flat_map(items).flat_map(|tool| tools(tool, None)).collect()
}

fn tools(tool: &Value, namespace: Option<&str>) -> Vec<Offered> {
    let name = tool["name"].as_str();
    match tool["type"].as_str() {
        Some("namespace") if namespace.is_none() => {
            items(&tool["tools"]).flat_map(|inner| tools(inner, name)).collect()
        }
        Some("function") => vec![Offered {
            namespace: namespace.map(str::to_owned),
            ..Offered::function(name.unwrap_or_default(), &tool["parameters"])
        }],
        Some("custom") => {
            vec![Offered { name: string(&tool["name"]), form: Form::Freeform, ..Offered::default() }]
        }
        Some("tool_search") => {
            vec![Offered { form: Form::Search, ..Offered::function("tool_search", &tool["parameters"]) }]
        }
        _ => Vec::new(),
    }
}

fn entries(item: &Value) -> Vec<Entry> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => said(item),
        "function_call" | "custom_tool_call" | "tool_search_call" | "local_shell_call" => vec![called(item)],
        kind if kind.ends_with("_output") => vec![Entry::Returned],
        _ => Vec::new(),
    }
}

fn said(message: &Value) -> Vec<Entry> {
    match message["role"].as_str() {
        Some("user") => texts(&message["content"]).into_iter().map(Entry::Prompt).collect(),
        Some("assistant") => vec![Entry::Said(texts(&message["content"]).concat())],
        _ => Vec::new(),
    }
}

fn called(item: &Value) -> Entry {
    let input = if item["type"] == "custom_tool_call" { &item["input"] } else { &item["arguments"] };
    Entry::Called { id: string(&item["call_id"]), name: string(&item["name"]), input: parsed(input) }
}

pub(super) fn stream(reply: &Reply) -> Vec<Event> {
    let mut events =
        vec![json!({"type": "response.created", "response": response(reply, "in_progress", &[])})];
    let items = output(reply);
    for (index, item) in items.iter().enumerate() {
        events
            .push(json!({"type": "response.output_item.added", "output_index": index, "item": begun(item)}));
        events.extend(deltas(index, item));
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": response(reply, "completed", &items)}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events.iter().map(Event::typed).collect()
}

/// An item before anything is in it.
fn begun(item: &Value) -> Value {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    for (key, empty) in [("content", json!([])), ("arguments", json!("")), ("input", json!(""))] {
        if begun.get(key).is_some_and(|value| !value.is_object()) {
            begun[key] = empty;
        }
    }
    begun
}

fn deltas(index: usize, item: &Value) -> Vec<Value> {
    let (kind, whole) = match item["type"].as_str() {
        Some("message") => ("response.output_text.delta", &item["content"][0]["text"]),
        Some("function_call") => ("response.function_call_arguments.delta", &item["arguments"]),
        Some("custom_tool_call") => ("response.custom_tool_call_input.delta", &item["input"]),
        _ => return Vec::new(),
    };
    let delta = |piece: &&str| json!({"type": kind, "item_id": item["id"], "output_index": index, "content_index": 0, "delta": piece});
    pieces(whole.as_str().unwrap_or_default()).iter().map(delta).collect()
}

pub(super) fn whole(reply: &Reply) -> Value {
    response(reply, "completed", &output(reply))
}

fn response(reply: &Reply, status: &str, output: &[Value]) -> Value {
    let usage = if status == "completed" { usage(reply.usage) } else { Value::Null };
    json!({
        "id": format!("resp_{}", reply.unique),
        "object": "response",
        "status": status,
        "model": reply.model,
        "output": output,
        "usage": usage,
        "error": null,
    })
}

fn output(reply: &Reply) -> Vec<Value> {
    let text = reply.text.iter().map(|text| message(text, &reply.unique));
    text.chain(reply.call.iter().map(|call| item(call, &reply.unique))).collect()
}

fn message(text: &str, unique: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    let id = format!("msg_{unique}");
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content})
}

fn item(call: &Call, unique: &str) -> Value {
    let call_id = call_id("call", unique, call.preparing);
    match call.form {
        Form::Function => {
            let id = format!("fc_{unique}");
            let arguments = call.input.to_string();
            let mut item = json!({
                "type": "function_call", "id": id, "call_id": call_id, "name": call.name,
                "arguments": arguments, "status": "completed",
            });
            if let Some(space) = &call.namespace {
                item["namespace"] = json!(space);
            }
            item
        }
        Form::Freeform => json!({
            "type": "custom_tool_call", "id": format!("ctc_{unique}"), "call_id": call_id, "name": call.name,
            "input": string(&call.input), "status": "completed",
        }),
        Form::Search => json!({
            "type": "tool_search_call", "id": format!("tsc_{unique}"), "call_id": call_id,
            "execution": "client", "arguments": call.input, "status": "completed",
        }),
    }
}

/// Here what came from a cache is part of the input.
fn usage(usage: Usage) -> Value {
    let input = usage.input + usage.cache_read;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + usage.output,
    })
}

pub(super) fn refuse(failure: &Failure) -> Refusal {
    let (kind, code) = name(failure.kind);
    let mut error = json!({"message": failure.message, "type": kind, "param": null, "code": code});
    let Some(limit) = failure.limit else {
        return Refusal { headers: Vec::new(), body: json!({ "error": error }) };
    };
    error["type"] = json!("usage_limit_reached");
    error["code"] = Value::Null;
    error["plan_type"] = json!("plus");
    error["resets_at"] = json!(limit.resets_at);
    error["resets_in_seconds"] = json!(limit.resets_in);
    Refusal { headers: windows(limit), body: json!({ "error": error }) }
}

fn name(kind: Kind) -> (&'static str, Option<&'static str>) {
    match kind {
        Kind::Authentication => ("invalid_request_error", Some("invalid_api_key")),
        Kind::Permission => ("invalid_request_error", Some("unsupported_country_region_territory")),
        Kind::ModelNotFound => ("invalid_request_error", Some("model_not_found")),
        Kind::RateLimit => ("rate_limit_error", Some("rate_limit_exceeded")),
        Kind::Server => ("server_error", None),
        Kind::Overloaded => ("server_error", Some("server_is_overloaded")),
        Kind::PromptTooLong => ("invalid_request_error", Some("context_length_exceeded")),
        Kind::CreditTooLow => ("insufficient_quota", Some("insufficient_quota")),
        Kind::Invalid => ("invalid_request_error", None),
    }
}

/// What codex is told of its allowance.
fn windows(limit: Limit) -> Vec<(&'static str, String)> {
    vec![
        ("x-codex-primary-used-percent", "100.0".to_owned()),
        ("x-codex-primary-window-minutes", "300".to_owned()),
        ("x-codex-primary-reset-at", limit.resets_at.to_string()),
        ("x-codex-primary-reset-after-seconds", limit.resets_in.to_string()),
    ]
}

pub(super) fn break_off(body: &Value) -> Event {
    let response =
        json!({"id": "resp_stand_in", "object": "response", "status": "failed", "error": body["error"]});
    Event::typed(&json!({"type": "response.failed", "response": response}))
}
