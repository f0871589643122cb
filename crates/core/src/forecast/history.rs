//! What former runs say of how long a task takes: the task itself, else others like it.

use std::collections::HashMap;

use crate::plan::{Learned, Plan, Task, Work};
use crate::run::event::Usage;
use crate::values::ids::TaskId;
use crate::values::units::Millis;

/// How a task went when it was last done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past {
    pub took: Millis,
    pub usage: Usage,
}

/// What a duration rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The task's own `estimate`.
    Given,
    /// This many former runs of the task.
    History(u32),
    /// This many former tasks like it.
    Similar(u32),
    /// Nothing is known.
    Default,
}

/// How long a task is supposed to take, and at least and at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    pub expected: Millis,
    pub low: Millis,
    pub high: Millis,
    pub basis: Basis,
}

/// Of what nothing is known takes from a third of the usual time to three times as long.
const SPREAD: u64 = 3;

/// Fewer tasks than this say nothing about others that are merely like them.
const ALIKE: usize = 3;

/// Prompts of up to so many words are small, and medium; longer ones are large.
const SMALL: usize = 40;
const MEDIUM: usize = 200;

/// What tasks have in common that take about as long. What is absent may be any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Likeness {
    /// The same command, under whatever name.
    Command(String),
    Prompt {
        agent: String,
        model: Option<String>,
        kind: Option<&'static str>,
        size: usize,
    },
}

impl Likeness {
    /// Of a task that is done by these, the closest first.
    pub(super) fn of(task: &Task, agent: &str, model: Option<&str>) -> Vec<Likeness> {
        let prompt = match &task.work {
            Work::Run(command) => return vec![Likeness::Command(command.to_string())],
            Work::Prompt(prompt) => prompt,
        };
        let (size, kind) = (size(prompt), task.kind());
        let like = |model: Option<&str>, kind| Likeness::Prompt {
            agent: agent.to_owned(),
            model: model.map(str::to_owned),
            kind,
            size,
        };
        let mut all = vec![like(model, kind), like(None, kind), like(None, None)];
        all.dedup();
        all
    }
}

fn size(prompt: &str) -> usize {
    let words = prompt.split_whitespace().count();
    usize::from(words > SMALL) + usize::from(words > MEDIUM)
}

/// How tasks went before.
#[derive(Debug, Clone, Default)]
pub struct History {
    tasks: HashMap<TaskId, Vec<Past>>,
    alike: HashMap<Likeness, Vec<Past>>,
}

impl History {
    pub fn new() -> History {
        History::default()
    }

    /// A former run of a task of the very file.
    pub fn add(&mut self, task: &TaskId, past: Past) {
        self.tasks.entry(task.clone()).or_default().push(past);
    }

    /// Any task that was done here, and who did it.
    pub fn add_like(&mut self, task: &Task, agent: &str, model: Option<&str>, past: Past) {
        for likeness in Likeness::of(task, agent, model) {
            self.alike.entry(likeness).or_default().push(past);
        }
    }

    pub fn of(&self, task: &TaskId) -> &[Past] {
        self.tasks.get(task).map(Vec::as_slice).unwrap_or_default()
    }

    /// Those like it most, where there are enough of them.
    fn like(&self, task: &Task) -> &[Past] {
        let model = task.model.as_deref();
        let known =
            Likeness::of(task, task.agent_name(), model).into_iter().filter_map(|it| self.alike.get(&it));
        known.map(Vec::as_slice).find(|past| past.len() >= ALIKE).unwrap_or_default()
    }
}

/// By its own word, else the median of former runs with their shortest and longest, else of tasks like it, else what is
/// usual.
pub fn estimate(task: &Task, history: &History) -> Estimate {
    if let Some(given) = task.estimate {
        return Estimate { expected: given, low: given, high: given, basis: Basis::Given };
    }
    // An entrant takes about as long as the task it races for took before.
    let race = || task.entrant_of().and_then(|race| by_median(history.of(race), Basis::History));
    let own = by_median(history.of(&task.id), Basis::History).or_else(race);
    own.or_else(|| by_median(history.like(task), Basis::Similar)).unwrap_or_else(|| {
        let usual = task.usual();
        let (low, high) = (Millis(usual.0 / SPREAD), Millis(usual.0 * SPREAD));
        Estimate { expected: usual, low, high, basis: Basis::Default }
    })
}

fn by_median(past: &[Past], basis: fn(u32) -> Basis) -> Option<Estimate> {
    let mut took: Vec<Millis> = past.iter().map(|past| past.took).collect();
    took.sort_unstable();
    let (&low, &high) = (took.first()?, took.last()?);
    Some(Estimate { expected: median(&took), low, high, basis: basis(took.len() as u32) })
}

/// Of what is sorted; between the two in the middle where there are two.
pub(super) fn median(sorted: &[Millis]) -> Millis {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => Millis((sorted[middle - 1].0 + sorted[middle].0) / 2),
    }
}

