//! The table of docs/agents.md: each cell is measured by one of these tests.

use std::path::PathBuf;

use conductor_testkit::agents::Agent;

/// What is measured of each agent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Row {
    Cost,
    CostWithSubagents,
    OverMaxCost,
    OverMaxTokens,
    OverMaxTurns,
    Resumed,
    Deny,
    Ask,
    Secrets,
}

const ROWS: [(Row, &str); 9] = [
    (Row::Cost, "reported cost, compared with the bill"),
    (Row::CostWithSubagents, "the same with subagents"),
    (Row::OverMaxCost, "calls after `max_cost` was reached"),
    (Row::OverMaxTokens, "calls after `max_tokens` was reached"),
    (Row::OverMaxTurns, "calls after `max_turns` was reached"),
    (Row::Resumed, "after `kill -9`"),
    (Row::Deny, "what is denied"),
    (Row::Ask, "what the user has to allow"),
    (Row::Secrets, "secrets found afterwards"),
];

const AGENTS: [Agent; 4] = [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Opencode];

/// If this variable is set, cells that differ are written into the table instead of failing the test.
pub(super) const WRITE: &str = "CONDUCTOR_WRITE_DOCS";

/// The result of a test has to be what the table says.
#[track_caller]
pub(super) fn measured(agent: Agent, row: Row, found: &str) {
    let said = cell(agent, row);
    if said != found && !written(agent, row, found) {
        panic!(
            "{row:?} of {} is '{found}', not '{said}'; {WRITE}=1 writes it into docs/agents.md",
            agent.program()
        );
    }
}

/// The same of a number that differs from run to run, and must not be larger.
#[track_caller]
pub(super) fn measured_at_most(agent: Agent, row: Row, found: usize) {
    let said = cell(agent, row);
    let most = said.strip_prefix("at most ").and_then(|most| most.parse::<usize>().ok());
    if most.is_none_or(|most| found > most) && !written(agent, row, &format!("at most {found}")) {
        panic!("{row:?} of {} is {found}, and not '{said}'", agent.program());
    }
}

fn cell(agent: Agent, row: Row) -> String {
    let text = std::fs::read_to_string(document()).unwrap();
    let (_, cells) = line(&text, row);
    cells[column(agent)].to_owned()
}

/// Writes the result into the table, if `WRITE` is set.
fn written(agent: Agent, row: Row, found: &str) -> bool {
    if std::env::var_os(WRITE).is_none() {
        return false;
    }
    let text = std::fs::read_to_string(document()).unwrap();
    let (line, mut cells) = line(&text, row);
    cells[column(agent)] = found;
    let cells = cells[1..cells.len() - 1].join(" | ");
    std::fs::write(document(), text.replace(line, &format!("| {cells} |"))).unwrap();
    true
}

fn line(text: &str, row: Row) -> (&str, Vec<&str>) {
    let name = ROWS.iter().find(|(known, _)| *known == row).unwrap().1;
    let line = text.lines().find(|line| line.starts_with(&format!("| {name} |")));
    let line = line.unwrap_or_else(|| panic!("docs/agents.md has no row '{name}'"));
    (line, line.split('|').map(str::trim).collect())
}

fn column(agent: Agent) -> usize {
    AGENTS.iter().position(|known| *known == agent).unwrap() + 2
}

fn document() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md")
}

#[test]
fn has_a_row_for_everything_that_is_measured_and_no_cell_is_empty() {
    let text = std::fs::read_to_string(document()).unwrap();
    let head = text.find("## What was measured").unwrap();
    let rows: Vec<Vec<&str>> = text[head..]
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows[0][1..], AGENTS.map(|agent| format!("`{}`", agent.program())));
    assert_eq!(rows[2..].iter().map(|row| row[0]).collect::<Vec<_>>(), ROWS.map(|(_, name)| name));
    assert!(rows[2..].iter().flatten().all(|cell| !cell.is_empty()), "{rows:?}");
}
