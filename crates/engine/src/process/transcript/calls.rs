//! When an agent called which tool: a line for each call, in a file beside the transcript.
//!
//! An agent's own stream has no times, and only its last round is kept. A call under way when the coordinator is killed
//! is not in the file.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use conductor_core::values::units::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Speaker, open_own};
use crate::host::access;

/// What an attempt calls beyond this is not noted: nothing that reads it is served by more.
const MOST: usize = 10_000;

/// One call of a tool, as far as the agent told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub from: Timestamp,
    /// When it came back. Of calls side by side, the one that was told of first is taken to come back first.
    pub to: Timestamp,
    pub tool: String,
    /// What for, in a few words and without secrets.
    pub what: String,
    /// Whether it gave the agent an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// Notes the calls of one conversation. Where they cannot be written, they are left out: the agent works all the same.
pub(crate) struct CallLog {
    path: PathBuf,
    under_way: VecDeque<ToolCall>,
    noted: usize,
}

impl CallLog {
    pub(crate) fn new(speaker: &Speaker<'_>) -> CallLog {
        CallLog { path: speaker.calls(), under_way: VecDeque::new(), noted: 0 }
    }

    pub(crate) fn began(&mut self, tool: &str, what: &str, at: Timestamp) {
        if self.noted < MOST {
            self.noted += 1;
            let (tool, what) = (tool.to_owned(), what.to_owned());
            self.under_way.push_back(ToolCall { from: at, to: at, tool, what, failed: false });
        }
    }

    /// Which of several has failed is not told; of one it is clear.
    pub(crate) fn failed(&mut self) {
        if let [call] = self.under_way.make_contiguous() {
            call.failed = true;
        }
    }

    /// So many have come back.
    pub(crate) fn returned(&mut self, count: u32, at: Timestamp) {
        let count = self.under_way.len().min(count as usize);
        let over: Vec<ToolCall> = self.under_way.drain(..count).map(|call| ended(call, at)).collect();
        let _ = self.write(&over);
    }

    /// It says nothing more: what has not come back was cut short.
    pub(crate) fn finish(mut self, at: Timestamp) {
        let over: Vec<ToolCall> = self.under_way.drain(..).map(|call| ended(call, at)).collect();
        let _ = self.write(&over);
    }

    fn write(&self, calls: &[ToolCall]) -> io::Result<()> {
        if calls.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for call in calls {
            serde_json::to_writer(&mut lines, call)?;
            lines.push(b'\n');
        }
        if let Some(folder) = self.path.parent() {
            access::create_dir_all(folder)?;
        }
        access::options(&self.path).append(true).create(true).open(&self.path)?.write_all(&lines)
    }
}

/// The wall's clock may have been set back meanwhile.
fn ended(call: ToolCall, at: Timestamp) -> ToolCall {
    ToolCall { to: at.max(call.from), ..call }
}

/// What an attempt called, in the order in which it came back; nothing where that was not noted. A line that was cut is
/// passed over.
pub fn tool_calls(speaker: &Speaker<'_>) -> Vec<ToolCall> {
    let Ok(file) = open_own(speaker.calls()) else { return Vec::new() };
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_slice(&line).ok()).take(MOST).collect()
}

/// The call that came back last; only the end of the file is read.
pub fn last_tool_call(speaker: &Speaker<'_>) -> Option<ToolCall> {
    const WINDOW: u64 = 64 << 10;
    let mut file = open_own(speaker.calls()).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(WINDOW))).ok()?;
    let mut bytes = Vec::new();
    file.take(WINDOW).read_to_end(&mut bytes).ok()?;
    bytes.rsplit(|&byte| byte == b'\n').find_map(|line| serde_json::from_slice(line).ok())
}

#[cfg(test)]
mod tests {
    use conductor_core::values::ids::{Attempt, TaskId};

    use super::*;

    #[test]
    fn calls_are_noted_when_they_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let task = TaskId::parse("t").unwrap();
        let speaker = Speaker { output: folder.path(), executor: 1, task: &task, attempt: Attempt(2) };
        assert_eq!(tool_calls(&speaker), [], "an agent that calls nothing leaves no file");
        let mut log = CallLog::new(&speaker);
        log.began("Bash", "ls", Timestamp(10));
        log.failed();
        log.returned(1, Timestamp(20));
        log.began("Read", "a", Timestamp(30));
        log.began("Read", "b", Timestamp(31));
        log.failed();
        log.returned(1, Timestamp(5));
        log.returned(7, Timestamp(50));
        log.began("Task", "more", Timestamp(60));
        log.finish(Timestamp(70));
        let told = |call: &ToolCall| format!("{} {} {} {}", call.what, call.from.0, call.to.0, call.failed);
        let told: Vec<String> = tool_calls(&speaker).iter().map(told).collect();
        assert_eq!(told, ["ls 10 20 true", "a 30 30 false", "b 31 50 false", "more 60 70 false"]);
        assert_eq!(last_tool_call(&speaker).map(|call| call.what).as_deref(), Some("more"));
    }

    #[test]
    fn there_is_an_end_to_what_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let task = TaskId::parse("t").unwrap();
        let speaker = Speaker { output: folder.path(), executor: 1, task: &task, attempt: Attempt(1) };
        let mut log = CallLog::new(&speaker);
        (0..MOST + 5).for_each(|_| log.began("Bash", "ls", Timestamp(1)));
        log.finish(Timestamp(2));
        assert_eq!(tool_calls(&speaker).len(), MOST);
    }
}
