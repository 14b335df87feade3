//! Documents that are too long to be parsed as a whole: the elements in the root, found one after the other.

use super::Tree;
use super::rows::Shape;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::batch;
use crate::data::content::{Content, Rows, Table};
use crate::data::node::{Listing, Node};
use crate::engines::delimited::{PlainText, encoding};
use crate::engines::records::container::{Container, Framed, Record, RecordFraming};
use crate::engines::records::{Frame, Framing, Window};
use crate::engines::xml::{self, Element, LONGEST};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Elements that tell the columns, and the bytes of them.
const SAMPLE: u64 = 500;
const BYTES: u64 = 1 << 20;
/// Bytes that are looked at in one go.
const PIECE: usize = 16 << 10;
/// Bytes of one step of a scan.
const STEP: u64 = 32 << 20;

/// The bytes of a text, piece by piece.
struct Cursor<'w, 'a> {
    window: &'w mut Window<'a>,
    at: u64,
}

impl Cursor<'_, '_> {
    fn bytes(&mut self, most: usize) -> Result<&[u8]> {
        self.window.get(self.at, most)
    }

    /// Goes behind the next `mark`; false where there is none.
    fn behind(&mut self, mark: &[u8]) -> Result<bool> {
        loop {
            self.window.task.check()?;
            let at = self.at;
            let bytes = self.window.get(at, PIECE)?;
            if let Some(place) = memchr::memmem::find(bytes, mark) {
                self.at = at + (place + mark.len()) as u64;
                return Ok(true);
            }
            let Some(step) = bytes.len().checked_sub(mark.len() - 1).filter(|step| *step > 0) else {
                return Ok(false);
            };
            self.at = at + step as u64;
        }
    }

    /// Goes to the next `<`; false where there is none.
    fn seek_tag(&mut self) -> Result<bool> {
        let found = self.behind(b"<")?;
        self.at -= u64::from(found);
        Ok(found)
    }

    /// Goes behind the tag that begins here; whether it is one of an element without content.
    fn tag(&mut self) -> Result<Option<bool>> {
        let (mut quote, mut last) = (None, 0_u8);
        loop {
            self.window.task.check()?;
            let at = self.at;
            let bytes = self.window.get(at, PIECE)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            for (n, &byte) in bytes.iter().enumerate() {
                match (quote, byte) {
                    (None, b'>') => {
                        self.at = at + n as u64 + 1;
                        return Ok(Some(last == b'/'));
                    }
                    (None, b'"' | b'\'') => quote = Some(byte),
                    (Some(open), _) if open == byte => quote = None,
                    _ => {}
                }
                last = byte;
            }
            self.at = at + bytes.len() as u64;
        }
    }

    /// Goes behind a comment, a section, an instruction or a document type that begins here; whether there was one.
    fn aside(&mut self) -> Result<Option<bool>> {
        let head = self.bytes(9)?;
        let end: &[u8] = match head {
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            _ if head.starts_with(b"<![CDATA[") => b"]]>",
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', ..] => return self.document_type().map(Some),
            _ => return Ok(Some(false)),
        };
        Ok(self.behind(end)?.then_some(true))
    }

    /// Goes behind a document type, whose own declarations stand in brackets.
    fn document_type(&mut self) -> Result<bool> {
        let at = self.at;
        let bytes = self.window.get(at, PIECE)?;
        let inner = memchr::memchr(b'[', bytes)
            .filter(|place| memchr::memchr(b'>', bytes).is_none_or(|end| *place < end));
        self.behind(if inner.is_some() { b"]>" } else { b">" })
    }
}

/// The elements in an element.
pub(super) struct Elements;

