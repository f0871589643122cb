//! The figures as a document: goals first, then everything that was measured.

use std::fmt::Write as _;
use std::process::Command;

use super::contest::{Cell, Contestant};
use super::core::{Figure, Load};
use super::graph::{Shape, thousands};
use super::{
    Figures, agents, confinement, expertise, git, plugins, screen, server, shims, single, view, workers,
    worktrees,
};
use crate::steps::root;

const HOW_TO_READ: &str = "\
Everything here was measured in one run of `cargo xtask bench`, of a build as it is installed (`--profile dist`), the contestants taking turns, the best figure of each \
counting (of 3; of 2 with 10,000 tasks; GNU parallel once with 10,000, at 8 slots). Every task of every contestant runs \
`/bin/true`, so what is left is the price of the orchestrator. The *raw loop* starts and waits for as many processes in \
as many slots and does nothing else: no graph, no log, no output. A ratio of 1.20× means 20 % more than that. It knows no \
dependencies, so beside a graph it shows what the processes alone cost.

make, ninja and the raw loop keep no record of a task. Conductor writes down each start and each end before it acts on them, has \
them on the disk before anything costs money or leaves the run, and keeps what a task says. make and Conductor start a plain command themselves, \
ninja and GNU parallel through a shell. Ratios carry over to other machines, seconds do not.

For workspaces and merging, each turn of each contestant has a repository of its own. *Bare git* is what a script would \
run: `git worktree add`, two at a time because more of them fail at each other's locks; `git merge-tree`, `commit-tree` \
and `update-ref` for each branch. Conductor's workspace has a branch of its own, ports, a folder for temporary files and \
an index no task can damage, and before one is removed everything in it is known to be in a commit. Deleting the files \
goes on afterwards, beside whatever comes next, and is not measured; where runs are measured one after the other it is put off until the end. \
A task that changes a file and is checked takes about nine calls of git, of 2 to 4 ms each here: that is nearly all of its time, \
and the more so the more of them share the cores.

Claude's output is read from the file it writes to, understood, cleared of secrets and told to the transcript, as live. \
The 50 agents are programs of ours that say something 50 times a second; memory is what the coordinator holds more than \
with one of them, processor time what it takes itself, a second of one core being 100 %. What the inline view costs is told by the \
thread that draws it; both views are shown on a terminal.";

/// What was aimed at and what came of it.
#[derive(Clone)]
pub(super) struct Goal {
    pub(super) what: String,
    pub(super) limit: String,
    pub(super) measured: String,
    pub(super) met: bool,
}

pub(super) fn text(machine: &str, figures: &Figures, many: usize) -> String {
    let mut text = head(machine, &goals(figures, many));
    let _ = writeln!(text, "\n## Tasks that do nothing\n\n{}", contest(&figures.cells));
    let _ = writeln!(text, "## Single commands\n\n{}", singles(&figures.singles, many));
    let _ = writeln!(text, "## The pure core, without processes\n\n{}", cores(&figures.cores));
    let _ = writeln!(text, "## {}\n\n{}", git::report::TITLE, git::report::table(&figures.git));
    let _ = writeln!(text, "## {}\n\n{}", agents::TITLE, agents::table(&figures.agents));
    let _ = writeln!(text, "## {}\n\n{}", view::TITLE, view::table(&figures.view));
    let _ = writeln!(text, "## {}\n\n{}", screen::TITLE, screen::table(&figures.screen));
    let _ = writeln!(text, "## How to read this\n\n{HOW_TO_READ}");
    text
}

/// Workspaces and merging alone.
pub(super) fn git_text(machine: &str, figures: &git::Figures) -> String {
    head(machine, &git::report::goals(figures)) + "\n" + &git::report::table(figures)
}

/// Very many worktrees alone.
pub(super) fn worktrees_text(machine: &str, figures: &worktrees::Figures) -> String {
    head(machine, &worktrees::goals(figures)) + "\n" + &worktrees::table(figures)
}

/// Listening to agents alone.
pub(super) fn agents_text(machine: &str, figures: &agents::Figures) -> String {
    head(machine, &agents::goals(figures)) + "\n" + &agents::table(figures)
}

/// Single commands and being looked at alone.
pub(super) fn single_text(
    machine: &str,
    singles: &single::Singles,
    view: &view::Figures,
    many: usize,
) -> String {
    let goals = [single_goals(singles, many), view::goals(view)].concat();
    head(machine, &goals) + "\n" + &self::singles(singles, many) + "\n" + &view::table(view)
}

/// The full-screen view alone.
pub(super) fn screen_text(machine: &str, figures: &screen::Figures) -> String {
    head(machine, &screen::goals(figures)) + "\n" + &screen::table(figures)
}

/// Shims alone.
pub(super) fn shims_text(machine: &str, figures: &shims::Figures) -> String {
    head(machine, &shims::goals(figures))
}

/// The server alone.
pub(super) fn server_text(machine: &str, figures: &server::Figures) -> String {
    head(machine, &server::goals(figures))
}

/// Plugins alone.
pub(super) fn plugins_text(machine: &str, figures: &plugins::Figures) -> String {
    head(machine, &plugins::goals(figures))
}

