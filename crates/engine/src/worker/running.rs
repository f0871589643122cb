//! A process of an attempt, from its start to the end of all it started, with its words going to a transcript.

use std::io;
use std::num::NonZero;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use conductor_core::plan::{Reached, Resource};
use conductor_core::run::event::{Failure, FailureClass, Outcome};
use conductor_core::schedule::Input;
use tokio::sync::watch;

use super::checks::EVIDENCE_LINES;
use super::conversation::Conversation;
use super::standstill::Stand;
use super::{Order, Stop, Worker, log_lines};
use crate::host::shortage::PAUSE;
use crate::process::shim::{self, ShimLink, Through};
use crate::process::transcript::{Speaker, Transcript};
use crate::process::{self, Ended, Exit, GRACE, Launch, Running};

/// How often a running process's transcript is looked at for its length.
const TRIM: Duration = Duration::from_millis(250);

/// A process that is over sooner than this is not noted by its number: its mark is enough to find it by.
const BRIEF: Duration = Duration::from_millis(50);

/// How often an agent is listened to.
const HEAR: Duration = Duration::from_millis(20);

/// How long an agent that was asked in its own language may take before it gets a signal.
const COURTESY: Duration = Duration::from_secs(2);

/// What the system calls it when a process may open no more files.
const OUT_OF_FILES: &str = "too many open files";

static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));

/// Reads a process's output while it runs.
struct OutputReader<'a> {
    worker: &'a Worker,
    order: &'a Order,
    talk: &'a mut Conversation,
    /// Where its agent could go on without us.
    stand: Option<Stand>,
}

/// Returns when a conversation is to stand still that can.
async fn stands(output_reader: &mut Option<&mut OutputReader<'_>>) {
    match output_reader.as_mut().and_then(|output_reader| output_reader.stand.as_mut()) {
        Some(stand) => stand.wished().await,
        None => std::future::pending().await,
    }
}

