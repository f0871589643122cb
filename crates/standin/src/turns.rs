//! A script cut into turns: one for each answer that the conversation will keep.
//!
//! A CLI ends its work at the first answer without a tool call, so a text cannot be an answer of its own unless it is
//! the last: it goes out with the deed that follows it. Faults leave no trace in a conversation, hence they are no
//! turns either, but stand in the way of one.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::conversation::Said;
use crate::faults::{Fault, UsageLimit};
use crate::script::{Cut, Lie, Script, Step, Usage};

/// Said where a script has come to its end without a last word.
const OVER: &str = "The script is over.";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn {
    pub(crate) obstacles: Vec<Obstacle>,
    pub(crate) manner: Manner,
    pub(crate) text: Option<String>,
    /// None: the text is the last word.
    pub(crate) deed: Option<Deed>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Obstacle {
    Fault(Fault),
    UsageLimit(UsageLimit),
    Cut(Cut),
    Lie(Lie),
}

/// How an answer is given, whatever is in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Manner {
    pub(crate) before_ms: u64,
    pub(crate) between_ms: u64,
    pub(crate) usage: Usage,
    pub(crate) headers: BTreeMap<String, String>,
}

/// What an agent is told to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deed {
    WriteFile { path: String, content: String },
    Edit { path: String, old: String, new: String },
    Run { command: String },
    Mcp { server: Option<String>, tool: String, arguments: Value },
    Delegate { script: String },
    Tool { name: String, input: Value },
}

/// A script as the stand-in plays it.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    turns: Vec<Turn>,
    over: Turn,
    per_prompt: bool,
}

impl Turns {
    pub(crate) fn of(script: &Script) -> Turns {
        let mut turns = Vec::new();
        let mut open = Turn::blank(script.usage);
        for step in &script.steps {
            if open.take(step) {
                turns.push(std::mem::replace(&mut open, Turn::blank(script.usage)));
            }
        }
        if open != Turn::blank(script.usage) {
            open.text.get_or_insert_with(|| OVER.to_owned());
            turns.push(open);
        }
        Turns { over: over(&turns, script.usage), turns, per_prompt: script.per_prompt }
    }

    /// The turn at a place; past the end, the last word again.
    pub(crate) fn at(&self, place: usize) -> &Turn {
        self.turns.get(place).unwrap_or(&self.over)
    }

    /// How far a conversation has come, told by the answers it has kept.
    pub(crate) fn place(&self, answers: impl Iterator<Item = Said>) -> usize {
        let mut place = 0;
        for answer in answers {
            let turn = self.at(place);
            match turn.deed {
                _ if !turn.is_whole(&answer) => {}
                None if self.per_prompt => place = 0,
                _ => place += 1,
            }
        }
        place
    }

    pub(crate) fn has_deeds(&self) -> bool {
        self.turns.iter().any(|turn| turn.deed.is_some())
    }

    pub(crate) fn usage(&self) -> Usage {
        self.over.manner.usage
    }
}

fn over(turns: &[Turn], usage: Usage) -> Turn {
    let last_word = turns.iter().rev().find(|turn| turn.deed.is_none()).and_then(|turn| turn.text.clone());
    Turn { text: Some(last_word.unwrap_or_else(|| OVER.to_owned())), ..Turn::blank(usage) }
}

impl Turn {
    fn blank(usage: Usage) -> Turn {
        Turn { obstacles: Vec::new(), manner: Manner { usage, ..Manner::default() }, text: None, deed: None }
    }

    /// CLIs keep what they got of an answer that was cut, and ask again: that is not the turn yet.
    fn is_whole(&self, answer: &Said) -> bool {
        let words = self.text.as_deref().unwrap_or_default();
        match self.deed {
            Some(_) => answer.called,
            None => {
                answer.called || answer.text.trim() == words.trim() || !words.starts_with(answer.text.trim())
            }
        }
    }

    /// Takes a step in, and says whether it was the turn's last.
    fn take(&mut self, step: &Step) -> bool {
        match step {
            Step::Text(text) => self.say(text),
            Step::Slow(slow) if slow.between => self.manner.between_ms = slow.ms,
            Step::Slow(slow) => self.manner.before_ms = slow.ms,
            Step::Usage(usage) => self.manner.usage = *usage,
            Step::Headers(headers) => self.manner.headers.extend(headers.clone()),
            Step::Error(fault) => self.obstacles.push(Obstacle::Fault(fault.clone())),
            Step::UsageLimit(limit) => self.obstacles.push(Obstacle::UsageLimit(*limit)),
            Step::Cut(cut) => self.obstacles.push(Obstacle::Cut(*cut)),
            Step::Lie(lie) => self.obstacles.push(Obstacle::Lie(lie.clone())),
            Step::Final { text } => {
                self.say(text);
                return true;
            }
            deed => {
                self.deed = Deed::of(deed);
                return self.deed.is_some();
            }
        }
        false
    }

