//! `serve --oidc-…`: which identity provider people log in by.

use crate::args;
use crate::error::{CliError, Exit};

#[cfg(feature = "oidc")]
pub(super) fn settings(args: &args::Oidc) -> Result<Option<conductor_server::oidc::OidcSettings>, CliError> {
    use conductor_server::oidc::{OidcSettings, RoleRule};

    let (Some(issuer), Some(client_id)) = (&args.oidc_issuer, &args.oidc_client_id) else { return Ok(None) };
    let wrong = |error| CliError::new(Exit::Usage, error);
    let rules = args.oidc_roles.iter().map(|text| RoleRule::parse(text)).collect::<Result<Vec<_>, _>>();
    let mut settings = OidcSettings::new(issuer, client_id)
        .map_err(wrong)?
        .with_scopes(&args.oidc_scopes)
        .with_roles(&args.oidc_groups_claim, rules.map_err(wrong)?);
    if let Some(file) = &args.oidc_client_secret_file {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| {
            CliError::new(Exit::Usage, format!("the client secret cannot be read from {name}: {error}"))
        })?;
        settings = settings.with_secret(&text, &name).map_err(wrong)?;
    }
    Ok(Some(settings))
}

#[cfg(not(feature = "oidc"))]
pub(super) fn refuse(args: &args::Oidc) -> Result<(), CliError> {
    match &args.oidc_issuer {
        None => Ok(()),
        Some(_) => Err(CliError::new(Exit::Usage, "this conductor was built without OpenID Connect")
            .help("build it with it: cargo build --release --features oidc")),
    }
}
