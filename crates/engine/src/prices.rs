//! What tokens cost, by a price list that comes with the program.
//!
//! What a vendor says itself is a cross-check at best: some figures are of a process, some of a whole session.

use conductor_core::units::Usd;
use genai_prices::{PriceRequest, Usage, UsageKey};

use crate::agents::Tokens;

/// Nothing where the model is not in the list.
pub fn price(tokens: &Tokens) -> Option<Usd> {
    let usage = Usage::from([
        (UsageKey::INPUT_TOKENS, tokens.input as f64),
        (UsageKey::CACHE_READ_TOKENS, tokens.cache_read as f64),
        (UsageKey::CACHE_WRITE_TOKENS, tokens.cache_write as f64),
        (UsageKey::OUTPUT_TOKENS, tokens.output as f64),
    ]);
    let price = genai_prices::calculate(&PriceRequest::new(&tokens.model, &usage)).ok()?;
    Some(Usd::from_dollars(price.total_price))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_model_costs_what_its_vendor_says() {
        let tokens = Tokens {
            model: "claude-opus-5-5".into(),
            input: 3900,
            cache_read: 600,
            cache_write: 300,
            output: 150,
            turns: 3,
        };
        assert_eq!(price(&tokens), Some(Usd(16_620)), "as Claude Code itself told of this very conversation");
        assert_eq!(price(&Tokens { model: "nobody's".into(), ..tokens }), None);
    }
}
