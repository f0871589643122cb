//! What an agent has used, by model and in money: what it tells as it goes, settled by its own totals.
//!
//! What streams is counted at once, and where it is only a part of the truth it is counted from above. An agent that says
//! its totals takes that back and puts them in its place.

use conductor_core::run::event::{ModelUsage, Usage};
use conductor_core::values::units::Usd;

use crate::agents::prices;
use crate::agents::{Heard, Said, Tokens};

/// What one agent has used since it last said its totals.
#[derive(Default)]
pub(super) struct Bill {
    open: Vec<ModelUsage>,
    /// Tools it has called and that are in no report yet.
    tool_calls: u32,
}

/// What there is to report of one model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Report {
    pub model: Option<Box<str>>,
    pub usage: Usage,
    /// Of what was reported of it before.
    pub taken_back: Usage,
}

/// Prices and an agent make different sums of the same totals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    pub ours: Usd,
    pub theirs: Usd,
}

impl Bill {
    /// Adds what one line told.
    pub(super) fn hear(
        &mut self,
        heard: &Heard,
        own: &prices::Own,
        reports: &mut Vec<Report>,
    ) -> Option<Difference> {
        let told = if heard.totals.is_some() { None } else { heard.cost };
        self.tool_calls += heard.said.iter().filter(|said| matches!(said, Said::Tool(..))).count() as u32;
        let mut bills = bills(&heard.used, told, own);
        if let Some(bill) = bills.first_mut() {
            bill.usage.tool_calls = std::mem::take(&mut self.tool_calls);
        }
        add(&mut self.open, &bills);
        for ModelUsage { model, usage } in bills {
            push(reports, Report { model, usage, taken_back: Usage::default() });
        }
        let totals = heard.totals.as_ref()?;
        let (settled, difference) = settled(totals, heard.cost, own);
        self.settle(settled, reports);
        difference
    }

    /// Puts totals in the place of what was told since the last ones. Calls are counted as they were heard.
    fn settle(&mut self, mut settled: Vec<ModelUsage>, reports: &mut Vec<Report>) {
        let open = std::mem::take(&mut self.open);
        for ModelUsage { model, usage } in &open {
            let Usage { turns, tool_calls, .. } = *usage;
            match settled.iter_mut().find(|bill| bill.model == *model) {
                Some(bill) => (bill.usage.turns, bill.usage.tool_calls) = (turns, tool_calls),
                None => {
                    let usage = Usage { turns, tool_calls, ..Usage::default() };
                    settled.push(ModelUsage { model: model.clone(), usage });
                }
            }
        }
        for ModelUsage { model, usage } in settled {
            let before =
                open.iter().find(|bill| bill.model == model).map_or(Usage::default(), |bill| bill.usage);
            push(reports, Report { model, usage: usage.less(before), taken_back: before.less(usage) });
        }
    }
}

/// Reports of one model are one.
fn push(reports: &mut Vec<Report>, report: Report) {
    if report.usage.is_nothing() && report.taken_back.is_nothing() {
        return;
    }
    let Some(known) = reports.iter_mut().find(|known| known.model == report.model) else {
        return reports.push(report);
    };
    let (mut usage, mut taken_back) = (known.usage, known.taken_back);
    usage += report.usage;
    taken_back += report.taken_back;
    (known.usage, known.taken_back) = (usage.less(taken_back), taken_back.less(usage));
}

pub(super) fn add(all: &mut Vec<ModelUsage>, more: &[ModelUsage]) {
    for used in more {
        match all.iter_mut().find(|known| known.model == used.model) {
            Some(known) => known.usage += used.usage,
            None => all.push(used.clone()),
        }
    }
}

/// Totals in money. The larger of what prices and the agent itself make of them counts, unless the file has prices of its
/// own: those are what its user pays.
fn settled(totals: &[Tokens], told: Option<Usd>, own: &prices::Own) -> (Vec<ModelUsage>, Option<Difference>) {
    let mut bills = bills(totals, told, own);
    let ours = bills.iter().fold(Usd(0), |sum, bill| sum + bill.usage.cost);
    let has_own = totals.iter().any(|tokens| prices::is_own(own, &tokens.model));
    let Some(theirs) = told.filter(|_| !has_own) else { return (bills, None) };
    if let Some(bill) = bills.iter_mut().max_by_key(|bill| bill.usage.cost) {
        bill.usage.cost = bill.usage.cost + Usd(theirs.0.saturating_sub(ours.0));
    }
    // A hundredth of it is rounding and small change.
    let differ = ours.0.abs_diff(theirs.0) > theirs.0.max(ours.0) / 100;
    (bills, differ.then_some(Difference { ours, theirs }))
}

