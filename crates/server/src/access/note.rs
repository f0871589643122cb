//! Where the server of a home is: told to those who look for it as long as it runs.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use conductor_engine::host::access;
use conductor_engine::host::home::Home;

use super::owner;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// As browsers are to call it.
    pub page: String,
    /// Where it can be reached from this machine.
    pub bound: SocketAddr,
}

fn file(home: &Home) -> PathBuf {
    owner::folder(home).join("address")
}

impl Note {
    pub fn write(home: &Home, page: &str, bound: SocketAddr) -> io::Result<Note> {
        let note = Note { page: page.to_owned(), bound: from_here(bound) };
        access::replace(&file(home), note.text())?;
        Ok(note)
    }

    /// What was noted last; the server may have been killed since.
    pub fn read(home: &Home) -> Option<Note> {
        let text = fs::read_to_string(file(home)).ok()?;
        let (page, bound) = text.trim_end().split_once('\n')?;
        Some(Note { page: page.to_owned(), bound: bound.parse().ok()? })
    }

    /// Unless another server has come since.
    pub fn remove(&self, home: &Home) {
        if Note::read(home).as_ref() == Some(self) {
            let _ = fs::remove_file(file(home));
        }
    }

    fn text(&self) -> String {
        format!("{}\n{}\n", self.page, self.bound)
    }
}

/// One that listens everywhere is reached by the loopback.
fn from_here(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bound.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_leaves_the_note_of_another_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        access::create_private_dir_all(&owner::folder(&home)).unwrap();
        assert_eq!(Note::read(&home), None);
        let first = Note::write(&home, "http://a", "0.0.0.0:1".parse().unwrap()).unwrap();
        assert_eq!(first.bound.to_string(), "127.0.0.1:1");
        let second = Note::write(&home, "http://b", "[::]:2".parse().unwrap()).unwrap();
        assert_eq!(second.bound.to_string(), "[::1]:2");
        first.remove(&home);
        assert_eq!(Note::read(&home).as_ref(), Some(&second));
        second.remove(&home);
        assert_eq!(Note::read(&home), None);
    }
}
