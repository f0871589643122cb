//! Skills that go before the work: run in the same workspace where the agent has such, told in words where not.
//!
//! What one says goes into the prompt, what it changes is part of the work, what it costs is the task's.

use conductor_core::plan::Work;
use conductor_core::run::event::Outcome;
use tokio::sync::watch;

use super::reattaching::Taking;
use super::session_state::SessionState;
use super::session_state::new_session;
use super::{AttemptContext, Stop, Worker, unfit};
use crate::agents::skills::{self, Applied, Skill};
use crate::agents::{self, Brief, Earlier, Session};
use crate::process::transcript::{Speaker, Transcript, last_lines};
use crate::worker::prompt;

/// More than this of what a skill says is cut off: it is to guide, not to fill the prompt.
const LONGEST: usize = 20_000;

/// How many of the last lines of what brought a group up to date are told.
const CONTEXT_LINES: usize = 200;

impl Worker {
    /// Runs every skill the task names before a new conversation; one that is resumed has them already. A
    /// missing or failing skill is reported and skipped: the work can do without it, and our checks judge the
    /// result anyway. If the provider refuses a skill, the attempt ends: it would refuse the work too.
    pub(super) async fn apply_skills(
        &self,
        context: &AttemptContext<'_>,
        session_state: &SessionState,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(), Outcome> {
        let goes_on = session_state.session.begun || context.request.round.is_some();
        let Work::Prompt(task) = &context.task.work else { return Ok(()) };
        let mut applied: Vec<Applied> = self.context(context).into_iter().filter(|_| !goes_on).collect();
        if goes_on || context.task.applicable_skills.is_empty() {
            let _ = context.skills.set(applied);
            return Ok(());
        }
        let agent = agents::agent(context.plan, context.task.agent_name()).map_err(unfit)?;
        for name in &context.task.applicable_skills {
            let Some(skill) = skills::find(name, &context.workspace.directory) else {
                self.tell(
                    context,
                    transcript,
                    &format!("there is no skill '{name}', the work begins without it"),
                );
                continue;
            };
            match agent.knows_specialists() {
                true => applied
                    .extend(self.run_skill(context, session_state, &skill, task, transcript, stop).await?),
                false => {
                    transcript.note(&format!("[conductor: skill {name} goes into the prompt]"));
                    let words = skill.instructions(task);
                    applied.extend(words.map(|words| Applied { name: skill.name, words, ran: false }));
                }
            }
            if *stop.borrow() != Stop::No {
                return Err(Outcome::Interrupted);
            }
        }
        let _ = context.skills.set(applied);
        Ok(())
    }

    /// What was said when its group was brought up to date.
    fn context(&self, context: &AttemptContext<'_>) -> Option<Applied> {
        let (task, executor, attempt) = context.order.start_from.as_ref()?.context.as_ref()?;
        let speaker = Speaker { output: &self.context.output, executor: *executor, task, attempt: *attempt };
        let lines = last_lines(&speaker.transcript(), CONTEXT_LINES);
        let ours = |line: &&String| line.starts_with("[conductor:") || line.starts_with("$ ");
        let words: Vec<&str> = lines.iter().filter(|line| !ours(line)).map(String::as_str).collect();
        let words: String = words.join("\n").chars().take(LONGEST).collect();
        let name = "How the project stands".to_owned();
        (!words.trim().is_empty()).then_some(Applied { name, words, ran: true })
    }

    async fn run_skill(
        &self,
        context: &AttemptContext<'_>,
        session_state: &SessionState,
        skill: &Skill,
        task: &str,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Applied>, Outcome> {
        transcript.note(&format!("[conductor: skill {}]", skill.name));
        let agent = agents::agent(context.plan, context.task.agent_name()).map_err(unfit)?;
        let session = Session { id: new_session(), begun: false };
        let brief = Brief {
            task: context.task,
            workspace: &context.workspace,
            caller: &self.caller,
            words: format!("/{} {}", skill.name, task.trim()),
            anew: None,
            session: &session,
            questions: &session_state.questions,
            earlier: Earlier::default(),
            manner: prompt::manner(context.plan, context.task),
            tools: None,
        };
        let (talk, exit) = self.converse(context, agent, &brief, transcript, stop, Taking::Aside).await?;
        if let Some(asked @ Outcome::Asked(_)) = talk.cut() {
            return Err(transcript.redactor().outcome(asked));
        }
        let ending = talk.finish(exit.map_err(Outcome::Failed)?, transcript.redactor());
        if let Some(until) = ending.parked {
            self.park(context.task, until);
            return Err(Outcome::Interrupted);
        }
        match ending.outcome {
            Outcome::Succeeded => {
                let words: String = ending.result.unwrap_or_default().chars().take(LONGEST).collect();
                let name = skill.name.clone();
                Ok((!words.trim().is_empty()).then_some(Applied { name, words, ran: true }))
            }
            Outcome::Failed(failure) if !failure.class.is_agents_own() => {
                let message =
                    format!("skill '{}' failed: {}; the work begins without it", skill.name, failure.message);
                self.tell(context, transcript, &message);
                Ok(None)
            }
            other => Err(other),
        }
    }

    /// Reports to the reader of the transcript and to the user who watches the run.
    fn tell(&self, context: &AttemptContext<'_>, transcript: &mut Transcript, what: &str) {
        transcript.note(&format!("[conductor: {what}]"));
        self.notice(format!("{}: {what}", context.order.task));
    }
}
