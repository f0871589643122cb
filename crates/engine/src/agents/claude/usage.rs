//! What it counts: its messages as they come, what its subagents may have used, and its own totals.

use std::collections::HashMap;

use conductor_core::values::units::Usd;
use serde_json::Value;

use super::super::calls::CallSize;
use super::super::talk::{MOST, Tokens};

/// The model it names where it speaks in the model's place.
const ITS_OWN_WORDS: &str = "<synthetic>";

/// What is around the words in a piece of a message, at the least.
const WRAPPING: usize = 230;

/// What has been counted since its last result.
#[derive(Default)]
pub(super) struct Counted {
    /// Of each message, by its id.
    messages: HashMap<String, Tokens>,
    /// Its own messages, by model.
    own: Vec<Tokens>,
    /// By the call that started it.
    subagents: HashMap<String, Subagent>,
    /// Calls of subagents that were cut off since its last result, and those that its last totals lack.
    cut_off: Vec<Tokens>,
    unheard: Vec<Tokens>,
    /// What it has asked of the model and has not been told the price of.
    under_way: Option<UnderWay>,
    /// Its newest message whose price is known.
    newest: Tokens,
    /// The longest answer it got.
    longest: u64,
    /// Whether there ever was a subagent.
    delegates: bool,
    /// Whether what it used before it was taken up again may be in its totals.
    resumed: bool,
    /// By its last result, where that tells all of the process.
    before: HashMap<String, Tokens>,
    cost_before: Usd,
}

/// One that has not ended.
#[derive(Default)]
struct Subagent {
    /// Its newest message.
    newest: Tokens,
    /// That were its last words.
    said_last: bool,
}

/// A request that is not answered to its end.
#[derive(Default)]
struct UnderWay {
    /// The message, once it has begun.
    id: Option<String>,
    /// Bytes of it that have come.
    bytes: u64,
    /// It has said so; else it is only about to ask.
    announced: bool,
}

impl Counted {
    pub(super) fn new(resumed: bool) -> Counted {
        Counted { resumed, ..Counted::default() }
    }

    pub(super) fn newest_call(&self) -> Option<CallSize> {
        CallSize::of(&self.newest, self.longest)
    }

    pub(super) fn goes_on_after(&mut self, call: &CallSize) {
        (self.newest, self.longest) = (call.tokens(), call.longest);
    }

    /// A request goes out.
    pub(super) fn asks(&mut self) {
        self.under_way = Some(UnderWay { announced: true, ..UnderWay::default() });
    }

    /// Its tools are done: it asks next, and may be killed before it says so.
    pub(super) fn is_about_to_ask(&mut self) {
        self.under_way.get_or_insert_default();
    }

    pub(super) fn begins(&mut self, message: &Value) -> Option<Tokens> {
        let id = message["id"].as_str()?;
        self.under_way = Some(UnderWay { id: Some(id.to_owned()), bytes: 0, announced: true });
        self.count(id, message["model"].as_str(), &message["usage"])
    }

    /// A piece of a message, of so many bytes with all that is around it.
    pub(super) fn on_piece(&mut self, length: usize) {
        if let Some(under_way) = &mut self.under_way {
            under_way.bytes += length.saturating_sub(WRAPPING) as u64;
        }
    }

    /// The last piece says what the message came to.
    pub(super) fn goes_on(&mut self, usage: &Value) -> Option<Tokens> {
        let id = self.under_way.take()?.id?;
        let news = self.count(&id, None, usage);
        if let Some(known) = self.messages.get(&id) {
            self.newest = known.clone();
            self.longest = self.longest.max(known.output);
        }
        news
    }

    /// A whole message, or a block of one: what was told of it before is not told again.
    pub(super) fn on_message(&mut self, message: &Value, subagent: Option<&str>) -> Option<Tokens> {
        let (id, model) = (message["id"].as_str()?, message["model"].as_str());
        match subagent {
            None => self.count(id, model, &message["usage"]),
            Some(call) => self.count_delegated(call, id, message),
        }
    }

    /// What is new since the message was last counted; the same message comes again and again. What it says itself, such as
    /// that it was refused, is no answer of a model.
    fn count(&mut self, id: &str, model: Option<&str>, usage: &Value) -> Option<Tokens> {
        if model == Some(ITS_OWN_WORDS) {
            return None;
        }
        let known = self.messages.entry(id.to_owned()).or_default();
        let now = Tokens { turns: 1, ..larger(known, model, usage) };
        let news = difference(&now, known);
        *known = now;
        let news = Some(news).filter(|news| news.total() + u64::from(news.turns) > 0)?;
        add(&mut self.own, &news);
        Some(news)
    }

