//! A disk of our own for the state directory, small enough to be filled.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::skipped;

pub(super) struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Nothing where we may not mount one.
    pub(super) fn mount(folder: &Path) -> Option<SmallDisk> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=48m,mode=0700", "tmpfs"])
            .arg(folder)
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            skipped("a full disk needs root and a mount");
            return None;
        }
        Some(SmallDisk { folder: folder.to_owned() })
    }

    /// Takes all the room there is.
    pub(super) fn fill(&self) {
        let room = Command::new("sh")
            .args(["-c", "head -c 60000000 /dev/zero > filler 2> /dev/null; true"])
            .current_dir(&self.folder)
            .status();
        assert!(room.is_ok());
    }

    pub(super) fn make_room(&self) {
        let _ = fs::remove_file(self.folder.join("filler"));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.folder).status();
    }
}
