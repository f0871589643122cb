//! One attempt at one task: workspace, process, transcript, our own look at the result, report.

mod accounts;
mod asking;
mod base;
mod baselines;
mod bill;
mod checks;
mod crowd;
mod debut;
mod judging;
mod lines;
mod mail;
mod measuring;
mod parking;
mod plan;
mod repetition;
mod reviewing;
mod running;
mod securing;
mod skills;
mod supplies;
mod talking;
mod talks;

use std::borrow::Cow;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use conductor_core::costs;
use conductor_core::event::{Change, Failure, FailureClass, Hand, Outcome, Usage};
use conductor_core::ids::{Attempt, RunId, TaskId};
use conductor_core::plan::{Changes, Limits, Plan, Task, Work};
use conductor_core::scheduler::{Beginning, Input};
use conductor_core::units::Usd;
use tokio::sync::{mpsc, watch};

use crate::agents::{self, Agent, AgentError, Brief, Caller, Engagement, Session};
use crate::board::{Board, Course, Phase};
use crate::checkpoints::Checkpoint;
use crate::clock::wall;
use crate::drive::{Control, Message};
use crate::mcp::{Desk, Office, Pass};
use crate::merge::short;
use crate::process::{self, Exit, Mark};
use crate::prompt::{self, Facts, Footing, Offered};
use crate::redact;
use crate::skills::Applied;
use crate::transcript::{Marks, Speaker, Transcript};
use crate::workspaces::{Guest, Rooms, Seat, SettingsNews, WorkspaceError, Workspaces};
use bill::Difference;
use judging::Watched;
use parking::Parked;
use talking::Conversation;
use talks::Talks;

pub(crate) use accounts::{Accounts, left_usage};
pub(crate) use base::BaseChecks;
pub(crate) use baselines::Baselines;
pub(crate) use checks::Check;
pub(crate) use crowd::Crowd;
pub(crate) use debut::Debuts;
pub(crate) use mail::Mail;
pub use plan::CurrentPlan;
pub(crate) use supplies::Supplies;
pub use talking::overhear;

/// What is to be done, by whom, as which try, from where.
#[derive(Debug, Clone)]
pub struct Order {
    pub place: usize,
    pub task: TaskId,
    pub attempt: Attempt,
    pub executor: u32,
    /// None for a command.
    pub hand: Option<Box<Hand>>,
    pub beginning: Option<Box<Beginning>>,
}

impl Order {
    /// The task with the agent and model that were chosen for this attempt.
    fn task<'p>(&self, plan: &'p Plan) -> Cow<'p, Task> {
        let task = &plan.tasks[self.place];
        match self.hand.as_deref() {
            Some(hand) if task.agent.as_ref() != Some(&hand.agent) || task.model != hand.model => {
                let (agent, model) = (Some(hand.agent.clone()), hand.model.clone());
                Cow::Owned(Task { agent, model, ..task.clone() })
            }
            _ => Cow::Borrowed(task),
        }
    }
}

/// How urgently an attempt is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    No,
    Ask,
    Kill,
}

/// Everything attempts of one run share.
pub struct Worker {
    pub run: RunId,
    pub plan: CurrentPlan,
    pub rooms: Rooms,
    pub caller: Caller,
    pub output: PathBuf,
    /// Files and folders in the user's directory that are ours to write to.
    pub(crate) ours: Vec<PathBuf>,
    pub(crate) mail: Mail,
    pub(crate) marks: Marks,
    pub(crate) board: Board,
    pub(crate) notices: mpsc::UnboundedSender<String>,
    pub(crate) reports: mpsc::UnboundedSender<Message>,
    /// What the user was told and need not hear again.
    pub(crate) warned: std::sync::Mutex<std::collections::BTreeSet<String>>,
    pub(crate) accounts: Accounts,
    pub(crate) debuts: Debuts,
    pub(crate) baselines: Baselines,
    pub(crate) base_checks: BaseChecks,
    pub(crate) crowd: Crowd,
    pub(crate) desk: Desk,
    pub(crate) supplies: Supplies,
    /// The checkpoint that was made last before something risky.
    pub(crate) secured: Arc<std::sync::Mutex<Option<Checkpoint>>>,
    /// Of the run as it was taken up.
    pub(crate) limits: Limits,
}

/// An attempt under way: who works where.
struct Visit<'a> {
    order: &'a Order,
    /// As it was when the attempt began: nothing about its own task changes after that.
    plan: &'a Plan,
    task: &'a Task,
    guest: Guest,
    seat: Seat,
    workspaces: Arc<dyn Workspaces>,
    blocks: bool,
    /// What was in the directory before the work, where a change in it is due and cannot be told otherwise.
    in_place: OnceLock<Watched>,
    skills: OnceLock<Vec<Applied>>,
    course: &'a Course<'a>,
}

