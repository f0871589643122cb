//! Asking something of a run that another machine drives: the same lines, by way of the store that both share.
//!
//! The machine that drives the run passes each line to the control socket of its own coordinator, and the answer back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_core::schedule::Request;
use conductor_core::values::ids::RunId;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::lines::{self, Question, Reply};
use super::{ControlError, async_client};
use crate::dispatch::{LiveView, Query, View};
use crate::host::home::Home;
use crate::stores::requests::{Answered, Requests};

/// How long the store is tried again where it cannot be reached as a run begins.
const AGAIN: Duration = Duration::from_secs(5);

/// How long a run that is over waits until the last answers are in the store.
const LAST: Duration = Duration::from_secs(3);

/// Asks, and waits until it is recorded: of this machine's own run, or of one that another drives. Blocks.
pub fn ask(home: &Home, run: &RunId, request: &Request) -> Result<(), ControlError> {
    match super::ask(&home.run(run), request) {
        Err(ControlError::NotThere) => {}
        done => return done,
    }
    send(home, run, lines::request(request)?).map(drop)
}

/// Looks at a run that is driven here, or by another machine. Blocks.
pub fn look(home: &Home, run: &RunId, query: Query) -> Result<View, ControlError> {
    match super::look(&home.run(run), query.clone()) {
        Err(ControlError::NotThere) => {}
        seen => return seen,
    }
    lines::seen(send(home, run, lines::question(&Question::Look(query))?)?)
}

/// The whole of a run that another machine drives. Blocks.
pub fn live_view(home: &Home, run: &RunId) -> Result<LiveView, ControlError> {
    let line = lines::question(&Question::Look(Query::Snapshot))?;
    lines::live_view(lines::seen(send(home, run, line)?)?)
}

/// On a runtime of its own: who asks may be in one, and waits for the answer.
fn send(home: &Home, run: &RunId, line: Vec<u8>) -> Result<Reply, ControlError> {
    if home.store().is_none() {
        return Err(ControlError::NotThere);
    }
    let line = String::from_utf8_lossy(&line).into_owned();
    let exchange = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let unreachable = |error| ControlError::Unreachable(std::io::Error::other(error));
            let Some(requests) = Requests::open(home).await.map_err(unreachable)? else {
                return Err(ControlError::NotThere);
            };
            match requests.ask(run, &line).await.map_err(unreachable)? {
                Answered::Line(answer) => lines::heard(answer.as_bytes()),
                Answered::Undriven => Err(ControlError::NotThere),
                Answered::Silent => Err(ControlError::Silent),
            }
        })
    };
    std::thread::scope(|scope| scope.spawn(exchange).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Passes what other machines ask of this run to its control socket, as long as it is kept.
pub(crate) struct Passing {
    over: watch::Sender<bool>,
    passing: JoinHandle<()>,
}

impl Passing {
    /// Nothing where the store is this machine's own.
    pub(crate) fn begin(home: &Home, run: &RunId) -> Option<Passing> {
        home.store()?;
        let (over, mut told) = watch::channel(false);
        let (home, run) = (home.clone(), run.clone());
        let passing = async move {
            let opened = async {
                loop {
                    match Requests::open(&home).await {
                        Ok(requests) => break requests,
                        // The run itself says what is wrong with the store.
                        Err(_) => tokio::time::sleep(AGAIN).await,
                    }
                }
            };
            let requests = tokio::select! {
                requests = opened => requests,
                _ = told.wait_for(|over| *over) => None,
            };
            if let Some(requests) = requests {
                let directory = home.run(&run);
                requests.serve(&run, told, |line| answered(directory.clone(), line)).await;
            }
        };
        Some(Passing { over, passing: tokio::spawn(passing) })
    }

    /// Nothing more is passed on.
    pub(crate) fn close(&self) {
        self.over.send_replace(true);
    }

    /// Who has asked is answered: a run that was cancelled from elsewhere ends before that is told.
    pub(crate) async fn end(mut self) {
        self.close();
        let _ = tokio::time::timeout(LAST, &mut self.passing).await;
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.passing.abort();
    }
}

async fn answered(directory: PathBuf, line: String) -> String {
    let reply = passed_on(&directory, &line).await;
    String::from_utf8_lossy(&lines::reply(&reply).unwrap_or_default()).into_owned()
}

async fn passed_on(directory: &Path, line: &str) -> Reply {
    // It has no end.
    if matches!(serde_json::from_str(line), Ok(Question::Follow)) {
        return Reply::Refused("a run is followed on the machine that drives it".to_owned());
    }
    match async_client::send(directory, line.as_bytes(), super::PATIENCE).await {
        Ok((_, reply)) => reply,
        Err(error) => Reply::Refused(error.to_string()),
    }
}
