//! What the errors of a server and of the way to it mean.

use std::future::Future;
use std::time::Duration;

use lapin::{Error, ErrorKind};

use super::{Address, BrokerError};

/// For a request to be answered.
const ANSWER: Duration = Duration::from_secs(10);

// Reply codes of AMQP 0-9-1.
const ACCESS_REFUSED: u16 = 403;
const NOT_FOUND: u16 = 404;
const PRECONDITION_FAILED: u16 = 406;
const NOT_ALLOWED: u16 = 530;
const NOT_IMPLEMENTED: u16 = 540;

pub(super) async fn in_time<T>(
    address: &Address,
    request: impl Future<Output = lapin::Result<T>>,
) -> Result<T, BrokerError> {
    match tokio::time::timeout(ANSWER, request).await {
        Ok(answer) => answer.map_err(|error| told(address, &error)),
        Err(_) => Err(address.away(format!("it has not answered for {} s", ANSWER.as_secs()))),
    }
}

fn code(error: &Error) -> Option<u16> {
    match error.kind() {
        ErrorKind::ProtocolError(error) => Some(error.get_id()),
        _ => None,
    }
}

/// Whether there is no such queue.
pub(super) fn is_missing(error: &Error) -> bool {
    code(error) == Some(NOT_FOUND)
}

/// Whether a queue that is not there yet cannot be made as it is needed.
pub(super) fn is_unknown(why: &str) -> bool {
    ["PRECONDITION_FAILED", "PRECONDITION-FAILED", "NOT_IMPLEMENTED", "NOT-IMPLEMENTED"]
        .iter()
        .any(|word| why.contains(word))
}

/// A server that starts, stops or is out of room comes back; a missing permission does not by waiting.
pub(super) fn told(address: &Address, error: &Error) -> BrokerError {
    let why = error.to_string();
    if let ErrorKind::IOError(source) = error.kind() {
        let text = source.to_string();
        return match text.contains("certificate") || text.contains("corrupt message") {
            true => address.untrusted(text),
            false => address.away(text),
        };
    }
    match code(error) {
        Some(ACCESS_REFUSED) => {
            let remedy = "give the user the permission to configure, write and read what begins with conductor.: \
                          rabbitmqctl set_permissions -p VHOST USER '^conductor\\.' '^(conductor\\.|amq\\.default)' \
                          '^conductor\\.'; where the user is not known at all, check its name and password";
            address.unusable(why, remedy)
        }
        Some(NOT_ALLOWED) => {
            let remedy = "end its address with a virtual host that it has and that the user may use";
            address.unusable(why, remedy)
        }
        Some(PRECONDITION_FAILED) => {
            let remedy = "remove the queue that is named here: it was made by another version or by hand";
            address.unusable(why, remedy)
        }
        Some(NOT_IMPLEMENTED) => address.unusable(why, "use RabbitMQ 3.10 or newer"),
        _ => address.away(why),
    }
}

/// While a connection is made, what is refused is the name or the password.
pub(super) fn told_at_once(address: &Address, error: BrokerError) -> BrokerError {
    match error {
        BrokerError::Unusable { why, .. }
            if why.contains("ACCESS_REFUSED") || why.contains("ACCESS-REFUSED") =>
        {
            address.refused(why)
        }
        error => error,
    }
}
