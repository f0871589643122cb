//! Graphs of tasks that do nothing, and how each program writes them down.

use std::fmt::Write as _;

/// What every task of every program runs.
pub(super) const NOTHING: &str = "/bin/true";

/// Dependencies of a task in the graphs that have any.
const DEPENDENCIES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Independent(usize),
    /// Each task depends on three of the layer before.
    Layered {
        layers: usize,
        width: usize,
    },
    Chain(usize),
    /// Each task depends on three that stand anywhere before it.
    Random(usize),
}

impl Shape {
    pub(super) fn tasks(self) -> usize {
        match self {
            Shape::Independent(tasks) | Shape::Chain(tasks) | Shape::Random(tasks) => tasks,
            Shape::Layered { layers, width } => layers * width,
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Shape::Independent(tasks) => format!("{} independent", thousands(tasks)),
            Shape::Layered { layers, width } => format!("{layers} layers of {width}"),
            Shape::Chain(tasks) => format!("chain of {}", thousands(tasks)),
            Shape::Random(tasks) => format!("{} tasks, {DEPENDENCIES} dependencies each", thousands(tasks)),
        }
    }

    /// For each task, those it depends on; always tasks before it.
    pub(super) fn dependencies(self) -> Vec<Vec<usize>> {
        let mut draw = Draw::new();
        (0..self.tasks())
            .map(|task| match self {
                Shape::Independent(_) => Vec::new(),
                Shape::Layered { width, .. } => layer_before(task, width),
                Shape::Chain(_) => task.checked_sub(1).into_iter().collect(),
                Shape::Random(_) => draw.distinct(task),
            })
            .collect()
    }

    pub(super) fn task_file(self) -> String {
        let mut text = String::from("tasks:\n");
        for (task, before) in self.dependencies().iter().enumerate() {
            let names = joined(before, ", ");
            let _ = writeln!(text, "  - {{id: t{task}, run: {NOTHING}, dependencies: [{names}]}}");
        }
        text
    }

    pub(super) fn makefile(self) -> String {
        let all = joined(&(0..self.tasks()).collect::<Vec<_>>(), " ");
        let mut text = format!(".PHONY: all {all}\nall: {all}\n");
        for (task, before) in self.dependencies().iter().enumerate() {
            let _ = writeln!(text, "t{task}: {}\n\t@{NOTHING}", joined(before, " "));
        }
        text
    }

    /// The outputs never come to be, so everything is always to be done.
    pub(super) fn ninja_file(self) -> String {
        let mut text = format!("rule nothing\n  command = {NOTHING}\n");
        for (task, before) in self.dependencies().iter().enumerate() {
            let _ = writeln!(text, "build t{task}: nothing {}", joined(before, " "));
        }
        text
    }

    /// One argument a line.
    pub(super) fn lines(self) -> String {
        (0..self.tasks()).map(|task| format!("{task}\n")).collect()
    }
}

/// Three tasks spread over the layer before, others for each task and layer.
fn layer_before(task: usize, width: usize) -> Vec<usize> {
    let (layer, place) = (task / width, task % width);
    let Some(before) = layer.checked_sub(1) else { return Vec::new() };
    (0..DEPENDENCIES)
        .map(|turn| before * width + (place + layer + turn * width / DEPENDENCIES) % width)
        .collect()
}

fn joined(tasks: &[usize], separator: &str) -> String {
    tasks.iter().map(|task| format!("t{task}")).collect::<Vec<_>>().join(separator)
}

pub(super) fn thousands(number: usize) -> String {
    match (number / 1_000, number % 1_000) {
        (0, rest) => rest.to_string(),
        (above, rest) => format!("{above},{rest:03}"),
    }
}

/// Numbers that look drawn and are the same every time (Knuth's MMIX generator).
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new() -> Draw {
        Draw(42)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// Up to three different numbers below the bound.
    pub(super) fn distinct(&mut self, bound: usize) -> Vec<usize> {
        let mut drawn = Vec::new();
        while drawn.len() < DEPENDENCIES.min(bound) {
            let number = self.below(bound);
            if !drawn.contains(&number) {
                drawn.push(number);
            }
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layered_task_has_three_different_dependencies_in_the_layer_before() {
        let dependencies = Shape::Layered { layers: 4, width: 100 }.dependencies();
        assert!(dependencies[..100].iter().all(Vec::is_empty));
        for (task, before) in dependencies.iter().enumerate().skip(100) {
            let layer = task / 100 - 1;
            assert!(before.iter().all(|&other| other / 100 == layer), "{task}: {before:?}");
            assert!(before[0] != before[1] && before[1] != before[2] && before[2] != before[0]);
        }
    }

    #[test]
    fn random_dependencies_stand_before_and_are_the_same_every_time() {
        let shape = Shape::Random(500);
        let dependencies = shape.dependencies();
        assert!(dependencies.iter().enumerate().all(|(task, before)| before.iter().all(|&b| b < task)));
        assert_eq!(dependencies.iter().map(Vec::len).sum::<usize>(), 497 * 3 + 3);
        assert_eq!(dependencies, shape.dependencies());
    }

    #[test]
    fn each_program_gets_the_same_graph() {
        let shape = Shape::Chain(2);
        assert_eq!(
            shape.task_file(),
            "tasks:\n  - {id: t0, run: /bin/true, dependencies: []}\n  - {id: t1, run: /bin/true, dependencies: [t0]}\n"
        );
        assert_eq!(
            shape.makefile(),
            ".PHONY: all t0 t1\nall: t0 t1\nt0: \n\t@/bin/true\nt1: t0\n\t@/bin/true\n"
        );
        assert_eq!(
            shape.ninja_file(),
            "rule nothing\n  command = /bin/true\nbuild t0: nothing \nbuild t1: nothing t0\n"
        );
    }
}
