//! An agent's conversation as lines: who said what, and which tools were used for what.

use conductor_core::values::units::{Millis, Timestamp};
use conductor_engine::agents::conversation::{Kind, ToolUse, Turn, Who};

use super::state::{Glyphs, State};
use super::text::{Line, Text, Tone, clean};
use super::times;

/// Of what a tool answered, so many lines are shown where it failed.
const OF_RESULT: usize = 12;

/// What the turns of an attempt do not say themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speaking<'a> {
    /// Nothing for a command.
    pub(crate) agent: Option<&'a str>,
    pub(crate) is_at_work: bool,
    pub(crate) glyphs: Glyphs,
}

pub(crate) fn text<'a>(turns: impl Iterator<Item = &'a Turn>, speaking: Speaking<'_>) -> Text {
    let mut text = Text::default();
    for turn in turns {
        match &turn.tool {
            Some(tool) => add_tool(&mut text, turn, tool, speaking),
            None => add_words(&mut text, turn, speaking),
        }
    }
    text
}

fn add_words(text: &mut Text, turn: &Turn, Speaking { agent, glyphs, .. }: Speaking<'_>) {
    let (tone, who) = speaker(turn, agent.unwrap_or("output"));
    let at = turn.at_ms.map(|at| format!("{} ", times::of_day(Timestamp(at)))).unwrap_or_default();
    let glyph = match turn.kind {
        Kind::Question => format!("{} ", glyphs.of(State::NeedsYou)),
        Kind::Denied => format!("{} ", glyphs.of(State::Failed)),
        _ => String::new(),
    };
    text.gap();
    let mut lines = turn.text.lines();
    let first = clean(lines.next().unwrap_or(""));
    let body = if turn.kind == Kind::Thinking { Tone::Dim } else { Tone::Plain };
    text.push(Line::of(Tone::Dim, at).and(tone, format!("{glyph}{who}  ")).and(body, first).set_in(2));
    text.0.extend(lines.map(|line| Line::of(body, format!("  {}", clean(line))).set_in(2)));
}

fn speaker(turn: &Turn, agent: &str) -> (Tone, String) {
    let agent = turn.agent.clone().unwrap_or_else(|| agent.to_owned());
    match (turn.who, turn.kind) {
        (_, Kind::Question) => (Tone::State(State::NeedsYou), "asks".to_owned()),
        (_, Kind::Denied) => (Tone::State(State::Failed), "denied".to_owned()),
        (_, Kind::Retry) => (Tone::State(State::Waiting), "waits".to_owned()),
        (_, Kind::Result) if turn.failed => (Tone::State(State::Failed), format!("{agent} ends")),
        (_, Kind::Result) => (Tone::State(State::Landed), format!("{agent} ends")),
        (Who::Agent, Kind::Thinking) => (Tone::Dim, format!("{agent} thinks")),
        (Who::Agent, _) => (Tone::Accent, agent),
        (Who::Conductor, _) => (Tone::Strong, "conductor".to_owned()),
        (Who::User, _) => (Tone::Strong, "you".to_owned()),
        (Who::Tool, _) => (Tone::Dim, "output".to_owned()),
    }
}

fn add_tool(text: &mut Text, turn: &Turn, tool: &ToolUse, Speaking { is_at_work, glyphs, .. }: Speaking<'_>) {
    let failed = turn.failed || tool.denied || tool.exit_code.is_some_and(|code| code != 0);
    let mark = glyphs.either(if failed { "▾ " } else { "▸ " }, if failed { "v " } else { "> " });
    let mut end = Vec::new();
    end.extend(tool.denied.then(|| "denied".to_owned()));
    end.extend(tool.exit_code.filter(|code| *code != 0).map(|code| format!("exit {code}")));
    end.extend(tool.duration_ms.map(|ms| times::clock(Millis(ms))));
    end.extend((tool.result.is_none() && !failed && is_at_work).then(|| "at work".to_owned()));
    let tone = if failed { Tone::State(State::Failed) } else { Tone::Dim };
    let line = Line::of(tone, mark)
        .and(Tone::Strong, format!("{}  ", clean(&tool.name)))
        .and(Tone::Plain, clean(turn.text.lines().next().unwrap_or("")))
        .and(tone, format!("  {}", end.join(" ")));
    text.push(line.set_in(4));
    if let (true, Some(result)) = (failed, &tool.result) {
        let lines: Vec<&str> = result.text.lines().collect();
        let last = &lines[lines.len().saturating_sub(OF_RESULT)..];
        text.0
            .extend(last.iter().map(|line| Line::of(Tone::Plain, format!("    {}", clean(line))).set_in(4)));
    }
}
