//! From a planner's answer to a task file: whatever it says, a plan that can be run or a reason why there is none.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod answers;
mod properties;

use conductor_core::file::{self, Source};
use conductor_core::plan::Plan;
use conductor_core::plan::graph::{Graph, Strategy};
use conductor_core::planner::{Bounds, Draft, Head, Refusal, check, mend, read_plan, task_file};

/// The plan of an answer that the planner does not repair, and all that was found and mended.
pub(crate) fn planned(answer: &str, bounds: Bounds) -> Result<(Plan, Vec<String>), Refusal> {
    let (mut draft, mut findings) = read_plan(answer)?;
    findings.extend(check(&draft, None, bounds));
    let mended = mend(&mut draft, bounds)?;
    assert_eq!(check(&draft, None, bounds), [], "a second look finds nothing more");
    let mut told: Vec<String> = findings.iter().map(ToString::to_string).collect();
    told.extend(mended);
    Ok((written(&draft, "Do it"), told))
}

/// The plan of the task file a draft becomes, read like any other.
#[track_caller]
pub(crate) fn written(draft: &Draft, requirements: &str) -> Plan {
    let head = Head { requirements, planner: "claude", ..Head::default() };
    let text = task_file(draft, &head);
    let source = Source::new("tasks.yaml", text.clone().into_bytes()).unwrap();
    let plan = file::load(&source).unwrap_or_else(|found| panic!("{found:#?}\n{text}")).plan;
    Graph::new(&plan, Strategy::Queue).unwrap();
    assert_eq!(plan.tasks.len(), draft.tasks.len());
    plan
}
