//! A Debian system in a folder, and what is done in it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::product::said;
use crate::Result;
use crate::steps::quietly;

/// The oldest release that the package is for.
const RELEASE: &str = "bookworm";

pub(super) const USER: &str = "ada";

pub(super) type Listing = BTreeSet<String>;

pub(super) struct Root {
    folder: PathBuf,
}

impl Root {
    /// A new one. What debootstrap makes is kept for the next time.
    pub(super) fn make(below: &Path) -> Result<Root> {
        let (base, folder) = (below.join(RELEASE), below.join("now"));
        if !base.join("finished").exists() {
            let _ = fs::remove_dir_all(&base);
            fs::create_dir_all(&base)?;
            let tree = base.join("tree");
            quietly(
                Command::new("debootstrap").args(["--variant=minbase", RELEASE]).arg(&tree).arg(mirror()?),
            )?;
            symlink("tree", base.join("finished"))?;
        }
        let _ = fs::remove_dir_all(&folder);
        quietly(Command::new("cp").arg("--archive").arg(base.join("tree")).arg(&folder))?;
        let root = Root { folder };
        quietly(&mut root.as_root(&format!("useradd --create-home --shell /bin/bash {USER}")))?;
        Ok(root)
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path("home").join(USER)
    }

    /// A file of the user's, and the folders it is in.
    pub(super) fn write(&self, path: &str, text: &str) -> Result {
        let folder = Path::new(path).parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        quietly(&mut self.as_user(&format!("mkdir -p ./{folder}")))?;
        fs::write(self.home().join(path), text)?;
        quietly(&mut self.as_root(&format!("chown -R {USER}: /home/{USER}")))
    }

    pub(super) fn as_root(&self, script: &str) -> Command {
        self.command("root", "/root", script)
    }

    pub(super) fn as_user(&self, script: &str) -> Command {
        self.command(USER, &format!("/home/{USER}"), script)
    }

    /// With processes of its own, which end with it, and nothing of the developer's environment.
    fn command(&self, user: &str, home: &str, script: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child"]);
        command.arg(format!("--mount-proc={}", self.path("proc").display()));
        command.args(["chroot", &format!("--userspec={user}")]).arg(&self.folder);
        command.args(["/usr/bin/env", "-i", &format!("HOME={home}"), "LANG=C.UTF-8", "TERM=xterm"]);
        command.arg("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.args(["DEBIAN_FRONTEND=noninteractive", "/bin/sh", "-c", &format!("cd {home} && {script}")]);
        command
    }

    /// Every path in it.
    pub(super) fn files(&self) -> Result<Listing> {
        let listed =
            said(Command::new("find").arg(".").args(["-xdev", "-printf", "%P\n"]).current_dir(&self.folder))?;
        Ok(listed.lines().map(str::to_owned).collect())
    }
}

/// Where apt gets this machine's packages from, if it is a Debian; else debootstrap's own default.
fn mirror() -> Result<String> {
    let words = ["indextargets", "--format", "$(REPO_URI) $(COMPONENT) $(ORIGIN)", "Created-By: Packages"];
    let listed = said(Command::new("apt-get").args(words)).unwrap_or_default();
    let of_debian =
        listed.lines().filter(|line| line.ends_with(" main Debian") && !line.contains("security"));
    let found = of_debian.filter_map(|line| line.split(' ').next()).next();
    Ok(found.ok_or("apt on this machine names no mirror of Debian")?.to_owned())
}
