//! By which ids a trace and its spans are known: made from names, so that they are the same each time.

use std::fmt;

use conductor_core::values::ids::RunId;
use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId([u8; 16]);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId([u8; 8]);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl TraceId {
    /// The trace of a run that is no part of another one.
    pub fn of(run: &RunId) -> TraceId {
        TraceId(beginning(&digest(&["conductor", run.as_str()])))
    }
}

impl SpanId {
    /// Of what these names stand for within a run.
    pub fn of(run: &RunId, names: &[&str]) -> SpanId {
        let all: Vec<&str> = ["conductor", run.as_str()].into_iter().chain(names.iter().copied()).collect();
        SpanId(beginning(&digest(&all)))
    }
}

/// Each name comes with its length: `ab`, `c` is not `a`, `bc`.
fn digest(names: &[&str]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for name in names {
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name.as_bytes());
    }
    hash.finalize().to_vec()
}

fn beginning<const N: usize>(digest: &[u8]) -> [u8; N] {
    std::array::from_fn(|place| digest[place])
}

/// The span that a run is a part of, as the environment tells it (W3C Trace Context).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: TraceId,
    pub span: SpanId,
    /// Whether that trace is kept at all.
    pub sampled: bool,
}

impl TraceParent {
    /// `00-<32 hex>-<16 hex>-<2 hex>`; nothing where it is anything else, as the standard wants it.
    pub fn parse(text: &str) -> Option<TraceParent> {
        let parts: Vec<&str> = text.trim().split('-').collect();
        let [version, trace, span, flags, more @ ..] = parts.as_slice() else { return None };
        let [version] = bytes::<1>(version)?;
        // Later versions may have more parts; the first one has none.
        if version == 0xff || (version == 0 && !more.is_empty()) {
            return None;
        }
        let (trace, span, [flags]) = (bytes::<16>(trace)?, bytes::<8>(span)?, bytes::<1>(flags)?);
        let is_set = trace != [0; 16] && span != [0; 8];
        is_set.then_some(TraceParent { trace: TraceId(trace), span: SpanId(span), sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

/// Lower case only, by the standard.
fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if hex.len() != 2 * N || !hex.bytes().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_each_time_and_differ_by_name() {
        let (one, other) = (RunId::parse("r1").unwrap(), RunId::parse("r2").unwrap());
        assert_eq!(TraceId::of(&one), TraceId::of(&one));
        assert_ne!(TraceId::of(&one), TraceId::of(&other));
        assert_ne!(SpanId::of(&one, &["ab", "c"]), SpanId::of(&one, &["a", "bc"]));
        assert_eq!(TraceId::of(&one).to_string().len(), 32);
        assert_eq!(SpanId::of(&one, &["task"]).to_string().len(), 16);
    }

    #[test]
    fn a_parent_is_read_as_the_standard_says() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parent = TraceParent::parse(good).unwrap();
        assert_eq!((parent.to_string().as_str(), parent.sampled), (good, true));
        assert!(!TraceParent::parse(&good.replace("-01", "-00")).unwrap().sampled);
        assert!(TraceParent::parse(&good.replace("00-4b", "cc-4b").replace("-01", "-01-more")).is_some());
        for bad in [
            "",
            "x",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }
}
