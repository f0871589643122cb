//! The driver of one session: from the anchor to the work in the workspace, taken up wherever a driver before it was killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use conductor_core::file::parse_duration;
use conductor_core::plan::Transport as Kind;
use conductor_core::run::event::FailureClass;
use conductor_core::values::units::Usd;
use serde_json::json;

use super::ending::{no_remote, refused, told, unkept};
use super::looking::{Look, Looking};
use super::managed::Managed;
use super::pull_request::Refused;
use super::record::{Record, Stage, Submission};
use super::routine::Routine;
use super::runner::Runner;
use super::telling::{End, Job, Meter, Word, listen, note, tell, tell_end};
use super::transport::{Assignment, Factory, LONGEST_PROMPT, Refusal, SessionName, Surroundings, Transport};
use super::{POLL, words};
use crate::git::GitError;
use crate::git::courier::Courier;
use crate::git::workspaces::branch_word;
use crate::host::clock::wall;
use crate::host::home::Home;

/// How often the remote is looked at.
const USUAL_POLL: Duration = Duration::from_secs(20);

/// How many looks pass before it is settled that there is nothing: of a session that may have been created, and of work
/// that a session says to have pushed.
pub(super) const LOOKS: u32 = 4;

pub(super) struct Driver {
    pub(super) job: Job,
    pub(super) courier: Courier,
    pub(super) record: Record,
    pub(super) transport: Box<dyn Transport>,
    pub(super) kind: Kind,
    pub(super) says: Receiver<Word>,
    pub(super) poll: Duration,
    pub(super) looking: Looking,
    /// What is recorded once the coordinator has been told how it ended. Before that, a driver that is killed has handed in
    /// nothing, and the next one hands in the same.
    pub(super) afterwards: Option<Stage>,
    /// A pull request that could not be opened so far.
    pub(super) refused: Refused,
    pub(super) run: String,
    /// Held as long as this lives: two drivers of a task never act on one record.
    _alone: File,
}

/// A step that ends everything gives how it ended.
pub(super) type Step<T> = Result<T, End>;

/// Drives the session that standard input tells of; everything it has to say goes to standard output.
pub fn drive(factory: Factory<'_>) -> io::Result<()> {
    let mut first = String::new();
    io::stdin().lock().read_line(&mut first)?;
    let job: Job = serde_json::from_str(&first)?;
    let says = listen();
    match Driver::new(job, says, factory) {
        Ok(mut driver) => {
            let end = driver.carry_out().unwrap_or_else(|end| end);
            tell_end(&end, wall().0);
            driver.conclude();
        }
        Err(end) => tell_end(&end, wall().0),
    }
    Ok(())
}

impl Driver {
    fn new(job: Job, says: Receiver<Word>, factory: Factory<'_>) -> Step<Driver> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let run = variable("CONDUCTOR_RUN").unwrap_or_else(|| "run".to_owned());
        let home = Home::open().map_err(unkept)?;
        let folder = home.root().join("runs").join(&run).join("cloud").join(branch_word(&job.task));
        let alone = Record::claim(&folder).map_err(unkept)?;
        let record = Record::open(&folder).map_err(unkept)?;
        let courier = Courier::open(&folder, &job.directory, job.cloud.remote())
            .map_err(|error| no_remote(&job, &error))?;
        let begun = record
            .current
            .as_ref()
            .filter(|current| matches!(current.stage, Stage::Creating | Stage::Live { .. }));
        let kind = begun.map(|current| current.transport).or(job.cloud.transport).unwrap_or(Kind::Browser);
        let variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let around = Surroundings { home: PathBuf::from(home.root()), folder, variables };
        let transport = transport(kind, &job, &around, factory).map_err(refused)?;
        let poll = variable(POLL).and_then(|text| parse_duration(&text).ok());
        let poll = poll.map_or(USUAL_POLL, |poll| Duration::from_millis(poll.0.max(1)));
        let looking = Looking::default();
        Ok(Driver {
            job,
            courier,
            record,
            transport,
            kind,
            says,
            poll,
            looking,
            afterwards: None,
            refused: Refused::default(),
            run,
            _alone: alone,
        })
    }

    /// One that cannot be recorded stays as it was: the same work is handed in again, and nothing is submitted.
    fn conclude(&mut self) {
        if let Some(stage) = self.afterwards.take()
            && let Err(error) = self.record.set(stage)
        {
            note(format!("that its work was taken could not be recorded: {error}"));
        }
    }

