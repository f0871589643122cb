//! An agent is started within what its task may see of the machine, as far as that can be had here.

use std::io;
use std::iter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use conductor_core::confinement::{Confinement, GitPlace, confines_itself, is_unconfinable};
use conductor_core::plan::{SandboxMode, Task};
use conductor_core::run::event::{Failure, FailureClass};

use super::running::missing;
use super::{AttemptContext, Worker};
use crate::git::workspaces::{GitFolder, Grounds};
use crate::process::Launch;
use crate::process::confinement::proxy::{Decided, Verdict};
use crate::process::confinement::{self, Confined, Hearer, Place, Tier, Works};
use crate::process::limits;

/// How many hosts that were refused are told of for one engagement.
const MOST_TOLD: usize = 20;

impl Worker {
    /// What is started instead of this, where its task is confined. One that must be and cannot be does not start.
    pub(super) fn confined(
        &self,
        context: &AttemptContext<'_>,
        task: &Task,
        launch: &Launch,
    ) -> Result<Option<Confined>, Failure> {
        let mode = task.sandbox_mode();
        if self.services.is_elsewhere
            && let Some(told) = limits::unkept(iter::once(task))
        {
            self.warn_once(format!("{}, where it works: {told}", task.id));
        }
        if mode == SandboxMode::Off {
            return Ok(None);
        }
        if is_unconfinable(task) {
            let message =
                format!("it must be confined, and {} does not work inside of a sandbox", task.agent_name());
            return Err(Failure::new(FailureClass::Unstartable, message));
        }
        if confines_itself(task.agent_name()) {
            return Ok(None);
        }
        match self.within(context, task, launch) {
            Ok(confined) => Ok(Some(confined)),
            Err(Trouble::Failed(failure)) => Err(failure),
            Err(Trouble::Unavailable(why)) if mode == SandboxMode::Require => {
                let message = format!("it must be confined (sandbox: require), and cannot be: {why}");
                Err(Failure::new(FailureClass::Unstartable, message))
            }
            Err(Trouble::Unavailable(why)) => {
                tracing::warn!(task = task.id.as_str(), why, "an agent is not confined");
                // That the coordinator's machine cannot do it at all is said when a run starts.
                if self.services.is_elsewhere || confinement::findings().tier != Tier::None {
                    self.warn_once(format!("{} is not confined: {why}", task.id));
                }
                Ok(None)
            }
        }
    }

    fn within(
        &self,
        context: &AttemptContext<'_>,
        task: &Task,
        launch: &Launch,
    ) -> Result<Confined, Trouble> {
        let found = confinement::findings();
        if !found.tier.is_enough_for(task.sandbox_mode()) {
            return Err(Trouble::Unavailable(found.why.clone().unwrap_or_default()));
        }
        if confinement::executable(launch).is_none() {
            return Err(Trouble::Failed(missing(launch, &io::ErrorKind::NotFound.into())));
        }
        let grounds = self.grounds(context);
        let state = std::path::absolute(&self.context.home).unwrap_or_else(|_| self.context.home.clone());
        grounds.close().map_err(|error| {
            Trouble::Unavailable(format!("its git directory cannot be written to: {error}"))
        })?;
        let works = works(state, &grounds);
        let around = confinement::surroundings(launch, &works);
        let confinement =
            Confinement::of(task, &around).map_err(|error| Trouble::Unavailable(error.to_string()))?;
        let confinement = confinement::plain(confinement);
        let unmade = |error: io::Error| {
            let message = format!("the files of its confinement cannot be written: {error}");
            Trouble::Failed(Failure::new(FailureClass::Unstartable, message))
        };
        let place = self.place(context, &works.state).map_err(unmade)?;
        if let (Some(home), Some(identity)) = (around.variables.get("HOME"), &grounds.identity) {
            place.commits_as(home, identity).map_err(unmade)?;
        }
        if let (Some(why), true) = (&found.why, self.services.is_elsewhere) {
            self.warn_once(format!("{}, where it works: confined by {} alone: {why}", task.id, found.tier));
        }
        if !found.tier.limits(&confinement) {
            self.warn_once(format!("{}: its network is not limited, {} cannot do that", task.id, found.tier));
        }
        let mut confined =
            confinement::confined(launch, &confinement, place, self.hearer(task)).map_err(unmade)?;
        // What it writes to a home or a temporary folder of its own is on the disk, too.
        confined.launch.limits.folders.push(place.root().to_owned());
        Ok(confined)
    }

    pub(super) fn grounds(&self, context: &AttemptContext<'_>) -> Grounds {
        self.workspaces.grounds(context.task, &context.request, &context.workspace.directory)
    }

    /// After a confined agent, before anything of the user's runs there.
    pub(super) fn put_right(&self, context: &AttemptContext<'_>, grounds: &Grounds) -> Result<(), Failure> {
        let task = &context.order.task;
        let removed = grounds.put_right().map_err(|error| {
            let message =
                format!("it wrote a commondir into its git directory that cannot be taken away: {error}");
            Failure::new(FailureClass::Unstartable, message)
        })?;
        for file in removed {
            let file = file.display();
            self.notice(format!(
                "{task} wrote {file}, by which git reads another configuration; it was taken away"
            ));
        }
        Ok(())
    }

    /// What is refused is told once for each host; everything is logged.
    fn hearer(&self, task: &Task) -> Hearer {
        let (link, warned, task) = (self.link.clone(), self.services.warned.clone(), task.id.clone());
        let told = AtomicUsize::new(0);
        Arc::new(move |Decided { target, verdict }| {
            tracing::info!(task = task.as_str(), target, %verdict, "a connection was asked for");
            let text = format!("{task} asked for {target}, which is not reached: {verdict}");
            let mut warned = warned.lock().unwrap_or_else(PoisonError::into_inner);
            let is_news = verdict != Verdict::Reached && !warned.contains(&text);
            // It is the agent that says what is asked for, and how often.
            if is_news && told.fetch_add(1, Ordering::Relaxed) < MOST_TOLD {
                warned.insert(text.clone());
                link.notice(text);
            }
        })
    }

    fn place<'c>(&self, context: &'c AttemptContext<'_>, state: &std::path::Path) -> io::Result<&'c Place> {
        if let Some(place) = context.confined.get() {
            return Ok(place);
        }
        let (run, task, attempt) = (&self.context.run, &context.order.task, context.order.attempt);
        let root =
            state.join("runs").join(run.as_str()).join("tmp").join(format!("confined-{task}-{attempt}"));
        let place = Place::new(state, root)?;
        Ok(context.confined.get_or_init(|| place))
    }
}

/// Why there is no confined launch.
enum Trouble {
    /// It cannot be had here.
    Unavailable(String),
    /// It would not have started anyway.
    Failed(Failure),
}

fn works(state: PathBuf, grounds: &Grounds) -> Works {
    let named = |path: &PathBuf| path.to_string_lossy().into_owned();
    let git = match &grounds.git {
        GitFolder::None => GitPlace::None,
        GitFolder::Inside => GitPlace::Inside,
        GitFolder::Pointed => GitPlace::Pointed,
        GitFolder::Worktree { common, own } => GitPlace::Worktree { common: named(common), own: named(own) },
        GitFolder::Clone { of } => GitPlace::Clone { of: named(of) },
    };
    let (modules, worktrees, lent) = (grounds.modules(), grounds.worktrees(), grounds.lent());
    Works { state, tree: grounds.tree.clone(), git, modules, worktrees, lent }
}
