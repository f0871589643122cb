//! Engaging an agent: what it is given beside its words, and listening to it until its process is gone.

use std::os::unix::fs::DirBuilderExt as _;

use conductor_core::plan::{Plan, Task, Work};
use conductor_core::run::event::{Failure, Outcome};
use conductor_core::schedule::Input;
use tokio::sync::watch;

use super::conversation::Conversation;
use super::parking::{self, Parked};
use super::prompt::Offered;
use super::tools::{ToolHandler, ToolToken};
use super::{AttemptContext, Stop, Worker, unfit, unfit_stream};
use crate::agents::conversation::Recorder;
use crate::agents::{self, Agent, Brief, Engagement};
use crate::git::workspaces::Workspace;
use crate::host::clock::wall;
use crate::process::transcript::{CallLog, Transcript};
use crate::process::{Exit, confinement};

impl Worker {
    /// Its agent's own home, which stays for the task's next attempts: its conversations are in there.
    pub(super) async fn at_home(
        &self,
        plan: &Plan,
        task: &Task,
        mut workspace: Workspace,
        stop: &watch::Receiver<Stop>,
    ) -> Result<Workspace, Outcome> {
        if task.has_own_agent_home()
            && let Some(name) = agents::agent(plan, task.agent_name()).map_err(unfit)?.home_variable()
        {
            let home = self.context.output.join("agent_homes").join(task.id.as_str());
            let make = || std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&home);
            self.supplied(stop, make).await.map_err(|error| unfit_stream(&error))?;
            workspace.env.push((name.to_owned(), home.display().to_string()));
        }
        Ok(workspace)
    }

    /// A way in for its agent to say more than its work does, where the run takes that.
    pub(super) async fn tool_token(
        &self,
        context: &AttemptContext<'_>,
        questions: &agents::Questions,
    ) -> Result<Option<ToolToken>, Outcome> {
        let Some(Offered { adds }) = Offered::of(context.plan, context.task, &self.context.limits) else {
            return Ok(None);
        };
        let tool_handler = ToolHandler {
            task: context.order.task.clone(),
            attempt: context.order.attempt,
            plan: self.plan.clone(),
            control: self.link.control(),
            questions: questions.clone(),
            board: self.link.board.clone(),
            redactor: self.caller.redactor(context.plan, context.task),
            reports: Default::default(),
            adds,
            asks: self.context.limits.asks_about_follow_ups(),
        };
        self.services.tool_server.admit(tool_handler).await.map(Some).map_err(|error| unfit_stream(&error))
    }

    /// Engages an agent and listens until its process is gone. `goes_on` where the task's next attempt may go
    /// on with the conversation.
    pub(super) async fn converse(
        &self,
        context: &AttemptContext<'_>,
        agent: &dyn Agent,
        brief: &Brief<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
        goes_on: bool,
    ) -> Result<(Conversation, Result<Exit, Failure>), Outcome> {
        let Engagement { launch, translator } = agent.engage(brief).map_err(unfit)?;
        let speaker = self.speaker(context.order);
        let stream = self
            .supplied(stop, || launch.converses.then(|| Transcript::open_stream(&speaker)).transpose())
            .await;
        let stream = stream.map_err(|error| unfit_stream(&error))?;
        if stream.is_some()
            && let Err(error) = self.services.accounts.note(&speaker, brief.task, brief.session)
        {
            let task = &context.order.task;
            self.notice(format!("what {task} spends if we are killed could not be counted later: {error}"));
        }
        let recorder = stream.as_ref().map(|_| Recorder::new(&speaker, transcript.redactor().clone()));
        if let Some(recorder) = &recorder {
            recorder.begins(brief);
        }
        let mark = self.link.marks.stream(context.order.executor);
        let stream = stream.map(|stream| stream.redacted(transcript.redactor().clone()).marked(mark));
        let calls = stream.is_some().then(|| CallLog::new(&speaker));
        let mut talk = Conversation::new(translator, stream, brief.task, brief.questions.clone());
        talk.recorder = recorder;
        talk.calls = calls;
        talk.told = (goes_on && matches!(brief.task.work, Work::Prompt(_))).then(|| brief.session.id.clone());
        let _place = tokio::select! {
            biased;
            place = self.services.agent_limits.place(brief.task.agent_name()) => place,
            _ = stop.wait_for(|wish| *wish != Stop::No) => return Err(Outcome::Interrupted),
        };
        if agent.sets_up_its_home() {
            let stopped = stop.wait_for(|wish| *wish != Stop::No);
            tokio::select! {
                first_start = self.services.first_starts.next(brief.task.agent_name()) => talk.first_start = first_start,
                _ = stopped => return Err(Outcome::Interrupted),
            }
        }
        let confined = self.confined(context, brief.task, &launch).map_err(Outcome::Failed)?;
        let exit = match &confined {
            Some(confined) => {
                let exit = self
                    .run_talking(context.order, &confined.launch, transcript, stop, Some(&mut talk))
                    .await;
                exit.map(confinement::exit_inside)
            }
            None => self.run_talking(context.order, &launch, transcript, stop, Some(&mut talk)).await,
        };
        let session = talk.session().unwrap_or(&brief.session.id);
        self.services.accounts.remember(&context.order.task, session, talk.newest_call());
        Ok((talk, exit))
    }

    /// No task is to ask this provider before then.
    pub(super) fn park(&self, task: &Task, said: Option<i64>) {
        let Parked { until, notice } = parking::parked(task.agent_name(), said, wall());
        notice.into_iter().for_each(|notice| self.notice(notice));
        let (agent, until_ms) = (task.agent_name(), until.0);
        tracing::warn!(agent, until_ms, "the agent's provider is not asked before then");
        self.report(Input::ProviderParked { agent: task.agent_name().to_owned(), until });
    }
}
