//! What is to be planned, wherever it is written.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use conductor_core::planner::{self, Bounds};
use conductor_core::values::counted::counted;

use crate::args::Planning;
use crate::error::{CliError, Exit};

/// No planner reads more than this; a longer file is a mistake.
const LONGEST: u64 = 256 << 10;

/// The words, and how many tasks must come of them.
pub(crate) struct Requirements {
    pub(crate) text: String,
    pub(crate) bounds: Bounds,
}

impl Requirements {
    pub(crate) fn read(args: &Planning) -> Result<Requirements, CliError> {
        let bounds = Bounds { least: 1, most: args.max_tasks as usize };
        match (&args.requirements, &args.file, &args.from_issues) {
            (_, _, Some(file)) => Requirements::of_issues(file, bounds),
            (_, Some(file), _) => Requirements::new(&from_file(file)?, &shown(file), bounds),
            (Some(word), None, None) if word == "-" => {
                Requirements::new(&bounded(io::stdin().lock(), "standard input")?, "standard input", bounds)
            }
            (Some(words), None, None) => Requirements::new(words, "the requirements", bounds),
            (None, None, None) => Err(CliError::new(Exit::Usage, "nothing to plan").help(
                "say what is to be done: conductor plan \"build …\", or -f FILE, or - for standard input",
            )),
        }
    }

    pub(crate) fn new(text: &str, place: &str, bounds: Bounds) -> Result<Requirements, CliError> {
        if text.trim().is_empty() {
            return Err(CliError::new(
                Exit::Usage,
                format!("{place}: there is not a word of what is to be done"),
            )
            .help("describe it in a sentence or more"));
        }
        if text.len() as u64 > LONGEST {
            return Err(too_long(place));
        }
        Ok(Requirements { text: text.trim().to_owned(), bounds })
    }

    fn of_issues(file: &Path, bounds: Bounds) -> Result<Requirements, CliError> {
        let place = shown(file);
        let issues = planner::issues(&from_file(file)?)
            .map_err(|why| CliError::new(Exit::Usage, format!("{place}: {why}")))?;
        if issues.len() > bounds.most {
            let issues = counted(issues.len(), "issue");
            let message =
                format!("{place} has {issues}, and at most {} may be planned", counted(bounds.most, "task"));
            return Err(
                CliError::new(Exit::Usage, message).help("allow more with --max-tasks, or plan a part of it")
            );
        }
        let words: Vec<String> = issues.iter().map(planner::Issue::words).collect();
        let text = format!("Resolve each of these issues:\n\n{}", words.join("\n"));
        Requirements::new(&text, &place, Bounds { least: issues.len(), ..bounds })
    }
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

fn from_file(file: &Path) -> Result<String, CliError> {
    if file.as_os_str() == "-" {
        return bounded(io::stdin().lock(), "standard input");
    }
    let place = shown(file);
    let opened = File::open(file);
    bounded(
        opened.map_err(|error| CliError::new(Exit::Usage, format!("cannot read {place}: {error}")))?,
        &place,
    )
}

/// No more than fits is read: a device never ends.
fn bounded(from: impl Read, place: &str) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let read = from.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| CliError::new(Exit::Usage, format!("cannot read {place}: {error}")))?;
    if bytes.len() as u64 > LONGEST {
        return Err(too_long(place));
    }
    String::from_utf8(bytes).map_err(|_| {
        CliError::new(Exit::Usage, format!("{place} is not UTF-8 text")).help("save it as UTF-8 first")
    })
}

fn too_long(place: &str) -> CliError {
    CliError::new(Exit::Usage, format!("{place}: more than {} KiB are too much to plan from", LONGEST >> 10))
        .help("say what is to be done in fewer words; agents read details in the repository themselves")
}