/// Confinement alone.
pub(super) fn confinement_text(machine: &str, figures: &confinement::Figures) -> String {
    head(machine, &confinement::goals(figures))
}

/// Workers on other machines alone.
pub(super) fn workers_text(machine: &str, figures: &workers::Figures) -> String {
    head(machine, &workers::goals(figures))
}

/// Expertise alone.
pub(super) fn expertise_text(machine: &str, figures: &expertise::Figures) -> String {
    head(machine, &expertise::goals(figures))
}

fn head(machine: &str, goals: &[Goal]) -> String {
    let mut text = format!(
        "# Benchmarks\n\n{machine}\n\n## Goals\n\n| goal | limit | measured | |\n|---|---|---|---|\n"
    );
    for Goal { what, limit, measured, met } in goals {
        let word = if *met { "ok" } else { "**MISSED**" };
        let _ = writeln!(text, "| {what} | {limit} | {measured} | {word} |");
    }
    text
}

fn contest(cells: &[Cell]) -> String {
    let mut text = String::from("| graph | slots |");
    let mut rule = String::from("|---|--:|");
    for contestant in Contestant::ALL {
        let _ = write!(text, " {} |", contestant.name());
        rule += "--:|";
    }
    let _ = writeln!(text, "\n{rule}");
    for cell in cells {
        let _ = write!(text, "| {} | {} |", cell.shape.name(), cell.slots);
        for contestant in Contestant::ALL {
            let _ = write!(text, " {} |", entry(cell, contestant));
        }
        text.push('\n');
    }
    text
}

fn entry(cell: &Cell, of: Contestant) -> String {
    match (cell.seconds(of), cell.ratio(of, Contestant::Raw)) {
        _ if !of.is_installed() => "not installed".to_owned(),
        (Some(seconds), _) if of == Contestant::Raw => format!("{seconds:.3} s"),
        (Some(seconds), Some(ratio)) => format!("**{ratio:.2}×** {seconds:.3} s"),
        _ if cell.failures.contains(&of) => "failed".to_owned(),
        _ => "–".to_owned(),
    }
}

fn singles(singles: &single::Singles, many: usize) -> String {
    let (many, scale) = (thousands(many), &singles.scale);
    let [few, most] = scale.tasks.map(thousands);
    format!(
        "| what | figure |\n|---|--:|\n\
         | `conductor version` | {} |\n\
         | `conductor validate`, {many} tasks with 3 dependencies each | {} |\n\
         | `conductor rehearse`, {many} tasks with a file of its own each | {} |\n\
         | `conductor run --resume` of half of {many} tasks, until the first task starts | {} |\n\
         | peak memory of the coordinator, {many} tasks at 8 slots | {} |\n\
         | a run of {few} tasks at 8 slots, for each | {} |\n\
         | a run of {most} tasks at 8 slots, for each | {} |\n\
         | peak memory of the coordinator, {most} tasks at 8 slots | {} |\n",
        time(singles.version),
        time(singles.validate),
        time(singles.rehearse),
        time(singles.resume),
        memory(singles.peak),
        time(scale.few / scale.tasks[0] as f64),
        time(scale.most / scale.tasks[1] as f64),
        memory(scale.peak),
    )
}

fn cores(figures: &[Figure]) -> String {
    let mut text = String::from("| plan, at 64 slots | time | per task | peak memory |\n|---|--:|--:|--:|\n");
    for figure in figures {
        let (name, per_task) = (figure.name(), figure.micros_per_task());
        let (time, memory) = (time(figure.seconds), memory(figure.peak));
        let _ = writeln!(text, "| {name} | {time} | {per_task:.1} µs | {memory} |");
    }
    text
}

fn goals(figures: &Figures, many: usize) -> Vec<Goal> {
    let mut goals = ratio_goals(&figures.cells, many);
    goals.push(success_goal(&figures.cells));
    goals.extend(ninja_goal(&figures.cells));
    goals.extend(core_goals(&figures.cores));
    goals.extend(single_goals(&figures.singles, many));
    goals.extend(git::report::goals(&figures.git));
    goals.extend(agents::goals(&figures.agents));
    goals.extend(view::goals(&figures.view));
    goals.extend(server::goals(&figures.server));
    goals.extend(plugins::goals(&figures.plugins));
    goals.extend(confinement::goals(&figures.confinement));
    goals.extend(expertise::goals(&figures.expertise));
    goals.extend(screen::goals(&figures.screen));
    goals.extend(shims::goals(&figures.shims));
    goals
}

fn ratio_goals(cells: &[Cell], many: usize) -> Vec<Goal> {
    let independent = Shape::Independent(many);
    let layered = Shape::Layered { layers: many / 100, width: 100 };
    let limits = [
        (independent, 2, 1.5),
        (independent, 8, 1.25),
        (independent, 32, 1.15),
        (layered, 8, 1.25),
        (Shape::Chain(1_000), 8, 1.5),
    ];
    let goal = |(shape, slots, limit): (Shape, usize, f64)| {
        let cell = cells.iter().find(|cell| cell.shape == shape && cell.slots == slots)?;
        let ratio = cell.ratio(Contestant::Conductor, Contestant::Raw);
        Some(Goal {
            what: format!("{} at {slots} slots, to the raw loop", shape.name()),
            limit: format!("≤ {limit:.2}×"),
            measured: ratio.map_or_else(|| "failed".to_owned(), |ratio| format!("{ratio:.2}×")),
            met: ratio.is_some_and(|ratio| ratio <= limit),
        })
    };
    limits.into_iter().filter_map(goal).collect()
}

