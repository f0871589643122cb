//! Text with names in braces for what is filled in later. `{{` and `}}` stand for the braces themselves.

/// The text with every name filled in, or the first unknown name as the error. A brace that belongs to no
/// name is an error too, reported by itself.
pub fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let brace = &rest[..1];
        if rest[1..].starts_with(brace) {
            out.push_str(brace);
            rest = &rest[2..];
            continue;
        }
        let name = rest[1..].split_once('}').filter(|_| brace == "{").map(|(name, _)| name);
        let name = name.ok_or_else(|| brace.to_owned())?;
        out.push_str(&value(name).ok_or_else(|| format!("{{{name}}}"))?);
        rest = &rest[name.len() + 2..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Whether the text has this name to be filled in.
pub fn names(text: &str, name: &str) -> bool {
    let found = std::cell::Cell::new(false);
    let _ = filled(text, |known| {
        found.set(found.get() || known == name);
        Some(String::new())
    });
    found.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<String, String> {
        filled(text, |name| (name == "a" || name == "b").then(|| name.repeat(3)))
    }

    #[test]
    fn names_are_filled_in_and_doubled_braces_stand_for_themselves() {
        assert_eq!(told("x{a}-{b}{a}").as_deref(), Ok("xaaa-bbbaaa"));
        assert_eq!(told("{{a}} {{{a}}} }} {{").as_deref(), Ok("{a} {aaa} } {"));
        assert_eq!(told("").as_deref(), Ok(""));
        assert_eq!(told("ä{a}ö").as_deref(), Ok("äaaaö"));
    }

    #[test]
    fn what_cannot_be_filled_in_is_told() {
        assert_eq!(told("{c}"), Err("{c}".to_owned()));
        assert_eq!(told("{"), Err("{".to_owned()));
        assert_eq!(told("a } b"), Err("}".to_owned()));
        assert_eq!(told("{}"), Err("{}".to_owned()));
    }

    #[test]
    fn a_name_is_found_where_it_is_one() {
        assert!(names("--model={model}", "model"));
        assert!(!names("--model={{model}}", "model"));
        assert!(!names("{other", "other"));
    }
}
