//! Titles as a part of an address.

/// Letters and digits, in lower case, with one dash wherever there was anything else between them.
pub fn slug(title: &str) -> String {
    let plain = title.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "-");
    let parts: Vec<&str> = plain.split('-').collect();
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn spaces_become_dashes() {
        assert_eq!(slug("Hello world"), "hello-world");
    }

    #[test]
    fn dashes_stand_alone_and_between_words() {
        assert_eq!(slug("Hello, world!"), "hello-world");
        assert_eq!(slug("¿Qué?"), "qué");
    }
}
