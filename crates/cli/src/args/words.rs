//! What was typed, word by word, before clap reads it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::ValueEnum as _;

use super::Color;

/// How many tasks run at once where `--parallel` has no number.
pub(crate) const PARALLEL_ALONE: &str = "3";

/// Options whose number may be left out. A word after them that is no number is the next argument.
const NUMBER_OPTIONAL: [&str; 3] = ["-p", "--parallel", "--max-concurrency"];

/// Global options that take the next word.
const TAKES_A_WORD: [&str; 5] = ["-C", "--color", "--log-level", "--log-format", "--trust"];

/// The words with every number that was left out filled in, so that `run --parallel tasks.yaml` names a file.
pub(super) fn with_numbers(words: Vec<OsString>) -> Vec<OsString> {
    let mut out = Vec::with_capacity(words.len());
    let mut words = words.into_iter().peekable();
    while let Some(mut word) = words.next() {
        if word == "--" {
            out.push(word);
            break;
        }
        let alone = words.peek().is_some_and(|next| !is_option(next) && !is_number(next));
        if alone && NUMBER_OPTIONAL.iter().any(|option| word == *option) {
            word.push("=");
            word.push(PARALLEL_ALONE);
        }
        out.push(word);
    }
    out.extend(words);
    out
}

fn is_option(word: &OsStr) -> bool {
    word.len() > 1 && word.as_encoded_bytes().starts_with(b"-")
}

/// Whether a number was meant, be it one that can be used or not: `0`, `-1` and `1.5` are to be refused as numbers.
fn is_number(word: &OsStr) -> bool {
    let Some(word) = word.to_str() else { return false };
    word.contains(|c: char| c.is_ascii_digit()) && word.parse::<f64>().is_ok()
}

/// Takes every `-C DIR` before the command's name out of the words. Clap would forget these where one follows the name.
pub(super) fn take_directories(words: &mut Vec<OsString>) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "-C" && at + 1 < words.len() {
            words.remove(at);
            directories.push(PathBuf::from(words.remove(at)));
        } else if is_option(word) {
            at += width(word);
        } else {
            break;
        }
    }
    directories
}

/// Where the command's name stands among the words after the program's.
pub(crate) fn place_of_command(words: &[OsString]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| is_option(word)) {
        at += width(word);
    }
    at
}

fn width(option: &OsStr) -> usize {
    if TAKES_A_WORD.iter().any(|known| option == *known) { 2 } else { 1 }
}

/// What was typed of colours, for what is said of words that clap does not take.
pub(crate) fn color(words: &[OsString]) -> Option<Color> {
    let words: Vec<&str> =
        words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str()).collect();
    let said = words.iter().enumerate().rev().find_map(|(at, word)| match word.strip_prefix("--color") {
        Some("") => words.get(at + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None => None,
    });
    Color::from_str(said?, false).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_number_that_was_left_out_is_filled_in() {
        for (typed, meant) in [
            ("c run --parallel tasks.yaml", "c run --parallel=3 tasks.yaml"),
            ("c run -p tasks.yaml", "c run -p=3 tasks.yaml"),
            ("c run --max-concurrency 2024-tasks.yaml", "c run --max-concurrency=3 2024-tasks.yaml"),
            ("c run --parallel 4 tasks.yaml", "c run --parallel 4 tasks.yaml"),
            ("c run -p 0 tasks.yaml", "c run -p 0 tasks.yaml"),
            ("c run -p -1 tasks.yaml", "c run -p -1 tasks.yaml"),
            ("c run -p 1.5 tasks.yaml", "c run -p 1.5 tasks.yaml"),
            ("c run tasks.yaml --parallel", "c run tasks.yaml --parallel"),
            ("c run --parallel --dry-run tasks.yaml", "c run --parallel --dry-run tasks.yaml"),
            ("c run --parallel -", "c run --parallel=3 -"),
            ("c group execute -- --parallel x", "c group execute -- --parallel x"),
        ] {
            assert_eq!(with_numbers(words(typed)), words(meant), "{typed}");
        }
    }

    #[test]
    fn directories_before_the_command_are_taken_out_and_those_after_it_stay() {
        let mut typed = words("c -q -C a --color never -C b run -C c -C");
        assert_eq!(take_directories(&mut typed), [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(typed, words("c -q --color never run -C c -C"));
        assert_eq!(place_of_command(&words("-q -C run --color never run --detach")), 5);
        assert_eq!(place_of_command(&words("run")), 0);
    }

    #[test]
    fn colours_are_known_before_the_rest_is() {
        assert_eq!(color(&words("c rnu --color never")), Some(Color::Never));
        assert_eq!(color(&words("c --color=always rnu")), Some(Color::Always));
        assert_eq!(color(&words("c --color")), None);
        assert_eq!(color(&words("c run -- --color never")), None);
    }
}
