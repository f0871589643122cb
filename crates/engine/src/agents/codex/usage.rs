//! What it counts, and which allowances are used up.

use serde_json::Value;

use super::super::talk::{Heard, MOST, Tokens};
use super::Codex;

impl Codex {
    /// What is new since the thread was last counted. Before our own turn has begun, a resumed thread tells what it had
    /// used up to then; that has been counted in its time.
    pub(super) fn count(&mut self, params: &Value) -> Vec<Tokens> {
        let usage = &params["tokenUsage"];
        let (total, last) = (tokens(&usage["total"]), tokens(&usage["last"]));
        let thread = params["threadId"].as_str().unwrap_or_default().to_owned();
        let known = self.counted.insert(thread, total.clone());
        if self.is_ours(params) && self.turn.is_none() {
            return Vec::new();
        }
        let mut news = known.map_or(last, |known| difference(&total, &known));
        if news.total() == 0 {
            return Vec::new();
        }
        self.used = true;
        // Another thread does a part of the work.
        let delegated = !self.is_ours(params);
        let turns = u32::from(!delegated);
        news = Tokens { model: self.model.clone(), turns, delegated, ..news };
        self.calls.count(&news);
        vec![news]
    }

    /// When all of the allowances that are used up are there again.
    pub(super) fn on_limits(&mut self, limits: &Value) -> Heard {
        let windows =
            [&limits["primary"], &limits["secondary"]].into_iter().filter(|window| window.is_object());
        let mut windows = windows.peekable();
        if windows.peek().is_some() {
            let spent =
                windows.filter(|window| window["usedPercent"].as_f64().is_some_and(|used| used >= 100.0));
            self.resets_at = spent.filter_map(|window| window["resetsAt"].as_i64()).max();
        }
        Heard::default()
    }
}

fn tokens(usage: &Value) -> Tokens {
    let number = |name: &str| usage[name].as_u64().unwrap_or(0).min(MOST);
    Tokens {
        input: number("inputTokens"),
        cache_read: number("cachedInputTokens"),
        cache_write: number("cacheWriteInputTokens"),
        output: number("outputTokens"),
        ..Tokens::default()
    }
}

fn difference(now: &Tokens, before: &Tokens) -> Tokens {
    Tokens {
        input: now.input.saturating_sub(before.input),
        cache_read: now.cache_read.saturating_sub(before.cache_read),
        cache_write: now.cache_write.saturating_sub(before.cache_write),
        output: now.output.saturating_sub(before.output),
        ..Tokens::default()
    }
}
