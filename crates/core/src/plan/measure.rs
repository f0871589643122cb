//! What is measured of work that is about to land.

use serde::{Deserialize, Serialize};

use crate::values::units::Millis;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Measure {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Commands that look for what is wrong; `auto` stands for what the project's files suggest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lint: Vec<String>,
    /// How long each command may take; `Measure::WITHIN` where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Millis>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// A command that tells how much is tested; `auto` stands for what the project's files suggest.
    pub run: String,
    /// The file it writes that to, below where it is run; its output where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

impl Measure {
    pub const WITHIN: Millis = Millis::from_secs(10 * 60);
    pub const AUTO: &'static str = "auto";

    /// All there is a tool for.
    pub fn auto() -> Measure {
        let coverage = Some(Coverage { run: Measure::AUTO.to_owned(), report: None });
        Measure { coverage, lint: vec![Measure::AUTO.to_owned()], within: None }
    }

    pub fn time(&self) -> Millis {
        self.within.unwrap_or(Measure::WITHIN)
    }
}