    /// A new anchor, and a session for it.
    pub(super) fn submit_anew(&mut self) -> Step<End> {
        if let Some(most) = self.job.cloud.max_sessions.filter(|most| self.record.sessions >= *most) {
            let message = format!(
                "max_sessions {most} is reached: no further session is started for {}",
                self.job.task
            );
            return Err(End::failed(FailureClass::Budget, message));
        }
        let number = self.record.submissions + 1;
        let mark = format!("{}/{}/{number}", self.run, self.job.task);
        let branch = format!("conductor-anchor/{}/{}-{number}", self.run, branch_word(&self.job.task));
        let made = || {
            let before = self.courier.tips()?;
            let head = self.courier.head()?;
            let anchor = self.courier.mark(&head, &words::anchor(&self.job.name, &mark))?;
            let count = self.courier.unpublished(&head, &before)?;
            Ok::<_, GitError>((before, anchor, count))
        };
        let (before, anchor, count) = made().map_err(|error| no_remote(&self.job, &error))?;
        let submission = Submission {
            mark,
            transport: self.kind,
            branch,
            anchor,
            before,
            stage: Stage::Intended,
            at: wall().0,
            anchored: false,
            pull_request: None,
            meter: Meter::default(),
        };
        self.checked_prompt(&submission)?;
        let url = self.courier.shown_url();
        note(format!(
            "pushes {count} commits that are not at {url} yet, and an empty one, as {}",
            submission.branch
        ));
        self.record.submissions = number;
        self.record.current = Some(submission);
        self.record.keep().map_err(unkept)?;
        self.submit()
    }

    /// Pushes the anchor that was intended and has a session created for it.
    pub(super) fn submit(&mut self) -> Step<End> {
        let submission = self.current()?;
        let prompt = self.checked_prompt(&submission)?;
        if let Err(error) = self.courier.push_new(&submission.anchor, &submission.branch) {
            self.keep(Stage::Over)?;
            return Err(no_remote(&self.job, &error));
        }
        if let Some(current) = &mut self.record.current {
            current.anchored = true;
        }
        self.record.sessions += 1;
        // From here on a session may exist.
        self.keep(Stage::Creating)?;
        match self.with_assignment(&submission, &prompt, |transport, assignment| transport.create(assignment))
        {
            Ok(session) => self.live(session),
            Err(Refusal::Unsure(why)) => self.resolve(&why),
            Err(refusal) => {
                self.record.sessions = self.record.sessions.saturating_sub(1);
                self.over()?;
                Err(refused(refusal))
            }
        }
    }

    /// A session may have been created: it is looked for, and so is its work. Only what proves that there is none, or a
    /// person, lets the prompt be submitted once more.
    pub(super) fn resolve(&mut self, why: &str) -> Step<End> {
        note(format!("whether there is a session is not known: {why}"));
        let submission = self.current()?;
        let prompt = self.checked_prompt(&submission)?;
        let mut absent = 0;
        for _ in 0..LOOKS {
            match self
                .with_assignment(&submission, &prompt, |transport, assignment| transport.find(assignment))
            {
                Ok(Some(session)) => return self.live(session),
                Ok(None) => absent += 1,
                Err(Refusal::Unable(_)) => {}
                Err(refusal) => note(told(&refusal)),
            }
            if let Some(Look::Found(_) | Look::Several(_)) = self.look() {
                note("its work is on the remote, so there is one");
                return self.live(SessionName::new("", None));
            }
            self.pause(None, self.poll)?;
        }
        if absent == LOOKS {
            note("its provider has no such session: the prompt is submitted");
            self.keep(Stage::Intended)?;
            self.record.sessions = self.record.sessions.saturating_sub(1);
            return self.submit();
        }
        self.ask_to_submit(why)
    }

    pub(super) fn ask_to_submit(&mut self, why: &str) -> Step<End> {
        let mark = self
            .record
            .current
            .as_ref()
            .map_or_else(|| self.job.session.clone(), |current| current.mark.clone());
        let what = format!("submit the prompt of {} again ({mark})", self.job.task);
        let why = format!(
            "{why}. A session may be at work; nothing of it is on the remote. Look at your sessions first"
        );
        tell(&json!({ "type": "question", "kind": "submit", "what": what, "why": why }));
        match self.answer()? {
            (true, _, _) => {
                self.over()?;
                self.submit_anew()
            }
            (false, true, _) => Err(End::Left),
            (false, false, said) => {
                self.over()?;
                let said = said.unwrap_or_else(|| "it was not allowed".to_owned());
                Err(End::failed(FailureClass::Killed, format!("{why}; it is not submitted again: {said}")))
            }
        }
    }

    /// What a person answers: whether it is allowed, whether that comes later, and why not.
    pub(super) fn answer(&mut self) -> Step<(bool, bool, Option<String>)> {
        loop {
            match self.says.recv() {
                Ok(Word::Answer { allow, later, why }) => return Ok((allow, later, why)),
                Ok(Word::Abandon) => {
                    self.over()?;
                    return Err(End::Left);
                }
                Ok(Word::Words(_)) => {}
                Ok(Word::Leave) | Err(_) => return Err(End::Left),
            }
        }
    }

    fn live(&mut self, session: SessionName) -> Step<End> {
        self.keep(Stage::Live { session: session.clone(), asked: false, before: None })?;
        self.tell_session(&session);
        self.watch(session, None)
    }

