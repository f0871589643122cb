//! Text in lines of a given width.

/// As many words to a line as fit, with a space between them. A word that is too long has a line of its own.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrap("to be or not", 6), ["to be", "or not"]);
    }

    #[test]
    fn no_line_is_wider_than_asked_for() {
        assert_eq!(wrap("one two", 6), ["one", "two"]);
        assert_eq!(wrap("incredible as it is", 5), ["incredible", "as it", "is"]);
    }
}
