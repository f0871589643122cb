//! The real agent CLIs against the stand-in. Where they cannot be had, the tests say so and pass, unless
//! CONDUCTOR_AGENTS_REQUIRED is set.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod harness;

mod claude;
mod codex;
mod gemini;
mod opencode;

use conductor_testkit::agents::{Agent, or_skip};

/// What this prints is shown even though it passes (`.config/nextest.toml`), so that skipped tests are not
/// taken for passed ones.
#[test]
fn which_agents_are_here() {
    for agent in Agent::ALL {
        if or_skip(agent).is_some() {
            let (package, version) = agent.pin();
            eprintln!("tested against {package}@{version}");
        }
    }
}
