//! The rounds of an attempt: the agent is told what to do, works, and its work is checked. Where that finds
//! something to mend, the agent is told so and goes on, as often as the task allows.

use conductor_core::plan::Work;
use conductor_core::run::event::{Change, Failure, FailureClass, Outcome};
use conductor_core::schedule::Input;
use conductor_core::values::units::Millis;
use tokio::sync::watch;

use super::feedback::Feedback;
use super::gates::{self, NothingDetected};
use super::prompt::{self, Facts, Offered};
use super::reattaching::{Before, Begun, LeftAtWork, Taking, Told, VERSION, secret};
use super::session_state::{SessionState, as_words};
use super::{AttemptContext, Stop, Worker, checks, no_workspace, unfit};
use crate::agents::tool_access::ToolAccess;
use crate::agents::{self, Agent, Brief, Earlier, Session, subagents};
use crate::dispatch::board::Phase;
use crate::git::merge::short;
use crate::git::workspaces::Workspace;
use crate::process::transcript::Transcript;

impl Worker {
    pub(super) async fn rounds(
        &self,
        context: &AttemptContext<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Change>, Outcome> {
        let left = context.left().take();
        let (before, mut session_state, mut feedback) = match &left {
            Some(left) => self.as_before(context, left),
            None => self.before(context, transcript, stop).await?,
        };
        let mut round = left.as_ref().map(|left| left.begun.round);
        let mut left = left;
        loop {
            let begins = RoundStart {
                round: round.take().unwrap_or_else(|| feedback.as_ref().map_or(0, |feedback| feedback.round)),
                feedback: feedback.as_ref(),
                before: &before,
                left: left.take(),
            };
            let round = begins.round;
            let found = match self.one_round(context, begins, &mut session_state, transcript, stop).await {
                Ok(()) => self.judged(context, before.untouched.as_deref(), transcript, stop).await,
                Err(outcome) => Err(outcome),
            };
            match found {
                Err(Outcome::Failed(failure)) if session_state.begin_anew(&failure) => {
                    transcript.note("[conductor: the conversation cannot be gone on with; a new one begins]");
                }
                Err(Outcome::Failed(failure))
                    if round >= context.task.fix_rounds.min(1)
                        && before.on_base.knows(&failure, &context.workspace.directory) =>
                {
                    let message = format!("{}, as on the untouched base", failure.message);
                    return Err(Outcome::Failed(Failure {
                        class: FailureClass::FailsOnBase,
                        message,
                        ..failure
                    }));
                }
                Err(Outcome::Failed(failure))
                    if before.nothing_detected && is_undetected(context, &failure) =>
                {
                    return Err(Outcome::Failed(Failure { class: FailureClass::FailsOnBase, ..failure }));
                }
                Err(Outcome::Failed(failure)) if is_mendable(&failure) && round < context.task.fix_rounds => {
                    self.note_failed(context, &failure, stop).await;
                    transcript.note(&format!("[conductor: {}; round {}]", failure.message, round + 1));
                    let task = &context.order.task;
                    self.notice(format!("{task} goes back to be mended: {}", failure.message));
                    let (task, attempt) = (task.clone(), context.order.attempt);
                    self.report(Input::WorkGivenBack { task, attempt });
                    feedback = Some(Feedback::mend(round + 1, failure));
                }
                other => return other,
            }
            if *stop.borrow() != Stop::No {
                return Err(Outcome::Interrupted);
            }
        }
    }

    /// Setting up, and what there is to know before the agent begins.
    async fn before(
        &self,
        context: &AttemptContext<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(Before, SessionState, Option<Feedback>), Outcome> {
        let mut untouched = self.set_up(context, transcript, stop).await?;
        let on_base = self.check_base(context, &mut untouched, transcript, stop).await?;
        let mut session_state = SessionState::new(context);
        session_state.questions = self.guarded(context, session_state.questions);
        self.apply_skills(context, &session_state, transcript, stop).await?;
        self.look_before(context).await;
        self.choose_expertise(context).await;
        let feedback = session_state.feedback(context);
        let before = Before {
            untouched,
            on_base,
            nothing_detected: undetected(context).is_some(),
            skills: context.skills.get().cloned().unwrap_or_default(),
            expertise: context.trail.section.get().cloned(),
            in_place: context.in_place.get().cloned(),
        };
        Ok((before, session_state, feedback))
    }

    /// What another coordinator has found out before, and where its round begins.
    fn as_before(
        &self,
        context: &AttemptContext<'_>,
        left: &LeftAtWork,
    ) -> (Before, SessionState, Option<Feedback>) {
        let Begun { before, session, resumed, spent, .. } = &left.begun;
        let mut session_state = SessionState::of_round(context, session.clone(), *resumed, *spent);
        session_state.questions = self.guarded(context, session_state.questions);
        let _ = context.skills.set(before.skills.clone());
        before.expertise.clone().map(|section| context.trail.section.set(section));
        before.in_place.clone().map(|watched| context.in_place.set(watched));
        (before.clone(), session_state, None)
    }

    /// What the agent is told in this round, and the place that has all it needs for that.
    async fn told(
        &self,
        context: &AttemptContext<'_>,
        agent: &dyn Agent,
        feedback: Option<&Feedback>,
        session_state: &mut SessionState,
        stop: &watch::Receiver<Stop>,
    ) -> Result<Told, Outcome> {
        let workspace = self.supplied(stop, || self.with_feedback(context, feedback)).await;
        let workspace = workspace.map_err(|error| no_workspace(&error))?;
        let said = session_state.remarks(&self.message_queue, &context.order.task);
        let known = session_state.session.begun && agent.abilities().resumes;
        let words = |known: bool| {
            let told = self.words(context, &workspace, feedback, known)?;
            Ok(told + &as_words(&said))
        };
        let (anew, words) = (known.then(|| words(false)).transpose()?, words(known)?);
        if !session_state.session.begun && !agent.names_conversations() {
            self.tell_session(context, &session_state.session.id);
        }
        let (cut_short, sent_back) = feedback.map_or((false, false), Feedback::of_what_was_done);
        Ok(Told { workspace, words, anew, cut_short, sent_back, said })
    }

    /// What it takes to go on with this round after us, where that can be.
    fn begun(
        &self,
        context: &AttemptContext<'_>,
        begins: &RoundStart<'_>,
        session_state: &SessionState,
        told: &Told,
        tools: Option<&ToolAccess>,
    ) -> Option<Begun> {
        if !context.task.outlives_its_coordinator() {
            return None;
        }
        if self.services.shims.get().is_none() {
            self.warn_short_lived(context.task);
            return None;
        }
        let order = context.order;
        let secret = secret().inspect_err(|error| self.warn_mortal(&order.task, error)).ok()?;
        Some(Begun {
            version: VERSION,
            secret,
            task: order.task.clone(),
            attempt: order.attempt,
            choice: order.choice.clone(),
            start_from: order.start_from.clone(),
            worked: Millis(context.worked().as_millis() as u64),
            workspace: context.workspace.clone(),
            before: begins.before.clone(),
            round: begins.round,
            session: session_state.session.clone(),
            resumed: session_state.is_resumed(),
            spent: session_state.spent,
            told: told.clone(),
            tools: tools.cloned(),
        })
    }

    /// The agent's work, then the commands that check it.
    async fn one_round(
        &self,
        context: &AttemptContext<'_>,
        mut begins: RoundStart<'_>,
        session_state: &mut SessionState,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(), Outcome> {
        let agent = agents::agent(context.plan, context.task.agent_name()).map_err(unfit)?;
        let mut left = begins.left.take();
        let told = match &left {
            Some(left) => left.begun.told.clone(),
            None => self.told(context, agent, begins.feedback, session_state, stop).await?,
        };
        let token = self.tool_token(context, &session_state.questions, left.as_deref()).await?;
        left.iter_mut().for_each(|left| left.is_admitted());
        let tools = token.as_ref().map(|token| &token.access);
        let taking = match left {
            Some(left) => Taking::On(left),
            None => Taking::Round(self.begun(context, &begins, session_state, &told, tools).map(Box::new)),
        };
        let SessionState { session, questions, .. } = &*session_state;
        let brief = Brief {
            task: context.task,
            workspace: &told.workspace,
            caller: &self.caller,
            words: told.words.clone(),
            anew: told.anew.clone(),
            session,
            questions,
            earlier: Earlier { cut_short: told.cut_short, sent_back: told.sent_back, said: &told.said },
            manner: prompt::manner(context.plan, context.task),
            tools,
        };
        context.timer.enter(Phase::Working);
        let (talk, exit) = self.converse(context, agent, &brief, transcript, stop, taking).await?;
        context.timer.enter(Phase::Verifying);
        let name = talk.session().unwrap_or(&session.id).to_owned();
        session_state.session = Session { id: name, begun: true };
        let cut = talk.cut().map(|cut| transcript.redactor().outcome(cut));
        session_state.spent |= talk.spent();
        let lost = talk.lost;
        let ending = talk.finish(exit.map_err(Outcome::Failed)?, transcript.redactor());
        if let Some(cut) = cut {
            return Err(cut);
        }
        if lost {
            return Err(self.lost_shim(context, transcript));
        }
        if let Some(until) = ending.parked {
            self.park(context.task, until);
            return Err(Outcome::Interrupted);
        }
        match ending.outcome {
            Outcome::Succeeded => {}
            Outcome::Failed(failure) if matches!(context.task.work, Work::Run(_)) => {
                return Err(Outcome::Failed(checks::with_telling_line(context.task, failure, transcript)));
            }
            other => return Err(other),
        }
        if matches!(context.task.work, Work::Prompt(_)) {
            let (task, attempt) = (context.order.task.clone(), context.order.attempt);
            self.report(Input::WorkHandedIn { task, attempt });
        }
        self.look_after(context).await;
        self.verify(context, transcript, stop).await.map_err(Outcome::Failed)
    }

    /// That is not the fault of its work, which its next attempt goes on with.
    fn lost_shim(&self, context: &AttemptContext<'_>, transcript: &mut Transcript) -> Outcome {
        transcript.note("[conductor: the process that held its agent was ended, and the agent with it]");
        let (task, attempt) = (context.order.task.clone(), context.order.attempt);
        self.report(Input::ShimLost { task, attempt });
        Outcome::Interrupted
    }

    /// What a prompt is told, with all there is to know now.
    fn words(
        &self,
        context: &AttemptContext<'_>,
        workspace: &Workspace,
        feedback: Option<&Feedback>,
        known: bool,
    ) -> Result<String, Outcome> {
        if matches!(context.task.work, Work::Run(_)) {
            return Ok(String::new());
        }
        let apart = context.workspace.base.is_some();
        let facts = Facts {
            before: context.order.start_from.as_ref().map_or(&[][..], |start_from| &start_from.before),
            branch: self.workspaces.run_repo().filter(|_| apart).map(|run_repo| short(run_repo.branch())),
            ports: workspace
                .env
                .iter()
                .find(|(name, _)| name == "CONDUCTOR_PORTS")
                .map(|(_, ports)| ports.as_str()),
            tools: Offered::of(context.plan, context.task, &self.context.limits),
            skills: context.skills.get().map_or(&[][..], Vec::as_slice),
            expertise: context.trail.section.get().map_or("", String::as_str),
            directory: Some(&workspace.directory),
            feedback,
            known,
            ..Facts::of(context.plan, self.workspaces.isolation(context.task))
        };
        prompt::words(context.task, &facts, &subagents::root(&workspace.directory))
            .map_err(|error| Outcome::Failed(Failure::new(FailureClass::Unstartable, error.to_string())))
    }

    /// By which name a conversation can be gone on with; a command has none.
    fn tell_session(&self, context: &AttemptContext<'_>, name: &str) {
        if matches!(context.task.work, Work::Prompt(_)) {
            let (task, attempt) = (context.order.task.clone(), context.order.attempt);
            self.report(Input::SessionStarted { task, attempt, session: name.to_owned() });
        }
    }
}

/// How a round begins.
struct RoundStart<'a> {
    /// How often the agent has been asked to mend its work.
    round: u32,
    feedback: Option<&'a Feedback>,
    before: &'a Before,
    /// It was begun by another coordinator.
    left: Option<Box<LeftAtWork>>,
}

/// That `verify: auto` finds nothing to run where the task works.
fn undetected(context: &AttemptContext<'_>) -> Option<NothingDetected> {
    gates::expand(&context.task.verify, &context.workspace.directory).err()
}

fn is_undetected(context: &AttemptContext<'_>, failure: &Failure) -> bool {
    failure.class == FailureClass::Unverified
        && undetected(context).is_some_and(|nothing| nothing.to_string() == failure.message)
}

/// Whether the agent that did the work can be asked to fix it.
fn is_mendable(failure: &Failure) -> bool {
    matches!(failure.class, FailureClass::Unverified | FailureClass::Conflict | FailureClass::Diverged)
}
