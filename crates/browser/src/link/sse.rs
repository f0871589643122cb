//! An MCP server over HTTP in the older way (`…/sse`): one stream for all answers, and a place to post to.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;

use super::http::{Events, parse};
use super::inbox::{Inbox, Incoming};
use super::{Link, LinkError, reply};

const SENDING: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Sse {
    agent: Agent,
    place: String,
    inbox: Inbox,
}

impl Sse {
    /// Opens the stream and waits for the place to post to.
    pub fn to(url: &str, within: Duration) -> Result<Sse, LinkError> {
        let config = Agent::config_builder().http_status_as_error(false).build();
        let agent = Agent::new_with_config(config);
        let (sender, receiver) = channel();
        let (tell, told) = channel();
        let (reader, from) = (agent.clone(), url.to_owned());
        thread::spawn(move || read(&reader, &from, &tell, &sender));
        let place = placed(&told, within)??;
        let place = address(url, &place);
        Ok(Sse { agent, place, inbox: Inbox::new(receiver) })
    }
}

fn placed(
    told: &Receiver<Result<String, LinkError>>,
    within: Duration,
) -> Result<Result<String, LinkError>, LinkError> {
    told.recv_timeout(within).map_err(|_| LinkError::Silent(within))
}

/// The place may be named by its path only.
fn address(stream: &str, place: &str) -> String {
    if !place.starts_with('/') {
        return place.to_owned();
    }
    let after_scheme = stream.find("://").map_or(0, |at| at + 3);
    let origin = stream[after_scheme..].find('/').map_or(stream, |at| &stream[..after_scheme + at]);
    format!("{origin}{place}")
}

impl Link for Sse {
    fn request(&mut self, message: &Value, within: Duration) -> Result<Value, LinkError> {
        self.notify(message)?;
        self.inbox.answer_to(&message["id"], within)
    }

    fn notify(&mut self, message: &Value) -> Result<(), LinkError> {
        post(&self.agent, &self.place, message)
    }

    // The stream ends with the process or with the server; there is no word for it in this way of talking.
    fn close(&mut self) {}
}

fn post(agent: &Agent, place: &str, message: &Value) -> Result<(), LinkError> {
    let request = agent.post(place).header("content-type", "application/json");
    let sent = request.config().timeout_global(Some(SENDING)).build().send(message.to_string());
    match sent {
        Ok(response) if response.status().is_success() => Ok(()),
        Ok(response) if response.status().as_u16() == 404 => Err(LinkError::Forgotten),
        Ok(response) => Err(LinkError::Refused(response.status().to_string())),
        Err(error) => Err(LinkError::Unreachable { url: place.to_owned(), why: error.to_string() }),
    }
}

fn read(agent: &Agent, url: &str, tell: &Sender<Result<String, LinkError>>, sender: &Sender<Incoming>) {
    let unreachable = |why: String| LinkError::Unreachable { url: url.to_owned(), why };
    let mut response = match agent.get(url).header("accept", "text/event-stream").call() {
        Ok(response) if response.status().is_success() => response,
        Ok(response) => return drop(tell.send(Err(unreachable(response.status().to_string())))),
        Err(error) => return drop(tell.send(Err(unreachable(error.to_string())))),
    };
    let mut events = Events::new(response.body_mut().as_reader());
    let mut place = String::new();
    while let Ok(Some((name, data))) = events.next() {
        if name == "endpoint" {
            place = address(url, &data);
            let _ = tell.send(Ok(data));
            continue;
        }
        let incoming = match parse(&data) {
            Ok(message) if message.get("method").is_some() => {
                if let Some(reply) = reply(&message) {
                    let _ = post(agent, &place, &reply);
                }
                continue;
            }
            Ok(message) => Incoming::Message(message),
            Err(error) => Incoming::Garbage(error.to_string()),
        };
        if sender.send(incoming).is_err() {
            return;
        }
    }
    let _ = tell.send(Err(LinkError::Died(String::new())));
    let _ = sender.send(Incoming::Ended(String::new()));
}
