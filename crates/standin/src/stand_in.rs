//! The stand-in as a test holds it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::conversation::is_name;
use crate::limits::Limits;
use crate::log::Request;
use crate::script::{Script, Usage};
use crate::server::Server;
use crate::stage::Stage;

/// A model that says what it is told to. It runs on a thread of its own and stops when dropped.
#[derive(Debug)]
pub struct StandIn {
    /// Always on 127.0.0.1.
    pub address: SocketAddr,
    stage: Arc<Stage>,
    _server: Server,
}

impl StandIn {
    /// Async for the convenience of async tests; nothing is waited for.
    pub async fn start() -> io::Result<StandIn> {
        StandIn::start_blocking()
    }

    /// The same, for tests without a runtime.
    pub fn start_blocking() -> io::Result<StandIn> {
        StandIn::with(Limits::default(), 0)
    }

    /// With bounds and a port of one's own; port 0 is any that is free.
    pub fn with(limits: Limits, port: u16) -> io::Result<StandIn> {
        let stage = Arc::new(Stage::new(limits));
        let server = Server::start(Arc::clone(&stage), port)?;
        Ok(StandIn { address: server.address, stage, _server: server })
    }

    /// Gives a job its script, in place of any it had; its faults are counted anew.
    ///
    /// # Panics
    /// If the name could not stand in an address: letters, digits, `.`, `_` and `-` can.
    pub fn script(&self, name: &str, script: Script) {
        assert!(is_name(name), "{name:?} cannot be a script's name");
        self.stage.script(name, &script);
    }

    /// What a CLI is to be given as the address of its API. OpenAI's clients want `/v1` after it.
    pub fn base_url(&self, name: &str) -> String {
        format!("http://{}/job/{name}", self.address)
    }

    /// The address without a job, for prompts that name their script.
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What all answers together would cost, in tokens.
    pub fn billed(&self) -> Usage {
        self.stage.billed()
    }

    /// All that a job has asked, in the order it came.
    pub fn requests(&self, job: &str) -> Vec<Request> {
        self.stage.requests(job)
    }

    /// Blocks until a job has made so many requests; false if that does not happen in time.
    pub fn await_requests(&self, job: &str, number: usize, patience: Duration) -> bool {
        self.stage.await_requests(job, number, patience)
    }
}
