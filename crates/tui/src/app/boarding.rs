//! Keys on the board.

use super::acting::words;
use super::{App, Effect, Mode, Purpose, Screen};
use crate::keys::Act;

/// So many lines at once.
const PAGE: isize = 10;

impl App {
    pub(super) fn act_on_board(&mut self, act: Act) -> Vec<Effect> {
        match act {
            Act::Down => self.board.move_by(1),
            Act::Up => self.board.move_by(-1),
            Act::PageDown => self.board.move_by(PAGE),
            Act::PageUp => self.board.move_by(-PAGE),
            Act::First => self.board.move_by(isize::MIN / 2),
            Act::Last => self.board.move_by(isize::MAX / 2),
            Act::NextTab | Act::PreviousTab => self.board.in_runs = !self.board.in_runs,
            Act::Mark if !self.board.in_runs => self.board.mark(),
            Act::Enter if self.board.in_runs => {
                let run = self.board.runs.get(self.board.run).map(|run| run.id.clone());
                return run.map(Effect::Open).into_iter().collect();
            }
            Act::Enter => self.ask_to_start(),
            Act::Back | Act::Board if self.watched.is_some() => self.screen = Screen::Run,
            Act::Filter => self.say("the board has no filter; a run has one"),
            _ => self.say("open a run first: Tab, then Enter"),
        }
        Vec::new()
    }

    /// All tasks of the file, or those that are marked.
    fn ask_to_start(&mut self) {
        let (Some(file), Some(plan)) = (&self.board.project.file, &self.board.project.plan) else {
            let problem = self.board.project.problem.clone();
            let first = problem.as_deref().and_then(|problem| problem.lines().next());
            return self.complain(first.unwrap_or("there is no task file to start").to_owned());
        };
        let name = file.display().to_string();
        let mut all = words(&["run", &name, "--detach", "--json"]);
        let marked: Vec<&str> = self.board.marked.iter().map(|task| task.as_str()).collect();
        let what = match marked.len() {
            0 => format!("all {} tasks", plan.tasks.len()),
            count => format!("{count} of {} tasks", plan.tasks.len()),
        };
        if !marked.is_empty() {
            all.extend(["--only".to_owned(), marked.join(",")]);
        }
        let question = format!("start a run of {name}: {what}, in the background?");
        let effect = Box::new(Effect::Program { words: all, purpose: Purpose::Start });
        self.mode = Mode::Confirm { question, effect };
    }
}
