//! Whether the user trusts what a repository brings along. Until then its settings that run programs, and its plugins, do
//! nothing: commands that look leave them out, commands that would carry them out refuse.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use conductor_core::file::{self, Diagnostic, Layer, Severity, Source, Span, Written};
use conductor_engine::agents::subagents;
use conductor_engine::host::home::Home;
use conductor_engine::host::trust::{self, CONFIG, Part, Trust, TrustError};
use conductor_engine::plugins::{self, Change, PluginError};
use conductor_engine::process::transcript::shown;

use crate::console;
use crate::error::{CliError, Exit};
use crate::output::difference;
use crate::output::{talk, writing};

/// What a CI job trusts, where no user can be asked.
pub(crate) const VARIABLE: &str = "CONDUCTOR_TRUST";

/// In place of a hash: go on without what is not trusted.
const WITHOUT: &str = "none";

static TYPED: OnceLock<Vec<String>> = OnceLock::new();

/// From now on what is not trusted is an error, for it would be carried out.
static STRICT: AtomicBool = AtomicBool::new(false);

/// What was typed as `--trust`.
pub(crate) fn typed(hashes: &[String]) {
    if !hashes.is_empty() {
        let _ = TYPED.set(hashes.to_vec());
    }
}

/// The same, for this program started by itself.
pub(crate) fn handed_on() -> Vec<String> {
    TYPED.get().into_iter().flatten().map(|hash| format!("--trust={hash}")).collect()
}

/// A hash as it may be typed.
pub(crate) fn hash(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_hash || text == WITHOUT {
        true => Ok(text.to_lowercase()),
        false => Err("expected the hash that `conductor trust --show` prints, or none".to_owned()),
    }
}

pub(crate) fn accepted() -> Vec<String> {
    if let Some(typed) = TYPED.get() {
        return typed.clone();
    }
    let set = std::env::var(VARIABLE).unwrap_or_default();
    set.split([',', ' ']).filter(|hash| !hash.is_empty()).map(str::to_lowercase).collect()
}

/// What a repository brings along that needs trust, and whether it has it.
pub(crate) struct Standing {
    pub(crate) root: PathBuf,
    pub(crate) place: PathBuf,
    pub(crate) parts: Vec<Part>,
    /// Settings of its config that need trust.
    pub(crate) settings: Vec<Written>,
    hash: String,
    trust: Trust,
}

impl Standing {
    pub(crate) fn of(root: &Path) -> Result<Standing, CliError> {
        let mut parts = Vec::new();
        let mut settings = Vec::new();
        if !is_the_users_own(root)
            && let Some(config) = Part::read(root, CONFIG)?
        {
            settings = needing(&config);
            parts.extend((!settings.is_empty()).then_some(config));
        }
        parts.extend(trust::plugin_files(root)?);
        Ok(Standing {
            root: root.to_owned(),
            place: trust::place_of(root),
            parts,
            settings,
            hash: trust::hash_of_repository(root)?,
            trust: Trust::read()?,
        })
    }

    /// By which a CI job names all of it.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    pub(crate) fn is_new(&self, part: &Part) -> bool {
        !self.trust.has(&self.place, part)
    }

    fn is_config_trusted(&self) -> bool {
        let config = self.parts.iter().find(|part| part.path == CONFIG);
        accepted().contains(&self.hash) || config.is_none_or(|config| !self.is_new(config))
    }

    /// Every file, and of those that changed since they were trusted, what changed.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            text += &self.part_text(part);
        }
        text
    }

    fn part_text(&self, part: &Part) -> String {
        let before = self.trust.before(&self.place, &part.path).filter(|before| *before != part.bytes);
        let head = match (self.is_new(part), &before) {
            (false, _) => return format!("{} (trusted)\n", part.path),
            (true, Some(_)) => format!("{} changed since you trusted it:\n", part.path),
            (true, None) => format!("{}:\n", part.path),
        };
        let body = match &before {
            Some(before) => difference::lines(&shown(before), &shown(&part.bytes)),
            None if part.path == CONFIG => self.settings_text(),
            None => difference::beginning(&part.bytes),
        };
        format!("{head}{body}")
    }

    /// Only what needs trust: the rest counts anyway.
    fn settings_text(&self) -> String {
        let value = |one: &Written| shown(one.value.to_string().as_bytes());
        let line = |one: &Written| format!("  line {}: {}: {}\n", one.line, one.key, value(one));
        self.settings.iter().map(line).collect()
    }

    /// Records that the user trusts it.
    pub(crate) fn record(&self) -> Result<(), CliError> {
        Ok(trust::add(&Home::open()?, &self.place, &self.parts)?)
    }
}

