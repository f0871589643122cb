//! What comes back from the world.

use conductor_core::values::units::Millis;

use super::{App, Edit, Effect, Message, Mode, Screen};
use crate::data::live::Live;

impl App {
    /// Takes a message in; what is to be done about it.
    pub(crate) fn hear(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Said(Ok(words)) => self.say(words),
            Message::Said(Err(words)) => self.complain(words),
            Message::Shown { title, text } => self.mode = Mode::Output { title, text, scroll: 0 },
            Message::Started(run) => return vec![Effect::Open(run)],
            Message::LaidOut { edit } => return vec![Effect::Edit(edit)],
            Message::Edited(edit) => self.ask_to_land(edit),
            Message::Opened(watched) => {
                self.watched = Some(*watched);
                self.screen = Screen::Run;
                self.refresh();
            }
            Message::Board(mut board) => {
                let before = &self.board;
                (board.task, board.run, board.in_runs) = (before.task, before.run, before.in_runs);
                board.marked.clone_from(&before.marked);
                self.board = *board;
                self.board.move_by(0);
            }
            other => self.hear_of_run(other),
        }
        Vec::new()
    }

    /// Only of the run that is looked at: another may have been opened meanwhile.
    fn hear_of_run(&mut self, message: Message) {
        let glyphs = self.glyphs;
        let Some(watched) = &mut self.watched else { return };
        match message {
            Message::Records { run, records } if run == watched.stored.id => {
                if let Err(error) = watched.course.add(records) {
                    return self.complain(format!("the run cannot be read any further: {error}"));
                }
                watched.changed(glyphs);
            }
            Message::Live { run, view } if run == watched.stored.id => {
                let was_live = watched.live.is_live();
                watched.live = view.map(|view| Live::of(*view)).unwrap_or_default();
                watched.count();
                watched.refresh(glyphs);
                if was_live && !watched.live.is_live() {
                    let run = watched.stored.id.clone();
                    self.say(format!("run {run} is not active any more"));
                }
            }
            Message::Waits { run, task, waits } if run == watched.stored.id => {
                watched.waits = waits.map(|waits| (task, waits));
                watched.refresh(glyphs);
            }
            Message::Read { wanted, text } if wanted.run == watched.stored.id => {
                watched.read = Some((wanted, text));
                watched.refresh(glyphs);
            }
            _ => {}
        }
    }

    /// A second has passed.
    pub(crate) fn beat(&mut self, since_look: Millis) {
        if let Some(watched) = &mut self.watched {
            watched.live.ago = since_look;
            watched.count();
        }
    }

    fn ask_to_land(&mut self, edit: Edit) {
        let Some((task, words)) = edit.then else { return };
        let what = if edit.is_conflict { "the conflict is solved" } else { "the work is as you want it" };
        let question =
            format!("{what}: check {task} and land it? n leaves it laid out in {}", edit.folder.display());
        let effect = Effect::Program { words, purpose: super::Purpose::Show(format!("landing {task}")) };
        self.mode = Mode::Confirm { question, effect: Box::new(effect) };
    }
}
