//! A process of an attempt, waited for by this process or by a shim.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::Reached;
use conductor_core::run::event::{Process as ProcessName, Processes};
use conductor_core::schedule::slices::Slice;
use rustix::process::{Pid, Signal};

use super::children::{self, OfAttempt};
use super::limits::Guard;
use super::shim::{Notes, ShimLink, Through};
use super::{Ended, Exit, Launch, Mark, RunProcesses, Stdin, collecting, exit, located, pid, tree};

/// Where a process writes to: what it says, and what it says of mistakes.
pub(super) struct Outputs {
    pub(super) output: File,
    pub(super) errors: File,
}

impl Outputs {
    /// Both go to `errors`, or what it says to `stream`.
    fn of(launch: &Launch, errors: File, stream: Option<File>) -> io::Result<Outputs> {
        let output = match stream {
            Some(stream) => stream,
            None => errors.try_clone()?,
        };
        let errors = if launch.together { output.try_clone()? } else { errors };
        Ok(Outputs { output, errors })
    }
}

/// A running process and all that came of it.
#[derive(Debug)]
pub struct Running {
    held: Held,
    mark: Mark,
    processes: Arc<RunProcesses>,
    /// Its main process has been collected: the number may be another's by now.
    is_over: bool,
}

/// Who waits for the main process.
#[derive(Debug)]
enum Held {
    Us {
        child: Child,
        group: Pid,
        guard: Option<Guard>,
    },
    Shim(ShimLink),
    /// It is over.
    Nothing,
}

impl Running {
    /// Starts it with both outputs going to `errors`, or what it says going to `stream`; by a shim, if it is to outlive us.
    pub(crate) fn start(
        processes: &Arc<RunProcesses>,
        launch: &Launch,
        mark: Mark,
        (errors, stream): (File, Option<File>),
        through: Option<&Through>,
    ) -> io::Result<Running> {
        let outputs = Outputs::of(launch, errors, stream)?;
        let held = match through {
            Some(through) => Held::Shim(ShimLink::start(through, launch, &mark, outputs)?),
            None => held_by_us(processes, launch, &mark, outputs)?,
        };
        Ok(Running { held, mark, processes: processes.clone(), is_over: false })
    }

    /// One that a shim holds, which another coordinator has started.
    pub(crate) fn attached(processes: &Arc<RunProcesses>, link: ShimLink, mark: Mark) -> Running {
        Running { held: Held::Shim(link), mark, processes: processes.clone(), is_over: false }
    }

    pub fn pid(&self) -> u32 {
        self.name().pid
    }

    pub fn name(&self) -> ProcessName {
        match &self.held {
            Held::Us { child, .. } => {
                let pid = child.id();
                ProcessName { pid, start_time: tree::start_time(pid).unwrap_or(0) }
            }
            Held::Shim(link) => link.agent(),
            Held::Nothing => ProcessName { pid: 0, start_time: 0 },
        }
    }

    /// What is written to its standard input.
    pub(crate) fn take_stdin(&mut self) -> Option<Stdin> {
        match &mut self.held {
            Held::Us { child, .. } => child.stdin.take().map(Stdin::of_pipe),
            Held::Shim(link) => Some(Stdin::Shim(link.notes())),
            Held::Nothing => None,
        }
    }

    /// For what the next coordinator is to know, where there may be one.
    pub(crate) fn notes(&self) -> Option<Notes> {
        match &self.held {
            Held::Shim(link) => Some(link.notes()),
            Held::Us { .. } | Held::Nothing => None,
        }
    }

    /// What it may use without a coordinator, where a shim holds it to that.
    pub(crate) fn slice(&self) -> Option<Slice> {
        match &self.held {
            Held::Shim(link) => Some(link.slice()),
            Held::Us { .. } | Held::Nothing => None,
        }
    }

    /// Whether a shim holds it, so that another coordinator can take hold of it.
    pub(crate) fn can_be_left(&self) -> bool {
        matches!(&self.held, Held::Shim(_))
    }

    /// Leaves it to its shim, for the coordinator that comes next.
    pub(crate) async fn let_go(&mut self) {
        if let Held::Shim(link) = &mut self.held {
            link.let_go().await;
            self.is_over = true;
        }
    }

    /// Waits for the main process. Safe to drop and call again.
    pub async fn exited(&self) -> io::Result<()> {
        match &self.held {
            Held::Us { group, .. } => exit::exited(*group).await,
            Held::Shim(link) => {
                link.exited().await;
                Ok(())
            }
            Held::Nothing => Ok(()),
        }
    }

