//! Findings in a task file, drawn with the lines they are about.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use conductor_core::file::{self, Diagnostic, Elsewhere, Severity, Source, Span};
use conductor_core::plan::Plan;
use conductor_core::plan::subagents::Subagent;
use conductor_core::values::counted::counted;
use conductor_engine::agents::subagents;
use conductor_engine::agents::{self, AgentError};
use serde_json::{Value, json};

use crate::console;
use crate::error::{CliError, Exit};
use crate::settings::agent_findings;
use crate::settings::check_findings;
use crate::settings::config;
use crate::settings::plugin_findings;
use crate::settings::prompt_findings;
use crate::settings::variables;

/// A line longer than this is named but not drawn.
const WIDEST: usize = 300;

/// A file with more mistakes than this has one mistake.
const MOST: usize = 1000;

/// A file that is read in one go fits in memory twice over.
const LARGEST: u64 = 64 << 20;

/// What was found in a task file, and in the config files it is laid over.
pub(crate) struct Findings {
    file: Sheet,
    configs: Vec<Sheet>,
}

/// What was found in one file.
pub(crate) struct Sheet {
    /// Nothing where the file could not even be read as text.
    pub(crate) source: Option<Source>,
    pub(crate) name: String,
    pub(crate) found: Vec<Diagnostic>,
}

/// Reads and checks a task file, and shows every finding on standard error.
pub(crate) fn load(path: &Path) -> Result<Plan, CliError> {
    let (plan, findings) = check(path)?;
    findings.show();
    plan.ok_or_else(|| findings.cli_error())
}

/// As `load`, and who wrote which of a task's settings.
pub(crate) fn load_with_origins(path: &Path, task: &str) -> Result<(Plan, Vec<file::Origin>), CliError> {
    let (plan, findings) = check(path)?;
    findings.show();
    let plan = plan.ok_or_else(|| findings.cli_error())?;
    let mut origins = findings.source().map(|source| file::origins(source, task)).unwrap_or_default();
    for config in config::read()? {
        let written = config.layer.as_ref().map(file::Layer::written).unwrap_or_default();
        match config.place.of {
            config::Of::Environment => file::put_origins(&mut origins, written, |key| {
                variables::of_setting(key).unwrap_or(&config.place.name).to_owned()
            }),
            config::Of::Repository | config::Of::User => {
                file::add_origins(&mut origins, &config.place.name, written);
            }
        }
    }
    Ok((plan, origins))
}

/// Reads and checks a task file and the config files: the plan where none has an error, and all findings.
pub(crate) fn check(path: &Path) -> Result<(Option<Plan>, Findings), CliError> {
    let name = shown_name(path);
    let bytes = read(path, &name)?;
    check_bytes(name, bytes)
}

/// As `check`, for a run of another directory. Tasks may wait for what is in no
/// file where that is `open`.
pub(crate) fn check_in(
    directory: &Path,
    path: &Path,
    open: bool,
) -> Result<(Option<Plan>, Findings), CliError> {
    let name = shown_name(path);
    let bytes = read(path, &name)?;
    let load = if open { file::load_open } else { file::load_over };
    let (loaded, findings) = check_with(directory, name, bytes, load)?;
    Ok((loaded.map(|(plan, _)| plan), findings))
}

/// As `load`, where tasks may wait for what is in no file: which of them do, and for what.
pub(crate) fn load_open(path: &Path) -> Result<(Plan, Elsewhere), CliError> {
    let name = shown_name(path);
    let bytes = read(path, &name)?;
    let (loaded, findings) = check_with(&std::env::current_dir()?, name, bytes, file::load_open)?;
    findings.show();
    loaded.ok_or_else(|| findings.cli_error())
}

/// As `load`, of a text that is in no file.
pub(crate) fn load_text(name: &str, text: String) -> Result<Plan, CliError> {
    let (plan, findings) = check_bytes(name.to_owned(), text.into_bytes())?;
    findings.show();
    plan.ok_or_else(|| findings.cli_error())
}

/// A file's text, and what it holds as plain values; every mistake in how it is written is shown.
pub(crate) fn values(path: &Path) -> Result<(Source, Value), CliError> {
    let name = shown_name(path);
    let mut sheet = Sheet { source: None, name: name.clone(), found: Vec::new() };
    match Source::new(name.clone(), read(path, &name)?) {
        Err(found) => sheet.found.push(found),
        Ok(source) => match file::value(&source) {
            Ok(value) => return Ok((source, value)),
            Err(found) => (sheet.source, sheet.found) = (Some(source), found),
        },
    }
    sheet.show();
    Err(cli_error([&sheet]))
}

fn check_bytes(name: String, bytes: Vec<u8>) -> Result<(Option<Plan>, Findings), CliError> {
    let (loaded, findings) = check_with(&std::env::current_dir()?, name, bytes, file::load_over)?;
    Ok((loaded.map(|(plan, _)| plan), findings))
}

type Load = fn(&Source, &[file::Layer], &[Subagent]) -> Result<file::Loaded, Vec<Diagnostic>>;

