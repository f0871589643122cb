//! What passes between a coordinator and a worker in another process: one JSON object in a line, both ways.
//!
//! Both begin with their version. Every report has a number, one more than the one before, and is acknowledged when it is
//! recorded; until then the worker keeps it. A report whose number has been seen is not passed on again.
//!
//! An order begins nothing: the worker offers to carry it out, by a number of its own, or declines. Only where the attempt
//! is still to be carried out there is that granted, and then it starts. An attempt may be ordered from one worker more
//! than once, where its answer was late; so an order has a number, too, and all that is said about it names it.

use conductor_core::plan::Plan;
use conductor_core::run::event::Processes;
use conductor_core::schedule::{Input, Request};
use conductor_core::values::ids::{Attempt, TaskId, WorkerId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::board::Phase;
use super::{Order, Query, Stop, View};
use crate::git::handover::Code;
use crate::process::transcript::{Clear, Words};

/// Of what is said here.
pub const VERSION: u32 = 5;

/// The longest line that is read.
const LONGEST: usize = 64 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToWorker {
    Hello {
        version: u32,
    },
    Start {
        /// Of this order alone.
        number: u64,
        order: Box<Order>,
        /// Where its code is, where that is not on the worker's machine.
        code: Option<Code>,
    },
    /// The offer of this number is accepted: it starts.
    Grant {
        task: TaskId,
        attempt: Attempt,
        offer: u64,
    },
    /// The order of this number is another's by now, or not wanted any more.
    Withdrawn {
        task: TaskId,
        attempt: Attempt,
        number: u64,
    },
    Stop {
        task: TaskId,
        attempt: Attempt,
        how: Stop,
    },
    Say {
        task: TaskId,
        attempt: Attempt,
        words: String,
    },
    Amended {
        plan: Box<Plan>,
    },
    /// The report of this number is recorded, or refused.
    Acknowledged {
        report: u64,
        refused: Option<String>,
    },
    Answered {
        call: u64,
        answer: Answer,
    },
    /// A display shows what agents say.
    Watch,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromWorker {
    Hello {
        version: u32,
        worker: WorkerId,
    },
    /// It would carry out the order of this number, by one that is this offer's alone.
    Offer {
        task: TaskId,
        attempt: Attempt,
        number: u64,
        offer: u64,
    },
    /// It has no room for the order of this number.
    Declined {
        task: TaskId,
        attempt: Attempt,
        number: u64,
    },
    /// The remote has not these commits any more, with which an attempt of its begins. It goes on looking for them.
    Lacks {
        task: TaskId,
        attempt: Attempt,
        commits: Vec<String>,
    },
    /// It lives, and is at these; so many more it would take, if there is a limit.
    Alive {
        attempts: Vec<(TaskId, Attempt)>,
        #[serde(default)]
        free: Option<u32>,
    },
    Report {
        number: u64,
        input: Input,
    },
    Call {
        call: u64,
        what: Call,
    },
    Notice {
        text: String,
    },
    /// For a live display.
    Doing {
        task: TaskId,
        attempt: Attempt,
        phase: Phase,
        said: Option<String>,
        #[serde(default)]
        tool: Option<String>,
        took: Option<Processes>,
    },
    /// What an attempt on another machine says and leaves to be read, piece by piece; all of it before its end is reported. A
    /// piece that begins before what was heard is nothing new.
    Words {
        task: TaskId,
        attempt: Attempt,
        file: Words,
        /// Where it begins in the file there, and where the next piece does.
        offset: u64,
        next: u64,
        text: String,
    },
    /// How far an executor's transcript and stream can be shown.
    Clear {
        executor: u32,
        clear: [Clear; 2],
    },
}

/// What an attempt wants to know or to have done.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    Ask(Request),
    Look(Query),
}

/// Refusals are words by now: they are for an agent to read.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Done,
    View(Box<View>),
    Refused(String),
    /// The run has ended meanwhile.
    Gone,
}

pub(crate) async fn send<T: Serialize>(out: &mut (impl AsyncWrite + Unpin), what: &T) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    out.write_all(&line).await?;
    out.flush().await
}

/// The next line; nothing at the end. What is too long or cannot be read is an error.
pub(crate) async fn receive<T: DeserializeOwned>(
    from: &mut (impl AsyncBufRead + Unpin),
) -> std::io::Result<Option<T>> {
    let mut line = Vec::new();
    loop {
        let ready = from.fill_buf().await?;
        if ready.is_empty() {
            return match line.is_empty() {
                true => Ok(None),
                false => Err(std::io::ErrorKind::UnexpectedEof.into()),
            };
        }
        let (taken, ended) = match ready.iter().position(|&byte| byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (ready.len(), false),
        };
        if line.len() + taken > LONGEST {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "the line is too long"));
        }
        line.extend_from_slice(&ready[..taken]);
        from.consume(taken);
        if ended {
            return serde_json::from_slice(&line).map(Some).map_err(Into::into);
        }
    }
}
