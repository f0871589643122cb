//! What is typed on a line of its own: the cost that a run may come to, and how urgent a task is.

use conductor_core::plan::Priority;
use conductor_core::run::event::Capped;
use conductor_core::schedule::Request;
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::Usd;

use super::acting::words;
use super::input::Input;
use super::{App, Effect, Mode};

impl App {
    /// What the line asks for, with what counts now.
    pub(crate) fn cap_prompt(&self) -> String {
        match self.cap_now() {
            Some(cap) => format!("the run may cost at most, instead of {cap}, or +more: $"),
            None => "the run may cost at most: $".to_owned(),
        }
    }

    fn cap_now(&self) -> Option<Usd> {
        self.watched.as_ref()?.course.now().options().limits.max_cost
    }

    /// Sets the cap that was typed. A line that is no amount stays, with the reason above it.
    pub(super) fn cap(&mut self, input: Input) -> Vec<Effect> {
        let typed = input.text();
        if typed.trim().is_empty() {
            return Vec::new();
        }
        let Some(cap) = amount(&typed, self.cap_now()) else {
            self.complain("type an amount of dollars above 0, such as 25 or 2.50, or +5 to add 5");
            self.mode = Mode::Cap(input);
            return Vec::new();
        };
        let Some(watched) = &self.watched else { return Vec::new() };
        let dollars = cap.dollars().to_string();
        let words = words(&["cap", watched.id().as_str(), "--max-cost", &dollars]);
        let request = Box::new(Request::SetCaps([(Capped::Cost, cap.0)].into()));
        vec![Effect::Ask { request, words, done: format!("the run may cost {cap} at most") }]
    }

    pub(crate) fn priority_prompt(&self, task: &TaskId) -> String {
        let run = self.watched.as_ref().map(|watched| watched.course.now());
        let now = run.and_then(|run| Some(run.priority(run.place(task)?).name()));
        format!("priority of {task}, instead of {}: ", now.unwrap_or("the file's"))
    }

    /// Sets the priority that was typed. As with the cap, a line that is none stays.
    pub(super) fn priority(&mut self, task: TaskId, input: Input) -> Vec<Effect> {
        let typed = input.text();
        if typed.trim().is_empty() {
            return Vec::new();
        }
        let Some(priority) = Priority::named(typed.trim()) else {
            self.complain(format!("a priority is one of {}, or 0 to 4", Priority::NAMES.join(", ")));
            self.mode = Mode::Priority { task, input };
            return Vec::new();
        };
        let Some(watched) = &self.watched else { return Vec::new() };
        let run = watched.id().as_str();
        let words = words(&["task", "priority", task.as_str(), priority.name(), "--run", run]);
        let done = format!("{task} has priority {}", priority.name());
        vec![Effect::Ask { request: Box::new(Request::SetPriority { task, priority }), words, done }]
    }
}

/// What was typed as money, above what counts now where it begins with a plus.
fn amount(typed: &str, now: Option<Usd>) -> Option<Usd> {
    let typed = typed.trim();
    let (adds, number) = match typed.strip_prefix('+') {
        Some(more) => (true, more),
        None => (false, typed),
    };
    let dollars: f64 = number.trim_start_matches('$').parse().ok()?;
    let amount = (dollars.is_finite() && dollars > 0.0).then(|| Usd::from_dollars(dollars))?;
    match adds {
        true => Some(Usd(now?.0.saturating_add(amount.0))),
        false => Some(amount),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_dollars_or_so_many_more() {
        let check = |typed: &str, cents: Option<u64>| {
            assert_eq!(
                amount(typed, Some(Usd(1_000_000))),
                cents.map(|cents| Usd(cents * 10_000)),
                "{typed}"
            );
        };
        check("25", Some(2500));
        check(" $2.50 ", Some(250));
        check("+5", Some(600));
        check("+$0.25", Some(125));
        check("0", None);
        check("-3", None);
        check("inf", None);
        check("much", None);
        assert_eq!(amount("+5", None), None, "there is nothing to add to");
    }
}
