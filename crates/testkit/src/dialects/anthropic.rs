//! Anthropic's Messages, as claude speaks it.

use serde_json::{Value, json};

use super::{Event, Refusal, Reply, items, pieces, string, texts};
use crate::conversation::{Conversation, Entry, Offered, call_id};
use crate::faults::{Failure, Kind, Limit};
use crate::script::Usage;
use crate::tools::Call;

pub(super) fn read(body: &Value) -> Conversation {
    Conversation {
        model: string(&body["model"]),
        stream: body["stream"] == true,
        session: None,
        system: texts(&body["system"]).join("\n"),
        offered: items(&body["tools"]).map(offered).collect(),
        entries: items(&body["messages"]).flat_map(entries).collect(),
    }
}

fn offered(tool: &Value) -> Offered {
    Offered::function(tool["name"].as_str().unwrap_or_default(), &tool["input_schema"])
}

fn entries(message: &Value) -> Vec<Entry> {
    let content = &message["content"];
    match message["role"].as_str() {
        Some("user") if content.is_string() => vec![Entry::Prompt(string(content))],
        Some("user") => items(content).filter_map(users).collect(),
        Some("assistant") if content.is_string() => vec![Entry::Said(string(content))],
        Some("assistant") => items(content).filter_map(models).collect(),
        // claude puts further instructions between the messages.
        _ => Vec::new(),
    }
}

fn users(block: &Value) -> Option<Entry> {
    match block["type"].as_str()? {
        "text" => Some(Entry::Prompt(string(&block["text"]))),
        "tool_result" => Some(Entry::Returned),
        _ => None,
    }
}

fn models(block: &Value) -> Option<Entry> {
    match block["type"].as_str()? {
        "text" => Some(Entry::Said(string(&block["text"]))),
        "tool_use" => Some(Entry::Called {
            id: string(&block["id"]),
            name: string(&block["name"]),
            input: block["input"].clone(),
        }),
        _ => None,
    }
}

pub(super) fn stream(reply: &Reply) -> Vec<Event> {
    let mut message = message(reply, &[], Value::Null);
    // As the API does: what the answer will cost is not known at its start.
    message["usage"]["output_tokens"] = json!(reply.usage.output.min(1));
    let mut events = vec![json!({"type": "message_start", "message": message}), json!({"type": "ping"})];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        let (opening, deltas) = opened(block);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": opening}));
        let deltas = deltas.into_iter();
        events.extend(
            deltas.map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop_reason(reply), "stop_sequence": null});
    events.push(
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": reply.usage.output}}),
    );
    events.push(json!({"type": "message_stop"}));
    events.iter().map(Event::typed).collect()
}

/// A block as a stream starts it, and what is then added.
fn opened(mut block: Value) -> (Value, Vec<Value>) {
    let is_text = block["type"] == "text";
    let (key, empty) = if is_text { ("text", json!("")) } else { ("input", json!({})) };
    let whole = block[key].take();
    block[key] = empty;
    let deltas = match whole {
        Value::String(text) => {
            pieces(&text).iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect()
        }
        input => pieces(&input.to_string())
            .iter()
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
            .collect(),
    };
    (block, deltas)
}

pub(super) fn whole(reply: &Reply) -> Value {
    message(reply, &blocks(reply), json!(stop_reason(reply)))
}

fn message(reply: &Reply, content: &[Value], stop_reason: Value) -> Value {
    json!({
        "id": format!("msg_{}", reply.unique),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage(reply.usage),
    })
}

fn blocks(reply: &Reply) -> Vec<Value> {
    let text = reply.text.iter().map(|text| json!({"type": "text", "text": text}));
    text.chain(reply.call.iter().map(|call| tool_use(call, &reply.unique))).collect()
}

fn tool_use(call: &Call, unique: &str) -> Value {
    let id = call_id("toolu", unique, call.preparing);
    json!({"type": "tool_use", "id": id, "name": call.name, "input": call.input})
}

fn stop_reason(reply: &Reply) -> &'static str {
    if reply.call.is_some() { "tool_use" } else { "end_turn" }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}

pub(super) fn refuse(failure: &Failure) -> Refusal {
    let error = json!({"type": name(failure.kind), "message": failure.message});
    Refusal {
        headers: failure.limit.map(unified).unwrap_or_default(),
        body: json!({"type": "error", "error": error, "request_id": "req_stand_in"}),
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Authentication => "authentication_error",
        Kind::Permission => "permission_error",
        Kind::ModelNotFound => "not_found_error",
        Kind::RateLimit => "rate_limit_error",
        Kind::Server => "api_error",
        Kind::Overloaded => "overloaded_error",
        Kind::PromptTooLong | Kind::CreditTooLow | Kind::Invalid => "invalid_request_error",
    }
}

/// What a subscription's token is told of its allowance; claude heeds it only with such a token.
fn unified(limit: Limit) -> Vec<(&'static str, String)> {
    let reset = limit.resets_at.to_string();
    vec![
        ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-reset", reset.clone()),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
        ("anthropic-ratelimit-unified-overage-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-5h-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-5h-reset", reset),
        ("anthropic-ratelimit-unified-5h-utilization", "1.0".to_owned()),
        ("retry-after", limit.resets_in.to_string()),
    ]
}
