//! How large a call of a model may be of which nothing is heard any more.

use serde::{Deserialize, Serialize};

use super::talk::Tokens;

/// The newest call of a conversation with its answer, and the longest answer there was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSize {
    pub model: String,
    pub tokens: u64,
    pub longest: u64,
}

impl CallSize {
    /// Nothing before the first call.
    pub(super) fn of(newest: &Tokens, longest: u64) -> Option<CallSize> {
        let tokens = newest.total();
        (tokens > 0).then(|| CallSize { model: newest.model.clone(), tokens, longest })
    }

    /// As if it had been heard of now.
    pub(super) fn tokens(&self) -> Tokens {
        Tokens { model: self.model.clone(), input: self.tokens, ..Tokens::default() }
    }
}

/// The calls of one agent so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    newest: Tokens,
    longest: u64,
}

impl Calls {
    pub(super) fn count(&mut self, call: &Tokens) {
        if call.total() > 0 && !call.delegated {
            self.longest = self.longest.max(call.output);
            self.newest = call.clone();
        }
    }

    pub(super) fn newest(&self) -> Option<CallSize> {
        CallSize::of(&self.newest, self.longest)
    }

    /// Those of a conversation that is gone on with.
    pub(super) fn after(call: &CallSize) -> Calls {
        Calls { newest: call.tokens(), longest: call.longest }
    }

    /// One under way, at most: it says again all that the last one said and got, and its answer is as long as the longest.
    /// What the first one comes to cannot be known.
    pub(super) fn under_way(&self) -> Option<Tokens> {
        let (input, output) = (self.newest.total(), self.longest);
        let model = self.newest.model.clone();
        let call = Tokens { model, input, output, turns: 1, estimated: true, ..Tokens::default() };
        (input > 0).then_some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_under_way_is_as_large_as_the_last_with_its_answer() {
        let mut calls = Calls::default();
        assert_eq!(calls.under_way(), None);
        let call = |input, output, delegated| Tokens { input, output, delegated, ..Tokens::default() };
        calls.count(&call(100, 50, false));
        calls.count(&call(200, 10, false));
        calls.count(&call(9000, 900, true));
        assert_eq!(calls.under_way(), Some(Tokens { turns: 1, estimated: true, ..call(210, 50, false) }));
        // The first one after the conversation was taken up by another process.
        let taken_up = Calls::after(&calls.newest().unwrap());
        assert_eq!(taken_up.under_way(), calls.under_way());
        assert_eq!(Calls::default().newest(), None);
    }
}
