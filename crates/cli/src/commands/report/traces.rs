//! `conductor report --format otlp`: the trace of a run, written or sent; also of a run whose collector was away.

use std::path::Path;

use crate::archive::Archive;
use crate::archive::Found;
use crate::args;
use crate::error::{CliError, Exit};

/// The trace as text; nothing where it was sent.
#[cfg(feature = "otel")]
pub(super) fn tell(
    archive: &Archive,
    found: &Found,
    directory: &Path,
    args: &args::Report,
) -> Result<Option<String>, CliError> {
    use crate::settings::variables::standard;
    use conductor_otel::{TraceSource, otlp, settings};

    let id = found.stored.id.clone();
    let source = TraceSource {
        state: archive.home.run(&id),
        home: archive.home.clone(),
        output: directory.to_owned(),
        id,
    };
    let is_live = archive.home.is_live(&source.id);
    conductor_engine::agents::keep_secrets_of(found.run.plan());
    let spans = source.spans(&found.records, settings::content(&standard), is_live);
    if is_live {
        crate::commands::talk(format!("run {} goes on: only what is over by now is told", source.id));
    }
    if args.send {
        send(&spans)?;
        return Ok(None);
    }
    let resource = settings::resource(&standard).map_err(|error| CliError::new(Exit::Usage, error))?;
    Ok(Some(format!("{}\n", otlp::request(&resource, &spans))))
}

#[cfg(feature = "otel")]
fn send(spans: &[conductor_otel::Span]) -> Result<(), CliError> {
    use crate::settings::variables::standard;
    use conductor_core::values::counted::counted;
    use conductor_otel::{Sender, Settings, exporter};

    const BATCH: usize = 512;
    let settings = Settings::read(&standard).map_err(|error| CliError::new(Exit::Usage, error))?;
    let settings = settings.ok_or_else(|| {
        CliError::new(Exit::Usage, "no collector is named, or traces are switched off by OTEL_SDK_DISABLED")
            .help("OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 conductor report --format otlp --send")
    })?;
    let place = exporter::host(&settings.url);
    let sender = Sender::new(settings);
    for batch in spans.chunks(BATCH) {
        sender.send(batch).map_err(|error| {
            CliError::new(Exit::Unexpected, format!("the trace was not sent to {place}: {error}"))
        })?;
    }
    super::answer(&format!("{} sent to {place}\n", counted(spans.len(), "span")))
}

#[cfg(not(feature = "otel"))]
pub(super) fn tell(_: &Archive, _: &Found, _: &Path, _: &args::Report) -> Result<Option<String>, CliError> {
    Err(CliError::new(Exit::Usage, "this conductor was built without traces")
        .help("build it with them: cargo build --release --features otel"))
}
