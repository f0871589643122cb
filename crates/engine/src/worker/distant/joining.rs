//! Being taken in with a token: once, and then known by a key.

use std::io;
use std::time::Duration;

use super::{DistantError, Identity, WorkerFolder};
use crate::dispatch::broker::{Broker, BrokerError, Queue};
use crate::dispatch::distant::enrolment::Token;
use crate::dispatch::distant::exchanging::signed;
use crate::dispatch::distant::packet::{Packet, Queues};
use crate::dispatch::distant::signing::{self, Key};
use crate::host::access;

/// How often it asks to be taken in.
const ASK: Duration = Duration::from_secs(3);

/// How often a broker may fail meanwhile, and after which pause it is tried again. RabbitMQ (3.10) gives up a connection where
/// several programs make the same queue at once.
const FAILURES: u32 = 3;
const AGAIN: Duration = Duration::from_millis(500);

impl WorkerFolder {
    /// Asks to be taken in until that is answered. The answer counts only if the fleet has signed it.
    pub async fn join(
        &self,
        token: &Token,
        broker: &dyn Broker,
        tell: &(dyn Fn(String) + Sync),
    ) -> Result<Identity, DistantError> {
        let (key, queues) = (self.key()?, Queues::of(&token.fleet));
        let file = |source| DistantError::File { path: self.path.clone(), source };
        let name = drawn().map_err(file)?;
        let (asking, replies) = (queues.joining(), queues.replies(&name));
        let packet = Packet::Join { worker: token.worker.clone(), key: key.id(), replies: name };
        let message = signed(&token.secret, &asking, &packet).unwrap_or_default();
        let (mut asked, mut failed) = (0, 0);
        let refused = loop {
            let answers = async {
                broker.put(&asking, &message).await?;
                broker.take(&replies, 8, ASK).await
            };
            asked += 1;
            if asked == 2 {
                tell(
                    "waits to be taken in: by a run that uses the same queue, or by conductor workers list"
                        .into(),
                );
            }
            let answers = match answers.await {
                Ok(answers) => answers,
                Err(BrokerError::Away { .. }) if failed < FAILURES => {
                    failed += 1;
                    tokio::time::sleep(AGAIN).await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let answer =
                answers.iter().find_map(|answer| self.answer(token, &key, &replies, &answer.message));
            if let Some(answer) = answer {
                break answer;
            }
        };
        // A queue that stays goes by itself. The token is used up: what it was used for must not be lost over that.
        let _ = broker.remove(&replies).await;
        if let Some(why) = refused {
            return Err(DistantError::Refused(why));
        }
        let identity = Identity { fleet: token.fleet.clone(), worker: token.worker.clone() };
        let text = serde_json::to_vec(&identity).map_err(|error| file(error.into()))?;
        access::replace(&self.path.join("identity.json"), text).map_err(file)?;
        Ok(identity)
    }

    fn answer(&self, token: &Token, own: &Key, queue: &Queue, message: &[u8]) -> Option<Option<String>> {
        let (from, body) = signing::open(queue, message).ok().filter(|(from, _)| *from == token.fleet)?;
        match (from, serde_json::from_slice(body).ok()?) {
            (_, Packet::Joined { worker, key, refused }) if worker == token.worker && key == own.id() => {
                Some(refused)
            }
            _ => None,
        }
    }
}

pub(super) fn drawn() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(signing::hex(&bytes))
}
