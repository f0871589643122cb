//! Why a task is as it is: what it needs of the user and what happens otherwise, what it waits for, what was decided.

use conductor_core::report::needs::{self, Need};
use conductor_core::run::{Run, TaskState};
use conductor_core::schedule::Wait;

use super::figures::usage_words;
use super::state::{self, State};
use super::text::{Line, Text, Tone, clean};
use super::times;

/// What there is to say of a task. `waits`: as its coordinator told it; nothing where none did.
pub(crate) fn text(run: &Run, place: usize, is_live: bool, waits: Option<&[Wait]>) -> Text {
    let (task, progress) = run.task(place);
    let state = State::of(progress);
    let mut text = Text::default();
    let name = if task.name == task.id.as_str() { String::new() } else { clean(&task.name) };
    text.push(Line::of(Tone::State(state), state::word(state)).and(Tone::Plain, format!("  {name}")));
    if let Some(need) = needs::of(run, is_live).into_iter().find(|need| need.task.as_ref() == Some(&task.id))
    {
        text.gap();
        add_need(&mut text, &need, state);
    }
    add_waits(&mut text, run, place, is_live, waits);
    add_skipped(&mut text, &progress.state);
    add_decisions(&mut text, run, place);
    text.gap();
    if progress.usage.tokens > 0 {
        text.push(Line::of(Tone::Dim, "used  ").and(Tone::Plain, usage_words(progress.usage)));
    }
    if let Some(choice) = run.agent_choice(place) {
        let model = run.model(place).or(choice.model.as_deref()).map(|model| format!(" {model}"));
        let why = if choice.why.is_empty() { String::new() } else { format!("  ({})", choice.why) };
        let words = format!("{}{}{why}", choice.agent, model.unwrap_or_default());
        text.push(Line::of(Tone::Dim, "agent ").and(Tone::Plain, words).set_in(6));
    }
    add_work(&mut text, run, place);
    text
}

/// What a user has to know before answering.
pub(crate) fn add_need(text: &mut Text, need: &Need, state: State) {
    text.push(Line::of(Tone::State(state), clean(&need.words)));
    if !need.evidence.is_empty() {
        text.gap();
        text.0.extend(
            need.evidence.lines().map(|line| Line::of(Tone::Plain, format!("  {}", clean(line))).set_in(4)),
        );
    }
    if !need.why.is_empty() {
        text.push(Line::of(Tone::Dim, format!("asked by {}", clean(&need.why))));
    }
    text.gap();
    let due = need.due.map(|due| format!("at {} ", times::of_day(due))).unwrap_or_default();
    text.push(
        Line::of(Tone::Strong, "If you do nothing: ").and(Tone::Plain, format!("{due}{}", need.otherwise)),
    );
}

fn add_waits(text: &mut Text, run: &Run, place: usize, is_live: bool, waits: Option<&[Wait]>) {
    if run.progress(place).state.status().is_end() {
        return;
    }
    let waits: Vec<&Wait> = waits.unwrap_or_default().iter().filter(|wait| !is_need(wait)).collect();
    if !waits.is_empty() {
        text.gap();
    }
    for wait in &waits {
        text.push(Line::of(Tone::Dim, "waits ").and(Tone::Plain, clean(&wait.to_string())).set_in(6));
    }
    let is_at_work = matches!(run.progress(place).state, TaskState::Running(_) | TaskState::Racing);
    if !is_live {
        text.gap();
        let words =
            "The run is not active: nothing starts until it is resumed (key p, or conductor run --resume).";
        text.push(Line::of(Tone::Plain, words));
    }
    if waits.is_empty() && !is_at_work {
        add_dependencies(text, run, place);
    }
}

/// It is said above, with what happens otherwise.
fn is_need(wait: &Wait) -> bool {
    matches!(wait, Wait::Person { .. } | Wait::Review { .. })
}

/// As far as the log alone tells.
fn add_dependencies(text: &mut Text, run: &Run, place: usize) {
    let before = run.task(place).0.dependencies.iter();
    let open = before.filter_map(|on| {
        let progress = run.progress(run.place(&on.id)?);
        (!progress.state.status().is_end()).then(|| (on.id.clone(), State::of(progress)))
    });
    for (id, state) in open {
        let words = format!(" ({})", state::word(state));
        text.push(
            Line::of(Tone::Dim, "waits for ").and(Tone::Plain, id.to_string()).and(Tone::State(state), words),
        );
    }
}

fn add_skipped(text: &mut Text, state: &TaskState) {
    if let TaskState::Skipped { culprit } = state {
        text.gap();
        text.push(match culprit {
            Some(culprit) => {
                Line::of(Tone::Plain, format!("It was skipped because {culprit} did not come to a good end."))
            }
            None => Line::of(Tone::Plain, "It was skipped by the user."),
        });
    }
}

fn add_decisions(text: &mut Text, run: &Run, place: usize) {
    let id = &run.task(place).0.id;
    let mut of_task = run.decisions().iter().filter(|decided| decided.task == *id).peekable();
    if of_task.peek().is_some() {
        text.gap();
        text.push(Line::of(Tone::Dim, "decided after failures"));
    }
    for decided in of_task {
        let words = format!("  attempt {}  {}", decided.attempt.0, clean(&decided.words()));
        text.push(Line::of(Tone::Plain, words).set_in(4));
    }
}

fn add_work(text: &mut Text, run: &Run, place: usize) {
    let (task, progress) = run.task(place);
    if let Some(landed) = &progress.landed {
        let touched = &landed.touched;
        let words = format!(
            "{:.10}  {} files, +{} -{}",
            landed.commit,
            touched.count(),
            touched.added,
            touched.removed
        );
        text.push(Line::of(Tone::Dim, "landed as ").and(Tone::Plain, words));
    }
    if !task.verify.is_empty() {
        let checks = clean(&task.verify.join("; "));
        text.push(Line::of(Tone::Dim, "checks ").and(Tone::Plain, checks).set_in(7));
    }
}
