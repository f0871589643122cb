//! The text beside the tasks: one of six tabs, and how far it is scrolled.

use crate::data::text::{Line, Text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Conversation,
    Log,
    Diff,
    Why,
    Attempts,
    Graph,
}

impl Tab {
    pub(crate) const ALL: [Tab; 6] =
        [Tab::Conversation, Tab::Log, Tab::Diff, Tab::Why, Tab::Attempts, Tab::Graph];

    pub(crate) fn name(self) -> &'static str {
        ["conversation", "log", "diff", "why", "attempts", "graph"][self.number()]
    }

    /// Where there is little room.
    pub(crate) fn brief(self) -> &'static str {
        ["conv", "log", "diff", "why", "att", "graph"][self.number()]
    }

    pub(crate) fn number(self) -> usize {
        Tab::ALL.iter().position(|tab| *tab == self).unwrap_or(0)
    }

    /// Whether it is read from files or from git, and not made of the run alone.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Tab::Conversation | Tab::Log | Tab::Diff)
    }

    /// Whether its end is what matters.
    fn ends_last(self) -> bool {
        matches!(self, Tab::Conversation | Tab::Log)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Pane {
    tab: Tab,
    text: Text,
    /// Broken for a width; made when it is drawn.
    broken: Vec<Line>,
    broken_for: Option<usize>,
    scroll: usize,
    height: usize,
    /// Whether it stays at its end while it grows.
    sticks: bool,
    search: String,
}

impl Default for Pane {
    fn default() -> Pane {
        Pane {
            tab: Tab::Conversation,
            text: Text::default(),
            broken: Vec::new(),
            broken_for: None,
            scroll: 0,
            height: 0,
            sticks: true,
            search: String::new(),
        }
    }
}

impl Pane {
    pub(crate) fn tab(&self) -> Tab {
        self.tab
    }

    pub(crate) fn text(&self) -> &Text {
        &self.text
    }

    pub(crate) fn search(&self) -> &str {
        &self.search
    }

    pub(crate) fn show(&mut self, tab: Tab) {
        self.tab = tab;
        self.begin();
    }

    /// Something else is shown from now on.
    pub(crate) fn begin(&mut self) {
        self.scroll = 0;
        self.sticks = self.tab.ends_last();
    }

    pub(crate) fn set(&mut self, text: Text) {
        if self.text != text {
            self.text = text;
            self.broken_for = None;
        }
    }

    /// Breaks the text for a window of this size, and keeps the scrolling within it.
    pub(crate) fn fit(&mut self, width: usize, height: usize) {
        if self.broken_for != Some(width) {
            self.broken = self.text.broken(width);
            self.broken_for = Some(width);
        }
        self.height = height;
        if self.sticks {
            self.scroll = self.end();
        }
        self.scroll = self.scroll.min(self.end());
    }

    fn end(&self) -> usize {
        self.broken.len().saturating_sub(self.height)
    }

    /// The lines in the window.
    pub(crate) fn shown(&self) -> &[Line] {
        let to = (self.scroll + self.height).min(self.broken.len());
        &self.broken[self.scroll.min(to)..to]
    }

    /// How far it is scrolled, of how many lines.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.scroll, self.broken.len())
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    pub(crate) fn scroll(&mut self, by: isize) {
        self.scroll = self.scroll.saturating_add_signed(by).min(self.end());
        self.sticks = self.tab.ends_last() && self.scroll == self.end();
    }

    /// To the next line with these words; whether there is one. No words: those from before.
    pub(crate) fn find(&mut self, words: &str) -> bool {
        if !words.is_empty() {
            self.search = words.to_lowercase();
        }
        if self.search.is_empty() {
            return false;
        }
        let has = |line: &Line| line.plain().to_lowercase().contains(&self.search);
        let below = (self.scroll + 1..self.broken.len()).find(|at| has(&self.broken[*at]));
        let Some(at) = below.or_else(|| self.broken.iter().position(has)) else { return false };
        self.scroll = at.min(self.end());
        self.sticks = false;
        true
    }

    pub(crate) fn forget_search(&mut self) {
        self.search.clear();
    }
}