impl Elements {
    /// The next element from `at` on; `None` where what holds it ends.
    fn next(window: &mut Window<'_>, at: u64) -> Result<Option<Range<u64>>> {
        let broken = |at: u64| Error::malformed("XML: it ends within an element").at(at);
        let mut cursor = Cursor { window, at };
        loop {
            if !cursor.seek_tag()? {
                return Ok(None);
            }
            if cursor.bytes(2)? == b"</" {
                return Ok(None);
            }
            match cursor.aside()? {
                Some(true) => continue,
                Some(false) => break,
                None => return Err(broken(cursor.at)),
            }
        }
        let start = cursor.at;
        let mut depth = 0_u64;
        loop {
            let closes = cursor.bytes(2)? == b"</";
            let is_empty = cursor.tag()?.ok_or_else(|| broken(start))?;
            match (closes, is_empty) {
                (true, _) => depth = depth.saturating_sub(1),
                (false, true) => {}
                (false, false) => depth += 1,
            }
            if depth == 0 {
                return Ok(Some(start..cursor.at));
            }
            loop {
                if !cursor.seek_tag()? {
                    return Err(broken(start));
                }
                match cursor.aside()? {
                    Some(true) => continue,
                    Some(false) => break,
                    None => return Err(broken(start)),
                }
            }
        }
    }
}

impl Framing for Elements {
    fn frame(&self, window: &mut Window, at: u64) -> Result<Option<Frame>> {
        let span = Elements::next(window, at)?;
        Ok(span.map(|span| Frame { end: span.end, span, records: 1 }))
    }

    fn resume(&self, _window: &mut Window, _at: u64) -> Result<Option<u64>> {
        Ok(None)
    }
}

impl RecordFraming for Elements {
    fn payload<'w>(
        &self,
        window: &'w mut Window<'_>,
        frame: &Range<u64>,
        _scratch: &'w mut Vec<u8>,
    ) -> Result<&'w [u8]> {
        let len = limits::check(frame.end.saturating_sub(frame.start), LONGEST, "an element")?;
        window.get(frame.start, len)
    }
}

/// Where the content of the root begins, and its name.
fn root(task: &Task, source: &Source, start: u64) -> Result<(u64, String)> {
    let mut window = Window::new(task, source);
    let mut cursor = Cursor { window: &mut window, at: start };
    loop {
        if !cursor.seek_tag()? {
            return Err(Error::malformed("XML: there is no element"));
        }
        match cursor.aside()? {
            Some(true) => continue,
            Some(false) => break,
            None => return Err(Error::malformed("XML: it ends before its first element")),
        }
    }
    let name = name(cursor.bytes(PIECE)?);
    cursor.tag()?.ok_or_else(|| Error::malformed("XML: it ends within its first element"))?;
    Ok((cursor.at, name))
}

/// The name in the tag that bytes begin with.
fn name(bytes: &[u8]) -> String {
    let rest = bytes.strip_prefix(b"<").unwrap_or(bytes);
    let end = rest.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'));
    String::from_utf8_lossy(rest.get(..end.unwrap_or(rest.len()).min(1_000)).unwrap_or_default()).into_owned()
}

/// A long document.
pub(super) fn open(task: &Task, source: &Source) -> Result<Node> {
    let first = source.read_up_to(task, 0, PIECE)?;
    let (charset, _) = xml::encoding(&first);
    let detected = encoding::choose(Some(charset.name()), &first)?;
    let (view, start, inner) = encoding::ascii_view(source, detected)?;
    let (at, root) = root(task, &view, start)?;
    let framed = Arc::new(Framed::new(view, crate::formats::ALL, Elements, at));
    let below = Below { framed: framed.clone(), charset: inner };
    let mut node = Node::new(source.name(), "element").lazy(below).findings(framed.problems().clone());
    node.reader.push(("root".to_owned(), root.as_str().into()));
    let sample = framed.records(task, 0..SAMPLE)?;
    let rows = ElementTable { shape: None, framed, charset: inner };
    let elements = rows.parse(task, &few(sample))?;
    let one_name = elements
        .iter()
        .flatten()
        .all(|element| Some(&element.name) == elements.iter().flatten().next().map(|first| &first.name));
    let shape = match one_name && elements.len() > 1 {
        true => Shape::of(task, elements.iter().flatten())?,
        false => None,
    };
    Ok(match shape {
        Some(shape) => node.content(Content::Table(Arc::new(ElementTable { shape: Some(shape), ..rows }))),
        None => node.content(Content::Text(Arc::new(PlainText::new(source.clone(), charset)))),
    })
}

