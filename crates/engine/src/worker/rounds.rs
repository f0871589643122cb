//! The rounds of an attempt: the agent is told what to do, works, and its work is checked. Where that finds
//! something to mend, the agent is told so and goes on, as often as the task allows.

use conductor_core::plan::Work;
use conductor_core::run::event::{Change, Failure, FailureClass, Outcome};
use conductor_core::schedule::Input;
use tokio::sync::watch;

use super::feedback::Feedback;
use super::prompt::{self, Facts, Offered};
use super::session_state::{SessionState, as_words};
use super::{AttemptContext, Stop, Worker, checks, no_workspace, unfit};
use crate::agents::{self, Brief, Earlier, Session};
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
        let mut untouched = self.set_up(context, transcript, stop).await?;
        let on_base = self.check_base(context, &mut untouched, transcript, stop).await?;
        let mut session_state = SessionState::new(context);
        session_state.questions = self.guarded(context, session_state.questions);
        self.apply_skills(context, &session_state, transcript, stop).await?;
        self.look_before(context).await;
        self.choose_expertise(context).await;
        let mut feedback = session_state.feedback(context);
        loop {
            let round = feedback.as_ref().map_or(0, |feedback| feedback.round);
            let found = match self
                .one_round(context, feedback.as_ref(), &mut session_state, transcript, stop)
                .await
            {
                Ok(()) => self.judged(context, untouched.as_deref(), transcript, stop).await,
                Err(outcome) => Err(outcome),
            };
            match found {
                Err(Outcome::Failed(failure)) if session_state.begin_anew(&failure) => {
                    transcript.note("[conductor: the conversation cannot be gone on with; a new one begins]");
                }
                Err(Outcome::Failed(failure))
                    if round >= context.task.fix_rounds.min(1)
                        && on_base.knows(&failure, &context.workspace.directory) =>
                {
                    let message = format!("{}, as on the untouched base", failure.message);
                    return Err(Outcome::Failed(Failure {
                        class: FailureClass::FailsOnBase,
                        message,
                        ..failure
                    }));
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

    /// The agent's work, then the commands that check it.
    async fn one_round(
        &self,
        context: &AttemptContext<'_>,
        feedback: Option<&Feedback>,
        session_state: &mut SessionState,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(), Outcome> {
        let agent = agents::agent(context.plan, context.task.agent_name()).map_err(unfit)?;
        let workspace = self.supplied(stop, || self.with_feedback(context, feedback)).await;
        let workspace = workspace.map_err(|error| no_workspace(&error))?;
        let said = session_state.remarks(&self.message_queue, &context.order.task);
        let SessionState { session, questions, .. } = &*session_state;
        let known = session.begun && agent.abilities().resumes;
        let words = |known: bool| {
            let told = self.words(context, &workspace, feedback, known)?;
            Ok(told + &as_words(&said))
        };
        let (anew, words) = (known.then(|| words(false)).transpose()?, words(known)?);
        if !session.begun && !agent.names_conversations() {
            self.tell_session(context, &session.id);
        }
        let (task, caller) = (context.task, &self.caller);
        let manner = prompt::manner(context.plan, task);
        let token = self.tool_token(context, questions).await?;
        let tools = token.as_ref().map(|token| &token.access);
        let (cut_short, sent_back) = feedback.map_or((false, false), Feedback::of_what_was_done);
        let earlier = Earlier { cut_short, sent_back, said: &said };
        let brief = Brief {
            task,
            workspace: &workspace,
            caller,
            words,
            anew,
            session,
            questions,
            earlier,
            manner,
            tools,
        };
        context.timer.enter(Phase::Working);
        let (talk, exit) = self.converse(context, agent, &brief, transcript, stop, true).await?;
        context.timer.enter(Phase::Verifying);
        let name = talk.session().unwrap_or(&session.id).to_owned();
        session_state.session = Session { id: name, begun: true };
        let cut = talk.cut().map(|cut| transcript.redactor().outcome(cut));
        session_state.spent |= talk.spent();
        let ending = talk.finish(exit.map_err(Outcome::Failed)?, transcript.redactor());
        if let Some(cut) = cut {
            return Err(cut);
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
            feedback,
            known,
            ..Facts::of(context.plan, self.workspaces.isolation(context.task))
        };
        prompt::words(context.task, &facts, &workspace.directory)
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

/// Whether the agent that did the work can be asked to fix it.
fn is_mendable(failure: &Failure) -> bool {
    matches!(failure.class, FailureClass::Unverified | FailureClass::Conflict | FailureClass::Diverged)
}
