//! `conductor serve`: Conductor over HTTP, until it is told to stop.

mod oidc;

use std::time::Duration;

use conductor_engine::host::home::Home;
use conductor_engine::process;
use conductor_server::access::{note::Note, owner};
use conductor_server::listen::{self, ListenError, Tls};
use conductor_server::webhooks::Rules;
use conductor_server::{ServeError, Server, Settings};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::{answer, answer_json, block_on, open, page};
use crate::args;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &args::Serve) -> Result<Exit, CliError> {
    // A thousand clients are a thousand connections.
    process::raise_descriptor_limit();
    let home = Home::open()?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls::read(certificate, key)?),
        _ => None,
    };
    #[cfg(feature = "oidc")]
    let oidc = oidc::settings(&args.oidc)?;
    #[cfg(not(feature = "oidc"))]
    oidc::refuse(&args.oidc)?;
    let safe = tls.is_some() || args.insecure_i_know;
    let bound = match listen::handed_over(safe)? {
        Some(bound) => bound,
        None => listen::bind(args.bind, safe)?,
    };
    let page = page::found(&std::env::current_exe()?, args.build_page)?;
    block_on(async {
        let settings = Settings {
            home: home.clone(),
            program: std::env::current_exe()?,
            hosts: args.hosts.clone(),
            tls,
            page,
            webhooks: Rules {
                retries: args.webhook_retries.iter().map(|pause| Duration::from_millis(pause.0)).collect(),
                plain_http: args.plain_webhooks,
            },
            #[cfg(feature = "oidc")]
            oidc,
        };
        let server = Server::prepare(settings, bound).await?;
        // Before it is told that there is a server: it can be stopped from that moment on.
        let stop = stopped()?;
        let (url, token) = (server.page(), owner::file(&home));
        // For those who look for the server, taken away at the end.
        let note = Note::write(&home, &url, server.address())?;
        match args.json {
            true => {
                answer_json(&json!({ "schema": "conductor.serve/1", "url": url, "pid": std::process::id(),
                "owner_token_file": token }))?
            }
            false => answer(&format!(
                "Conductor serves at {url}\nAPI reference: {url}/api/docs\nthe owner's token: {}\nstop it: Ctrl-C\n",
                token.display()
            ))?,
        }
        if args.open {
            open::browser(&server.page_for_owner()?);
        }
        server.serve(stop).await?;
        note.remove(&home);
        Ok(Exit::Done)
    })
}

/// Until a signal says so. It is listened for from now on, not only when this is waited for.
fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> CliError {
        match error {
            ServeError::Listen(error) => error.into(),
            error => CliError::new(Exit::Unexpected, error),
        }
    }
}

impl From<ListenError> for CliError {
    fn from(error: ListenError) -> CliError {
        match error {
            ListenError::InUse { .. } => {
                CliError::new(Exit::Unexpected, error).help("stop it, or use another port: --bind 127.0.0.1:7421")
            }
            ListenError::Open(_) => CliError::new(Exit::Usage, error)
                .help("give it a certificate (--tls-cert, --tls-key), or say that you want it so: --insecure-i-know"),
            ListenError::Certificate { .. } => CliError::new(Exit::Usage, error),
            error => CliError::new(Exit::Unexpected, error),
        }
    }
}
