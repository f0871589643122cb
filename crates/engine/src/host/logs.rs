//! What Conductor itself does, line by line: in a file of each run, and on standard error where the user wants that.
//!
//! All modules say what they do by `tracing`. A line goes to the file of the run whose span it was said in, so one process
//! can drive several. Nothing here knows what a run is, beyond its name. A line that cannot be written never makes
//! anything fail, and none is shown before it is cleared of secrets.

mod line;
mod rotating;
#[cfg(test)]
mod tests;
mod wanted;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use conductor_core::values::ids::RunId;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Span, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use line::{Fields, Line};
use rotating::RotatingFile;

pub use line::Format;
pub use wanted::{Wanted, WantedError};

/// The name of the file in a run's folder.
pub const FILE: &str = "conductor.log";

/// The files of a run's folder that hold its lines, the oldest first.
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    rotating::all(&folder.join(FILE)).into_iter().filter(|path| path.exists()).collect()
}

/// What calls of git are said under.
pub const GIT: &str = "conductor_engine::git";

/// The span by which a line is known to be about a run.
const RUN: &str = "run";

/// What is kept of a run that has no folder yet. The few steps before that say far less.
const MOST_HELD: usize = 64 * 1024;

/// All that is said in it goes to this run's file, wherever it is begun.
pub fn run_span(run: &RunId) -> Span {
    tracing::info_span!(parent: None, RUN, id = run.as_str())
}

/// The same work, for another thread: what it says is said where this was called.
pub fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = Span::current();
    move || span.in_scope(work)
}

/// How long something took, in the unit of all times in the log.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The files of the runs that this process drives.
#[derive(Debug, Clone, Default)]
pub struct LogFiles(Arc<RwLock<BTreeMap<String, Arc<RunFile>>>>);

impl LogFiles {
    /// From now on lines of this run are kept; they are written when its folder is there.
    pub fn begin(&self, run: &RunId) -> OpenLog {
        let log = Arc::new(RunFile(Mutex::new(Place::Held(Vec::new()))));
        let name = run.as_str().to_owned();
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), log.clone());
        OpenLog { files: self.clone(), name, log }
    }

    fn of(&self, run: &str) -> Option<Arc<RunFile>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(run).cloned()
    }
}

/// Lines of a run are kept as long as this lives.
#[derive(Debug)]
pub struct OpenLog {
    files: LogFiles,
    name: String,
    log: Arc<RunFile>,
}

impl OpenLog {
    /// The run's folder is there: lines go to the file in it from now on, those before first.
    pub fn write_to(&self, folder: &Path) {
        let mut place = self.log.place();
        if let Place::Held(held) = &mut *place {
            let held = std::mem::take(held);
            *place = Place::File(RotatingFile::new(folder.join(FILE)));
            drop(place);
            held.into_iter().for_each(|line| self.log.write(&line));
        }
    }
}

impl Drop for OpenLog {
    fn drop(&mut self) {
        let mut files = self.files.0.write().unwrap_or_else(PoisonError::into_inner);
        if files.get(&self.name).is_some_and(|log| Arc::ptr_eq(log, &self.log)) {
            files.remove(&self.name);
        }
    }
}

#[derive(Debug)]
struct RunFile(Mutex<Place>);

#[derive(Debug)]
enum Place {
    Held(Vec<Written>),
    File(RotatingFile),
}

/// A line as it is written, and in which form.
#[derive(Debug)]
struct Written {
    text: String,
    format: Format,
}

impl RunFile {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, line: &Written) {
        match &mut *self.place() {
            Place::Held(held) if held.iter().map(|line| line.text.len()).sum::<usize>() < MOST_HELD => {
                held.push(Written { text: line.text.clone(), format: line.format });
            }
            Place::Held(_) => {}
            Place::File(file) => {
                file.write(&line.text, |lost, why| Line::lost(lost, why).written(line.format))
            }
        }
    }
}

/// What goes to standard error.
pub struct Console {
    pub wanted: Wanted,
    /// Prints one line.
    pub say: fn(&str),
    /// Is told calls of git (words, milliseconds, whether it succeeded) that are not wanted as lines.
    pub call: Option<fn(&str, u64, bool)>,
}

/// Listens to `tracing`, and hands each line to where it belongs.
pub struct Logs {
    files: LogFiles,
    in_files: Wanted,
    format: Format,
    console: Console,
}

impl Logs {
    /// The files hold what they always do, and what is wanted beyond that.
    pub fn new(files: LogFiles, format: Format, console: Console) -> Logs {
        Logs { files, in_files: Wanted::in_files(), format, console }
    }

    fn goes_to_files(&self, about: &Metadata<'_>) -> bool {
        self.in_files.takes(about) || self.console.wanted.takes(about)
    }

    fn takes(&self, about: &Metadata<'_>) -> bool {
        match about.is_span() {
            true => Wanted::is_ours(about),
            false => self.goes_to_files(about),
        }
    }

    fn file_of<S: for<'a> LookupSpan<'a> + Subscriber>(
        &self,
        event: &Event<'_>,
        context: &Context<'_, S>,
    ) -> Option<Arc<RunFile>> {
        let mut spans = context.event_scope(event)?;
        let span = spans.find(|span| span.name() == RUN)?;
        self.files.of(span.extensions().get::<Fields>()?.text("id")?)
    }

    fn tell_call(&self, event: &Event<'_>) {
        let Some(call) = self.console.call.filter(|_| event.metadata().target() == GIT) else { return };
        let fields = Fields::of_event(event);
        if let (Some(words), Some(took), Some(ok)) =
            (fields.text("git"), fields.number("took"), fields.flag("ok"))
        {
            call(words, took, ok);
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Logs {
    fn register_callsite(&self, about: &'static Metadata<'static>) -> Interest {
        match self.takes(about) {
            true => Interest::always(),
            false => Interest::never(),
        }
    }

    fn enabled(&self, about: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.takes(about)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.in_files.most().max(self.console.wanted.most()))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let is_shown = self.console.wanted.takes(event.metadata());
        if !is_shown {
            self.tell_call(event);
        }
        let file = self.file_of(event, &context);
        if !is_shown && file.is_none() {
            return;
        }
        let spans = context.event_scope(event).into_iter().flat_map(|spans| spans.from_root());
        let spans = spans.filter_map(|span| {
            let fields = span.extensions().get::<Fields>()?.clone();
            Some((span.name(), fields))
        });
        let text = Line::of(event, spans.collect()).written(self.format);
        if is_shown {
            (self.console.say)(text.trim_end_matches('\n'));
        }
        if let Some(file) = file {
            file.write(&Written { text, format: self.format });
        }
    }
}
