//! Sends a run's spans while the run goes on. No run waits for a collector, nor fails because of one.
//!
//! Two threads: one follows the log and makes spans, one sends them. What the second has not sent is bounded; what is
//! beyond that is counted and let go. All of it can be made again from the log.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender as Queue};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::run::event::{Event, Record};
use conductor_core::values::ids::RunId;
use conductor_engine::host::access;
use conductor_engine::host::home::Home;
use conductor_engine::host::logs::carried;
use conductor_engine::process::transcript::{self, Speaker, ToolCall};
use conductor_engine::stores::{self, Follower, StoreError};

use crate::calls::{Content, with_calls};
use crate::course::Course;
use crate::ids::TraceParent;
use crate::sending::{SendError, Sender};
use crate::settings::Settings;
use crate::span::{AttemptOf, Span};

/// How many spans go into one request, and how many wait at most.
const BATCH: usize = 512;
const WAITING: u64 = 16_384;

/// After how long a collector that cannot be reached is tried again: longer each time.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(10), Duration::from_secs(30)];

/// How long a store that cannot be read now is left alone.
const PAUSE: Duration = Duration::from_millis(250);

/// How long a run waits at its end for what is under way.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where it is remembered which span a run is a part of.
const PARENT: &str = "traceparent";

/// Whose trace it is, and where its files are.
#[derive(Debug, Clone)]
pub struct TraceSource {
    pub home: Home,
    pub id: RunId,
    /// Where the run's files are, and where its state is.
    pub output: PathBuf,
    pub state: PathBuf,
}

impl TraceSource {
    /// What an attempt called.
    pub fn calls(&self, of: &AttemptOf) -> Vec<ToolCall> {
        let AttemptOf { task, attempt, executor } = of;
        let speaker = Speaker { output: &self.output, executor: *executor, task, attempt: *attempt };
        transcript::tool_calls(&speaker)
    }

    /// All spans of a log that are over; all there are, where no coordinator drives the run any more.
    pub fn spans(&self, records: &[Record], content: Content, is_live: bool) -> Vec<Span> {
        let mut course = Course::new(&self.id, remembered(&self.state), content);
        let mut spans: Vec<Span> = records.iter().flat_map(|record| course.take(record)).collect();
        if !is_live {
            spans.extend(course.rest());
        }
        with_calls(&self.id, spans, content, &|of| self.calls(of))
    }
}

/// The span that a run is a part of. It is settled when the run is first taken up, and holds for every later coordinator:
/// one run is one trace.
pub fn trace_parent(state: &Path, told: Option<&str>, is_first: bool) -> io::Result<Option<TraceParent>> {
    if !is_first {
        return Ok(remembered(state));
    }
    let parent = told.and_then(TraceParent::parse);
    if let Some(parent) = parent {
        access::replace(&state.join(PARENT), format!("{parent}\n"))?;
    }
    Ok(parent)
}

fn remembered(state: &Path) -> Option<TraceParent> {
    TraceParent::parse(&std::fs::read_to_string(state.join(PARENT)).ok()?)
}

/// What both threads count.
#[derive(Default)]
struct Counts {
    made: AtomicU64,
    sent: AtomicU64,
    /// Handed over, and neither sent nor given up.
    waiting: AtomicU64,
    /// Nothing new comes: what is left is tried once more, without pauses.
    ending: AtomicBool,
    /// Why the last one that failed did.
    cause: Mutex<Option<SendError>>,
}

pub struct Exporter {
    id: RunId,
    /// Of the collector, without what may be secret.
    place: String,
    counts: Arc<Counts>,
    done: Receiver<()>,
}

impl Exporter {
    /// Follows a run from here on; `seq` is how far its log went when it was taken up. What was over by then was told by
    /// the coordinator of that time.
    pub fn follow(
        settings: Settings,
        parent: Option<TraceParent>,
        source: TraceSource,
        seq: u64,
        records: Follower,
    ) -> Exporter {
        let (counts, place, id) = (Arc::new(Counts::default()), host(&settings.url), source.id.clone());
        let (batches, to_send) = mpsc::channel();
        let (ended, done) = mpsc::channel();
        let course = Course::new(&source.id, parent, settings.content);
        let (content, shared) = (settings.content, counts.clone());
        let tracer = Tracer { source, course, content, seq, records, batches, counts: counts.clone() };
        std::thread::spawn(carried(move || tracer.follow()));
        std::thread::spawn(carried(move || {
            send_all(&Sender::new(settings), &to_send, &shared);
            let _ = ended.send(());
        }));
        Exporter { id, place, counts, done }
    }

