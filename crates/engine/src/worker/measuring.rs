//! What tools say of work that is about to land, and of what it started from. Nothing here fails a task: what cannot be
//! measured is told once, and is no figure.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conductor_core::plan::{Coverage, Measure, Task};
use conductor_core::run::event::Change;
use conductor_core::run::measure::{Lint, Measured, Percent, coverage, lint};
use conductor_core::schedule::Input;
use conductor_core::values::units::Millis;
use tokio::sync::watch;

use super::baselines::Figures;
use super::{AttemptContext, Order, Stop, Worker};
use crate::agents;
use crate::git::workspaces::Workspace;
use crate::process::Exit;
use crate::process::transcript::Transcript;
use crate::worker::gates;

/// More of a report is not read.
const REPORT: u64 = 32 << 20;

/// The run is being left, or the task cancelled.
#[derive(Debug)]
struct Stopped;

/// What is asked of a tree: the task's wishes, with `auto` settled.
#[derive(Debug, Clone)]
struct Asked {
    coverage: Option<Coverage>,
    lint: Vec<String>,
    within: Millis,
}

/// Where it is asked, and in whose name.
struct Place<'a> {
    order: &'a Order,
    task: &'a Task,
    workspace: &'a Workspace,
}

impl Worker {
    /// Of work that passed all that looked at it. The workspace holds nothing but the work afterwards.
    pub(super) async fn measured(
        &self,
        context: &AttemptContext<'_>,
        change: &Change,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Option<Measured> {
        let measure = context.task.measure.as_deref()?;
        let (task, attempt) = (context.order.task.clone(), context.order.attempt);
        self.report(Input::WorkAccepted { task, attempt });
        let asked = self.settled(measure, &context.workspace.directory);
        let measured = self.compared(context, change, &asked, transcript, stop).await;
        let (run_repo, name, commit) =
            (self.workspaces.run_repo()?.clone(), context.request.workspace_name(), change.commit.clone());
        if let Err(error) = self.patiently(stop, move || run_repo.tidy(&name, &commit)).await {
            let task = &context.order.task;
            self.notice(format!("what measuring {task} left in its workspace could not be removed: {error}"));
        }
        measured.unwrap_or_else(|Stopped| {
            transcript.note("[conductor: not measured to the end]");
            None
        })
    }

    async fn compared(
        &self,
        context: &AttemptContext<'_>,
        change: &Change,
        asked: &Asked,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Measured>, Stopped> {
        if asked.coverage.is_none() && asked.lint.is_empty() {
            return Ok(None);
        }
        transcript.note("[conductor: measuring the work]");
        let here = Place { order: context.order, task: context.task, workspace: &context.workspace };
        let after = self.figures(&here, asked, transcript, stop).await?;
        // What says nothing of the work is not asked of what was before.
        let asked = Asked {
            coverage: asked.coverage.clone().filter(|_| after.coverage.is_some()),
            lint: asked.lint.iter().filter(|_| after.lint.is_some()).cloned().collect(),
            within: asked.within,
        };
        if asked.coverage.is_none() && asked.lint.is_empty() {
            return Ok(None);
        }
        let before = self.baseline(context, &change.base, &asked, transcript, stop).await?;
        Ok(after.since(before))
    }

    /// The first attempt that needs it measures it; the others wait for the result.
    async fn baseline(
        &self,
        context: &AttemptContext<'_>,
        base: &str,
        asked: &Asked,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Figures, Stopped> {
        let key = format!("{base} {asked:?} {:?} {:?}", context.task.setup(), context.task.env);
        let cell = self.services.baselines.cell(key);
        if let Some(known) = cell.get() {
            return Ok(*known);
        }
        let (mut left, is_ours) = (stop.clone(), AtomicBool::new(false));
        let measuring = cell.get_or_try_init(|| {
            is_ours.store(true, Ordering::Relaxed);
            self.of_base(context, base, asked, transcript, stop)
        });
        tokio::pin!(measuring);
        tokio::select! {
            biased;
            figures = &mut measuring => return figures.copied(),
            _ = left.wait_for(|wish| *wish != Stop::No) => {}
        }
        match is_ours.load(Ordering::Relaxed) {
            // Its processes are being ended, and that is waited for.
            true => measuring.await.copied(),
            false => Err(Stopped),
        }
    }

    /// In a folder that holds the base and nothing else, made ready as the task's own was.
    async fn of_base(
        &self,
        context: &AttemptContext<'_>,
        base: &str,
        asked: &Asked,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Figures, Stopped> {
        let Some(run_repo) = self.workspaces.run_repo().cloned() else { return Ok(Figures::default()) };
        let (name, commit) = (format!("base-{}", context.request.workspace_name()), base.to_owned());
        let workspace = match self.patiently(stop, move || run_repo.scratch(&name, &commit)).await {
            Ok(workspace) => workspace,
            Err(error) => {
                self.tell_once(transcript, &format!("what it started from is not measured: {error}"));
                return Ok(Figures::default());
            }
        };
        transcript.note("[conductor: measuring what it started from]");
        let there = Place { order: context.order, task: context.task, workspace: &workspace };
        for command in context.task.setup() {
            match self.said(&there, command, asked.within, transcript, stop).await? {
                Some((0, _)) => {}
                _ => {
                    let why = format!("what it started from is not measured: setup `{command}` fails there");
                    self.tell_once(transcript, &why);
                    return Ok(Figures::default());
                }
            }
        }
        self.figures(&there, asked, transcript, stop).await
    }

    async fn figures(
        &self,
        place: &Place<'_>,
        asked: &Asked,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Figures, Stopped> {
        let coverage = match &asked.coverage {
            Some(wish) => self.covered(place, wish, asked.within, transcript, stop).await?,
            None => None,
        };
        let mut lint = None;
        for command in &asked.lint {
            let Some(one) = self.linted(place, command, asked.within, transcript, stop).await? else {
                // A part of the findings is no count of them.
                lint = None;
                break;
            };
            lint = Some(lint.map_or(one, |all: Lint| all.and(one)));
        }
        Ok(Figures { coverage, lint })
    }

    async fn covered(
        &self,
        place: &Place<'_>,
        wish: &Coverage,
        within: Millis,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Percent>, Stopped> {
        let report = wish.report.as_deref().map(|report| place.workspace.directory.join(report));
        if let Some(old) =
            report.as_deref().and_then(|report| within_reach(&place.workspace.directory, report))
        {
            // What lies there from before tells nothing of this.
            let _ = fs::remove_file(old);
        }
        let Some((_, said)) = self.said(place, &wish.run, within, transcript, stop).await? else {
            return Ok(None);
        };
        let text = match report {
            None => said,
            Some(report) => match within_reach(&place.workspace.directory, &report)
                .and_then(|path| read(&path))
            {
                Some(text) => text,
                None => {
                    let name = wish.report.as_deref().unwrap_or_default();
                    self.tell_once(transcript, &format!("`{}` has written no {name}: no coverage", wish.run));
                    return Ok(None);
                }
            },
        };
        // A report may be long: reading it must not hold up other attempts.
        let figure = tokio::task::spawn_blocking(move || coverage::read(&text)).await.ok().flatten();
        if figure.is_none() {
            self.tell_once(transcript, &format!("`{}` tells no coverage that can be read", wish.run));
        }
        Ok(figure)
    }

    async fn linted(
        &self,
        place: &Place<'_>,
        command: &str,
        within: Millis,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Lint>, Stopped> {
        /// What a shell says of a command that it cannot find or start.
        const NOT_THERE: [i32; 2] = [126, 127];
        match self.said(place, command, within, transcript, stop).await? {
            Some((code, said)) if !NOT_THERE.contains(&code) => {
                let read = tokio::task::spawn_blocking(move || lint::read(&said, code == 0));
                Ok(read.await.ok())
            }
            Some(_) => {
                self.tell_once(transcript, &format!("`{command}` cannot be started: no lint"));
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Its exit code and what it said; nothing where it did not come to its own end in time, which is told.
    async fn said(
        &self,
        place: &Place<'_>,
        command: &str,
        within: Millis,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<(i32, String)>, Stopped> {
        if *stop.borrow() != Stop::No {
            return Err(Stopped);
        }
        transcript.note(&format!("$ {command}"));
        let from = transcript.length();
        let launch = agents::command(command, place.task, place.workspace, &self.caller);
        let (wish, mut heard) = watch::channel(Stop::No);
        let mut late = false;
        let exit = {
            let running = self.run_process(place.order, &launch, transcript, &mut heard);
            tokio::pin!(running);
            let limit = tokio::time::sleep(Duration::from_millis(within.0));
            tokio::pin!(limit);
            loop {
                tokio::select! {
                    biased;
                    exit = &mut running => break exit,
                    Ok(()) = stop.changed() => {
                        wish.send_replace(*stop.borrow_and_update());
                    }
                    () = &mut limit, if !late => {
                        late = true;
                        wish.send_replace(Stop::Ask);
                    }
                }
            }
        };
        if *stop.borrow() != Stop::No {
            return Err(Stopped);
        }
        let why = match exit {
            _ if late => format!("it was not done within {within}"),
            Ok(Exit::Code(code)) => return Ok(Some((code, transcript.since(from)))),
            Ok(Exit::Signal(signal)) => format!("killed by signal {signal}"),
            Err(failure) => failure.message,
        };
        self.tell_once(transcript, &format!("`{command}` has measured nothing: {why}"));
        Ok(None)
    }

    /// With `auto` settled by what the work has made of the project: before and after are asked the same.
    fn settled(&self, measure: &Measure, directory: &Path) -> Asked {
        let is_auto = |command: &str| command.trim() == Measure::AUTO;
        let coverage = match &measure.coverage {
            Some(wish) if is_auto(&wish.run) => {
                let found = gates::coverage(directory);
                if found.is_none() {
                    self.notice_once("coverage: auto has found no tool that measures it here");
                }
                found.map(|run| Coverage { run, report: None })
            }
            wish => wish.clone(),
        };
        let mut lint = Vec::new();
        for command in &measure.lint {
            let meant = match is_auto(command) {
                true => gates::linters(directory),
                false => vec![command.clone()],
            };
            if meant.is_empty() {
                self.notice_once("lint: auto has found no linter that is set up here");
            }
            lint.extend(meant);
        }
        Asked { coverage, lint, within: measure.time() }
    }

    fn tell_once(&self, transcript: &mut Transcript, words: &str) {
        transcript.note(&format!("[conductor: {words}]"));
        self.notice_once(words);
    }

    fn notice_once(&self, words: &str) {
        if self.services.baselines.is_new(words) {
            self.notice(words.to_owned());
        }
    }
}

/// A file below a directory, wherever links lead; nothing where it is not there, or elsewhere.
fn within_reach(directory: &Path, path: &Path) -> Option<PathBuf> {
    let (root, path) = (directory.canonicalize().ok()?, path.canonicalize().ok()?);
    (path.starts_with(&root) && path.is_file()).then_some(path)
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(REPORT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= REPORT).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
