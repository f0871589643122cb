//! Whether the traces that the environment asks for are sent. Nothing is said where it asks for none.

use super::Finding;
use crate::settings::variables::standard;

#[cfg(feature = "otel")]
pub(super) fn state() -> Option<Finding> {
    use conductor_otel::{Settings, exporter, settings};

    settings::named_endpoint(&standard)?;
    Some(match Settings::read(&standard) {
        Ok(Some(settings)) => Finding::ok("traces", format!("sent to {}", exporter::host(&settings.url))),
        Ok(None) => Finding::ok("traces", "switched off by the environment"),
        Err(error) => Finding::warning("traces", format!("not sent: {error}"))
            .remedy("correct the variable, or unset it"),
    })
}

#[cfg(not(feature = "otel"))]
pub(super) fn state() -> Option<Finding> {
    const NAMES: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    let name = NAMES.into_iter().find(|name| standard(name).is_some())?;
    let told = format!("{name} is set, and this conductor was built without traces: none are sent");
    Some(Finding::warning("traces", told).remedy("build it with them: cargo build --release --features otel"))
}
