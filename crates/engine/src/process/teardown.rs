//! Ending everything a run has started, on every way out of it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use conductor_core::values::ids::RunId;

use super::control_group::Group;
use super::{Mark, Reaper, tree};

/// Held by what starts processes for a run. By `finish` where it comes to its end; where it is dropped without that (an
/// error, a panic), everything that carries the run's mark is ended there and then.
pub(crate) struct Teardown {
    run: RunId,
    /// Where it is written down which of its processes carry no mark.
    folder: PathBuf,
    reaper: Option<Reaper>,
    /// What we and all that we start are in, where the system lets us make one.
    group: Option<Group>,
    is_finished: bool,
}

impl Teardown {
    pub(crate) fn new(run: RunId, folder: &Path) -> Teardown {
        Teardown { run, folder: folder.to_owned(), reaper: None, group: None, is_finished: false }
    }

    /// Whatever is started from here on can be found by where it is.
    pub(crate) fn gather(&mut self) {
        self.group = Group::enter(&self.folder, &self.run);
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
        tree::sweep_all(&self.run).await;
        self.is_finished = true;
        self.leave_group();
        self.dismiss();
    }

    fn leave_group(&mut self) {
        if let Some(group) = self.group.take() {
            group.leave();
        }
    }

    /// The reaper stays where something could not be ended: it tries again.
    fn dismiss(&mut self) {
        if let Some(reaper) = self.reaper.take()
            && tree::alive(&self.run).is_empty()
        {
            reaper.dismiss();
        }
    }
}

impl Drop for Teardown {
    fn drop(&mut self) {
        if !self.is_finished {
            self.leave_group();
            tree::end_leftovers(&self.run, &self.folder, &[]);
            self.dismiss();
        }
    }
}

/// Ends every process of an attempt whose worker was lost, whichever process has started it.
pub(crate) async fn end_attempt(mark: &Mark) {
    let of_worker = mark.clone();
    let _ = tokio::task::spawn_blocking(move || tree::end_attempt(&of_worker)).await;
    tree::sweep(mark).await;
}

/// Ends every process that carries this mark and that is not waited for.
pub(crate) async fn sweep(mark: &Mark) {
    tree::sweep(mark).await;
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Stdio};

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
            let _teardown = Teardown::new(run.clone(), Path::new("/nonexistent"));
            panic!("as it is meant to");
        });
        assert!(unwound.is_err());
        // It would sleep on: only a signal ends it.
        assert!(child.try_wait().unwrap().is_some_and(|status| status.code().is_none()));
    }
}
