//! Which machine this is, for others that share the store: one state directory on one host.

use std::fs;
use std::io::{self, Write as _};

use crate::host::access;
use crate::host::home::Home;

const NAME: &str = "machine";

pub(super) struct Machine {
    /// Made up once for the state directory, so that two of them on one host are two: each has locks of its own.
    pub(super) id: String,
    /// As the user knows it.
    pub(super) name: String,
}

impl Machine {
    pub(super) fn of(home: &Home) -> io::Result<Machine> {
        let path = home.root().join(NAME);
        loop {
            match fs::read_to_string(&path) {
                Ok(id) if is_id(id.trim()) => return Ok(Machine { id: id.trim().to_owned(), name: host() }),
                Ok(_) => {
                    let why = format!("{} is not what was written there; remove it", path.display());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => make(home)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// To look at what others do, where nothing may be made here.
    pub(super) fn to_look(home: &Home) -> Machine {
        let id = fs::read_to_string(home.root().join(NAME)).unwrap_or_default();
        Machine { id: id.trim().to_owned(), name: host() }
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Of two that make it at once, the first one's counts.
fn make(home: &Home) -> io::Result<()> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let mut file = tempfile::NamedTempFile::new_in(home.root())?;
    writeln!(file, "{}", random.iter().map(|byte| format!("{byte:02x}")).collect::<String>())?;
    access::close(file.path())?;
    match file.persist_noclobber(home.root().join(NAME)) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "another machine".to_owned(),
        name => name.to_owned(),
    }
}
