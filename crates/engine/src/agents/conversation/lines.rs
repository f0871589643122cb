//! Whole lines out of bytes that come in any pieces.

/// A line longer than this is passed over: no agent says anything worth that much at once.
pub(super) const LONGEST: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// The line under way is too long, and its rest is passed over too.
    passing: bool,
}

/// A line without its end; nothing for one that is too long.
pub(super) type Line = Option<Vec<u8>>;

impl Lines {
    /// What is said up to the end of the first line, if there is one; how many bytes that took.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, Option<Line>) {
        let end = memchr::memchr(b'\n', bytes);
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        if self.passing || self.begun.len() + piece.len() > LONGEST {
            self.passing = true;
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(piece);
        }
        match end {
            Some(end) => (end + 1, Some(self.whole())),
            None => (bytes.len(), None),
        }
    }

    /// The line that lacks its end.
    pub(super) fn rest(&mut self) -> Option<Line> {
        (self.passing || !self.begun.is_empty()).then(|| self.whole())
    }

    fn whole(&mut self) -> Line {
        let line = std::mem::take(&mut self.begun);
        (!std::mem::take(&mut self.passing)).then_some(line)
    }
}