    /// A message of a subagent tells what went in, but not what came out: that was no more tokens than bytes.
    fn count_delegated(&mut self, call: &str, id: &str, message: &Value) -> Option<Tokens> {
        let model = message["model"].as_str().filter(|model| *model != ITS_OWN_WORDS)?;
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let said_last = blocks.iter().all(|block| block["type"] != "tool_use");
        let bytes: u64 = blocks.iter().map(|block| block.to_string().len() as u64).sum();
        let known = self.messages.entry(id.to_owned()).or_default();
        let mut now = larger(known, Some(model), &message["usage"]);
        now.output = now.output.max(known.output + bytes);
        let news = difference(&now, known);
        *known = now.clone();
        self.subagents.insert(call.to_owned(), Subagent { newest: now, said_last });
        (news.total() > 0).then_some(Tokens { delegated: true, estimated: true, ..news })
    }

    pub(super) fn subagent_started(&mut self, event: &Value) {
        self.delegates = true;
        if let Some(call) = event["tool_use_id"].as_str() {
            self.subagents.insert(call.to_owned(), Subagent::default());
        }
    }

    /// A subagent's last answer may come only as a summary and the size of its last request. What is not known to be
    /// cheaper is counted as what costs most.
    pub(super) fn subagent_ended(&mut self, event: &Value) -> Option<Tokens> {
        let known = event["tool_use_id"].as_str().and_then(|call| self.subagents.remove(call));
        let Subagent { newest, said_last } = known.unwrap_or_default();
        if event["status"] != "completed" && !said_last {
            let before = if newest.total() > 0 { &newest } else { &self.newest };
            self.cut_off.push(Tokens { delegated: true, ..self.after(before, self.longest) });
        }
        let input = event["usage"]["total_tokens"].as_u64().unwrap_or(0).min(MOST);
        let output = event["summary"].as_str().map_or(0, |summary| summary.len() as u64);
        let model = if newest.model.is_empty() { self.newest.model.clone() } else { newest.model };
        let last = Tokens { model, input, cache_write: input, output, ..Tokens::default() };
        (!said_last && input > 0).then_some(Tokens { delegated: true, estimated: true, ..last })
    }

    /// What a result says was used since the last one, by model, and what it says that cost. Nothing where it does not say.
    pub(super) fn settled(&mut self, event: &Value) -> (Option<Vec<Tokens>>, Option<Usd>) {
        let Some((all, cost)) = self.said(event) else { return (None, None) };
        let mut totals = Vec::new();
        for tokens in all {
            let own = self.own.iter().find(|own| own.model == tokens.model);
            // Beside its own messages there are those of its subagents, and what it asks for itself.
            let own = own.map_or_else(Tokens::default, |own| smaller(own, &tokens));
            let rest = Tokens { delegated: self.delegates, ..difference(&tokens, &own) };
            totals.extend([Tokens { turns: 0, ..own }, rest].into_iter().filter(|part| part.total() > 0));
        }
        self.own.clear();
        match event["terminal_reason"].as_str().is_some_and(|reason| reason.starts_with("aborted")) {
            // An answer it did not wait for is not in its totals.
            true => {
                self.under_way = self.under_way.take().filter(|under_way| under_way.announced);
                self.under_way.iter_mut().for_each(|under_way| under_way.id = None);
                self.unheard = std::mem::take(&mut self.cut_off);
            }
            false => {
                self.cut_off.clear();
                self.subagents.clear();
                self.under_way = None;
            }
        }
        (Some(totals), Some(cost))
    }

    /// Later versions say what is new. Earlier ones tell all that the process has used, or the whole conversation.
    fn said(&mut self, event: &Value) -> Option<(Vec<Tokens>, Usd)> {
        if let Some(news) = event["model_usage_since_last_result"].as_object() {
            let cost = news.values().filter_map(|usage| usage["costUSD"].as_f64()).sum();
            let all = news.iter().map(|(model, usage)| model_usage(model, usage));
            return Some((all.collect(), Usd::from_dollars(cost)));
        }
        let models = event["modelUsage"].as_object().filter(|_| !self.resumed)?;
        let cost: f64 = models.values().filter_map(|usage| usage["costUSD"].as_f64()).sum();
        let mut news = Vec::new();
        for (model, usage) in models {
            let now = model_usage(model, usage);
            let before = self.before.insert(model.clone(), now.clone()).unwrap_or_default();
            news.push(difference(&now, &smaller(&before, &now)));
        }
        let cost = Usd::from_dollars(cost);
        let before = std::mem::replace(&mut self.cost_before, cost);
        Some((news, Usd(cost.0.saturating_sub(before.0))))
    }

