//! The sessions that are driven right now, one file each, and requests to the processes that drive them.
//!
//! Only the process that drives a session touches its tab. Other processes ask it by a file, and it answers by a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::settings::Places;

const STEP: Duration = Duration::from_millis(100);

/// Sessions that this process has driven.
static LAST: AtomicU32 = AtomicU32::new(1);

/// A session that a process drives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The name of its file.
    pub name: String,
    pub pid: u32,
    /// By what the session is known to people: run, task, number.
    pub mark: String,
    pub title: String,
    pub url: Option<String>,
    /// What was seen last, in words.
    pub state: String,
    /// When the process began, as the system counts; a number alone is used again.
    pub started: u64,
}

/// What a driving process can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A picture of the page, as a file.
    Picture,
    /// The tab in front.
    Front,
}

impl Request {
    fn name(self) -> &'static str {
        match self {
            Request::Picture => "picture",
            Request::Front => "front",
        }
    }
}

/// One's own record, and the requests to oneself.
#[derive(Debug)]
pub struct OwnRecord {
    record: Record,
    path: PathBuf,
}

impl OwnRecord {
    pub fn new(places: &Places, mark: &str, title: &str) -> io::Result<OwnRecord> {
        let folder = places.sessions();
        Places::make(&folder)?;
        let pid = std::process::id();
        let name = format!("{pid}-{}", LAST.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(format!("{name}.json"));
        let record = Record {
            name,
            pid,
            mark: mark.to_owned(),
            title: title.to_owned(),
            url: None,
            state: "starting".to_owned(),
            started: started(pid).unwrap_or_default(),
        };
        let own = OwnRecord { record, path };
        own.write()?;
        Ok(own)
    }

    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// Says how things are; a disk that does not take it is no reason to stop.
    pub fn say(&mut self, url: Option<&str>, state: &str) {
        if self.record.url.as_deref() != url || self.record.state != state {
            self.record.url = url.map(str::to_owned);
            state.clone_into(&mut self.record.state);
            let _ = self.write();
        }
    }

    /// Takes a request, if there is one, and gives the file for the answer.
    pub fn asked(&self, request: Request) -> Option<PathBuf> {
        let file = asking(&self.path, request);
        fs::remove_file(file).is_ok().then(|| answering(&self.path, request))
    }

    fn write(&self) -> io::Result<()> {
        write_whole(&self.path, &serde_json::to_vec(&self.record)?)
    }
}

impl Drop for OwnRecord {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// All sessions whose process lives. What dead ones left is removed.
pub fn all(places: &Places) -> Vec<Record> {
    let entries = fs::read_dir(places.sessions()).into_iter().flatten().flatten();
    let mut records: Vec<Record> = entries
        .filter_map(|entry| {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                return None;
            }
            let record: Record = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
            if started(record.pid) == Some(record.started) {
                return Some(record);
            }
            let _ = fs::remove_file(path);
            None
        })
        .collect();
    records.sort_by(|a, b| a.mark.cmp(&b.mark));
    records
}

/// Asks the process of a session, and waits for the file with its answer. None where it does not answer in time.
pub fn ask(
    places: &Places,
    record: &Record,
    request: Request,
    within: Duration,
) -> io::Result<Option<Vec<u8>>> {
    let path = places.sessions().join(format!("{}.json", record.name));
    let answer = answering(&path, request);
    let _ = fs::remove_file(&answer);
    fs::write(asking(&path, request), b"")?;
    let deadline = Instant::now() + within;
    while Instant::now() < deadline {
        if let Ok(bytes) = fs::read(&answer) {
            let _ = fs::remove_file(&answer);
            return Ok(Some(bytes));
        }
        sleep(STEP);
    }
    let _ = fs::remove_file(asking(&path, request));
    Ok(None)
}

/// A file that is there as a whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&aside, bytes)?;
    fs::rename(aside, path)
}

/// How far a submission has come, on the disk before the click that submits: a process that is killed while it composes has
/// submitted nothing, and the next one knows.
#[derive(Debug)]
pub struct Intent {
    path: PathBuf,
    mark: String,
}

impl Intent {
    pub fn new(folder: &Path, mark: &str) -> Intent {
        Intent { path: folder.join("browser-intent"), mark: mark.to_owned() }
    }

    pub fn composing(&self) -> io::Result<()> {
        self.write("composing", &[])
    }

    /// With the sessions that are there already.
    pub fn submitting(&self, listed: &[String]) -> io::Result<()> {
        self.write("submitting", listed)
    }

    /// The sessions that were listed before the click that submits.
    pub fn listed_before(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let mut lines = text.lines();
        let is_ours = lines.next() == Some(&format!("submitting {}", self.mark));
        lines.filter(|_| is_ours).map(str::to_owned).collect()
    }

    /// Only where the file says that it was composed and no more is it certain that nothing was submitted.
    pub fn may_be_submitted(&self) -> bool {
        fs::read_to_string(&self.path).map_or(true, |text| text != format!("composing {}", self.mark))
    }

    fn write(&self, state: &str, listed: &[String]) -> io::Result<()> {
        let lines: String = listed.iter().map(|address| format!("\n{address}")).collect();
        write_whole(&self.path, format!("{state} {}{lines}", self.mark).as_bytes())?;
        fs::File::open(&self.path)?.sync_all()
    }
}

fn asking(path: &Path, request: Request) -> PathBuf {
    path.with_extension(format!("{}.ask", request.name()))
}

fn answering(path: &Path, request: Request) -> PathBuf {
    path.with_extension(format!("{}.answer", request.name()))
}

/// When a process began, in ticks since the machine did.
pub(crate) fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_listed_while_its_process_lives() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::in_home(home.path());
        let mut own = OwnRecord::new(&places, "run/task/1", "Build it").unwrap();
        own.say(Some("http://h/code/session_1"), "working");
        let listed = all(&places);
        assert_eq!((listed[0].mark.as_str(), listed[0].state.as_str()), ("run/task/1", "working"));
        let mut dead = listed[0].clone();
        dead.pid = 1;
        fs::write(places.sessions().join("1.json"), serde_json::to_vec(&dead).unwrap()).unwrap();
        assert_eq!(all(&places).len(), 1);
        assert!(!places.sessions().join("1.json").exists());
        drop(own);
        assert!(all(&places).is_empty());
    }

    #[test]
    fn an_intent_tells_what_was_there_before_its_own_submission() {
        let folder = tempfile::tempdir().unwrap();
        let intent = Intent::new(folder.path(), "r/t/1");
        intent.composing().unwrap();
        assert!(!intent.may_be_submitted() && intent.listed_before().is_empty());
        intent.submitting(&["a".to_owned(), "b".to_owned()]).unwrap();
        assert!(intent.may_be_submitted());
        assert_eq!(intent.listed_before(), ["a", "b"]);
        let other = Intent::new(folder.path(), "r/t/2");
        assert!(other.may_be_submitted() && other.listed_before().is_empty());
    }

    #[test]
    fn a_request_is_taken_once_and_answered_by_a_file() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::in_home(home.path());
        let own = OwnRecord::new(&places, "m", "t").unwrap();
        let record = all(&places).remove(0);
        let asking =
            std::thread::spawn(move || ask(&places, &record, Request::Picture, Duration::from_secs(20)));
        let answer = loop {
            if let Some(answer) = own.asked(Request::Picture) {
                break answer;
            }
        };
        write_whole(&answer, b"picture").unwrap();
        assert_eq!(asking.join().unwrap().unwrap().unwrap(), b"picture");
        assert_eq!(own.asked(Request::Picture), None);
    }
}
