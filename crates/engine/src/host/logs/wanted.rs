//! Which lines are wanted: a level for Conductor's own modules, or levels of modules by their names.

use std::str::FromStr;

use thiserror::Error;
use tracing::Metadata;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

use super::GIT;

/// How the names of all our modules begin.
const OURS: &str = "conductor";

const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' is no level: use off, error, warn, info, debug or trace, or levels of modules, as in \
     info,conductor_engine::git=trace"
)]
pub struct WantedError(String);

/// What is wanted; by default nothing.
#[derive(Debug, Clone)]
pub struct Wanted {
    targets: Targets,
    /// The most talkative level in it.
    most: LevelFilter,
}

impl Default for Wanted {
    fn default() -> Wanted {
        Wanted { targets: Targets::new(), most: LevelFilter::OFF }
    }
}

impl Wanted {
    /// What the file of a run always has.
    pub(super) fn in_files() -> Wanted {
        Wanted::default().with(OURS, LevelFilter::INFO).with(GIT, LevelFilter::DEBUG)
    }

    fn with(mut self, target: &str, level: LevelFilter) -> Wanted {
        self.targets = self.targets.with_target(target, level);
        self.most = self.most.max(level);
        self
    }

    pub fn is_nothing(&self) -> bool {
        self.most() == LevelFilter::OFF
    }

    pub(super) fn most(&self) -> LevelFilter {
        self.most
    }

    pub(super) fn takes(&self, about: &Metadata<'_>) -> bool {
        self.targets.would_enable(about.target(), about.level())
    }

    pub(super) fn is_ours(about: &Metadata<'_>) -> bool {
        about.target().starts_with(OURS)
    }
}

impl FromStr for Wanted {
    type Err = WantedError;

    /// A level alone is that of our own modules. Of the libraries beneath only warnings are of interest then; who
    /// wants more of one names it.
    fn from_str(text: &str) -> Result<Wanted, WantedError> {
        let refused = || WantedError(text.to_owned());
        let mut wanted = Wanted::default();
        for part in text.split(',').map(str::trim) {
            wanted = match part.split_once('=') {
                Some((target, name)) if is_target(target) => {
                    wanted.with(target, level(name).ok_or_else(refused)?)
                }
                Some(_) => return Err(refused()),
                None => {
                    let level = level(part).ok_or_else(refused)?;
                    let others = level.min(LevelFilter::WARN);
                    let targets = wanted.targets.clone().with_default(others);
                    Wanted { targets, ..wanted }.with(OURS, level)
                }
            };
        }
        Ok(wanted)
    }
}

fn level(name: &str) -> Option<LevelFilter> {
    LEVELS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, level)| *level)
}

fn is_target(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-'))
}
