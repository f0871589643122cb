//! The pure core alone: a whole run against supposed durations, without a process, a file or a clock; and the picture of a
//! graph.

use std::process::Command;
use std::time::Instant;

use conductor_core::forecast::rehearse::rehearse;
use conductor_core::graph_layout::{Fold, Folding, Layout, Outline, State, TaskGraph, Wanted};
use conductor_core::plan::graph::{Graph, Strategy};
use conductor_core::plan::{self, Dependency, Plan, Task, Work};
use conductor_core::run::event::Options;
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::Millis;

use super::CORE;
use super::graph::{Draw, NOTHING, Shape, thousands};
use crate::Result;

const SLOTS: u32 = 64;
const TURNS: usize = 3;

/// Fewer than there are slots, so that it is the limit that holds tasks back.
const AT_ONCE: u32 = 8;

/// What the tasks have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Dependencies,
    AgentLimit,
    Files,
    /// No run: every task of the graph is given its place in the picture.
    Picture,
}

impl Load {
    const ALL: [Load; 4] = [Load::Dependencies, Load::AgentLimit, Load::Files, Load::Picture];

    fn word(self) -> &'static str {
        match self {
            Load::Dependencies => "dependencies",
            Load::AgentLimit => "agent-limit",
            Load::Files => "files",
            Load::Picture => "picture",
        }
    }

    fn describe(self, tasks: usize) -> String {
        match self {
            Load::Dependencies => Shape::Random(tasks).name(),
            Load::AgentLimit => format!("{} tasks, one agent, {AT_ONCE} at once", thousands(tasks)),
            Load::Files => format!("{} tasks, a file of its own each", thousands(tasks)),
            Load::Picture => format!("the layout of {}", Shape::Random(tasks).name()),
        }
    }
}

pub(super) struct Figure {
    pub(super) load: Load,
    pub(super) tasks: usize,
    pub(super) seconds: f64,
    /// Peak resident memory, the plan itself included, in KiB.
    pub(super) peak: u64,
}

impl Figure {
    pub(super) fn name(&self) -> String {
        self.load.describe(self.tasks)
    }

    pub(super) fn micros_per_task(&self) -> f64 {
        self.seconds * 1e6 / self.tasks as f64
    }
}

pub(super) fn measure(many: usize) -> Result<Vec<Figure>> {
    let sizes = [1_000, many, many * 10].map(|tasks| (Load::Dependencies, tasks));
    let mut loads = sizes.to_vec();
    loads.dedup();
    loads.extend([(Load::AgentLimit, many), (Load::Files, many), (Load::Picture, many)]);
    loads.into_iter().map(|(load, tasks)| figure(load, tasks)).collect()
}

fn figure(load: Load, tasks: usize) -> Result<Figure> {
    eprintln!("measuring the core: {}", load.describe(tasks));
    let mut best = Figure { load, tasks, seconds: f64::INFINITY, peak: 0 };
    for _ in 0..TURNS {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.args([CORE, load.word(), &tasks.to_string()]).output()?;
        let text = String::from_utf8(output.stdout)?;
        let (seconds, peak) = text.trim().split_once(' ').ok_or("the core's measurement failed")?;
        best.seconds = best.seconds.min(seconds.parse()?);
        best.peak = best.peak.max(peak.parse()?);
    }
    Ok(best)
}

/// One rehearsal, or one picture, in this process: seconds and peak memory in KiB.
pub(crate) fn print_core(load: &str, tasks: &str) -> Result {
    let load = Load::ALL.into_iter().find(|known| known.word() == load).ok_or("no such load")?;
    let (plan, options) = (plan(load, tasks.parse()?)?, options(load));
    let tasks = plan.tasks.len();
    let begun = Instant::now();
    let done = match load {
        Load::Picture => lay_out(&plan)?,
        _ => rehearse(plan, options, Task::expected)?.starts.len(),
    };
    let seconds = begun.elapsed().as_secs_f64();
    if done != tasks {
        return Err(format!("{done} of {tasks} tasks were started or drawn").into());
    }
    println!("{seconds} {}", own_peak()?);
    Ok(())
}

/// From the plan to the picture, nothing folded: how many tasks are in it.
fn lay_out(plan: &Plan) -> Result<usize> {
    let graph = TaskGraph::of(plan, &Graph::new(plan, Strategy::Queue)?, |_| State::Pending);
    let folding = Folding::of(&graph, &Wanted { fold: Fold::None, ..Wanted::default() });
    Ok(Layout::of(&Outline::of(&graph, &folding)).nodes.len())
}

fn plan(load: Load, tasks: usize) -> Result<Plan> {
    let shape = match load {
        Load::Dependencies | Load::Picture => Shape::Random(tasks),
        Load::AgentLimit | Load::Files => Shape::Independent(tasks),
    };
    let mut draw = Draw::new();
    let mut plan = Plan::default();
    for (number, before) in shape.dependencies().into_iter().enumerate() {
        let mut task = Task::new(id(number)?, Work::Run(plan::Command::Line(NOTHING.into())));
        task.estimate = Some(Millis::from_secs(60 + draw.below(3_600) as u64));
        task.dependencies =
            before.into_iter().map(|other| Ok(Dependency::on(id(other)?))).collect::<Result<_>>()?;
        if load == Load::Files {
            task.files = vec![format!("src/module_{}/file_{number}.rs", number % 100)];
        }
        plan.tasks.push(task);
    }
    Ok(plan)
}

fn options(load: Load) -> Options {
    let mut options = Options::with_slots(SLOTS);
    if load == Load::AgentLimit {
        options.limits.agents.insert("shell".to_owned(), AT_ONCE);
    }
    options
}

fn id(number: usize) -> Result<TaskId> {
    Ok(TaskId::parse(&format!("t{number}"))?)
}

fn own_peak() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