    /// What a result's own figures have beyond the messages, where there is nothing better.
    pub(super) fn rest(&mut self, usage: &Value) -> Option<Tokens> {
        self.under_way = None;
        let counted = self.own.iter().fold(Tokens::default(), |mut sum, own| {
            sum.input += own.input;
            sum.cache_read += own.cache_read;
            sum.cache_write += own.cache_write;
            sum.output += own.output;
            sum
        });
        let model = self.own.first().map(|own| own.model.clone()).unwrap_or_default();
        self.own.clear();
        let all = larger(&Tokens::default(), Some(&model), usage);
        let rest = difference(&all, &smaller(&counted, &all));
        (rest.total() > 0).then_some(rest)
    }

    /// A request under way, and one of each subagent. It is taken to be as large as the last one with its answer, and its
    /// own answer to be as long as the longest, if no more of it has come.
    pub(super) fn unsaid(&self) -> Vec<Tokens> {
        let own = self.under_way.as_ref().map(|UnderWay { id, bytes, .. }| {
            let output = (*bytes).max(self.longest);
            match id.as_ref().and_then(|id| self.messages.get(id)) {
                Some(known) => {
                    let output = output.saturating_sub(known.output);
                    Tokens { model: known.model.clone(), output, ..Tokens::default() }
                }
                None => Tokens { turns: 1, ..self.after(&self.newest, output) },
            }
        });
        let subagents = self.subagents.values().filter(|subagent| !subagent.said_last).map(|subagent| {
            let newest = if subagent.newest.total() > 0 { &subagent.newest } else { &self.newest };
            Tokens { delegated: true, ..self.after(newest, self.longest) }
        });
        let all = own
            .into_iter()
            .chain(subagents)
            .chain(self.unheard.iter().cloned())
            .filter(|tokens| tokens.total() > 0);
        all.map(|tokens| Tokens { estimated: true, ..tokens }).collect()
    }

    fn after(&self, newest: &Tokens, output: u64) -> Tokens {
        let input = newest.total();
        Tokens { model: newest.model.clone(), input, cache_write: input, output, ..Tokens::default() }
    }
}

/// Of what is known of a message and what is told now, the larger.
fn larger(known: &Tokens, model: Option<&str>, usage: &Value) -> Tokens {
    let number = |name: &str| usage[name].as_u64().unwrap_or(0).min(MOST);
    let (cache_read, cache_write) =
        (number("cache_read_input_tokens"), number("cache_creation_input_tokens"));
    Tokens {
        model: model.map_or_else(|| known.model.clone(), str::to_owned),
        input: (number("input_tokens") + cache_read + cache_write).max(known.input),
        cache_read: cache_read.max(known.cache_read),
        cache_write: cache_write.max(known.cache_write),
        output: number("output_tokens").max(known.output),
        ..Tokens::default()
    }
}

fn model_usage(model: &str, usage: &Value) -> Tokens {
    let number = |name: &str| usage[name].as_u64().unwrap_or(0).min(MOST);
    let (cache_read, cache_write) = (number("cacheReadInputTokens"), number("cacheCreationInputTokens"));
    Tokens {
        model: model.to_owned(),
        input: number("inputTokens") + cache_read + cache_write,
        cache_read,
        cache_write,
        output: number("outputTokens"),
        ..Tokens::default()
    }
}

fn add(all: &mut Vec<Tokens>, news: &Tokens) {
    match all.iter_mut().find(|known| known.model == news.model) {
        Some(known) => {
            known.input += news.input;
            known.cache_read += news.cache_read;
            known.cache_write += news.cache_write;
            known.output += news.output;
        }
        None => all.push(news.clone()),
    }
}

fn smaller(one: &Tokens, other: &Tokens) -> Tokens {
    Tokens {
        model: one.model.clone(),
        input: one.input.min(other.input),
        cache_read: one.cache_read.min(other.cache_read),
        cache_write: one.cache_write.min(other.cache_write),
        output: one.output.min(other.output),
        ..Tokens::default()
    }
}

fn difference(now: &Tokens, before: &Tokens) -> Tokens {
    Tokens {
        model: now.model.clone(),
        input: now.input - before.input,
        cache_read: now.cache_read - before.cache_read,
        cache_write: now.cache_write - before.cache_write,
        output: now.output - before.output,
        turns: now.turns - before.turns,
        ..Tokens::default()
    }
}
