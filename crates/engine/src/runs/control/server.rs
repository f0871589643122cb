//! The coordinator's end of the control socket.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use conductor_core::schedule::Request;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{RwLock, watch};
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::lines::{self, LONGEST_REQUEST, Question, Reply};
use super::{Address, NAME, handover};
use crate::dispatch::{Control, View};
use crate::stores::bus::News;

/// How long those who do not listen to their answer are waited for.
const FAREWELL: Duration = Duration::from_secs(1);

/// Listens as long as it lives.
pub(crate) struct ControlServer {
    listening: JoinHandle<()>,
    socket: PathBuf,
    /// Held by every connection that is being answered, or told of events.
    answering: Arc<RwLock<()>>,
    /// Followers are told the events there are, and then no more.
    closing: watch::Sender<bool>,
}

/// What each connection has.
#[derive(Clone)]
struct Connection {
    control: Control,
    answering: Arc<RwLock<()>>,
    closed: watch::Receiver<bool>,
    views: Arc<ViewLines>,
}

impl ControlServer {
    pub(crate) fn open(directory: &Path, control: Control) -> io::Result<ControlServer> {
        let socket = directory.join(NAME);
        // We hold the run's claim, so the coordinator that left a socket is dead.
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&Address::of(directory)?.path)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        let answering = Arc::new(RwLock::new(()));
        let (closing, closed) = watch::channel(false);
        let connection = Connection { control, answering: answering.clone(), closed, views: Arc::default() };
        tracing::debug!("the control socket is open");
        let listening = async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        drop(tokio::spawn(connection.clone().serve(stream).in_current_span()));
                    }
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        };
        let listening = tokio::spawn(listening.in_current_span());
        Ok(ControlServer { listening, socket, answering, closing })
    }

    /// Accepts no more connections, and lets callers receive their answers: this process may end right after.
    pub(crate) async fn close(self) {
        self.listening.abort();
        self.closing.send_replace(true);
        let _ = tokio::time::timeout(FAREWELL, self.answering.write()).await;
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.listening.abort();
        let _ = fs::remove_file(&self.socket);
    }
}

impl Connection {
    /// A caller that hangs up early gets no answer; neither the run nor other callers notice.
    async fn serve(self, stream: UnixStream) {
        let (reader, mut writer) = stream.into_split();
        let mut lines = tokio::io::BufReader::new(reader.take(LONGEST_REQUEST)).lines();
        let answering = self.answering.clone();
        while let Ok(Some(line)) = lines.next_line().await {
            let held = answering.read().await;
            let answer = match serde_json::from_str(&line) {
                Ok(Question::Follow) => {
                    self.tell_all(writer).await;
                    return;
                }
                Ok(Question::HandOver { version, patience }) => {
                    let _held = held;
                    handover::serve(&self.control, (version, patience), lines, writer).await;
                    return;
                }
                // Only the one who asked to have the run can take it.
                Ok(Question::Take) => return,
                Ok(Question::Look(query)) => {
                    tracing::trace!(?query, "asked on the control socket");
                    match self.control.look(query).await {
                        None => return,
                        Some(Ok(view)) => self.views.line(view),
                        Some(Err(refusal)) => {
                            lines::reply(&Reply::Refused(refusal.to_string())).map(Into::into)
                        }
                    }
                }
                Err(_) => match asked(&line, &self.control).await {
                    None => return,
                    Some(reply) => lines::reply(&reply).map(Into::into),
                },
            };
            let Ok(answer) = answer else { return };
            if writer.write_all(&answer).await.is_err() {
                return;
            }
            drop(held);
        }
    }

    /// A follower that reads too slowly holds up only this task, and at the end of the run only for a moment. One that fell
    /// behind is told from where on, and no more: it has to follow again.
    async fn tell_all(self, mut writer: OwnedWriteHalf) -> Option<()> {
        let Connection { control, mut closed, .. } = self;
        let (seq, mut news) = control.follow().await?;
        drop(control);
        write(&mut writer, lines::reply(&Reply::Following(seq))).await?;
        loop {
            let next = tokio::select! {
                biased;
                next = news.recv() => next,
                _ = closed.wait_for(|closed| *closed) => None,
            };
            match next? {
                News::Records(records) => {
                    for record in records.iter() {
                        write(&mut writer, lines::record(record)).await?;
                    }
                }
                News::Missed { after, .. } => {
                    tracing::debug!(after, "a follower on the control socket fell behind");
                    return write(&mut writer, lines::missed(after)).await;
                }
            }
        }
    }
}

/// A view that many look at is put into words once.
#[derive(Default)]
struct ViewLines {
    snapshot: Mutex<Option<(View, Arc<[u8]>)>>,
    tasks: Mutex<Option<(View, Arc<[u8]>)>>,
}

impl ViewLines {
    fn line(&self, view: View) -> io::Result<Arc<[u8]>> {
        let last = match &view {
            View::Snapshot(_) => &self.snapshot,
            View::Tasks(_) => &self.tasks,
            View::Why(_) | View::Heard(_) => return lines::reply(&Reply::Seen(view)).map(Into::into),
        };
        // Held while it is worded: all others who come now want the same.
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((worded, line)) = &*last
            && is_same(worded, &view)
        {
            return Ok(line.clone());
        }
        let line: Arc<[u8]> = lines::reply(&Reply::Seen(view.clone()))?.into();
        *last = Some((view, line.clone()));
        Ok(line)
    }
}

/// Whether it is the very same one, not one that looks like it.
fn is_same(one: &View, other: &View) -> bool {
    match (one, other) {
        (View::Snapshot(one), View::Snapshot(other)) => Arc::ptr_eq(one, other),
        (View::Tasks(one), View::Tasks(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

/// Its name alone: what comes with it may be in the user's words.
fn kind(request: &Request) -> String {
    match serde_json::to_value(request).unwrap_or_default() {
        serde_json::Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        name => name.as_str().unwrap_or_default().to_owned(),
    }
}

async fn asked(line: &str, control: &Control) -> Option<Reply> {
    Some(match serde_json::from_str::<Request>(line) {
        Err(error) => Reply::Refused(format!("this is no request: {error}")),
        Ok(request) => {
            let kind = kind(&request);
            let done = control.ask_and_wait(request).await?;
            tracing::debug!(request = kind, ok = done.is_ok(), "asked on the control socket");
            done.map_or_else(|refusal| Reply::Refused(refusal.to_string()), |()| Reply::Done)
        }
    })
}

async fn write(writer: &mut OwnedWriteHalf, line: io::Result<Vec<u8>>) -> Option<()> {
    writer.write_all(&line.ok()?).await.ok()
}