fn check_with(
    directory: &Path,
    name: String,
    bytes: Vec<u8>,
    load: Load,
) -> Result<(Option<(Plan, Elsewhere)>, Findings), CliError> {
    let (layers, configs) = config::layers_of(directory)?;
    let source = match Source::new(name.clone(), bytes) {
        Ok(source) => source,
        Err(diagnostic) => {
            let file = Sheet { source: None, name, found: vec![diagnostic] };
            return Ok((None, Findings { file, configs }));
        }
    };
    let here = subagents::found(directory);
    let mut configs = configs;
    let (plan, found) = match load(&source, layers.as_deref().unwrap_or_default(), &here) {
        Ok(mut loaded) => {
            let unkept = unkept(&loaded.plan, &source);
            let kept = unkept.is_empty();
            loaded.warnings.extend(unkept);
            (kept.then_some((loaded.plan, loaded.elsewhere)), loaded.warnings)
        }
        Err(found) => (None, found),
    };
    let mut file = Sheet { source: Some(source), name, found };
    let plan = plan.filter(|(plan, _)| !agent_findings::misspelt(plan, &mut file, &mut configs));
    let template = plan.as_ref().and_then(|(plan, _)| prompt_findings::of(plan, directory));
    let plan = plan.filter(|_| template.is_none());
    configs.extend(template);
    Ok((plan.filter(|_| layers.is_some()), Findings { file, configs }))
}

/// Rules that an agent of their task cannot keep, each told once for an agent. Where one stands is found by its words: it
/// may stand in a config file, too.
fn unkept(plan: &Plan, source: &Source) -> Vec<Diagnostic> {
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for task in &plan.tasks {
        let Err(AgentError::Unkept { agent, rule, why }) = agents::check_rules(plan, task) else { continue };
        if !told.insert((agent.clone(), rule.clone())) {
            continue;
        }
        let at = source.text().find(&rule);
        let span = at.map_or(Span::new(0, 0), |at| Span::new(at, at + rule.len()));
        found.push(Diagnostic {
            severity: Severity::Error,
            code: "unkept-rule",
            message: format!("task '{}': {agent} cannot keep the rule `{rule}`", task.id),
            span,
            label: Some(why),
            related: Vec::new(),
            help: Some(agents::KEPT_BY.to_owned()),
        });
    }
    found
}

/// Checks a text that is to become a task file, and shows every finding.
pub(crate) fn check_text(name: &str, text: &str) -> Result<(), CliError> {
    let mut sheet = Sheet { source: None, name: name.to_owned(), found: Vec::new() };
    let failed = match Source::new(name, text.into()) {
        Err(found) => {
            sheet.found.push(found);
            true
        }
        Ok(source) => {
            let (failed, found) = match file::load(&source) {
                Ok(loaded) => (false, loaded.warnings),
                Err(found) => (true, found),
            };
            (sheet.source, sheet.found) = (Some(source), found);
            failed
        }
    };
    sheet.show();
    if failed { Err(cli_error([&sheet])) } else { Ok(()) }
}

/// What the config files say where no task file is named.
pub(crate) fn without_file() -> Result<Plan, CliError> {
    let (layers, configs) = config::layers()?;
    configs.iter().for_each(Sheet::show);
    match layers {
        Some(layers) => Ok(file::plan_without_tasks(&layers)),
        None => Err(cli_error(&configs)),
    }
}

fn shown_name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "<stdin>".to_owned(),
        _ => path.display().to_string(),
    }
}

pub(crate) fn read(path: &Path, name: &str) -> Result<Vec<u8>, CliError> {
    let unreadable =
        |why: &dyn std::fmt::Display| CliError::new(Exit::InvalidFile, format!("cannot read {name}: {why}"));
    let mut bytes = Vec::new();
    let read = match path.to_str() {
        Some("-") => std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes),
        _ if path.is_dir() => return Err(unreadable(&"it is a directory").help("name a task file in it")),
        _ => std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)),
    };
    match read {
        Ok(_) if bytes.len() as u64 > LARGEST => Err(unreadable(&"it is larger than 64 MiB")),
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(unreadable(&"there is no such file").help("name a YAML or JSON task file; see examples/"))
        }
        Err(error) => Err(unreadable(&error)),
    }
}

impl Findings {
    fn sheets(&self) -> impl Iterator<Item = &Sheet> {
        self.configs.iter().chain([&self.file])
    }

    /// Adds what is known of agents and plugins that are not installed here.
    pub(crate) fn tell_of_missing(&mut self, plan: &Plan) {
        agent_findings::missing(plan, &mut self.file, &mut self.configs);
        plugin_findings::missing(plan, &mut self.file);
        check_findings::missing(plan, &mut self.file);
    }

    /// The task file's text.
    pub(crate) fn source(&self) -> Option<&Source> {
        self.file.source.as_ref()
    }

    pub(crate) fn cli_error(&self) -> CliError {
        cli_error(self.sheets())
    }