    /// Waits until all is sent, but not for long; what is to be told of what was not.
    pub fn finish(self) -> Option<String> {
        self.counts.ending.store(true, Ordering::Relaxed);
        let ended = self.done.recv_timeout(PATIENCE);
        let (made, sent) =
            (self.counts.made.load(Ordering::Relaxed), self.counts.sent.load(Ordering::Relaxed));
        let missing = made.saturating_sub(sent);
        if missing == 0 && ended.is_ok() {
            return None;
        }
        let cause = self.counts.cause.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let cause = cause.unwrap_or(SendError::Silent);
        let Exporter { id, place, .. } = &self;
        Some(format!(
            "{missing} of {made} spans of this run were not sent to {place}: {cause}; to send them later: conductor \
             report {id} --format otlp --send"
        ))
    }
}

/// Makes spans of records.
struct Tracer {
    source: TraceSource,
    course: Course,
    content: Content,
    seq: u64,
    records: Follower,
    batches: Queue<Vec<Span>>,
    counts: Arc<Counts>,
}

impl Tracer {
    /// To the run's end. Where the log cannot be read, the run goes on without a trace, and can be reported later.
    fn follow(mut self) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        if let Err(error) = runtime.block_on(self.read()) {
            tracing::warn!(%error, "there is no trace of this run");
            return;
        }
        runtime.block_on(async {
            while let Some(batch) = self.records.recv().await {
                let spans = batch.iter().flat_map(|record| self.course.take(record)).collect();
                self.hand_over(spans);
            }
        });
    }

    /// What had happened before: nothing of it is told again.
    async fn read(&mut self) -> Result<(), StoreError> {
        let TraceSource { home, id, .. } = &self.source;
        let load = async || stores::open_to_look(home).await?.load(id, 0).await;
        let records = loop {
            match load().await {
                Err(StoreError::Unavailable { .. }) => tokio::time::sleep(PAUSE).await,
                read => break read?,
            }
        };
        for record in records.iter().take_while(|record| record.seq <= self.seq) {
            self.course.take(record);
        }
        Ok(())
    }

    fn hand_over(&self, spans: Vec<Span>) {
        let spans = with_calls(&self.source.id, spans, self.content, &|of| self.source.calls(of));
        for batch in spans.chunks(BATCH) {
            let count = batch.len() as u64;
            self.counts.made.fetch_add(count, Ordering::Relaxed);
            if self.counts.waiting.load(Ordering::Relaxed) + count > WAITING {
                tracing::debug!(spans = count, "the collector is too slow; these are let go");
                continue;
            }
            self.counts.waiting.fetch_add(count, Ordering::Relaxed);
            let _ = self.batches.send(batch.to_vec());
        }
    }
}

/// Until nothing more comes.
fn send_all(sender: &Sender, batches: &Receiver<Vec<Span>>, counts: &Counts) {
    while let Ok(mut batch) = batches.recv() {
        // What has gathered meanwhile goes along.
        while batch.len() < BATCH
            && let Ok(more) = batches.try_recv()
        {
            batch.extend(more);
        }
        send_patiently(sender, &batch, counts);
        counts.waiting.fetch_sub(batch.len() as u64, Ordering::Relaxed);
    }
}

/// As often as it takes while the run goes on; once when it is over.
fn send_patiently(sender: &Sender, batch: &[Span], counts: &Counts) {
    let mut tries = 0;
    loop {
        let was_ending = counts.ending.load(Ordering::Relaxed);
        let Err(error) = sender.send(batch) else {
            counts.sent.fetch_add(batch.len() as u64, Ordering::Relaxed);
            return;
        };
        tracing::debug!(%error, spans = batch.len(), "spans could not be sent");
        let passes = error.may_pass();
        if let SendError::Partly(rejected) = &error {
            counts.sent.fetch_add((batch.len() as u64).saturating_sub(*rejected), Ordering::Relaxed);
        }
        *counts.cause.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        if !passes || was_ending {
            return;
        }
        wait(PAUSES[tries.min(PAUSES.len() - 1)], counts);
        tries += 1;
    }
}

/// Shorter where the run comes to its end meanwhile.
fn wait(pause: Duration, counts: &Counts) {
    let until = Instant::now() + pause;
    while Instant::now() < until && !counts.ending.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Scheme and host only: names, passwords, paths and questions may be secrets.
pub fn host(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    format!("{scheme}://{}", host.rsplit_once('@').map_or(host, |(_, host)| host))
}

/// Whether no coordinator has driven the run before.
pub fn is_first(records: &[Record]) -> bool {
    !records.iter().any(|record| matches!(record.event, Event::RunStarted { .. }))
}