impl Worker {
    /// Carries the order out and reports how it ended, whatever happens.
    pub async fn work(self: Arc<Self>, order: Order, stop: watch::Receiver<Stop>) {
        let course = Course::begin(&self.board, &order.task, order.attempt);
        let begun = Instant::now();
        let (outcome, change): (Outcome, Option<Change>) = match self.attempt(&order, &course, stop).await {
            Ok(change) => (Outcome::Succeeded, change),
            Err((outcome, kept)) => {
                let plan = self.plan.get();
                let outcome = self.caller.redactor(&plan, &plan.tasks[order.place]).outcome(outcome);
                (self.excused(&order.task, begun, outcome), kept)
            }
        };
        let phases = Some(course.finish());
        let change = change.map(Box::new);
        let (task, attempt) = (order.task, order.attempt);
        self.report(Input::AttemptEnded { task, attempt, outcome, change, phases });
    }

    /// A failed attempt also returns the work it left, so that the next attempt can continue from it.
    async fn attempt(
        &self,
        order: &Order,
        course: &Course<'_>,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<Option<Change>, (Outcome, Option<Change>)> {
        let plan = &*self.plan.get();
        let task = &*order.task(plan);
        self.secure(order, task, &stop).await.map_err(|outcome| (outcome, None))?;
        let (workspaces, blocks) = self.rooms.of(task).map_err(|error| (no_workspace(&error), None))?;
        let guest = self.guest(order);
        let seat = {
            let (workspaces, guest) = (workspaces.clone(), guest.clone());
            let seated = self.seated(blocks, &stop, move || workspaces.prepare(&guest)).await;
            seated.map_err(|outcome| (outcome, None))?
        };
        // Not before: making its workspace takes away what the last guest left there.
        self.wait_for_room(&stop).await;
        let seat = self.at_home(task, seat, &stop).await.map_err(|outcome| (outcome, None))?;
        let visit = Visit {
            order,
            plan,
            task,
            guest,
            seat,
            workspaces,
            blocks,
            in_place: OnceLock::new(),
            skills: OnceLock::new(),
            course,
        };
        let goes_on = matches!(task.work, Work::Prompt(_));
        let done = self.perform(&visit, &mut stop).await;
        self.look_at_settings(blocks);
        match done {
            done if blocks && task.changes == Changes::Discarded => {
                self.discard(visit, &stop).await;
                done.map_err(|outcome| (outcome, None))
            }
            Err(outcome) if blocks => {
                let kept = self.rescue(visit, &stop).await;
                Err((outcome, kept.filter(|_| goes_on)))
            }
            ended => ended.map_err(|outcome| (outcome, None)),
        }
    }

    /// Whether what the user's git is configured by is still what it was: told before anything comes of the work.
    fn look_at_settings(&self, is_apart: bool) {
        let news = self.rooms.yard().filter(|_| is_apart).and_then(|yard| yard.settings_news());
        if let Some(SettingsNews { what, undo, earlier }) = news {
            self.report(Input::GitSettingsTouched { what, undo, earlier });
        }
    }

    /// Setting up, the work and our look at it; where that finds something, again, as often as the task allows. What
    /// comes of it is collected while the transcript can still be written to.
    async fn perform(
        &self,
        visit: &Visit<'_>,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Change>, Outcome> {
        let transcript = self.open_transcript(&self.speaker(visit.order), stop).await?;
        self.marks.begin(visit.order.executor);
        let mark = self.marks.transcript(visit.order.executor);
        let mut transcript = transcript.redacted(self.caller.redactor(visit.plan, visit.task)).marked(mark);
        let done = self.rounds(visit, &mut transcript, stop).await;
        // The outcome stands whether or not the transcript could be moved; where not, it stays where it was written.
        let _ = transcript.finish();
        done
    }

