//! Boxes to write in. What is in them is read back, for an editor may take text its own way or keep an old draft.

use super::{StepError, Walk, failed};

/// An editor shows lines its own way, so that blanks at their ends and between them do not count.
const READ: &str = "(box) => box.value === undefined ? box.innerText : box.value";

impl Walk<'_> {
    /// An old draft would be sent along with what is typed.
    pub(super) fn clear(&mut self, step: &'static str, control: &str) -> Result<(), StepError> {
        let (reference, view) = self.enabled(step, control)?;
        self.click(step, &reference, control)?;
        for key in ["ControlOrMeta+a", "Delete"] {
            self.page.press(key).map_err(failed(step))?;
        }
        let left = self.read(step, control)?;
        if words(&left).is_empty() {
            return Ok(());
        }
        let found = format!("an old draft of {} characters that cannot be cleared", left.chars().count());
        let (control, wanted) = (control.to_owned(), "nothing".to_owned());
        Err(StepError::Differs { control, found, wanted, view: Box::new(view) })
    }

    pub(super) fn type_in(
        &mut self,
        step: &'static str,
        control: &str,
        value: &str,
    ) -> Result<(), StepError> {
        let (reference, _) = self.enabled(step, control)?;
        let text = self.fill_in(value);
        self.page.fill(&reference, control, &text).map_err(failed(step))
    }

    pub(super) fn check(&mut self, step: &'static str, control: &str, value: &str) -> Result<(), StepError> {
        let (wanted, found) = (self.fill_in(value), self.read(step, control)?);
        if words(&wanted) == words(&found) {
            return Ok(());
        }
        let (_, view) = self.enabled(step, control)?;
        let length = |text: &str| format!("a text of {} characters", text.chars().count());
        let (found, wanted) = (length(&found), length(&wanted));
        Err(StepError::Differs { control: control.to_owned(), found, wanted, view: Box::new(view) })
    }

    fn read(&mut self, step: &'static str, control: &str) -> Result<String, StepError> {
        let (reference, _) = self.enabled(step, control)?;
        let text = self.page.evaluate_on(&reference, control, READ).map_err(failed(step))?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || c == '\u{200b}' || c == '\u{feff}')
        .filter(|word| !word.is_empty())
        .collect()
}
