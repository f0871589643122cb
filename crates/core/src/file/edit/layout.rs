//! Where everything of a file is written: a tree of exact places, for those who change its text.
//!
//! The parser says what comes in which order. The marks between the values (dashes, colons, commas, anchors) are looked
//! up in the text, one by one: a mark that is not where it must be is an error, so that nothing is changed at a wrong
//! place. Knows nothing of tasks.

use std::collections::HashSet;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use super::lines;

/// As deep as `parse` reads.
const MAX_DEPTH: usize = 64;

/// A place at which the text is not what the parser says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost(pub(super) usize);

/// A value, with its anchor and its tag.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) start: usize,
    /// Behind its last character; the same as `start` where nothing is written.
    pub(super) end: usize,
    /// The parser's number of its anchor.
    pub(super) anchor: Option<usize>,
    pub(super) form: Form,
}

#[derive(Debug)]
pub(super) enum Form {
    Scalar(ScalarStyle),
    /// A scalar in lines of its own below the line of its key, behind a `|` or `>` that ends here.
    Block {
        header_end: usize,
    },
    Alias,
    Collection(Collection),
}

/// A list or a mapping.
#[derive(Debug)]
pub(super) struct Collection {
    pub(super) is_map: bool,
    /// Where its brackets or braces are; without them every element has lines of its own.
    pub(super) brackets: Option<(usize, usize)>,
    pub(super) elements: Vec<Element>,
    /// Whether it is written in a way that is not changed here: `? key`, `[a: b]`, a key without a colon.
    pub(super) is_odd: bool,
    /// Whether it has a `<<`.
    pub(super) merges: bool,
}

/// An item of a list or an entry of a mapping.
#[derive(Debug)]
pub(super) struct Element {
    /// Where its dash, its key or, between brackets, its value begins.
    pub(super) start: usize,
    /// Behind its dash or its colon.
    pub(super) mark: usize,
    pub(super) key: Option<String>,
    pub(super) value: Spot,
}

impl Element {
    pub(super) fn end(&self) -> usize {
        self.value.end.max(self.mark)
    }
}

impl Spot {
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(super) fn collection(&self) -> Option<&Collection> {
        match &self.form {
            Form::Collection(collection) => Some(collection),
            _ => None,
        }
    }

    /// Itself and all that is in it, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Spot> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let spot = open.pop()?;
            let inside = spot.collection().map_or(&[][..], |collection| &collection.elements);
            open.extend(inside.iter().map(|element| &element.value));
            Some(spot)
        })
    }
}

impl Collection {
    pub(super) fn place(&self, key: &str) -> Option<usize> {
        self.elements.iter().position(|element| element.key.as_deref() == Some(key))
    }
}

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) root: Spot,
    /// Where the document begins: behind its `---`, if it has one.
    pub(super) start: usize,
    /// The anchors that an alias refers to.
    used: HashSet<usize>,
}

impl Layout {
    /// The first value at or below a place that aliases repeat elsewhere.
    pub(super) fn shared<'l>(&self, spot: &'l Spot) -> Option<&'l Spot> {
        spot.all().find(|spot| self.is_shared(spot))
    }

    pub(super) fn is_shared(&self, spot: &Spot) -> bool {
        spot.anchor.is_some_and(|anchor| self.used.contains(&anchor))
    }

    /// Of a text that `parse` has read without a mistake.
    pub(super) fn of(text: &str) -> Result<Layout, Lost> {
        let options = granit_parser::options! {
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
            // While a value is moved, its aliases may come before it.
            emit_unresolved_aliases: true,
        };
        let mut builder =
            Builder { text, at: 0, start: 0, stack: Vec::new(), used: HashSet::new(), root: None };
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|_| Lost(builder.at))?;
            builder.on(&event, span.byte_range().ok_or(Lost(builder.at))?)?;
        }
        let root = builder.root.ok_or(Lost(builder.at))?;
        Ok(Layout { root, start: builder.start, used: builder.used })
    }
}

struct Frame {
    /// Where its anchor or tag is, or its bracket.
    start: Option<usize>,
    anchor: Option<usize>,
    open: Option<usize>,
    /// The elements so far; the brackets are filled in at the end.
    collection: Collection,
    /// The key whose value is next.
    key: Option<String>,
    /// Of the element that is next.
    lead: Option<(usize, usize)>,
}

