//! A task's state as a glyph and a word; the same ones as on the page.

pub use conductor_core::graph_layout::State;

/// Which characters the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    Unicode,
    Ascii,
}

impl Glyphs {
    pub(crate) fn of(self, state: State) -> &'static str {
        let [unicode, ascii] = match state {
            State::Pending => ["○", "."],
            State::Waiting => ["◔", "o"],
            State::Running => ["●", "*"],
            State::NeedsYou => ["◆", "!"],
            State::Landed | State::Completed => ["✓", "+"],
            State::Failed => ["✗", "x"],
            State::Conflict => ["≠", "="],
            State::Skipped | State::Cancelled => ["⊘", "-"],
        };
        self.either(unicode, ascii)
    }

    /// Where something is missing.
    pub fn ellipsis(self) -> &'static str {
        self.either("…", "...")
    }

    pub fn either(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Glyphs::Unicode => unicode,
            Glyphs::Ascii => ascii,
        }
    }
}

pub(crate) fn word(state: State) -> &'static str {
    match state {
        State::NeedsYou => "needs you",
        state => state.name(),
    }
}
