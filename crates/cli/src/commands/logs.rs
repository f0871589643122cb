//! `conductor logs`: what a task's agent or command said, made safe to show; or what Conductor logged about a run.

use std::path::PathBuf;
use std::time::Duration;

use conductor_core::plan::Work;
use conductor_core::run::event::{Event, Record};
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_engine::agents;
use conductor_engine::dispatch::{Heard, Query, View};
use conductor_engine::host::logs;
use conductor_engine::process::transcript::{Reader, Speaker, shown};
use conductor_engine::runs::control::{self, ControlError};
use conductor_engine::stores::StoredRun;
use serde_json::json;

use super::{block_on, talk};
use crate::archive::{Archive, Found, FoundTask};
use crate::args;
use crate::console;
use crate::error::{CliError, Exit};

/// How often a task at work is listened to.
const PAUSE: Duration = Duration::from_millis(100);

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
    let mut listener = Listener::new(&archive, chosen, args);
    let attempt = match (args.attempt, listener.attempts.last()) {
        (Some(wanted), _) => Some(listener.named(Attempt(wanted))?),
        (None, Some((newest, _))) => Some(*newest),
        (None, None) if args.follow => None,
        (None, None) => {
            return Err(CliError::new(Exit::NothingToDo, format!("task '{}' has not begun", listener.task)));
        }
    };
    match args.follow {
        true => listener.follow(attempt).await?,
        false => listener.tell(attempt.unwrap_or(Attempt(1)))?,
    }
    Ok(Exit::Done)
}

struct Listener<'a> {
    archive: &'a Archive,
    chosen: FoundTask,
    task: TaskId,
    state: PathBuf,
    output: PathBuf,
    stream: bool,
    /// The task's attempts so far, and who made them.
    attempts: Vec<(Attempt, u32)>,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    silent: bool,
    as_json: bool,
    /// Whose words are told.
    speaking: Attempt,
}

