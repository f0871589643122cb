//! A file for one conversation with an agent, in its folder for temporary files.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::Brief;

/// It is there as long as it is needed, and can be read by its user alone.
#[derive(Debug)]
pub(super) struct ScratchFile(PathBuf);

impl ScratchFile {
    pub(super) fn new(brief: &Brief<'_>, name: &str, kind: &str, text: &str) -> io::Result<ScratchFile> {
        let own = brief
            .workspace
            .env
            .iter()
            .find(|(name, _)| name == "TMPDIR")
            .map(|(_, path)| PathBuf::from(path));
        let folder = own.unwrap_or_else(std::env::temp_dir);
        let path = folder.join(format!("conductor-{name}-{:016x}.{kind}", fastrand::u64(..)));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let written = ScratchFile(path);
        file.write_all(text.as_bytes())?;
        Ok(written)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
