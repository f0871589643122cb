//! Keys that ask something of the run or do something with a task.

use conductor_core::run::event::{Answer, Answerer, ReviewVerdict};
use conductor_core::run::{Stage, TaskState};
use conductor_core::schedule::Request;
use conductor_core::values::ids::TaskId;

use super::input::Input;
use super::pane::Tab;
use super::{App, Effect, Mode, Purpose, Watched};
use crate::data::state::{self, State};
use crate::keys::Act;

/// Words of a command.
pub(super) fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

impl App {
    pub(super) fn act_on_task(&mut self, act: Act) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        if watched.course.is_past() && !matches!(act, Act::Copy | Act::CopyName | Act::Page) {
            self.complain("this is the past: Esc goes back to now");
            return Vec::new();
        }
        match act {
            Act::Pause => return self.pause(),
            Act::MoreSlots => return self.slots(1),
            Act::FewerSlots => return self.slots(-1),
            Act::PullRequest => return self.pull_request(),
            Act::Cap => {
                self.mode = Mode::Cap(Input::default());
                return Vec::new();
            }
            _ => {}
        }
        let Some((place, task)) = watched.selected() else {
            self.say("select a task first");
            return Vec::new();
        };
        let (place, task) = (place, task.clone());
        match act {
            Act::Approve => self.approve(place, &task),
            Act::Deny => self.deny(place, &task),
            Act::Send => {
                self.mode = Mode::Message { task, input: Input::default() };
                Vec::new()
            }
            Act::Priority => {
                self.mode = Mode::Priority { task, input: Input::default() };
                Vec::new()
            }
            Act::Retry => self.wish(&task, "retry", Request::Retry(task.clone()), "is done again"),
            Act::Skip => self.sure(place, &task, "skip"),
            Act::Cancel => self.sure(place, &task, "cancel"),
            Act::Page => vec![Effect::Page(self.paged(&task))],
            Act::Copy => self.copy(),
            Act::CopyName => vec![Effect::Copy(task.to_string())],
            Act::Editor => self.edit(place, &task),
            _ => Vec::new(),
        }
    }

    /// A request about a task, and the command that says the same.
    fn wish(&mut self, task: &TaskId, verb: &str, request: Request, done: &str) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        let words = words(&["task", verb, task.as_str(), "--run", watched.id().as_str()]);
        vec![Effect::Ask { request: Box::new(request), words, done: format!("{task} {done}") }]
    }

    /// Asked before: what is lost by it is the user's time at least.
    fn sure(&mut self, place: usize, task: &TaskId, verb: &str) -> Vec<Effect> {
        let (request, done) = match verb {
            "skip" => (Request::Skip(task.clone()), "is skipped"),
            _ => (Request::Cancel(task.clone()), "is cancelled"),
        };
        let Some(watched) = &self.watched else { return Vec::new() };
        let state = state::word(State::of(watched.run().progress(place)));
        let question = format!("{verb} {task}, which is {state}? what needs it is skipped");
        if let Some(effect) = self.wish(task, verb, request, done).pop() {
            self.mode = Mode::Confirm { question, effect: Box::new(effect) };
        }
        Vec::new()
    }

    fn approve(&mut self, place: usize, task: &TaskId) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        match watched.need(place) {
            Need::Answer => self.answer(task, true, None),
            Need::Review { commit } => {
                let verdict = ReviewVerdict::Approved { commit: commit.clone() };
                let words = words(&["review", "approve", task.as_str(), "--run", watched.id().as_str()]);
                let request = Box::new(Request::Review { task: task.clone(), verdict });
                vec![Effect::Ask { request, words, done: format!("{task} is approved as {commit:.10}") }]
            }
            Need::Nothing(state) => self.nothing_to(task, state, "approve"),
        }
    }

    fn deny(&mut self, place: usize, task: &TaskId) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        match watched.need(place) {
            Need::Answer => self.answer(task, false, None),
            Need::Review { .. } => {
                self.mode = Mode::Comment { task: task.clone(), input: Input::default() };
                Vec::new()
            }
            Need::Nothing(state) => self.nothing_to(task, state, "deny"),
        }
    }

    fn nothing_to(&mut self, task: &TaskId, state: State, verb: &str) -> Vec<Effect> {
        self.complain(format!("{task} is {}; there is nothing to {verb}", state::word(state)));
        Vec::new()
    }

    pub(super) fn answer(&mut self, task: &TaskId, allow: bool, message: Option<String>) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        let (verb, done) = if allow { ("approve", "allowed") } else { ("deny", "denied") };
        let mut words = words(&["task", verb, task.as_str(), "--run", watched.id().as_str()]);
        if let Some(message) = &message {
            words.extend(["--message".to_owned(), message.clone()]);
        }
        let answer = Answer { allow, words: message, by: Answerer::Person };
        let request = Box::new(Request::Answer { task: task.clone(), answer });
        vec![Effect::Ask { request, words, done: format!("{task}: {done}") }]
    }

    pub(super) fn send(&mut self, task: &TaskId, message: &str) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        let words = words(&["task", "send", task.as_str(), message, "--run", watched.id().as_str()]);
        let request = Box::new(Request::Tell { task: task.clone(), words: message.to_owned() });
        vec![Effect::Ask { request, words, done: format!("{task}: sent") }]
    }

    /// Comments name a file where they begin with one, which the command knows how to read.
    pub(super) fn send_back(&mut self, task: &TaskId, comment: &str) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        let run = watched.id().as_str();
        let words = words(&["review", "send-back", task.as_str(), "--run", run, "--message", comment]);
        vec![Effect::Program { words, purpose: Purpose::Say }]
    }

    fn pause(&mut self) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        let (run, stage) = (watched.id().clone(), watched.course.now().stage());
        let asked = |request, verb: &str, done: &str| {
            let words = words(&[verb, run.as_str()]);
            vec![Effect::Ask { request: Box::new(request), words, done: format!("run {run} {done}") }]
        };
        if watched.live.is_live() {
            return match watched.course.now().is_paused() {
                true => asked(Request::Continue, "resume", "goes on"),
                false => asked(Request::Pause, "pause", "is paused; what is at work goes on"),
            };
        }
        if matches!(stage, Stage::Finished(_)) {
            self.complain("the run is over; R on a task that failed opens it again");
            return Vec::new();
        }
        let question = format!("run {run} is not active; take it up again, in the background?");
        let words = words(&["run", "--resume", run.as_str(), "--detach", "--json"]);
        let effect = Box::new(Effect::Program { words, purpose: Purpose::Start });
        self.mode = Mode::Confirm { question, effect };
        Vec::new()
    }

    fn slots(&mut self, by: i32) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        if !watched.live.is_live() {
            self.complain("the run is not active: slots are set when it is taken up");
            return Vec::new();
        }
        self.set_slots(watched.slots_wanted().saturating_add_signed(by).max(1))
    }

    pub(super) fn set_slots(&mut self, slots: u32) -> Vec<Effect> {
        let Some(watched) = &mut self.watched else { return Vec::new() };
        watched.asked_slots = Some((watched.course.now().options().slots, slots));
        let words = words(&["parallel", &slots.to_string(), "--run", watched.id().as_str()]);
        let done = format!("{slots} at a time");
        vec![Effect::Ask { request: Box::new(Request::SetSlots(slots)), words, done }]
    }

    /// The whole of what the tab shows the end of.
    fn paged(&self, task: &TaskId) -> Vec<String> {
        let Some(watched) = &self.watched else { return Vec::new() };
        let run = watched.id().as_str();
        if watched.pane.tab() == Tab::Diff {
            return words(&["--color=always", "diff", task.as_str(), "--run", run]);
        }
        let mut all = words(&["logs", task.as_str(), "--run", run]);
        if let Some(attempt) = watched.attempt {
            all.extend(["--attempt".to_owned(), attempt.to_string()]);
        }
        all
    }

    fn copy(&mut self) -> Vec<Effect> {
        let text = self.watched.as_ref().map(|watched| watched.pane.text().plain());
        text.map(Effect::Copy).into_iter().collect()
    }

    /// A conflict to be solved, work to be edited before it lands, or the folder as it is.
    fn edit(&mut self, place: usize, task: &TaskId) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        let run = watched.id().as_str();
        let (words, purpose) = match State::of(watched.run().progress(place)) {
            State::Conflict => {
                let words = words(&["worktree", "resolve", task.as_str(), "--run", run, "--json"]);
                (words, Purpose::Resolve(task.clone()))
            }
            State::NeedsYou if matches!(watched.need(place), Need::Review { .. }) => {
                let words = words(&["review", "edit", task.as_str(), "--run", run, "--json"]);
                (words, Purpose::EditWork(task.clone()))
            }
            _ => (words(&["worktree", "path", task.as_str(), "--run", run, "--json"]), Purpose::Folder),
        };
        vec![Effect::Program { words, purpose }]
    }

    fn pull_request(&mut self) -> Vec<Effect> {
        let Some(watched) = &self.watched else { return Vec::new() };
        let Some(_) = watched.course.now().tip() else {
            self.complain("nothing has landed yet: there is nothing to open a pull request for");
            return Vec::new();
        };
        let branch = format!("conductor/{}", watched.id());
        let directory = watched.stored.directory.clone();
        let question = format!("push {branch} and open a pull request with gh?");
        let effect = Box::new(Effect::PullRequest { branch, directory });
        self.mode = Mode::Confirm { question, effect };
        Vec::new()
    }
}

/// What a task wants of the user.
enum Need {
    Answer,
    Review { commit: String },
    Nothing(State),
}

impl Watched {
    /// What was asked for last counts, as long as the run has not heard it: two keys typed fast are two steps.
    fn slots_wanted(&self) -> u32 {
        let known = self.course.now().options().slots;
        self.asked_slots.filter(|(then, _)| *then == known).map_or(known, |(_, asked)| asked)
    }

    fn need(&self, place: usize) -> Need {
        let run = self.course.now();
        let progress = run.progress(run.doer(place));
        match &progress.state {
            TaskState::Asking { .. } => Need::Answer,
            state @ TaskState::InReview { .. } => match state.landing() {
                Some(landing) => Need::Review { commit: landing.change.commit.clone() },
                None => Need::Nothing(State::of(progress)),
            },
            _ => Need::Nothing(State::of(progress)),
        }
    }
}
