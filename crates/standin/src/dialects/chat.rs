//! OpenAI's Chat Completions, as opencode and many others speak it.

use serde_json::{Value, json};

use super::{Event, Refusal, Reply, items, parsed, pieces, responses, string, texts};
use crate::conversation::{Conversation, Entry, Offered, call_id};
use crate::faults::Failure;
use crate::script::Usage;
use crate::tools::Call;

pub(super) fn read(body: &Value) -> Conversation {
    let messages = || items(&body["messages"]);
    let system = messages().filter(|message| message["role"] == "system");
    Conversation {
        model: string(&body["model"]),
        stream: body["stream"] == true,
        session: None,
        system: system.flat_map(|message| texts(&message["content"])).collect::<Vec<_>>().join("\n"),
        offered: items(&body["tools"]).map(offered).collect(),
        entries: messages().flat_map(entries).collect(),
    }
}

fn offered(tool: &Value) -> Offered {
    let function = &tool["function"];
    Offered::function(function["name"].as_str().unwrap_or_default(), &function["parameters"])
}

fn entries(message: &Value) -> Vec<Entry> {
    match message["role"].as_str() {
        Some("user") => texts(&message["content"]).into_iter().map(Entry::Prompt).collect(),
        Some("assistant") => {
            let said = texts(&message["content"]).into_iter().filter(|text| !text.is_empty());
            said.map(Entry::Said).chain(items(&message["tool_calls"]).map(called)).collect()
        }
        Some("tool") => vec![Entry::Returned],
        _ => Vec::new(),
    }
}

fn called(call: &Value) -> Entry {
    let function = &call["function"];
    Entry::Called {
        id: string(&call["id"]),
        name: string(&function["name"]),
        input: parsed(&function["arguments"]),
    }
}

/// The figures come in a chunk of their own, whether asked for or not: no client minds.
pub(super) fn stream(reply: &Reply) -> Vec<Event> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    if let Some(text) = &reply.text {
        deltas.extend(pieces(text).iter().map(|piece| json!({ "content": piece })));
    }
    if let Some(call) = &reply.call {
        deltas.extend(call_deltas(call, &reply.unique));
    }
    let mut events: Vec<Event> = deltas.into_iter().map(|delta| chunk(reply, delta, Value::Null)).collect();
    events.push(chunk(reply, json!({}), json!(finish(reply))));
    let mut figures = envelope(reply, "chat.completion.chunk");
    figures["choices"] = json!([]);
    figures["usage"] = usage(reply.usage);
    events.push(Event::plain(&figures));
    events.push(Event::words("[DONE]"));
    events
}

fn chunk(reply: &Reply, delta: Value, finish_reason: Value) -> Event {
    let mut chunk = envelope(reply, "chat.completion.chunk");
    chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]);
    Event::plain(&chunk)
}

fn call_deltas(call: &Call, unique: &str) -> Vec<Value> {
    let mut opening = tool_call(call, unique);
    opening["index"] = json!(0);
    opening["function"]["arguments"] = json!("");
    let arguments = call.input.to_string();
    let rest =
        pieces(&arguments).into_iter().map(|piece| json!({"index": 0, "function": {"arguments": piece}}));
    std::iter::once(opening).chain(rest).map(|part| json!({ "tool_calls": [part] })).collect()
}

pub(super) fn whole(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text});
    if let Some(call) = &reply.call {
        message["tool_calls"] = json!([tool_call(call, &reply.unique)]);
    }
    let mut completion = envelope(reply, "chat.completion");
    completion["choices"] = json!([{"index": 0, "message": message, "finish_reason": finish(reply)}]);
    completion["usage"] = usage(reply.usage);
    completion
}

fn envelope(reply: &Reply, object: &str) -> Value {
    json!({"id": format!("chatcmpl-{}", reply.unique), "object": object, "created": 0, "model": reply.model})
}

fn tool_call(call: &Call, unique: &str) -> Value {
    let function = json!({"name": call.name, "arguments": call.input.to_string()});
    json!({"id": call_id("call", unique, call.preparing), "type": "function", "function": function})
}

fn finish(reply: &Reply) -> &'static str {
    if reply.call.is_some() { "tool_calls" } else { "stop" }
}

/// An allowance that is used up has one shape here, and no word on when it comes back.
pub(super) fn refuse(failure: &Failure) -> Refusal {
    if failure.limit.is_none() {
        return responses::refuse(failure);
    }
    let quota = "insufficient_quota";
    let error = json!({"message": failure.message, "type": quota, "param": null, "code": quota});
    Refusal { headers: Vec::new(), body: json!({ "error": error }) }
}

/// Here what came from a cache is part of the prompt.
fn usage(usage: Usage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
    })
}
