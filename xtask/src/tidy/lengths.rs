//! A file or function that is long is asked whether it is two things.

use super::Finding;
use super::source::Crate;

const FILE: usize = 450;
const FUNCTION: usize = 70;

pub(super) fn check(source: &Crate) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &source.files {
        let finding = |line, what| Finding { path: file.path.clone(), line, what };
        if file.lines > FILE {
            findings.push(finding(1, format!("{} lines without tests; at most {FILE}", file.lines)));
        }
        for function in file.functions.iter().filter(|function| function.lines > FUNCTION) {
            let what = format!("`{}` has {} lines; at most {FUNCTION}", function.name, function.lines);
            findings.push(finding(function.line, what));
        }
    }
    findings
}
