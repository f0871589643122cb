//! A task's attempts, one below the other.

use conductor_core::run::{Run, Span};
use conductor_core::values::units::Millis;

use super::state::State;
use super::text::{Line, Text, Tone, clean};
use super::times;

/// The newest last; `shown`: the attempt that the other tabs show.
pub(crate) fn text(run: &Run, place: usize, shown: Option<u32>) -> Text {
    let mut text = Text::default();
    let doers = if run.entrants(place).is_empty() { vec![place] } else { run.entrants(place).to_vec() };
    for doer in doers {
        let mut spans: Vec<&Span> = run.spans_of(doer).collect();
        spans.reverse();
        if doer != place {
            text.push(Line::of(Tone::Strong, run.task(doer).0.id.to_string()));
        }
        for span in &spans {
            text.push(line(span, shown));
            text.0.extend(phases(span));
        }
        if let conductor_core::run::TaskState::Failed(failure) = &run.progress(doer).state {
            text.gap();
            text.push(Line::of(Tone::State(State::Failed), clean(&failure.message)));
            text.add(Tone::Plain, &failure.evidence);
        }
    }
    if text.0.is_empty() {
        text.push(Line::of(Tone::Dim, "It has not begun."));
    } else {
        text.gap();
        text.push(Line::of(Tone::Dim, "< and > choose the attempt that conversation and log show"));
    }
    text
}

fn line(span: &Span, shown: Option<u32>) -> Line {
    let mark = if shown == Some(span.attempt.0) { "> " } else { "  " };
    let took = span.to.map(|to| Millis(to.0.saturating_sub(span.from.0)));
    let (tone, end) = match span.end {
        None => (Tone::State(State::Running), "at work".to_owned()),
        Some(end) => (tone(end), end.name().to_owned()),
    };
    let took = took.map(|took| format!("  {}", times::clock(took))).unwrap_or_default();
    Line::of(Tone::Strong, format!("{mark}attempt {}  ", span.attempt.0))
        .and(tone, end)
        .and(Tone::Plain, took)
        .and(Tone::Dim, format!("  began {} into the run", times::clock(span.from)))
}

fn tone(end: conductor_core::run::End) -> Tone {
    use conductor_core::run::End;
    Tone::State(match end {
        End::Succeeded => State::Landed,
        End::Failed => State::Failed,
        End::Interrupted => State::Waiting,
        End::Cancelled => State::Cancelled,
        End::Asked => State::NeedsYou,
    })
}

fn phases(span: &Span) -> Option<Line> {
    let phases = span.phases.as_ref()?;
    let each =
        [("preparing", phases.preparing), ("working", phases.working), ("verifying", phases.verifying)];
    let words: Vec<String> = each
        .iter()
        .filter(|(_, time)| time.0 > 0)
        .map(|(name, time)| format!("{name} {}", times::clock(*time)))
        .collect();
    (!words.is_empty()).then(|| Line::of(Tone::Dim, format!("    {}", words.join(", "))))
}