/// What was used of each model, by the prices there are. Where one of them has none, what the agent says itself is taken
/// for all of it; where it says nothing, its tokens are told to be unpriced.
fn bills(used: &[Tokens], told: Option<Usd>, own: &prices::Own) -> Vec<ModelUsage> {
    let mut unknown = used.is_empty();
    let mut bills = Vec::new();
    for tokens in used {
        let price = prices::price(own, tokens);
        unknown |= price.is_none();
        let unpriced = if price.is_none() { tokens.total() } else { 0 };
        let cost = price.unwrap_or_default();
        let only_if = |so: bool| if so { cost } else { Usd::default() };
        let usage = Usage {
            cost,
            tokens: tokens.total(),
            output: tokens.output,
            turns: tokens.turns,
            unpriced,
            tool_calls: 0,
            delegated: only_if(tokens.delegated),
            estimated: only_if(tokens.estimated),
        };
        let model = (!tokens.model.is_empty()).then(|| tokens.model.as_str().into());
        add(&mut bills, &[ModelUsage { model, usage }]);
    }
    if let Some(told) = told.filter(|_| unknown) {
        let free = |usage: Usage| Usage { cost: Usd(0), unpriced: 0, ..usage };
        let delegated = !used.is_empty() && used.iter().all(|tokens| tokens.delegated);
        let delegated = if delegated { told } else { Usd::default() };
        bills.iter_mut().for_each(|bill| bill.usage = free(bill.usage));
        match bills.first_mut() {
            Some(bill) => (bill.usage.cost, bill.usage.delegated) = (told, delegated),
            None => bills.push(ModelUsage { model: None, usage: Usage { cost: told, ..Usage::default() } }),
        }
    }
    bills.retain(|bill| !bill.usage.is_nothing());
    bills
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPUS: &str = "claude-opus-5-5";

    fn tokens(model: &str) -> Tokens {
        Tokens { model: model.into(), input: 1000, turns: 1, ..Tokens::default() }
    }

    #[test]
    fn the_price_list_comes_before_what_the_agent_says() {
        let cost = |used: Vec<Tokens>, told: Option<Usd>| {
            let sum = |a: (Usd, u64), b: (Usd, u64)| (a.0 + b.0, a.1 + b.1);
            let bills = bills(&used, told, &prices::Own::new()).into_iter();
            bills.map(|bill| (bill.usage.cost, bill.usage.unpriced)).reduce(sum)
        };
        let (told, taken) = (Some(Usd(7)), Some((Usd(7), 0)));
        assert_eq!(cost(vec![tokens(OPUS)], told), Some((Usd(4000), 0)));
        assert_eq!(cost(vec![tokens(OPUS), tokens("unlisted")], told), taken);
        assert_eq!(cost(vec![tokens(OPUS), tokens("unlisted")], None), Some((Usd(4000), 1000)));
        assert_eq!(cost(Vec::new(), told), taken);
        assert_eq!(cost(Vec::new(), None), None);
    }

    /// What is reported, as a sum that goes along.
    fn reported(bill: &mut Bill, sum: &mut Usage, heard: &Heard) -> Option<Difference> {
        let mut reports = Vec::new();
        let difference = bill.hear(heard, &prices::Own::new(), &mut reports);
        reports.iter().for_each(|report| sum.report(report.usage, report.taken_back));
        difference
    }

    #[test]
    fn totals_take_the_place_of_what_was_estimated_since_the_last_ones() {
        let (mut bill, mut sum) = (Bill::default(), Usage::default());
        let of_main = Heard { used: vec![tokens(OPUS)], ..Heard::default() };
        let estimated = Tokens { input: 9000, turns: 0, delegated: true, estimated: true, ..tokens(OPUS) };
        let of_other = Heard { used: vec![estimated], ..Heard::default() };
        for round in 1..3 {
            reported(&mut bill, &mut sum, &of_main);
            reported(&mut bill, &mut sum, &of_other);
            let before = Usage { cost: Usd(12_000 * (round - 1)), ..Usage::default() };
            assert_eq!(sum.cost, before.cost + Usd(40_000), "counted from above");
            assert_eq!(sum.estimated, Usd(36_000));
            let totals = vec![tokens(OPUS), Tokens { input: 2000, delegated: true, ..tokens(OPUS) }];
            let settles = Heard { totals: Some(totals), cost: Some(Usd(12_000)), ..Heard::default() };
            assert_eq!(reported(&mut bill, &mut sum, &settles), None);
            let (cost, delegated) = (Usd(12_000 * round), Usd(8_000 * round));
            let turns = round as u32;
            let all = Usage { cost, delegated, tokens: 3000 * round, turns, ..Usage::default() };
            assert_eq!(sum, all);
        }
    }

    #[test]
    fn of_two_sums_the_larger_counts_and_the_difference_is_told() {
        let settle = |told: u64, own: &prices::Own| {
            let heard = Heard { totals: Some(vec![tokens(OPUS)]), cost: Some(Usd(told)), ..Heard::default() };
            let mut reports = Vec::new();
            let difference = Bill::default().hear(&heard, own, &mut reports);
            (reports[0].usage.cost, difference)
        };
        let list = prices::Own::new();
        assert_eq!(settle(4_010, &list), (Usd(4_010), None));
        let difference = |theirs| Some(Difference { ours: Usd(4_000), theirs: Usd(theirs) });
        assert_eq!(settle(5_000, &list), (Usd(5_000), difference(5_000)));
        assert_eq!(settle(3_000, &list), (Usd(4_000), difference(3_000)));
        let (input, output) = (Usd(1_000_000), Usd(5_000_000));
        let price = conductor_core::plan::Price { input, output, cache_read: None, cache_write: None };
        let own = prices::Own::from([(OPUS.to_owned(), price)]);
        assert_eq!(settle(5_000, &own), (Usd(1_000), None));
    }
}
