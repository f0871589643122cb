//! The real agent CLIs, and how they are kept to the stand-in.
//!
//! It knows what each CLI reads at its start, and nothing of what Conductor makes of its output.

mod lodging;

pub use lodging::Lodging;

/// A CLI that can be kept to the stand-in, with the version this was written against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl Agent {
    pub const ALL: [Agent; 4] = [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Opencode];

    /// Package and version.
    pub fn pin(self) -> (&'static str, &'static str) {
        match self {
            Agent::Claude => ("@anthropic-ai/claude-code", "2.1.325"),
            Agent::Codex => ("@openai/codex", "0.166.0"),
            Agent::Gemini => ("@google/gemini-cli", "0.61.0"),
            Agent::Opencode => ("opencode-ai", "1.18.33"),
        }
    }

    pub fn program(self) -> &'static str {
        match self {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
            Agent::Opencode => "opencode",
        }
    }
}
