//! A run that is left to another process while it goes on: what the two processes say to each other.
//!
//! The one that wants the run asks, and is told what holds it up. When nothing does, it reads what there is in the store, and only
//! then takes the run. Where either of them goes before that, the run stays where it is.

use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::Path;
use std::time::Duration;

use conductor_core::values::units::Millis;
use tokio::io::{AsyncBufRead, AsyncWriteExt as _, Lines};
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;

use super::lines::{self, LONGEST_ANSWER, Question, Reply};
use super::{Address, ControlError, PATIENCE};
use crate::dispatch::{Control, Handover, HandoverNews};

/// How much longer than the coordinator's patience its word may take: agents are let go of in between.
const SLACK: Duration = Duration::from_secs(15);

/// A run that can be taken now. Where this is dropped, it stays where it is.
pub struct Offer {
    stream: BufReader<BlockingStream>,
}

/// Asks the coordinator of a run to leave it to this process, and waits until it can. `tell` hears what that waits for. Blocks.
pub fn ask(
    directory: &Path,
    version: &str,
    patience: Millis,
    tell: &mut dyn FnMut(&[String]),
) -> Result<Offer, ControlError> {
    let connected = Address::of(directory).and_then(|address| BlockingStream::connect(&address.path));
    let mut stream = connected.map_err(lines::unconnected)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(Duration::from_millis(patience.0).saturating_add(SLACK)))?;
    let question = Question::HandOver { version: version.to_owned(), patience };
    stream.write_all(&lines::question(&question)?).map_err(lines::unwritten)?;
    let mut offer = Offer { stream: BufReader::new(stream) };
    loop {
        match offer.hear()? {
            Reply::Awaits(what) => tell(&what),
            Reply::Ready => return Ok(offer),
            _ => return Err(io::Error::other("it said something else").into()),
        }
    }
}

impl Offer {
    /// Returns when the run is left. Blocks.
    pub fn take(mut self) -> Result<(), ControlError> {
        let line = lines::question(&Question::Take)?;
        self.stream.get_mut().write_all(&line).map_err(lines::unwritten)?;
        match self.hear()? {
            Reply::Done => Ok(()),
            _ => Err(io::Error::other("it said something else").into()),
        }
    }

    fn hear(&mut self) -> Result<Reply, ControlError> {
        let mut line = Vec::new();
        let mut limited = (&mut self.stream).take(LONGEST_ANSWER);
        io::BufRead::read_until(&mut limited, b'\n', &mut line).map_err(lines::unheard)?;
        lines::heard(&line)
    }
}

/// The coordinator's side, for one who asks.
pub(super) async fn serve(
    control: &Control,
    (to, patience): (String, Millis),
    mut heard: Lines<impl AsyncBufRead + Unpin>,
    mut writer: OwnedWriteHalf,
) {
    let (told, mut news) = mpsc::unbounded_channel();
    let patience = Duration::from_millis(patience.0);
    control.hand_over(Handover { to, patience, told });
    loop {
        let reply = tokio::select! {
            biased;
            next = news.recv() => match next {
                Some(HandoverNews::Awaits(what)) => Reply::Awaits(what),
                Some(HandoverNews::Ready) => Reply::Ready,
                Some(HandoverNews::GivenUp(why)) => Reply::Refused(why),
                Some(HandoverNews::Done) => Reply::Done,
                None => return,
            },
            line = heard.next_line() => match line {
                Ok(Some(line)) if matches!(serde_json::from_str(&line), Ok(Question::Take)) => {
                    control.take();
                    continue;
                }
                // It is gone.
                _ => return,
            },
        };
        let is_last = matches!(reply, Reply::Refused(_) | Reply::Done);
        let written = match lines::reply(&reply) {
            Ok(line) => writer.write_all(&line).await,
            Err(error) => Err(error),
        };
        if is_last || written.is_err() {
            return;
        }
    }
}
