//! Ending everything a run has started, on every way out of it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::children::ActiveRun;
use super::control_group::Group;
use super::{Reaper, RunProcesses, tree};

/// Held by what starts processes for a run. By `finish` where it comes to its end; where it is dropped without that (an
/// error, a panic), everything that carries the run's mark is ended there and then.
pub(crate) struct Teardown {
    processes: Arc<RunProcesses>,
    /// Until all of them are ended.
    active: Option<ActiveRun>,
    /// Where it is written down which of its processes carry no mark.
    folder: PathBuf,
    reaper: Option<Reaper>,
    /// What we and all that we start are in, where the system lets us make one.
    group: Option<Group>,
    is_finished: bool,
}

impl Teardown {
    pub(crate) fn new(processes: Arc<RunProcesses>, folder: &Path) -> Teardown {
        let active = Some(ActiveRun::new(processes.run().clone()));
        let folder = folder.to_owned();
        processes.noted_in(&folder);
        Teardown { processes, active, folder, reaper: None, group: None, is_finished: false }
    }

    /// Whatever is started from here on can be found by where it is.
    pub(crate) fn gather(&mut self) {
        self.group = Group::enter(&self.folder, self.processes.run());
    }

    /// Starts the process that ends what is left behind if we are killed.
    pub(crate) fn keep(&mut self, command: &mut Command) -> io::Result<()> {
        let reaper = Reaper::start(command)?;
        if let Some(group) = &self.group {
            group.let_out(reaper.process());
        }
        self.reaper = Some(reaper);
        Ok(())
    }

    /// Every process of the run that is still there is ended, and only then is the reaper told that all is well.
    pub(crate) async fn finish(&mut self) {
        self.processes.sweep_all().await;
        self.is_finished = true;
        self.leave_group();
        self.active = None;
        self.dismiss();
    }

    /// Nothing is at work any more but what shims hold, which another coordinator is about to take hold of.
    pub(crate) fn leave(&mut self) {
        self.is_finished = true;
        self.leave_group();
        self.active = None;
        self.reaper.take().into_iter().for_each(Reaper::hand_over);
    }

    fn leave_group(&mut self) {
        self.processes.leave_limits();
        if let Some(group) = self.group.take() {
            group.leave();
        }
    }

    /// The reaper stays where something could not be ended: it tries again.
    fn dismiss(&mut self) {
        if let Some(reaper) = self.reaper.take()
            && tree::alive_of(self.processes.run(), &self.folder).is_empty()
        {
            reaper.dismiss();
        }
    }
}

impl Drop for Teardown {
    fn drop(&mut self) {
        if !self.is_finished {
            self.leave_group();
            tree::end_leftovers(self.processes.run(), &self.folder, &[]);
            self.dismiss();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Stdio};

    use conductor_core::values::ids::RunId;

    use super::*;

    /// A process of that run in a group of its own, as an agent is.
    fn agent(run: &RunId) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").env("CONDUCTOR_RUN", run.as_str()).process_group(0).stdin(Stdio::null());
        command.spawn().unwrap()
    }

    #[test]
    fn what_unwinds_past_a_teardown_leaves_no_process_behind() {
        let run = RunId::parse("unwound").unwrap();
        let mut child = agent(&run);
        let unwound = std::panic::catch_unwind(|| {
            let _teardown = Teardown::new(RunProcesses::new(run.clone()), Path::new("/nonexistent"));
            panic!("as it is meant to");
        });
        assert!(unwound.is_err());
        // It would sleep on: only a signal ends it.
        assert!(child.try_wait().unwrap().is_some_and(|status| status.code().is_none()));
    }
}
