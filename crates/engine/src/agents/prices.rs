//! What tokens cost: by the task file's own prices, else by a price list that comes with the program.
//!
//! What a vendor says itself is a cross-check at best: some figures are of a process, some of a whole session. A model that
//! neither knows has no price, which is not the same as none to pay.

use std::collections::BTreeMap;

use conductor_core::plan::Price;
use conductor_core::values::units::Usd;
use genai_prices::{Calculator, PriceRequest, Usage, UsageKey};

use crate::agents::Tokens;

/// The file's own prices, by name or by a prefix and `*`.
pub type Own = BTreeMap<String, Price>;

/// A price, and who says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// Dollars for a million tokens.
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The entry of the task file that fits.
    File(String),
    /// Provider and model in the list.
    List { provider: String, model: String },
}

/// Nothing where the model has no known price.
pub fn price(own: &Own, tokens: &Tokens) -> Option<Usd> {
    match fitting(own, &tokens.model) {
        Some((_, price)) => Some(by(price, tokens)),
        None => listed(tokens).map(|(total, ..)| Usd::from_dollars(total)),
    }
}

/// Whether the file has a price for it.
pub fn is_own(own: &Own, model: &str) -> bool {
    fitting(own, model).is_some()
}

/// What a model costs for a million tokens of each kind; long prompts may cost more.
pub fn known(own: &Own, model: &str) -> Option<Known> {
    if let Some((name, price)) = fitting(own, model) {
        let (input, output) = (price.input.dollars(), price.output.dollars());
        let or_input = |price: Option<Usd>| price.map_or(input, Usd::dollars);
        return Some(Known {
            input,
            output,
            cache_read: or_input(price.cache_read),
            cache_write: or_input(price.cache_write),
            origin: Origin::File(name.to_owned()),
        });
    }
    // Few enough that no price for very long prompts applies.
    const FEW: u64 = 1000;
    let cost = |fill: fn(&mut Tokens)| {
        let mut tokens = Tokens { model: model.to_owned(), ..Tokens::default() };
        fill(&mut tokens);
        listed(&tokens).map(|(total, provider, model)| (total * 1e6 / FEW as f64, provider, model))
    };
    let (input, provider, name) = cost(|tokens| tokens.input = FEW)?;
    let with_cache = |fill| cost(fill).map_or(input, |(total, ..)| total);
    Some(Known {
        input,
        output: cost(|tokens| tokens.output = FEW)?.0,
        cache_read: with_cache(|tokens| (tokens.input, tokens.cache_read) = (FEW, FEW)),
        cache_write: with_cache(|tokens| (tokens.input, tokens.cache_write) = (FEW, FEW)),
        origin: Origin::List { provider, model: name },
    })
}

/// Every model of the list, with its provider.
pub fn all_listed() -> Vec<(String, String)> {
    let providers = Calculator::bundled().providers();
    providers
        .flat_map(|provider| {
            provider.models().map(move |model| (provider.id().to_owned(), model.id().to_owned()))
        })
        .collect()
}

/// The entry of that very name, else the longest prefix.
fn fitting<'a>(own: &'a Own, model: &str) -> Option<(&'a str, &'a Price)> {
    let fits = |name: &str| name.strip_suffix('*').is_some_and(|prefix| model.starts_with(prefix));
    let exact = own.get_key_value(model);
    let longest = || own.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len());
    exact.or_else(longest).map(|(name, price)| (name.as_str(), price))
}

