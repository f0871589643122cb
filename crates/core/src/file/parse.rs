//! Text to tree, by way of a YAML event parser. JSON is YAML and needs no door of its own.
//!
//! Knows nothing of tasks. It never recurses and refuses what would grow beyond its text: deep nesting and alias bombs.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

use super::diagnostic::{Report, shown};
use super::source::Span;
use super::syntax;
use super::tree::{self, Entry, Key, Node, Value};

/// Deeper than any task file, shallow enough that the recursion in `metadata` is safe.
const MAX_DEPTH: usize = 64;
/// Values in one file, aliases counted as often as they are used.
const MAX_NODES: usize = 1_000_000;
/// How many times their own text aliases may add, and a grace for small files.
const MAX_ALIASED: (usize, usize) = (10, 10_000);
/// A mapping larger than this is searched for duplicates by hash.
const SMALL_MAP: usize = 12;
/// How long and how many the texts are that are kept once.
const SHORT_TEXT: usize = 40;
const MANY_TEXTS: usize = 1_000;

/// The file's only document, or nothing after a mistake that leaves no tree.
pub(super) fn parse(report: &mut Report<'_>) -> Option<Node> {
    let text = report.source.text();
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = Builder::new(report);
    for event in Parser::new_from_str_with_options(text, options) {
        let step = match event {
            Ok((event, span)) => {
                builder.check_tag(event.tag(), place(&span.tag_span().unwrap_or(span)));
                builder.on(event, place(&span))
            }
            Err(error) => Err(syntax::report(builder.report, &error)),
        };
        if let Err(Stop) = step {
            return None;
        }
    }
    builder.finish()
}

fn place(span: &granit_parser::Span) -> Span {
    let range = span.byte_range().unwrap_or_default();
    Span::new(range.start, range.end)
}

/// A mistake, already reported, after which no tree can be made.
pub(super) struct Stop;

impl Report<'_> {
    /// Reports what ends the reading.
    pub(super) fn stop(&mut self, code: &'static str, span: Span, message: &str, help: Option<&str>) -> Stop {
        self.error(code, span, message).help = help.map(str::to_owned);
        Stop
    }

    fn too_deep(&mut self, span: Span) -> Stop {
        self.stop("too-deep", span, &format!("values are nested more than {MAX_DEPTH} deep"), None)
    }

    fn bomb(&mut self, span: Span) -> Stop {
        self.stop(
            "alias-bomb",
            span,
            "the aliases of this file would make it many times larger than it is",
            None,
        )
    }

    fn key(&mut self, node: Node) -> Result<Key, Stop> {
        let text = match &node.value {
            Value::Str(text) => text.clone(),
            Value::Seq(_) | Value::Map(_) => return Err(self.collection_as_key(&node)),
            _ => self.source.slice(node.span).into(),
        };
        Ok(Key { span: node.span, text })
    }

    fn collection_as_key(&mut self, node: &Node) -> Stop {
        let message = format!("a key must be text, found {}", node.kind());
        let help = "a value with braces, such as {{name}}, needs quotes around it";
        self.stop("bad-key", node.span, &message, Some(help))
    }
}

/// How much a value stands for once its aliases are written out.
#[derive(Debug, Clone, Copy)]
struct Extent {
    nodes: usize,
    height: usize,
}

const SCALAR: Extent = Extent { nodes: 1, height: 0 };

struct Frame {
    open: Open,
    span: Span,
    anchor: usize,
    extent: Extent,
}

enum Open {
    Seq(Vec<Node>),
    Map { entries: Vec<Entry>, merges: Vec<Node>, key: Option<Pending> },
}

enum Pending {
    Key(Key),
    Merge,
}

