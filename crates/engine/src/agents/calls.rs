//! How large a call of a model may be of which nothing is heard any more.

use super::talk::Tokens;

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
    }
}
