//! The same graphs, run by Conductor, by others, and by a loop that does nothing but start processes.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::graph::{NOTHING, Shape};
use super::scratch::{Scratch, conductor};
use crate::Result;
use crate::tools::on_path;

/// How often a turn is tried that does not end well.
const TRIES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contestant {
    Raw,
    Conductor,
    Make,
    Ninja,
    Parallel,
}

impl Contestant {
    pub(super) const ALL: [Contestant; 5] =
        [Contestant::Raw, Contestant::Conductor, Contestant::Make, Contestant::Ninja, Contestant::Parallel];

    pub(super) fn name(self) -> &'static str {
        match self {
            Contestant::Raw => "raw loop",
            Contestant::Conductor => "Conductor",
            Contestant::Make => "GNU make",
            Contestant::Ninja => "ninja",
            Contestant::Parallel => "GNU parallel",
        }
    }

    pub(super) fn is_installed(self) -> bool {
        match self {
            Contestant::Raw | Contestant::Conductor => true,
            Contestant::Make => on_path("make"),
            Contestant::Ninja => on_path("ninja"),
            Contestant::Parallel => on_path("parallel"),
        }
    }

    /// How often a cell is measured; the best counts. GNU parallel knows no graphs and is slow, so it gets few turns.
    fn turns(self, shape: Shape, slots: usize) -> usize {
        let many = shape.tasks() >= 10_000;
        match (self, shape) {
            (Contestant::Parallel, Shape::Independent(_)) if many => usize::from(slots == 8),
            (Contestant::Parallel, Shape::Independent(_)) => 3,
            (Contestant::Parallel, _) => 0,
            _ if many => 2,
            _ => 3,
        }
    }

    fn seconds(self, shape: Shape, slots: usize, directory: &Path) -> Result<f64> {
        let mut command = match self {
            Contestant::Raw => return raw(shape, slots),
            Contestant::Conductor => {
                fs::write(directory.join("tasks.yaml"), shape.task_file())?;
                let mut command = conductor(directory);
                command
                    .args(["run", "--isolation", "none", "tasks.yaml", "--parallel"])
                    .arg(slots.to_string());
                command
            }
            Contestant::Make => {
                fs::write(directory.join("Makefile"), shape.makefile())?;
                let mut command = Command::new("make");
                command.args(["-r", "-s", "-j"]).arg(slots.to_string());
                command
            }
            Contestant::Ninja => {
                fs::write(directory.join("build.ninja"), shape.ninja_file())?;
                let mut command = Command::new("ninja");
                command.arg("-j").arg(slots.to_string());
                command
            }
            Contestant::Parallel => {
                fs::write(directory.join("lines"), shape.lines())?;
                let mut command = Command::new("parallel");
                command.arg("-j").arg(slots.to_string()).arg(NOTHING);
                command
            }
        };
        if self == Contestant::Parallel {
            command.stdin(File::open(directory.join("lines"))?);
        } else {
            command.stdin(Stdio::null());
        }
        timed(command.current_dir(directory))
    }
}

/// The best figure of each contestant for one graph and number of slots.
pub(super) struct Cell {
    pub(super) shape: Shape,
    pub(super) slots: usize,
    best: Vec<(Contestant, f64)>,
    /// Whose runs did not end well, once for each.
    pub(super) failures: Vec<Contestant>,
}

impl Cell {
    pub(super) fn seconds(&self, of: Contestant) -> Option<f64> {
        self.best.iter().find(|(contestant, _)| *contestant == of).map(|&(_, seconds)| seconds)
    }

    /// A run that failed has no figure and is counted; the turn is taken again, but not for ever.
    fn take_turn(&mut self, contestant: Contestant, scratch: &mut Scratch) -> Result {
        for _ in 0..TRIES {
            match contestant.seconds(self.shape, self.slots, &scratch.directory()?) {
                Ok(seconds) => {
                    self.note(contestant, seconds);
                    break;
                }
                Err(error) => {
                    eprintln!("{error}");
                    self.failures.push(contestant);
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, contestant: Contestant, seconds: f64) {
        let best = self.seconds(contestant).map_or(seconds, |best| best.min(seconds));
        self.best.retain(|(other, _)| *other != contestant);
        self.best.push((contestant, best));
    }

    pub(super) fn ratio(&self, of: Contestant, to: Contestant) -> Option<f64> {
        Some(self.seconds(of)? / self.seconds(to)?)
    }
}

pub(super) fn hold(many: usize, scratch: &mut Scratch) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for (shape, slots) in rounds(many) {
        eprintln!("measuring {} at {slots} slots", shape.name());
        cells.push(round(shape, slots, scratch)?);
    }
    Ok(cells)
}

fn rounds(many: usize) -> Vec<(Shape, usize)> {
    let mut shapes = vec![Shape::Independent(1_000), Shape::Independent(many)];
    shapes.dedup();
    shapes.push(Shape::Layered { layers: many / 100, width: 100 });
    let wide = shapes.into_iter().flat_map(|shape| [2, 8, 32].map(|slots| (shape, slots)));
    wide.chain([(Shape::Chain(1_000), 8)]).collect()
}

/// Contestants take turns, so that whatever else the machine does hits all alike.
fn round(shape: Shape, slots: usize, scratch: &mut Scratch) -> Result<Cell> {
    let mut cell = Cell { shape, slots, best: Vec::new(), failures: Vec::new() };
    for turn in 0..3 {
        for contestant in Contestant::ALL {
            if contestant.is_installed() && turn < contestant.turns(shape, slots) {
                cell.take_turn(contestant, scratch)?;
            }
        }
    }
    Ok(cell)
}

/// From start to exit, with everything it says thrown away.
pub(super) fn timed(command: &mut Command) -> Result<f64> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status()?;
    let seconds = begun.elapsed().as_secs_f64();
    match status.success() {
        true => Ok(seconds),
        false => Err(format!("{command:?}: {status}").into()),
    }
}

/// The least any program can take that starts this many processes: no graph, no log, no output.
fn raw(shape: Shape, slots: usize) -> Result<f64> {
    let slots = if matches!(shape, Shape::Chain(_)) { 1 } else { slots };
    let mut nothing = Command::new(NOTHING);
    nothing.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    for started in 0..shape.tasks() {
        if started >= slots {
            nix::sys::wait::wait()?;
        }
        nothing.spawn()?;
    }
    for _ in 0..slots.min(shape.tasks()) {
        nix::sys::wait::wait()?;
    }
    Ok(begun.elapsed().as_secs_f64())
}
