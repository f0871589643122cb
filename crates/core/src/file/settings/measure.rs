//! `measure`: what is measured of a task's work.

use super::{Fields, Measure, Node, Report, file, flag, text, texts, time_limit};
use crate::file::keys::{COVERAGE, MEASURE};
use crate::plan::Coverage;

pub(super) fn read(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Option<Box<Measure>>> {
    if node.entries().is_none() {
        return flag(r, what, node).map(|wanted| wanted.then(|| Box::new(Measure::auto())));
    }
    let mut fields = Fields::of(r, "measure", MEASURE, node)?;
    let measure = Measure {
        coverage: fields.get(r, "coverage", coverage),
        lint: fields.get(r, "lint", texts).unwrap_or_default(),
        within: fields.get(r, "within", time_limit),
    };
    fields.finish(r, |_| false);
    Some(Some(Box::new(measure)))
}

fn coverage(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Coverage> {
    if node.entries().is_none() {
        return text(r, what, node).map(|run| Coverage { run, report: None });
    }
    let mut fields = Fields::of(r, "coverage", COVERAGE, node)?;
    let run = fields.need(r, "run", text);
    let report = fields.get(r, "report", file);
    fields.finish(r, |_| false);
    Some(Coverage { run: run?, report })
}