    fn say(&mut self, text: &str) {
        match &mut self.text {
            Some(said) => {
                said.push('\n');
                said.push_str(text);
            }
            none => *none = Some(text.to_owned()),
        }
    }
}

impl Deed {
    fn of(step: &Step) -> Option<Deed> {
        Some(match step.clone() {
            Step::WriteFile { path, content } => Deed::WriteFile { path, content },
            Step::Edit { path, old, new } => Deed::Edit { path, old, new },
            Step::Run { command } => Deed::Run { command },
            Step::Mcp { server, tool, arguments } => Deed::Mcp { server, tool, arguments },
            Step::Delegate { script } => Deed::Delegate { script },
            Step::Tool { name, input } => Deed::Tool { name, input },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Kind;

    #[test]
    fn a_text_goes_out_with_the_deed_after_it() {
        let turns = Turns::of(&Script::new().text("first").text("then").run("ls").finish("Done."));
        let turn = turns.at(0);
        assert_eq!(turn.text.as_deref(), Some("first\nthen"));
        assert_eq!(turn.deed, Some(Deed::Run { command: "ls".into() }));
        assert_eq!(turns.at(1).text.as_deref(), Some("Done."));
        assert_eq!(turns.at(1).deed, None);
    }

    #[test]
    fn faults_and_manners_belong_to_the_turn_they_stand_before() {
        let script = Script::new()
            .run("ls")
            .slow(3)
            .trickle(4)
            .error(Fault::of(Kind::Overloaded))
            .cut(2)
            .usage(Usage { output: 9, ..Usage::default() })
            .finish("Done.");
        let turns = Turns::of(&script);
        assert!(turns.at(0).obstacles.is_empty());
        assert_eq!(turns.at(1).obstacles.len(), 2);
        let manner = &turns.at(1).manner;
        assert_eq!((manner.before_ms, manner.between_ms, manner.usage.output), (3, 4, 9));
    }

    #[test]
    fn past_its_end_a_script_repeats_its_last_word() {
        let turns = Turns::of(&Script::new().finish("one").run("ls"));
        assert_eq!(turns.at(7).text.as_deref(), Some("one"));
        let turns = Turns::of(&Script::new().run("ls"));
        assert_eq!(turns.at(1).text.as_deref(), Some(OVER));
        assert!(turns.at(1).deed.is_none());
    }

    /// `!` for an answer that called something.
    #[track_caller]
    fn check_place(script: &Script, answers: &[&str], expected: usize) {
        let answers = answers
            .iter()
            .map(|words| Said { text: words.trim_end_matches('!').to_owned(), called: words.ends_with('!') });
        assert_eq!(Turns::of(script).place(answers), expected);
    }

    #[test]
    fn a_place_is_the_number_of_answers() {
        let script = Script::new().text("now").run("ls").run("pwd").finish("Done.").run("id").finish("More.");
        check_place(&script, &[], 0);
        check_place(&script, &["now!"], 1);
        check_place(&script, &["now!", "!"], 2);
        check_place(&script, &["now!", "!", "Done."], 3);
        check_place(&script, &["now!", "!", "Done.", "!", "More.", "More."], 6);
    }

    #[test]
    fn an_answer_that_was_cut_is_not_counted() {
        let script = Script::new().text("I will.").run("ls").finish("All done.").finish("More.");
        check_place(&script, &["I wi"], 0);
        check_place(&script, &["I will.", "I will.!"], 1);
        check_place(&script, &["I will.!", "All do"], 1);
        check_place(&script, &["I will.!", "All do", "All done."], 2);
        check_place(&script, &["I will.!", "something else"], 2);
    }

    #[test]
    fn a_new_prompt_begins_again_if_so_wanted() {
        let script = Script::new().run("ls").finish("Done.").per_prompt();
        check_place(&script, &["!"], 1);
        check_place(&script, &["!", "Done."], 0);
        check_place(&script, &["!", "Done.", "!"], 1);
    }

    #[test]
    fn a_script_of_nothing_but_a_fault_still_stands_in_the_way() {
        let turns = Turns::of(&Script::new().error(Fault::status(401)));
        assert_eq!(turns.at(0).obstacles.len(), 1);
        assert!(turns.at(1).obstacles.is_empty());
    }
}