struct Builder<'r, 's> {
    report: &'r mut Report<'s>,
    stack: Vec<Frame>,
    anchors: HashMap<usize, (Node, Extent)>,
    /// Short texts, as they come.
    texts: HashSet<Rc<str>>,
    documents: usize,
    nodes: usize,
    aliased: usize,
    /// The alias that stands for most, to be blamed if there is too much of them.
    largest: (usize, Span),
    root: Option<Node>,
}

impl<'r, 's> Builder<'r, 's> {
    fn new(report: &'r mut Report<'s>) -> Builder<'r, 's> {
        let (stack, anchors) = (Vec::new(), HashMap::new());
        Builder {
            report,
            stack,
            anchors,
            texts: HashSet::new(),
            documents: 0,
            nodes: 0,
            aliased: 0,
            largest: (0, Span::default()),
            root: None,
        }
    }

    fn on(&mut self, event: Event<'_>, span: Span) -> Result<(), Stop> {
        match event {
            Event::DocumentStart(..) => self.document(span),
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(&text, style, anchor, tag.as_deref(), span)
            }
            Event::SequenceStart(_, anchor, _) => self.open(Open::Seq(Vec::new()), anchor, span),
            Event::MappingStart(_, anchor, _) => {
                self.open(Open::Map { entries: Vec::new(), merges: Vec::new(), key: None }, anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(anchor, span),
            _ => Ok(()),
        }
    }

    fn document(&mut self, span: Span) -> Result<(), Stop> {
        self.documents += 1;
        match self.documents {
            1 => Ok(()),
            _ => Err(self.report.stop(
                "many-documents",
                span,
                "a second YAML document starts here; a task file is one",
                None,
            )),
        }
    }

    fn check_tag(&mut self, tag: Option<&Tag>, span: Span) {
        if let Some(tag) = tag.filter(|tag| !tag.is_yaml_core_schema()) {
            let name = shown(&tag.original());
            self.report.error("unknown-tag", span, format!("the tag {name} means nothing here"));
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<(), Stop> {
        let plain = style == ScalarStyle::Plain && !tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
        let value = match plain {
            true => tree::resolve(text),
            false => Value::Str(text.into()),
        };
        let node = Node { span: self.tight(span), value: self.shared(value) };
        if text.contains('\0') {
            self.report.error("nul-byte", node.span, "a NUL character cannot be part of a text");
        }
        self.count(node.span)?;
        self.anchor(anchor, &node, SCALAR);
        self.put(node, SCALAR, plain && text == "<<")
    }

    /// The keys of a large file are few, and so are many of its values: each is kept once.
    fn shared(&mut self, value: Value) -> Value {
        let Value::Str(text) = value else { return value };
        match self.texts.get(&text) {
            Some(known) => return Value::Str(known.clone()),
            None if text.len() <= SHORT_TEXT && self.texts.len() < MANY_TEXTS => {
                self.texts.insert(text.clone());
            }
            None => {}
        }
        Value::Str(text)
    }

    /// Without the white space a plain or block scalar may carry at its end.
    fn tight(&self, span: Span) -> Span {
        Span::new(span.start, span.start + self.report.source.slice(span).trim_end().len())
    }

    fn count(&mut self, span: Span) -> Result<(), Stop> {
        self.nodes += 1;
        match self.nodes > MAX_NODES {
            true => Err(self.report.stop(
                "too-large",
                span,
                &format!("the file holds more than {MAX_NODES} values"),
                None,
            )),
            false => Ok(()),
        }
    }

    fn anchor(&mut self, anchor: usize, node: &Node, extent: Extent) {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), extent));
        }
    }

    fn open(&mut self, open: Open, anchor: usize, span: Span) -> Result<(), Stop> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(self.report.too_deep(span));
        }
        self.count(span)?;
        let span = Span::new(span.start, span.end.max(span.start + 1));
        self.stack.push(Frame { open, span, anchor, extent: Extent { nodes: 1, height: 1 } });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Stop> {
        let Some(Frame { open, span, anchor, extent }) = self.stack.pop() else { return Ok(()) };
        let node = match open {
            Open::Seq(items) => Node { span, value: Value::Seq(items.into()) },
            Open::Map { entries, merges, .. } => {
                let span = entries.first().map_or(span, |(key, _)| key.span);
                Node { span, value: Value::Map(self.map(entries, &merges)) }
            }
        };
        self.anchor(anchor, &node, extent);
        self.put(node, extent, false)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        let Some((node, extent)) = self.anchors.get(&anchor).cloned() else {
            return Err(self.report.stop(
                "alias-bomb",
                span,
                "the alias stands inside the value it refers to",
                None,
            ));
        };
        self.aliased = self.aliased.saturating_add(extent.nodes);
        self.largest = self.largest.max((extent.nodes, span));
        if self.nodes.saturating_add(self.aliased) > MAX_NODES {
            return Err(self.report.bomb(span));
        }
        if self.stack.len() + extent.height > MAX_DEPTH {
            return Err(self.report.too_deep(span));
        }
        self.put(node, extent, false)
    }

    /// Gives a finished value to the collection it stands in.
    fn put(&mut self, node: Node, extent: Extent, merge: bool) -> Result<(), Stop> {
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.extent.nodes = frame.extent.nodes.saturating_add(extent.nodes);
        frame.extent.height = frame.extent.height.max(extent.height + 1);
        match &mut frame.open {
            Open::Seq(items) => items.push(node),
            Open::Map { entries, merges, key } => match key.take() {
                None if merge => *key = Some(Pending::Merge),
                None => *key = Some(Pending::Key(self.report.key(node)?)),
                Some(Pending::Merge) => merges.push(node),
                Some(Pending::Key(key)) => entries.push((key, node)),
            },
        }
        Ok(())
    }

    fn map(&mut self, mut entries: Vec<Entry>, merges: &[Node]) -> Rc<[Entry]> {
        self.drop_duplicates(&mut entries);
        for node in merges {
            match &node.value {
                Value::Seq(items) => items.iter().for_each(|item| self.merge(&mut entries, item)),
                _ => self.merge(&mut entries, node),
            }
        }
        entries.into()
    }

    /// The first of two entries with one key is kept.
    fn drop_duplicates(&mut self, entries: &mut Vec<Entry>) {
        let mut seen: HashMap<Rc<str>, Span> = HashMap::new();
        let small = entries.len() <= SMALL_MAP;
        let twins = |entries: &[Entry]| {
            (1..entries.len()).any(|at| entries[..at].iter().any(|(key, _)| key.text == entries[at].0.text))
        };
        if small && !twins(entries) {
            return;
        }
        entries.retain(|(key, _)| match seen.get(&key.text) {
            None => seen.insert(key.text.clone(), key.span).is_none(),
            Some(&first) => {
                let name = shown(&key.text);
                self.report
                    .error("duplicate-key", key.span, format!("the key {name} appears twice"))
                    .label("again here")
                    .also(first, "first here");
                false
            }
        });
    }

    fn merge(&mut self, entries: &mut Vec<Entry>, node: &Node) {
        let Some(more) = node.entries() else {
            let message = format!("'<<' merges mappings, found {}", node.kind());
            self.report.error("wrong-type", node.span, message);
            return;
        };
        let own: std::collections::HashSet<Rc<str>> =
            entries.iter().map(|(key, _)| key.text.clone()).collect();
        entries.extend(more.iter().filter(|(key, _)| !own.contains(&key.text)).cloned());
    }

    fn finish(self) -> Option<Node> {
        let (factor, grace) = MAX_ALIASED;
        if self.aliased > self.nodes * factor + grace {
            self.report.bomb(self.largest.1);
            return None;
        }
        let root = self.root.filter(|root| !root.is_null());
        if root.is_none() {
            self.report
                .error("empty-file", Span::default(), "the file is empty")
                .help("write 'tasks:' and a list of tasks");
        }
        root
    }
}
