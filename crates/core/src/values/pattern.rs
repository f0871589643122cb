//! Patterns over a whole text, in which `*` stands for any run of characters, none included.
//!
//! Others mean something else by `*`: in file sets it ends at `/` and two patterns are held against each other, in
//! descriptions of failures the words around it are whole words anywhere in a line, and the names of variables and
//! models take it only at their end.

/// Whether a text is what the pattern says, from end to end.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut text) = text.strip_prefix(first) else { return false };
    // The first place of each part leaves most for what comes behind it.
    for part in middle.split('*') {
        match text.split_once(part) {
            Some((_, behind)) => text = behind,
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_is_any_run_of_characters() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "a"),
            ("a*", "a"),
            ("a*a", "aa"),
            ("**", "a"),
            ("a*b*c", "abbc"),
            ("*é*", "é"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("a", "ab"), ("a*a", "a"), ("a*b*b", "ab"), ("*ab*ab*", "aba"), ("*a", "ab")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_without_stars_is_itself_and_stars_take_anything(text in ".{0,12}", more in ".{0,12}") {
            let plain = text.replace('*', "");
            prop_assert!(matches(&plain, &plain));
            let star = format!("{plain}*");
            let whole = format!("{plain}{more}");
            prop_assert!(matches(&star, &whole));
            let star = format!("*{plain}");
            let whole = format!("{more}{plain}");
            prop_assert!(matches(&star, &whole));
        }
    }
}
