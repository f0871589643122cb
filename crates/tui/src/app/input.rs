//! A line that is being typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Input {
    text: Vec<char>,
    cursor: usize,
}

impl Input {
    pub(crate) fn of(text: &str) -> Input {
        let text: Vec<char> = text.chars().collect();
        Input { cursor: text.len(), text }
    }

    pub(crate) fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// What is left of the cursor.
    pub(crate) fn before(&self) -> String {
        self.text[..self.cursor].iter().collect()
    }

    /// Text that was pasted, on one line.
    pub(crate) fn paste(&mut self, text: &str) {
        for c in text.trim_end().chars() {
            self.put(if c.is_control() { ' ' } else { c });
        }
    }

    fn put(&mut self, c: char) {
        self.text.insert(self.cursor, c);
        self.cursor += 1;
    }

    /// Edits the line as shells do; whether the key was one of those.
    pub(crate) fn edit(&mut self, key: &KeyEvent) -> bool {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('a') if ctrl => self.cursor = 0,
            KeyCode::Char('e') if ctrl => self.cursor = self.text.len(),
            KeyCode::Char('u') if ctrl => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            KeyCode::Char('k') if ctrl => self.text.truncate(self.cursor),
            KeyCode::Char('w') if ctrl => self.cut_word(),
            KeyCode::Char(c) if !ctrl => self.put(c),
            KeyCode::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            KeyCode::Delete if self.cursor < self.text.len() => {
                self.text.remove(self.cursor);
            }
            KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }

    fn cut_word(&mut self) {
        let is_space = |c: &char| c.is_whitespace();
        let trimmed = self.text[..self.cursor].iter().rposition(|c| !is_space(c)).map_or(0, |at| at + 1);
        let start = self.text[..trimmed].iter().rposition(is_space).map_or(0, |at| at + 1);
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let mut input = Input::of("send hello wrold");
        let mut press = |code, modifiers| input.edit(&KeyEvent::new(code, modifiers));
        assert!(press(KeyCode::Char('w'), KeyModifiers::CONTROL));
        for c in "world".chars() {
            press(KeyCode::Char(c), KeyModifiers::NONE);
        }
        press(KeyCode::Home, KeyModifiers::NONE);
        press(KeyCode::Delete, KeyModifiers::NONE);
        press(KeyCode::Char('S'), KeyModifiers::SHIFT);
        assert!(!press(KeyCode::F(5), KeyModifiers::NONE));
        assert_eq!((input.text().as_str(), input.before().as_str()), ("Send hello world", "S"));
        input.paste("a\nb\n");
        assert_eq!(input.before(), "Sa b");
    }
}
