//! An agent that is asked something outside of any run: one conversation, of which only the last words count.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use conductor_core::plan::{Isolation, Limits, Plan};
use conductor_core::run::event::Outcome;
use conductor_core::values::ids::{Attempt, RunId};
use tokio::sync::{mpsc, watch};

use super::reattaching::Taking;
use super::session_state::new_session;
use super::{AttemptContext, Order, Stop, Worker, unfit};
use crate::agents::{self, Brief, Caller, Earlier, Questions, Session};
use crate::dispatch::board::PhaseTimer;
use crate::dispatch::{Link, Message, RunContext};
use crate::git::workspaces::Workspaces;
use crate::process::transcript::Transcript;
use crate::worker::prompt;

/// As much of what a program said is its answer, where it does not tell which of its words are the last.
const LINES: usize = 100_000;

impl Worker {
    /// A worker that only puts questions to an agent, for the one task of a plan. The agent works in `place`;
    /// the conversation is kept in `output`.
    pub(crate) fn for_questions(
        run: RunId,
        plan: Plan,
        place: PathBuf,
        output: PathBuf,
        notices: mpsc::UnboundedSender<String>,
        reports: mpsc::UnboundedSender<Message>,
    ) -> Worker {
        let context = RunContext {
            run,
            home: output.clone(),
            directory: place.clone(),
            output,
            ours: Vec::new(),
            isolation: Isolation::None,
            in_repository: false,
            limits: Limits::default(),
        };
        let workspaces = Workspaces::new(place, None, Isolation::None);
        let caller = Caller::new(std::env::vars_os());
        Worker::new(Arc::new(context), Arc::new(plan), workspaces, caller, Link::new(reports, notices))
    }

    /// Says these words and waits for the answer. `session` is the conversation to go on with, or nothing yet; afterwards
    /// the one it was, where it can be gone on with.
    pub(crate) async fn ask(
        &self,
        number: u32,
        words: String,
        session: &mut Option<String>,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<String, Outcome> {
        let plan = self.plan.get();
        let (place, attempt, task) = (0, Attempt(number), plan.tasks[0].id.clone());
        let (context, choice, start_from) = (self.context.clone(), None, None);
        let order = Order { context, plan, place, task, attempt, executor: 1, choice, start_from };
        let (plan, task) = (&*order.plan, &order.plan.tasks[0]);
        let request = self.request(&order);
        let workspaces = self.workspaces.in_place.clone();
        let workspace = workspaces.prepare(&request).map_err(|error| super::no_workspace(&error))?;
        let workspace = self.at_home(plan, task, workspace, stop).await?;
        let timer = PhaseTimer::begin(&self.link.board, &task.id, attempt);
        let context = AttemptContext {
            order: &order,
            plan,
            task,
            request,
            workspace,
            workspaces,
            blocks: false,
            in_place: OnceLock::new(),
            skills: OnceLock::new(),
            findings: Default::default(),
            confined: Default::default(),
            trail: Default::default(),
            timer: &timer,
            since: (Instant::now(), Duration::ZERO),
            left: Mutex::default(),
        };
        let opened = self.open_transcript(&self.speaker(&order), true, stop).await?;
        let mut transcript = opened.redacted(self.caller.redactor(plan, task));
        let answer = self.answered(&context, words, session, &mut transcript, stop).await;
        let _ = transcript.finish();
        answer
    }

    async fn answered(
        &self,
        context: &AttemptContext<'_>,
        words: String,
        session: &mut Option<String>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<String, Outcome> {
        let agent = agents::agent(context.plan, context.task.agent_name()).map_err(unfit)?;
        let begun = session.is_some();
        let current = Session { id: session.take().unwrap_or_else(new_session), begun };
        let questions = Questions::default();
        let brief = Brief {
            task: context.task,
            workspace: &context.workspace,
            caller: &self.caller,
            words,
            anew: None,
            session: &current,
            questions: &questions,
            earlier: Earlier::default(),
            manner: prompt::manner(context.plan, context.task),
            tools: None,
        };
        let (talk, exit) = self.converse(context, agent, &brief, transcript, stop, Taking::Aside).await?;
        let name = talk.session().unwrap_or(&current.id).to_owned();
        let cut = talk.cut().map(|cut| transcript.redactor().outcome(cut));
        let ending = talk.finish(exit.map_err(Outcome::Failed)?, transcript.redactor());
        if *stop.borrow() != Stop::No {
            return Err(Outcome::Interrupted);
        }
        match (cut, ending.outcome) {
            (Some(cut), _) => Err(cut),
            (None, Outcome::Succeeded) => {
                *session = agent.abilities().resumes.then_some(name);
                let by_template = context.plan.agents.contains_key(context.task.agent_name());
                Ok(match ending.result {
                    Some(words) if !by_template => words,
                    _ => transcript.last_lines(LINES).join("\n"),
                })
            }
            (None, other) => Err(other),
        }
    }
}
