//! Codes that open the page once: for the browser that `serve --open` or `open` starts.
//!
//! Each is a file below the server's own folder, which only the owner can write: a process of the owner makes a code for
//! a server that runs, and a server that was replaced meanwhile takes it as well.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use conductor_engine::host::access;
use conductor_engine::host::home::Home;

use super::identity::OWNER;
use super::{owner, secrets};

const GOOD_FOR: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Codes {
    folder: PathBuf,
}

impl Codes {
    pub fn of(home: &Home) -> Codes {
        Codes { folder: owner::folder(home).join("codes") }
    }

    pub fn issue_for_owner(&self) -> io::Result<String> {
        self.issue(OWNER)
    }

    /// For a session of this user.
    pub(crate) fn issue(&self, user: &str) -> io::Result<String> {
        let code = secrets::random("")?;
        access::create_private_dir_all(&self.folder)?;
        self.clear();
        // By its hash: what can be read there opens nothing.
        access::write(&self.folder.join(secrets::hash(&code)), user)?;
        Ok(code)
    }

    /// Whose session it opens, where it is good; it is not any more then. Of two that come with it at once one takes it
    /// away.
    pub(crate) fn redeem(&self, code: &str) -> Option<String> {
        let file = self.folder.join(secrets::hash(code));
        let (is_new, user) = (is_new(&file), fs::read_to_string(&file).ok()?);
        (fs::remove_file(&file).is_ok() && is_new && !user.is_empty()).then_some(user)
    }

    /// The address that opens the page with a code, and shows this part of it. Both are behind the #, which no server and
    /// no log sees.
    pub fn address(page: &str, code: &str, path: &str) -> String {
        match path {
            "/" => format!("{page}/open#{code}"),
            path => format!("{page}/open#{code}{path}"),
        }
    }

    /// Those that were not used in time.
    fn clear(&self) {
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if !is_new(&file.path()) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

fn is_new(file: &std::path::Path) -> bool {
    let made = fs::metadata(file).and_then(|data| data.modified());
    // One from the future is as old as a clock that was set back: of no use.
    made.is_ok_and(|made| SystemTime::now().duration_since(made).is_ok_and(|age| age < GOOD_FOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes() -> (tempfile::TempDir, Codes) {
        let dir = tempfile::tempdir().unwrap();
        let codes = Codes::of(&Home::at(dir.path()).unwrap());
        (dir, codes)
    }

    #[test]
    fn a_code_is_good_once() {
        let (_dir, codes) = codes();
        let code = codes.issue("ann").unwrap();
        assert_eq!(codes.redeem("other"), None);
        assert_eq!(codes.redeem("../owner-token"), None);
        assert_eq!(codes.redeem(&code).as_deref(), Some("ann"));
        assert_eq!(codes.redeem(&code), None);
    }

    #[test]
    fn one_that_was_not_used_in_time_is_good_no_more_and_goes() {
        let (_dir, codes) = codes();
        let code = codes.issue("ann").unwrap();
        let file = codes.folder.join(secrets::hash(&code));
        let old = SystemTime::now() - GOOD_FOR;
        fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        codes.issue("ann").unwrap();
        assert!(!file.exists());
        assert_eq!(codes.redeem(&code), None);
    }

    #[test]
    fn an_address_names_what_is_to_be_shown() {
        assert_eq!(Codes::address("http://h", "abc", "/"), "http://h/open#abc");
        assert_eq!(Codes::address("http://h", "abc", "/runs/r"), "http://h/open#abc/runs/r");
    }
}
