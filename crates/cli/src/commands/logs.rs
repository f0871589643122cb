//! `conductor logs`: what a task's agent or command said, made safe to show; or what Conductor logged about a run.

use conductor_core::plan::Work;
use conductor_core::values::ids::Attempt;
use conductor_engine::host::home::Home;
use conductor_engine::host::logs;
use conductor_engine::runs::listening::{Follower, ListenError, Listener, ShownLines, Told};
use conductor_engine::stores::StoredRun;
use serde_json::json;

use super::{block_on, talk};
use crate::archive::{Archive, Found};
use crate::args;
use crate::console;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &args::Logs) -> Result<Exit, CliError> {
    match args.task.as_deref() {
        Some(task) => block_on(show(args, task)),
        None => block_on(show_own(args)),
    }
}

/// What the coordinator of a run logged, the oldest first.
async fn show_own(args: &args::Logs) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let candidates = archive.candidates(args.run.as_deref())?;
    let own = |run: &StoredRun| logs::files_in(&archive.home.run(&run.id));
    let Some(paths) = candidates.iter().map(own).find(|paths| !paths.is_empty()) else {
        return Err(CliError::new(Exit::NothingToDo, "Conductor has logged nothing about this run"));
    };
    for path in paths {
        console::answer_bytes(&std::fs::read(&path)?)?;
    }
    Ok(Exit::Done)
}

async fn show(args: &args::Logs, task: &str) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let live = |found: &Found| archive.home.is_live(&found.stored.id);
    let spoke = |found: &Found, place: usize| {
        found.run.progress(found.run.doer(place)).last_attempt > 0 || (args.follow && live(found))
    };
    let mut chosen = archive.task(args.run.as_deref(), task, spoke).await?;
    let doer = chosen.found.run.doer(chosen.place);
    if doer != chosen.place {
        let (race, who) = (&chosen.task().id, &chosen.found.run.task(doer).0.id);
        talk(format!("several race for {race}; this is {who}"));
        chosen.place = doer;
    }
    if args.stream && matches!(chosen.task().work, Work::Run(_)) {
        let message = format!("task '{}' is a command, and says nothing to us", chosen.task().id);
        return Err(CliError::new(Exit::NothingToDo, message));
    }
    let Found { stored, run, .. } = &chosen.found;
    let is_elsewhere = stored.holder().is_some() || !archive.home.run(&stored.id).is_dir();
    if archive.home.store().is_some() && is_elsewhere {
        let machine = stored.holder().unwrap_or("the machine that drove it");
        let message = format!("what the tasks of run {} said is on {machine}", stored.id);
        return Err(CliError::new(Exit::NothingToDo, message).help("ask there"));
    }
    let listener = Listener::new(&archive.home, archive.store(), &stored.id, run, chosen.place, args.stream);
    let attempt = match (args.attempt, listener.attempts().last()) {
        (Some(wanted), _) => named(&listener, Attempt(wanted))?,
        (None, Some(newest)) => *newest,
        (None, None) if args.follow => (Attempt(1), 0),
        (None, None) => {
            return Err(CliError::new(
                Exit::NothingToDo,
                format!("task '{}' has not begun", listener.task()),
            ));
        }
    };
    let is_shared = archive.home.store().is_some();
    let printer = Printer { listener, as_json: args.json, speaking: attempt.0, is_shared };
    match args.follow {
        true => printer.follow(&archive.home).await?,
        false => printer.tell(attempt).await?,
    }
    Ok(Exit::Done)
}

fn named(listener: &Listener, wanted: Attempt) -> Result<(Attempt, u32), CliError> {
    let known = listener.attempts().iter().find(|(attempt, _)| *attempt == wanted);
    known.copied().ok_or_else(|| {
        let task = listener.task();
        let message = match listener.attempts().last() {
            Some((newest, _)) => format!("task '{task}' has no attempt {wanted}; the newest is {newest}"),
            None => format!("task '{task}' has not begun"),
        };
        CliError::new(Exit::Usage, message)
    })
}

struct Printer {
    listener: Listener,
    as_json: bool,
    /// Whose words are told.
    speaking: Attempt,
    /// Other machines may have done some of its attempts.
    is_shared: bool,
}

impl Printer {
    /// One attempt as far as it has come.
    async fn tell(self, (attempt, executor): (Attempt, u32)) -> Result<(), CliError> {
        let (mut reader, mut lines) = (self.listener.reader(attempt, executor), ShownLines::default());
        let mut silent = true;
        loop {
            let words = self.listener.next(attempt, &mut reader).await?;
            if words.is_empty() {
                break;
            }
            silent = false;
            self.print(&lines.add(&words))?;
        }
        self.print(&lines.rest())?;
        if silent {
            let here = if self.is_shared { " on this machine" } else { "" };
            talk(format!("attempt {attempt} has said nothing{here}"));
        }
        match self.listener.attempts().len() {
            0 | 1 => {}
            several => talk(format!("this was attempt {attempt} of {several}; others with --attempt N")),
        }
        Ok(())
    }

    /// From this attempt on, until the task ends or the run is not active any more.
    async fn follow(mut self, home: &Home) -> Result<(), CliError> {
        let mut follower = Follower::new(self.listener.clone(), self.speaking);
        let unable = |error: ListenError| match error {
            ListenError::Control(error) => crate::archive::live::unable(home, self.listener.run(), error),
            ListenError::Store(error) => error.into(),
            ListenError::Unreadable(error) => error.into(),
        };
        while let Some(told) = follower.next().await.map_err(unable)? {
            match told {
                Told::Lines(lines) => self.print(&lines)?,
                Told::Attempt(attempt) => {
                    if attempt.0 > 1 {
                        talk(format!("attempt {attempt} of {}", self.listener.task()));
                    }
                    self.speaking = attempt;
                }
            }
        }
        Ok(())
    }

    fn print(&self, text: &str) -> Result<(), CliError> {
        if !self.as_json {
            console::answer_bytes(text.as_bytes())?;
            return Ok(());
        }
        for line in text.lines() {
            let object = json!({
                "schema": "conductor.log/1", "run": self.listener.run(), "task": self.listener.task(),
                "attempt": self.speaking, "line": line,
            });
            console::answer_bytes(format!("{}\n", console::clean(&object.to_string())).as_bytes())?;
        }
        Ok(())
    }
}
