//! `conductor plugin`: programs of others, and whether they do what a plugin has to.

mod adding;
mod verifying;

use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_engine::agents::Caller;
use conductor_engine::plugins::{self, Checked, Found, Kind, Language, Place, Standing};
use serde_json::json;

use super::{answer, answer_either, answer_json};
use crate::args::{self, PluginKind, PluginLang};
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::output::writing;

pub(crate) fn run(plugin: &args::Plugin) -> Result<Exit, CliError> {
    match plugin {
        args::Plugin::List(args) => list(args.json),
        args::Plugin::Add(args) => adding::add(args),
        args::Plugin::Remove(args) => adding::remove(args),
        args::Plugin::New(args) => new(args),
        args::Plugin::Test(args) => test(args),
        args::Plugin::Verify(args) => verifying::verify(args),
    }
}

fn list(as_json: bool) -> Result<Exit, CliError> {
    let all = plugins::all()?;
    if as_json {
        let one = |(found, standing): &(Found, Standing)| json!({ "kind": found.kind, "name": found.name, "path": found.path, "place": found.place, "standing": standing });
        let all: Vec<_> = all.iter().map(one).collect();
        answer_json(&json!({ "schema": "conductor.plugins/1", "plugins": all }))?;
        return Ok(Exit::Done);
    }
    let row = |(found, standing): &(Found, Standing)| {
        [
            found.kind.name().to_owned(),
            found.name.clone(),
            standing.name().to_owned(),
            found.place.name().to_owned(),
            found.path.display().to_string(),
        ]
    };
    match all.is_empty() {
        true => answer("there are no plugins; `conductor plugin new` writes one")?,
        false => answer(&columns(["KIND", "NAME", "", "FROM", "PROGRAM"], all.iter().map(row).collect()))?,
    }
    Ok(Exit::Done)
}

impl From<PluginKind> for Kind {
    fn from(kind: PluginKind) -> Kind {
        match kind {
            PluginKind::Agent => Kind::Agent,
            PluginKind::Notifier => Kind::Notifier,
            PluginKind::Importer => Kind::Importer,
            PluginKind::Verifier => Kind::Verifier,
        }
    }
}

fn new(args: &args::PluginNew) -> Result<Exit, CliError> {
    let kind = Kind::from(args.kind);
    let program = kind.program(&args.name).ok_or_else(|| {
        let message = format!("'{}' cannot be the name of a plugin", args.name);
        CliError::new(Exit::Usage, message).help("use up to 60 letters, digits, - and _")
    })?;
    let language = match args.lang {
        PluginLang::Python => Language::Python,
        PluginLang::Sh => Language::Sh,
        PluginLang::Rust => Language::Rust,
    };
    let files = plugins::scaffold(kind, &args.name, language);
    let paths: Vec<PathBuf> = files.iter().map(|(name, _, _)| args.output.join(name)).collect();
    let places: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    writing::may_write(&places, args.force, "write it elsewhere with -o DIR, or over this one with --force")?;
    for (path, (_, text, executable)) in paths.iter().zip(&files) {
        writing::write(path, text)?;
        if *executable {
            writing::make_executable(path)?;
        }
    }
    let (built, build) = match language {
        Language::Rust => {
            let folder = args.output.join(&program);
            let build =
                format!("  cargo build --release --manifest-path {}\n", folder.join("Cargo.toml").display());
            (folder.join("target/release").join(&program), build)
        }
        Language::Python | Language::Sh => (args.output.join(&program), String::new()),
    };
    let words = format!(
        "wrote {}\nnext:\n{build}  conductor plugin test {}\n  conductor plugin add {}",
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        built.display(),
        built.display()
    );
    let value = json!({ "kind": kind, "name": args.name, "written": paths, "program": built });
    answer_either(args.json, &words, "conductor.plugin-new/1", value)?;
    Ok(Exit::Done)
}

/// A plugin by its file, its whole name, or its own name where only one has it.
fn meant(word: &str) -> Result<Found, CliError> {
    let path = Path::new(word);
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if path.is_file() {
        let (kind, name) = Kind::of_program(file).ok_or_else(|| misnamed(file))?;
        let path = std::path::absolute(path)?;
        return Ok(Found { kind, name: name.to_owned(), path, place: Place::Path });
    }
    if let Some((kind, name)) = Kind::of_program(word) {
        return Ok(plugins::find(kind, name)?);
    }
    let mut found = Kind::ALL.into_iter().filter_map(|kind| match plugins::find(kind, word) {
        Err(plugins::PluginError::Missing { .. }) => None,
        other => Some(other),
    });
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one?),
        (Some(_), Some(_)) => {
            let message = format!("there is more than one plugin '{word}'");
            Err(CliError::new(Exit::Usage, message)
                .help("give its whole name, such as conductor-verifier-NAME"))
        }
        (None, _) => Err(CliError::new(Exit::AgentMissing, format!("there is no plugin '{word}'"))
            .help("`conductor plugin list` shows those there are")),
    }
}

fn misnamed(file: &str) -> CliError {
    let message = format!("'{file}' is not the name of a plugin");
    let help = "call it conductor-KIND-NAME; kinds are agent, notifier, importer and verifier";
    CliError::new(Exit::Usage, message).help(help)
}

fn test(args: &args::PluginTest) -> Result<Exit, CliError> {
    let found = meant(&args.plugin)?;
    let folder = tempfile::tempdir()?;
    let environment = Caller::new(std::env::vars_os()).for_plugins();
    let checked = plugins::check(&found, &environment, folder.path(), Duration::from_millis(args.timeout.0));
    let failed = checked.iter().filter(|one| !one.passed).count();
    let line = |one: &Checked| {
        let word = if one.passed { "ok    " } else { "FAILED" };
        let why = one.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{word} {} ({} ms){why}\n", one.case, one.took_ms)
    };
    let verdict = match failed {
        0 => format!("{} is a {} as it should be\n", found.program(), found.kind.name()),
        some => format!("{}: {some} of {} failed\n", found.program(), checked.len()),
    };
    let words = checked.iter().map(line).collect::<String>() + &verdict;
    let value =
        json!({ "plugin": found.program(), "path": found.path, "passed": failed == 0, "cases": checked });
    answer_either(args.json, &words, "conductor.plugin-test/1", value)?;
    Ok(if failed == 0 { Exit::Done } else { Exit::TaskFailed })
}