impl OutputReader<'_> {
    /// Stands still until it is known who goes on: where that is another coordinator, its agent is let go of, and this never
    /// returns.
    async fn stand_still(
        &mut self,
        running: &mut Running,
        transcript: &mut Transcript,
        stop: &watch::Receiver<Stop>,
    ) -> io::Result<()> {
        self.talk.listen(self.worker, self.order, transcript)?;
        self.talk.deliver(&self.worker.message_queue, self.order, transcript);
        let Some(stand) = &mut self.stand else { return Ok(()) };
        if stand.stand_still(stop).await {
            running.let_go().await;
            stand.left();
            // What is open and lies about for the agent stays as it is: this process ends without looking after it.
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

impl Worker {
    pub(super) async fn run_process(
        &self,
        order: &Order,
        launch: &Launch,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Exit, Failure> {
        self.run_talking(order, (launch, Source::Start(None)), transcript, stop, None).await
    }

    /// Started as soon as the machine has what that takes, or taken hold of.
    async fn start_or_attach(
        &self,
        order: &Order,
        (launch, source): (&Launch, Source),
        (transcript, stream): (&Transcript, Option<&Transcript>),
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Running, Failure> {
        let mut through = match source {
            Source::Left(link) => {
                return Ok(Running::attached(&self.services.processes, *link, self.mark(order)));
            }
            Source::Start(through) => through,
        };
        loop {
            match self.start(order, launch, transcript, stream, through.as_ref()).await {
                Err(error) if self.waits_for(&error, stop) => tokio::time::sleep(PAUSE).await,
                // Such as where there can be no sockets. It works all the same, and the user is told what is lacking.
                Err(error) if through.is_some() && shim::is_of_shim(&error) => {
                    self.warn_mortal(&order.task, &error);
                    through = None;
                }
                started => return started.map_err(|error| missing(launch, &error)),
            }
        }
    }

    /// As `run_process`, with a conversation that reads its output and answers.
    pub(super) async fn run_talking(
        &self,
        order: &Order,
        (launch, source): (&Launch, Source),
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
        mut talk: Option<&mut Conversation>,
    ) -> Result<Exit, Failure> {
        let lost =
            |error: io::Error| Failure::new(FailureClass::Killed, format!("lost sight of it: {error}"));
        let started = Instant::now();
        let stream = talk.as_ref().and_then(|talk| talk.stream());
        let mut running = self.start_or_attach(order, (launch, source), (transcript, stream), stop).await?;
        let process = running.pid();
        log_lines::process_started(launch, process);
        if let Some((notes, slice)) = running.notes().zip(running.slice()) {
            self.services.slices.enter(&order.task, order.attempt, notes, slice);
        }
        if let Some(talk) = talk.as_deref_mut() {
            talk.open(running.take_stdin(), running.notes());
        }
        match tokio::time::timeout(BRIEF, running.exited()).await {
            Ok(exited) => exited.map_err(lost)?,
            Err(_) => {
                let (task, attempt, process) = (order.task.clone(), order.attempt, running.name());
                self.report(Input::ProcessStarted { task, attempt, process });
                let standstill = &self.services.standstill;
                let stand = running.can_be_left().then(|| standstill.enter(&order.task, order.attempt));
                let mut output_reader =
                    talk.as_deref_mut().map(|talk| OutputReader { worker: self, order, talk, stand });
                supervise(
                    &mut running,
                    transcript,
                    stop,
                    output_reader.as_mut(),
                    &mut LastLineWatch::new(self, order),
                )
                .await
                .map_err(lost)?;
            }
        }
        if let Some(talk) = talk.as_deref_mut() {
            talk.lost = running.is_lost();
        }
        self.services.slices.leave(&order.task, order.attempt);
        let Ended { exit, took, reached } = running.finish(started.elapsed()).await.map_err(lost)?;
        log_lines::process_ended(process, exit, started.elapsed());
        self.link.board.takes(&order.task, took);
        if let Some(talk) = talk {
            talk.listen(self, order, transcript).map_err(lost)?;
            talk.close(self, order);
        }
        match reached.or_else(|| out_of_files(launch, exit, transcript)) {
            Some(reached) => {
                transcript.note(&format!("[conductor: it was ended; {reached}]"));
                Err(Failure::of_limit(&reached))
            }
            None => Ok(exit),
        }
    }

    pub(super) async fn open_transcript(
        &self,
        speaker: &Speaker<'_>,
        is_new: bool,
        stop: &watch::Receiver<Stop>,
    ) -> Result<Transcript, Outcome> {
        let open = || if is_new { Transcript::open(speaker) } else { Transcript::reopen(speaker) };
        let opened = self.supplied(stop, open).await;
        opened.map_err(|error| unwritable(speaker, &error))
    }

    /// Starting blocks until the program is loaded. While there is a core for each, it is done right here: two threads that
    /// wake each other cost more. With more at work, a start may have to wait for a core, and is done aside.
    async fn start(
        &self,
        order: &Order,
        launch: &Launch,
        transcript: &Transcript,
        stream: Option<&Transcript>,
        through: Option<&Through>,
    ) -> io::Result<Running> {
        let (mark, writer) = (self.mark(order), transcript.writer()?);
        let files = (writer, stream.map(Transcript::writer).transpose()?);
        // A shim is waited for, and what is on the disk is counted.
        let looks_at_disk = launch.limits.of.disk.is_some();
        if process::under_way() < *CORES && through.is_none() && !looks_at_disk {
            return Running::start(&self.services.processes, launch, mark, files, None);
        }
        let (processes, launch) = (self.services.processes.clone(), launch.clone());
        let through = through.cloned();
        tokio::task::spawn_blocking(move || {
            Running::start(&processes, &launch, mark, files, through.as_ref())
        })
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

/// A command that had no more files to open says so itself: the system refuses them, and ends nothing.
fn out_of_files(launch: &Launch, exit: Exit, transcript: &mut Transcript) -> Option<Reached> {
    let limit = launch.limits.of.open_files.filter(|_| exit != Exit::Code(0) && !launch.converses)?;
    let says = |line: &String| line.to_lowercase().contains(OUT_OF_FILES);
    let is_out = transcript.last_lines(EVIDENCE_LINES).iter().any(says);
    is_out.then_some(Reached { resource: Resource::OpenFiles, limit, peak: None })
}

/// Where a process comes from.
pub(super) enum Source {
    /// It is started, by a shim if it is to outlive us.
    Start(Option<Through>),
    /// A shim holds it, which another coordinator has started.
    Left(Box<ShimLink>),
}

/// Until the main process has exited: keeps the transcript short and carries out a stop.
async fn supervise(
    running: &mut Running,
    transcript: &mut Transcript,
    stop: &mut watch::Receiver<Stop>,
    mut output_reader: Option<&mut OutputReader<'_>>,
    watch_line: &mut LastLineWatch<'_>,
) -> io::Result<()> {
    let mut hear = tokio::time::interval(HEAR);
    hear.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut trim = tokio::time::interval(TRIM);
    trim.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    trim.reset();
    let mut leave = Leave::default();
    loop {
        tokio::select! {
            biased;
            exited = running.exited() => return exited,
            Ok(()) = stop.changed() => {
                let wish = *stop.borrow_and_update();
                if wish >= Stop::Ask {
                    leave.ask(running, output_reader.as_deref_mut(), wish == Stop::Abandon);
                }
                if wish == Stop::Kill {
                    return running.kill().await;
                }
            }
            () = stands(&mut output_reader), if leave.deadline.is_none() => {
                if let Some(output_reader) = output_reader.as_deref_mut() {
                    output_reader.stand_still(running, transcript, stop).await?;
                }
            }
            () = until(leave.signal) => {
                leave.signal = None;
                running.ask_to_end();
            }
            () = until(leave.deadline) => return running.kill().await,
            _ = hear.tick(), if output_reader.is_some() => {
                let Some(output_reader) = output_reader.as_deref_mut() else { continue };
                output_reader.talk.listen(output_reader.worker, output_reader.order, transcript)?;
                output_reader.talk.deliver(&output_reader.worker.message_queue, output_reader.order, transcript);
                if output_reader.talk.cut().is_some() {
                    leave.ask(running, Some(output_reader), false);
                }
            }
            _ = trim.tick() => {
                transcript.trim();
                watch_line.worker.check_disks();
                if output_reader.as_ref().is_none_or(|output_reader| output_reader.talk.stream().is_none()) {
                    watch_line.take(transcript);
                }
            }
        }
    }
}

/// Looks at what a command says, for those who look on.
struct LastLineWatch<'a> {
    worker: &'a Worker,
    order: &'a Order,
    ticks: u32,
    seen: u64,
}

impl<'a> LastLineWatch<'a> {
    /// Every so many looks at its length.
    const EVERY: u32 = 4;

    fn new(worker: &'a Worker, order: &'a Order) -> LastLineWatch<'a> {
        LastLineWatch { worker, order, ticks: 0, seen: 0 }
    }

    fn take(&mut self, transcript: &Transcript) {
        self.ticks += 1;
        let is_due = self.ticks % Self::EVERY == 1 && self.worker.link.board.is_watched();
        if is_due && let Some((place, line)) = transcript.last_line_since(self.seen) {
            self.seen = place;
            self.worker.link.board.says(&self.order.task, line);
        }
    }
}

/// How far a process has been asked to come to an end.
#[derive(Default)]
struct Leave {
    /// When it gets a signal, and when it is killed.
    signal: Option<tokio::time::Instant>,
    deadline: Option<tokio::time::Instant>,
}

impl Leave {
    /// In its own language first, where it has one. Said once.
    fn ask(&mut self, running: &Running, output_reader: Option<&mut OutputReader<'_>>, for_good: bool) {
        if self.deadline.is_some() {
            return;
        }
        let now = tokio::time::Instant::now();
        self.deadline = Some(now + GRACE);
        match output_reader.is_some_and(|output_reader| output_reader.talk.interrupt(for_good)) {
            true => self.signal = Some(now + COURTESY),
            false => running.ask_to_end(),
        }
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn unwritable(speaker: &Speaker<'_>, error: &io::Error) -> Outcome {
    let message = format!("cannot write to {}: {error}", speaker.output.display());
    Outcome::Failed(Failure::new(FailureClass::Unstartable, message))
}

/// The system says "not found" for a missing program and for a missing directory alike.
pub(super) fn missing(launch: &Launch, error: &io::Error) -> Failure {
    let program = launch.program.display();
    let message = match error.kind() {
        _ if !launch.directory.is_dir() => format!("the directory {} is gone", launch.directory.display()),
        io::ErrorKind::NotFound => format!("command not found: {program}"),
        io::ErrorKind::PermissionDenied => format!("not allowed to execute {program}"),
        _ => format!("cannot start {program}: {error}"),
    };
    Failure::new(FailureClass::Unstartable, message)
}
