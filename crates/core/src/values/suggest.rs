//! The word the user most likely meant.

/// Longer words are never typing slips of a key or an id.
const LONGEST: usize = 64;

/// The candidate nearest to `word`, if near enough to be a slip. Each comparison is paid for from `budget`.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
    budget: &mut usize,
) -> Option<&'c str> {
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        *budget = budget.checked_sub(1)?;
        let Some(distance) = distance(&word, candidate) else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// What the user most likely meant by a word that names none of these; for a caller that asks only once.
pub fn did_you_mean<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    nearest(word, candidates, &mut { usize::MAX })
}

fn distance(word: &str, candidate: &str) -> Option<usize> {
    let allowed = (word.chars().count() / 3).max(1);
    let begins = word.len() >= 4 && candidate.to_lowercase().starts_with(word);
    if begins {
        return Some(allowed);
    }
    if word.len().abs_diff(candidate.len()) > 2 * allowed {
        return None;
    }
    Some(strsim::osa_distance(word, &candidate.to_lowercase())).filter(|&distance| distance <= allowed)
}
