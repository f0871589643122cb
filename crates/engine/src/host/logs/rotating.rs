//! A file that is begun anew when it is large, with two older ones beside it.
//!
//! Each line is one write, so that a process that is killed loses none. Where a line cannot be written it is
//! lost, and that is said in the file as soon as it can be written again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::host::access;

/// A run of a day with a thousand calls of git an hour stays below this.
const LARGEST: u64 = 8 * 1024 * 1024;

/// How many older files stay: `conductor.log.1` is the newer of the two.
const OLDER: u32 = 2;

type Open = fn(&Path) -> io::Result<(Box<dyn Write + Send>, u64)>;

pub(super) struct RotatingFile {
    path: PathBuf,
    largest: u64,
    open: Open,
    file: Option<Box<dyn Write + Send>>,
    size: u64,
    /// The last line ends in its middle.
    torn: bool,
    lost: u64,
    why: String,
}

impl std::fmt::Debug for RotatingFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RotatingFile").field("path", &self.path).field("lost", &self.lost).finish()
    }
}

impl RotatingFile {
    pub(super) fn new(path: PathBuf) -> RotatingFile {
        RotatingFile::with(path, LARGEST, opened)
    }

    fn with(path: PathBuf, largest: u64, open: Open) -> RotatingFile {
        RotatingFile { path, largest, open, file: None, size: 0, torn: false, lost: 0, why: String::new() }
    }

    /// A line with its end. `note` words how many were lost before it, and why.
    pub(super) fn write(&mut self, line: &str, note: impl Fn(u64, &str) -> String) {
        let noted = match self.lost {
            0 => Ok(()),
            lost => self.try_write(&note(lost, &self.why)).map(|()| self.lost = 0),
        };
        if let Err(error) = noted.and_then(|()| self.try_write(line)) {
            self.lost += 1;
            self.why = error.to_string();
        }
    }

    fn try_write(&mut self, line: &str) -> io::Result<()> {
        if self.size > 0 && self.size + line.len() as u64 > self.largest {
            self.rotate();
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let (file, size) = (self.open)(&self.path)?;
                self.size = size;
                none.insert(file)
            }
        };
        if self.torn {
            file.write_all(b"\n")?;
            self.torn = false;
        }
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            let written = match file.write(rest) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                written => written,
            };
            let written = written.inspect_err(|_| self.torn = rest.len() < line.len())?;
            self.size += written as u64;
            rest = &rest[written..];
        }
        Ok(())
    }

    /// Where files cannot be renamed, the one there is grows on.
    fn rotate(&mut self) {
        for pair in all(&self.path).windows(2) {
            let _ = fs::rename(&pair[1], &pair[0]);
        }
        (self.file, self.size, self.torn) = (None, 0, false);
    }
}

/// The paths of a file and of those that were before it, the oldest first.
pub(super) fn all(path: &Path) -> Vec<PathBuf> {
    let older = (1..=OLDER).rev().map(|number| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    });
    older.chain([path.to_owned()]).collect()
}

fn opened(path: &Path) -> io::Result<(Box<dyn Write + Send>, u64)> {
    let file: File = access::private().append(true).create(true).open(path)?;
    let size = file.metadata()?.len();
    Ok((Box::new(file), size))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn note(lost: u64, why: &str) -> String {
        format!("{lost} lost: {why}\n")
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn a_large_file_is_begun_anew_and_two_older_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = RotatingFile::with(path.clone(), 20, opened);
        for number in 0..9 {
            file.write(&format!("line {number}..\n"), note);
        }
        assert_eq!(read(&path), "line 8..\n");
        assert_eq!(read(&folder.path().join("log.1")), "line 6..\nline 7..\n");
        assert_eq!(read(&folder.path().join("log.2")), "line 4..\nline 5..\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        // Another process goes on with it, and counts what is there.
        let mut file = RotatingFile::with(path.clone(), 20, opened);
        file.write("line 9..\n", note);
        file.write("line 10.\n", note);
        assert_eq!(read(&path), "line 10.\n");
        assert_eq!(read(&folder.path().join("log.1")), "line 8..\nline 9..\n");
    }

    #[test]
    fn a_line_longer_than_a_file_may_be_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = RotatingFile::with(path.clone(), 4, opened);
        file.write("much too long\n", note);
        file.write("this too\n", note);
        assert_eq!(read(&path), "this too\n");
        assert_eq!(read(&folder.path().join("log.1")), "much too long\n");
    }

    #[test]
    fn it_is_the_users_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        RotatingFile::new(path.clone()).write("line\n", note);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    /// A disk with room for 12 bytes, and for all from the fourth write that finds it full on.
    struct Small(File, usize);
    static FULL: AtomicUsize = AtomicUsize::new(0);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.1 == 0 && FULL.fetch_add(1, Ordering::Relaxed) < 3 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let most = if self.1 == 0 { bytes.len() } else { bytes.len().min(self.1) };
            self.1 -= most.min(self.1);
            self.0.write(&bytes[..most])
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_full_disk_does_not_take_is_lost_and_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let open: Open = |path| {
            let file = File::options().create(true).append(true).open(path)?;
            Ok((Box::new(Small(file, 12)), 0))
        };
        let mut file = RotatingFile::with(path.clone(), 1000, open);
        for number in 0..6 {
            file.write(&format!("line {number}.\n"), note);
        }
        assert_eq!(read(&path), "line 0.\nline\n3 lost: no storage space\nline 4.\nline 5.\n");
    }

    #[test]
    fn a_folder_that_is_gone_loses_lines_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("there/log");
        let mut file = RotatingFile::new(path.clone());
        file.write("one\n", note);
        fs::create_dir(folder.path().join("there")).unwrap();
        file.write("two\n", note);
        assert_eq!(read(&path), "1 lost: No such file or directory (os error 2)\ntwo\n");
    }
}