fn by(price: &Price, tokens: &Tokens) -> Usd {
    let Tokens { input, cache_read, cache_write, output, .. } = *tokens;
    let plain = input.saturating_sub(cache_read).saturating_sub(cache_write);
    let parts = [
        (plain, price.input),
        (cache_read, price.cache_read.unwrap_or(price.input)),
        (cache_write, price.cache_write.unwrap_or(price.input)),
        (output, price.output),
    ];
    let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0)).sum();
    Usd(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

/// By the list: what it comes to, and what it was taken for.
fn listed(tokens: &Tokens) -> Option<(f64, String, String)> {
    let usage = Usage::from([
        (UsageKey::INPUT_TOKENS, tokens.input as f64),
        (UsageKey::CACHE_READ_TOKENS, tokens.cache_read as f64),
        (UsageKey::CACHE_WRITE_TOKENS, tokens.cache_write as f64),
        (UsageKey::OUTPUT_TOKENS, tokens.output as f64),
    ]);
    let price = genai_prices::calculate(&PriceRequest::new(&tokens.model, &usage)).ok()?;
    Some((price.total_price, price.provider_id, price.model_id))
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::models;

    use super::*;

    /// What we choose we can also charge for. The names Claude Code gives its newest models are its own.
    #[test]
    fn models_that_can_be_chosen_have_a_price() {
        for (_, models) in models::BUILT_IN.into_iter().filter(|(agent, _)| *agent != "claude") {
            for model in models {
                let model = model.rsplit('/').next().unwrap().to_owned();
                let tokens = Tokens { model, input: 1_000_000, turns: 1, ..Tokens::default() };
                assert!(price(&Own::new(), &tokens).is_some(), "{}", tokens.model);
            }
        }
    }

    fn tokens(model: &str) -> Tokens {
        Tokens {
            model: model.into(),
            input: 3900,
            cache_read: 600,
            cache_write: 300,
            output: 150,
            turns: 3,
            ..Tokens::default()
        }
    }

    fn own(prices: &[(&str, u64, Option<u64>)]) -> Own {
        let price = |input: u64, cache_read: Option<u64>| Price {
            input: Usd(input),
            output: Usd(10_000_000),
            cache_read: cache_read.map(Usd),
            cache_write: None,
        };
        prices.iter().map(|(name, input, read)| ((*name).to_owned(), price(*input, *read))).collect()
    }

    #[test]
    fn a_known_model_costs_what_its_vendor_says() {
        let told = Some(Usd(16_620));
        assert_eq!(
            price(&Own::new(), &tokens("claude-opus-5-5")),
            told,
            "as Claude Code told of this conversation"
        );
        assert_eq!(price(&Own::new(), &tokens("unlisted")), None);
    }

    #[test]
    fn ones_own_price_comes_first_and_the_closest_one_counts() {
        let own =
            own(&[("claude-*", 1_000_000, None), ("claude-opus-*", 2_000_000, Some(0)), ("x", 0, None)]);
        // 3900 at 2 dollars but for 600 that are free, 150 at 10.
        assert_eq!(price(&own, &tokens("claude-opus-5-5")), Some(Usd(3300 * 2 + 1500)));
        assert_eq!(price(&own, &tokens("claude-haiku-5-5")), Some(Usd(3900 + 1500)));
        assert_eq!(price(&own, &tokens("x")), Some(Usd(1500)));
        assert_eq!(price(&own, &tokens("xy")), None, "a name is no prefix");
    }

    #[test]
    fn a_price_says_where_it_is_from() {
        let own = own(&[("claude-opus-*", 2_000_000, Some(200_000))]);
        let found = known(&own, "claude-opus-5-5").unwrap();
        assert_eq!((found.input, found.output, found.cache_read, found.cache_write), (2.0, 10.0, 0.2, 2.0));
        assert_eq!(found.origin, Origin::File("claude-opus-*".into()));
        let found = known(&Own::new(), "claude-opus-5-5").unwrap();
        assert_eq!(found.input.round(), 4.0);
        assert!(found.cache_read < found.input && found.input < found.cache_write, "{found:?}");
        assert!(matches!(found.origin, Origin::List { provider, .. } if provider == "anthropic"));
        assert_eq!(known(&Own::new(), "unlisted"), None);
    }

    #[test]
    fn everything_that_is_listed_can_be_looked_up_or_has_no_price_at_all() {
        let all = all_listed();
        assert!(all.iter().any(|(provider, _)| provider == "openai"));
        assert!(all.len() > 100, "{}", all.len());
    }
}