/// A config of the user's own home needs no trust, wherever it is seen from.
fn is_the_users_own(root: &Path) -> bool {
    let own = Home::root_of_environment().ok().map(|home| home.join("config.yaml"));
    let there = root.join(CONFIG);
    own.is_some_and(|own| {
        own == there
            || own.canonicalize().is_ok_and(|own| there.canonicalize().is_ok_and(|there| own == there))
    })
}

/// A config that cannot be read says nothing; what is wrong with it is told elsewhere.
fn needing(config: &Part) -> Vec<Written> {
    let Ok(source) = Source::new(CONFIG, config.bytes.clone()) else { return Vec::new() };
    let Ok((layer, _)) = file::layer(&source) else { return Vec::new() };
    layer.needing_trust().cloned().collect()
}

/// The layer of a repository's config as far as it counts, and what is to be said of the rest.
pub(crate) fn gate(
    path: &Path,
    sha256: &str,
    source: &Source,
    layer: Layer,
) -> (Option<Layer>, Option<Diagnostic>) {
    if layer.needing_trust().next().is_none() {
        return (Some(layer), None);
    }
    let root = path.ancestors().nth(2).unwrap_or(path);
    let why = match Standing::of(root) {
        // What is looked at here must be what was trusted, also if the file is being edited right now.
        Ok(standing)
            if standing.is_config_trusted() && standing.parts.iter().any(|one| one.sha256 == sha256) =>
        {
            return (Some(layer), None);
        }
        Ok(_) => "you have not trusted it".to_owned(),
        Err(cli_error) => cli_error.message().to_owned(),
    };
    let strict = STRICT.load(Ordering::Relaxed);
    let finding = finding(source, &layer, strict, &why);
    ((!strict).then(|| layer.untrusted()), Some(finding))
}

fn finding(source: &Source, layer: &Layer, strict: bool, why: &str) -> Diagnostic {
    let mut places = layer.needing_trust().map(|one| line_span(source, one.line));
    let span = places.next().unwrap_or(Span::new(0, 0));
    let keys: Vec<String> = layer.needing_trust().map(|one| format!("'{}'", one.key)).collect();
    let verb = if keys.len() == 1 { "needs" } else { "need" };
    let effect = if strict { "" } else { ", so that it has no effect here" };
    Diagnostic {
        severity: if strict { Severity::Error } else { Severity::Warning },
        code: "untrusted",
        message: format!("{} {verb} your trust{effect}: {why}", keys.join(", ")),
        span,
        label: None,
        related: places.map(|span| (span, "this too".to_owned())).collect(),
        help: Some(HELP.to_owned()),
    }
}

fn line_span(source: &Source, line: usize) -> Span {
    let text = source.text();
    let start = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    let rest = &text[start.min(text.len())..];
    let indent = rest.len() - rest.trim_start_matches(' ').len();
    let end = rest.find([':', '\n']).unwrap_or(rest.len()).max(indent);
    Span::new(start + indent, start + end)
}

const HELP: &str = "see what it does and trust it: conductor trust; a CI job passes its hash: --trust HASH or CONDUCTOR_TRUST";

/// From now on plugins of the repository around this folder are found, as far as they are trusted.
pub(crate) fn plugins_of(directory: &Path) {
    let program = std::env::current_exe().unwrap_or_else(|_| "conductor".into());
    plugins::of_repository(&subagents::root(directory), accepted(), program);
}

