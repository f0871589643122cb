//! Keys that look at something else.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::input::Input;
use super::pane::Tab;
use super::{App, Effect, Focus, Mode, Screen, Watched};
use crate::data::state::State;
use crate::data::tree::Node;
use crate::keys::Act;

/// So many lines by one turn of the wheel.
const WHEEL: isize = 3;
/// So many hundredths of a run are gone back by at once.
const JUMP: isize = 5;

impl App {
    /// What a key does on the screen that is shown.
    pub(super) fn act(&mut self, act: Act) -> Vec<Effect> {
        match act {
            Act::Leave => return vec![Effect::Leave],
            Act::Suspend => return vec![Effect::Suspend],
            Act::Help => self.mode = Mode::Help { input: Input::default(), scroll: 0 },
            Act::Command => self.mode = Mode::Command(Input::default()),
            Act::Theme => {
                self.theme = self.theme.next();
                self.say(format!("theme {}", self.theme.name()));
                return vec![Effect::Remember];
            }
            Act::Mouse => {
                self.mouse = !self.mouse;
                self.say(if self.mouse {
                    "the mouse is on"
                } else {
                    "the mouse is off: the terminal selects"
                });
                return vec![Effect::Remember];
            }
            act if self.screen == Screen::Board => return self.act_on_board(act),
            Act::Board => {
                self.screen = Screen::Board;
                return vec![Effect::Look];
            }
            act => return self.act_on_run(act),
        }
        Vec::new()
    }

    fn act_on_run(&mut self, act: Act) -> Vec<Effect> {
        let glyphs = self.glyphs;
        let Some(watched) = &mut self.watched else { return Vec::new() };
        let page = watched.pane.height().max(2) as isize - 1;
        match act {
            Act::Down => watched.go_by(1),
            Act::Up => watched.go_by(-1),
            Act::PageDown => watched.go_by(page),
            Act::PageUp => watched.go_by(-page),
            Act::First => watched.go_by(isize::MIN / 2),
            Act::Last => watched.go_by(isize::MAX / 2),
            Act::Enter => watched.enter(),
            Act::Back => watched.back(),
            Act::NextTab => watched.turn(1),
            Act::PreviousTab => watched.turn(Tab::ALL.len() - 1),
            Act::Tab(number) => watched.pane.show(Tab::ALL[number]),
            Act::Diff => watched.pane.show(Tab::Diff),
            Act::EarlierAttempt => watched.choose_attempt(-1),
            Act::LaterAttempt => watched.choose_attempt(1),
            Act::StepBack => watched.course.step(false),
            Act::StepForward => watched.course.step(true),
            Act::JumpBack => watched.course.jump(-JUMP),
            Act::JumpForward => watched.course.jump(JUMP),
            Act::Filter => self.begin_filter(),
            Act::Failed => self.jump("failed", &[State::Failed, State::Conflict], Some(Tab::Log)),
            Act::NeedsYou => self.jump("needs you", &[State::NeedsYou], Some(Tab::Conversation)),
            Act::Running => self.jump("is running", &[State::Running], None),
            act => return self.act_on_task(act),
        }
        if let Some(watched) = &mut self.watched {
            match matches!(
                act,
                Act::StepBack | Act::StepForward | Act::JumpBack | Act::JumpForward | Act::Back
            ) {
                true => watched.changed(glyphs),
                false => watched.refresh(glyphs),
            }
        }
        Vec::new()
    }

    fn begin_filter(&mut self) {
        let Some(watched) = &self.watched else { return };
        self.mode = match watched.focus {
            Focus::Tasks => Mode::Filter(Input::of(watched.tree.filter())),
            Focus::Text => Mode::Search(Input::default()),
        };
    }

    fn jump(&mut self, what: &str, states: &[State], tab: Option<Tab>) {
        let Some(watched) = &mut self.watched else { return };
        let run = watched.course.run();
        match watched.tree.next(run, |progress| states.contains(&State::of(progress))) {
            Some(place) => {
                watched.tree.show(watched.course.run(), place);
                watched.focus = Focus::Tasks;
                watched.attempt = None;
                watched.pane.show(tab.unwrap_or(watched.pane.tab()));
            }
            None => self.say(format!("no task {what}")),
        }
    }

    /// What is under the pointer.
    pub(crate) fn point(&mut self, event: MouseEvent) {
        let (glyphs, at) = (self.glyphs, ratatui_core::layout::Position { x: event.column, y: event.row });
        let areas = self.areas.clone();
        let Some(watched) = self.watched.as_mut().filter(|_| self.screen == Screen::Run) else { return };
        let by = match event.kind {
            MouseEventKind::ScrollDown => WHEEL,
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::Down(MouseButton::Left) => {
                if areas.tasks.contains(at) {
                    watched.focus = Focus::Tasks;
                    watched.select(watched.top + usize::from(event.row - areas.tasks.y));
                } else if areas.text.contains(at) {
                    watched.focus = Focus::Text;
                } else if let Some((_, tab)) = areas.tabs.iter().find(|(area, _)| area.contains(at)) {
                    watched.pane.show(*tab);
                } else if areas.slider.contains(at) && areas.slider.width > 1 {
                    let (_, all) = watched.course.place();
                    let part = usize::from(event.column - areas.slider.x);
                    watched.course.go(all * part / usize::from(areas.slider.width - 1));
                    watched.changed(glyphs);
                }
                return watched.refresh(glyphs);
            }
            _ => return,
        };
        match areas.text.contains(at) {
            true => watched.pane.scroll(by),
            false => watched.move_by(by),
        }
        watched.refresh(glyphs);
    }
}

impl Watched {
    fn go_by(&mut self, by: isize) {
        match self.focus {
            Focus::Tasks => self.move_by(by),
            Focus::Text => self.pane.scroll(by),
        }
    }

    fn move_by(&mut self, by: isize) {
        let before = self.tree.node();
        self.tree.move_by(by);
        self.moved(before);
    }

    fn select(&mut self, at: usize) {
        let before = self.tree.node();
        self.tree.select(at);
        self.moved(before);
    }

    fn moved(&mut self, before: Option<Node>) {
        if self.tree.node() != before {
            self.attempt = None;
            self.pane.begin();
        }
    }

    fn enter(&mut self) {
        match self.tree.node() {
            Some(Node::Heading(number)) => self.tree.toggle(number, self.course.run()),
            Some(Node::Task(_)) => self.focus = Focus::Text,
            None => {}
        }
    }

    /// One step back at a time: what was searched, the text, the past, the filter.
    fn back(&mut self) {
        if self.focus == Focus::Text {
            self.pane.forget_search();
            self.focus = Focus::Tasks;
        } else if self.course.is_past() {
            self.course.return_to_now();
        } else if !self.tree.filter().is_empty() {
            self.tree.set_filter("", self.course.run());
        }
    }

    fn turn(&mut self, by: usize) {
        self.pane.show(Tab::ALL[(self.pane.tab().number() + by) % Tab::ALL.len()]);
    }

    fn choose_attempt(&mut self, by: i64) {
        let Some(place) = self.tree.place() else { return };
        let newest = self.run().progress(self.run().doer(place)).last_attempt;
        let now = self.attempt.unwrap_or(newest);
        let next = u32::try_from((i64::from(now) + by).clamp(1, i64::from(newest.max(1)))).unwrap_or(newest);
        self.attempt = (next != newest).then_some(next);
        self.pane.begin();
    }
}
