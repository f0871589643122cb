//! How many words a text has.

/// Words are what white space keeps apart, however much of it there is.
pub fn count(text: &str) -> usize {
    text.split(' ').count()
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn words_are_counted() {
        assert_eq!(count("one two three"), 3);
    }

    #[test]
    fn white_space_is_no_word() {
        assert_eq!(count("  one\ttwo\n\nthree "), 3);
        assert_eq!(count(""), 0);
    }
}
