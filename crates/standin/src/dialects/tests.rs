//! Every dialect over the same checks. The requests are what the real CLIs sent, made small and neutral.

use serde_json::{Value, json};

use super::{Dialect, Event, Reply, pieces};
use crate::conversation::{Conversation, Form, Said};
use crate::faults::{Failure, Fault, Kind};
use crate::script::Usage;
use crate::tools::Call;

const ALL: [Dialect; 4] = [Dialect::Anthropic, Dialect::Responses, Dialect::Chat, Dialect::Gemini];

fn fixture(name: &str) -> Value {
    let file = format!("{}/src/dialects/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn read(dialect: Dialect, name: &str) -> Conversation {
    dialect.read(&fixture(name), Some("gemini-2.5-flash"), true)
}

fn of_cli(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::Anthropic => ("claude", "claude-opus-5-5"),
        Dialect::Responses => ("codex", "gpt-5.5-codex"),
        Dialect::Chat => ("opencode", "stub-model"),
        Dialect::Gemini => ("gemini", "gemini-2.5-flash"),
    }
}

fn answers(conversation: &Conversation) -> Vec<(String, bool)> {
    conversation.answers().map(|Said { text, called }| (text, called)).collect()
}

fn a_call(form: Form) -> Call {
    let input = json!({"path": "a.txt", "content": "a long enough content to be cut in pieces"});
    let input = if form == Form::Freeform { json!("*** Begin Patch\n*** End Patch\n") } else { input };
    Call { name: "Write".into(), namespace: None, form, input, preparing: false }
}

fn a_reply(call: Option<Call>) -> Reply {
    Reply {
        unique: "1f".into(),
        model: "stub".into(),
        text: Some("Some words, enough of them.".into()),
        call,
        usage: Usage { input: 1000, output: 50, cache_read: 200, cache_write: 100 },
    }
}

fn data(events: &[Event]) -> Vec<Value> {
    let json = events.iter().filter(|event| event.data != "[DONE]");
    json.map(|event| serde_json::from_str(&event.data).unwrap()).collect()
}

