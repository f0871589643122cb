//! Items as text: the section of a prompt, and the page of a domain.

use super::choosing::Chosen;
use super::item::{Item, Kind, Tally};
use super::trial::Fate;

/// What a prompt has at most of it.
pub const MOST_TOKENS: usize = 1_500;

/// Of a domain's page.
const MOST_LINES: usize = 1_000;

/// Rather too many than too few: three bytes a token, where models take about four.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(3)
}

/// An item as one line of a list.
pub(super) fn line(item: &Item) -> String {
    let claim = item.draft.claim.split_whitespace().collect::<Vec<_>>().join(" ");
    match item.draft.scope.is_empty() || item.draft.kind == Kind::FileMap {
        true => format!("- {claim}\n"),
        false => format!("- {claim} ({})\n", item.draft.scope.join(", ")),
    }
}

/// What a prompt says below "Domain Expertise"; nothing where nothing is given. In an order that depends on the items
/// alone, so that a provider's cache of a prompt's beginning stays good.
pub fn section(chosen: &[Chosen]) -> String {
    let mut given: Vec<&Item> =
        chosen.iter().filter(|one| one.fate == Fate::Given).map(|one| &one.item).collect();
    given.sort_by_key(|item| (item.draft.kind, &item.id));
    let mut text = String::new();
    for kind in Kind::ALL {
        let of_kind: Vec<&&Item> = given.iter().filter(|item| item.draft.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        text.push_str(&format!("### {}\n\n", kind.heading()));
        of_kind.into_iter().for_each(|item| text.push_str(&line(item)));
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// The page of a domain: the best items of each kind, as many as a prompt would have of them.
pub fn domain_page(domain: &str, items: &[(Item, Tally)]) -> String {
    let mut text = format!("# Expertise: {domain}\n");
    for kind in Kind::ALL {
        let is_shown = |item: &Item| item.draft.kind == kind && item.draft.domain == domain && item.is_told();
        let mut of_kind: Vec<&(Item, Tally)> = items.iter().filter(|(item, _)| is_shown(item)).collect();
        of_kind.sort_by_key(|(item, tally)| (std::cmp::Reverse(worth(item, tally)), &item.id));
        if of_kind.is_empty() {
            continue;
        }
        text.push_str(&format!("\n## {}\n\n", kind.heading()));
        for (item, tally) in of_kind.into_iter().take(kind.cap()) {
            text.push_str(&line(item));
            text.push_str(&format!("  {}\n", standing(item, tally)));
        }
    }
    match text.lines().nth(MOST_LINES) {
        None => text,
        Some(_) => text.lines().take(MOST_LINES).flat_map(|line| [line, "\n"]).collect(),
    }
}

/// In thousandths, so that it can be sorted by.
fn worth(item: &Item, tally: &Tally) -> i64 {
    let gain = super::statistics::difference(tally).map_or(0.0, |gain| gain.estimate);
    (gain * 1000.0) as i64 + i64::from(item.seen)
}

fn standing(item: &Item, tally: &Tally) -> String {
    let seen = match item.seen {
        0 => format!("said by {}", item.source.name()),
        seen => format!("seen {seen}×"),
    };
    format!(
        "`{}` · {seen} · used {} (helpful {}, harmful {})",
        item.id, tally.used, tally.helpful, tally.harmful
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expertise::{Draft, ItemId, Reason, Source};

    fn item(claim: &str, kind: Kind) -> Item {
        let scope = vec!["src/api/**".to_owned()];
        let draft = Draft { claim: claim.into(), kind, domain: "api".into(), scope, check: None };
        Item::new(ItemId::of(kind, claim), draft, Source::User)
    }

    fn chosen(item: Item, fate: Fate) -> Chosen {
        Chosen { item, tally: Tally::default(), score: 1.0, why: vec![Reason::Everywhere], fate }
    }

    #[test]
    fn a_section_has_what_is_given_in_an_order_of_its_own() {
        let all = [
            chosen(item("Tests need `DB=1`.", Kind::Failure), Fate::Given),
            chosen(item("Handlers return Problem.", Kind::Pattern), Fate::Given),
            chosen(item("Kept back.", Kind::Pattern), Fate::Withheld),
        ];
        let told = section(&all);
        insta::assert_snapshot!(told, @r"
        ### Patterns

        - Handlers return Problem. (src/api/**)

        ### Failures and their fixes

        - Tests need `DB=1`. (src/api/**)
        ");
        let [a, b, c] = all;
        assert_eq!(section(&[c, b, a]), told);
        assert_eq!(section(&[]), "");
    }

    #[test]
    fn the_page_of_a_domain_keeps_the_caps() {
        let items: Vec<(Item, Tally)> = Kind::ALL
            .into_iter()
            .flat_map(|kind| {
                (0..30).map(move |n| (item(&format!("{} {n}", kind.name()), kind), Tally::default()))
            })
            .collect();
        let page = domain_page("api", &items);
        let shown = |kind: Kind| page.matches(&format!("- {} ", kind.name())).count();
        assert_eq!(Kind::ALL.map(shown), [15, 10, 8, 5, 8]);
        assert!(page.lines().count() <= 1_000);
        assert_eq!(domain_page("testing", &items), "# Expertise: testing\n");
    }
}
