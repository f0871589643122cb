//! What agents at work say, line by line, for a client that asks for it. It is in no log, has no number and is not told
//! again: a client that comes back reads what it missed in the transcripts.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use conductor_core::run::{Run, TaskState};
use conductor_core::values::ids::Attempt;
use conductor_engine::host::home::Home;
use conductor_engine::runs::listening::{Listener, ShownLines, Words};
use conductor_engine::stores::LogReader;
use serde_json::json;
use tokio::sync::mpsc;

use super::feed::Feed;
use super::sending::Sent;

/// How often agents are listened to: what they say is to be seen within 200 ms.
const LISTEN: Duration = Duration::from_millis(100);

/// Of one agent, so many lines and bytes are told each time, the newest.
const MOST_LINES: usize = 200;
const MOST_BYTES: usize = 64 << 10;

/// A line is told up to here.
const LONGEST_LINE: usize = 4 << 10;

/// So often it is read on each time: an agent that says more is told of later.
const BITES: usize = 8;

/// An attempt that is listened to.
struct Heard {
    place: usize,
    listener: Listener,
    attempt: Attempt,
    reader: Words,
    lines: ShownLines,
}

/// What agents of a run say, from the moment this was made.
pub(crate) struct Output {
    home: Home,
    store: Arc<dyn LogReader>,
    feed: Arc<Feed>,
    /// The task that is listened to, with those who race for it; all tasks where none is named.
    only: Option<usize>,
    known: Vec<Heard>,
    /// So many attempts of the run have begun.
    begun: usize,
}

impl Output {
    pub(crate) async fn begin(
        home: Home,
        store: Arc<dyn LogReader>,
        feed: Arc<Feed>,
        only: Option<usize>,
    ) -> Output {
        let (begun, now) = feed.look(|run| (run.spans().len(), at_work(run)));
        let mut output = Output { home, store, feed, only, known: Vec::new(), begun };
        output.listen_to(now);
        for heard in &mut output.known {
            // What was said before is in the transcript.
            while !heard.news().await.is_empty() {}
        }
        output
    }

    fn listen_to(&mut self, attempts: impl IntoIterator<Item = (usize, Attempt)>) {
        for (place, attempt) in attempts {
            if !self.is_wanted(place) {
                continue;
            }
            let (home, store, id) = (&self.home, self.store.clone(), self.feed.id());
            let listener = self.feed.look(|run| Listener::new(home, store, id, run, place, false));
            self.known.extend(Heard::new(place, attempt, listener));
        }
    }

    fn is_wanted(&self, place: usize) -> bool {
        let races = |only: usize| self.feed.look(|run| run.raced_by(place) == Some(only));
        self.only.is_none_or(|only| only == place || races(only))
    }

    /// For ever, into a client's queue.
    pub(crate) async fn tell(mut self, queue: mpsc::Sender<Sent>) {
        loop {
            tokio::time::sleep(LISTEN).await;
            // Also those that have come to their end meanwhile.
            let (new, now) = self.feed.look(|run| (begun_since(run, self.begun), at_work(run)));
            self.begun += new.len();
            self.listen_to(new);
            for heard in &mut self.known {
                let text = heard.news().await;
                heard.send(&self.feed, &text, &queue);
            }
            let is_over = |heard: &mut Heard| !now.contains(&(heard.place, heard.attempt));
            for mut over in self.known.extract_if(.., is_over).collect::<Vec<_>>() {
                let last = over.news().await + &over.lines.rest();
                over.send(&self.feed, &last, &queue);
            }
        }
    }
}

fn begun_since(run: &Run, known: usize) -> Vec<(usize, Attempt)> {
    run.spans().iter().skip(known).map(|span| (span.task as usize, span.attempt)).collect()
}

fn at_work(run: &Run) -> HashSet<(usize, Attempt)> {
    let tasks = run.tasks().enumerate();
    let running = tasks.filter_map(|(place, (_, progress))| match &progress.state {
        TaskState::Running(running) if !running.ended => Some((place, running.attempt)),
        _ => None,
    });
    running.collect()
}

impl Heard {
    fn new(place: usize, attempt: Attempt, listener: Listener) -> Option<Heard> {
        let (_, executor) = listener.attempts().iter().find(|(known, _)| *known == attempt).copied()?;
        let (reader, lines) = (listener.reader(attempt, executor), ShownLines::default());
        Some(Heard { place, attempt, listener, reader, lines })
    }

    /// New whole lines.
    async fn news(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..BITES {
            match self.listener.next(self.attempt, &mut self.reader).await {
                Ok(words) if !words.is_empty() => text += &self.lines.add(&words),
                _ => break,
            }
        }
        text
    }

    fn send(&self, feed: &Feed, text: &str, queue: &mpsc::Sender<Sent>) {
        if text.is_empty() {
            return;
        }
        let (lines, left_out) = newest(text);
        let message = json!([{
            "type": "agent_output", "run": feed.id(), "task_id": self.listener.task(),
            "attempt": self.attempt, "lines": lines, "left_out": left_out,
        }]);
        // Where more waits for the client already, events go before this.
        let _ = queue.try_send(Sent::Text(message.to_string().into()));
    }
}

/// The last lines of a text, as many as are told, and how many are not.
fn newest(text: &str) -> (Vec<String>, usize) {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    for line in text.lines().rev() {
        let line = match line.floor_char_boundary(LONGEST_LINE) {
            end if end < line.len() => format!("{} [{} bytes left out]", &line[..end], line.len() - end),
            _ => line.to_owned(),
        };
        bytes += line.len();
        if lines.len() == MOST_LINES || bytes > MOST_BYTES {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    let left_out = text.lines().count() - lines.len();
    (lines, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_by_its_end() {
        assert_eq!(newest("a\nb\n"), (vec!["a".to_owned(), "b".to_owned()], 0));
        let (lines, left_out) = newest(&"x\n".repeat(1_000));
        assert_eq!((lines.len(), left_out), (MOST_LINES, 1_000 - MOST_LINES));
        let (lines, left_out) = newest(&format!("{}\n", "y".repeat(LONGEST_LINE)).repeat(100));
        assert!(lines.len() == 16 && left_out == 84, "{} {left_out}", lines.len());
        let (lines, _) = newest(&"é".repeat(LONGEST_LINE));
        assert!(lines[0].ends_with("[4096 bytes left out]"), "{}", lines[0].len());
    }
}