    pub(crate) fn show(&self) {
        self.sheets().for_each(Sheet::show);
    }

    /// All of it, for where lines are shown in another way.
    pub(crate) fn text(&self) -> String {
        let renderer = Renderer::plain();
        let drawn = self.sheets().flat_map(|sheet| {
            sheet.found.iter().take(MOST).map(|diagnostic| sheet.drawn(&renderer, diagnostic))
        });
        drawn.collect::<Vec<_>>().join("\n\n")
    }

    pub(crate) fn json(&self) -> Value {
        let count = |severity| self.sheets().map(|sheet| sheet.count(severity)).sum::<usize>();
        json!({
            "schema": "conductor.validation/1",
            "file": self.file.name,
            "errors": count(Severity::Error),
            "warnings": count(Severity::Warning),
            "findings": self.sheets().flat_map(Sheet::json).collect::<Vec<_>>(),
        })
    }
}

/// As `without_file`, without what is wrong with any of them, which others tell.
pub(crate) fn plan_of_good_configs() -> Plan {
    let configs = config::read().unwrap_or_default();
    let layers: Vec<file::Layer> = configs.into_iter().filter_map(|config| config.layer).collect();
    file::plan_without_tasks(&layers)
}

/// What config files say of a prompt that says nothing itself. Nothing where one of them has an error, which others tell.
pub(crate) fn plan_of_one_prompt(directory: &Path) -> Result<Option<Plan>, CliError> {
    let text = b"tasks: [{ id: one, prompt: nothing }]\n".to_vec();
    let (loaded, _) = check_with(directory, "a prompt".to_owned(), text, file::load_over)?;
    Ok(loaded.map(|(plan, _)| plan))
}

/// Names every file that has errors.
fn cli_error<'s>(sheets: impl IntoIterator<Item = &'s Sheet>) -> CliError {
    let told = |sheet: &Sheet| {
        let errors = sheet.count(Severity::Error);
        (errors > 0).then(|| format!("{} has {}", sheet.name, counted(errors, "error")))
    };
    let told: Vec<String> = sheets.into_iter().filter_map(told).collect();
    CliError::new(Exit::InvalidFile, format!("{}; nothing was started", told.join(", ")))
}

impl Sheet {
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.found.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// What this process has shown before is not shown again: config files are read for several ends.
    pub(crate) fn show(&self) {
        static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let renderer = Renderer::styled();
        for diagnostic in self.found.iter().take(MOST) {
            let drawn = self.drawn(&renderer, diagnostic);
            if shown.insert(drawn.clone()) {
                console::say(format_args!("{drawn}\n"));
            }
        }
        if self.found.len() > MOST {
            console::say(format_args!("… and {} more\n", self.found.len() - MOST));
        }
    }

    fn drawn(&self, renderer: &Renderer, diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
        let mut group = match &self.source {
            None => title.element(Origin::path(self.name.as_str())),
            Some(source) => self.excerpts(source, diagnostic, Group::with_title(title)),
        };
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[group])
    }

    fn excerpts<'a>(&'a self, source: &'a Source, found: &'a Diagnostic, mut group: Group<'a>) -> Group<'a> {
        let label = found.label.as_deref().unwrap_or_default();
        group = self.excerpt(source, found.span, AnnotationKind::Primary, label, group);
        for (span, label) in &found.related {
            group = self.excerpt(source, *span, AnnotationKind::Context, label, group);
        }
        group
    }

    /// The lines of one place. Only those are handed over, so that a huge file costs nothing.
    fn excerpt<'a>(
        &'a self,
        source: &'a Source,
        span: Span,
        kind: AnnotationKind,
        label: &'a str,
        group: Group<'a>,
    ) -> Group<'a> {
        let text = source.text();
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
        let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let to = text[end..].find('\n').map_or(text.len(), |at| end + at);
        let (line, column) = source.position(start);
        if to - from > WIDEST {
            return group.element(Origin::path(self.name.as_str()).line(line).char_column(column));
        }
        let mut mark = kind.span(start - from..end - from);
        if !label.is_empty() {
            mark = mark.label(Cow::Borrowed(label));
        }
        let snippet = Snippet::source(&text[from..to]).line_start(line).path(self.name.as_str());
        group.element(snippet.annotation(mark))
    }

    fn json(&self) -> Vec<Value> {
        let position = |span: Span| {
            let (line, column) = self.source.as_ref().map_or((0, 0), |source| source.position(span.start));
            json!({ "line": line, "column": column, "start": span.start, "end": span.end })
        };
        let found = |diagnostic: &Diagnostic| {
            json!({
                "severity": match diagnostic.severity { Severity::Error => "error", Severity::Warning => "warning" },
                "code": diagnostic.code,
                "message": diagnostic.message,
                "file": self.name,
                "at": position(diagnostic.span),
                "related": diagnostic.related.iter()
                    .map(|(span, label)| json!({ "at": position(*span), "label": label }))
                    .collect::<Vec<_>>(),
                "help": diagnostic.help,
            })
        };
        self.found.iter().map(found).collect()
    }
}
