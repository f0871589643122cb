//! The tools that agents called, below the attempts that called them.

use conductor_core::values::ids::RunId;
use conductor_engine::host::redact;
use conductor_engine::process::transcript::ToolCall;

use crate::ids::SpanId;
use crate::span::{AttemptOf, Attributes, Span, Status};

/// How much of a text is told, in characters.
const LONGEST: usize = 8_192;

/// Whether prompts, what tools are called with and what failures say is part of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    #[default]
    LeftOut,
    /// Without secrets.
    Told,
}

impl Content {
    /// What may be told of a text.
    pub(crate) fn of(self, text: &str) -> Option<String> {
        (self == Content::Told).then(|| redact::known().text(text).chars().take(LONGEST).collect())
    }
}

/// These spans, and those of the calls of each attempt among them.
pub fn with_calls(
    run: &RunId,
    spans: Vec<Span>,
    content: Content,
    calls: &dyn Fn(&AttemptOf) -> Vec<ToolCall>,
) -> Vec<Span> {
    let mut all = Vec::with_capacity(spans.len());
    for span in spans {
        let called = span.attempt.as_ref().map(calls).unwrap_or_default();
        let below =
            called.into_iter().enumerate().map(|(number, call)| tool(run, &span, number, call, content));
        let below: Vec<Span> = below.collect();
        all.push(span);
        all.extend(below);
    }
    all
}

fn tool(run: &RunId, attempt: &Span, number: usize, call: ToolCall, content: Content) -> Span {
    let of = attempt.attempt.as_ref();
    let (task, count) = of.map_or(("", 0), |of| (of.task.as_str(), of.attempt.0));
    // The worker reads an agent's words a moment after they were written, and clocks are set.
    let from = call.from.0.clamp(attempt.from, attempt.to);
    let attributes = Attributes::default()
        .with("gen_ai.operation.name", "execute_tool")
        .with("gen_ai.tool.name", call.tool.as_str())
        .maybe("gen_ai.tool.call.arguments", content.of(&call.what).filter(|what| !what.is_empty()))
        .with("conductor.run.id", run.as_str())
        .with("conductor.task.id", task)
        .with("conductor.attempt", count)
        .maybe("error.type", call.failed.then_some("tool_error"));
    Span {
        trace: attempt.trace,
        id: SpanId::of(run, &["call", task, &count.to_string(), &number.to_string()]),
        parent: Some(attempt.id),
        name: format!("execute_tool {}", call.tool),
        from,
        to: call.to.0.clamp(from, attempt.to),
        attributes,
        events: Vec::new(),
        status: if call.failed { Status::Error(None) } else { Status::Unset },
        attempt: None,
    }
}
