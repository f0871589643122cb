//! Whether a server keeps what it is given.

use redis::{InfoDict, Pipeline};

use super::connections::{Connections, Repeat};
use super::{Address, BrokerError};

/// What tells the older, the smaller and the cheaper servers from what is needed.
const NEEDED: u64 = 7;

pub(super) async fn examine(connections: &Connections) -> Result<(), BrokerError> {
    let address = &connections.address;
    connections.query::<()>(redis::pipe().cmd("PING").ignore(), Repeat::Yes).await?;
    let told = Told::ask(connections).await?;
    told.check_server(address)?;
    let mut unknown = Vec::new();
    for (name, found, needed, why) in [
        ("appendonly", &told.appendonly, "yes", "so a restart takes the messages that are in it"),
        ("maxmemory-policy", &told.policy, "noeviction", "so it drops messages when its memory is full"),
    ] {
        match found {
            None => unknown.push(format!("{name} {needed}")),
            Some(found) if found == needed => {}
            Some(found) => {
                let why = format!("it runs with {name} {found}, {why}");
                let remedy = format!(
                    "set {name} {needed} in its configuration, or by redis-cli CONFIG SET {name} {needed} and CONFIG REWRITE"
                );
                return Err(address.unusable(why, &remedy));
            }
        }
    }
    if !unknown.is_empty() {
        let (place, unknown) = (&address.place, unknown.join(" and "));
        tracing::warn!(
            "{place} does not tell how it is configured (CONFIG and INFO are not allowed); make sure that it has {unknown}"
        );
    }
    Ok(())
}

/// What a server says of itself. Where it is managed by others it may keep to itself how it is configured.
#[derive(Default)]
struct Told {
    version: Option<String>,
    role: Option<String>,
    is_cluster: bool,
    appendonly: Option<String>,
    policy: Option<String>,
}

impl Told {
    async fn ask(connections: &Connections) -> Result<Told, BrokerError> {
        let setting = async |name: &str| -> Result<Option<String>, BrokerError> {
            let answer = ask(connections, redis::pipe().cmd("CONFIG").arg("GET").arg(name)).await?;
            let pair: Option<(Vec<String>,)> = answer.and_then(|value| redis::from_redis_value(value).ok());
            Ok(pair.and_then(|(pair,)| pair.into_iter().nth(1)))
        };
        let mut told = Told {
            appendonly: setting("appendonly").await?,
            policy: setting("maxmemory-policy").await?,
            ..Told::default()
        };
        let Some(info) = ask(connections, redis::pipe().cmd("INFO")).await? else { return Ok(told) };
        let Ok((info,)) = redis::from_redis_value::<(InfoDict,)>(info) else { return Ok(told) };
        told.version = info.get("redis_version");
        told.role = info.get("role");
        told.is_cluster = info.get::<u8>("cluster_enabled") == Some(1);
        let aof = info.get::<u8>("aof_enabled").map(|on| if on == 1 { "yes" } else { "no" }.to_owned());
        told.appendonly = told.appendonly.or(aof);
        told.policy = told.policy.or_else(|| info.get("maxmemory_policy"));
        Ok(told)
    }

    fn check_server(&self, address: &Address) -> Result<(), BrokerError> {
        if self.is_cluster {
            let why = "it is a cluster of shards, which is not supported".to_owned();
            return Err(address.unusable(why, "name a server that is not started with cluster-enabled yes"));
        }
        if self.role.as_deref() == Some("slave") {
            let why = "it is a replica, which takes no messages".to_owned();
            return Err(address.unusable(why, "name the primary, or an address that follows it"));
        }
        let major =
            self.version.as_deref().and_then(|version| version.split('.').next()?.parse::<u64>().ok());
        match (&self.version, major) {
            (Some(version), Some(major)) if major < NEEDED => {
                Err(address.unusable(format!("it is Redis {version}"), "use Redis 7.0 or newer, or Valkey"))
            }
            _ => Ok(()),
        }
    }
}

/// Nothing where the server does not allow the question.
async fn ask(connections: &Connections, question: &Pipeline) -> Result<Option<redis::Value>, BrokerError> {
    match connections.query::<redis::Value>(question, Repeat::Yes).await {
        Ok(answer) => Ok(Some(answer)),
        Err(BrokerError::Unusable { .. }) => Ok(None),
        Err(away) => Err(away),
    }
}
