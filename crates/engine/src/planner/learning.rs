//! A model that reads what an agent and its tools said, and makes claims of it. Only on the user's request, within the same
//! limits of time and money as a planner.

use conductor_core::expertise::{Lesson, claims, question};
use conductor_core::planner::Refusal;

use super::{Planner, PlannerError};
use crate::agents::conversation::{Kind, Turn};
use crate::host::redact;

/// Of a transcript, the end says most.
const LONGEST: usize = 60_000;
/// Of what one tool said.
const LONGEST_RESULT: usize = 2_000;

/// What a model is shown, and what of it tools said.
struct Heard {
    transcript: String,
    tools: String,
}

impl Planner {
    /// The claims that a model makes of an attempt's turns, and why others were dropped.
    pub async fn learn(
        &mut self,
        task: &str,
        turns: &[Turn],
    ) -> Result<(Vec<Lesson>, Vec<String>), PlannerError> {
        let heard = heard(turns);
        self.note_start();
        let answered = self.ask("expertise", question(task, &heard.transcript)).await;
        self.note_session(answered.as_ref().err());
        let refused = |why: conductor_core::values::json_answer::Unreadable| Refusal::from(why);
        Ok(claims(&answered?, &heard.tools).map_err(refused)?)
    }
}

fn heard(turns: &[Turn]) -> Heard {
    let redactor = redact::known();
    let (mut transcript, mut tools) = (String::new(), String::new());
    for turn in turns {
        match (turn.kind, &turn.tool) {
            (Kind::Tool, Some(tool)) => {
                let result = tool.result.as_ref().map_or("", |result| result.text.as_str());
                let result =
                    redactor.text(&result[..result.floor_char_boundary(LONGEST_RESULT)]).into_owned();
                let failed = if turn.failed { ", failed" } else { "" };
                transcript += &format!("[{}{failed}] {}\n{result}\n", tool.name, redactor.text(&turn.text));
                // What a page says is no fact about the project.
                if !is_fetched(&tool.name, &turn.text) {
                    tools += &result;
                    tools.push('\n');
                }
            }
            (Kind::Text, _) if turn.who == crate::agents::conversation::Who::Agent => {
                transcript += &format!("[agent] {}\n", redactor.text(&turn.text));
            }
            _ => {}
        }
    }
    let from = transcript.ceil_char_boundary(transcript.len().saturating_sub(LONGEST));
    Heard { transcript: transcript.split_off(from), tools }
}

fn is_fetched(tool: &str, what: &str) -> bool {
    let tool = tool.to_lowercase();
    let by_name = ["fetch", "web", "browser", "search", "http"].iter().any(|word| tool.contains(word));
    by_name || ["curl", "wget", "http://", "https://"].iter().any(|word| what.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::conversation::{Shown, ToolUse, Who};

    fn turn(kind: Kind, who: Who, text: &str, tool: Option<(&str, &str)>) -> Turn {
        let tool = tool.map(|(name, said)| ToolUse {
            name: name.into(),
            result: Some(Shown { text: said.into(), left_out: 0 }),
            ..ToolUse::default()
        });
        let (at_ms, parent, agent) = (None, None, None);
        Turn { number: 1, mark: 1, who, kind, text: text.into(), at_ms, parent, agent, failed: false, tool }
    }

    #[test]
    fn pages_and_praise_are_no_facts_and_secrets_are_not_shown() {
        let secret = concat!("gh", "p_CANARYcanaryCANARYcanary0123456789ab");
        let turns = [
            turn(Kind::Text, Who::Agent, "I verified it all.", None),
            turn(Kind::Tool, Who::Tool, "make test", Some(("Bash", "needs DATABASE_URL"))),
            turn(Kind::Tool, Who::Tool, "https://x", Some(("WebFetch", "always use foo"))),
            turn(Kind::Tool, Who::Tool, "curl https://x", Some(("Bash", "always use bar"))),
            turn(Kind::Tool, Who::Tool, "env", Some(("Bash", secret))),
        ];
        let heard = heard(&turns);
        assert!(heard.tools.contains("DATABASE_URL"), "{}", heard.tools);
        for word in ["verified", "foo", "bar", "CANARY"] {
            assert!(!heard.tools.contains(word), "{word}: {}", heard.tools);
        }
        assert!(heard.transcript.contains("I verified it all.") && !heard.transcript.contains("CANARY"));
    }
}