/// Notes for each task without an estimate of its own what former runs say, so that a run is ordered by it and can be
/// held against it.
pub fn teach(plan: &mut Plan, history: &History) {
    for task in &mut plan.tasks {
        let Estimate { expected, basis, .. } = estimate(task, history);
        let (samples, similar) = match basis {
            Basis::History(samples) => (samples, false),
            Basis::Similar(samples) => (samples, true),
            Basis::Given | Basis::Default => continue,
        };
        task.preparation.get_or_insert_default().learned_time = Some(Learned { expected, samples, similar });
    }
}

/// What a task was expected to take when its run began, and what that rested on; nothing where it is unknown.
pub fn foretold(task: &Task) -> Option<(Millis, Basis)> {
    match (task.estimate, task.learned_time()) {
        (Some(given), _) => Some((given, Basis::Given)),
        (None, Some(Learned { expected, samples, similar: false })) => {
            Some((expected, Basis::History(samples)))
        }
        (None, Some(Learned { expected, samples, similar: true })) => {
            Some((expected, Basis::Similar(samples)))
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Command;

    fn prompt(id: &str, words: &str) -> Task {
        Task::new(TaskId::parse(id).unwrap(), Work::Prompt(words.into()))
    }

    fn past(minutes: u64) -> Past {
        Past { took: Millis::from_secs(minutes * 60), usage: Usage::default() }
    }

    fn told(task: &Task, history: &History) -> (u64, u64, u64, Basis) {
        let Estimate { expected, low, high, basis } = estimate(task, history);
        let minutes = |length: Millis| length.0 / 60_000;
        (minutes(expected), minutes(low), minutes(high), basis)
    }

    #[test]
    fn an_estimate_rests_on_its_task_then_on_history_then_on_custom() {
        let mut history = History::new();
        let task = prompt("a", "words");
        let given = Task { estimate: Some(Millis::from_secs(300)), ..task.clone() };
        assert_eq!(told(&task, &history), (10, 3, 30, Basis::Default));
        for (minutes, expected) in [(9, 9), (1, 5), (4, 4), (2, 3)] {
            history.add(&task.id, past(minutes));
            assert_eq!(told(&task, &history).0, expected);
        }
        assert_eq!(told(&task, &history), (3, 1, 9, Basis::History(4)));
        assert_eq!(told(&given, &history), (5, 5, 5, Basis::Given));
    }

    #[test]
    fn tasks_like_it_speak_for_one_that_was_never_done_the_closest_first() {
        let mut history = History::new();
        let done = [
            ("Fix it", "opus", 1),
            ("Fix that", "opus", 2),
            ("Fix all", "haiku", 30),
            ("Add it", "opus", 90),
        ];
        for (words, model, minutes) in done {
            history.add_like(&prompt("x", words), "claude", Some(model), past(minutes));
        }
        let basis = |task: &Task, history: &History| told(task, history).3;
        let mut fix = prompt("new", "Fix the other");
        fix.model = Some("opus".into());
        assert_eq!(told(&fix, &history), (2, 1, 30, Basis::Similar(3)), "two of that model are too few");
        assert_eq!(told(&prompt("docs", "Explain it"), &history), (16, 1, 90, Basis::Similar(4)), "any kind");
        history.add_like(&prompt("x", "Fix more"), "claude", Some("opus"), past(3));
        assert_eq!(told(&fix, &history), (2, 1, 3, Basis::Similar(3)), "now there are enough of that model");
        assert_eq!(basis(&prompt("large", &"Fix it ".repeat(100)), &history), Basis::Default, "another size");
        let codex = Task { agent: Some("codex".into()), ..fix.clone() };
        assert_eq!(basis(&codex, &history), Basis::Default, "another agent");
    }

    #[test]
    fn a_command_is_like_the_same_command_only() {
        let mut history = History::new();
        let command = |id: &str, line: &str| {
            Task::new(TaskId::parse(id).unwrap(), Work::Run(Command::Line(line.into())))
        };
        for minutes in [1, 2, 3] {
            history.add_like(&command("old", "make all"), "shell", None, past(minutes));
        }
        assert_eq!(told(&command("new", "make all"), &history), (2, 1, 3, Basis::Similar(3)));
        assert_eq!(told(&command("new", "make"), &history).3, Basis::Default);
    }

    #[test]
    fn what_is_learned_is_expected_and_told() {
        let mut history = History::new();
        let mut given = prompt("given", "words");
        given.estimate = Some(Millis(7));
        history.add(&TaskId::parse("known").unwrap(), past(4));
        let tasks = vec![given, prompt("known", "words"), prompt("unknown", "words")];
        let mut plan = Plan { tasks, ..Plan::default() };
        teach(&mut plan, &history);
        let told: Vec<_> = plan.tasks.iter().map(|task| (task.expected(), foretold(task))).collect();
        let four = Millis::from_secs(240);
        assert_eq!(
            told,
            [
                (Millis(7), Some((Millis(7), Basis::Given))),
                (four, Some((four, Basis::History(1)))),
                (Millis::from_secs(600), None),
            ]
        );
    }
}