    /// Whether the shim that held it was ended, and nothing tells how the process itself has.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(&self.held, Held::Shim(link) if link.is_lost())
    }

    /// Asks the whole group to end.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        match &self.held {
            Held::Us { group, .. } => drop(rustix::process::kill_process_group(*group, signal)),
            Held::Shim(link) => link.signal(signal),
            Held::Nothing => {}
        }
    }

    /// Kills the whole tree, daemons included, and waits for the main process to be gone.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.signal(Signal::KILL);
        match &mut self.held {
            Held::Us { child, guard, .. } => {
                let _ = child.kill();
                guard.iter().for_each(Guard::kill);
            }
            Held::Shim(link) => link.kill().await,
            Held::Nothing => {}
        }
        self.exited().await?;
        self.processes.sweep(&self.mark).await;
        Ok(())
    }

    /// After the main process has exited: ends what is left of its group, collects it, and sees to stragglers.
    pub async fn finish(mut self, lived: Duration) -> io::Result<Ended> {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Us { child, group, guard } => {
                // The dead main process still holds the group's number, so this cannot hit a stranger.
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
                guard.iter().for_each(Guard::over);
                let collected = collecting::collect(group);
                self.is_over = true;
                let (status, mut took) = collected?;
                children::forget(child.id());
                let exit = Exit::from(status);
                let reached = match guard {
                    Some(guard) => finished(guard, exit, &mut took).await,
                    None => None,
                };
                self.processes.sweep_soon(&self.mark, lived).await;
                Ok(Ended { exit, took, reached })
            }
            Held::Shim(link) => {
                self.is_over = true;
                let ended = link.finish(&self.mark).await?;
                // Nothing is left where its shim has seen to that.
                self.processes.sweep_soon(&self.mark, Duration::ZERO).await;
                Ok(ended)
            }
            Held::Nothing => Err(io::Error::other("it is over already")),
        }
    }
}

/// Taking its groups away may have to wait for what is in there to be gone.
async fn finished(guard: Guard, exit: Exit, took: &mut Processes) -> Option<Reached> {
    let mut all = *took;
    let finishing = tokio::task::spawn_blocking(move || {
        let reached = guard.finish(exit, &mut all);
        (reached, all)
    });
    let (reached, all) = finishing.await.unwrap_or((None, *took));
    *took = all;
    reached
}

fn held_by_us(
    processes: &RunProcesses,
    launch: &Launch,
    mark: &Mark,
    Outputs { output, errors }: Outputs,
) -> io::Result<Held> {
    let guard = processes.guard(&launch.limits, mark)?;
    let mut command = Command::new(&*located(launch));
    set_up(&mut command, launch, mark, guard.as_ref())?;
    command
        .arg0(&launch.program)
        .stdin(if launch.converses { Stdio::piped() } else { Stdio::null() })
        .stdout(output)
        .stderr(errors);
    let starting = children::starting();
    let child = command.spawn()?;
    let of = OfAttempt { mark: mark.clone(), converses: launch.converses, shim: None };
    children::remember_attempt(child.id(), of);
    drop(starting);
    let group = pid(child.id()).ok_or_else(|| io::Error::other("the process has no number"))?;
    guard.iter().for_each(|guard| guard.watch(child.id()));
    Ok(Held::Us { child, group, guard })
}

/// Everything about a process of an attempt but where it reads from and writes to.
pub(super) fn set_up(
    command: &mut Command,
    launch: &Launch,
    mark: &Mark,
    guard: Option<&Guard>,
) -> io::Result<()> {
    command
        .args(&launch.args)
        .env_clear()
        .envs(launch.env.iter())
        .envs(mark.variables(launch.converses))
        .current_dir(&launch.directory)
        .process_group(0);
    guard.map_or(Ok(()), |guard| guard.enter(command))
}

/// One that is let go of before its end, by an error or a panic, does not go on.
impl Drop for Running {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        match &mut self.held {
            Held::Us { child, group, guard } => {
                let _ = rustix::process::kill_process_group(*group, Signal::KILL);
                guard.iter().for_each(|guard| {
                    guard.over();
                    guard.kill();
                });
                let _ = child.kill();
                let _ = child.wait();
                children::forget(child.id());
            }
            // It sees to itself.
            Held::Shim(_) | Held::Nothing => {}
        }
    }
}
