//! A run that is looked at: its tasks, and the text of the one that is selected.

use conductor_core::plan::graph::Graph;
use conductor_core::run::event::Record;
use conductor_core::run::{IllegalEvent, Run};
use conductor_core::schedule::Wait;
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::Tick;
use conductor_engine::stores::StoredRun;

use super::pane::{Pane, Tab};
use super::{Focus, Wanted};
use crate::data::course::Course;
use crate::data::figures::Figures;
use crate::data::live::Live;
use crate::data::state::{Glyphs, State};
use crate::data::text::{Text, Tone};
use crate::data::tree::Tree;
use crate::data::{attempts, neighbours, why};

/// A run that is looked at.
pub(crate) struct Watched {
    pub(crate) stored: StoredRun,
    pub(crate) course: Course,
    pub(crate) tree: Tree,
    pub(crate) live: Live,
    pub(crate) figures: Figures,
    pub(crate) pane: Pane,
    pub(crate) focus: Focus,
    /// The attempt that is shown, where it is not the newest.
    pub(crate) attempt: Option<u32>,
    /// What was read for the tab, before anything is added to it.
    pub(super) read: Option<(Wanted, Text)>,
    pub(super) waits: Option<(TaskId, Vec<Wait>)>,
    graph: Option<Graph>,
    /// How many slots there were when others were asked for, and how many that were.
    pub(super) asked_slots: Option<(u32, u32)>,
    /// The first task that is drawn.
    pub(crate) top: usize,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").field("run", &self.stored.id).finish_non_exhaustive()
    }
}

impl Watched {
    pub(crate) fn new(stored: StoredRun, records: Vec<Record>) -> Result<Watched, IllegalEvent> {
        let course = Course::new(records)?;
        let live = Live::default();
        let figures = Figures::of(course.now(), None, &live, Tick(0));
        let mut watched = Watched {
            stored,
            course,
            tree: Tree::default(),
            live,
            figures,
            pane: Pane::default(),
            focus: Focus::Tasks,
            attempt: None,
            read: None,
            waits: None,
            graph: None,
            asked_slots: None,
            top: 0,
        };
        watched.changed(Glyphs::Unicode);
        watched.select_first();
        Ok(watched)
    }

    /// What needs the user first, else the first that is at work, else the first of all.
    fn select_first(&mut self) {
        let run = self.course.run();
        let first = |state: State| self.tree.next(run, |progress| State::of(progress) == state);
        let wanted = [State::NeedsYou, State::Failed, State::Conflict, State::Running];
        let place = wanted.into_iter().find_map(first).or_else(|| self.tree.next(run, |_| true));
        if let Some(place) = place {
            self.tree.show(self.course.run(), place);
        }
    }

    pub(crate) fn run(&self) -> &Run {
        self.course.run()
    }

    pub(crate) fn id(&self) -> &RunId {
        &self.stored.id
    }

    /// A moment in the past is as little live as a run that is over.
    pub(crate) fn is_live(&self) -> bool {
        self.live.is_live() && !self.course.is_past()
    }

    /// The task that is selected, and of those who race for it the one that counts.
    pub(crate) fn selected(&self) -> Option<(usize, &TaskId)> {
        let place = self.tree.place()?;
        Some((place, &self.run().task(place).0.id))
    }

    /// The run is another: everything that is made of it is made anew.
    pub(crate) fn changed(&mut self, glyphs: Glyphs) {
        let tasks = self.course.now().plan().tasks.len();
        if self.graph.as_ref().is_none_or(|graph| graph.len() != tasks) {
            let run = self.course.now();
            self.graph = Graph::new(run.plan(), run.options().strategy).ok();
        }
        self.tree.rebuild(self.course.run());
        self.count();
        self.refresh(glyphs);
    }

    pub(crate) fn count(&mut self) {
        let nothing = Live::default();
        let live = if self.course.is_past() { &nothing } else { &self.live };
        let tick = Tick(self.course.tick().0.saturating_add(live.ago.0));
        self.figures = Figures::of(self.course.run(), self.graph.as_ref(), live, tick);
    }

    /// What is to be read for the tab; nothing where it is made of the run.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        let tab = self.pane.tab();
        let place = self.run().doer(self.tree.place()?);
        let (task, progress) = self.run().task(place);
        let version = (progress.last_attempt, State::of(progress));
        let (run, task) = (self.id().clone(), task.id.clone());
        tab.is_read().then_some(Wanted { run, place, task, tab, attempt: self.attempt, version })
    }

    /// Makes the text of the tab.
    pub(crate) fn refresh(&mut self, glyphs: Glyphs) {
        let Some(place) = self.tree.place() else {
            return self.pane.set(Text::one(Tone::Dim, "Enter folds and unfolds a group."));
        };
        let run = self.course.run();
        let text = match self.pane.tab() {
            Tab::Why => {
                let id = &run.task(place).0.id;
                let told =
                    self.waits.as_ref().filter(|(task, _)| task == id).map(|(_, waits)| waits.as_slice());
                let waits = told.or_else(|| self.live.waits(id)).filter(|_| !self.course.is_past());
                why::text(run, place, self.is_live(), waits)
            }
            Tab::Attempts => attempts::text(run, place, self.attempt),
            Tab::Graph => neighbours::text(run, place, glyphs),
            Tab::Conversation | Tab::Log | Tab::Diff => self.with_end(place),
        };
        self.pane.set(text);
    }

    /// What was read, and below it what needs the user, or why it failed.
    fn with_end(&self, place: usize) -> Text {
        let wanted = self.wanted();
        let fits = |read: &Wanted, wanted: &Wanted| {
            (&read.run, &read.task, read.tab, read.attempt)
                == (&wanted.run, &wanted.task, wanted.tab, wanted.attempt)
        };
        let read =
            self.read.as_ref().filter(|(read, _)| wanted.as_ref().is_some_and(|wanted| fits(read, wanted)));
        let mut text = match read {
            Some((_, text)) => text.clone(),
            None if self.run().progress(place).last_attempt == 0 => Text::one(Tone::Dim, "It has not begun."),
            None => Text::one(Tone::Dim, "reading"),
        };
        if self.pane.tab() != Tab::Diff && self.attempt.is_none() {
            self.add_need(&mut text, place);
        }
        text
    }

    fn add_need(&self, text: &mut Text, place: usize) {
        let run = self.course.run();
        let state = State::of(run.progress(place));
        if !matches!(state, State::NeedsYou | State::Failed | State::Conflict) {
            return;
        }
        let id = &run.task(place).0.id;
        let needs = conductor_core::report::needs::of(run, self.is_live());
        if let Some(need) = needs.into_iter().find(|need| need.task.as_ref() == Some(id)) {
            text.gap();
            why::add_need(text, &need, state);
        }
    }
}