    pub(super) fn tell_session(&self, session: &SessionName) {
        if !session.id.is_empty() {
            note(format!("session {}", session.recorded()));
            tell(&json!({ "type": "session", "id": session.recorded() }));
        }
    }

    pub(super) fn say(&mut self, session: &SessionName, words: &str) -> Step<()> {
        match self.transport.send(session, words) {
            Ok(()) => Ok(()),
            Err(Refusal::Unable(why)) => {
                note(format!("it was not told: {why}"));
                Ok(())
            }
            Err(refusal) => Err(refused(refusal)),
        }
    }

    /// Waits, and sees to what is said meanwhile.
    pub(super) fn pause(&mut self, session: Option<&SessionName>, length: Duration) -> Step<()> {
        let until = Instant::now() + length;
        loop {
            match self.says.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(word) => self.on_word(session, word)?,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(End::Left),
            }
        }
    }

    pub(super) fn on_word(&mut self, session: Option<&SessionName>, word: Word) -> Step<()> {
        match (word, session) {
            (Word::Words(words), Some(session)) => self.say(session, &words),
            (Word::Leave, _) => Err(End::Left),
            (Word::Abandon, session) => {
                if let Some(Err(refusal)) = session.map(|session| self.transport.stop(session)) {
                    let at = session.map_or("", SessionName::recorded);
                    note(format!("the session {at} may still be at work: {}", told(&refusal)));
                }
                self.over()?;
                Err(End::Left)
            }
            _ => Ok(()),
        }
    }

    /// One look at the remote; what cannot be seen now is looked for again.
    pub(super) fn look(&mut self) -> Option<Look> {
        let current = self.record.current.as_ref()?;
        match self.looking.look(&self.courier, current) {
            Ok(found) => Some(found),
            Err(error) => {
                note(format!("the remote cannot be looked at: {error}"));
                None
            }
        }
    }

    pub(super) fn current(&self) -> Step<Submission> {
        self.record
            .current
            .clone()
            .ok_or_else(|| End::failed(FailureClass::Internal, "nothing was submitted"))
    }

    pub(super) fn keep(&mut self, stage: Stage) -> Step<()> {
        self.record.set(stage).map_err(unkept)
    }

    /// It is over: nothing of it is looked for any more.
    pub(super) fn over(&mut self) -> Step<()> {
        self.lift_anchor();
        self.keep(Stage::Over)
    }

    /// Takes the anchor off the remote. One that stays is told of, and harms nothing.
    pub(super) fn lift_anchor(&mut self) {
        let Some(current) = self.record.current.as_mut().filter(|current| current.anchored) else { return };
        match self.courier.remove(&current.branch, &current.anchor) {
            Ok(()) => current.anchored = false,
            Err(error) => note(format!(
                "the branch {} stays on the remote: {error}; remove it with: git push {} --delete {}",
                current.branch,
                self.job.cloud.remote(),
                current.branch
            )),
        }
    }

    fn checked_prompt(&self, submission: &Submission) -> Step<String> {
        let task = self.job.anew.as_ref().unwrap_or(&self.job.words);
        let prompt = words::prompt(task, &submission.branch, &submission.anchor, &submission.mark);
        let length = prompt.chars().count();
        match length > LONGEST_PROMPT {
            true => Err(End::failed(
                FailureClass::TooLong,
                format!(
                    "the prompt has {length} characters, and a session takes at most {LONGEST_PROMPT}; make it shorter, or put the rest into a file of the repository"
                ),
            )),
            false => Ok(prompt),
        }
    }

    fn with_assignment<T>(
        &mut self,
        submission: &Submission,
        prompt: &str,
        ask: impl FnOnce(&mut dyn Transport, &Assignment<'_>) -> T,
    ) -> T {
        let title = format!("{} ({})", self.job.name, submission.mark);
        let repository = self.job.repository.clone().or_else(|| self.courier.repository());
        let assignment = Assignment {
            title: &title,
            prompt,
            repository: repository.as_deref(),
            remote: self.courier.url(),
            branch: &submission.branch,
            mark: &submission.mark,
            max_cost: self.job.max_cost.map(Usd),
            model: self.job.model.as_deref(),
            settings: &self.job.cloud,
        };
        ask(&mut *self.transport, &assignment)
    }
}

fn transport(
    kind: Kind,
    job: &Job,
    around: &Surroundings,
    factory: Factory<'_>,
) -> Result<Box<dyn Transport>, Refusal> {
    if let Some(made) = factory(kind, &job.cloud, around) {
        return made;
    }
    Ok(match kind {
        Kind::Routine => Box::new(Routine::new(&job.cloud, around)?),
        Kind::Managed => Box::new(Managed::new(&job.cloud, around)?),
        Kind::Runner => Box::new(Runner::new(&job.cloud)),
        Kind::Browser => {
            let message =
                "this program was built without the transport 'browser'; use routine, managed or runner";
            return Err(Refusal::refused(FailureClass::Unstartable, message));
        }
    })
}
