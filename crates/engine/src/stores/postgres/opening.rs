//! Connecting to a server, and bringing its tables to the form that this program knows.

use std::sync::{Arc, LazyLock, Mutex};

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, SqlStr};
use tokio::runtime::Handle;

use super::address::Address;
use super::connections::Connections;
use super::leading::Claims;
use super::machine::Machine;
use super::{Postgres, errors};
use crate::host::home::{Home, STORE, StoreAddress};
use crate::stores::StoreError;
use crate::stores::sqlite::unwritable;

/// The forms of the tables, oldest first. Servers hold the number, the name and the checksum of each, so none of these is
/// ever changed.
static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let step = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, SqlStr::from_static(sql), false)
    };
    Migrator::with_migrations(vec![step(
        1,
        "runs events leaders requests",
        include_str!("migrations/0001_runs_events_leaders_requests.sql"),
    )])
});

/// Our tables have a schema of their own, beside whatever else is in the database.
const SCHEMA: &str = "conductor";

fn known() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

impl Postgres {
    pub(in crate::stores) async fn open(home: &Home, address: &StoreAddress) -> Result<Postgres, StoreError> {
        let Address { options, place } = Address::read(address)?;
        let machine = Machine::of(home).map_err(|error| unwritable(home, &error))?;
        let options =
            options.options([("synchronous_commit", "on"), ("idle_in_transaction_session_timeout", "15s")]);
        let store = Postgres::with(home, place, options, machine);
        let found = store.call(async |connection| store.form(connection).await).await?;
        store.call(async |connection| store.check_durable(connection).await).await?;
        if found == Some(known()) {
            return Ok(store);
        }
        // On a thread of its own: what sqlx does there cannot go from one thread to another.
        let runtime = Handle::current();
        let opening = tokio::task::spawn_blocking(move || {
            runtime.block_on(store.bring_up_to_date())?;
            Ok(store)
        });
        opening.await.map_err(failed)?
    }

    /// Only read. Nothing where nothing was ever written.
    pub(in crate::stores) async fn open_to_look(
        home: &Home,
        address: &StoreAddress,
    ) -> Result<Option<Postgres>, StoreError> {
        let Address { options, place } = Address::read(address)?;
        let options = options.options([("default_transaction_read_only", "on")]);
        let store = Postgres::with(home, place, options, Machine::to_look(home));
        let form = store.call(async |connection| store.form(connection).await).await?;
        Ok(form.map(|_| store))
    }

    fn with(home: &Home, place: String, options: PgConnectOptions, machine: Machine) -> Postgres {
        let options = options
            .application_name("conductor")
            .options([("search_path", SCHEMA), ("client_min_messages", "warning")])
            .disable_statement_logging();
        let connections = Arc::new(Connections::to(place, options));
        let (ends, journals, home) = (Mutex::default(), Mutex::default(), home.clone());
        Postgres { connections, home, machine, ends, journals, claims: Claims::none() }
    }

    /// The form of the tables, where there are any.
    async fn form(&self, connection: &mut PgConnection) -> Result<Option<i64>, StoreError> {
        let look = async {
            let is_there: bool =
                sqlx::query_scalar("SELECT to_regclass('conductor._sqlx_migrations') IS NOT NULL")
                    .fetch_one(&mut *connection)
                    .await?;
            match is_there {
                false => Ok(None),
                true => {
                    sqlx::query_scalar("SELECT max(version) FROM conductor._sqlx_migrations WHERE success")
                        .fetch_one(connection)
                        .await
                }
            }
        };
        let found: Option<i64> = look.await.map_err(|error| self.told(error))?;
        match found {
            Some(found) if found > known() => {
                Err(StoreError::Newer { place: self.place(), found, known: known() })
            }
            found => Ok(found),
        }
    }

    /// What this server says is written has to be on its disk.
    async fn check_durable(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        let fsync: String =
            sqlx::query_scalar("SHOW fsync").fetch_one(connection).await.map_err(|error| self.told(error))?;
        match fsync.as_str() {
            "off" => Err(StoreError::Unwritable {
                place: self.place(),
                why: "its server runs with fsync = off, so a power cut takes what it said is written"
                    .to_owned(),
                remedy: "set fsync = on".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    async fn bring_up_to_date(&self) -> Result<(), StoreError> {
        self.call(async |connection| {
            let made = sqlx::query("CREATE SCHEMA IF NOT EXISTS conductor").execute(&mut *connection).await;
            match made {
                Err(error) if !errors::is_taken(&error) => return Err(self.told(error)),
                // Made here, or by another process at the same moment.
                _ => {}
            }
            let made = MIGRATIONS.run(connection).await;
            made.map_err(|error| errors::told_migration(&self.connections.place, error))
        })
        .await
    }
}

fn failed(why: tokio::task::JoinError) -> StoreError {
    StoreError::Failed { place: STORE.to_owned(), why: why.to_string() }
}
