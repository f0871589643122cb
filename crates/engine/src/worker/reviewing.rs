//! A review of the work by another agent before it lands. Its findings go back to the agent that did the
//! work, like a failed check.

use conductor_core::plan::{Review, Task};
use conductor_core::run::event::{Change, Failure, FailureClass, Outcome, Reviewed};
use conductor_core::schedule::review::{self, Verdict};
use tokio::sync::watch;

use super::reattaching::Taking;
use super::session_state::new_session;
use super::{AttemptContext, Stop, Worker, unfit};
use crate::agents::{self, Brief, Earlier, Questions, Session};
use crate::host::logs::carried;
use crate::process::transcript::Transcript;

impl Worker {
    /// The reviewer's verdict, if the task asks for one; an error if the work goes back. A reviewer that
    /// cannot run, or gives no readable answer, is reported and does not hold up the task.
    pub(super) async fn reviewed(
        &self,
        context: &AttemptContext<'_>,
        change: &Change,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Reviewed>, Outcome> {
        let Some(review) = context.task.review.as_deref() else { return Ok(None) };
        let reviewer = review::reviewer(context.task, review);
        let by = match &reviewer.model {
            Some(model) => format!("{} ({model})", reviewer.agent_name()),
            None => reviewer.agent_name().to_owned(),
        };
        transcript.note(&format!("[conductor: review by {by}]"));
        let told = match self.review(context, review, &reviewer, change, transcript, stop).await {
            Ok(answer) => review::read(&answer, &by),
            Err(outcome @ (Outcome::Interrupted | Outcome::Cancelled)) => return Err(outcome),
            Err(Outcome::Failed(failure)) => Err(failure.message),
            Err(Outcome::Asked(question)) => Err(format!("it wants to be allowed {question}")),
            Err(Outcome::Succeeded) => Err("it gave no answer".to_owned()),
        };
        match told {
            Ok(Verdict { accepted: true, reviewed }) => Ok(Some(reviewed)),
            Ok(Verdict { reviewed, .. }) => {
                let mut failure =
                    Failure::new(FailureClass::Unverified, format!("{by} has reviewed it and rejects it"));
                failure.evidence = reviewed.findings.iter().map(|finding| format!("- {finding}\n")).collect();
                Err(Outcome::Failed(failure))
            }
            Err(why) => {
                transcript.note(&format!("[conductor: no review: {why}]"));
                self.notice(format!("{}: no review by {by}: {why}", context.order.task));
                Ok(None)
            }
        }
    }

    async fn review(
        &self,
        context: &AttemptContext<'_>,
        review: &Review,
        reviewer: &Task,
        change: &Change,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<String, Outcome> {
        let agent = agents::agent(context.plan, reviewer.agent_name()).map_err(unfit)?;
        let patch = self.patch(change).await?;
        let session = Session { id: new_session(), begun: false };
        let brief = Brief {
            task: reviewer,
            workspace: &context.workspace,
            caller: &self.caller,
            words: review::words(context.task, review, &patch),
            anew: None,
            session: &session,
            questions: &Questions::default(),
            earlier: Earlier::default(),
            manner: None,
            tools: None,
        };
        let (talk, exit) = self.converse(context, agent, &brief, transcript, stop, Taking::Aside).await?;
        if let Some(cut) = talk.cut() {
            return Err(transcript.redactor().outcome(cut));
        }
        let ending = talk.finish(exit.map_err(Outcome::Failed)?, transcript.redactor());
        if *stop.borrow() != Stop::No {
            return Err(Outcome::Interrupted);
        }
        match ending.outcome {
            Outcome::Succeeded => Ok(ending.result.unwrap_or_default()),
            other => Err(other),
        }
    }

    async fn patch(&self, change: &Change) -> Result<String, Outcome> {
        let Some(run_repo) = self.workspaces.run_repo().cloned() else { return Ok(String::new()) };
        let (base, commit) = (change.base.clone(), change.commit.clone());
        let patch =
            tokio::task::spawn_blocking(carried(move || run_repo.shadow().patch(&base, &commit))).await;
        match patch {
            Ok(Ok(patch)) => Ok(String::from_utf8_lossy(&patch).into_owned()),
            Ok(Err(error)) => Err(unreadable(&error)),
            Err(error) => Err(unreadable(&error)),
        }
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> Outcome {
    Outcome::Failed(Failure::new(FailureClass::Unstartable, format!("the change cannot be read: {error}")))
}
