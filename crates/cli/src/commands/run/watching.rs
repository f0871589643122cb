//! `run --watch`: edits of the task file are taken into the run that goes on.
//!
//! An edit that is not valid is reported and changes nothing. Tasks that have begun keep their text, and no task
//! is removed.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::{Amendment, Edit, Plan};
use conductor_core::run::Run;
use conductor_core::run::event::Options;
use conductor_core::schedule::{Refusal, Request};
use conductor_engine::dispatch::Control;
use conductor_engine::expertise::{self, Wanted};
use conductor_engine::stores::{EarlierRuns, Store};
use tokio::sync::mpsc::UnboundedSender;

use super::arguments::{Chosen, Resolved};
use super::checking::absent;
use super::places::{ITS_WORD, unsaid_prompt};
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;

/// How often the file is looked at. It is read when it has been the same for two looks.
const LOOK: Duration = Duration::from_millis(250);

/// A task file, and what of it the run knows.
pub(super) struct Watched {
    file: PathBuf,
    source: String,
    chosen: Chosen,
    known: Plan,
    store: Arc<dyn Store>,
    /// Whether tasks are kept apart by what they touched in former runs.
    learns: bool,
    /// Tasks work in the user's own directory, and the user has not said so: there is no repository.
    in_place_unsaid: bool,
}

/// What tells one state of a file from another without reading it.
type Looks = Option<(u64, u64, i64, i64)>;

impl Watched {
    /// Nothing without --watch.
    pub(super) fn new(
        args: &Resolved<'_>,
        source: String,
        run: &Run,
        store: Arc<dyn Store>,
        (options, run_repo): (&Options, bool),
    ) -> Result<Option<Watched>, CliError> {
        if !args.typed.watch {
            return Ok(None);
        }
        let file = PathBuf::from(&source);
        if !file.is_file() {
            let message = format!("there is no file {source} any more that --watch could look at");
            return Err(CliError::new(Exit::Usage, message));
        }
        let chosen = Chosen::of(args.typed, Some(options));
        // What was edited since the run was left is seen at the first look.
        let known = as_in_file(run);
        let learns = run_repo && !options.allow_overlap;
        let in_place_unsaid = !run_repo && args.typed.isolation.is_none() && run.plan().isolation.is_none();
        Ok(Some(Watched { file, source, chosen, known, store, learns, in_place_unsaid }))
    }

    pub(super) async fn watch(mut self, control: Control, words: UnboundedSender<String>) {
        let mut seen: Looks = None;
        let mut read: Looks = None;
        loop {
            let looks = self.look();
            if looks.is_some() && looks == seen && looks != read {
                // The first reading is of what is known already, or of what was edited in the meantime.
                self.take_in(&control, &words).await;
                read = looks;
            }
            seen = looks;
            tokio::time::sleep(LOOK).await;
        }
    }

    fn look(&self) -> Looks {
        let file = std::fs::metadata(&self.file).ok()?;
        Some((file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
    }

    async fn take_in(&mut self, control: &Control, words: &UnboundedSender<String>) {
        let say = |text: String| drop(words.send(text));
        let name = self.file.display().to_string();
        let plan = match self.read() {
            Ok(plan) => plan,
            Err(why) => {
                return say(format!("{name} was edited and is not valid; the run goes on as before\n{why}"));
            }
        };
        let Edit { amendment, removed, settings } = Edit::between(&self.known, &plan);
        match self.amended(control, amendment, &plan, &say).await {
            Ok(()) => {}
            Err(why) => return say(format!("{name} was edited, but {why}; the run goes on as before")),
        }
        for task in removed {
            say(format!(
                "task '{task}' is not in {name} any more and stays in the run; `conductor cancel {task}` takes it out"
            ));
        }
        if settings {
            say(format!("what {name} says beside its tasks counts from the next run on"));
        }
        self.known = plan;
    }

    /// The file as it is now, or what is wrong with it.
    fn read(&self) -> Result<Plan, String> {
        let (plan, findings) =
            diagnostics::check(&self.file).map_err(|cli_error| cli_error.message().to_owned())?;
        let plan = plan.ok_or_else(|| findings.text())?;
        self.chosen.of_plan(plan).map_err(|error| error.to_string())
    }

    /// A task that has begun keeps its text, and does not keep the others from being updated.
    async fn amended(
        &self,
        control: &Control,
        mut amendment: Amendment,
        plan: &Plan,
        say: &impl Fn(String),
    ) -> Result<(), String> {
        if amendment.is_empty() {
            return Ok(());
        }
        if let Some(task) = unsaid_prompt(&amendment.tasks, None).filter(|_| self.in_place_unsaid) {
            return Err(format!(
                "task '{}' is for an agent, and there is no git repository ({ITS_WORD})",
                task.id
            ));
        }
        let mut joining = Plan { tasks: amendment.tasks, ..plan.clone() };
        amendment.absent = absent(&joining)?;
        // What earlier runs tell is good to know, and no reason to fail; what cannot be read was told at the start.
        let mut earlier = EarlierRuns::of(self.store.as_ref());
        if let Some(directory) = self.file.parent() {
            let place = (directory, self.source.as_str());
            // Which models are good at what was told to the run when it began.
            let wanted = Wanted { models: false, ..Wanted::by(&joining, self.learns) };
            let _ = expertise::teach(&mut earlier, place, &mut joining, wanted).await;
        }
        amendment.tasks = joining.tasks;
        loop {
            match control.ask_and_wait(Request::Amend(Box::new(amendment.clone()))).await {
                Some(Err(Refusal::Begun(task))) => {
                    say(format!("task '{task}' has begun and keeps its text"));
                    amendment.tasks.retain(|other| other.id != task);
                }
                Some(Err(refusal)) => return Err(refusal.to_string()),
                Some(Ok(())) | None => return Ok(()),
            }
        }
    }
}

/// A run's plan without the tasks that agents added, which are in no file.
fn as_in_file(run: &Run) -> Plan {
    let mut known = run.plan().as_ref().clone();
    known.tasks.retain(|task| !run.follow_ups().contains(&task.id));
    known
}