impl<'a> Listener<'a> {
    fn new(archive: &'a Archive, chosen: FoundTask, args: &args::Logs) -> Listener<'a> {
        let state = archive.home.run(&chosen.found.stored.id);
        let output = chosen.found.run.options().output.as_ref().map_or_else(|| state.clone(), PathBuf::from);
        let task = chosen.task().id.clone();
        let attempts = attempts(&chosen.found.records, &task);
        Listener {
            archive,
            chosen,
            task,
            state,
            output,
            stream: args.stream,
            attempts,
            begun: Vec::new(),
            silent: true,
            as_json: args.json,
            speaking: Attempt(1),
        }
    }

    fn named(&self, wanted: Attempt) -> Result<Attempt, CliError> {
        let known = self.attempts.iter().any(|(attempt, _)| *attempt == wanted);
        known.then_some(wanted).ok_or_else(|| {
            let message = match self.attempts.last() {
                Some((newest, _)) => {
                    format!("task '{}' has no attempt {wanted}; the newest is {newest}", self.task)
                }
                None => format!("task '{}' has not begun", self.task),
            };
            CliError::new(Exit::Usage, message)
        })
    }

    fn reader(&self, attempt: Attempt, executor: u32) -> Reader {
        Reader::new(&Speaker { output: &self.output, executor, task: &self.task, attempt }, self.stream)
    }

    /// One attempt as far as it has come.
    fn tell(&mut self, attempt: Attempt) -> Result<(), CliError> {
        let Some(&(_, executor)) = self.attempts.iter().find(|(known, _)| *known == attempt) else {
            return Ok(());
        };
        self.speaking = attempt;
        let mut reader = self.reader(attempt, executor);
        match self.heard() {
            Ok(heard) if heard.attempt == attempt && heard.at_work => self.tell_spooled(&mut reader)?,
            Err(ControlError::NotThere) => self.tell_left(&mut reader)?,
            _ => self.tell_kept(&mut reader)?,
        }
        self.end_line()?;
        if self.silent {
            talk(format!("attempt {attempt} has said nothing"));
        }
        match self.attempts.len() {
            0 | 1 => {}
            several => talk(format!("this was attempt {attempt} of {several}; others with --attempt N")),
        }
        Ok(())
    }

    /// From this attempt on, until the task ends or the run is not active any more.
    async fn follow(&mut self, attempt: Option<Attempt>) -> Result<(), CliError> {
        let mut current: Option<(Attempt, Reader)> = None;
        let mut from = attempt.unwrap_or(Attempt(1));
        loop {
            let heard = match self.heard() {
                Ok(heard) => heard,
                Err(ControlError::NotThere) => break,
                Err(error) => {
                    return Err(crate::archive::live::unable(
                        &self.archive.home,
                        &self.chosen.found.stored.id,
                        error,
                    ));
                }
            };
            if heard.attempt >= from {
                if current.as_ref().is_none_or(|(attempt, _)| *attempt != heard.attempt) {
                    self.catch_up(&mut current, from, heard.attempt).await?;
                    let reader = self.reader(heard.attempt, heard.executor);
                    self.announce(heard.attempt);
                    current = Some((heard.attempt, reader));
                    from = heard.attempt;
                }
                if let Some((_, reader)) = &mut current {
                    match heard.at_work {
                        true => self.tell_spooled(reader)?,
                        false => self.tell_kept(reader)?,
                    }
                }
            }
            if heard.ended {
                self.end_line()?;
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        self.archive.home.wait_until_left(&self.chosen.found.stored.id)?;
        self.catch_up(&mut current, from, Attempt(u32::MAX)).await?;
        self.end_line()
    }

    /// The rest of the one that was listened to, and those that came and went meanwhile, as the log knows them.
    async fn catch_up(
        &mut self,
        current: &mut Option<(Attempt, Reader)>,
        from: Attempt,
        until: Attempt,
    ) -> Result<(), CliError> {
        let mut told = None;
        if let Some((attempt, mut reader)) = current.take() {
            self.tell_kept(&mut reader)?;
            told = Some(attempt);
        }
        let missed =
            |attempt: Attempt| attempt >= from && attempt < until && told.is_none_or(|told| attempt > told);
        if until.0 > from.0 + 1 {
            let found = self.archive.read(&self.chosen.found.stored).await?;
            self.attempts = attempts(&found.records, &self.task);
        }
        for (attempt, executor) in self.attempts.clone() {
            if missed(attempt) {
                self.announce(attempt);
                let mut reader = self.reader(attempt, executor);
                self.tell_left(&mut reader)?;
            }
        }
        Ok(())
    }

    fn announce(&mut self, attempt: Attempt) {
        if attempt.0 > 1 {
            let _ = self.end_line();
            talk(format!("attempt {attempt} of {}", self.task));
        }
        self.speaking = attempt;
    }

    fn heard(&self) -> Result<Heard, ControlError> {
        match control::look(&self.state, Query::Heard(self.task.clone()))? {
            View::Heard(heard) => Ok(heard),
            _ => Err(ControlError::NotThere),
        }
    }

    /// What is new of an attempt at work. What was read counts only if it is still at work then.
    fn tell_spooled(&mut self, reader: &mut Reader) -> Result<(), CliError> {
        let which = usize::from(self.stream);
        while let Ok(before) = self.heard() {
            if !before.at_work {
                return self.tell_kept(reader);
            }
            let mut ahead = reader.clone();
            let words = ahead.spooled(before.clear[which])?;
            match self.heard() {
                Ok(after) if (after.attempt, after.at_work) == (before.attempt, true) => *reader = ahead,
                _ => continue,
            }
            if words.is_empty() {
                return Ok(());
            }
            self.say(&words)?;
        }
        Ok(())
    }

    fn tell_kept(&mut self, reader: &mut Reader) -> Result<(), CliError> {
        loop {
            match reader.rest()? {
                words if words.is_empty() => return Ok(()),
                words => self.say(&words)?,
            }
        }
    }

    /// Of a run that is not active: what is kept, or what a coordinator that died has left.
    fn tell_left(&mut self, reader: &mut Reader) -> Result<(), CliError> {
        if reader.kept().exists() {
            return self.tell_kept(reader);
        }
        let at_work = matches!(&self.chosen.progress().state,
            conductor_core::run::TaskState::Running(running) if !running.ended);
        if !at_work {
            return Ok(());
        }
        let redactor = agents::redactor(self.chosen.found.run.plan(), self.chosen.task());
        let mut all = Vec::new();
        loop {
            match reader.left()? {
                words if words.is_empty() => break,
                words => all.extend(words),
            }
        }
        let text = redactor.text(&String::from_utf8_lossy(&all)).into_owned();
        self.say(text.as_bytes())
    }

    /// In whole lines: an escape that comes in two parts must not get through.
    fn say(&mut self, words: &[u8]) -> Result<(), CliError> {
        self.silent = false;
        self.begun.extend_from_slice(words);
        let whole = self.begun.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.begun.drain(..whole).collect();
        self.tell_lines(&shown(&lines))
    }

    fn tell_lines(&self, text: &str) -> Result<(), CliError> {
        if !self.as_json {
            console::answer_bytes(console::clean(text).as_bytes())?;
            return Ok(());
        }
        for line in text.lines() {
            let object = json!({
                "schema": "conductor.log/1", "run": self.chosen.found.stored.id, "task": self.task,
                "attempt": self.speaking, "line": line,
            });
            console::answer_bytes(format!("{}\n", console::clean(&object.to_string())).as_bytes())?;
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), CliError> {
        if !self.begun.is_empty() {
            let rest = std::mem::take(&mut self.begun);
            self.tell_lines(&format!("{}\n", shown(&rest)))?;
        }
        Ok(())
    }
}

fn attempts(records: &[Record], task: &TaskId) -> Vec<(Attempt, u32)> {
    let started = records.iter().filter_map(|record| match &record.event {
        Event::AttemptStarted { task: whose, attempt, executor, .. } if whose == task => {
            Some((*attempt, *executor))
        }
        _ => None,
    });
    started.collect()
}
