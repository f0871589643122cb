//! What the errors of a server and of the way to it mean.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::{Address, BrokerError};

/// Whether the connection is to be used no more.
pub(super) fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_unrecoverable_error()
}

/// Whether the server has answered with this code.
pub(super) fn is_code(error: &RedisError, code: &str) -> bool {
    codes(error).iter().any(|found| found == code)
}

fn codes(error: &RedisError) -> Vec<String> {
    let errors = error.clone().into_server_errors();
    errors.iter().flat_map(|errors| errors.iter()).map(|(_, error)| error.code().to_owned()).collect()
}

/// A server that starts, is full or is a replica right now comes back; a wrong password does not by waiting.
pub(super) fn told(address: &Address, error: &RedisError) -> BrokerError {
    let why = error.to_string();
    if error.is_io_error() {
        return match why.contains("certificate") || why.contains("corrupt message") {
            true => address.untrusted(why),
            false => address.away(why),
        };
    }
    let is = |code: &str| is_code(error, code);
    match error.kind() {
        ErrorKind::AuthenticationFailed => address.refused(why),
        _ if is("WRONGPASS") || is("NOAUTH") => address.refused(why),
        ErrorKind::Server(ServerErrorKind::NoPerm) => {
            let remedy = "allow the user the keys conductor.* and the commands of streams: ACL SETUSER NAME \
                          ~conductor.* +@stream +@transaction +expire +unlink +info";
            address.unusable(why, remedy)
        }
        ErrorKind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ReadOnly,
        ) => address.away(why),
        // Out of memory, of disk or of connections.
        _ if is("OOM") || is("MISCONF") || why.contains("max number of clients") => address.away(why),
        ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::CrossSlot) => {
            address.unusable(why, "name a server of its own: a cluster of shards is not supported")
        }
        _ if is("WRONGTYPE") => address.unusable(why, "give it a database of its own, as in redis://HOST/1"),
        _ if is("DENIED") => {
            address.unusable(why, "give the server a password (requirepass, or ACL SETUSER)")
        }
        _ => address.unusable(why, "use Redis 7.0 or newer, or Valkey"),
    }
}
