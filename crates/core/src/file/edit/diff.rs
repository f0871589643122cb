//! From one list to another by the fewest steps, so that what stays is not written anew.

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Keep,
    Remove,
    /// The item at this place of the new list.
    Insert(usize),
}

/// More comparisons than this are not worth the comments in a list.
const MAX_COMPARISONS: usize = 250_000;

/// The text is read anew after each change of a list.
const MAX_CHANGES: usize = 50;

/// Nothing where the lists have nothing in common, or too little.
pub(super) fn steps(old: &[Value], new: &[Value]) -> Option<Vec<Step>> {
    if old.len().saturating_mul(new.len()) > MAX_COMPARISONS {
        return None;
    }
    // How many items the rests of both lists have in common, from each pair of places on.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match old[i] == new[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut steps) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        let same = i < old.len() && j < new.len() && old[i] == new[j];
        let removes = j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]);
        if same {
            steps.push(Step::Keep);
            (i, j) = (i + 1, j + 1);
        } else if removes {
            steps.push(Step::Remove);
            i += 1;
        } else {
            steps.push(Step::Insert(j));
            j += 1;
        }
    }
    let changes = steps.iter().filter(|step| **step != Step::Keep).count();
    (common[0][0] > 0 && changes <= MAX_CHANGES).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &str) -> Vec<Value> {
        words.split_whitespace().map(Value::from).collect()
    }

    #[test]
    fn what_both_have_is_kept() {
        use Step::{Insert, Keep, Remove};
        assert_eq!(steps(&list("a b c"), &list("a c d")), Some(vec![Keep, Remove, Keep, Insert(2)]));
        assert_eq!(steps(&list("a"), &list("b a")), Some(vec![Insert(0), Keep]));
        assert_eq!(steps(&list("a b"), &list("b")), Some(vec![Remove, Keep]));
        assert_eq!(steps(&list("a"), &list("b")), None);
    }
}