/// For a run that is taken up: what it does is in its log, and a config that is not trusted adds nothing to it.
pub(crate) fn be_strict(strict: bool) {
    STRICT.store(strict, Ordering::Relaxed);
}

/// For commands that carry out what a repository's config says. A user at a terminal is shown it and asked.
pub(crate) fn demand(directory: &Path) -> Result<(), CliError> {
    be_strict(true);
    ask_about_changed_plugins()?;
    let standing = Standing::of(&subagents::root(directory))?;
    if standing.is_config_trusted() {
        return Ok(());
    }
    if accepted().iter().any(|hash| hash == WITHOUT) {
        be_strict(false);
        return Ok(());
    }
    if writing::attended() {
        console::ask(standing.text());
        let answer = writing::ask(&mut io::stdin().lock(), "Trust this repository with it? [y/N] ")?;
        if matches!(answer.to_lowercase().as_str(), "y" | "yes") {
            return standing.record();
        }
    }
    let keys: Vec<&str> = standing.settings.iter().map(|one| one.key.as_str()).collect();
    let message = format!(
        "{CONFIG} of this repository sets {}, which you have not trusted; nothing was started",
        keys.join(", ")
    );
    let help = format!("{HELP} ({}); to go on without these settings: --trust none", standing.hash());
    Err(CliError::new(Exit::InvalidFile, message).help(help))
}

/// Plugins of the user's own that are not what was added. Without a user to ask they are refused when they are used.
fn ask_about_changed_plugins() -> Result<(), CliError> {
    if !writing::attended() {
        return Ok(());
    }
    for change in plugins::changed()? {
        console::ask(changed_text(&change));
        let question = format!("Use {} as it is now? [y/N] ", change.found.program());
        let answer = writing::ask(&mut io::stdin().lock(), &question)?;
        if matches!(answer.to_lowercase().as_str(), "y" | "yes") {
            plugins::relock(&change.found, None)?;
        }
    }
    Ok(())
}

/// A plugin as it is, or what changed since it was added.
pub(crate) fn changed_text(change: &Change) -> String {
    let path = change.found.path.display();
    match &change.before {
        Some(before) if *before == change.after => format!("{path} is as it was\n"),
        Some(before) => {
            let lines = difference::lines(&shown(before), &shown(&change.after));
            let lines = if lines.is_empty() { difference::beginning(&change.after) } else { lines };
            format!("{path} changed since it was added:\n{lines}")
        }
        None => format!("{path}:\n{}", difference::beginning(&change.after)),
    }
}

impl From<PluginError> for CliError {
    fn from(error: PluginError) -> CliError {
        let exit = match &error {
            // There is none that can be used; nothing was asked of it.
            PluginError::Missing { .. }
            | PluginError::Untrusted { .. }
            | PluginError::Changed { .. }
            | PluginError::Unstartable { .. }
            | PluginError::Silent { .. }
            | PluginError::NoHello { .. }
            | PluginError::Protocol { .. }
            | PluginError::Version { .. }
            | PluginError::Incapable { .. } => Exit::AgentMissing,
            _ => Exit::Unexpected,
        };
        let help = error.remedy();
        let cli_error = CliError::new(exit, error);
        help.into_iter().fold(cli_error, CliError::help)
    }
}

/// What the user has just had written is the user's own.
pub(crate) fn trust_config(root: &Path) {
    let recorded = Part::read(root, CONFIG).and_then(|part| match part {
        Some(part) => trust::add(&Home::open()?, &trust::place_of(root), &[part]),
        None => Ok(()),
    });
    if let Err(error) = recorded {
        talk(format!("{CONFIG} is not trusted yet: {error}; say `conductor trust`"));
    }
}

impl From<TrustError> for CliError {
    fn from(error: TrustError) -> CliError {
        match error {
            TrustError::Home(error) => error.into(),
            TrustError::Damaged { .. } => CliError::new(Exit::Unexpected, error)
                .help("move the file away; then trust again what you trust: conductor trust"),
            error => CliError::new(Exit::Unexpected, error),
        }
    }
}
