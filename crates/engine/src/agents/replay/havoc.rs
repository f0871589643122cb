//! Recorded lines out of their order, cut short, with bytes changed and random bytes in between.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use super::{Line, recordings};
use crate::agents::Translator;
use crate::process::Exit;

/// What becomes of a recorded line on its way.
#[derive(Debug, Clone)]
enum Fate {
    Whole(Index),
    /// Only its beginning arrives.
    Short(Index, Index),
    /// One byte of it is another.
    Changed(Index, Index, u8),
    /// One of its figures is as large as can be.
    Huge(Index, Index),
    /// The end of it is that of another.
    Crossed(Index, Index, Index),
    Noise(Vec<u8>),
    /// Nothing arrives, and it is asked to stop.
    Interrupted,
}

fn fate() -> impl Strategy<Value = Fate> {
    let place = any::<Index>;
    prop_oneof![
        6 => place().prop_map(Fate::Whole),
        2 => (place(), place()).prop_map(|(line, at)| Fate::Short(line, at)),
        2 => (place(), place(), any::<u8>()).prop_map(|(line, at, byte)| Fate::Changed(line, at, byte)),
        2 => (place(), place()).prop_map(|(line, at)| Fate::Huge(line, at)),
        2 => (place(), place(), place()).prop_map(|(line, at, other)| Fate::Crossed(line, at, other)),
        1 => vec(any::<u8>(), 0..60).prop_map(Fate::Noise),
        1 => Just(Fate::Interrupted),
    ]
}

fn exit() -> impl Strategy<Value = Exit> {
    prop_oneof![(-1..256).prop_map(Exit::Code), (1..32).prop_map(Exit::Signal)]
}

impl Fate {
    fn befall(&self, lines: &[Vec<u8>]) -> Option<Vec<u8>> {
        let pick = |line: &Index| lines[line.index(lines.len())].clone();
        Some(match self {
            Fate::Whole(line) => pick(line),
            Fate::Short(line, at) => {
                let mut line = pick(line);
                line.truncate(at.index(line.len() + 1));
                line
            }
            Fate::Changed(line, at, byte) => {
                let mut line = pick(line);
                if let Some(place) = at.index(line.len() + 1).checked_sub(1) {
                    line[place] = *byte;
                }
                line
            }
            Fate::Huge(line, at) => huge(&pick(line), *at),
            Fate::Crossed(line, at, other) => {
                let (line, other) = (pick(line), pick(other));
                let (end, begin) = (at.index(line.len() + 1), at.index(other.len() + 1));
                [&line[..end], &other[begin..]].concat()
            }
            Fate::Noise(bytes) => bytes.clone(),
            Fate::Interrupted => return None,
        })
    }
}

fn huge(line: &[u8], at: Index) -> Vec<u8> {
    let starts: Vec<usize> =
        (1..line.len()).filter(|&n| b": ".contains(&line[n - 1]) && line[n].is_ascii_digit()).collect();
    let Some(&start) = starts.get(at.index(starts.len().max(1))) else { return line.to_vec() };
    let digits = line[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    [&line[..start], u64::MAX.to_string().as_bytes(), &line[start + digits..]].concat()
}

/// Whatever arrives, no translator panics, and its token counts can be added up without overflow.
pub(in super::super) fn withstands<T: Translator>(folder: &str, translator: impl Fn() -> T) {
    let lines: Vec<Vec<u8>> = recordings(folder)
        .into_iter()
        .flat_map(|recording| recording.lines)
        .filter_map(|line| match line {
            Line::Heard(line) => Some(line.into_bytes()),
            Line::Said(_) => None,
        })
        .collect();
    assert!(!lines.is_empty(), "{folder}");
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&(vec(fate(), 0..40), exit()), |(fates, exit)| {
        let mut translator = translator();
        translator.opening();
        for fate in &fates {
            match fate.befall(&lines) {
                Some(line) => {
                    let heard = translator.on_line(&line);
                    assert!(
                        heard.used.iter().all(|tokens| tokens.input.checked_add(tokens.output).is_some())
                    );
                }
                None => drop(translator.interrupt()),
            }
        }
        translator.finish(exit);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{folder}: {error}"));
}
