//! What happened within a moment, put into text once for all who listen.

use std::sync::OnceLock;

use axum::extract::ws::Utf8Bytes;

/// One event as text, with its number.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) seq: u64,
    pub(crate) name: &'static str,
    pub(crate) text: Box<str>,
}

#[derive(Debug)]
pub(crate) struct Frame {
    parts: Vec<Part>,
    array: OnceLock<Utf8Bytes>,
    lines: OnceLock<Utf8Bytes>,
}

impl Frame {
    pub(crate) fn new(parts: Vec<Part>) -> Frame {
        Frame { parts, array: OnceLock::new(), lines: OnceLock::new() }
    }

    pub(crate) fn first(&self) -> u64 {
        self.parts.first().map_or(0, |part| part.seq)
    }

    pub(crate) fn last(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.seq)
    }

    /// Without what came up to this number; nothing where nothing is left.
    pub(crate) fn behind(&self, seq: u64) -> Option<Frame> {
        let parts: Vec<Part> = self.parts.iter().filter(|part| part.seq > seq).cloned().collect();
        (!parts.is_empty()).then(|| Frame::new(parts))
    }

    /// As a WebSocket tells it: a list of events.
    pub(crate) fn array(&self) -> Utf8Bytes {
        self.array.get_or_init(|| array(self.parts.iter().map(|part| &*part.text)).into()).clone()
    }

    /// As server-sent events.
    pub(crate) fn lines(&self) -> Utf8Bytes {
        let line = |part: &Part| format!("id: {}\nevent: {}\ndata: {}\n\n", part.seq, part.name, part.text);
        self.lines.get_or_init(|| self.parts.iter().map(line).collect::<String>().into()).clone()
    }
}

pub(crate) fn array<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut array = String::from("[");
    for (place, text) in texts.enumerate() {
        if place > 0 {
            array.push(',');
        }
        array.push_str(text);
    }
    array.push(']');
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_already_is_left_out() {
        let part = |seq| Part { seq, name: "x", text: format!("{{\"seq\":{seq}}}").into() };
        let frame = Frame::new(vec![part(4), part(4), part(5)]);
        assert_eq!((frame.first(), frame.last()), (4, 5));
        assert_eq!(frame.array().as_str(), r#"[{"seq":4},{"seq":4},{"seq":5}]"#);
        assert_eq!(frame.behind(4).unwrap().array().as_str(), r#"[{"seq":5}]"#);
        assert!(frame.behind(5).is_none());
        assert!(frame.behind(4).unwrap().lines().ends_with("id: 5\nevent: x\ndata: {\"seq\":5}\n\n"));
    }
}
