//! What tools told of work that landed, as figures.

use serde::Serialize;

use super::files::tenths;
use crate::run::Run;
use crate::run::measure::{Lint, Percent, Reading};

/// The mean of what tasks that landed have left.
pub(super) fn average_coverage(run: &Run) -> Option<f64> {
    let landed = run.tasks().filter_map(|(_, progress)| progress.landed.as_deref());
    let each = landed.filter_map(|landed| landed.measured.as_ref()?.coverage);
    let (sum, count) = each.fold((0.0, 0), |(sum, count), one| (sum + one.after.percent(), count + 1));
    (count > 0).then(|| tenths(sum / f64::from(count)))
}

/// In percent.
#[derive(Debug, Serialize)]
pub(super) struct CoverageFigures {
    before: Option<f64>,
    after: f64,
    /// In percentage points.
    change: Option<f64>,
}

impl CoverageFigures {
    pub(super) fn new(Reading { before, after }: Reading<Percent>) -> CoverageFigures {
        let (before, after) = (before.map(Percent::percent), after.percent());
        let change = before.map(|before| ((after - before) * 100.0).round() / 100.0);
        CoverageFigures { before, after, change }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct LintFigures {
    findings_before: Option<u64>,
    /// Nothing where the linter's output does not tell.
    findings_after: Option<u64>,
    passed: bool,
}

impl LintFigures {
    pub(super) fn new(Reading { before, after }: Reading<Lint>) -> LintFigures {
        let findings_before = before.and_then(|before| before.findings);
        LintFigures { findings_before, findings_after: after.findings, passed: after.passed }
    }
}
