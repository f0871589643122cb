//! Moments at which everything stands still, so that a test kills a process right there and not about there.
//!
//! A moment is armed by a file. What passes it (the stand-in of a provider, a hook of the remote, a check) takes the file
//! away, and waits until the test lets it go.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::harness::{DEADLINE, wait_for};

/// No test holds anything for so long.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(crate) struct Trap {
    folder: PathBuf,
}

impl Trap {
    pub(crate) fn new(folder: PathBuf) -> Trap {
        fs::create_dir_all(&folder).unwrap();
        Trap { folder }
    }

    fn armed(&self, moment: &str) -> PathBuf {
        self.folder.join(format!("armed-{moment}"))
    }

    fn reached(&self) -> PathBuf {
        self.folder.join("reached")
    }

    pub(crate) fn arm(&self, moment: &str) {
        fs::write(self.armed(moment), "").unwrap();
    }

    pub(crate) fn is_armed(&self, moment: &str) -> bool {
        self.armed(moment).exists()
    }

    /// Stands still here, if the moment is armed; whether it was.
    pub(crate) fn pass(&self, moment: &str) -> bool {
        if fs::rename(self.armed(moment), self.reached()).is_err() {
            return false;
        }
        let began = Instant::now();
        while self.reached().exists() && began.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    #[track_caller]
    pub(crate) fn wait(&self, moment: &str) {
        wait_for(moment, || self.reached().exists().then_some(()));
    }

    pub(crate) fn let_go(&self) {
        let _ = fs::remove_file(self.reached());
    }

    /// A command that passes a moment.
    pub(crate) fn command(&self, moment: &str) -> String {
        let path = self.folder.join("pass.sh");
        let folder = self.folder.display();
        let most = DEADLINE.as_secs() * 20;
        let text = format!(
            "mv {folder}/armed-$1 {folder}/reached 2>/dev/null || exit 0\n\
             n=0; while [ -e {folder}/reached ] && [ $n -lt {most} ]; do sleep 0.05; n=$((n+1)); done\n"
        );
        fs::write(&path, text).unwrap();
        format!("sh {} {moment}", path.display())
    }

    /// The remote has moments, too: an anchor comes (`anchor`, `anchored`) and goes (`lifting`), and a session's work comes
    /// (`pushed`).
    pub(crate) fn hook_into(&self, remote: &Path) {
        let of = |anchor: &str, gone: &str, work: &str| {
            format!(
                "#!/bin/sh\nwhile read old new ref; do case \"$ref $new\" in\n\
                 refs/heads/conductor-anchor/*' 0000000'*) {};;\nrefs/heads/conductor-anchor/*) {};;\n\
                 refs/heads/claude/*) {};;\nesac; done\nexit 0\n",
                self.command(gone),
                self.command(anchor),
                self.command(work),
            )
        };
        for (hook, text) in [
            ("pre-receive", of("anchor", "lifting", "pushing")),
            ("post-receive", of("anchored", "lifted", "pushed")),
        ] {
            let path = remote.join("hooks").join(hook);
            fs::create_dir_all(remote.join("hooks")).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}
