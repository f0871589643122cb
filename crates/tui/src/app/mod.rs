//! What the view knows and what a key changes in it. It neither draws nor does anything: what is to be done in the world is
//! handed out as effects, and what comes of it comes back as messages.

mod acting;
mod amounts;
mod boarding;
mod commands;
mod hearing;
pub(crate) mod input;
mod moving;
pub(crate) mod pane;
#[cfg(test)]
pub(crate) mod tests;
mod typing;
mod watched;

use std::path::PathBuf;

use conductor_core::run::event::Record;
use conductor_core::schedule::{Request, Wait};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::Timestamp;
use conductor_engine::dispatch::LiveView;
use crossterm::event::KeyEvent;
use ratatui_core::layout::Rect;

use crate::KnownCommand;
use crate::data::board::Board;
use crate::data::state::{Glyphs, State};
use crate::data::text::Text;
use crate::keys;
use crate::theme::Theme;
use input::Input;
use pane::Tab;
pub(crate) use watched::Watched;

/// What the keys are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    Tasks,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    Board,
    Run,
}

/// What is typed, and for what.
#[derive(Debug, Clone)]
pub(crate) enum Mode {
    Keys,
    Filter(Input),
    Search(Input),
    Command(Input),
    /// A message to a task's agent.
    Message {
        task: TaskId,
        input: Input,
    },
    /// What is to be changed in the work of a task.
    Comment {
        task: TaskId,
        input: Input,
    },
    /// What the run may cost.
    Cap(Input),
    /// How urgent a task is to be.
    Priority {
        task: TaskId,
        input: Input,
    },
    /// Yes or no.
    Confirm {
        question: String,
        effect: Box<Effect>,
    },
    Help {
        input: Input,
        scroll: usize,
    },
    /// What a command printed.
    Output {
        title: String,
        text: Text,
        scroll: usize,
    },
}

/// What is to be done in the world.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Asked of the coordinator; where none drives the run, the command in these words says the same.
    Ask {
        request: Box<Request>,
        words: Vec<String>,
        done: String,
    },
    /// Conductor's own program, with these words.
    Program {
        words: Vec<String>,
        purpose: Purpose,
    },
    /// What Conductor's own program prints, in the user's pager.
    Page(Vec<String>),
    Edit(Edit),
    PullRequest {
        branch: String,
        directory: PathBuf,
    },
    Copy(String),
    Open(RunId),
    /// The board is read anew.
    Look,
    /// Theme and mouse are as the user wants them from now on.
    Remember,
    Suspend,
    Leave,
}

/// Files in the user's editor or merge tool, and what comes after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) folder: PathBuf,
    /// All of the folder where there are none.
    pub(crate) files: Vec<String>,
    pub(crate) is_conflict: bool,
    /// The task, and the command that lands what was made of it.
    pub(crate) then: Option<(TaskId, Vec<String>)>,
}

/// What the output of a program is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its last line is shown.
    Say,
    /// All of it is shown, under this title.
    Show(String),
    /// A run was started.
    Start,
    /// The conflict of a task is laid out.
    Resolve(TaskId),
    /// The work of a task is laid out for its reviewer.
    EditWork(TaskId),
    /// The folder of a task.
    Folder,
}

/// What is to be read for the tab that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) run: RunId,
    pub(crate) place: usize,
    pub(crate) task: TaskId,
    pub(crate) tab: Tab,
    /// The newest where there is none.
    pub(crate) attempt: Option<u32>,
    /// The newest event of the task's state: what was read before it is old.
    pub(crate) version: (u32, State),
}

/// What has come of an effect, or happened in the world.
#[derive(Debug)]
pub(crate) enum Message {
    Records {
        run: RunId,
        records: Vec<Record>,
    },
    Live {
        run: RunId,
        view: Option<Box<LiveView>>,
    },
    Waits {
        run: RunId,
        task: TaskId,
        waits: Option<Vec<Wait>>,
    },
    Read {
        wanted: Wanted,
        text: Text,
    },
    /// In a word what became of it, or why it could not be done.
    Said(Result<String, String>),
    Shown {
        title: String,
        text: Text,
    },
    Started(RunId),
    LaidOut {
        edit: Edit,
    },
    Edited(Edit),
    Opened(Box<Watched>),
    Board(Box<Board>),
}

/// Where things were drawn last, for the mouse.
#[derive(Debug, Clone, Default)]
pub(crate) struct Areas {
    pub(crate) tasks: Rect,
    pub(crate) text: Rect,
    pub(crate) tabs: Vec<(Rect, Tab)>,
    pub(crate) slider: Rect,
}

pub(crate) struct App {
    pub(crate) screen: Screen,
    pub(crate) watched: Option<Watched>,
    pub(crate) board: Board,
    pub(crate) mode: Mode,
    pub(crate) theme: Theme,
    pub(crate) glyphs: Glyphs,
    pub(crate) mouse: bool,
    /// What was said last, and whether it is bad news.
    pub(crate) said: Option<(String, bool)>,
    pub(crate) areas: Areas,
    pub(crate) now: Timestamp,
    /// Commands of the program.
    pub(crate) commands: Vec<KnownCommand>,
    /// Commands that were typed, the newest last.
    typed: Vec<String>,
    recalled: usize,
}

impl App {
    pub(crate) fn new(theme: Theme, glyphs: Glyphs, mouse: bool, commands: Vec<KnownCommand>) -> App {
        App {
            screen: Screen::Board,
            watched: None,
            board: Board::default(),
            mode: Mode::Keys,
            theme,
            glyphs,
            mouse,
            said: None,
            areas: Areas::default(),
            now: Timestamp(0),
            commands,
            typed: Vec::new(),
            recalled: 0,
        }
    }

    /// What a key changes here, and what it wants done.
    pub(crate) fn key(&mut self, key: &KeyEvent) -> Vec<Effect> {
        self.said = None;
        if !matches!(self.mode, Mode::Keys) {
            return self.type_key(key);
        }
        match keys::act(key) {
            Some(act) => self.act(act),
            None => Vec::new(),
        }
    }

    pub(crate) fn say(&mut self, words: impl Into<String>) {
        self.said = Some((words.into(), false));
    }

    pub(crate) fn complain(&mut self, words: impl Into<String>) {
        self.said = Some((words.into(), true));
    }

    /// As `refresh`, of the run that is looked at.
    pub(crate) fn refresh(&mut self) {
        let glyphs = self.glyphs;
        if let Some(watched) = &mut self.watched {
            watched.refresh(glyphs);
        }
    }

    pub(crate) fn wanted(&self) -> Option<Wanted> {
        match (self.screen, &self.watched) {
            (Screen::Run, Some(watched)) => watched.wanted(),
            _ => None,
        }
    }

    /// The task of which the coordinator is to be asked why it waits.
    pub(crate) fn asked_why(&self) -> Option<(RunId, TaskId)> {
        let watched =
            self.watched.as_ref().filter(|watched| self.screen == Screen::Run && watched.is_live())?;
        let (place, task) = watched.selected()?;
        let is_open = !watched.run().progress(place).state.status().is_end();
        (watched.pane.tab() == Tab::Why && is_open).then(|| (watched.id().clone(), task.clone()))
    }
}
