//! Keys while something is typed or asked.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::input::Input;
use super::{App, Effect, Mode};

impl App {
    pub(super) fn type_key(&mut self, key: &KeyEvent) -> Vec<Effect> {
        let ctrl_c = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
        if key.code == KeyCode::Esc || ctrl_c {
            self.leave_mode();
            return Vec::new();
        }
        let mode = std::mem::replace(&mut self.mode, Mode::Keys);
        match mode {
            Mode::Keys => Vec::new(),
            Mode::Confirm { question, effect } => match key.code {
                KeyCode::Char('y') | KeyCode::Enter => vec![*effect],
                KeyCode::Char('n' | 'q') => Vec::new(),
                _ => {
                    self.mode = Mode::Confirm { question, effect };
                    Vec::new()
                }
            },
            Mode::Help { input, scroll } => self.type_in_help(key, input, scroll),
            Mode::Output { title, text, scroll } => {
                let last = text.0.len().saturating_sub(1);
                if let Some(scroll) = scrolled(key, scroll, last, true) {
                    self.mode = Mode::Output { title, text, scroll };
                }
                Vec::new()
            }
            mode => self.type_words(key, mode),
        }
    }

    fn type_in_help(&mut self, key: &KeyEvent, mut input: Input, scroll: usize) -> Vec<Effect> {
        let searches = !input.text().is_empty();
        if let Some(scroll) = scrolled(key, scroll, crate::keys::KEYS.len(), false) {
            let is_move = !matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace);
            let scroll = if !is_move && input.edit(key) { 0 } else { scroll };
            self.mode = Mode::Help { input, scroll };
        } else if searches {
            self.mode = Mode::Help { input: Input::default(), scroll: 0 };
        }
        Vec::new()
    }

    fn type_words(&mut self, key: &KeyEvent, mode: Mode) -> Vec<Effect> {
        let is_enter = key.code == KeyCode::Enter;
        match mode {
            Mode::Filter(mut input) if !is_enter => {
                input.edit(key);
                self.filter(&input.text());
                self.mode = Mode::Filter(input);
            }
            Mode::Search(mut input) if !is_enter => {
                input.edit(key);
                self.mode = Mode::Search(input);
            }
            Mode::Search(input) => {
                let found = self.watched.as_mut().is_some_and(|watched| watched.pane.find(&input.text()));
                if !found {
                    self.complain("nothing found");
                }
            }
            Mode::Command(input) => return self.type_command(key, input),
            Mode::Message { task, mut input } if !is_enter => {
                input.edit(key);
                self.mode = Mode::Message { task, input };
            }
            Mode::Message { task, input } if !input.text().trim().is_empty() => {
                return self.send(&task, input.text().trim());
            }
            Mode::Comment { task, mut input } if !is_enter => {
                input.edit(key);
                self.mode = Mode::Comment { task, input };
            }
            Mode::Comment { task, input } if !input.text().trim().is_empty() => {
                return self.send_back(&task, input.text().trim());
            }
            Mode::Cap(mut input) if !is_enter => {
                input.edit(key);
                self.mode = Mode::Cap(input);
            }
            Mode::Cap(input) => return self.cap(input),
            Mode::Priority { task, mut input } if !is_enter => {
                input.edit(key);
                self.mode = Mode::Priority { task, input };
            }
            Mode::Priority { task, input } => return self.priority(task, input),
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn filter(&mut self, words: &str) {
        let glyphs = self.glyphs;
        if let Some(watched) = &mut self.watched {
            watched.tree.set_filter(words, watched.course.run());
            watched.attempt = None;
            watched.refresh(glyphs);
        }
    }

    /// A filter that is left goes with it.
    fn leave_mode(&mut self) {
        if let Mode::Filter(_) = self.mode {
            self.filter("");
        }
        self.mode = Mode::Keys;
    }

    /// Text that the terminal says was pasted.
    pub(crate) fn paste(&mut self, text: &str) {
        let filters = matches!(self.mode, Mode::Filter(_));
        let input = match &mut self.mode {
            Mode::Filter(input) | Mode::Search(input) | Mode::Command(input) | Mode::Cap(input) => input,
            Mode::Message { input, .. } | Mode::Comment { input, .. } | Mode::Help { input, .. } => input,
            Mode::Priority { input, .. } => input,
            Mode::Keys | Mode::Confirm { .. } | Mode::Output { .. } => return,
        };
        input.paste(text);
        let words = input.text();
        if filters {
            self.filter(&words);
        }
    }
}

/// Where a text is scrolled to by a key; nothing where the key leaves it.
fn scrolled(key: &KeyEvent, scroll: usize, last: usize, letters: bool) -> Option<usize> {
    let to = match key.code {
        KeyCode::Char('q') | KeyCode::Enter if letters => return None,
        KeyCode::Enter => return None,
        KeyCode::Down => scroll + 1,
        KeyCode::Up => scroll.saturating_sub(1),
        KeyCode::Char('j') if letters => scroll + 1,
        KeyCode::Char('k') if letters => scroll.saturating_sub(1),
        KeyCode::PageDown => scroll + 10,
        KeyCode::PageUp => scroll.saturating_sub(10),
        KeyCode::Home => 0,
        KeyCode::End => last,
        _ => scroll,
    };
    Some(to.min(last))
}
