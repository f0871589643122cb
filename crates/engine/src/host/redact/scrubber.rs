//! Takes secrets out of a file while another process writes to it.
//!
//! The writer only appends, so secrets can be overwritten in place: lengths and places stay. The search sees
//! the text as it was written, even where a part of it was blotted out before the rest came.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::{Redactor, SPREAD, blot, shapes};

/// How much is looked at in one go.
const BITE: usize = 256 << 10;

/// How much of what was looked at is looked at again together with what follows, at least.
const OVERLAP: usize = 4 << 10;

/// What follows a secret this closely may belong to it, or show it in another light: half an escape, an erasure.
const CLOSE: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Scrubber {
    /// Everything before this has been looked at.
    place: u64,
    /// What comes before that, as it was written.
    before: Vec<u8>,
    /// Writes where it is told to, not at the end.
    pen: Option<File>,
}

impl Scrubber {
    pub(crate) fn place(&self) -> u64 {
        self.place
    }

    /// Leaves out everything up to a place: it is gone, or will be.
    pub(crate) fn skip_to(&mut self, place: u64) {
        if place > self.place {
            self.place = place;
            self.before.clear();
        }
    }

    /// Blots out what is secret between the last place and this one.
    pub(crate) fn scrub(
        &mut self,
        redactor: &Redactor,
        file: &File,
        path: &Path,
        until: u64,
    ) -> io::Result<()> {
        while self.place < until {
            let most = usize::try_from(until - self.place).map_or(BITE, |rest| rest.min(BITE));
            let known = self.before.len();
            self.before.resize(known + most, 0);
            let read = file.read_at(&mut self.before[known..], self.place);
            self.before.truncate(known + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Ok(());
            }
            self.look(redactor, path, known)?;
        }
        Ok(())
    }

    /// Looks at what was read, of which so much is known from before.
    fn look(&mut self, redactor: &Redactor, path: &Path, known: usize) -> io::Result<()> {
        let (first, length) = (self.place - known as u64, self.before.len());
        let secrets = redactor.secrets(&self.before);
        // What ends before that was seen for what it is, with what follows it, the last time.
        for secret in secrets.iter().filter(|secret| secret.end + CLOSE >= known) {
            let mut bytes = self.before[secret.clone()].to_vec();
            blot(&mut bytes);
            self.pen(path)?.write_all_at(&bytes, first + secret.start as u64)?;
        }
        self.place += (length - known) as u64;
        // One that ends here may go on.
        let open = secrets.last().filter(|secret| secret.end + CLOSE >= length);
        let announced = open.map_or(length, |secret| secret.start).saturating_sub(CLOSE);
        let longest = SPREAD * redactor.longest();
        let overlap = length.saturating_sub(OVERLAP.max(longest));
        let keep = overlap.min(announced).max(length.saturating_sub(longest.max(2 * shapes::LONGEST)));
        self.before.drain(..keep);
        self.before.shrink_to(2 * OVERLAP);
        Ok(())
    }

    fn pen(&mut self, path: &Path) -> io::Result<&File> {
        let pen = match self.pen.take() {
            Some(pen) => pen,
            None => File::options().write(true).open(path)?,
        };
        Ok(self.pen.insert(pen))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    const VALUE: &str = "canary-one-two-three";

    /// What is in a file after it was written and looked at piece by piece.
    fn scrubbed(redactor: &Redactor, pieces: &[&[u8]]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut file = File::options().create(true).append(true).read(true).open(&path).unwrap();
        let mut scrubber = Scrubber::default();
        let mut length = 0;
        for piece in pieces {
            file.write_all(piece).unwrap();
            length += piece.len() as u64;
            scrubber.scrub(redactor, &file, &path, length).unwrap();
            assert_eq!(scrubber.place(), length);
        }
        std::fs::read_to_string(&path).unwrap()
    }

    fn redactor() -> Redactor {
        Redactor::new([VALUE.into(), format!("{VALUE}-and-more").into()])
    }

    /// Texts with every kind of secret in them.
    fn texts() -> Vec<String> {
        let key = format!("sk-ant-api03-{}", "aB3dE6gH9".repeat(4));
        let encoded = super::super::spellings::base64(VALUE.as_bytes(), super::super::spellings::STANDARD);
        vec![
            format!("first {VALUE} last"),
            format!("first {VALUE}-and-more last"),
            format!("{VALUE}{VALUE}"),
            format!("first {encoded} last"),
            format!("first {key} last"),
            "Authorization: Bearer abc.def-123 last".to_owned(),
            "db postgres://me:hunter22@db/x".to_owned(),
            format!(
                "a\n-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\nz",
                "MIIE+/=0\n".repeat(20)
            ),
        ]
    }

    #[test]
    fn wherever_it_is_cut_the_same_is_left() {
        let redactor = redactor();
        for text in texts() {
            let whole = redactor.text(&text).into_owned();
            assert_ne!(whole, text);
            for cut in 0..=text.len() {
                let (head, tail) = text.as_bytes().split_at(cut);
                assert_eq!(scrubbed(&redactor, &[head, tail]), whole, "{text} cut at {cut}");
            }
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(scrubbed(&redactor, &bytes), whole, "byte by byte");
        }
    }

    #[test]
    fn what_is_there_is_gone_at_once() {
        let redactor = redactor();
        assert_eq!(
            scrubbed(&redactor, &[format!("say {VALUE}").as_bytes()]),
            format!("say {}", "*".repeat(20))
        );
    }

    #[test]
    fn nothing_is_lost_between_bites() {
        let redactor = redactor();
        for shift in 0..24 {
            let text = format!("{}{VALUE}-and-more {}", "x".repeat(BITE - 12 + shift), "y".repeat(100));
            let shown = scrubbed(&redactor, &[text.as_bytes()]);
            assert!(shown == redactor.text(&text), "{shift}");
            assert!(!shown.contains("canary") && !shown.contains("more"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_mixture_in_any_pieces_leaves_no_value(
            parts in prop::collection::vec((0..8_usize, "[ -~\n]{0,40}"), 1..12),
            cuts in prop::collection::vec(0..4000_usize, 0..12),
        ) {
            let redactor = redactor();
            let texts = texts();
            let text: String = parts.iter().map(|(which, words)| format!("{words}{}\n", texts[*which])).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]).collect();
            let shown = scrubbed(&redactor, &pieces);
            prop_assert_eq!(shown.len(), text.len());
            prop_assert!(!shown.contains(VALUE) && !shown.contains("hunter22") && !shown.contains("aB3dE6"), "{}", shown);
        }
    }
}
