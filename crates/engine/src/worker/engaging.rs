//! Engaging an agent: what it is given beside its words, and listening to it until its process is gone.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;

use conductor_core::plan::{Plan, Task, Work};
use conductor_core::run::event::{Failure, Outcome};
use conductor_core::schedule::Input;
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::Millis;
use tokio::sync::watch;

use super::conversation::Conversation;
use super::metering::Counting;
use super::parking::{self, Parked};
use super::prompt::Offered;
use super::reattaching::{Begun, LeftAtWork, Taking};
use super::replay::Replay;
use super::running::Source;
use super::tools::{ToolHandler, ToolToken};
use super::{AttemptContext, Stop, Worker, unfit, unfit_stream};
use crate::agents::conversation::Recorder;
use crate::agents::{self, Agent, Brief, Engagement};
use crate::git::workspaces::Workspace;
use crate::host::clock::wall;
use crate::process::Exit;
use crate::process::confinement::{self, Confined};
use crate::process::shim::{self, Through};
use crate::process::transcript::{CallLog, Speaker, Transcript};

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
        left: Option<&LeftAtWork>,
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
        let tool_server = &self.services.tool_server;
        let admitted = match left.and_then(LeftAtWork::tools) {
            Some(left) => tool_server.admit_again(tool_handler, left, self.services.reattaching.awaited()),
            None => tool_server.admit(tool_handler).await,
        };
        admitted.map(Some).map_err(|error| unfit_stream(&error))
    }

    /// Engages an agent and listens until its process is gone.
    pub(super) async fn converse(
        &self,
        context: &AttemptContext<'_>,
        agent: &dyn Agent,
        brief: &Brief<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
        taking: Taking,
    ) -> Result<(Conversation, Result<Exit, Failure>), Outcome> {
        let Engagement { launch, translator } = agent.engage(brief).map_err(unfit)?;
        let speaker = self.speaker(context.order);
        let open = || launch.converses.then(|| open_stream(&speaker, &taking)).transpose();
        let stream = self.supplied(stop, open).await.map_err(|error| unfit_stream(&error))?;
        if stream.is_some() && taking.is_new() {
            self.note_account(&speaker, brief);
        }
        let recorder = stream.as_ref().map(|_| Recorder::new(&speaker, transcript.redactor().clone()));
        if let Some(recorder) = recorder.as_ref().filter(|_| taking.is_new()) {
            recorder.begins(brief);
        }
        let mark = self.link.marks.stream(context.order.executor);
        let stream = stream.map(|stream| stream.redacted(transcript.redactor().clone()).marked(mark));
        let calls = stream.is_some().then(|| CallLog::new(&speaker));
        let mut talk = Conversation::new(translator, stream, brief.task, brief.questions.clone());
        talk.recorder = recorder;
        talk.calls = calls;
        let is_told = taking.is_round() && matches!(brief.task.work, Work::Prompt(_));
        talk.told = is_told.then(|| brief.session.id.clone());
        let _place = tokio::select! {
            biased;
            place = self.services.agent_limits.place(brief.task.agent_name()) => place,
            _ = stop.wait_for(|wish| *wish != Stop::No), if taking.is_new() => return Err(Outcome::Interrupted),
        };
        if agent.sets_up_its_home() && taking.is_new() {
            let stopped = stop.wait_for(|wish| *wish != Stop::No);
            tokio::select! {
                first_start = self.services.first_starts.next(brief.task.agent_name()) => talk.first_start = first_start,
                _ = stopped => return Err(Outcome::Interrupted),
            }
        }
        let grounds = self.grounds(context);
        let was_redirected = grounds.is_redirected();
        let confined = self.confined(context, brief.task, &launch).map_err(Outcome::Failed)?;
        let outlives = !confined.as_ref().is_some_and(Confined::needs_us);
        let source = self.source(context, taking, outlives, &mut talk);
        let launch = confined.as_ref().map_or(&launch, |confined| &confined.launch);
        let exit = self.run_talking(context.order, (launch, source), transcript, stop, Some(&mut talk)).await;
        let exit = if confined.is_some() { exit.map(confinement::exit_inside) } else { exit };
        if confined.is_some() && !was_redirected {
            self.put_right(context, &grounds).map_err(Outcome::Failed)?;
        }
        let session = talk.session().unwrap_or(&brief.session.id);
        self.services.accounts.remember(&context.order.task, session, talk.newest_call());
        Ok((talk, exit))
    }

    fn note_account(&self, speaker: &Speaker<'_>, brief: &Brief<'_>) {
        if let Err(error) = self.services.accounts.note(speaker, brief.task, brief.session) {
            let task = speaker.task;
            self.notice(format!("what {task} spends if we are killed could not be counted later: {error}"));
        }
    }

    /// Where the agent's process comes from.
    fn source(
        &self,
        context: &AttemptContext<'_>,
        taking: Taking,
        outlives: bool,
        talk: &mut Conversation,
    ) -> Source {
        match taking {
            Taking::On(left) => {
                let LeftAtWork { agent, recorded, session, .. } = *left;
                self.services.accounts.go_on(&self.speaker(context.order));
                talk.told = session.or(talk.told.take());
                talk.go_on(Replay::of(&agent.said, recorded));
                Source::Left(Box::new(agent.link))
            }
            Taking::Round(Some(begun)) if outlives => Source::Start(self.through(context, &begun)),
            Taking::Round(Some(_)) => {
                let id = &context.order.task;
                self.warn_once(format!(
                    "{id} would be ended if we were killed: what it reaches of the network goes through us"
                ));
                Source::Start(None)
            }
            Taking::Round(None) | Taking::Aside => Source::Start(None),
        }
    }

    /// By which shim it is started, where what it takes to go on with it could be written down.
    fn through(&self, context: &AttemptContext<'_>, begun: &Begun) -> Option<Through> {
        let place = self.services.shims.get()?;
        let folder = shim::folder(&place.run_folder, context.order.executor);
        let counting = Counting::of(context.plan, context.task, &self.speaker(context.order));
        let write = || {
            begun.write(&folder)?;
            shim::note_store(&folder, &place.store)?;
            counting.as_ref().map_or(Ok(()), |it| it.write(&folder))
        };
        if let Err(error) = write() {
            self.warn_mortal(&context.order.task, &error);
            return None;
        }
        let tools = begun.tools.as_ref().and_then(|_| self.services.tool_server.listener());
        let timeout = context.task.timeout;
        let deadline = timeout.map(|timeout| Millis(timeout.0.saturating_sub(begun.worked.0)));
        let slice = self.services.slices.first(context.task);
        let (program, secret, grace) = (place.program.clone(), begun.secret.clone(), place.grace);
        Some(Through { program, folder, secret, grace, deadline, slice, tools })
    }

    /// A command that is to go on without us, where nothing can hold it.
    pub(super) fn warn_short_lived(&self, task: &Task) {
        if let Work::Run(_) = task.work {
            let id = &task.id;
            self.warn_once(format!(
                "survive: true comes to nothing for {id}: `orphan_grace` is 0, or this system cannot hold it without conductor"
            ));
        }
    }

    pub(super) fn warn_mortal(&self, task: &TaskId, error: &io::Error) {
        self.notice(format!("the agent of {task} would be ended if we were killed: {error}"));
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

fn open_stream(speaker: &Speaker<'_>, taking: &Taking) -> io::Result<Transcript> {
    match taking {
        Taking::On(_) => Transcript::reopen_stream(speaker),
        Taking::Round(Some(_)) => Transcript::open_lasting_stream(speaker),
        Taking::Round(None) | Taking::Aside => Transcript::open_stream(speaker),
    }
}
