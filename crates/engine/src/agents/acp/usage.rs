//! What an agent says it has used, counted in tokens.

use serde_json::Value;

use super::super::talk::{MOST, Tokens, text};

/// By model where that is told.
pub(super) fn used(result: &Value) -> Vec<Tokens> {
    let quota = &result["_meta"]["quota"];
    let models = quota["model_usage"].as_array().map(Vec::as_slice).unwrap_or_default();
    let models = models.iter().map(|usage| (text(&usage["model"]), &usage["token_count"]));
    let mut all: Vec<Tokens> = models.map(|(model, count)| tokens(model, count)).collect();
    if all.is_empty() {
        let whole = [&result["usage"], &quota["token_count"]].into_iter().find(|usage| usage.is_object());
        all.extend(whole.map(|usage| tokens(None, usage)));
    }
    all.retain(|tokens| tokens.total() > 0);
    all
}

/// Some count what was cached as part of the input, under other names.
fn tokens(model: Option<String>, count: &Value) -> Tokens {
    let number = |names: &[&str]| names.iter().find_map(|name| count[*name].as_u64()).unwrap_or(0).min(MOST);
    let cache_read = number(&["cachedReadTokens", "cachedInputTokens"]);
    let cache_write = number(&["cachedWriteTokens", "cacheWriteInputTokens"]);
    Tokens {
        model: model.unwrap_or_default(),
        input: number(&["inputTokens"]) + cache_read + cache_write + number(&["input_tokens"]),
        cache_read,
        cache_write,
        output: number(&["outputTokens", "output_tokens"]) + number(&["thoughtTokens"]),
        turns: 0,
        ..Tokens::default()
    }
}