struct Builder<'t> {
    text: &'t str,
    /// Everything before it has been read.
    at: usize,
    start: usize,
    stack: Vec<Frame>,
    used: HashSet<usize>,
    root: Option<Spot>,
}

impl Builder<'_> {
    fn on(&mut self, event: &Event<'_>, span: Range<usize>) -> Result<(), Lost> {
        match event {
            Event::DocumentStart(true, _) => {
                self.at = span.end;
                self.start = span.end;
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.lead()?;
                let start = self.properties(*anchor != 0, tag.is_some())?;
                let mut spot = self.scalar(*style, span)?;
                (spot.start, spot.anchor) = (start.unwrap_or(spot.start), numbered(*anchor));
                self.put(spot, Some(text))?;
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.lead()?;
                if let Event::Alias(anchor) = event {
                    self.used.insert(*anchor);
                }
                self.expect_at(span.start)?;
                self.at = span.end;
                self.put(Spot { start: span.start, end: span.end, anchor: None, form: Form::Alias }, None)?;
            }
            Event::SequenceStart(style, anchor, tag) => self.open(false, *style, *anchor, tag.is_some())?,
            Event::MappingStart(style, anchor, tag) => self.open(true, *style, *anchor, tag.is_some())?,
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            _ => {}
        }
        Ok(())
    }

    /// Takes the dash, comma, colon or question mark that the next value stands behind.
    fn lead(&mut self) -> Result<(), Lost> {
        let Some(frame) = self.stack.last() else { return Ok(()) };
        let is_key = frame.collection.is_map && frame.key.is_none();
        let is_next = frame.open.is_some() && !frame.collection.elements.is_empty();
        let lead = match frame.collection.is_map {
            false if frame.open.is_none() => {
                let dash = self.expect('-')?;
                Some((dash, self.at))
            }
            _ if !is_key && frame.collection.is_map => return self.colon(),
            _ if is_next => {
                self.expect(',')?;
                None
            }
            _ => None,
        };
        let is_odd = is_key && self.is_explicit_key();
        if let Some(frame) = self.stack.last_mut() {
            frame.lead = lead;
            frame.collection.is_odd |= is_odd;
        }
        Ok(())
    }

    fn colon(&mut self) -> Result<(), Lost> {
        let found = self.expect(':').is_ok();
        let at = self.at;
        if let Some(frame) = self.stack.last_mut() {
            frame.collection.is_odd |= !found;
            frame.lead = frame.lead.map(|(start, _)| (start, at));
        }
        Ok(())
    }

    fn is_explicit_key(&mut self) -> bool {
        let at = lines::after_trivia(self.text, self.at);
        let mut rest = self.text[at..].chars();
        let is_one = rest.next() == Some('?') && rest.next().is_none_or(char::is_whitespace);
        if is_one {
            self.at = at + 1;
        }
        is_one
    }

    /// Where the anchor or the tag of a value begins.
    fn properties(&mut self, has_anchor: bool, has_tag: bool) -> Result<Option<usize>, Lost> {
        let mut start = None;
        for _ in 0..usize::from(has_anchor) + usize::from(has_tag) {
            let at = lines::after_trivia(self.text, self.at);
            let rest = &self.text[at..];
            let length = match rest.starts_with("!<") {
                true => rest.find('>').map(|end| end + 1),
                false => rest.find(|c: char| c.is_whitespace() || ",[]{}".contains(c)).or(Some(rest.len())),
            };
            let length = length.filter(|_| rest.starts_with(['&', '!'])).ok_or(Lost(at))?;
            self.at = at + length;
            start = start.or(Some(at));
        }
        Ok(start)
    }

    fn scalar(&mut self, style: ScalarStyle, span: Range<usize>) -> Result<Spot, Lost> {
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            return self.block_scalar(span);
        }
        if span.is_empty() {
            let form = Form::Scalar(style);
            return Ok(Spot { start: self.at, end: self.at, anchor: None, form });
        }
        self.expect_at(span.start)?;
        let written = self.text.get(span.clone()).ok_or(Lost(span.start))?;
        self.at = span.start + written.trim_ascii_end().len();
        Ok(Spot { start: span.start, end: self.at, anchor: None, form: Form::Scalar(style) })
    }

    /// The parser's place of one begins with its first line, not with its `|` or `>`.
    fn block_scalar(&mut self, span: Range<usize>) -> Result<Spot, Lost> {
        let start = lines::after_trivia(self.text, self.at);
        let header = &self.text[start..];
        if !header.starts_with(['|', '>']) {
            return Err(Lost(start));
        }
        let length = header.find(char::is_whitespace).unwrap_or(header.len());
        let header_end = start + length;
        let content = self.text.get(span.clone()).filter(|_| span.start > header_end).unwrap_or_default();
        let mut end = match content.trim_ascii_end() {
            "" => header_end,
            content => span.start + content.len(),
        };
        if header[..length].contains('+') {
            // The empty lines below it are part of it.
            let blank = lines::blank_until(self.text, lines::end(self.text, end));
            end = lines::content_end(self.text, blank.saturating_sub(1)).max(end);
        }
        self.at = end;
        Ok(Spot { start, end, anchor: None, form: Form::Block { header_end } })
    }

    fn open(
        &mut self,
        is_map: bool,
        style: StructureStyle,
        anchor: usize,
        has_tag: bool,
    ) -> Result<(), Lost> {
        self.lead()?;
        let start = self.properties(anchor != 0, has_tag)?;
        let in_brackets = self.stack.last().is_some_and(|frame| frame.open.is_some());
        let open = match style {
            StructureStyle::Block => None,
            StructureStyle::Flow => self.expect(if is_map { '{' } else { '[' }).ok(),
        };
        // One pair in a list, `[a: b]`, has no braces.
        let is_odd = open.is_none() && in_brackets;
        let collection = Collection { is_map, brackets: None, elements: Vec::new(), is_odd, merges: false };
        let start = start.or(open);
        self.stack.push(Frame { start, anchor: numbered(anchor), open, collection, key: None, lead: None });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Lost> {
        let Some(frame) = self.stack.pop() else { return Err(Lost(self.at)) };
        let Frame { start, anchor, open, mut collection, .. } = frame;
        if let Some(open) = open {
            // There may be a comma behind the last element.
            let _ = self.expect(',');
            let close = self.expect(if collection.is_map { '}' } else { ']' })?;
            collection.brackets = Some((open, close));
        }
        let first = collection.elements.first().map(|element| element.start);
        let start = start.or(first).ok_or(Lost(self.at))?;
        self.put(Spot { start, end: self.at, anchor, form: Form::Collection(collection) }, None)
    }

    /// Gives a finished value to what it stands in. `text` is what a scalar says.
    fn put(&mut self, spot: Spot, text: Option<&str>) -> Result<(), Lost> {
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(spot);
            return Ok(());
        };
        if frame.collection.is_map && frame.key.is_none() {
            let is_plain = matches!(spot.form, Form::Scalar(ScalarStyle::Plain));
            let written = &self.text[spot.start..spot.end];
            frame.collection.merges |= is_plain && text == Some("<<");
            // A number as a key is the text it was written as.
            let name = if is_plain && spot.anchor.is_none() { Some(written) } else { text };
            frame.collection.is_odd |= name.is_none() || spot.anchor.is_some();
            frame.key = Some(name.unwrap_or_default().to_owned());
            frame.lead = Some((spot.start, spot.end));
            return Ok(());
        }
        let (start, mark) = frame.lead.take().unwrap_or((spot.start, spot.start));
        frame.collection.elements.push(Element { start, mark, key: frame.key.take(), value: spot });
        Ok(())
    }

    /// The place of a mark that must be next.
    fn expect(&mut self, mark: char) -> Result<usize, Lost> {
        let at = lines::after_trivia(self.text, self.at);
        match self.text[at..].starts_with(mark) {
            true => {
                self.at = at + mark.len_utf8();
                Ok(at)
            }
            false => Err(Lost(at)),
        }
    }

    fn expect_at(&self, at: usize) -> Result<(), Lost> {
        let next = lines::after_trivia(self.text, self.at);
        if next == at { Ok(()) } else { Err(Lost(next)) }
    }
}

fn numbered(anchor: usize) -> Option<usize> {
    (anchor != 0).then_some(anchor)
}