    async fn rounds(
        &self,
        visit: &Visit<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Change>, Outcome> {
        let mut untouched = self.set_up(visit, transcript, stop).await?;
        let on_base = self.check_base(visit, &mut untouched, transcript, stop).await?;
        let mut talks = Talks::new(visit);
        talks.questions = self.guarded(visit, talks.questions);
        self.apply_skills(visit, &talks, transcript, stop).await?;
        self.look_before(visit).await;
        let mut feedback = talks.feedback(visit);
        loop {
            let round = feedback.as_ref().map_or(0, |(number, _)| *number);
            let found = match self.one_round(visit, feedback.as_ref(), &mut talks, transcript, stop).await {
                Ok(()) => self.judged(visit, untouched.as_deref(), transcript, stop).await,
                Err(outcome) => Err(outcome),
            };
            match found {
                Err(Outcome::Failed(failure)) if talks.begin_anew(&failure) => {
                    transcript.note("[conductor: the conversation cannot be gone on with; a new one begins]");
                }
                Err(Outcome::Failed(failure))
                    if round >= visit.task.fix_rounds.min(1)
                        && on_base.knows(&failure, &visit.seat.directory) =>
                {
                    let message = format!("{}, as on the untouched base", failure.message);
                    return Err(Outcome::Failed(Failure {
                        class: FailureClass::FailsOnBase,
                        message,
                        ..failure
                    }));
                }
                Err(Outcome::Failed(failure)) if is_mendable(&failure) && round < visit.task.fix_rounds => {
                    transcript.note(&format!("[conductor: {}; round {}]", failure.message, round + 1));
                    let task = &visit.order.task;
                    self.notice(format!("{task} goes back to be mended: {}", failure.message));
                    feedback = Some((round + 1, failure));
                }
                other => return other,
            }
            if *stop.borrow() != Stop::No {
                return Err(Outcome::Interrupted);
            }
        }
    }

    /// The agent's work, then the commands that check it.
    async fn one_round(
        &self,
        visit: &Visit<'_>,
        feedback: Option<&(u32, Failure)>,
        talks: &mut Talks,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(), Outcome> {
        let agent = agents::agent(visit.plan, visit.task.agent_name()).map_err(unfit)?;
        let seat = self.supplied(stop, || self.with_feedback(visit, feedback)).await;
        let seat = seat.map_err(|error| no_workspace(&error))?;
        let Talks { session, questions, .. } = &*talks;
        let known = session.begun && agent.abilities().resumes;
        let round = feedback.map_or(0, |(round, _)| *round);
        let remarks = talks.remarks(&self.mail, &visit.order.task);
        let words = |known: bool| {
            let told = self.words(visit, &seat, (feedback, talks.footing(round)), known)?;
            Ok(told + &remarks)
        };
        let (anew, words) = (known.then(|| words(false)).transpose()?, words(known)?);
        if !session.begun && !agent.names_conversations() {
            self.tell_session(visit, &session.id);
        }
        let (task, caller) = (visit.task, &self.caller);
        let manner = prompt::manner(visit.plan, task);
        let pass = self.pass(visit, questions).await?;
        let tools = pass.as_ref();
        let brief = Brief { task, seat: &seat, caller, words, anew, session, questions, manner, tools };
        visit.course.enter(Phase::Working);
        let (talk, exit) = self.converse(visit, agent, &brief, transcript, stop, true).await?;
        visit.course.enter(Phase::Verifying);
        let name = talk.session().unwrap_or(&session.id).to_owned();
        talks.session = Session { id: name, begun: true };
        let cut = talk.cut().map(|cut| transcript.redactor().outcome(cut));
        talks.spent |= talk.spent();
        let ending = talk.finish(exit.map_err(Outcome::Failed)?, transcript.redactor());
        if let Some(cut) = cut {
            return Err(cut);
        }
        if let Some(until) = ending.parked {
            self.park(visit.task, until);
            return Err(Outcome::Interrupted);
        }
        match ending.outcome {
            Outcome::Succeeded => {}
            Outcome::Failed(failure) if matches!(visit.task.work, Work::Run(_)) => {
                return Err(Outcome::Failed(checks::with_telling_line(visit.task, failure, transcript)));
            }
            other => return Err(other),
        }
        if matches!(visit.task.work, Work::Prompt(_)) {
            let (task, attempt) = (visit.order.task.clone(), visit.order.attempt);
            self.report(Input::WorkHandedIn { task, attempt });
        }
        self.look_after(visit).await;
        self.verify(visit, transcript, stop).await.map_err(Outcome::Failed)
    }

    /// A way in for its agent to say more than its work does, where the run takes that.
    async fn pass(&self, visit: &Visit<'_>, questions: &agents::Questions) -> Result<Option<Pass>, Outcome> {
        let Some(Offered { adds }) = Offered::of(visit.plan, visit.task, &self.limits) else {
            return Ok(None);
        };
        let office = Office {
            task: visit.order.task.clone(),
            attempt: visit.order.attempt,
            plan: self.plan.clone(),
            control: Control::new(self.reports.clone()),
            questions: questions.clone(),
            board: self.board.clone(),
            redactor: self.caller.redactor(visit.plan, visit.task),
            reports: Default::default(),
            adds,
            asks: self.limits.asks_about_follow_ups(),
        };
        self.desk.admit(office).await.map(Some).map_err(|error| unfit_stream(&error))
    }

    /// Engages an agent and listens until its process is gone. `goes_on` where the task's next attempt may go on with
    /// the conversation.
    async fn converse(
        &self,
        visit: &Visit<'_>,
        agent: &dyn Agent,
        brief: &Brief<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
        goes_on: bool,
    ) -> Result<(Conversation, Result<Exit, Failure>), Outcome> {
        let Engagement { launch, translator } = agent.engage(brief).map_err(unfit)?;
        let speaker = self.speaker(visit.order);
        let stream =
            self.supplied(stop, || launch.talks.then(|| Transcript::open_stream(&speaker)).transpose()).await;
        let stream = stream.map_err(|error| unfit_stream(&error))?;
        if stream.is_some()
            && let Err(error) = self.accounts.note(&speaker, brief.task, brief.session)
        {
            let task = &visit.order.task;
            self.notice(format!("what {task} spends if we are killed could not be counted later: {error}"));
        }
        let mark = self.marks.stream(visit.order.executor);
        let stream = stream.map(|stream| stream.redacted(transcript.redactor().clone()).marked(mark));
        let mut talk = Conversation::new(translator, stream, brief.task, brief.questions.clone());
        talk.told = (goes_on && matches!(brief.task.work, Work::Prompt(_))).then(|| brief.session.id.clone());
        let _place = tokio::select! {
            biased;
            place = self.crowd.place(brief.task.agent_name()) => place,
            _ = stop.wait_for(|wish| *wish != Stop::No) => return Err(Outcome::Interrupted),
        };
        if agent.sets_up_its_home() {
            let stopped = stop.wait_for(|wish| *wish != Stop::No);
            tokio::select! {
                debut = self.debuts.next(brief.task.agent_name()) => talk.debut = debut,
                _ = stopped => return Err(Outcome::Interrupted),
            }
        }
        let exit = self.run_talking(visit.order, &launch, transcript, stop, Some(&mut talk)).await;
        Ok((talk, exit))
    }

    /// Its agent's own home, which stays for the task's next attempts: its conversations are in there.
    async fn at_home(
        &self,
        task: &Task,
        mut seat: Seat,
        stop: &watch::Receiver<Stop>,
    ) -> Result<Seat, Outcome> {
        if task.has_own_agent_home()
            && let Some(name) =
                agents::agent(&self.plan.get(), task.agent_name()).map_err(unfit)?.home_variable()
        {
            let home = self.output.join("agent_homes").join(task.id.as_str());
            let make = || std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&home);
            self.supplied(stop, make).await.map_err(|error| unfit_stream(&error))?;
            seat.env.push((name.to_owned(), home.display().to_string()));
        }
        Ok(seat)
    }

    /// By which name a conversation can be gone on with; a command has none.
    fn tell_session(&self, visit: &Visit<'_>, name: &str) {
        if matches!(visit.task.work, Work::Prompt(_)) {
            let (task, attempt) = (visit.order.task.clone(), visit.order.attempt);
            self.report(Input::SessionStarted { task, attempt, session: name.to_owned() });
        }
    }

    /// No task is to ask this provider before then.
    fn park(&self, task: &Task, said: Option<i64>) {
        let Parked { until, notice } = parking::parked(task.agent_name(), said, wall());
        notice.into_iter().for_each(|notice| self.notice(notice));
        self.report(Input::ProviderParked { agent: task.agent_name().to_owned(), until });
    }

    /// What a prompt is told, with all there is to know now.
    fn words(
        &self,
        visit: &Visit<'_>,
        seat: &Seat,
        (feedback, footing): (Option<&(u32, Failure)>, Footing),
        known: bool,
    ) -> Result<String, Outcome> {
        if matches!(visit.task.work, Work::Run(_)) {
            return Ok(String::new());
        }
        let apart = visit.seat.base.is_some();
        let facts = Facts {
            before: visit.order.beginning.as_ref().map_or(&[][..], |beginning| &beginning.before),
            branch: self.rooms.yard().filter(|_| apart).map(|yard| short(yard.branch())),
            ports: seat
                .env
                .iter()
                .find(|(name, _)| name == "CONDUCTOR_PORTS")
                .map(|(_, ports)| ports.as_str()),
            tools: Offered::of(visit.plan, visit.task, &self.limits),
            skills: visit.skills.get().map_or(&[][..], Vec::as_slice),
            feedback,
            footing,
            known,
            ..Facts::of(visit.plan, self.rooms.isolation(visit.task))
        };
        prompt::words(visit.task, &facts, &seat.directory)
            .map_err(|error| Outcome::Failed(Failure::new(FailureClass::Unstartable, error.to_string())))
    }

    /// Who sits where, and what is to be done there.
    pub fn guest(&self, order: &Order) -> Guest {
        let plan = self.plan.get();
        let task = &plan.tasks[order.place];
        let beginning = order.beginning.as_deref().cloned().unwrap_or_default();
        let isolation = self.rooms.isolation(task);
        let guest = Guest::of(&plan, isolation, task, order.executor, order.attempt);
        Guest { onto: beginning.onto, stack: beginning.stack, round: beginning.round, ..guest }
    }

    async fn seated<T: Send + 'static>(
        &self,
        blocks: bool,
        stop: &watch::Receiver<Stop>,
        work: impl FnMut() -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, Outcome> {
        let done = match blocks {
            true => self.patiently(stop, work).await,
            false => aside(false, work).await,
        };
        done.map_err(|error| no_workspace(&error))
    }

    fn speaker<'a>(&'a self, order: &'a Order) -> Speaker<'a> {
        Speaker { output: &self.output, executor: order.executor, task: &order.task, attempt: order.attempt }
    }

    /// Sending fails only while the whole run is torn down; then the report does not matter.
    pub(crate) fn report(&self, input: Input) {
        let _ = self.reports.send(Message::Input(input));
    }

    /// Once for each model.
    fn warn_unpriced(&self, model: Option<&str>) {
        let model = model.unwrap_or("the model, which is not named,");
        self.warn_once(format!(
            "no price is known for {model}: what it costs is not counted and no cap on money holds for it; give it one \
             under `prices:` in the file's config"
        ));
    }

    fn warn_different(&self, task: &TaskId, difference: Difference) {
        let money = |cost: Usd| costs::words(Usage { cost, ..Usage::default() });
        let (ours, theirs) = (money(difference.ours), money(difference.theirs));
        self.warn_once(format!(
            "{task}: its agent says that it cost {theirs}, and by the prices known here it is {ours}; the larger counts. \
             Prices of your own go under `prices:` in the file's config"
        ));
    }

    fn warn_once(&self, text: String) {
        let mut warned = self.warned.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if warned.insert(text.clone()) {
            self.notice(text);
        }
    }

    pub(crate) fn notice(&self, text: String) {
        let _ = self.notices.send(redact::known().string(text));
    }

    /// Ends what is left of an attempt that could not come to its own end.
    pub(crate) async fn sweep(&self, order: &Order) {
        process::sweep(&self.mark(order)).await;
    }

    fn mark(&self, order: &Order) -> Mark {
        Mark { run: self.run.clone(), task: order.task.clone(), attempt: order.attempt }
    }
}

/// Runs what blocks on a thread for that, and what does not right here.
pub(crate) async fn aside<T: Send + 'static>(
    blocks: bool,
    mut work: impl FnMut() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    match blocks {
        false => work(),
        true => tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(WorkspaceError::Broken(error.to_string()))),
    }
}

/// Whether the agent that did the work can be asked to fix it.
fn is_mendable(failure: &Failure) -> bool {
    matches!(failure.class, FailureClass::Unverified | FailureClass::Conflict | FailureClass::Diverged)
}

fn no_workspace(error: &WorkspaceError) -> Outcome {
    let (class, message) = match error {
        WorkspaceError::Markers(_)
        | WorkspaceError::Unmerged(_)
        | WorkspaceError::EpicConflict(_)
        | WorkspaceError::StackConflict { .. } => (FailureClass::Conflict, error.to_string()),
        WorkspaceError::Git(error) if error.is_of_filters() => (FailureClass::Unstartable, error.to_string()),
        WorkspaceError::Diverged { .. } => (FailureClass::Diverged, error.to_string()),
        error => (FailureClass::Unstartable, format!("no workspace: {error}")),
    };
    Outcome::Failed(Failure::new(class, message))
}

fn unfit_stream(error: &std::io::Error) -> Outcome {
    Outcome::Failed(Failure::new(FailureClass::Unstartable, format!("what it says cannot be kept: {error}")))
}

fn unfit(error: AgentError) -> Outcome {
    Outcome::Failed(Failure::new(FailureClass::Unstartable, error.to_string()))
}