fn joined(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

#[test]
fn what_the_clis_send_is_understood() {
    for dialect in ALL {
        let (name, model) = of_cli(dialect);
        let conversation = read(dialect, name);
        assert_eq!((conversation.model.as_str(), conversation.stream), (model, true), "{name}");
        let expected = [("I will write the file.".to_owned(), true), (String::new(), true)];
        assert_eq!(answers(&conversation), expected, "{name}");
        assert!(conversation.prompts().any(|prompt| prompt.contains("Do it")), "{name}");
    }
}

#[test]
fn the_tools_of_each_cli_are_seen() {
    let tools = |dialect| {
        let names = read(dialect, of_cli(dialect).0).offered.into_iter().map(|tool| tool.name);
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(tools(Dialect::Anthropic), "Bash Edit Read ToolSearch Write");
    assert_eq!(tools(Dialect::Responses), "exec_command apply_patch tool_search");
    assert_eq!(tools(Dialect::Chat), "bash edit read write");
    assert_eq!(tools(Dialect::Gemini), "read_file replace write_file run_shell_command");
}

#[test]
fn the_forms_of_codex_tools_are_told_apart() {
    let forms: Vec<Form> = read(Dialect::Responses, "codex").offered.iter().map(|tool| tool.form).collect();
    assert_eq!(forms, [Form::Function, Form::Freeform, Form::Search]);
}

#[test]
fn tools_that_were_searched_for_are_offered_from_then_on() {
    let codex = read(Dialect::Responses, "codex-found");
    assert!(codex.is_prepared());
    let found = codex.offered.last().unwrap();
    assert_eq!(found.full_name(), "mcp__tasks/update_task_status");
    assert_eq!(found.required, ["task_id", "status"]);
    let claude = read(Dialect::Anthropic, "claude-found");
    assert!(claude.is_prepared());
    assert!(claude.offered.iter().any(|tool| tool.name == "mcp__tasks__update_task_status"));
}

#[test]
fn a_question_for_a_title_offers_no_tools() {
    let conversation = read(Dialect::Chat, "opencode-title");
    assert!(conversation.offered.is_empty());
    assert!(conversation.system.contains("title generator"));
}

#[test]
fn anything_else_is_an_empty_conversation_not_a_panic() {
    for dialect in ALL {
        for body in [json!(null), json!([]), json!({}), json!({"messages": 3, "input": {}, "contents": "x"})]
        {
            let conversation = dialect.read(&body, None, false);
            assert!(conversation.entries.is_empty() && conversation.offered.is_empty(), "{dialect:?}");
        }
    }
}

#[test]
fn anthropic_streams_a_text_and_a_call() {
    let events = Dialect::Anthropic.stream(&a_reply(Some(a_call(Form::Function))));
    assert_eq!(events[0].name.as_deref(), Some("message_start"));
    let data = data(&events);
    assert_eq!(data[0]["message"]["usage"]["output_tokens"], 1);
    assert_eq!(joined(&data, "/delta/text"), "Some words, enough of them.");
    let input: Value = serde_json::from_str(&joined(&data, "/delta/partial_json")).unwrap();
    assert_eq!(input, a_call(Form::Function).input);
    let [.., delta, stop] = data.as_slice() else { panic!() };
    assert_eq!(delta["delta"]["stop_reason"], "tool_use");
    assert_eq!(delta["usage"]["output_tokens"], 50);
    assert_eq!(stop["type"], "message_stop");
}

#[test]
fn responses_streams_a_text_and_a_call() {
    let events = Dialect::Responses.stream(&a_reply(Some(a_call(Form::Function))));
    let data = data(&events);
    assert_eq!(data[0]["type"], "response.created");
    let done: Vec<&Value> =
        data.iter().filter(|event| event["type"] == "response.output_item.done").collect();
    assert_eq!(done[0]["item"]["content"][0]["text"], "Some words, enough of them.");
    assert_eq!(done[1]["item"]["arguments"], a_call(Form::Function).input.to_string());
    let last = data.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["usage"]["input_tokens"], 1200);
    assert_eq!(last["response"]["usage"]["input_tokens_details"]["cached_tokens"], 200);
    assert_eq!(last["response"]["usage"]["total_tokens"], 1250);
}

#[test]
fn responses_calls_each_form_of_tool_as_it_wants() {
    let kind = |form| Dialect::Responses.whole(&a_reply(Some(a_call(form))))["output"][1]["type"].clone();
    assert_eq!(kind(Form::Function), "function_call");
    assert_eq!(kind(Form::Freeform), "custom_tool_call");
    assert_eq!(kind(Form::Search), "tool_search_call");
    let spaced = Call { namespace: Some("mcp__tasks".into()), ..a_call(Form::Function) };
    let whole = Dialect::Responses.whole(&a_reply(Some(spaced)));
    assert_eq!(whole["output"][1]["namespace"], "mcp__tasks");
}

#[test]
fn chat_streams_a_text_and_a_call() {
    let events = Dialect::Chat.stream(&a_reply(Some(a_call(Form::Function))));
    assert_eq!(events.last().unwrap().wire(), "data: [DONE]\n\n");
    let data = data(&events);
    assert_eq!(joined(&data, "/choices/0/delta/content"), "Some words, enough of them.");
    let arguments = joined(&data, "/choices/0/delta/tool_calls/0/function/arguments");
    assert_eq!(arguments, a_call(Form::Function).input.to_string());
    assert_eq!(joined(&data, "/choices/0/finish_reason"), "tool_calls");
    assert_eq!(data.last().unwrap()["usage"]["prompt_tokens"], 1200);
}

#[test]
fn gemini_streams_a_text_and_a_call() {
    let data = data(&Dialect::Gemini.stream(&a_reply(Some(a_call(Form::Function)))));
    assert_eq!(joined(&data, "/candidates/0/content/parts/0/text"), "Some words, enough of them.");
    let last = data.last().unwrap();
    let call = &last["candidates"][0]["content"]["parts"][0]["functionCall"];
    assert_eq!((&call["name"], &call["args"]), (&json!("Write"), &a_call(Form::Function).input));
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"]["promptTokenCount"], 1200);
    assert_eq!(last["usageMetadata"]["candidatesTokenCount"], 50);
}

/// A request that goes on with what was answered whole.
fn going_on(dialect: Dialect, reply: &Reply) -> Value {
    let whole = dialect.whole(reply);
    match dialect {
        Dialect::Anthropic => {
            json!({"messages": [{"role": "assistant", "content": whole["content"]}]})
        }
        Dialect::Responses => json!({"input": whole["output"]}),
        Dialect::Chat => json!({"messages": [whole["choices"][0]["message"]]}),
        Dialect::Gemini => json!({"contents": [whole["candidates"][0]["content"]]}),
    }
}

#[test]
fn what_was_answered_is_understood_when_it_comes_back() {
    for dialect in ALL {
        let back = |call| answers(&dialect.read(&going_on(dialect, &a_reply(call)), None, false));
        let words = "Some words, enough of them.".to_owned();
        assert_eq!(back(None), [(words.clone(), false)], "{dialect:?}");
        assert_eq!(back(Some(a_call(Form::Function))), [(words, true)], "{dialect:?}");
        let preparing = Call { preparing: true, ..a_call(Form::Function) };
        assert_eq!(back(Some(preparing)), [], "{dialect:?}");
    }
}

#[test]
fn refusals_are_worded_as_the_apis_word_them() {
    let word = |dialect: Dialect, kind| {
        let body = dialect.refuse(&Failure::from_fault(&Fault::of(kind))).body;
        let pointer = if dialect == Dialect::Gemini { "/error/status" } else { "/error/type" };
        body.pointer(pointer).unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(word(Dialect::Anthropic, Kind::Authentication), "authentication_error");
    assert_eq!(word(Dialect::Anthropic, Kind::Overloaded), "overloaded_error");
    assert_eq!(word(Dialect::Responses, Kind::RateLimit), "rate_limit_error");
    assert_eq!(word(Dialect::Chat, Kind::CreditTooLow), "insufficient_quota");
    assert_eq!(word(Dialect::Gemini, Kind::RateLimit), "RESOURCE_EXHAUSTED");
    assert_eq!(word(Dialect::Gemini, Kind::ModelNotFound), "NOT_FOUND");
}

#[test]
fn when_to_come_back_is_told_in_a_header() {
    let failure = Failure::from_fault(&Fault::of(Kind::RateLimit).retry_after(7));
    for dialect in ALL {
        assert!(dialect.refuse(&failure).headers.contains(&("retry-after", "7".to_owned())), "{dialect:?}");
        let without = dialect.refuse(&Failure::from_fault(&Fault::of(Kind::RateLimit)));
        assert!(without.headers.is_empty(), "{dialect:?}");
    }
}

#[test]
fn a_used_up_allowance_says_when_it_comes_back() {
    let failure = Failure::used_up(1_800_000_060, 1_800_000_000);
    let claude = Dialect::Anthropic.refuse(&failure).headers;
    assert!(claude.contains(&("anthropic-ratelimit-unified-reset", "1800000060".to_owned())));
    let codex = Dialect::Responses.refuse(&failure).body;
    assert_eq!(codex["error"]["type"], "usage_limit_reached");
    assert_eq!(
        (&codex["error"]["resets_at"], &codex["error"]["resets_in_seconds"]),
        (&json!(1_800_000_060), &json!(60))
    );
    assert_eq!(Dialect::Gemini.refuse(&failure).body["error"]["details"][1]["retryDelay"], "60s");
    assert_eq!(Dialect::Chat.refuse(&failure).body["error"]["code"], "insufficient_quota");
}

#[test]
fn a_stream_is_broken_off_in_the_dialects_own_way() {
    let failure = Failure::from_fault(&Fault::of(Kind::Overloaded));
    assert!(Dialect::Anthropic.break_off(&failure).wire().starts_with("event: error\n"));
    assert!(Dialect::Responses.break_off(&failure).wire().starts_with("event: response.failed\n"));
    assert!(Dialect::Gemini.break_off(&failure).wire().contains("UNAVAILABLE"));
}

#[test]
fn pieces_make_the_whole_and_are_few() {
    for text in ["", "short", "Grüße aus der Wüste, übermäßig lang und mit ü überall: üüüüüüüüüü"]
    {
        assert_eq!(pieces(text).concat(), text);
    }
    assert!(pieces(&"x".repeat(1 << 20)).len() <= 8);
}
