//! What a worker is told to do. It carries all that is needed, so that it can be carried out in any process.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::plan::{Isolation, Limits, Plan, Task};
use conductor_core::run::event::AgentChoice;
use conductor_core::schedule::StartFrom;
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use serde::{Deserialize, Serialize};

/// What all attempts of a run share.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunContext {
    pub run: RunId,
    /// The state directory of all runs.
    pub home: PathBuf,
    /// Where the run was started.
    pub directory: PathBuf,
    /// Where transcripts and reports go.
    pub output: PathBuf,
    /// Files and folders in the user's directory that are ours to write to.
    pub ours: Vec<PathBuf>,
    /// Where tasks work that do not say it themselves.
    pub isolation: Isolation,
    /// Whether there is a repository to work in.
    pub in_repository: bool,
    /// Of the run as it was taken up.
    pub limits: Limits,
}

/// One attempt: what is to be done, by which agent, as which try, from where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub context: Arc<RunContext>,
    pub task: TaskId,
    pub attempt: Attempt,
    pub executor: u32,
    /// None for a command.
    pub choice: Option<Box<AgentChoice>>,
    pub start_from: Option<Box<StartFrom>>,
    /// As it was when the attempt was decided: nothing about its own task changes after that.
    pub plan: Arc<Plan>,
    /// Where the task is in that plan.
    pub place: usize,
}

impl Order {
    /// The task with the agent and model that were chosen for this attempt.
    pub(crate) fn chosen_task(&self) -> Cow<'_, Task> {
        let task = &self.plan.tasks[self.place];
        match self.choice.as_deref() {
            Some(choice) if task.agent.as_ref() != Some(&choice.agent) || task.model != choice.model => {
                let (agent, model) = (Some(choice.agent.clone()), choice.model.clone());
                Cow::Owned(Task { agent, model, ..task.clone() })
            }
            _ => Cow::Borrowed(task),
        }
    }

    /// The same with only those tasks in its plan that it speaks of: a plan may be large, and an order travels.
    pub(crate) fn excerpt(&self) -> Order {
        let own = &self.plan.tasks[self.place];
        let mut named: HashSet<&TaskId> = own.dependencies.iter().map(|on| &on.id).collect();
        if let Some(start_from) = self.start_from.as_deref() {
            named.extend(start_from.before.iter().map(|(task, _)| task));
            named.extend(start_from.stack.iter().map(|below| &below.task));
            named.extend(start_from.context.iter().map(|(task, ..)| task));
        }
        // A plan of ten thousand is not gone through for every order that speaks of nothing else.
        let all = if named.is_empty() { &[][..] } else { &self.plan.tasks[..] };
        let others = all.iter().filter(|task| task.id != own.id && named.contains(&task.id));
        let tasks: Vec<Task> = std::iter::once(own).chain(others).cloned().collect();
        let plan = Arc::new(Plan { tasks, ..self.plan.without_tasks() });
        Order { plan, place: 0, ..self.clone() }
    }

    /// Whether its parts belong together; what comes from elsewhere is looked at before it is carried out.
    pub(crate) fn is_whole(&self) -> bool {
        self.plan.tasks.get(self.place).is_some_and(|task| task.id == self.task)
    }
}