/// A run of tasks that cannot fail has no reason to.
fn success_goal(cells: &[Cell]) -> Goal {
    let failures = cells.iter().flat_map(|cell| &cell.failures);
    let count = failures.filter(|&&contestant| contestant == Contestant::Conductor).count();
    let what = "runs of Conductor above that failed".to_owned();
    Goal { what, limit: "0".to_owned(), measured: count.to_string(), met: count == 0 }
}

fn ninja_goal(cells: &[Cell]) -> Option<Goal> {
    let ratios = cells.iter().filter_map(|cell| {
        let ratio = cell.ratio(Contestant::Conductor, Contestant::Ninja)?;
        Some((ratio, format!("{ratio:.2}× ({} at {} slots)", cell.shape.name(), cell.slots)))
    });
    let (ratio, measured) = ratios.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let what = "ahead of ninja everywhere (the worst cell)".to_owned();
    Some(Goal { what, limit: "< 1×".to_owned(), measured, met: ratio < 1.0 })
}

fn core_goals(figures: &[Figure]) -> Vec<Goal> {
    let mut graphs = figures.iter().filter(|figure| figure.load == Load::Dependencies);
    let (Some(small), Some(large)) = (graphs.next(), graphs.next_back()) else { return Vec::new() };
    let growth = large.micros_per_task() / small.micros_per_task();
    let picture = figures.iter().find(|figure| figure.load == Load::Picture);
    let picture = picture.map(|figure| below(format!("core: {}", figure.name()), figure.seconds, 0.3, time));
    let mut goals = vec![
        below(format!("core: {}", large.name()), large.seconds, 3.0, time),
        below("core: its peak memory".to_owned(), large.peak as f64, 500.0 * 1024.0, kib),
        Goal {
            what: format!("core: time per task, {} to {}", thousands(large.tasks), thousands(small.tasks)),
            limit: "≤ 2×".to_owned(),
            measured: format!("{growth:.2}×"),
            met: growth <= 2.0,
        },
    ];
    goals.extend(picture);
    goals
}

fn single_goals(singles: &single::Singles, many: usize) -> Vec<Goal> {
    let (many, scale) = (thousands(many), &singles.scale);
    let [few, most] = scale.tasks.map(thousands);
    let growth = scale.growth();
    vec![
        below(format!("validate {many} tasks"), singles.validate, 0.5, time),
        below(format!("rehearse {many} tasks, a file of its own each"), singles.rehearse, 1.0, time),
        below(format!("resume half of {many} tasks, until one starts"), singles.resume, 1.0, time),
        below(format!("peak memory of a run of {many} tasks"), singles.peak as f64, 100.0 * 1024.0, kib),
        below("version".to_owned(), singles.version, 0.010, time),
        Goal {
            what: format!("a run's time per task, {most} to {few}"),
            limit: "≤ 1.2×".to_owned(),
            measured: format!("{growth:.2}×"),
            met: growth <= 1.2,
        },
        below(format!("peak memory of a run of {most} tasks"), scale.peak as f64, 200e6 / 1024.0, kib),
    ]
}

pub(super) fn below(what: String, measured: f64, limit: f64, shown: fn(f64) -> String) -> Goal {
    Goal { what, limit: format!("< {}", shown(limit)), measured: shown(measured), met: measured < limit }
}

pub(super) fn time(seconds: f64) -> String {
    match seconds {
        moment if moment < 1e-4 => format!("{:.0} µs", moment * 1e6),
        short if short < 1.0 => format!("{:.1} ms", short * 1e3),
        long => format!("{long:.2} s"),
    }
}

fn kib(amount: f64) -> String {
    format!("{:.0} MiB", amount / 1024.0)
}

fn memory(amount: u64) -> String {
    kib(amount as f64)
}

/// What it was measured on and with, and how busy that was at the time.
pub(super) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = said("sh", &["-c", "sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1"]);
    let lines = [
        format!("- Date: {}", said("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
        format!("- Conductor: {}", said("git", &["describe", "--always", "--dirty"])),
        format!("- Machine: {cores} cores, {processor}, Linux {}", said("uname", &["-r"])),
        format!("- Load average when it began: {}", said("cut", &["-d ", "-f1-3", "/proc/loadavg"])),
        format!(
            "- Built with {}; beside {}, ninja {}, {}, {}",
            said("rustc", &["--version"]),
            said("make", &["--version"]),
            said("ninja", &["--version"]),
            said("parallel", &["--version"]),
            said("git", &["--version"])
        ),
    ];
    lines.join("\n")
}

/// The first line a program answers with.
fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(root()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().map_or_else(|| format!("no {program}"), |line| line.trim().to_owned())
}