/// Those of the first records that are looked at.
fn few(records: Vec<Record>) -> Vec<Record> {
    let mut bytes = 0;
    let within = |record: &Record| {
        bytes += record.len;
        bytes <= BYTES
    };
    records.into_iter().take_while(within).collect()
}

/// The elements as rows.
struct ElementTable {
    framed: Arc<Framed<Elements>>,
    charset: &'static encoding_rs::Encoding,
    shape: Option<Shape>,
}

impl ElementTable {
    fn parse(&self, task: &Task, records: &[Record]) -> Result<Vec<Option<Element>>> {
        let mut elements = Vec::with_capacity(records.len());
        self.framed.read(task, records, &mut |record, payload| {
            let parsed = match payload.unless_cancelled()? {
                Ok(payload) => xml::parse(task, &encoding::decode(self.charset, payload))?,
                Err(error) => xml::Xml { problem: Some(error), ..xml::Xml::default() },
            };
            if let Some(problem) = parsed.problem {
                self.framed.problems().add(problem.at(record.span.start));
            }
            elements.push(parsed.root);
            Ok(())
        })?;
        Ok(elements)
    }

    fn columns(&self) -> Option<&Shape> {
        self.shape.as_ref()
    }
}

impl Table for ElementTable {
    fn schema(&self) -> &SchemaRef {
        static NONE: std::sync::LazyLock<SchemaRef> =
            std::sync::LazyLock::new(|| Arc::new(arrow::datatypes::Schema::empty()));
        self.columns().map_or(&*NONE, |shape| &shape.columns.schema)
    }

    fn rows(&self) -> Rows {
        self.framed.rows()
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.columns()?.columns.inferred(column)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.framed.measure(task)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        (STEP / self.framed.average().max(1)).clamp(1, 1 << 16)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let records = self.framed.records(task, rows)?;
        let elements = self.parse(task, &records)?;
        let arrays = self
            .columns()
            .map_or(Vec::new(), |shape| shape.arrays(columns, elements.iter().map(Option::as_ref)));
        batch(self.schema(), columns, arrays, elements.len())
    }
}

/// The elements as children.
struct Below {
    framed: Arc<Framed<Elements>>,
    charset: &'static encoding_rs::Encoding,
}

impl Below {
    fn node(&self, task: &Task, record: Record) -> Result<Arc<Node>> {
        let head = self.framed.source().read_up_to(task, record.span.start, 256)?;
        let name = format!("{}[{}]", name(&head), record.number + 1);
        let (framed, charset, span) = (self.framed.clone(), self.charset, record.span.clone());
        let own = name.clone();
        let node = Node::deferred(name, "element", move |task| {
            let len = limits::check(span.end.saturating_sub(span.start), LONGEST, "an element")?;
            let bytes = framed.source().read_up_to(task, span.start, len)?;
            let found = xml::parse(task, &encoding::decode(charset, &bytes))?;
            let element = Arc::new(found.root.unwrap_or_default());
            let node = Tree { root: element.clone(), path: Arc::default() }.node(&own, &element);
            Ok(match found.problem {
                Some(problem) => node.problem(problem),
                None => node,
            })
        });
        Ok(Arc::new(node.span(record.span)))
    }
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        self.framed.rows().exact()
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let end = range.end.min(range.start.saturating_add(limits::LISTED));
        let records = self.framed.records(task, range.start..end)?;
        records.into_iter().map(|record| self.node(task, record)).collect()
    }

    fn at_least(&self) -> u64 {
        self.framed.rows().known()
    }

    fn measure(&self, task: &Task) -> Result<()> {
        self.framed.measure(task).map(drop)
    }

    fn boundaries(&self) -> &'static [char] {
        &['/']
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let number = name
            .strip_suffix(']')
            .and_then(|name| name.rsplit_once('['))
            .and_then(|(_, n)| n.parse::<u64>().ok());
        let Some(number) = number.and_then(|n| n.checked_sub(1)) else { return Ok(None) };
        let found = self.framed.records(task, number..number.saturating_add(1))?.pop();
        let node = found.map(|record| self.node(task, record)).transpose()?;
        Ok(node.filter(|node| node.name == name))
    }
}
