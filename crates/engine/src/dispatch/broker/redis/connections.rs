//! Connections to a server: one for commands, which are answered at once, and one for each take, which waits. A broken one is
//! never used again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, FromRedisValue, IntoConnectionInfo as _, Pipeline,
    RedisConnectionInfo, RedisResult,
};

use super::errors::{is_broken, told};
use super::{Address, BrokerError};

/// For a connection to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// For a command to be answered, on top of what it waits for.
const ANSWER: Duration = Duration::from_secs(10);

/// Whether a command may be given again, where it may have been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    Yes,
    No,
}

pub(super) struct Connections {
    pub(super) address: Address,
    client: Client,
    /// How long a command that waits waits.
    wait: Duration,
    commands: tokio::sync::Mutex<Option<MultiplexedConnection>>,
    waiting: Mutex<Vec<MultiplexedConnection>>,
}

impl Connections {
    pub(super) fn to(address: Address, wait: Duration) -> Result<Connections, BrokerError> {
        let client = client(&address)?;
        Ok(Connections { address, client, wait, commands: Default::default(), waiting: Mutex::default() })
    }

    async fn open(&self, answer: Duration) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT))
            .set_response_timeout(Some(answer));
        self.client.get_multiplexed_async_connection_with_config(&config).await
    }

    pub(super) async fn query<T: FromRedisValue>(
        &self,
        commands: &Pipeline,
        repeat: Repeat,
    ) -> Result<T, BrokerError> {
        loop {
            let (mut connection, is_fresh) = self.commands().await?;
            match commands.query_async(&mut connection).await {
                Ok(answer) => return Ok(answer),
                Err(error) if is_broken(&error) => {
                    self.commands.lock().await.take();
                    if is_fresh || repeat == Repeat::No {
                        return Err(told(&self.address, &error));
                    }
                }
                Err(error) => return Err(told(&self.address, &error)),
            }
        }
    }

    async fn commands(&self) -> Result<(MultiplexedConnection, bool), BrokerError> {
        let mut commands = self.commands.lock().await;
        if let Some(connection) = &*commands {
            return Ok((connection.clone(), false));
        }
        let connection = self.open(ANSWER).await.map_err(|error| told(&self.address, &error))?;
        *commands = Some(connection.clone());
        Ok((connection, true))
    }

    /// One of the caller's own, and whether it is new. Where the caller is gone in the middle of it, it goes too.
    pub(super) async fn waiting(&self) -> Result<(MultiplexedConnection, bool), BrokerError> {
        let idle = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(connection) = idle {
            return Ok((connection, false));
        }
        let connection = self.open(self.wait + ANSWER).await.map_err(|error| told(&self.address, &error))?;
        Ok((connection, true))
    }

    pub(super) fn give_back(&self, connection: MultiplexedConnection) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

fn client(address: &Address) -> Result<Client, BrokerError> {
    let (host, port) = (address.host.clone(), address.port);
    let place = match address.is_encrypted {
        true => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        false => ConnectionAddr::Tcp(host, port),
    };
    let database = match address.path.as_str() {
        "" => 0,
        path => path.parse::<i64>().ok().filter(|number| *number >= 0).ok_or_else(|| {
            address.unusable(
                format!("{path:?} is no number of a database"),
                "end its address with /0, or leave it out",
            )
        })?,
    };
    let mut settings = RedisConnectionInfo::default().set_db(database);
    if let Some(user) = &address.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = &address.password {
        settings = settings.set_password(password);
    }
    let info = place.into_connection_info().map(|info| info.set_redis_settings(settings));
    info.and_then(Client::open).map_err(|error| told(address, &error))
}
